"""NumPy's functions on asynchronous arrays.

Names, arguments and results follow NumPy; the default float is float32, or float64
after ``npx.set_np(dtype=True)``. Every function returns immediately; reading
a value (printing, ``asnumpy``, ``item``, ``bool``) waits for it.
"""

from __future__ import annotations

import typing as _typing
from math import e, inf, nan, pi

from forerun import _pointwise
from forerun._missing import module_getattr as _module_getattr
from forerun._pointwise import *  # noqa: F403
from forerun._ufunc import ufunc
from forerun.np import (
    _complex,
    _contraction,
    _creation,
    _cumulative,
    _diagonals,
    _differences,
    _dtypes,
    _elementwise,
    _exchange,
    _facts,
    _files,
    _fitting,
    _grids,
    _histograms,
    _indexers,
    _indexing,
    _iteration,
    _kinds,
    _manipulation,
    _moments,
    _more,
    _namespace,
    _ordering,
    _padding,
    _placing,
    _polynomials,
    _products,
    _reduction,
    _routines,
    _sets,
    _shapes,
    _state,
    _statistics,
    _text,
    _writing,
    fft,
    lib,
    linalg,
    polynomial,
    random,
    testing,
)

# The names are listed in these modules.
from forerun.np._complex import *  # noqa: F403
from forerun.np._contraction import *  # noqa: F403
from forerun.np._creation import *  # noqa: F403
from forerun.np._cumulative import *  # noqa: F403
from forerun.np._diagonals import *  # noqa: F403
from forerun.np._differences import *  # noqa: F403
from forerun.np._dtypes import *  # noqa: F403
from forerun.np._elementwise import *  # noqa: F403
from forerun.np._exchange import *  # noqa: F403
from forerun.np._facts import *  # noqa: F403
from forerun.np._files import *  # noqa: F403
from forerun.np._fitting import *  # noqa: F403
from forerun.np._grids import *  # noqa: F403
from forerun.np._histograms import *  # noqa: F403
from forerun.np._indexers import *  # noqa: F403
from forerun.np._indexing import *  # noqa: F403
from forerun.np._iteration import *  # noqa: F403
from forerun.np._kinds import *  # noqa: F403
from forerun.np._manipulation import *  # noqa: F403
from forerun.np._moments import *  # noqa: F403
from forerun.np._more import *  # noqa: F403
from forerun.np._namespace import *  # noqa: F403
from forerun.np._ordering import *  # noqa: F403
from forerun.np._padding import *  # noqa: F403
from forerun.np._placing import *  # noqa: F403
from forerun.np._polynomials import *  # noqa: F403
from forerun.np._products import *  # noqa: F403
from forerun.np._reduction import *  # noqa: F403
from forerun.np._routines import *  # noqa: F403
from forerun.np._sets import *  # noqa: F403
from forerun.np._shapes import *  # noqa: F403
from forerun.np._state import *  # noqa: F403
from forerun.np._statistics import *  # noqa: F403
from forerun.np._text import *  # noqa: F403
from forerun.np._writing import *  # noqa: F403

# The version of the array API standard that the names follow.
__array_api_version__ = "2024.12"

# NumPy's other names for the same functions.
bool = bool_  # noqa: F405
euler_gamma = 0.5772156649015329
little_endian = True
newaxis = None

__all__ = [
    "__array_api_version__",
    "bool",
    "e",
    "euler_gamma",
    "fft",
    "inf",
    "lib",
    "linalg",
    "little_endian",
    "nan",
    "newaxis",
    "pi",
    "polynomial",
    "random",
    "testing",
    "ufunc",
]
__all__ += _pointwise.__all__
__all__ += _complex.__all__
__all__ += _contraction.__all__
__all__ += _creation.__all__
__all__ += _cumulative.__all__
__all__ += _diagonals.__all__
__all__ += _differences.__all__
__all__ += _dtypes.__all__
__all__ += _elementwise.__all__
__all__ += _exchange.__all__
__all__ += _facts.__all__
__all__ += _files.__all__
__all__ += _fitting.__all__
__all__ += _grids.__all__
__all__ += _histograms.__all__
__all__ += _indexers.__all__
__all__ += _indexing.__all__
__all__ += _iteration.__all__
__all__ += _kinds.__all__
__all__ += _manipulation.__all__
__all__ += _moments.__all__
__all__ += _more.__all__
__all__ += _namespace.__all__
__all__ += _ordering.__all__
__all__ += _padding.__all__
__all__ += _placing.__all__
__all__ += _polynomials.__all__
__all__ += _products.__all__
__all__ += _reduction.__all__
__all__ += _routines.__all__
__all__ += _sets.__all__
__all__ += _shapes.__all__
__all__ += _state.__all__
__all__ += _statistics.__all__
__all__ += _text.__all__
__all__ += _writing.__all__

del annotations


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
