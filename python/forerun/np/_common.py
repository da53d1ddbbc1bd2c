"""Helpers of the package ``np``: common dtypes and axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import dtype, float64, is_recording, ndarray
from forerun._pointwise import isnan, where
from forerun._types import ArrayLike, AxisLike


def common_dtype(*arrays: ndarray) -> dtype:
    """Return the dtype that arrays promote to."""
    return _forerun.result_type(*(array.dtype for array in arrays))


def on_host(x: ndarray) -> bool:
    """Return whether an array is on the host, which has routines that devices lack."""
    return x.device.device_type == "cpu"


def shortcut(x: ndarray) -> bool:
    """Return whether a host routine may replace several ops: the array is on the host and nothing is recorded."""
    return not is_recording() and on_host(x)


def alike(a: ArrayLike, b: ArrayLike) -> tuple[ndarray, ndarray]:
    """Convert two operands to one dtype. A number takes the other operand's dtype if that can represent it."""
    if isinstance(a, ndarray) and isinstance(b, ndarray) and a.dtype == b.dtype:
        return a, b.as_in_ctx(a.device)
    if isinstance(b, (bool, int, float)) and not isinstance(a, (bool, int, float)):
        a = to_array(a)
        b = to_array(b, a.dtype if is_float(a) or isinstance(b, int) else float64, a.device)
    elif isinstance(a, (bool, int, float)) and isinstance(b, ndarray):
        a = to_array(a, b.dtype if is_float(b) or isinstance(a, int) else float64, b.device)
    home = a.device if isinstance(a, ndarray) else b.device if isinstance(b, ndarray) else None
    x, y = to_array(a, None, home), to_array(b, None, home)
    both = common_dtype(x, y)
    return x.astype(both, copy=False), y.astype(both, copy=False)


Order = Literal["C", "F", "A", "K"]


def check_order(op: str, order: str) -> Order:
    """Return the element order for one of NumPy's ``order`` arguments.

    Arrays are stored in C order, so "A" and "K" mean "C". "F" determines the order in which elements are read, not the
    memory layout.
    """
    if order is None:
        return "K"
    if not isinstance(order, str):
        raise TypeError(f"{op}: order must be C, F, A or K, got {type(order).__name__}")
    if order.upper() not in ("C", "F", "A", "K"):
        raise ValueError(f"{op}: order must be C, F, A or K, got {order!r}")
    return "F" if order in "Ff" else "C"


def is_float(x: ndarray) -> bool:
    """Return whether elements are floats."""
    return "float" in x.dtype.name


def is_whole(x: ndarray) -> bool:
    """Return whether elements are integers."""
    return "int" in x.dtype.name


def in_floats(x: ndarray) -> ndarray:
    """Return an array as floats; integers become float64, which represents more of them than float32."""
    return x if is_float(x) else x.astype(float64)


def without_nan(a: ArrayLike, instead: float) -> ndarray:
    """Return an array with a number in place of each NaN."""
    x = to_array(a)
    return where(isnan(x), instead, x) if x.dtype.kind not in "biu" else x


def broadcast(op: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to."""
    made: list[int] = []
    for extents in zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1):
        wide = {extent for extent in extents if extent != 1}
        if len(wide) > 1:
            raise ValueError(f"{op}: shapes could not be broadcast together: {' '.join(map(str, shapes))}")
        made.append(wide.pop() if wide else 1)
    return tuple(reversed(made))


def one_axis(op: str, axis: SupportsIndex, ndim: int) -> int:
    """Normalise an axis to a non-negative number; raise if it is out of bounds."""
    place = axis.__index__()
    if not -ndim <= place < ndim:
        raise IndexError(f"{op}: axis {place} is out of bounds for an array of {ndim} dimensions")
    return place % ndim


def line(x: ArrayLike, axis: SupportsIndex | None) -> tuple[ndarray, int]:
    """Return an array and its axis; the flattened array without an axis."""
    x = to_array(x)
    return (x.reshape(-1), 0) if axis is None else (x, axis.__index__())


def lines(op: str, x: ndarray, axis: AxisLike) -> tuple[ndarray, tuple[int, ...]]:
    """Merge axes into one last axis; also return the shape of the rest with those axes kept."""
    if axis is None and x.ndim == 1:
        return x, (1,)
    if axis is None:
        axes = list(range(x.ndim))
    else:
        every = axis if isinstance(axis, Sequence) else [axis]
        axes = [one_axis(op, a, x.ndim) for a in every]
    if len(set(axes)) < len(axes):
        raise ValueError(f"{op}: an axis is given twice: {tuple(axes)}")
    rest = [d for d in range(x.ndim) if d not in axes]
    count = math.prod(x.shape[d] for d in axes)
    kept = tuple(1 if d in axes else x.shape[d] for d in range(x.ndim))
    moved = x.transpose(*rest, *axes) if x.ndim > 1 else x
    return moved.reshape(*[x.shape[d] for d in rest], count), kept
