"""Sliding windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import int64, ndarray
from forerun._types import ArrayLike, ShapeLike
from forerun.np._manipulation import axis_of, broadcast_to
from forerun.np._shapes import broadcast_arrays, broadcast_shapes

__all__ = ["as_strided", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "sliding_window_view"]


def sliding_window_view(
    x: ArrayLike,
    window_shape: ShapeLike,
    axis: SupportsIndex | Sequence[SupportsIndex] | None = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> ndarray:
    """Return all windows of a given shape; their dimensions come last.

    The windows are a copy, so a write changes one window only.

    Parameters
    ----------
    x
        The array.
    window_shape
        The extents of a window along the axes.
    axis
        The axes; all if not given.
    subok, writeable
        Accepted as False only.

    Examples
    --------
    >>> from forerun import np
    >>> np.lib.stride_tricks.sliding_window_view(np.arange(4), 2)
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    if subok or writeable:
        raise ValueError("sliding_window_view: the windows are a copy: neither subok nor writeable can be True")
    made = to_array(x)
    extents = [each.__index__() for each in (window_shape if isinstance(window_shape, Sequence) else [window_shape])]
    if axis is None:
        axes = list(range(made.ndim))
    else:
        axes = [axis_of(each, made.ndim) for each in (axis if isinstance(axis, Sequence) else [axis])]
    if len(axes) != len(extents):
        raise ValueError(f"sliding_window_view: {len(extents)} extents for {len(axes)} axes")
    for along, extent in zip(axes, extents, strict=True):
        if extent < 0:
            raise ValueError(f"sliding_window_view: extents must not be negative, got {extent}")
        left = made.shape[along] - extent + 1
        if left < 1:
            raise ValueError(f"sliding_window_view: a window of {extent} does not fit axis {along} of {made.shape}")
        starts = _forerun.arange(0, left, 1, int64, made.device).reshape(-1, 1)
        places = starts + _forerun.arange(0, extent, 1, int64, made.device)
        made = _forerun.take(made, places, along)
        order = [*range(along + 1), *range(along + 2, made.ndim), along + 1]
        made = made.transpose(order)
    return made


def as_strided(x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True) -> ndarray:
    """Raise: arbitrary strides would let one write change elements that the engine treats as independent.

    :func:`sliding_window_view`, :func:`broadcast_to` and slices make the views that programs use it for.

    Examples
    --------
    >>> from forerun import np
    >>> np.lib.stride_tricks.as_strided(np.ones(4), (2, 2), (8, 4))
    Traceback (most recent call last):
    TypeError: as_strided: views are made by slices, broadcast_to and sliding_window_view, not by strides in bytes
    """
    raise TypeError(
        "as_strided: views are made by slices, broadcast_to and sliding_window_view, not by strides in bytes"
    )
