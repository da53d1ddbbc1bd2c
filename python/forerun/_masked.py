"""Masked softmax, and arrays that take their shape from others; part of ``npx``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._pointwise import where
from forerun._types import ArrayLike
from forerun.np._common import one_axis

__all__ = ["arange_like", "broadcast_like", "masked_log_softmax", "masked_softmax"]


def _hidden(op: str, data: ArrayLike, mask: ArrayLike, temperature: float | None) -> tuple[ndarray, ndarray]:
    """Return the data with minus infinity where the mask is zero, and the mask as truth values."""
    x = to_array(data)
    kept = to_array(mask, None, x.device).astype(bool, copy=False)
    try:
        kept = _forerun.broadcast_to(kept, x.shape)
    except ValueError:
        raise ValueError(f"{op}: a mask of shape {kept.shape} does not fit data of shape {x.shape}") from None
    if temperature not in (None, 1.0):
        x = x / temperature
    return where(kept, x, -float("inf")), kept


def masked_softmax(
    data: ArrayLike,
    mask: ArrayLike,
    axis: SupportsIndex = -1,
    temperature: float | None = 1.0,
    normalize: bool = True,
) -> ndarray:
    """Compute the softmax along an axis over the elements where a mask is not zero; the others give 0.

    If the mask is zero along the whole axis, all results are 0.

    Parameters
    ----------
    data
        The elements.
    mask
        Truth values that broadcast to the shape of the data.
    axis
        The axis.
    temperature
        The divisor of the data.
    normalize
        Accepted for compatibility with MXNet, where it chooses a kernel. Ignored.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.masked_softmax(np.zeros((4,)), np.array([1, 0, 1, 0]))
    array([0.5, 0. , 0.5, 0. ])
    """
    x, kept = _hidden("masked_softmax", data, mask, temperature)
    # The softmax of nothing but -infinity would be NaN, and so would its gradient.
    some = kept.max(axis, keepdims=True)
    return where(kept, _forerun.softmax(where(some, x, 0), axis), 0)


def masked_log_softmax(
    data: ArrayLike,
    mask: ArrayLike,
    axis: SupportsIndex = -1,
    temperature: float | None = 1.0,
    normalize: bool = True,
) -> ndarray:
    """Compute the logarithm of :func:`masked_softmax`; where the mask is zero, minus infinity.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.masked_log_softmax(np.zeros((3,)), np.array([1, 0, 1]))
    array([-0.6931472,       -inf, -0.6931472])
    """
    x, kept = _hidden("masked_log_softmax", data, mask, temperature)
    some = kept.max(axis, keepdims=True)
    return where(kept, _forerun.log_softmax(where(some, x, 0), axis), -float("inf"))


def arange_like(
    data: ArrayLike, start: float = 0.0, step: float = 1.0, repeat: int = 1, axis: SupportsIndex | None = None
) -> ndarray:
    """Count from ``start`` by ``step`` in the shape of an array, or along one of its axes.

    Parameters
    ----------
    data
        The array whose shape, dtype and device are taken.
    start, step
        The first number, and the difference between consecutive numbers.
    repeat
        How often each number occurs.
    axis
        The axis whose extent is the number of elements; all elements if not given.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.arange_like(np.zeros((2, 3)))
    array([[0., 1., 2.],
           [3., 4., 5.]])
    >>> npx.arange_like(np.zeros((2, 3)), axis=1)
    array([0., 1., 2.])
    """
    x = to_array(data)
    if repeat < 1:
        raise ValueError(f"arange_like: repeat must be at least 1, not {repeat}")
    shape = x.shape if axis is None else (x.shape[one_axis("arange_like", axis, x.ndim)],)
    size = 1
    for extent in shape:
        size *= extent
    count = -(-size // repeat)
    numbers = _forerun.arange(0, count, 1, x.dtype, x.device) * step + start
    if repeat > 1:
        numbers = _forerun.broadcast_to(numbers.reshape(count, 1), (count, repeat)).reshape(-1)[:size]
    return numbers.astype(x.dtype, copy=False).reshape(*shape)


def broadcast_like(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_axes: Sequence[SupportsIndex] | None = None,
    rhs_axes: Sequence[SupportsIndex] | None = None,
) -> ndarray:
    """Broadcast an array to the shape of another, or only some axes to the extents of some axes of the other.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.broadcast_like(np.array([[1.0], [2.0]]), np.zeros((2, 3)))
    array([[1., 1., 1.],
           [2., 2., 2.]])
    >>> npx.broadcast_like(np.zeros((1, 2)), np.zeros((3, 4)), lhs_axes=(0,), rhs_axes=(1,)).shape
    (4, 2)
    """
    x, like = to_array(lhs), to_array(rhs)
    if (lhs_axes is None) != (rhs_axes is None):
        raise ValueError("broadcast_like: needs axes of both arrays, or of none")
    shape = list(like.shape)
    if lhs_axes is not None and rhs_axes is not None:
        if len(lhs_axes) != len(rhs_axes):
            raise ValueError(f"broadcast_like: {len(lhs_axes)} and {len(rhs_axes)} axes do not pair up")
        shape = list(x.shape)
        for own, other in zip(lhs_axes, rhs_axes, strict=True):
            place = one_axis("broadcast_like", own, x.ndim)
            shape[place] = like.shape[one_axis("broadcast_like", other, like.ndim)]
    return _forerun.broadcast_to(x, shape).copy()
