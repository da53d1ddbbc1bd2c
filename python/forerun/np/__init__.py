"""NumPy's functions on asynchronous arrays.

Names, arguments and results follow NumPy; the default float is float32, or float64
after ``npx.set_np(dtype=True)``. Every function returns immediately; reading
a value (printing, ``asnumpy``, ``item``, ``bool``) waits for it.
"""

from __future__ import annotations

import typing as _typing
from math import e, inf, nan, pi

from forerun import _pointwise
from forerun._forerun import (
    bfloat16,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    ndarray,
    uint8,
    uint16,
    uint32,
    uint64,
)
from forerun._forerun import bool as bool_
from forerun._missing import module_getattr as _module_getattr
from forerun._pointwise import *  # noqa: F403
from forerun._ufunc import ufunc
from forerun.np import (
    _diagonals,
    _differences,
    _elementwise,
    _fitting,
    _grids,
    _indexers,
    _kinds,
    _moments,
    _more,
    _padding,
    _polynomials,
    _products,
    _shapes,
    _state,
    _writing,
    fft,
    lib,
    linalg,
    polynomial,
    random,
    testing,
)
from forerun.np._complex import angle, conj, imag, iscomplex, iscomplexobj, isreal, isrealobj, real
from forerun.np._contraction import einsum
from forerun.np._creation import (
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
from forerun.np._cumulative import (
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    nancumprod,
    nancumsum,
)

# The names are listed in these modules.
from forerun.np._diagonals import *  # noqa: F403
from forerun.np._differences import *  # noqa: F403
from forerun.np._dtypes import can_cast, finfo, iinfo, isdtype, result_type
from forerun.np._elementwise import *  # noqa: F403
from forerun.np._exchange import from_dlpack, frombuffer, fromfunction, fromiter
from forerun.np._facts import may_share_memory, ndim, shape, shares_memory, size
from forerun.np._files import genfromtxt, load, loadtxt, save, savez, savez_compressed
from forerun.np._fitting import *  # noqa: F403
from forerun.np._grids import *  # noqa: F403
from forerun.np._histograms import bincount, histogram, histogram2d, histogram_bin_edges, histogramdd
from forerun.np._indexers import *  # noqa: F403
from forerun.np._indexing import (
    argwhere,
    choose,
    compress,
    extract,
    flatnonzero,
    ix_,
    nonzero,
    piecewise,
    select,
    where,
)
from forerun.np._iteration import flatiter, ndenumerate, ndindex
from forerun.np._kinds import *  # noqa: F403
from forerun.np._manipulation import (
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
from forerun.np._moments import *  # noqa: F403
from forerun.np._more import *  # noqa: F403
from forerun.np._namespace import __array_namespace_info__
from forerun.np._ordering import (
    argpartition,
    argsort,
    digitize,
    lexsort,
    msort,
    partition,
    put_along_axis,
    searchsorted,
    sort,
    take_along_axis,
)
from forerun.np._padding import *  # noqa: F403
from forerun.np._placing import copyto, place, put, putmask
from forerun.np._polynomials import *  # noqa: F403
from forerun.np._products import *  # noqa: F403
from forerun.np._reduction import (
    all,
    allclose,
    any,
    argmax,
    argmin,
    array_equal,
    array_equiv,
    clip,
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
from forerun.np._sets import (
    in1d,
    intersect1d,
    isin,
    setdiff1d,
    setxor1d,
    union1d,
    unique,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from forerun.np._shapes import *  # noqa: F403
from forerun.np._state import *  # noqa: F403
from forerun.np._statistics import (
    median,
    nanmedian,
    nanpercentile,
    nanquantile,
    percentile,
    quantile,
)
from forerun.np._text import array2string, array_repr, array_str, get_printoptions, printoptions, set_printoptions
from forerun.np._writing import *  # noqa: F403

# The version of the array API standard that the names follow.
__array_api_version__ = "2024.12"

# NumPy's other names for the same functions.
amax = max
amin = min
bool = bool_
euler_gamma = 0.5772156649015329
little_endian = True
concat = concatenate
conjugate = conj
newaxis = None
permute_dims = transpose

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    "all",
    "allclose",
    "amax",
    "amin",
    "angle",
    "any",
    "arange",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "argwhere",
    "array",
    "array2string",
    "array_equal",
    "array_equiv",
    "array_repr",
    "array_str",
    "asarray",
    "astype",
    "bfloat16",
    "bincount",
    "bool",
    "bool_",
    "broadcast_to",
    "can_cast",
    "choose",
    "clip",
    "complex64",
    "complex128",
    "compress",
    "concat",
    "concatenate",
    "conj",
    "conjugate",
    "copy",
    "copyto",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "digitize",
    "dtype",
    "e",
    "einsum",
    "empty",
    "empty_like",
    "euler_gamma",
    "expand_dims",
    "extract",
    "eye",
    "fft",
    "finfo",
    "flatiter",
    "flatnonzero",
    "flip",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "frombuffer",
    "fromfunction",
    "fromiter",
    "full",
    "full_like",
    "genfromtxt",
    "get_printoptions",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "iinfo",
    "imag",
    "in1d",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "intersect1d",
    "isclose",
    "iscomplex",
    "iscomplexobj",
    "isdtype",
    "isin",
    "isreal",
    "isrealobj",
    "ix_",
    "lexsort",
    "lib",
    "linalg",
    "linspace",
    "little_endian",
    "load",
    "loadtxt",
    "matmul",
    "max",
    "may_share_memory",
    "mean",
    "median",
    "min",
    "moveaxis",
    "msort",
    "nan",
    "nancumprod",
    "nancumsum",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "ndarray",
    "ndenumerate",
    "ndim",
    "ndindex",
    "newaxis",
    "nonzero",
    "ones",
    "ones_like",
    "partition",
    "percentile",
    "permute_dims",
    "pi",
    "piecewise",
    "place",
    "polynomial",
    "printoptions",
    "prod",
    "put",
    "put_along_axis",
    "putmask",
    "quantile",
    "random",
    "ravel",
    "real",
    "repeat",
    "reshape",
    "result_type",
    "save",
    "savez",
    "savez_compressed",
    "searchsorted",
    "select",
    "set_printoptions",
    "setdiff1d",
    "setxor1d",
    "shape",
    "shares_memory",
    "size",
    "sort",
    "split",
    "squeeze",
    "stack",
    "std",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "testing",
    "tile",
    "transpose",
    "ufunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "var",
    "where",
    "zeros",
    "zeros_like",
]
__all__ += _pointwise.__all__
__all__ += _indexers.__all__
__all__ += _kinds.__all__
__all__ += _more.__all__
__all__ += _state.__all__
__all__ += _writing.__all__
__all__ += _diagonals.__all__
__all__ += _differences.__all__
__all__ += _elementwise.__all__
__all__ += _fitting.__all__
__all__ += _grids.__all__
__all__ += _moments.__all__
__all__ += _padding.__all__
__all__ += _polynomials.__all__
__all__ += _products.__all__
__all__ += _shapes.__all__

del annotations


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
