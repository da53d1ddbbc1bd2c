"""Layers."""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.block import Block
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.nn.activations import ELU, GELU, SELU, Activation, LeakyReLU, PReLU, SiLU, Swish
from forerun.gluon.nn.attention import MultiHeadAttention, TransformerEncoderLayer
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
from forerun.gluon.nn.convolutions import Conv1D, Conv2D, Conv3D
from forerun.gluon.nn.deformable import DeformableConvolution, ModulatedDeformableConvolution
from forerun.gluon.nn.norms import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RMSNorm, SyncBatchNorm
from forerun.gluon.nn.pooling import (
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
)
from forerun.gluon.nn.rearrangements import PixelShuffle1D, PixelShuffle2D, PixelShuffle3D, ReflectionPad2D
from forerun.gluon.nn.transposed import Conv1DTranspose, Conv2DTranspose, Conv3DTranspose

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "Activation",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "BatchNorm",
    "Block",
    "Concatenate",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "DeformableConvolution",
    "Dense",
    "Dropout",
    "Embedding",
    "Flatten",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "GroupNorm",
    "HybridBlock",
    "HybridConcatenate",
    "HybridLambda",
    "HybridSequential",
    "Identity",
    "InstanceNorm",
    "Lambda",
    "LayerNorm",
    "LeakyReLU",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "ModulatedDeformableConvolution",
    "MultiHeadAttention",
    "PReLU",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
    "RMSNorm",
    "ReflectionPad2D",
    "Sequential",
    "SiLU",
    "Swish",
    "SyncBatchNorm",
    "TransformerEncoderLayer",
]

# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
