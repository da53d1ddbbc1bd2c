"""``ufunc.at``: ops applied in place at indices, once per occurrence of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import int64, ndarray
from forerun._pointwise import equal, multiply, negative, not_equal, where
from forerun._reducing import _COMMUTATIVE, segments

if TYPE_CHECKING:
    from forerun._types import ArrayLike
    from forerun._ufunc import ufunc


def applied_at(op: ufunc, a: ndarray, indices: Any, b: ArrayLike | None) -> None:
    """Apply an op in place."""
    name = op.__name__
    if not isinstance(a, ndarray):
        raise TypeError(f"{name}.at: needs an array of forerun to write to, got {type(a).__name__}")
    if (op.nin == 2) != (b is not None):
        raise TypeError(f"{name}.at: takes {op.nin + 1} arguments")
    by_position = isinstance(indices, ndarray) and indices.dtype.kind in "iu" and a.ndim == 1 and a.dtype.kind != "b"
    if by_position and b is not None and name in ("add", "subtract"):
        # For a 1-d array, indices are flat positions.
        given = to_array(b, None, a.device)
        _check(op, a, given)
        addends = given.astype(a.dtype, copy=False)
        addends = negative(addends) if name == "subtract" else addends
        a[...] = _forerun.scatter_add(a, indices, _forerun.broadcast_to(addends, indices.shape), 0)
        return
    # The flat positions of the elements that an index of any kind selects.
    places = _forerun.arange(0, a.size, 1, int64, a.device).reshape(*a.shape)[indices]
    values: ndarray | None = None
    if b is not None:
        given = to_array(b, None, a.device)
        _check(op, a, given)
        values = _forerun.broadcast_to(given, places.shape).reshape(-1)
    places = places.reshape(-1)
    if not places.size:
        return
    flat = a.reshape(-1)
    made = _applied(op, flat, places, values)
    a[...] = made.reshape(*a.shape)


def _check(op: ufunc, a: ndarray, given: ndarray) -> None:
    from forerun.np._dtypes import can_cast

    result = op(_forerun.full((0,), 0, a.dtype, a.device), _forerun.full((0,), 0, given.dtype, a.device)).dtype
    if not can_cast(result, a.dtype, "same_kind"):
        raise TypeError(f"{op.__name__}.at: cannot write a {result} result into a {a.dtype} array")


def _applied(op: ufunc, flat: ndarray, places: ndarray, values: ndarray | None) -> ndarray:
    """Return the flattened array with the op applied."""
    name = op.__name__
    if values is not None and name in ("add", "subtract") and flat.dtype.kind != "b":
        addends = values.astype(flat.dtype, copy=False)
        return _forerun.scatter_add(flat, places, negative(addends) if name == "subtract" else addends, 0)
    order = _forerun.routine("argsort", [places], axis=0)
    places = _forerun.take(places, order, 0)
    if values is None:
        return _rounds(op, flat, places, None)
    values = _forerun.take(values, order, 0)
    within: ufunc | None = op if name in _COMMUTATIVE else multiply if name == "divide" else None
    if within is None:
        return _rounds(op, flat, places, values)
    if flat.size <= places.size:
        every = _forerun.arange(0, flat.size, 1, int64, flat.device)
        starts, ends = (_forerun.routine("searchsorted", [places, every], right=side) for side in (0, 1))
        start = _forerun.broadcast_to(values[:1], flat.shape)
        together = segments(within, values, start, starts, ends - starts, 0, places.size)
        return where(ends > starts, op(flat, together).astype(flat.dtype, copy=False), flat)
    # Combine each value with all earlier ones for the same position. The last write to a position wins, and it has the
    # combination of all.
    values = _scanned(within, places, values)
    made = op(_forerun.take(flat, places, 0), values).astype(flat.dtype, copy=False)
    return _forerun.routine("put_along_axis", [flat, places, made], axis=0)


def _scanned(op: ufunc, places: ndarray, values: ndarray) -> ndarray:
    step = 1
    while step < places.size:
        same = equal(places[step:], places[:-step])
        together = where(same, op(values[:-step], values[step:]), values[step:])
        values = _forerun.concatenate([values[:step].astype(together.dtype, copy=False), together], 0)
        step *= 2
    return values


def _rounds(op: ufunc, flat: ndarray, places: ndarray, values: ndarray | None) -> ndarray:
    """Apply the op to the first value for each index, then to the second, and so on."""
    count = _forerun.arange(0, places.size, 1, int64, places.device)
    first = _forerun.concatenate(
        [_forerun.full((1,), True, None, places.device), not_equal(places[1:], places[:-1])], 0
    )
    starts = where(first, count, 0)
    starts = _forerun.take(starts, _forerun.routine("argcummax", [starts], axis=0), 0)
    turns = count - starts
    for turn in range(turns.max().item() + 1):
        now = equal(turns, turn)
        at = places[now]
        old = _forerun.take(flat, at, 0)
        made = op(old) if values is None else op(old, values[now])
        flat = _forerun.routine("put_along_axis", [flat, at, made.astype(flat.dtype, copy=False)], axis=0)
    return flat
