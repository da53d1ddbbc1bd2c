"""Histograms and counts."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import float64, int64, ndarray
from forerun._pointwise import equal, greater_equal, isfinite, log, logical_and, maximum, minimum, where
from forerun._types import ArrayLike
from forerun.np._common import common_dtype, in_floats, is_whole, on_host
from forerun.np._sets import chosen
from forerun.np._statistics import percentile

__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def bincount(x: ArrayLike, /, weights: ArrayLike | None = None, minlength: int = 0) -> ndarray:
    """Count how often each non-negative integer occurs. Waits for the smallest and the largest.

    Parameters
    ----------
    x
        Non-negative integers, in one dimension.
    weights
        The weight of each element; 1 if not given. With weights the result is float64.
    minlength
        The minimum length of the result.

    Examples
    --------
    >>> from forerun import np
    >>> np.bincount(np.array([0, 2, 2]))
    array([1, 0, 2])
    """
    x = to_array(x)
    if x.ndim != 1:
        raise ValueError(f"bincount: needs one dimension, got shape {x.shape}")
    if x.size and not is_whole(x) and x.dtype.name != "bool":
        raise TypeError(f"bincount: needs integers, not {x.dtype.name}")
    if minlength < 0:
        raise ValueError(f"bincount: minlength must not be negative: {minlength}")
    if weights is None and x.size and on_host(x):
        return _numbers(x, minlength)
    length = minlength
    if x.size:
        x = x.astype(int64) if x.dtype.name == "bool" else x
        least, most = _forerun.stack([x.min(), x.max()], 0).tolist()
        if least < 0:
            raise ValueError(f"bincount: numbers must not be negative: {least}")
        length = max(minlength, most + 1)
    else:
        x = x.astype(int64)
    return _counted(x, length, None if weights is None else to_array(weights, None, x.device), "bincount")


def _numbers(x: ndarray, least: int) -> ndarray:
    """Count integers with an estimated number of bins; if that is too small, count again with the actual number."""
    guess = max(least, 4096 if x.size > 4096 else 1024)
    counts = _forerun.routine("bincount", [x], length=guess)
    length = counts.item(guess)
    if length > guess:
        counts = _forerun.routine("bincount", [x], length=length)
    return counts[: max(least, length)]


def _counted(places: ndarray, length: int, weights: ndarray | None, op: str) -> ndarray:
    """Add up weights by bin."""
    if weights is None:
        updates = _forerun.full(places.shape, 1, int64, places.device)
    elif weights.shape != places.shape:
        raise ValueError(f"{op}: weights {weights.shape} do not match the shape {places.shape}")
    else:
        updates = weights.astype(float64, copy=False)
    nothing = _forerun.full((length,), 0, updates.dtype, places.device)
    return _forerun.routine("add_along_axis", [nothing, places, updates], axis=0)


def _limits(x: ndarray, limits: Sequence[float] | None, op: str) -> tuple[Any, Any]:
    """Return the range of the bins; an empty range is widened by half a unit on both sides."""
    if limits is not None:
        low, high = (float(limit) for limit in limits)
        if not (math.isfinite(low) and math.isfinite(high)) or low > high:
            raise ValueError(f"{op}: range must be finite and increasing: {low}, {high}")
        return (low - 0.5, high + 0.5) if low == high else (low, high)
    if x.size == 0:
        return 0.0, 1.0
    least, most = x.min(), x.max()
    half = where(equal(least, most), 0.5, 0.0).astype(x.dtype)
    return least - half, most + half


def _even_edges(x: ndarray, bins: int, limits: Sequence[float] | None, op: str) -> ndarray:
    """Return edges of equal spacing; the ends have the precision of the elements."""
    low, high = _limits(x, limits, op)
    steps = _forerun.arange(0, bins + 1, 1, float64, x.device)
    if isinstance(low, ndarray):
        low, high = low.astype(float64), high.astype(float64)
    # The last edge is exactly the upper end, because the largest element lies on it.
    edges = where(equal(steps, bins), high, low + steps * ((high - low) / bins))
    if isinstance(low, ndarray):
        # Non-finite ends give no valid bins: the edges are made to fail the monotonicity check too.
        ramp = _forerun.arange(0, 3, 1, float64, x.device)
        finite = logical_and(isfinite(low), isfinite(high))
        checked = _forerun.routine("digitize", [where(finite, ramp, ramp * (2 - ramp)), ramp[:1]])
        edges = where(greater_equal(checked, 0), edges, 0)
    return edges.astype(x.dtype)


def _refuse_nonfinite(op: str, a: ArrayLike, bins: Any, limits: Sequence[float] | None) -> None:
    """Raise for non-finite limits if their values are known; otherwise the edges fail when they are read."""
    if isinstance(a, ndarray) or limits is not None or not isinstance(bins, (int, str)):
        return
    import numpy

    read = numpy.asarray(a)
    if read.size and read.dtype.kind in "fc" and not numpy.isfinite(read).all():
        raise ValueError(f"{op}: the range from {read.min()} to {read.max()} is not finite")


def histogram_bin_edges(
    a: ArrayLike,
    bins: int | str | ArrayLike = 10,
    range: Sequence[float] | None = None,
    weights: ArrayLike | None = None,
) -> ndarray:
    """Return the edges of the bins of a histogram.

    Parameters
    ----------
    a
        The elements.
    bins
        The number of equal-width bins; or their edges; or a rule for their number, which is waited for: ``"auto"``,
        ``"fd"``, ``"doane"``, ``"scott"``, ``"rice"``, ``"sturges"`` or ``"sqrt"``.
    range
        The range of the bins; by default from the smallest to the largest element. With a rule, the number of elements
        in the range is waited for first.
    weights
        Weights of the elements; they cannot be combined with a rule.

    Examples
    --------
    >>> from forerun import np
    >>> np.histogram_bin_edges(np.array([0.0, 1.0, 4.0]), 4)
    array([0., 1., 2., 3., 4.])
    """
    _refuse_nonfinite("histogram_bin_edges", a, bins, range)
    return _edges(to_array(a).reshape(-1), bins, range, "histogram_bin_edges", weights is not None)


def _edges(
    a: ndarray, bins: int | str | ArrayLike, limits: Sequence[float] | None, op: str, weighted: bool = False
) -> ndarray:
    x, whole = in_floats(a), is_whole(a)
    if isinstance(bins, str) and weighted:
        raise TypeError(f"{op}: automatic bins do not support weights")
    if isinstance(bins, str):
        bins = _number(x, whole, bins, limits, op)
    if isinstance(bins, SupportsIndex) and not isinstance(bins, ndarray):
        count = bins.__index__()
        if count < 1:
            raise ValueError(f"{op}: bins must be positive: {count}")
        return _even_edges(x, count, limits, op)
    edges = to_array(bins, None, x.device)
    if edges.ndim == 0 and edges.dtype.kind not in "iu":
        raise TypeError(f"{op}: bins must be an integer, a string or an array, got {bins}")
    if edges.ndim == 0:
        return _even_edges(x, int(edges), limits, op)
    if edges.ndim != 1:
        raise ValueError(f"{op}: edges have one dimension, not {edges.shape}")
    return edges


def _number(x: ndarray, whole: bool, rule: str, limits: Sequence[float] | None, op: str) -> int:
    """Compute the number of bins. Waits for it."""
    if rule not in _WIDTHS:
        raise ValueError(f"{op}: unknown rule {rule}")
    if limits is not None:
        low, high = _limits(x, limits, op)
        inside = logical_and(x >= low, x <= high)
        # Elements outside of the range would change every rule, so leave them out.
        x = chosen(x, inside)
    if x.size == 0:
        return 1
    low, high = _limits(x, limits, op)
    x = x.astype(float64)
    span = x.max() - x.min()
    width = _WIDTHS[rule](x, span)
    if whole:
        width = where(width > 0, maximum(width, 1.0), width)
    # Without a width there is one bin.
    extent = (high - low) if isinstance(low, float) else (high - low).astype(float64)
    count = where(width > 0, extent / where(width > 0, width, 1.0), 1.0)
    return max(1, math.ceil(float(count)))


def _fd(x: ndarray, span: ndarray) -> ndarray:
    quarters = percentile(x, [25, 75])
    narrow: float = 2.0 * float(x.size) ** (-1 / 3)
    return (quarters[1] - quarters[0]) * narrow


def _sturges(x: ndarray, span: ndarray) -> ndarray:
    return span / (math.log2(x.size) + 1.0)


def _auto(x: ndarray, span: ndarray) -> ndarray:
    fd, sturges = _fd(x, span), _sturges(x, span)
    # The square root of the size limits how narrow bins get.
    return minimum(maximum(fd, span / math.sqrt(x.size) / 2), sturges)


def _doane(x: ndarray, span: ndarray) -> ndarray:
    n = x.size
    if n < 3:
        return span * 0
    deviation = x.std()
    scaled = (x - x.mean()) / where(deviation > 0, deviation, 1.0)
    skew = (scaled * scaled * scaled).mean()
    spread = math.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
    bins = (1.0 + abs(skew) / spread).astype(float64)
    return where(deviation > 0, span / (1.0 + math.log2(n) + log(bins) / math.log(2)), 0.0)


_WIDTHS = {
    "auto": _auto,
    "fd": _fd,
    "sturges": _sturges,
    "sqrt": lambda x, span: span / math.sqrt(x.size),
    "rice": lambda x, span: span / (2.0 * x.size ** (1 / 3)),
    "scott": lambda x, span: x.std() * (24.0 * math.pi**0.5 / x.size) ** (1 / 3),
    "doane": _doane,
}


def _places(x: ndarray, edges: ndarray) -> ndarray:
    """Return the bin of each element, or the number of bins if there is none. The last bin includes its upper edge."""
    bins = edges.size - 1
    both = common_dtype(x, edges)
    x, edges = x.astype(both, copy=False), edges.astype(both, copy=False)
    places = _forerun.routine("searchsorted", [edges, x], right=True) - 1
    places = where(equal(x, edges[-1]), bins - 1, places)
    return where(places < 0, bins, places)


def histogram(
    a: ArrayLike,
    bins: int | str | ArrayLike = 10,
    range: Sequence[float] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[ndarray, ndarray]:
    """Count the elements in each bin; return the counts and the edges.

    Parameters
    ----------
    a
        The elements.
    bins, range
        As for :func:`histogram_bin_edges`.
    density
        Whether to return a probability density instead of counts.
    weights
        The weight of each element; 1 if not given.

    Examples
    --------
    >>> from forerun import np
    >>> counts, edges = np.histogram(np.array([0.0, 1.0, 1.5, 4.0]), 2)
    >>> counts
    array([3, 1])
    >>> edges
    array([0., 2., 4.])
    """
    x = to_array(a)
    if weights is not None and to_array(weights).shape != x.shape:
        raise ValueError(f"histogram: weights {to_array(weights).shape} do not match the shape {x.shape}")
    _refuse_nonfinite("histogram", a, bins, range)
    edges = _edges(x.reshape(-1), bins, range, "histogram", weights is not None)
    x = in_floats(x.reshape(-1))
    count = edges.size - 1
    heavy = None if weights is None else to_array(weights, None, x.device).reshape(-1)
    if heavy is None and count > 0 and x.dtype == edges.dtype and x.dtype.name in ("float32", "float64") and on_host(x):
        counts = _forerun.routine("histogram", [edges, x], even=isinstance(bins, (int, str)))
    else:
        counts = _counted(_places(x, edges), count + 1, heavy, "histogram")[:count]
    if density:
        widths = (edges[1:] - edges[:-1]).astype(float64)
        counts = counts.astype(float64)
        counts = counts / widths / counts.sum()
    return counts, edges


def histogramdd(
    sample: ArrayLike | Sequence[ArrayLike],
    bins: int | Sequence[int | ArrayLike] = 10,
    range: Sequence[Sequence[float] | None] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[ndarray, tuple[ndarray, ...]]:
    """Count the points in each bin of a grid; return the counts and the edges per dimension.

    Parameters
    ----------
    sample
        Points, one per row; or a sequence of coordinates by dimension.
    bins
        The number of equal-width bins, or edges; per dimension if they differ.
    range
        The range of the bins per dimension; by default from the smallest to the largest coordinate.
    density
        Whether to return a probability density instead of counts.
    weights
        The weight of each element; 1 if not given.

    Examples
    --------
    >>> from forerun import np
    >>> counts, edges = np.histogramdd(np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]), 2)
    >>> counts
    array([[1., 0.],
           [0., 2.]], dtype=float64)
    """
    if isinstance(sample, ndarray) or hasattr(sample, "ndim"):
        points = to_array(sample)
        points = points.reshape(-1, 1) if points.ndim == 1 else points
        columns = [in_floats(points[:, d]) for d in builtins.range(points.shape[1])]
    else:
        columns = [in_floats(to_array(column)) for column in sample]  # type: ignore[union-attr]
    every = list(bins) if isinstance(bins, (list, tuple)) else [bins] * len(columns)
    if len(every) != len(columns):
        raise ValueError(f"histogramdd: {len(every)} kinds of bins for {len(columns)} dimensions")
    if any(isinstance(b, str) for b in every):
        raise TypeError("histogramdd: bins are numbers or edges, not rules")
    limits = [None] * len(columns) if range is None else list(range)
    edges = [_edges(x, b, r, "histogramdd") for x, b, r in zip(columns, every, limits, strict=True)]
    extents = [edge.size - 1 for edge in edges]
    flat: ndarray | None = None
    outside: ndarray | None = None
    for x, edge, extent in zip(columns, edges, extents, strict=True):
        place = _places(x, edge)
        beyond = equal(place, extent)
        flat = place if flat is None else flat * extent + place
        outside = beyond if outside is None else outside + beyond > 0
    if flat is None or outside is None:
        raise ValueError("histogramdd: needs at least one dimension")
    size = math.prod(extents)
    heavy = None if weights is None else to_array(weights, None, flat.device)
    counts = _counted(where(outside, size, flat), size + 1, heavy, "histogramdd")[:size]
    counts = counts.reshape(*extents).astype(float64)
    if density:
        total = counts.sum()
        for d, edge in enumerate(edges):
            widths = (edge[1:] - edge[:-1]).astype(float64)
            counts = counts / widths.reshape(*[-1 if k == d else 1 for k in builtins.range(len(edges))])
        counts = counts / total
    return counts, tuple(edges)


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: int | Sequence[Any] = 10,
    range: Sequence[Sequence[float] | None] | None = None,
    density: bool | None = None,
    weights: ArrayLike | None = None,
) -> tuple[ndarray, ndarray, ndarray]:
    """Count the points in each bin of a plane; return the counts and the edges of both coordinates.

    Parameters
    ----------
    x, y
        The coordinates of the points.
    bins, range, density, weights
        As for :func:`histogramdd`; one sequence of edges applies to both.

    Examples
    --------
    >>> from forerun import np
    >>> counts, _, _ = np.histogram2d(np.array([0.0, 1.0]), np.array([0.0, 1.0]), 2)
    >>> counts
    array([[1., 0.],
           [0., 1.]], dtype=float64)
    """
    both = bins if isinstance(bins, (list, tuple)) and len(bins) == 2 else [bins, bins]
    counts, edges = histogramdd([x, y], both, range, density, weights)
    return counts, edges[0], edges[1]
