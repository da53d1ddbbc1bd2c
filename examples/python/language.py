"""A language model of characters with an LSTM: ``python examples/python/language.py [--steps N] [--plot FILE.svg]``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from _common import main
from _data import CHARACTERS, sentences, windows

from forerun import autograd, gluon, init, np, npx
from forerun.gluon import nn, rnn


def network(width: int = 32, hidden: int = 64) -> nn.HybridSequential:
    """Return the model: an embedding, an LSTM, and the scores of the next character."""
    net = nn.HybridSequential()
    net.add(nn.Embedding(len(CHARACTERS), width), rnn.LSTM(hidden), nn.Dense(len(CHARACTERS), flatten=False))
    net.initialize(init.Xavier())
    return net


def continued(net: nn.HybridSequential, text: str, most: int = 60) -> str:
    """Append the character that the model expects most, again and again, up to a full stop."""
    while len(text) < most and not text.endswith("."):
        tokens = np.array([CHARACTERS.index(character) for character in text]).reshape(-1, 1)
        text += CHARACTERS[int(net(tokens)[-1, 0].argmax().item())]
    return text


def train(steps: int, batch: int = 32, length: int = 24) -> Iterator[Any]:
    """Yield the loss of each step."""
    npx.seed(1)
    net, loss, text = network(), gluon.loss.SoftmaxCrossEntropyLoss(), sentences(20_000, seed=1)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    for step in range(steps):
        tokens, labels = windows(np, text, length, batch, seed=step)
        with autograd.record():
            mean = loss(net(tokens), labels).mean()
        mean.backward()
        trainer.step(1)
        yield mean
    print(continued(net, "the small "))


if __name__ == "__main__":
    main(train, "Character language model with an LSTM", steps=300)
