"""``mxnet.np``: NumPy's functions with MXNet's defaults.

Arrays made from Python numbers, including integers, are float32, and new arrays are on the current device whatever they
are made from. MXNet indexes with such arrays; from the first array created here, float arrays may therefore be used as
indices in the whole process, and are truncated. Lists of booleans are masks. Everything else is ``forerun.np``.
"""

from __future__ import annotations

from typing import Any

from forerun import _forerun
from forerun import np as _np
from forerun._device import asked as _asked
from forerun._missing import lacking as _lacking
from forerun._types import ArrayLike as _ArrayLike
from forerun._types import DTypeLike as _DTypeLike
from forerun._types import ShapeLike as _ShapeLike
from forerun._ufunc import ufunc as _ufunc
from forerun.mxnet.numpy import linalg as linalg
from forerun.mxnet.numpy import random as random
from forerun.mxnet.numpy._functions import *  # noqa: F403
from forerun.mxnet.numpy._strict import strict as _strict
from forerun.mxnet.numpy.utils import *  # noqa: F403
from forerun.np import ndarray
from forerun.npx import Device as _Device
from forerun.npx import current_device as _current_device


def _default() -> Any:
    """Return the dtype for Python numbers: float32, or None for NumPy's. Allow float indices from now on."""
    _forerun.set_float_indices(True)
    return None if _forerun.default_float() == "float64" else _np.float32


def _are_booleans(value: Any) -> bool:
    """Return whether nested lists contain only booleans, and at least one."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(_are_booleans(item) for item in value)
    return isinstance(value, bool)


def array(
    object: _ArrayLike, dtype: _DTypeLike | None = None, ctx: _Device | None = None, device: _Device | None = None
) -> ndarray:
    """Copy numbers, lists or arrays into a new array; Python's numbers become float32.

    Examples
    --------
    >>> from forerun.mxnet import np
    >>> np.array([1, 2, 3])
    array([1., 2., 3.])
    >>> np.array([1, 2, 3], dtype="int32")
    array([1, 2, 3], dtype=int32)
    """
    if dtype is None and not hasattr(object, "dtype"):
        dtype = _np.bool_ if _are_booleans(object) else _default()
    place = _asked("array", ctx, device)
    return _np.array(object, dtype, device=_current_device() if place is None else place)


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    dtype: _DTypeLike | None = None,
    ctx: _Device | None = None,
    device: _Device | None = None,
) -> ndarray:
    """Return numbers from ``start`` up to, excluding, ``stop``, as float32 unless a dtype is given.

    Examples
    --------
    >>> from forerun.mxnet import np
    >>> np.arange(3)
    array([0., 1., 2.])
    """
    kind = _default() if dtype is None else dtype
    return _np.arange(start, stop, 1 if step is None else step, kind, device=_asked("arange", ctx, device))


def full(
    shape: _ShapeLike,
    fill_value: Any,
    dtype: _DTypeLike | None = None,
    order: str = "C",
    ctx: _Device | None = None,
    device: _Device | None = None,
) -> ndarray:
    """Make an array of one number, in float32 unless a dtype is given or it is a boolean.

    Examples
    --------
    >>> from forerun.mxnet import np
    >>> np.full((2,), 7)
    array([7., 7.])
    """
    if isinstance(fill_value, (list, tuple)) or getattr(fill_value, "ndim", 0):
        values = array(fill_value, dtype, ctx, device)
        return _np.broadcast_to(values, shape).copy()
    if dtype is None and not isinstance(fill_value, bool):
        dtype = _default()
    return _np.full(shape, fill_value, dtype, device=_asked("full", ctx, device))


def __getattr__(name: str) -> Any:
    """Return any other name of ``forerun.np``."""
    try:
        found = getattr(_np, name)
    except AttributeError:
        raise _lacking(f"module {__name__!r}", name, _names(), {}) from None
    if isinstance(found, _ufunc):
        found = globals()[name] = _strict(found)
    return found


def _names() -> list[str]:
    here = [name for name in globals() if not name.startswith("_") and name not in ("Any", "annotations")]
    return sorted({*here, *_np.__all__})


def __dir__() -> list[str]:
    """List the names here and in ``forerun.np``."""
    return _names()
