"""NumPy's functions on asynchronous arrays.

Names, arguments and results follow NumPy; the default float is float32. Every function returns at once; reading
a value (printing, ``asnumpy``, ``item``, ``bool``) waits for it.
"""

from __future__ import annotations

from math import e, inf, nan, pi

from forerun import _pointwise
from forerun._forerun import bool as bool_
from forerun._forerun import dtype, float32, float64, int32, int64, ndarray
from forerun._pointwise import *  # noqa: F403
from forerun.np import random
from forerun.np.creation import (
    arange,
    array,
    asarray,
    copy,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from forerun.np.manipulation import (
    astype,
    broadcast_to,
    concatenate,
    expand_dims,
    flip,
    moveaxis,
    ravel,
    repeat,
    reshape,
    split,
    squeeze,
    stack,
    swapaxes,
    take,
    tile,
    transpose,
)
from forerun.np.reduction import (
    all,
    allclose,
    any,
    argmax,
    argmin,
    array_equal,
    clip,
    dot,
    matmul,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)

# NumPy's other names for the same functions.
amax = max
amin = min
bool = bool_
concat = concatenate
newaxis = None
permute_dims = transpose

__all__ = [
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "arange",
    "argmax",
    "argmin",
    "array",
    "array_equal",
    "asarray",
    "astype",
    "bool",
    "bool_",
    "broadcast_to",
    "clip",
    "concat",
    "concatenate",
    "copy",
    "dot",
    "dtype",
    "e",
    "empty",
    "empty_like",
    "expand_dims",
    "eye",
    "flip",
    "float32",
    "float64",
    "full",
    "full_like",
    "inf",
    "int32",
    "int64",
    "linspace",
    "matmul",
    "max",
    "mean",
    "min",
    "moveaxis",
    "nan",
    "ndarray",
    "newaxis",
    "ones",
    "ones_like",
    "permute_dims",
    "pi",
    "prod",
    "random",
    "ravel",
    "repeat",
    "reshape",
    "split",
    "squeeze",
    "stack",
    "std",
    "sum",
    "swapaxes",
    "take",
    "tile",
    "transpose",
    "var",
    "zeros",
    "zeros_like",
]
__all__ += _pointwise.__all__
