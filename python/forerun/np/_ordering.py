"""Sorting and searching. Sorts are stable; NaN comes last in either direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._types import ArrayLike
from forerun.np._common import alike, line, on_host, one_axis
from forerun.np._routines import argsort, sort

__all__ = ["argpartition", "lexsort", "msort", "partition", "put_along_axis", "searchsorted", "take_along_axis"]


def partition(
    a: ArrayLike, kth: SupportsIndex | Sequence[SupportsIndex], axis: SupportsIndex | None = -1, kind: str | None = None
) -> ndarray:
    """Partition along an axis: the ``kth`` element is in its sorted position, smaller ones before it.

    The elements before and after it keep their order. Devices sort the whole line, which is a valid partition too.

    Examples
    --------
    >>> from forerun import np
    >>> np.partition(np.array([3.0, 1.0, 2.0]), 1)[1]
    array(2.)
    """
    x, place = line(a, axis)
    places = _places("partition", x, kth, place)
    if not places or not on_host(x):
        return _forerun.routine("sort", [x], axis=place)
    return _forerun.routine("partition", [x], axis=place, places=places)


def argpartition(
    a: ArrayLike, kth: SupportsIndex | Sequence[SupportsIndex], axis: SupportsIndex | None = -1, kind: str | None = None
) -> ndarray:
    """Return indices that partition along an axis; see :func:`partition`.

    Examples
    --------
    >>> from forerun import np
    >>> np.argpartition(np.array([3.0, 1.0, 2.0]), 1)[1]
    array(2)
    """
    x, place = line(a, axis)
    places = _places("argpartition", x, kth, place)
    if not places or not on_host(x):
        return _forerun.routine("argsort", [x], axis=place)
    return _forerun.routine("argpartition", [x], axis=place, places=places)


def _places(op: str, x: ndarray, kth: SupportsIndex | Sequence[SupportsIndex], axis: int) -> list[int]:
    """Return the distinct positions in ascending order, counted from the front."""
    count = x.shape[one_axis(op, axis, x.ndim)]
    found = [k.__index__() for k in (kth if isinstance(kth, Sequence) else [kth])]
    for k in found:
        if not -count <= k < count:
            raise ValueError(f"{op}: kth {k} is out of bounds for {count} elements along axis {axis}")
    return [found[0] % count] if len(found) == 1 else sorted({k % count for k in found})


def msort(a: ArrayLike) -> ndarray:
    """Return a copy sorted along the first axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.msort(np.array([[3.0, 1.0], [2.0, 4.0]]))
    array([[2., 1.],
           [3., 4.]])
    """
    return sort(a, 0)


def lexsort(keys: ArrayLike | Sequence[ArrayLike], axis: SupportsIndex = -1) -> ndarray:
    """Return the indices that sort by several keys; the last key is the primary one.

    Examples
    --------
    >>> from forerun import np
    >>> np.lexsort([np.array([1, 2, 0]), np.array([5, 4, 4])])
    array([2, 1, 0])
    """
    every = [to_array(key) for key in keys]  # type: ignore[union-attr]
    if not every:
        raise TypeError("lexsort: needs at least one key")
    order = argsort(every[0], axis)
    for key in every[1:]:
        if key.shape != every[0].shape:
            raise ValueError(f"lexsort: keys differ in shape: {every[0].shape} and {key.shape}")
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order


def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None) -> ndarray:
    """Find insertion points in a sorted array.

    Parameters
    ----------
    a
        A sorted 1-d array.
    v
        The values.
    side
        Whether to insert to the ``"left"`` or ``"right"`` of equal elements.
    sorter
        Indices that sort ``a``, if it is not sorted.

    Examples
    --------
    >>> from forerun import np
    >>> np.searchsorted(np.array([1.0, 2.0, 3.0]), 2.5)
    array(2)
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be left or right, not {side}")
    numbers, values = alike(a, v)
    if sorter is not None:
        numbers = _forerun.take(numbers, sorter, 0)
    return _forerun.routine("searchsorted", [numbers, values], right=side == "right")


def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: SupportsIndex | None = -1) -> ndarray:
    """Take elements along an axis by an array of indices.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.array([[3.0, 1.0], [2.0, 4.0]])
    >>> np.take_along_axis(x, np.argsort(x, 1), 1)
    array([[1., 3.],
           [2., 4.]])
    """
    x, named, place = _along("take_along_axis", arr, indices, axis)
    return _forerun.routine("take_along_axis", [x, named], axis=place)


def put_along_axis(arr: ndarray, indices: ArrayLike, values: ArrayLike, axis: SupportsIndex | None) -> None:
    """Write values along an axis at an array of indices, in place; if indices repeat, the last value wins.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.zeros((2, 3))
    >>> np.put_along_axis(x, np.array([[0], [2]]), 7, 1)
    >>> x
    array([[7., 0., 0.],
           [0., 0., 7.]])
    """
    x, named, place = _along("put_along_axis", arr, indices, axis)
    updates = to_array(values, x.dtype, x.device)
    updates = _forerun.broadcast_to(updates, named.shape)
    arr[...] = _forerun.routine("put_along_axis", [x, named, updates], axis=place).reshape(*arr.shape)


def _along(op: str, arr: ArrayLike, indices: ArrayLike, axis: SupportsIndex | None) -> tuple[ndarray, ndarray, int]:
    """Broadcast array and indices against each other, except for the axis."""
    x = to_array(arr)
    named = to_array(indices, None, x.device)
    if axis is None:
        if named.ndim != 1:
            raise ValueError(f"{op}: indices have one dimension when axis is None, not {named.shape}")
        return x.reshape(-1), named, 0
    place = one_axis(op, axis, x.ndim)
    if named.ndim != x.ndim:
        raise ValueError(f"{op}: indices {named.shape} have not as many dimensions as {x.shape}")
    for d in range(x.ndim):
        if d != place and x.shape[d] != named.shape[d] and 1 not in (x.shape[d], named.shape[d]):
            raise ValueError(f"{op}: indices {named.shape} do not fit {x.shape} along axis {place}")

    def spread(array: ndarray) -> ndarray:
        extents: list[Any] = [_extent(x.shape[d], named.shape[d]) for d in range(x.ndim)]
        extents[place] = array.shape[place]
        return array if tuple(extents) == array.shape else _forerun.broadcast_to(array, extents)

    return (spread(x) if op == "take_along_axis" else x), spread(named), place


def _extent(a: int, b: int) -> int:
    """Return the extent that two broadcast to."""
    return b if a == 1 else a
