"""Differences, gradients, interpolation, integration and convolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsIndex

from forerun import _forerun
from forerun._convert import averaging, floating, to_array, to_arrays
from forerun._forerun import ndarray
from forerun._pointwise import abs, equal, less, logical_and, not_equal, remainder, where
from forerun._types import ArrayLike, AxisLike, Number
from forerun.np._common import common_dtype, shortcut
from forerun.np._complex import conj
from forerun.np._cumulative import cumsum
from forerun.np._manipulation import axis_of, broadcast_to, concatenate, part_of
from forerun.np._ordering import searchsorted
from forerun.np._routines import argsort

__all__ = ["convolve", "correlate", "diff", "ediff1d", "gradient", "interp", "trapezoid", "unwrap"]


def diff(
    a: ArrayLike,
    n: int = 1,
    axis: SupportsIndex = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> ndarray:
    """Return the ``n``-th difference along an axis; for booleans, whether neighbours differ.

    Examples
    --------
    >>> from forerun import np
    >>> np.diff(np.array([1, 4, 9, 16]))
    array([3, 5, 7])
    """
    if n == 1 and prepend is None and append is None and isinstance(a, ndarray) and a.ndim == 1 and axis in (0, -1):
        return a[1:] != a[:-1] if a.dtype.kind == "b" else a[1:] - a[:-1]
    if n < 0:
        raise ValueError(f"diff: order must not be negative, got {n}")
    x = to_array(a)
    if x.ndim == 0:
        raise ValueError("diff: needs at least one dimension")
    along = axis_of(axis, x.ndim)
    parts = [x]
    for end, place in ((prepend, 0), (append, 2)):
        if end is not None:
            more = to_array(end, None, x.device)
            if more.ndim == 0:
                more = broadcast_to(more, (*x.shape[:along], 1, *x.shape[along + 1 :]))
            parts.insert(place, more)
    x = concatenate(parts, along) if len(parts) > 1 else x
    for _ in range(n):
        later, earlier = part_of(x, along, slice(1, None)), part_of(x, along, slice(None, -1))
        x = not_equal(later, earlier) if x.dtype == "bool" else later - earlier
    return x.copy() if x is a else x


def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> ndarray:
    """Return the differences of the flattened array, with optional elements at both ends.

    Examples
    --------
    >>> from forerun import np
    >>> np.ediff1d(np.array([1, 4, 9]), to_end=0)
    array([3, 5, 0])
    """
    x = to_array(ary).ravel()
    parts = [to_array(part, None, x.device).ravel() for part in (to_begin, diff(x), to_end) if part is not None]
    return concatenate(parts) if len(parts) > 1 else parts[0]


def gradient(
    f: ArrayLike, *varargs: Number | ArrayLike, axis: AxisLike = None, edge_order: int = 1
) -> ndarray | tuple[ndarray, ...]:
    """Estimate the gradient along axes: central differences inside, one-sided differences at the ends.

    Parameters
    ----------
    f
        Values of a function.
    varargs
        The spacing: one number, one per axis, or the coordinates along each axis.
    axis
        The axes; all if not given.
    edge_order
        The order of accuracy at the ends: 1 or 2.

    Examples
    --------
    >>> from forerun import np
    >>> np.gradient(np.array([1.0, 2.0, 4.0, 7.0]))
    array([1. , 1.5, 2.5, 3. ])
    """
    x = averaging(to_array(f))
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, Sequence) else [axis]
    along = [axis_of(one, x.ndim) for one in axes]
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order must be 1 or 2, got {edge_order}")
    spacings: list[Any] = list(varargs) or [1.0]
    if len(spacings) == 1:
        spacings *= len(along)
    if len(spacings) != len(along):
        raise TypeError(f"gradient: {len(varargs)} spacings for {len(along)} axes")
    made = tuple(_slope(x, one, spacing, edge_order) for one, spacing in zip(along, spacings, strict=True))
    return made[0] if len(made) == 1 else made


def _slope(x: ndarray, axis: int, spacing: Number | ArrayLike, edge_order: int) -> ndarray:
    extent = x.shape[axis]
    if extent < edge_order + 1:
        raise ValueError(f"gradient: axis {axis} of {x.shape} has fewer than {edge_order + 1} elements")
    steps = to_array(spacing, None, x.device)
    if steps.ndim > 1 or (steps.ndim == 1 and steps.size != extent):
        raise ValueError(f"gradient: coordinates of shape {steps.shape} do not fit axis {axis} of {x.shape}")
    # The distances between neighbours, one fewer than elements.
    steps = diff(steps.astype(x.dtype)) if steps.ndim else broadcast_to(steps.astype(x.dtype), (extent - 1,))
    steps = steps.reshape(-1, *(1,) * (x.ndim - axis - 1))

    def at(start: int | None, stop: int | None) -> ndarray:
        return part_of(x, axis, slice(start, stop))

    before, after = steps[:-1], steps[1:]
    inner = (
        at(None, -2) * (-after / (before * (before + after)))
        + at(1, -1) * ((after - before) / (before * after))
        + at(2, None) * (before / (after * (before + after)))
    )
    if edge_order == 1:
        first, last = (at(1, 2) - at(0, 1)) / steps[:1], (at(-1, None) - at(-2, -1)) / steps[-1:]
    else:
        near, far = steps[:1], steps[1:2]
        both = near + far
        first = (
            at(0, 1) * (-(near * 2 + far) / (near * both))
            + at(1, 2) * (both / (near * far))
            - at(2, 3) * (near / (far * both))
        )
        near, far = steps[-1:], steps[-2:-1]
        both = near + far
        last = (
            at(-3, -2) * (near / (far * both))
            - at(-2, -1) * (both / (near * far))
            + at(-1, None) * ((near * 2 + far) / (near * both))
        )
    return concatenate([first, inner, last], axis)


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: Number | None = None,
    right: Number | None = None,
    period: float | None = None,
) -> ndarray:
    """Interpolate linearly between points.

    Parameters
    ----------
    x
        The coordinates to evaluate at.
    xp, fp
        The coordinates of the points, in increasing order, and their values.
    left, right
        The values beyond the ends; by default those of the first and last point.
    period
        The period of ``xp``; with a period the order of the points does not matter.

    Examples
    --------
    >>> from forerun import np
    >>> np.interp(np.array([0.5, 9.0]), np.array([0.0, 1.0]), np.array([10.0, 20.0]))
    array([15., 20.])
    """
    given = to_arrays(x, xp, fp)
    places, points, values = (averaging(each) for each in given)
    if points.ndim != 1 or points.shape != values.shape or points.size == 0:
        raise ValueError(f"interp: points {points.shape} and values {values.shape} must be vectors of one length")
    if period is not None:
        if period == 0:
            raise ValueError("interp: period must not be zero")
        width = math.fabs(period)
        points, places = remainder(points, width), remainder(places, width)
        order = argsort(points)
        points, values = points.take(order), values.take(order)
        points = concatenate([points[-1:] - width, points, points[:1] + width])
        values = concatenate([values[-1:], values, values[:1]])
        left = right = None
    if (
        points.dtype == places.dtype == values.dtype
        and points.dtype.name in ("float32", "float64")
        and not isinstance(left, (ndarray, complex))
        and not isinstance(right, (ndarray, complex))
        and shortcut(points)
    ):
        made = _forerun.routine("interp", [points, places, values], left=left, right=right)
        return _as_floats(made, given)
    if points.size == 1:
        middle = broadcast_to(values[0], places.shape)
    else:
        line = (searchsorted(points, places, side="right") - 1).clip(0, points.size - 2)
        start, height = points.take(line), values.take(line)
        end, top = points.take(line + 1), values.take(line + 1)
        middle = height + (top - height) * ((places - start) / (end - start))
        middle = where(equal(places, end), top, middle)
    below = values[0] if left is None else left
    above = values[-1] if right is None else right
    made = where(less(places, points[0]), below, middle)
    made = where(less(points[-1], places), above, made)
    return _as_floats(made, given)


def _as_floats(made: ndarray, given: Sequence[ndarray]) -> ndarray:
    """Round a result computed in double precision to the dtype of the float operands."""
    floats = [each for each in given if each.dtype.kind == "f"]
    if not floats or made.dtype.kind != "f" or all(each.dtype == made.dtype for each in floats):
        return made
    return made.astype(common_dtype(*floats), copy=False)


def trapezoid(y: ArrayLike, x: ArrayLike | None = None, dx: float = 1.0, axis: SupportsIndex = -1) -> ndarray:
    """Integrate along an axis with the trapezoidal rule.

    Examples
    --------
    >>> from forerun import np
    >>> np.trapezoid(np.array([1.0, 2.0, 3.0]))
    array(4.)
    """
    values = averaging(to_array(y))
    along = axis_of(axis, values.ndim)
    pairs = part_of(values, along, slice(1, None)) + part_of(values, along, slice(None, -1))
    if x is None:
        return (pairs * (dx / 2)).sum(along)
    points = to_array(x, None, values.device)
    steps = (
        diff(points, axis=0).reshape(-1, *(1,) * (values.ndim - along - 1))
        if points.ndim == 1
        else diff(points, axis=along)
    )
    return (pairs * steps * 0.5).sum(along)


def unwrap(
    p: ArrayLike, discont: float | None = None, axis: SupportsIndex = -1, *, period: float = 2 * math.pi
) -> ndarray:
    """Add multiples of the period along an axis so that neighbours differ by at most half a period.

    Examples
    --------
    >>> from forerun import np
    >>> np.unwrap(np.array([0.0, 3.0, 1.0, 4.0]), period=4.0)
    array([ 0., -1., -3., -4.])
    """
    x = to_array(p)
    if not isinstance(period, int) or "int" not in x.dtype.name:
        x = floating(x)
    along = axis_of(axis, x.ndim)
    steps, half = diff(x, axis=along), period // 2 if isinstance(period, int) else period / 2
    reduced = remainder(steps + half, period) - half
    # A jump of exactly half a period is ambiguous; it keeps its sign.
    ambiguous = logical_and(equal(reduced, -half), less(0, steps))
    if not isinstance(period, int) or period % 2 == 0:
        reduced = where(ambiguous, half, reduced)
    corrections = where(less(abs(steps), half if discont is None else max(discont, half)), 0, reduced - steps)
    shift = cumsum(corrections, along, x.dtype)
    return concatenate([part_of(x, along, slice(0, 1)), part_of(x, along, slice(1, None)) + shift], along)


def _convolved(x: ndarray, y: ndarray, first: int, count: int) -> ndarray:
    """Return a range of the full convolution of two vectors."""
    if x.dtype != y.dtype:
        wide = common_dtype(x, y)
        x, y = x.astype(wide, copy=False), y.astype(wide, copy=False)
    return _forerun.routine("convolve", [x, y], first=first, count=count)


def _vectors(op: str, a: ArrayLike, v: ArrayLike) -> tuple[ndarray, ndarray]:
    x, y = to_arrays(a, v)
    if x.ndim > 1 or y.ndim > 1 or x.size == 0 or y.size == 0:
        raise ValueError(f"{op}: needs two vectors with elements: {x.shape} x {y.shape}")
    return x if x.ndim else x.ravel(), y if y.ndim else y.ravel()


def _part(op: str, x: ndarray, y: ndarray, mode: str) -> ndarray:
    """Return the range of a convolution that a mode selects."""
    short, long = sorted((x.size, y.size))
    match mode:
        case "full":
            return _convolved(x, y, 0, long + short - 1)
        case "same":
            return _convolved(x, y, (short - 1) // 2, long)
        case "valid":
            return _convolved(x, y, short - 1, long - short + 1)
        case _:
            raise ValueError(f"{op}: mode must be 'full', 'same' or 'valid', got {mode!r}")


def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> ndarray:
    """Return the discrete convolution of two vectors.

    Parameters
    ----------
    a, v
        The vectors.
    mode
        ``full``: every overlap; ``same``: the central part, as long as the longer vector; ``valid``: complete overlaps
        only.

    Examples
    --------
    >>> from forerun import np
    >>> np.convolve(np.array([1, 2, 3]), np.array([0, 1]))
    array([0, 1, 2, 3])
    """
    x, y = _vectors("convolve", a, v)
    return _part("convolve", x, y, mode)


def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> ndarray:
    """Return the cross-correlation of two vectors: :func:`convolve` with the second reversed and conjugated.

    Examples
    --------
    >>> from forerun import np
    >>> np.correlate(np.array([1, 2, 3]), np.array([0, 1]))
    array([2, 3])
    """
    x, y = _vectors("correlate", a, v)
    back = y[::-1]
    if y.dtype.kind == "c":
        back = conj(back)
    if mode == "same" and y.size > x.size:
        # For an even length, the centre is one further to the right.
        return _convolved(x, back, x.size // 2, y.size)
    return _part("correlate", x, back, mode)
