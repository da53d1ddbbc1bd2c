"""Small ONNX files."""

from __future__ import annotations

import pathlib
import tempfile
from typing import Any

from forerun import np, onnx
from forerun.gluon import nn, rnn


def small() -> dict[str, tuple[bytes, list[Any]]]:
    """Return files and inputs by name."""
    made = {}
    nets = {"mlp": (nn.Dense(2), [np.ones((3, 2))]), "conv": (nn.Conv2D(2, kernel_size=3), [np.ones((1, 1, 4, 4))])}
    with tempfile.TemporaryDirectory() as folder:
        for name, (net, inputs) in nets.items():
            net.initialize()
            path = onnx.export(net, pathlib.Path(folder) / "net.onnx", inputs)
            made[name] = (pathlib.Path(path).read_bytes(), inputs)
    return made
