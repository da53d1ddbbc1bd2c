"""Creation of arrays: filled, or from numbers, lists and NumPy arrays."""

from __future__ import annotations

import math
from operator import index
from typing import Literal, SupportsIndex, overload

from forerun import _forerun
from forerun._convert import to_array
from forerun._device import asked
from forerun._forerun import Device, default_float, float64, from_python, ndarray
from forerun._forerun import dtype as _dtype
from forerun._pointwise import floor
from forerun._types import ArrayLike, DTypeLike, Number, ShapeLike
from forerun.np._common import Order, check_order

__all__ = [
    "arange",
    "array",
    "asarray",
    "copy",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]

#: Python scalars, which have no dtype.
_PLAIN = (bool, int, float, complex)


def array(
    object: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    copy: bool | None = True,
    order: Order = "K",
    subok: bool = False,
    ndmin: int = 0,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Create an array from nested lists, numbers or another array.

    Python floats become the default float, which is float32 unless changed by :func:`forerun.npx.set_np`; Python
    integers become int64; NumPy arrays and numbers keep their dtype.

    Parameters
    ----------
    object
        The data. It is copied before the call returns.
    dtype
        The dtype of the result.
    copy
        Whether to copy an array that already fits.
    order, subok
        Accepted for compatibility with NumPy. Arrays are always stored in C order.
    ndmin
        The minimum number of dimensions; missing ones are prepended with extent 1.
    ctx, device
        The device. By default an array stays on its device, and other data goes to the current device.

    Examples
    --------
    >>> from forerun import np
    >>> np.array([[1.0, 2.0], [3.0, 4.0]])
    array([[1., 2.],
           [3., 4.]])
    >>> np.array([1, 2], dtype="int32")
    array([1, 2], dtype=int32)
    """
    if type(object) is ndarray and dtype is device is ctx is None and copy and order == "K" and ndmin == 0:
        return object.copy()
    place = device if ctx is None else asked("array", ctx, device)
    # The common case: lists of Python numbers.
    if place is None and ndmin == 0 and (quick := from_python(object, dtype)) is not None:
        return quick
    if order != "K":
        check_order("array", order)
    made = to_array(object, dtype, asked("array", None, place))
    made = made.copy() if copy and made is object else made
    return made.reshape((1,) * (ndmin - made.ndim) + made.shape) if made.ndim < ndmin else made


def asarray(
    object: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    *,
    copy: bool | None = None,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Convert to an array; return the argument itself if it already fits. For other arguments see :func:`array`.

    Parameters
    ----------
    copy
        Whether to copy an array that already fits; ``False`` raises if a copy is needed.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.ones((2,))
    >>> np.asarray(x) is x
    True
    """
    if order != "K":
        check_order("asarray", order)
    made = to_array(object, dtype, asked("asarray", ctx, device))
    if copy is False and made is not object:
        raise ValueError("asarray: cannot convert the argument without a copy")
    return made.copy() if copy and made is object else made


def copy(a: ArrayLike, order: Order = "K", subok: bool = False) -> ndarray:
    """Return a copy, on the same device.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.ones((2,))
    >>> y = np.copy(x)
    >>> y += 1
    >>> x
    array([1., 1.])
    """
    return array(a, order=order)


def full(
    shape: ShapeLike,
    fill_value: Number,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Make an array of one value, on the current device unless another is given.

    Examples
    --------
    >>> from forerun import np
    >>> np.full((2, 2), 7)
    array([[7, 7],
           [7, 7]])
    """
    place = None if ctx is None and device is None else asked("full", ctx, device)
    if order != "C":
        check_order("full", order)
    if dtype is None and type(fill_value) not in _PLAIN:
        dtype = _width(fill_value)
    return _forerun.full(shape, fill_value, dtype, place)


def _width(*values: object) -> _dtype | None:
    """Return the common dtype if one of the values is an array or a NumPy number."""
    widths = [_dtype(value.dtype) for value in values if hasattr(value, "dtype")]
    return (
        _forerun.result_type(*widths, *(value for value in values if not hasattr(value, "dtype"))) if widths else None
    )


def ones(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Make an array of ones, on the current device unless another is given.

    Examples
    --------
    >>> from forerun import np, npx
    >>> np.ones((1, 2))
    array([[1., 1.]])
    >>> np.ones((1, 2), device=npx.cpu(1)).device
    cpu(1)
    """
    if order != "C":
        check_order("ones", order)
    return _forerun.full(shape, 1.0, dtype, None if ctx is None and device is None else asked("ones", ctx, device))


def zeros(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Make an array of zeros, on the current device unless another is given.

    Examples
    --------
    >>> from forerun import np
    >>> np.zeros(3)
    array([0., 0., 0.])
    """
    if order != "C":
        check_order("zeros", order)
    return _forerun.full(shape, 0.0, dtype, None if ctx is None and device is None else asked("zeros", ctx, device))


def empty(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    order: Order = "C",
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Make an array to be filled later, on the current device unless another is given.

    The elements are uninitialised, as in NumPy; booleans are False.

    Examples
    --------
    >>> from forerun import np
    >>> np.empty((2, 3)).shape
    (2, 3)
    """
    if order != "C":
        check_order("empty", order)
    return _forerun.empty(shape, dtype, None if ctx is None and device is None else asked("empty", ctx, device))


def full_like(
    a: ArrayLike,
    fill_value: Number,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    *,
    shape: ShapeLike | None = None,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Make an array of one value with the shape and dtype of another, and on its device unless another is given.

    Examples
    --------
    >>> from forerun import np
    >>> np.full_like(np.ones((2,)), 5)
    array([5., 5.])
    """
    if type(a) is ndarray and shape is None and ctx is None and device is None and order == "K":
        return _forerun.full_like(a, fill_value, dtype)
    place, like = asked("full_like", ctx, device), to_array(a)
    check_order("full_like", order)
    return _forerun.full(
        like.shape if shape is None else shape,
        fill_value,
        like.dtype if dtype is None else dtype,
        like.device if place is None else place,
    )


def ones_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    *,
    shape: ShapeLike | None = None,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Make an array of ones with the shape and dtype of another, and on its device unless another is given.

    Examples
    --------
    >>> from forerun import np
    >>> np.ones_like(np.arange(3))
    array([1, 1, 1])
    """
    if type(a) is ndarray and shape is None and ctx is None and device is None and order == "K":
        return _forerun.full_like(a, 1, dtype)
    return full_like(a, 1, dtype, order, shape=shape, device=asked("ones_like", ctx, device))


def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    *,
    shape: ShapeLike | None = None,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Make an array of zeros with the shape and dtype of another, and on its device unless another is given.

    Examples
    --------
    >>> from forerun import np
    >>> np.zeros_like(np.arange(3))
    array([0, 0, 0])
    """
    if type(a) is ndarray and shape is None and ctx is None and device is None and order == "K":
        return _forerun.full_like(a, 0, dtype)
    return full_like(a, 0, dtype, order, shape=shape, device=asked("zeros_like", ctx, device))


def empty_like(
    a: ArrayLike,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    *,
    shape: ShapeLike | None = None,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Make an array to be filled later with the shape and dtype of another, and on its device unless another is given.

    The elements are uninitialised, as in NumPy; booleans are False.

    Examples
    --------
    >>> from forerun import np
    >>> np.empty_like(np.ones((2, 3))).shape
    (2, 3)
    """
    if type(a) is ndarray and shape is None and ctx is None and device is None and order == "K":
        return _forerun.empty_like(a, dtype)
    place, like = asked("empty_like", ctx, device), to_array(a)
    check_order("empty_like", order)
    return _forerun.empty(
        like.shape if shape is None else shape,
        like.dtype if dtype is None else dtype,
        like.device if place is None else place,
    )


def arange(
    start: Number,
    stop: Number | None = None,
    step: Number = 1,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Return evenly spaced numbers from ``start`` to below ``stop``; with one number, from 0 up to, excluding, it.

    Examples
    --------
    >>> from forerun import np
    >>> np.arange(4)
    array([0, 1, 2, 3])
    >>> np.arange(0, 1, 0.25)
    array([0.  , 0.25, 0.5 , 0.75])
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ZeroDivisionError("arange: step must not be zero")
    if dtype is None and not (type(start) in _PLAIN and type(stop) in _PLAIN and type(step) in _PLAIN):
        dtype = _width(start, stop, step)
    return _forerun.arange(
        start, stop, step, dtype, None if ctx is None and device is None else asked("arange", ctx, device)
    )


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    ctx: Device | None = None,
    device: Device | None = None,
) -> tuple[ndarray, ndarray | float]: ...
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: SupportsIndex = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray | tuple[ndarray, ndarray | float]:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop``.

    Parameters
    ----------
    start, stop
        The interval; arrays for several at once.
    num
        The number of points.
    endpoint
        Whether ``stop`` is the last point.
    retstep
        Whether to return the step too.
    dtype
        The dtype of the result; the default float if not given.
    axis
        The axis of the points if there are several intervals.
    ctx, device
        The device of the result; the current device if not given.

    Examples
    --------
    >>> from forerun import np
    >>> np.linspace(0, 1, 5)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    >>> np.linspace(0, 1, 5, retstep=True)[1]
    0.25
    """
    count = index(num)
    if count < 0:
        raise ValueError(f"linspace: number of samples must not be negative, got {count}")
    intervals = count - 1 if endpoint else count
    if dtype is None:
        width = _width(start, stop)
        dtype = width if width is not None and width.kind in "fc" else default_float()
    place = asked("linspace", ctx, device)
    # Computed in double precision and rounded once, like NumPy.
    first, last = (_wide_number(each, place) for each in (start, stop))
    step = (last - first) / intervals if intervals > 0 else math.nan if retstep else (last - first) * 0.0
    several = max(first.ndim if isinstance(first, ndarray) else 0, last.ndim if isinstance(last, ndarray) else 0)
    steps = _forerun.arange(0, count, 1, float64, place).reshape((count,) + (1,) * several)
    values = steps * (step if intervals > 0 else 0.0) + (first if intervals > 0 else first + (last - first) * 0.0)
    if endpoint and count > 1:
        values[-1] = last
    if _dtype(dtype).kind in "iu":
        values = floor(values)
    made = values.astype(dtype, copy=False)
    if several and axis % (several + 1):
        order = list(range(1, several + 1))
        order.insert(axis % (several + 1), 0)
        made = made.transpose(order)
    return (made, step) if retstep else made


def _wide_number(value: ArrayLike, place: Device | None) -> ndarray | float:
    """Return a number unchanged, and an array in double precision."""
    if isinstance(value, (int, float)):
        return float(value)
    made = to_array(value, None, place)
    return made if made.dtype.kind == "c" else made.astype(float64, copy=False)


def eye(
    N: SupportsIndex,
    M: SupportsIndex | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Make a matrix with ones on the ``k``-th diagonal and zeros elsewhere.

    Examples
    --------
    >>> from forerun import np
    >>> np.eye(2)
    array([[1., 0.],
           [0., 1.]])
    """
    rows, columns = index(N), index(N if M is None else M)
    if rows < 0 or columns < 0:
        raise ValueError(f"eye: negative dimensions are not allowed, got ({rows}, {columns})")
    # Diagonals outside of the matrix are equivalent.
    diagonal = max(-rows, min(k, columns))
    return _forerun.eye(rows, columns, diagonal, dtype, asked("eye", ctx, device))
