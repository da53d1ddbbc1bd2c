"""Layers and losses with Paddle's names."""

from forerun._missing import module_getattr as _module_getattr
from forerun.paddle.nn import functional
from forerun.paddle.nn._layers import (
    CrossEntropyLoss,
    Dropout,
    Flatten,
    L1Loss,
    Layer,
    Linear,
    MSELoss,
    ReLU,
    Sequential,
    Sigmoid,
    Tanh,
)

__all__ = [
    "CrossEntropyLoss",
    "Dropout",
    "Flatten",
    "L1Loss",
    "Layer",
    "Linear",
    "MSELoss",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Tanh",
    "functional",
]

__getattr__ = _module_getattr(__name__, globals(), {"Module": "Paddle calls it Layer"})
