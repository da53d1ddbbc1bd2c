"""Layers and losses with Paddle's names."""

from forerun._missing import module_getattr as _module_getattr
from forerun.paddle.nn import _borrowed, functional, initializer, utils
from forerun.paddle.nn._borrowed import *  # noqa: F403
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
    "initializer",
    "utils",
]
__all__ += _borrowed.__all__
globals().update(_borrowed.LAYERS)
__all__ += list(_borrowed.LAYERS)
__all__.sort()

__getattr__ = _module_getattr(
    __name__,
    globals(),
    {
        "Module": "Paddle calls it Layer",
        "MultiHeadAttention": "forerun.torch.nn has MultiheadAttention, and forerun.gluon.nn MultiHeadAttention",
        "TransformerEncoderLayer": "forerun.torch.nn and forerun.gluon.nn have it",
        "GroupNorm": "forerun.torch.nn and forerun.gluon.nn have it",
    },
)
