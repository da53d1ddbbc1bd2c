"""Writes the networks of ``crates/forerun/tests/exported``: ``python tests/python/exported.py FOLDER``."""

from __future__ import annotations

import pathlib
import sys

from forerun import init, np, npx
from forerun.gluon import nn


def networks() -> dict[str, tuple[nn.HybridSequential, tuple[int, ...]]]:
    """Return networks by name, with the shape of an input."""
    lenet = nn.HybridSequential()
    lenet.add(
        nn.Conv2D(3, kernel_size=5, padding=2, activation="sigmoid"),
        nn.AvgPool2D(pool_size=2, strides=2),
        nn.Conv2D(4, kernel_size=3, activation="relu"),
        nn.BatchNorm(),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Dense(12, activation="sigmoid"),
        nn.Dense(5),
    )
    mlp = nn.HybridSequential()
    mlp.add(nn.Dense(8, activation="relu"), nn.Dropout(0.5), nn.Dense(3))
    return {"lenet": (lenet, (1, 12, 12)), "mlp": (mlp, (3,))}


def write(folder: pathlib.Path) -> None:
    """Export the networks, and write inputs and outputs for several batch sizes."""
    np.random.seed(1)
    samples = {}
    for name, (net, shape) in networks().items():
        net.initialize(init.Normal(0.5))
        net(np.ones((2, *shape)))
        net.export(folder / name, inputs=[np.ones((4, *shape))])
        for batch in (1, 4, 6):
            x = np.random.normal(size=(batch, *shape))
            samples[f"{name}.input.{batch}"] = x
            samples[f"{name}.output.{batch}"] = net(x)
    npx.save(folder / "samples.safetensors", samples)


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
