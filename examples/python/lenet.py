"""LeNet on synthetic digits: ``python examples/python/lenet.py [--steps N] [--plot FILE.svg]``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from _common import main
from _data import digits

from forerun import autograd, gluon, init, np, npx
from forerun.gluon import nn


def network() -> nn.HybridSequential:
    """Return LeNet: two convolutions, each with pooling, and three dense layers."""
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(6, kernel_size=5, padding=2, activation="relu"),
        nn.MaxPool2D(2),
        nn.Conv2D(16, kernel_size=5, activation="relu"),
        nn.MaxPool2D(2),
        nn.Dense(120, activation="relu"),
        nn.Dense(84, activation="relu"),
        nn.Dense(10),
    )
    net.initialize(init.Xavier())
    return net


def train(steps: int, batch: int = 64) -> Iterator[Any]:
    """Yield the loss of each step."""
    npx.seed(1)
    net, loss = network(), gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 2e-3})
    for step in range(steps):
        images, labels = digits(np, batch, seed=step)
        with autograd.record():
            mean = loss(net(images), labels).mean()
        mean.backward()
        trainer.step(1)
        yield mean
    images, labels = digits(np, 1000, seed=steps)
    print(f"accuracy on new digits: {100 * (net(images).argmax(axis=1) == labels).mean().item():.1f} %")


if __name__ == "__main__":
    main(train, "LeNet on synthetic digits", steps=300)
