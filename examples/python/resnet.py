"""ResNet-18 on synthetic colour images: ``python examples/python/resnet.py [--steps N] [--plot FILE.svg]``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from _common import main
from _data import gratings

from forerun import autograd, gluon, init, np, npx
from forerun.gluon import nn


class Residual(nn.HybridBlock):
    """Two convolutions with batch normalisation, added to the input."""

    def __init__(self, channels: int, stride: int) -> None:
        super().__init__()
        self.main = nn.HybridSequential()
        self.main.add(
            nn.Conv2D(channels, kernel_size=3, strides=stride, padding=1, use_bias=False),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2D(channels, kernel_size=3, padding=1, use_bias=False),
            nn.BatchNorm(),
        )
        # The input is projected where the extents change.
        self.shortcut = nn.Conv2D(channels, kernel_size=1, strides=stride) if stride > 1 else nn.Identity()

    def forward(self, x: Any) -> Any:
        """Compute the block."""
        return npx.relu(self.main(x) + self.shortcut(x))


def network(width: int = 64, classes: int = 10) -> nn.HybridSequential:
    """Return ResNet-18, whose first block has ``width`` channels."""
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(width, kernel_size=7, strides=2, padding=3, use_bias=False),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.MaxPool2D(3, strides=2, padding=1),
    )
    for stage in range(4):
        net.add(Residual(width << stage, 1 if stage == 0 else 2), Residual(width << stage, 1))
    net.add(nn.GlobalAvgPool2D(), nn.Dense(classes))
    net.initialize(init.Xavier())
    return net


def train(steps: int, batch: int = 16, width: int = 64) -> Iterator[Any]:
    """Yield the loss of each step."""
    npx.seed(1)
    net, loss = network(width), gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 1e-3})
    for step in range(steps):
        images, labels = gratings(np, batch, seed=step)
        with autograd.record():
            mean = loss(net(images), labels).mean()
        mean.backward()
        trainer.step(1)
        yield mean


if __name__ == "__main__":
    main(train, "ResNet-18 on synthetic images", steps=60)
