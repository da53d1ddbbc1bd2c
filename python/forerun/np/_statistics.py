"""Quantiles."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import float64, int64, ndarray
from forerun._pointwise import ceil, equal, floor, isnan, logical_and, logical_not, maximum, minimum, rint, where
from forerun._types import ArrayLike, AxisLike
from forerun.np._common import in_floats, lines, shortcut

__all__ = ["median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile"]

# The position of quantile q among n numbers, counted from 0: n q + a + q (1 - a - b) - 1.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


class _Of(NamedTuple):
    """The functions that compute positions: of arrays, or of numbers."""

    ceil: Callable[..., Any]
    equal: Callable[..., Any]
    floor: Callable[..., Any]
    maximum: Callable[..., Any]
    minimum: Callable[..., Any]
    rint: Callable[..., Any]
    where: Callable[..., Any]
    both: Callable[..., Any]


_ARRAYS = _Of(ceil, equal, floor, maximum, minimum, rint, where, logical_and)
_NUMBERS = _Of(math.ceil, operator.eq, math.floor, max, min, round, lambda c, a, b: a if c else b, lambda a, b: a and b)


def _between(method: str, count: Any, q: Any, of: _Of) -> tuple[Any, Any]:
    """Return the index at or before a quantile, and the fraction towards the next."""
    ceil, equal, floor, where = of.ceil, of.equal, of.floor, of.where
    if method in _CONTINUOUS:
        a, b = _CONTINUOUS[method]
        place = q * count + (q * (1 - a - b) + (a - 1))
        place = of.maximum(of.minimum(place, count - 1), 0)
        return floor(place), place - floor(place)
    linear = q * (count - 1)
    if method == "lower":
        return floor(linear), q * 0
    if method == "higher":
        return ceil(linear), q * 0
    if method == "nearest":
        return of.rint(linear), q * 0
    if method == "midpoint":
        return floor(linear), where(equal(floor(linear), linear), 0.0, 0.5) + q * 0
    place = q * count
    if method == "inverted_cdf":
        return ceil(place) - 1, q * 0
    if method == "averaged_inverted_cdf":
        whole = equal(floor(place), place)
        return ceil(place) - 1, where(whole, 0.5, 0.0) + q * 0
    # closest_observation: if two are equally near, the even one.
    half = place - 0.5
    even = of.both(equal(floor(half), half), equal(floor(half) - floor(floor(half) / 2) * 2, 0))
    return where(even, floor(half), floor(half) + 1) - 1, q * 0


_METHODS = {
    *_CONTINUOUS,
    "lower",
    "higher",
    "nearest",
    "midpoint",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
}


def _quantile(
    op: str, a: ArrayLike, q: ArrayLike, axis: AxisLike, method: str, keepdims: bool, skip: bool, most: float
) -> ndarray:
    if method not in _METHODS:
        raise ValueError(f"{op}: unknown method {method}")
    x, kept = lines(op, in_floats(to_array(a)), axis)
    if not isinstance(q, ndarray):
        _check(op, q, most)
        if not skip and x.shape[-1] and x.dtype.name in ("float32", "float64") and shortcut(x):
            return _quantile_at_once(x, q, method, kept if keepdims else x.shape[:-1], most)
        q = to_array(q, float64, x.device)
    wanted = q.astype(float64, copy=False).reshape(-1) / most
    count: Any = x.shape[-1]
    if count == 0:
        raise ValueError(f"{op}: no elements along the axis")
    ordered = _forerun.routine("sort", [x], axis=-1)
    if skip:
        count = logical_not(isnan(x)).sum(-1, int64, keepdims=True).astype(float64)
    place, share = _between(method, count, wanted, _ARRAYS)
    last = count - 1
    low = maximum(minimum(place, last), 0).astype(int64)
    high = maximum(minimum(place + 1, last), 0).astype(int64)
    pick: Callable[[ndarray], ndarray]
    if skip:

        def pick(places: ndarray) -> ndarray:
            return _forerun.routine("take_along_axis", [ordered, places], axis=-1)
    else:

        def pick(places: ndarray) -> ndarray:
            return _forerun.take(ordered, places, -1)

    first, second = pick(low), pick(high)
    share = share.astype(x.dtype)
    # Avoid the difference of equal infinities, and 0 * infinity.
    made = where(equal(share, 0) + equal(first, second) > 0, first, first + (second - first) * share)
    if not skip:
        made = where(isnan(ordered[..., -1:]), math.nan, made)
    made = made.transpose(made.ndim - 1, *range(made.ndim - 1)) if made.ndim > 1 else made
    return made.reshape(*q.shape, *(kept if keepdims else x.shape[:-1]))


def _quantile_at_once(x: ndarray, q: Any, method: str, rest: tuple[int, ...], most: float) -> ndarray:
    """Return quantiles of lines along the last axis whose positions are known: no sort is needed."""
    if isinstance(q, (int, float)):
        extents, numbers = (), [float(q)]
    else:
        import numpy

        read = numpy.asarray(q, "float64")
        extents, numbers = read.shape, read.reshape(-1).tolist()
        if not numbers:
            return _forerun.full((*extents, *rest), 0, x.dtype, x.device)
    last = x.shape[-1] - 1
    places, shares = [], []
    for number in numbers:
        place, share = _between(method, x.shape[-1], number / most, _NUMBERS)
        # Beyond the ends there is only one position.
        places.append(max(min(int(place), last), 0))
        shares.append(0.0 if place < 0 else float(share))
    return _forerun.routine("quantile", [x], places=places, shares=shares).reshape(*extents, *rest)


def _check(op: str, q: Any, most: float) -> None:
    """Raise for invalid probabilities given as numbers; arrays are not read."""
    if isinstance(q, (int, float)):
        if not 0 <= q <= most:
            raise ValueError(f"{op}: q must lie between 0 and {most:g}")
        return
    import numpy

    read = numpy.asarray(q)
    if read.size and not (read.min() >= 0 and read.max() <= most):
        raise ValueError(f"{op}: q must lie between 0 and {most:g}")


def quantile(
    a: ArrayLike, q: ArrayLike, axis: AxisLike = None, method: str = "linear", *, keepdims: bool = False
) -> ndarray:
    """Compute quantiles over axes.

    Parameters
    ----------
    a
        The elements; integers are converted to the default float.
    q
        Probabilities from 0 to 1. Numbers outside raise an error; elements of an array are clipped.
    axis
        The axis or axes; all if not given.
    method
        How to interpolate between two elements, as in NumPy.
    keepdims
        Whether to keep the reduced axes with extent 1.

    Examples
    --------
    >>> from forerun import np
    >>> np.quantile(np.array([1.0, 2.0, 4.0]), 0.75)
    array(3.)
    """
    return _quantile("quantile", a, q, axis, method, keepdims, False, 1)


def percentile(
    a: ArrayLike, q: ArrayLike, axis: AxisLike = None, method: str = "linear", *, keepdims: bool = False
) -> ndarray:
    """Compute percentiles over axes; see :func:`quantile`.

    Examples
    --------
    >>> from forerun import np
    >>> np.percentile(np.array([1.0, 2.0, 4.0]), 75)
    array(3.)
    """
    return _quantile("percentile", a, q, axis, method, keepdims, False, 100)


def median(a: ArrayLike, axis: AxisLike = None, *, keepdims: bool = False) -> ndarray:
    """Compute the median over axes.

    Examples
    --------
    >>> from forerun import np
    >>> np.median(np.array([1.0, 2.0, 4.0, 8.0]))
    array(3.)
    """
    return _quantile("median", a, 0.5, axis, "linear", keepdims, False, 1)


def nanquantile(
    a: ArrayLike, q: ArrayLike, axis: AxisLike = None, method: str = "linear", *, keepdims: bool = False
) -> ndarray:
    """Compute quantiles, ignoring NaN; see :func:`quantile`.

    Examples
    --------
    >>> from forerun import np
    >>> np.nanquantile(np.array([1.0, np.nan, 3.0]), 0.5)
    array(2.)
    """
    return _quantile("nanquantile", a, q, axis, method, keepdims, True, 1)


def nanpercentile(
    a: ArrayLike, q: ArrayLike, axis: AxisLike = None, method: str = "linear", *, keepdims: bool = False
) -> ndarray:
    """Compute percentiles, ignoring NaN; see :func:`quantile`.

    Examples
    --------
    >>> from forerun import np
    >>> np.nanpercentile(np.array([1.0, np.nan, 3.0]), 50)
    array(2.)
    """
    return _quantile("nanpercentile", a, q, axis, method, keepdims, True, 100)


def nanmedian(a: ArrayLike, axis: AxisLike = None, *, keepdims: bool = False) -> ndarray:
    """Compute the median, ignoring NaN.

    Examples
    --------
    >>> from forerun import np
    >>> np.nanmedian(np.array([1.0, np.nan, 3.0]))
    array(2.)
    """
    return _quantile("nanmedian", a, 0.5, axis, "linear", keepdims, True, 1)
