"""Indexing functions beyond NumPy: top-k, sequences of different lengths, elements by coordinates."""

from __future__ import annotations

import math
from typing import Any, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import float32, int64, ndarray
from forerun._pointwise import where
from forerun._types import ArrayLike, DTypeLike
from forerun.np._common import one_axis

__all__ = [
    "cummax",
    "cummin",
    "gather_nd",
    "index_add",
    "index_update",
    "sequence_last",
    "sequence_mask",
    "sequence_reverse",
    "topk",
]


def topk(
    data: ArrayLike,
    axis: SupportsIndex | None = -1,
    k: int = 1,
    ret_typ: str = "indices",
    is_ascend: bool = False,
    dtype: DTypeLike | None = float32,
) -> Any:
    """Find the largest elements along an axis, in order.

    Parameters
    ----------
    data
        The elements. NaN comes last.
    axis
        The axis; all elements in one line with ``None``.
    k
        How many; all if less than 1.
    ret_typ
        ``"indices"``, ``"value"``, ``"both"`` for values and indices, or ``"mask"``: ones where they are.
    is_ascend
        Whether to find the smallest instead.
    dtype
        The dtype of the indices.

    Examples
    --------
    >>> from forerun import np, npx
    >>> values, indices = npx.topk(np.array([3.0, 1.0, 2.0]), k=2, ret_typ="both", dtype="int64")
    >>> values
    array([3., 2.])
    >>> indices
    array([0, 2])
    """
    x = to_array(data)
    if ret_typ not in ("indices", "value", "both", "mask"):
        raise ValueError(f"topk: ret_typ must be indices, value, both or mask, not {ret_typ}")
    shape = x.shape
    if axis is None:
        x, axis = x.reshape(-1), 0
    place = one_axis("topk", axis, x.ndim)
    count = x.shape[place] if k < 1 else k
    indices = _forerun.routine("argtop", [x], axis=place, descending=not is_ascend, count=count)
    if ret_typ == "mask":
        nothing = _forerun.full(x.shape, 0, x.dtype, x.device)
        ones = _forerun.full(indices.shape, 1, x.dtype, x.device)
        return _forerun.routine("put_along_axis", [nothing, indices, ones], axis=place).reshape(*shape)
    named = indices if dtype is None else indices.astype(dtype, copy=False)
    if ret_typ == "indices":
        return named
    values = _forerun.routine("take_along_axis", [x, indices], axis=place)
    return values if ret_typ == "value" else [values, named]


def cummax(x: ArrayLike, axis: SupportsIndex = -1) -> ndarray:
    """Return the cumulative maximum along an axis; after a NaN all results are NaN.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.cummax(np.array([1.0, 3.0, 2.0]))
    array([1., 3., 3.])
    """
    x = to_array(x)
    place = axis.__index__()
    return _forerun.routine("take_along_axis", [x, _forerun.routine("argcummax", [x], axis=place)], axis=place)


def cummin(x: ArrayLike, axis: SupportsIndex = -1) -> ndarray:
    """Return the cumulative minimum along an axis; after a NaN all results are NaN.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.cummin(np.array([3.0, 1.0, 2.0]))
    array([3., 1., 1.])
    """
    x = to_array(x)
    place = axis.__index__()
    return _forerun.routine("take_along_axis", [x, _forerun.routine("argcummin", [x], axis=place)], axis=place)


def _rows(op: str, shape: tuple[int, ...], indices: ndarray) -> ndarray:
    """Return the row numbers of coordinates; out-of-bounds coordinates give an invalid row."""
    depth = indices.shape[0] if indices.ndim else 0
    if not 1 <= depth <= len(shape):
        raise ValueError(f"{op}: indices {indices.shape} are not valid coordinates for shape {shape}")
    size = math.prod(shape[:depth])
    rows: ndarray | None = None
    for d in range(depth):
        extent, place = shape[d], indices[d].astype(int64, copy=False)
        place = where(place < 0, place + extent, place)
        good = (place >= 0) * (place < extent)
        # Beyond the last row, whatever the other coordinates add up to.
        rows = where(
            good, place if rows is None else rows * extent + place, size * math.prod(shape[d + 1 : depth]) + size
        )
    assert rows is not None
    return rows


def gather_nd(data: ArrayLike, indices: ArrayLike) -> ndarray:
    """Gather elements or rows by coordinates, which lie along the first axis of ``indices``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.gather_nd(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0, 1], [1, 0]]))
    array([2., 3.])
    """
    x = to_array(data)
    named = to_array(indices, None, x.device)
    rows = _rows("gather_nd", x.shape, named)
    depth = named.shape[0]
    return _forerun.take(x.reshape(math.prod(x.shape[:depth]), *x.shape[depth:]), rows, 0)


def index_add(a: ArrayLike, ind: ArrayLike, val: ArrayLike) -> ndarray:
    """Return an array with values added at coordinates, which lie along the first axis of ``ind``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.index_add(np.zeros((2, 2)), np.array([[0, 0], [1, 1]]), 1)
    array([[0., 2.],
           [0., 0.]])
    """
    x, named, updates = _updates("index_add", a, ind, val)
    depth = named.shape[0]
    flat = x.reshape(math.prod(x.shape[:depth]), *x.shape[depth:])
    rows = _rows("index_add", x.shape, named)
    return _forerun.scatter_add(flat, rows, updates, 0).reshape(*x.shape)


def index_update(a: ArrayLike, ind: ArrayLike, val: ArrayLike) -> ndarray:
    """Return an array with values written at coordinates; if coordinates repeat, the last value wins.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.index_update(np.zeros((2, 2)), np.array([[0], [1]]), 7)
    array([[0., 7.],
           [0., 0.]])
    """
    x, named, updates = _updates("index_update", a, ind, val)
    depth = named.shape[0]
    rows = _rows("index_update", x.shape, named).reshape(-1, 1)
    width = math.prod(x.shape[depth:])
    flat = x.reshape(math.prod(x.shape[:depth]), width)
    rows = _forerun.broadcast_to(rows, (rows.shape[0], width))
    made = _forerun.routine("put_along_axis", [flat, rows, updates.reshape(*rows.shape)], axis=0)
    return made.reshape(*x.shape)


def _updates(op: str, a: ArrayLike, ind: ArrayLike, val: ArrayLike) -> tuple[ndarray, ndarray, ndarray]:
    x = to_array(a)
    named = to_array(ind, None, x.device)
    if named.ndim < 2:
        raise ValueError(f"{op}: indices must have one row per coordinate, got shape {named.shape}")
    updates = to_array(val, x.dtype, x.device)
    return x, named, _forerun.broadcast_to(updates, (*named.shape[1:], *x.shape[named.shape[0] :]))


def _lengths(op: str, x: ndarray, sequence_length: ArrayLike, axis: SupportsIndex) -> tuple[ndarray, int]:
    """Return the lengths in the shape that broadcasts against sequences along the first or second axis."""
    place = one_axis(op, axis, x.ndim)
    if x.ndim < 2 or place > 1:
        raise ValueError(f"{op}: axis must be 0 or 1 and needs two dimensions, got axis {place} of {x.shape}")
    lengths = to_array(sequence_length, None, x.device).astype(int64)
    if lengths.shape != (x.shape[1 - place],):
        raise ValueError(f"{op}: {lengths.shape} lengths for {x.shape[1 - place]} sequences")
    extents = [1] * x.ndim
    extents[1 - place] = x.shape[1 - place]
    return lengths.reshape(*extents), place


def _steps(x: ndarray, axis: int) -> ndarray:
    """Return the positions along an axis."""
    steps = _forerun.arange(0, x.shape[axis], 1, int64, x.device)
    return steps.reshape(*[-1 if d == axis else 1 for d in range(x.ndim)])


def sequence_mask(
    data: ArrayLike,
    sequence_length: ArrayLike | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: SupportsIndex = 0,
) -> ndarray:
    """Set the elements beyond the end of each sequence to a value.

    Parameters
    ----------
    data
        The sequences, side by side.
    sequence_length
        The length of each.
    use_sequence_length
        Whether to use the lengths; otherwise all sequences have full length.
    value
        The value.
    axis
        The time axis, 0 or 1; the other one is the batch axis.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.sequence_mask(np.ones((2, 3)), np.array([1, 2]), True, axis=1)
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    x = to_array(data)
    if not use_sequence_length or sequence_length is None:
        return x.copy()
    lengths, place = _lengths("sequence_mask", x, sequence_length, axis)
    return where(_steps(x, place) < lengths, x, value)


def sequence_last(
    data: ArrayLike,
    sequence_length: ArrayLike | None = None,
    use_sequence_length: bool = False,
    axis: SupportsIndex = 0,
) -> ndarray:
    """Take the last step of each sequence; arguments as for :func:`sequence_mask`.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.sequence_last(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 2]), True, axis=1)
    array([1., 4.])
    """
    x = to_array(data)
    if not use_sequence_length or sequence_length is None:
        place = one_axis("sequence_last", axis, x.ndim)
        return _forerun.take(x, x.shape[place] - 1, place)
    lengths, place = _lengths("sequence_last", x, sequence_length, axis)
    extents = list(x.shape)
    extents[place] = 1
    last = _forerun.broadcast_to(lengths - 1, extents)
    return _forerun.routine("take_along_axis", [x, last], axis=place).squeeze(place)


def sequence_reverse(
    data: ArrayLike,
    sequence_length: ArrayLike | None = None,
    use_sequence_length: bool = False,
    axis: SupportsIndex = 0,
) -> ndarray:
    """Reverse each sequence; elements beyond its end stay. Arguments as for :func:`sequence_mask`.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.sequence_reverse(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([2, 3]), True, axis=1)
    array([[2., 1., 3.],
           [6., 5., 4.]])
    """
    x = to_array(data)
    if not use_sequence_length or sequence_length is None:
        place = one_axis("sequence_reverse", axis, x.ndim)
        return x[(slice(None),) * place + (slice(None, None, -1),)].copy()
    lengths, place = _lengths("sequence_reverse", x, sequence_length, axis)
    steps = _steps(x, place)
    places = where(steps < lengths, lengths - 1 - steps, steps)
    return _forerun.routine("take_along_axis", [x, _forerun.broadcast_to(places, x.shape)], axis=place)
