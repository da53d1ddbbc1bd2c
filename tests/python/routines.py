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


def first_channels(x: Any, channels_last: bool) -> Any:
    return numpy.moveaxis(x, -1, 1) if channels_last else x


def taps(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, output: Any) -> Any:
    """Go through the elements of a kernel: where each is, and what windows of padded images have there."""
    around = numpy.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    for tap in numpy.ndindex(*kernel):
        first = [k * d for k, d in zip(tap, dilation, strict=True)]
        yield (
            tap,
            around[(..., *(slice(f, f + (o - 1) * s + 1, s) for f, o, s in zip(first, output, stride, strict=True)))],
        )


def split(x: Any, groups: int, axis: int) -> Any:
    return x.reshape(*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :])


def convolution(
    x: Any, w: Any, stride: Any, padding: Any, dilation: Any, extents: Any, groups: int, channels_last: bool
) -> Any:
    x, w = first_channels(x, channels_last), first_channels(w, channels_last)
    reach = [d * (k - 1) + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    output = [(n + 2 * p - r) // s + 1 for n, p, r, s in zip(x.shape[2:], padding, reach, stride, strict=True)]
    made = numpy.zeros((len(x), groups, w.shape[0] // groups, *output))
    filters = split(w, groups, 0)
    for tap, part in taps(x, w.shape[2:], stride, padding, dilation, output):
        made += numpy.einsum("ngc...,gfc->ngf...", split(part, groups, 1), filters[(..., *tap)])
    made = made.reshape(len(x), w.shape[0], *output)
    return numpy.moveaxis(made, 1, -1) if channels_last else made


def convolution_transpose(
    y: Any, w: Any, stride: Any, padding: Any, dilation: Any, extents: Any, groups: int, channels_last: bool
) -> Any:
    y, w = first_channels(y, channels_last), first_channels(w, channels_last)
    around = numpy.zeros((len(y), groups * w.shape[1], *(n + 2 * p for n, p in zip(extents, padding, strict=True))))
    nothing, filters = [0] * len(padding), split(w, groups, 0)
    for tap, part in taps(around, w.shape[2:], stride, nothing, dilation, y.shape[2:]):
        made = numpy.einsum("ngf...,gfc->ngc...", split(y, groups, 1), filters[(..., *tap)]).reshape(part.shape)
        first = [k * d for k, d in zip(tap, dilation, strict=True)]
        steps = zip(first, y.shape[2:], stride, strict=True)
        around[(..., *(slice(f, f + (o - 1) * s + 1, s) for f, o, s in steps))] += made
    made = around[(..., *(slice(p, p + n) for n, p in zip(extents, padding, strict=True)))]
    return numpy.moveaxis(made, 1, -1) if channels_last else made


def convolution_weight(
    y: Any, x: Any, stride: Any, padding: Any, dilation: Any, extents: Any, groups: int, channels_last: bool
) -> Any:
    y, x = first_channels(y, channels_last), first_channels(x, channels_last)
    made = numpy.zeros((y.shape[1], x.shape[1] // groups, *extents))
    for tap, part in taps(x, extents, stride, padding, dilation, y.shape[2:]):
        windows = (split(each.reshape(*each.shape[:2], -1), groups, 1) for each in (y, part))
        product = numpy.einsum("ngfo,ngco->gfc", *windows)
        made[(..., *tap)] = product.reshape(made.shape[:2])
    return numpy.moveaxis(made, 1, -1) if channels_last else made


def spans(extent: int, axis: int, pool: dict[str, Any]) -> list[tuple[int, int, int]]:
    """Find first element, end and divisor of each window along an axis."""
    kernel, divisor = pool["kernel"][axis], pool["divisor"]
    if pool["adaptive"]:
        ends = [(i * extent // kernel, -(-(i + 1) * extent // kernel)) for i in range(kernel)]
        return [(first, end, end - first if divisor else 1) for first, end in ends]
    stride, padding = pool["stride"][axis], pool["padding"][axis]
    found, start = [], -padding
    while start + kernel <= extent + padding or (pool["ceil"] and start < extent):
        last = start - stride + kernel >= extent + padding and found
        if last:
            break
        first, end = max(start, 0), min(start + kernel, extent)
        count = {0: 1, 1: min(start + kernel, extent + padding) - start, 2: end - first}[divisor]
        found.append((first, end, count))
        start += stride
    return found


def pooled(x: Any, pool: dict[str, Any]) -> Any:
    """Go through the windows of images with channels first: their place, elements and divisor."""
    all_spans = [spans(extent, axis, pool) for axis, extent in enumerate(x.shape[2:])]
    for place in numpy.ndindex(*map(len, all_spans)):
        window = [all_spans[axis][i] for axis, i in enumerate(place)]
        part = (..., *(slice(first, end) for first, end, _ in window))
        yield (..., *place), part, math.prod(count for _, _, count in window)


def counts(x: Any, pool: dict[str, Any]) -> list[int]:
    return [len(spans(extent, axis, pool)) for axis, extent in enumerate(x.shape[2:])]


def pooling(back: bool, largest: bool) -> Callable[..., Any]:
    def call(x: Any, keys: Any = None, **pool: Any) -> Any:
        last = pool["channels_last"]
        x = first_channels(x, last)
        images = first_channels(keys, last) if largest else numpy.zeros((*x.shape[:2], *pool["extents"])) if back else x
        made = numpy.zeros(images.shape if back else (*images.shape[:2], *counts(images, pool)))
        for place, part, divisor in pooled(images, pool):
            window = images[part].reshape(*images.shape[:2], -1)
            first = numpy.eye(window.shape[-1])[window.argmax(-1)] if largest else None
            hot = numpy.full(window.shape, 1 / divisor) if first is None else first
            if back:
                made[part] += (hot * x[place][..., None]).reshape(images[part].shape)
            else:
                made[place] = (hot * x[part].reshape(window.shape)).sum(-1)
        return numpy.moveaxis(made, 1, -1) if last else made

    return call


def channels(x: Any, axis: int) -> Any:
    """Put channels first and all other axes into one."""
    first = numpy.moveaxis(x, axis, 0)
    return first.reshape(len(first), -1)


def batch_norm_apply(x: Any, gamma: Any, beta: Any, moments: Any, axis: int, epsilon: float, fix_gamma: bool) -> Any:
    shape = [-1 if d == axis % x.ndim else 1 for d in range(x.ndim)]
    mean, variance, gamma, beta = (v.reshape(shape) for v in (*moments, gamma, beta))
    return (x - mean) / numpy.sqrt(variance + epsilon) * (1 if fix_gamma else gamma) + beta


def batch_norm_sums(grad: Any, x: Any, moments: Any, axis: int) -> Any:
    grad, x = channels(grad, axis), channels(x, axis)
    return numpy.stack([grad.sum(1), (grad * (x - moments[0][:, None])).sum(1)])


ROUTINES: dict[str, Callable[..., Any]] = {
    "batch_moments": lambda x, axis: numpy.stack([channels(x, axis).mean(1), channels(x, axis).var(1)]),
    "batch_norm_apply": batch_norm_apply,
    "batch_norm_sums": batch_norm_sums,
    "convolution": convolution,
    "convolution_transpose": convolution_transpose,
    "convolution_weight": convolution_weight,
    "max_pool": pooling(back=False, largest=True),
    "max_pool_back": pooling(back=True, largest=True),
    "average_pool": pooling(back=False, largest=False),
    "average_pool_back": pooling(back=True, largest=False),
    "user_kernel_output": lambda packed, like, offset: (
        packed[offset : offset + like.nbytes].view(like.dtype).reshape(like.shape)
    ),
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
    "constraint_check": lambda condition, message: condition.all(),
    "group_starts": lambda x, count: numpy.unique(x, return_index=True)[1],
    "row_order": lambda x: numpy.lexsort(x.T[::-1]) if x.shape[1] else numpy.arange(len(x)),
}
