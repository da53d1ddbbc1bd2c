"""A transformer that learns to copy: ``python examples/python/transformer.py [--steps N] [--plot FILE.svg]``.

It reads random tokens and a separator, and predicts the same tokens again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from _common import main
from _data import copies

from forerun import autograd, gluon, init, np, npx
from forerun.gluon import nn


class Transformer(nn.HybridBlock):
    """Embeddings of tokens and positions, causal layers, and the scores of the tokens after the separator."""

    def __init__(self, length: int, tokens: int, units: int = 32, layers: int = 2) -> None:
        super().__init__()
        self._length = length
        self.embedding = nn.Embedding(tokens + 1, units)
        self.positions = gluon.Parameter("positions", shape=(2 * length, units), init=init.Normal(0.3))
        self.layers = nn.HybridSequential()
        self.layers.add(*[nn.TransformerEncoderLayer(units, 2 * units, 4) for _ in range(layers)])
        self.norm, self.out = nn.LayerNorm(), nn.Dense(tokens, flatten=False)

    def forward(self, x: Any) -> Any:
        """Compute the scores."""
        h = self.embedding(x) + self.positions.data()
        for layer in self.layers:
            h = layer(h, None, True)
        return self.out(self.norm(h[:, self._length :]))


def network(length: int = 8, tokens: int = 10) -> Transformer:
    """Return the model."""
    net = Transformer(length, tokens)
    net.initialize(init.Xavier())
    return net


def train(steps: int, batch: int = 64, length: int = 8, tokens: int = 10) -> Iterator[Any]:
    """Yield the loss of each step."""
    npx.seed(1)
    net, loss = network(length, tokens), gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 3e-3})
    for step in range(steps):
        x, labels = copies(np, batch, length, tokens, seed=step)
        with autograd.record():
            mean = loss(net(x), labels).mean()
        mean.backward()
        trainer.step(1)
        yield mean
    x, labels = copies(np, 256, length, tokens, seed=steps)
    print(f"copied correctly: {100 * (net(x).argmax(axis=-1) == labels).mean().item():.1f} % of the tokens")


if __name__ == "__main__":
    main(train, "Copy task with a transformer", steps=400)
