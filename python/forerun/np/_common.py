"""What the functions of this package share: common dtypes and lines along an axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import dtype, float64, is_recording, ndarray
from forerun._pointwise import where
from forerun._types import ArrayLike, AxisLike


def common_dtype(*arrays: ndarray) -> dtype:
    """Name the dtype that arrays have together; nothing is computed."""
    made = _forerun.full((0,), 0, arrays[0].dtype)
    for array in arrays[1:]:
        made = where(True, made, _forerun.full((0,), 0, array.dtype))
    return made.dtype


def on_host(x: ndarray) -> bool:
    """Say whether an array lives on the host, which has routines that devices have not."""
    return x.device.device_type == "cpu"


def shortcut(x: ndarray) -> bool:
    """Say whether a routine of the host may stand for several ops: nobody wants their gradients."""
    return not is_recording() and on_host(x)


def alike(a: ArrayLike, b: ArrayLike) -> tuple[ndarray, ndarray]:
    """Make two arrays of one dtype. A number takes the dtype of the other where that can hold it."""
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
    """Give one of NumPy's orders.

    Elements of every array lie with the last index changing fastest; so "A" and "K", which ask for what an array has,
    are "C". "F" has a meaning where elements are counted, and none for how an array lies in memory.
    """
    if order is None:
        return "K"
    if not isinstance(order, str):
        raise TypeError(f"{op}: order must be C, F, A or K, got {type(order).__name__}")
    if order.upper() not in ("C", "F", "A", "K"):
        raise ValueError(f"{op}: order must be C, F, A or K, got {order!r}")
    return "F" if order in "Ff" else "C"


def is_float(x: ndarray) -> bool:
    """Say whether elements are floats."""
    return "float" in x.dtype.name


def is_whole(x: ndarray) -> bool:
    """Say whether elements are integers."""
    return "int" in x.dtype.name


def in_floats(x: ndarray) -> ndarray:
    """Give an array as floats: float64, if it has none, which holds all integers that a float32 does not."""
    return x if is_float(x) else x.astype(float64)


def one_axis(op: str, axis: SupportsIndex, ndim: int) -> int:
    """Count an axis from the front, and refuse one that is not there."""
    place = axis.__index__()
    if not -ndim <= place < ndim:
        raise IndexError(f"{op}: axis {place} is out of bounds for an array of {ndim} dimensions")
    return place % ndim


def lines(op: str, x: ndarray, axis: AxisLike) -> tuple[ndarray, tuple[int, ...]]:
    """Bring what lies along axes into one last axis; give the shape of the rest with those axes kept, too."""
    if axis is None and x.ndim == 1:
        return x, (1,)
    if axis is None:
        axes = list(range(x.ndim))
    else:
        every = axis if isinstance(axis, Sequence) else [axis]
        axes = [one_axis(op, a, x.ndim) for a in every]
    if len(set(axes)) < len(axes):
        raise ValueError(f"{op}: an axis is named twice: {tuple(axes)}")
    rest = [d for d in range(x.ndim) if d not in axes]
    count = math.prod(x.shape[d] for d in axes)
    kept = tuple(1 if d in axes else x.shape[d] for d in range(x.ndim))
    moved = x.transpose(*rest, *axes) if x.ndim > 1 else x
    return moved.reshape(*[x.shape[d] for d in rest], count), kept
