"""``mxnet.np``: NumPy's functions with MXNet's defaults.

What is made of Python's numbers is float32, also integers, and a new array is on the current device whatever it is made
of. As such arrays name elements in MXNet, arrays of floats may do so from the first one made here on, in the whole
process; their fractions are cut off. Lists of truth values are masks. Everything else is ``forerun.np``.
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
from forerun.mxnet.numpy import random as random
from forerun.np import ndarray
from forerun.npx import Device as _Device
from forerun.npx import current_device as _current_device


def _default() -> Any:
    """Give the dtype of Python's numbers, which may name elements from now on."""
    _forerun.set_float_indices(True)
    return _np.float32


def _are_truths(value: Any) -> bool:
    """Say whether there is nothing but truth values in nested lists, and at least one."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(_are_truths(item) for item in value)
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
        dtype = _np.bool_ if _are_truths(object) else _default()
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
    """Count from ``start`` up to, but without, ``stop``, in float32 unless a dtype is given.

    Examples
    --------
    >>> from forerun.mxnet import np
    >>> np.arange(3)
    array([0., 1., 2.])
    """
    kind = _default() if dtype is None else dtype
    return _np.arange(start, stop, step, kind, device=_asked("arange", ctx, device))


def full(
    shape: _ShapeLike,
    fill_value: Any,
    dtype: _DTypeLike | None = None,
    ctx: _Device | None = None,
    device: _Device | None = None,
) -> ndarray:
    """Make an array of one number, in float32 unless a dtype is given or it is a truth value.

    Examples
    --------
    >>> from forerun.mxnet import np
    >>> np.full((2,), 7)
    array([7., 7.])
    """
    if dtype is None and not isinstance(fill_value, bool):
        dtype = _default()
    return _np.full(shape, fill_value, dtype, device=_asked("full", ctx, device))


def __getattr__(name: str) -> Any:
    """Give anything else ``forerun.np`` has."""
    try:
        return getattr(_np, name)
    except AttributeError:
        raise _lacking(f"module {__name__!r}", name, _names(), {}) from None


def _names() -> list[str]:
    here = [name for name in globals() if not name.startswith("_") and name not in ("Any", "annotations")]
    return sorted({*here, *_np.__all__})


def __dir__() -> list[str]:
    """List the names here and in ``forerun.np``."""
    return _names()
