"""Padding."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._pointwise import floor, rint
from forerun._types import ArrayLike
from forerun.np._manipulation import broadcast_to, concatenate, part_of

__all__ = ["pad"]

# The arguments of each mode and their defaults.
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "edge": {},
    "empty": {},
    "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None},
    "mean": {"stat_length": None},
    "minimum": {"stat_length": None},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
    "wrap": {},
}


def _pairs(value: Any, ndim: int, what: str) -> list[tuple[Any, Any]]:
    """Parse two values per axis: a number, a pair, or a pair for each axis."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return [(value, value)] * ndim
    items: list[Any] = [tuple(item) if isinstance(item, Sequence) else item for item in value]
    if all(isinstance(item, tuple) for item in items):
        pairs = [(item[0], item[-1]) for item in items if 1 <= len(item) <= 2]
        if len(pairs) == len(items) and len(pairs) in (1, ndim):
            return pairs * (ndim if len(pairs) == 1 else 1)
    elif len(items) in (1, 2):
        return [(items[0], items[-1])] * ndim
    raise ValueError(f"pad: {what} {value} does not fit {ndim} dimensions")


def _mirrored(extent: int, count: int, twice: bool) -> list[int]:
    """List the mirrored positions beyond the first element."""
    if extent == 1 and not twice:
        return [0] * count
    period = 2 * extent if twice else 2 * (extent - 1)
    walked = ((-1 - step) % period for step in range(count))
    if twice:
        return [place if place < extent else period - 1 - place for place in walked]
    return [place if place < extent else period - place for place in walked]


def _reflected(x: ndarray, axis: int, before: int, after: int, twice: bool, odd: bool) -> ndarray:
    extent = x.shape[axis]
    if odd:
        # Reflection about a point uses the ends computed so far, so a wide border takes several steps.
        most = extent if twice else max(extent - 1, 1)
        while before or after:
            parts = [x]
            for count, first in ((min(before, most), True), (min(after, most), False)):
                if count:
                    edge = part_of(x, axis, slice(0, 1) if first else slice(-1, None))
                    near = 0 if twice or x.shape[axis] == 1 else 1
                    ends = slice(near, near + count) if first else slice(-count - near, -near or None)
                    turned = part_of(part_of(x, axis, ends), axis, slice(None, None, -1))
                    parts.insert(0 if first else len(parts), edge * 2 - turned)
            before, after = before - min(before, most), after - min(after, most)
            x = concatenate(parts, axis)
            most = x.shape[axis] if twice else x.shape[axis] - 1
        return x
    beginning = list(reversed(_mirrored(extent, before, twice)))
    ending = [extent - 1 - place for place in _mirrored(extent, after, twice)]
    return _with_positions(x, axis, beginning, ending)


def _with_positions(x: ndarray, axis: int, first: list[int], last: list[int]) -> ndarray:
    taken = [x.take(to_array(places, "int64", x.device), axis) if places else None for places in (first, last)]
    return _around(x, axis, taken[0], taken[1])


def _around(x: ndarray, axis: int, before: ndarray | None, after: ndarray | None) -> ndarray:
    parts = [part for part in (before, x, after) if part is not None]
    return concatenate(parts, axis) if len(parts) > 1 else x


def _repeated(edge: ndarray, axis: int, count: int) -> ndarray:
    return broadcast_to(edge, (*edge.shape[:axis], count, *edge.shape[axis + 1 :]))


def _constant(x: ndarray, axis: int, count: int, value: Any) -> ndarray | None:
    if not count:
        return None
    number = to_array(value, x.dtype, x.device)
    return broadcast_to(number, (*x.shape[:axis], count, *x.shape[axis + 1 :]))


def _ramp(x: ndarray, axis: int, count: int, end: Any, first: bool) -> ndarray | None:
    if not count:
        return None
    edge = part_of(x, axis, slice(0, 1) if first else slice(-1, None))
    whole = "int" in x.dtype.name
    edge = edge.astype("float64") if whole else edge
    steps = _forerun.arange(0, count, 1, edge.dtype, x.device).reshape(count, *(1,) * (x.ndim - axis - 1))
    ramp = steps * ((edge - end) / count) + end
    ramp = ramp if first else part_of(ramp, axis, slice(None, None, -1))
    return floor(ramp).astype(x.dtype) if whole else ramp


def _statistic(x: ndarray, axis: int, count: int, mode: str, length: int | None, first: bool) -> ndarray | None:
    if not count:
        return None
    if length is not None:
        if length < 1:
            raise ValueError(f"pad: stat_length must be at least 1, got {length}")
        most = min(index(length), x.shape[axis])
        x = part_of(x, axis, slice(0, most) if first else slice(x.shape[axis] - most, None))
    if mode == "mean":
        mean = x.mean(axis, keepdims=True)
        return _repeated(rint(mean).astype(x.dtype) if "int" in x.dtype.name else mean, axis, count)
    return _repeated(x.max(axis, keepdims=True) if mode == "maximum" else x.min(axis, keepdims=True), axis, count)


def _padded(x: ndarray, axis: int, widths: tuple[int, int], mode: str, given: tuple[Any, Any]) -> ndarray:
    before, after = widths
    if mode in ("constant", "empty"):
        value = given if mode == "constant" else (0, 0)
        return _around(x, axis, _constant(x, axis, before, value[0]), _constant(x, axis, after, value[1]))
    extent = x.shape[axis]
    if extent == 0 and (before or after):
        raise ValueError(f"pad: cannot extend empty axis {axis} with mode {mode}")
    if mode == "edge":
        first = _repeated(part_of(x, axis, slice(0, 1)), axis, before) if before else None
        last = _repeated(part_of(x, axis, slice(-1, None)), axis, after) if after else None
        return _around(x, axis, first, last)
    if mode == "linear_ramp":
        return _around(x, axis, _ramp(x, axis, before, given[0], True), _ramp(x, axis, after, given[1], False))
    if mode == "wrap":
        places = [(step - before) % extent for step in range(before)], [step % extent for step in range(after)]
        return _with_positions(x, axis, *places)
    if mode in ("reflect", "symmetric"):
        return _reflected(x, axis, before, after, mode == "symmetric", given[0] == "odd")
    first, last = _statistic(x, axis, before, mode, given[0], True), _statistic(x, axis, after, mode, given[1], False)
    return _around(x, axis, first, last)


def _one_number(given: list[tuple[Any, Any]], x: ndarray) -> int | float | None:
    """Return the constant of all borders, if there is a single one that the dtype represents exactly."""
    value = given[0][0] if given else None
    if type(value) not in (int, float) or (type(value) is float and x.dtype.kind not in "fc"):
        return None
    return value if all(pair == (value, value) for pair in given) and x.dtype.kind != "b" else None


def pad(array: ArrayLike, pad_width: Any, mode: str = "constant", **kwargs: Any) -> ndarray:
    """Pad an array.

    Parameters
    ----------
    array
        The array.
    pad_width
        The width: a number, a pair (before, after), or a pair for each axis; or a dictionary of these by axis.
    mode
        The padding values: ``constant``, ``edge``, ``linear_ramp``, ``maximum``, ``minimum``, ``mean``, ``reflect``,
        ``symmetric`` or ``wrap``, as in NumPy; or ``empty``, which gives zeros.
    **kwargs
        ``constant_values``, ``end_values``, ``stat_length`` or ``reflect_type``, for the modes that have them.

    Examples
    --------
    >>> from forerun import np
    >>> np.pad(np.array([1, 2, 3]), (1, 2), constant_values=9)
    array([9, 1, 2, 3, 9, 9])
    >>> np.pad(np.array([1, 2, 3]), 2, "reflect")
    array([3, 2, 1, 2, 3, 2, 1])
    """
    x = to_array(array)
    if mode not in _ARGUMENTS:
        raise ValueError(f"pad: unknown mode {mode}, expected one of {', '.join(_ARGUMENTS)}")
    unknown = kwargs.keys() - _ARGUMENTS[mode].keys()
    if unknown:
        raise ValueError(f"pad: mode {mode} takes no {', '.join(sorted(unknown))}")
    if isinstance(pad_width, dict):
        by_axis = {index(axis) % max(x.ndim, 1): width for axis, width in pad_width.items()}
        pad_width = [by_axis.get(axis, (0, 0)) for axis in range(x.ndim)]
        pad_width = [width if isinstance(width, Sequence) else (width, width) for width in pad_width]
    widths = [(index(before), index(after)) for before, after in _pairs(pad_width, x.ndim, "pad_width")]
    if any(width < 0 for pair in widths for width in pair):
        raise ValueError(f"pad: a width must not be negative, got {pad_width}")
    arguments = _ARGUMENTS[mode] | kwargs
    given = [_pairs(value, x.ndim, name) for name, value in arguments.items()] or [[(None, None)] * x.ndim]
    if mode == "constant" and (value := _one_number(given[0], x)) is not None and x.ndim:
        # One pass over the border and one over the array, instead of one concatenation per axis.
        extents = zip(x.shape, widths, strict=True)
        made = _forerun.full(tuple(n + before + after for n, (before, after) in extents), value, x.dtype, x.device)
        made[tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, widths, strict=True))] = x
        return made
    made = x
    for axis, pair in enumerate(widths):
        if any(pair):
            made = _padded(made, axis, pair, mode, given[0][axis])
    return made.copy() if made is x else made
