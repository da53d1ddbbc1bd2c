"""Reductions and scans with any binary op, and results written into existing arrays.

Invariant: results depend on shapes and values alone, not on the schedule; nothing waits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import int64, ndarray
from forerun._pointwise import (
    add,
    bitwise_and,
    equal,
    maximum,
    minimum,
    multiply,
    not_equal,
    right_shift,
    where,
)

if TYPE_CHECKING:
    from forerun._types import ArrayLike, AxisLike, DTypeLike
    from forerun._ufunc import ufunc

# Commutative and associative ops, apart from rounding.
_COMMUTATIVE = frozenset({
    "add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm", "hypot", "logaddexp",
})  # fmt: skip
# A reduction by these ops is one step with the reduction, by another op, of all elements but the first.
_RESTS = {
    "subtract": "add", "divide": "multiply", "left_shift": "add", "right_shift": "add", "float_power": "multiply",
}  # fmt: skip
# Idempotent ops: applying one to equal operands returns the operand.
_IDEMPOTENT = frozenset(
    {"maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "bitwise_and", "bitwise_or"}
)
_METHODS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
_SCANS = {"add": "cumsum", "multiply": "cumprod"}
_EXTREMES = {"maximum": "argcummax", "minimum": "argcummin"}
_ACCEPTED = frozenset({"casting", "order", "subok", "signature", "sig"})


def check_binary(op: ufunc, method: str) -> None:
    """Raise if the op is not binary."""
    if op.nin != 2:
        raise ValueError(f"{op.__name__}.{method}: only ops on two operands have it")


def _associative(op: ufunc, method: str) -> None:
    check_binary(op, method)
    if op.__name__ not in _COMMUTATIVE:
        raise TypeError(f"{op.__name__}.{method}: not supported, because the order of evaluation matters")


def target(op: str, out: Any) -> ndarray | None:
    """Return the array of an argument ``out``, which may be a tuple of one."""
    if isinstance(out, tuple):
        if len(out) != 1:
            raise ValueError(f"{op}: out must be one array, got {len(out)}")
        (out,) = out
    if out is not None and not isinstance(out, ndarray):
        raise TypeError(f"{op}: out must be an array of forerun, got {type(out).__name__}")
    return out


def written(op: str, made: ndarray, out: Any, mask: ArrayLike = True, casting: str = "same_kind") -> ndarray:
    """Write a result into an array where a condition holds, and return that array."""
    into = target(op, out)
    if into is None:
        return made
    from forerun.np._dtypes import can_cast

    if not can_cast(made.dtype, into.dtype, casting):
        raise TypeError(f"{op}: cannot cast {made.dtype} to {into.dtype} of out according to the rule '{casting}'")
    if mask is True:
        if made.shape != into.shape and not _fits(made.shape, into.shape):
            raise ValueError(f"{op}: a result of shape {made.shape} does not fit out of shape {into.shape}")
        into[...] = made
    else:
        _forerun.copy_where(into, mask, made)
    return into


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Return whether a shape can be broadcast to another."""
    pairs = zip(reversed(shape), reversed(wanted), strict=False)
    return len(shape) <= len(wanted) and all(one in (1, other) for one, other in pairs)


def called(op: ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> ndarray:
    """Call an op with keyword arguments."""
    name, count = op.__name__, op.nin
    out, mask, dtype = options.pop("out", None), options.pop("where", True), options.pop("dtype", None)
    casting = options.get("casting", "same_kind")
    if unknown := [each for each in options if each not in _ACCEPTED]:
        raise TypeError(f"{name}: got an unexpected keyword argument '{unknown[0]}'")
    if len(args) == count + 1:
        if out is not None:
            raise TypeError(f"{name}: out is given twice")
        *operands, out = args
    elif len(args) == count:
        operands = list(args)
    else:
        plural = "argument" if count == 1 else "arguments"
        raise TypeError(f"{name}: takes {count} {plural} and out, got {len(args)}")
    into = target(name, out)
    if dtype is not None and not _is_comparison(op):
        operands = [to_array(each).astype(dtype, copy=False) for each in operands]
    made: ndarray = op(*operands)
    if dtype is not None:
        made = made.astype(dtype, copy=False)
    if into is None and mask is not True:
        # Elements that are left out are uninitialised in NumPy, and zero here.
        shape = where(to_array(mask), made, made).shape
        into = _forerun.full(shape, 0, made.dtype, made.device)
    return written(name, made, into, mask, casting)


def _is_comparison(op: ufunc) -> bool:
    return op.__name__.startswith(("equal", "not_equal", "less", "greater", "logical_", "is", "signbit"))


def reduced(
    op: ufunc,
    x: ndarray,
    axis: AxisLike,
    dtype: DTypeLike | None,
    out: Any,
    keepdims: bool,
    initial: ArrayLike | None,
    mask: ArrayLike,
) -> ndarray:
    """Reduce over axes."""
    check_binary(op, "reduce")
    name = op.__name__
    if dtype is not None and not name.startswith("logical_"):
        x = x.astype(dtype, copy=False)
    if name.startswith("logical_"):
        x = not_equal(x, 0)
    if mask is not True:
        filler = initial if name in _IDEMPOTENT and op.identity is None else op.identity
        if filler is None:
            raise ValueError(f"{name}.reduce: has no identity, so a where mask needs initial")
        x = where(to_array(mask, "bool", x.device), x, to_array(filler, x.dtype, x.device))
    axes = _axes(name, axis, x.ndim)
    start = initial if initial is not None else op.identity
    if any(x.shape[each] == 0 for each in axes) and _count(x, axes):
        if start is None:
            raise ValueError(f"{name}.reduce: zero-size array to a reduction which has no identity")
        made = _empty(op, x, axes, start)
    else:
        made = _fold(op, x, axes)
        if initial is not None:
            made = op(made, to_array(initial, made.dtype, made.device))
    if dtype is not None:
        made = made.astype(dtype, copy=False)
    if not keepdims:
        made = made.squeeze(axes) if axes else made
    return written(f"{name}.reduce", made, out)


def _axes(name: str, axis: AxisLike, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    every = [each.__index__() for each in (axis if isinstance(axis, Sequence) else [axis])]
    for each in every:
        if not -ndim <= each < ndim:
            raise IndexError(f"{name}.reduce: axis {each} is out of bounds for an array of {ndim} dimensions")
    axes = tuple(each % ndim for each in every)
    if len(set(axes)) < len(axes):
        raise ValueError(f"{name}.reduce: an axis is given twice: {axes}")
    return axes


def _count(x: ndarray, axes: tuple[int, ...]) -> int:
    """Count the results of a reduction over axes."""
    return math.prod([extent for d, extent in enumerate(x.shape) if d not in axes])


def _empty(op: ufunc, x: ndarray, axes: tuple[int, ...], start: Any) -> ndarray:
    shape = [1 if d in axes else extent for d, extent in enumerate(x.shape)]
    wide = x.dtype
    if op.__name__ in ("add", "multiply"):
        wide = x.reshape(-1)[:0].sum().dtype
    return _forerun.broadcast_to(to_array(start, wide, x.device), shape).copy()


def _fold(op: ufunc, x: ndarray, axes: tuple[int, ...]) -> ndarray:
    """Reduce non-empty axes; they are kept with extent 1."""
    name = op.__name__
    if not axes:
        return x.copy()
    if name in _METHODS:
        found: ndarray = getattr(x, _METHODS[name])(axes, keepdims=True)
        return found
    if name == "logical_and":
        return x.min(axes, keepdims=True)
    if name == "logical_or":
        return x.max(axes, keepdims=True)
    for axis in axes:
        x = _halved(op, x, axis)
    return x


def _halved(op: ufunc, x: ndarray, axis: int) -> ndarray:
    name = op.__name__
    if name in _RESTS:
        first, rest = _part(x, axis, 0, 1), _part(x, axis, 1, None)
        if not rest.shape[axis]:
            return first.copy()
        other = add if _RESTS[name] == "add" else multiply
        made: ndarray = op(first, _fold(other, rest, (axis,)).astype(x.dtype, copy=False))
        return made
    _associative(op, "reduce")
    while (extent := x.shape[axis]) > 1:
        half = (extent + 1) // 2
        paired = op(_part(x, axis, 0, extent - half), _part(x, axis, half, None))
        x = paired if extent % 2 == 0 else _joined([paired, _part(x, axis, extent - half, half)], axis)
    return x


def _part(x: ndarray, axis: int, start: int, stop: int | None) -> ndarray:
    return x[(slice(None),) * axis + (slice(start, stop),)]


def _joined(parts: list[ndarray], axis: int) -> ndarray:
    return _forerun.concatenate(parts, axis)


def accumulated(op: ufunc, x: ndarray, axis: SupportsIndex, dtype: DTypeLike | None, out: Any) -> ndarray:
    """Reduce each element and all before it along an axis."""
    check_binary(op, "accumulate")
    name = op.__name__
    if x.ndim == 0:
        raise TypeError(f"{name}.accumulate: needs at least one dimension")
    (along,) = _axes(name, axis, x.ndim)
    if name.startswith("logical_"):
        x = not_equal(x, 0)
    elif dtype is not None:
        x = x.astype(dtype, copy=False)
    return written(f"{name}.accumulate", _scanned(op, x, along, dtype is None), out)


def _scanned(op: ufunc, x: ndarray, axis: int, widen: bool) -> ndarray:
    name = op.__name__
    if name in _SCANS:
        if widen and x.dtype.kind in "biu":
            x = x.astype("uint64" if x.dtype.kind == "u" else int64, copy=False)
        return _forerun.routine(_SCANS[name], [x], axis=axis)
    if name in _EXTREMES:
        return _forerun.routine("take_along_axis", [x, _forerun.routine(_EXTREMES[name], [x], axis=axis)], axis=axis)
    if name in _RESTS and x.shape[axis] > 1:
        first, rest = _part(x, axis, 0, 1), _part(x, axis, 1, None)
        scanned = _scanned(add if _RESTS[name] == "add" else multiply, rest, axis, False)
        made: ndarray = op(first, scanned.astype(x.dtype, copy=False))
        return _joined([first.astype(made.dtype, copy=False), made], axis)
    if name not in _RESTS:
        _associative(op, "accumulate")
    step = 1
    while step < x.shape[axis]:
        paired = op(_part(x, axis, 0, -step), _part(x, axis, step, None))
        x = _joined([_part(x, axis, 0, step), paired], axis)
        step *= 2
    return x


def reduced_at(
    op: ufunc, x: ndarray, indices: ArrayLike, axis: SupportsIndex, dtype: DTypeLike | None, out: Any
) -> ndarray:
    """Reduce the slices between indices."""
    _associative(op, "reduceat")
    name = op.__name__
    (along,) = _axes(name, axis, x.ndim)
    starts = to_array(indices, None, x.device).astype(int64, copy=False)
    if starts.ndim != 1:
        raise ValueError(f"{name}.reduceat: indices must be a vector, got shape {starts.shape}")
    if name.startswith("logical_"):
        x = not_equal(x, 0)
    elif dtype is not None:
        x = x.astype(dtype, copy=False)
    elif name in _SCANS and x.dtype.kind in "biu":
        x = x.astype("uint64" if x.dtype.kind == "u" else int64, copy=False)
    extent = x.shape[along]
    if not starts.size:
        return written(f"{name}.reduceat", _part(x, along, 0, 0).copy(), out)
    ends = _forerun.concatenate([starts[1:], _forerun.full((1,), extent, int64, x.device)], 0)
    lengths = maximum(ends - starts, 1)
    # This lookup raises for indices that are out of bounds or negative.
    first = _forerun.take(x, where(starts < 0, extent, starts), along)
    made = segments(op, x, first, starts, lengths, along, _longest(indices, extent))
    return written(f"{name}.reduceat", made, out)


def _longest(indices: ArrayLike, extent: int) -> int:
    """Return the length of the longest slice; an upper bound if the indices are not computed yet."""
    if isinstance(indices, ndarray):
        return extent
    import numpy

    read = numpy.append(numpy.asarray(indices), extent)
    return int(max(1, numpy.diff(read).max()))


def segments(
    op: ufunc, x: ndarray, found: ndarray, starts: ndarray, lengths: ndarray, along: int, longest: int
) -> ndarray:
    """Reduce segments of a line; empty segments keep the existing value.

    Reductions of all windows of 1, 2, 4, ... elements are computed in turn. Each segment is composed of the windows
    whose lengths add up to its own.
    """
    shape = [1] * x.ndim
    shape[along] = starts.size
    known, windows, width, places = equal(starts, -1), x, 1, starts
    while True:
        block = _forerun.take(windows, minimum(places, windows.shape[along] - 1), along)
        taken = not_equal(bitwise_and(right_shift(lengths, width.bit_length() - 1), 1), 0)
        together = where(known.reshape(shape), op(found, block), block)
        found = where(taken.reshape(shape), together, found)
        known, places = not_equal(known + taken, 0), places + taken.astype(int64) * width
        if 2 * width > longest:
            return found
        windows = op(_part(windows, along, 0, -width), _part(windows, along, width, None))
        width *= 2
