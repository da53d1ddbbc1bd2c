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
from forerun.np import (
    diagonals,
    differences,
    elementwise,
    grids,
    padding,
    polynomials,
    products,
    random,
    shapes,
    statistics,
)
from forerun.np.contraction import einsum
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

# What these have is listed there.
from forerun.np.diagonals import *  # noqa: F403
from forerun.np.differences import *  # noqa: F403
from forerun.np.elementwise import *  # noqa: F403
from forerun.np.grids import *  # noqa: F403
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
from forerun.np.padding import *  # noqa: F403
from forerun.np.polynomials import *  # noqa: F403
from forerun.np.products import *  # noqa: F403
from forerun.np.reduction import (
    all,
    allclose,
    any,
    argmax,
    argmin,
    array_equal,
    array_equiv,
    clip,
    dot,
    isclose,
    matmul,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from forerun.np.shapes import *  # noqa: F403
from forerun.np.statistics import *  # noqa: F403

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
    "array_equiv",
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
    "einsum",
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
    "isclose",
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
__all__ += diagonals.__all__
__all__ += differences.__all__
__all__ += elementwise.__all__
__all__ += grids.__all__
__all__ += padding.__all__
__all__ += polynomials.__all__
__all__ += products.__all__
__all__ += shapes.__all__
__all__ += statistics.__all__
