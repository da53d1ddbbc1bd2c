"""NumPy references for routines of the catalogue that have no NumPy function of the same name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy


def ordered(function: Callable[..., Any]) -> Callable[..., Any]:
    """Sort with NumPy: stable, with NaN last in both directions."""

    def call(x: Any, axis: int, descending: bool) -> Any:
        places = numpy.argsort(x, axis, stable=True)
        if descending:
            # Reversing twice keeps the order of equal elements.
            number = ~numpy.isnan(x) if x.dtype.kind == "f" else numpy.ones(x.shape, bool)
            back = numpy.argsort(numpy.flip(x, axis), axis, stable=True)
            back = numpy.flip(x.shape[axis] - 1 - back, axis)
            # NaN came first: move it to the end.
            last = numpy.argsort(~numpy.take_along_axis(number, back, axis), axis, stable=True)
            places = numpy.take_along_axis(back, last, axis)
        return function(x, places, axis)

    return call


def first_of_order(x: Any, axis: int, descending: bool, count: int) -> Any:
    return numpy.take(ordered(lambda x, places, axis: places)(x, axis, descending), numpy.arange(count), axis)


def latest(best: Callable[..., Any]) -> Callable[..., Any]:
    """Return the index of the largest or smallest element so far; the last one of equals."""

    def call(x: Any, axis: int) -> Any:
        x = numpy.moveaxis(x, axis, -1)
        so_far = best.accumulate(x, -1)  # type: ignore[attr-defined]
        hit = (x == so_far) | ((x != x) & (so_far != so_far))
        places = numpy.maximum.accumulate(numpy.where(hit, numpy.arange(x.shape[-1]), 0), -1)
        return numpy.moveaxis(places, -1, axis)

    return call


def linear_scan(x: Any, factors: Any, axis: int) -> Any:
    x, factors = numpy.moveaxis(x, axis, 0), numpy.moveaxis(factors, axis, 0)
    made = x.copy()
    for k in range(1, len(x)):
        made[k] += factors[k] * made[k - 1]
    return numpy.moveaxis(made, 0, axis)


def softmax_rows(x: Any) -> Any:
    if x.size == 0:
        return x
    e = numpy.exp(x.astype("float64") - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm_rows(x: Any, gamma: Any, beta: Any, epsilon: float) -> Any:
    x, gamma, beta = (each.astype("float64") for each in (x, gamma, beta))
    deviation = numpy.sqrt(x.var(-1, keepdims=True) + epsilon)
    return (x - x.mean(-1, keepdims=True)) / deviation * gamma + beta


def groups(x: Any, equal_nan: bool) -> Any:
    rows = x.reshape(len(x), math.prod(x.shape[1:]))
    apart = [bool((rows[i] != rows[i - 1]).any()) for i in range(1, len(x))]
    return numpy.cumsum([False, *apart][: len(x)], dtype="int64")


def added(base: Any, indices: Any, updates: Any, axis: int) -> Any:
    made = base.copy()
    grid = list(numpy.indices(indices.shape))
    grid[axis] = indices
    numpy.add.at(made, tuple(grid), updates)
    return made


def put(base: Any, indices: Any, updates: Any, axis: int) -> Any:
    made = base.copy()
    grid = list(numpy.indices(indices.shape))
    grid[axis] = indices
    # One by one, so that the last update wins.
    for place, update in zip(zip(*map(numpy.ravel, grid), strict=True), updates.ravel(), strict=True):
        made[place] = update
    return made


def convolved(x: Any, y: Any, first: int, count: int) -> Any:
    full = numpy.convolve(x, y) if len(x) and len(y) else x[:0]
    made = numpy.zeros(count, full.dtype)
    for place in range(max(first, 0), min(first + count, len(full))):
        made[place - first] = full[place]
    return made


def parted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Partition elements around the given ranks, keeping the order within each part."""

    def call(x: Any, axis: int, places: Any) -> Any:
        lines = numpy.moveaxis(x, axis, -1)
        order = numpy.sort(lines, -1)
        if lines.dtype.kind in "fc":
            # NaN sorts last, and all NaNs are equal.
            lines = numpy.where(lines != lines, numpy.nan, lines)
        number = numpy.zeros(lines.shape, "int64")
        for place in places:
            pivot = order[..., place : place + 1]
            is_nan, last = lines != lines, pivot != pivot
            number += numpy.where(last, is_nan, is_nan | (lines >= pivot))
            number += numpy.where(last, False, is_nan | (lines > pivot))
        return function(x, numpy.moveaxis(numpy.argsort(number, -1, stable=True), -1, axis), axis)

    return call


def quantiles(x: Any, places: Any, shares: Any) -> Any:
    order = numpy.take_along_axis(x, numpy.argsort(x, -1, stable=True), -1)
    made = []
    for place, number in zip(places, shares, strict=True):
        first, second = order[..., place], order[..., min(place + 1, x.shape[-1] - 1)]
        share = x.dtype.type(number)
        between = first if share == 0 else numpy.where(first == second, first, first + (second - first) * share)
        made.append(numpy.where(numpy.isnan(x).any(-1), x.dtype.type(numpy.nan), between))
    return numpy.stack(made)


def interpolated(points: Any, x: Any, values: Any, left: float | None = None, right: float | None = None) -> Any:
    middle = numpy.full_like(x, values[0])
    if len(points) > 1:
        line = (numpy.searchsorted(points, x, "right") - 1).clip(0, len(points) - 2)
        height, top = values[line], values[line + 1]
        middle = height + (top - height) * ((x - points[line]) / (points[line + 1] - points[line]))
        middle = numpy.where(x == points[line + 1], top, middle)
    below = values[0] if left is None else x.dtype.type(left)
    above = values[-1] if right is None else x.dtype.type(right)
    return numpy.where(x > points[-1], above, numpy.where(x < points[0], below, middle))


def counted(x: Any, length: int) -> Any:
    wanted = int(x.max()) + 1 if x.size else 0
    found = numpy.bincount(x, minlength=length) if wanted <= length else numpy.zeros(length, "int64")
    return numpy.append(found, wanted)


def in_intervals(edges: Any, x: Any, even: bool) -> Any:
    places = numpy.searchsorted(edges, x.ravel(), "right") - 1
    places = numpy.where(x.ravel() == edges[-1], len(edges) - 2, places)
    return numpy.bincount(places[(places >= 0) & (places < len(edges) - 1)], minlength=len(edges) - 1)


ROUTINES: dict[str, Callable[..., Any]] = {
    "sort": ordered(numpy.take_along_axis),
    "argsort": ordered(lambda x, places, axis: places),
    "cumsum": lambda x, axis: numpy.cumsum(x, axis, dtype=x.dtype),
    "cumprod": lambda x, axis: numpy.cumprod(x, axis, dtype=x.dtype),
    "convolve": convolved,
    "add_along_axis": added,
    "put_along_axis": put,
    "argtop": first_of_order,
    "partition": parted(numpy.take_along_axis),
    "argpartition": parted(lambda x, places, axis: places),
    "quantile": quantiles,
    "among": lambda others, x: numpy.isin(x, others),
    "interp": interpolated,
    "bincount": counted,
    "histogram": in_intervals,
    "argcummax": latest(numpy.maximum),
    "argcummin": latest(numpy.minimum),
    "linear_scan": linear_scan,
    "softmax_rows": softmax_rows,
    "log_softmax_rows": lambda x: numpy.log(softmax_rows(x)),
    "softmax_rows_back": lambda y, grad: y * (grad - (grad * y).sum(-1, keepdims=True)),
    "log_softmax_rows_back": lambda y, grad: grad - numpy.exp(y) * grad.sum(-1, keepdims=True),
    "layer_norm_rows": layer_norm_rows,
    "searchsorted": lambda a, x, right: numpy.searchsorted(a, x, "right" if right else "left"),
    "digitize": lambda a, x, right: numpy.searchsorted(a, x, "left" if right else "right"),
    "groups": groups,
    "group_starts": lambda x, count: numpy.unique(x, return_index=True)[1],
    "row_order": lambda x: numpy.lexsort(x.T[::-1]) if x.shape[1] else numpy.arange(len(x)),
}
