"""Layers."""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.block import Block
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.nn.activations import ELU, GELU, SELU, Activation, LeakyReLU, SiLU, Swish
from forerun.gluon.nn.attention import MultiHeadAttention, RMSNorm, TransformerEncoderLayer
from forerun.gluon.nn.basic import Dense, Dropout, Embedding, Flatten
from forerun.gluon.nn.containers import (
    Concatenate,
    HybridConcatenate,
    HybridLambda,
    HybridSequential,
    Identity,
    Lambda,
    Sequential,
)
from forerun.gluon.nn.norms import BatchNorm, LayerNorm

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "Activation",
    "BatchNorm",
    "Block",
    "Concatenate",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "HybridBlock",
    "HybridConcatenate",
    "HybridLambda",
    "HybridSequential",
    "Identity",
    "Lambda",
    "LayerNorm",
    "LeakyReLU",
    "MultiHeadAttention",
    "RMSNorm",
    "Sequential",
    "SiLU",
    "Swish",
    "TransformerEncoderLayer",
]

# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
