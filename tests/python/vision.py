"""NumPy references for the routines of images, regions and boxes: plain loops."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy


def near(y: float, x: float, rows: int, columns: int) -> Iterator[tuple[int, int, float]]:
    """Go through the pixels around a place, with their shares."""
    top, left = math.floor(y), math.floor(x)
    for i, j in itertools.product((top, top + 1), (left, left + 1)):
        if 0 <= i < rows and 0 <= j < columns:
            yield i, j, (1 - abs(y - i)) * (1 - abs(x - j))


def bilinear_sample(x: Any, places: Any) -> Any:
    made = numpy.zeros((*x.shape[:2], places.shape[2]))
    for n, p in numpy.ndindex(len(x), places.shape[2]):
        for i, j, share in near(*places[n, :, p], *x.shape[2:]):
            made[n, :, p] += x[n, :, i, j] * share
    return made


def bilinear_spread(grad: Any, places: Any, extents: Any) -> Any:
    made = numpy.zeros((*grad.shape[:2], *extents))
    for n, p in numpy.ndindex(len(grad), places.shape[2]):
        for i, j, share in near(*places[n, :, p], *extents):
            made[n, :, i, j] += grad[n, :, p] * share
    return made


def bilinear_slopes(grad: Any, x: Any, places: Any) -> Any:
    """Differences of samples at both ends of a cell, which are exact within it."""
    made = numpy.zeros(places.shape)
    for axis in range(2):
        ends = []
        for step in (0, 1):
            at = places.copy()
            at[:, axis] = numpy.floor(at[:, axis]) + step
            ends.append(bilinear_sample(x, at))
        made[:, axis] = (grad * (ends[1] - ends[0])).sum(1)
    return made


def away(number: float) -> int:
    """Round halves away from zero."""
    return int(math.copysign(math.floor(abs(number) + 0.5), number))


def pooled(keys: Any, images: Any, boxes: Any, bins: Any, scale: float) -> Iterator[tuple[Any, ...]]:
    """Go through bins that are not empty: region, image, row and column, and the first largest key of each channel."""
    height, width = keys.shape[2:]
    for r, image in enumerate(images):
        if image < 0:
            continue
        left, top, right, bottom = (away(end * scale) for end in boxes[r])
        spans = []
        for begin, end, count, extent in ((top, bottom, bins[0], height), (left, right, bins[1], width)):
            size = max(end - begin + 1, 1) / count
            ends = [(math.floor(i * size) + begin, math.ceil((i + 1) * size) + begin) for i in range(count)]
            ends = [(min(max(first, 0), extent), min(max(last, 0), extent)) for first, last in ends]
            spans.append(ends)
        for i, j in numpy.ndindex(*bins):
            rows, columns = spans[0][i], spans[1][j]
            part = keys[image, :, rows[0] : rows[1], columns[0] : columns[1]]
            if part.size:
                best = part.reshape(len(part), -1).argmax(1)
                yield r, image, i, j, rows[0] + best // part.shape[2], columns[0] + best % part.shape[2]


def roi_pool(x: Any, keys: Any, images: Any, boxes: Any, bins: Any, scale: float) -> Any:
    made = numpy.zeros((len(images), x.shape[1], *bins))
    channels = numpy.arange(x.shape[1])
    for r, image, i, j, row, column in pooled(keys, images, boxes, bins, scale):
        made[r, :, i, j] = x[image, channels, row, column]
    return made


def roi_pool_back(grad: Any, keys: Any, images: Any, boxes: Any, bins: Any, scale: float) -> Any:
    made = numpy.zeros(keys.shape)
    channels = numpy.arange(keys.shape[1])
    for r, image, i, j, row, column in pooled(keys, images, boxes, bins, scale):
        made[image, channels, row, column] += grad[r, :, i, j]
    return made


def grids(images: Any, boxes: Any, extents: Any, bins: Any, scale: float, samples: int, aligned: bool) -> Any:
    """Go through the samples of all bins: region, image, bin, pixel and share."""
    for r, image in enumerate(images):
        if image < 0:
            continue
        left, top, right, bottom = (end * scale - aligned / 2 for end in boxes[r])
        sizes = [bottom - top, right - left]
        sizes = [size if aligned else max(size, 1.0) for size in sizes]
        sizes = [size / count for size, count in zip(sizes, bins, strict=True)]
        counts = [samples if samples > 0 else math.ceil(size) for size in sizes]
        for i, j in numpy.ndindex(*bins):
            for a, b in itertools.product(range(counts[0]), range(counts[1])):
                y = top + i * sizes[0] + (a + 0.5) * sizes[0] / counts[0]
                x = left + j * sizes[1] + (b + 0.5) * sizes[1] / counts[1]
                if not (-1 <= y <= extents[0] and -1 <= x <= extents[1]):
                    continue
                y, x = min(max(y, 0), extents[0] - 1), min(max(x, 0), extents[1] - 1)
                for row, column, share in near(y, x, *extents):
                    yield r, image, i, j, row, column, share / (counts[0] * counts[1])


def channel(c: int, i: int, j: int, bins: Any, own: bool) -> int:
    return (c * bins[0] + i) * bins[1] + j if own else c


def roi_align(
    x: Any,
    images: Any,
    boxes: Any,
    bins: Any,
    scale: float,
    samples: int,
    aligned: bool,
    own_channels: bool,
    extents: Any,
) -> Any:
    channels = x.shape[1] // math.prod(bins) if own_channels else x.shape[1]
    made = numpy.zeros((len(images), channels, *bins))
    for r, image, i, j, row, column, share in grids(images, boxes, x.shape[2:], bins, scale, samples, aligned):
        for c in range(channels):
            made[r, c, i, j] += x[image, channel(c, i, j, bins, own_channels), row, column] * share
    return made


def roi_align_back(
    grad: Any,
    images: Any,
    boxes: Any,
    bins: Any,
    scale: float,
    samples: int,
    aligned: bool,
    own_channels: bool,
    extents: Any,
) -> Any:
    count, *size = extents
    channels = grad.shape[1] * math.prod(bins) if own_channels else grad.shape[1]
    made = numpy.zeros((count, channels, *size))
    for r, image, i, j, row, column, share in grids(images, boxes, size, bins, scale, samples, aligned):
        for c in range(grad.shape[1]):
            made[image, channel(c, i, j, bins, own_channels), row, column] += grad[r, c, i, j] * share
    return made


def overlap(a: Any, b: Any) -> float:
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [max(box[2] - box[0], 0) * max(box[3] - box[1], 0) for box in (a, b)]
    return float(width * height / (sum(areas) - width * height))


def suppress_boxes(
    scores: Any, boxes: Any, classes: Any, overlap: float, valid: float, top: int, inclusive: bool, compact: bool
) -> Any:
    made = numpy.full(scores.shape, scores.shape[1], "int64")
    for n, own in enumerate(scores):
        order = [int(i) for i in numpy.argsort(-own, stable=True) if own[i] > valid]
        kept: list[int] = []
        told = []
        for i in order[: top if top >= 0 else None]:
            found = [share(boxes[n, i], boxes[n, k]) for k in kept if classes[n, i] == classes[n, k]]
            gone = any(each > overlap or (inclusive and each == overlap) for each in found)
            if not gone:
                kept.append(i)
            if not (gone and compact):
                told.append(-1 - i if gone else i)
        made[n, : len(told)] = told
    return made


# The parameter of the routine has the name of the function.
share = overlap


def bipartite_match(scores: Any, threshold: float, ascending: bool, top: int) -> Any:
    batch, rows, columns = scores.shape
    made = numpy.full((batch, rows + columns), -1, "int64")
    for n, own in enumerate(scores):
        flat = own.reshape(-1)
        matches = 0
        for place in numpy.argsort(flat if ascending else -flat, stable=True):
            row, column = divmod(int(place), columns)
            good = flat[place] < threshold if ascending else flat[place] > threshold
            free = made[n, row] < 0 and made[n, rows + column] < 0
            if good and free and not (top > 0 and matches == top):
                made[n, row], made[n, rows + column] = column, row
                matches += 1
    return made


def assign_anchors(
    overlaps: Any, classes: Any, background: Any, overlap: float, ratio: float, negative: float, fewest: int
) -> Any:
    made = numpy.full(overlaps.shape[:2], -2, "int64")
    for n, found in enumerate(made):
        ends = numpy.flatnonzero(classes[n] == -1)
        labels = int(ends[0]) if len(ends) else classes.shape[1]
        if not labels:
            continue
        own = overlaps[n, :, :labels]
        left = own.copy()
        while left.max() > 1e-6:
            anchor, label = numpy.unravel_index(left.argmax(), left.shape)
            found[anchor] = label
            left[anchor] = -numpy.inf
            left[:, label] = -numpy.inf
        best = own.max(1)
        if overlap > 0:
            chosen = (found == -2) & (best > overlap)
            found[chosen] = own.argmax(1)[chosen]
        free = numpy.flatnonzero(found == -2)
        if ratio <= 0:
            found[free] = -1
            continue
        wanted = max(int((len(found) - len(free)) * ratio), fewest)
        hard = [anchor for anchor in free if best[anchor] < negative]
        hard.sort(key=lambda anchor: background[n, anchor])
        found[hard[:wanted]] = -1
    return made


def windows(extents: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Iterator[tuple[int, int, Any]]:
    """Go through the elements of columns within an image: the element of the window, the window, and the pixel."""
    axes = list(zip(extents, kernel, stride, padding, dilation, strict=True))
    output = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in axes]
    for t, tap in enumerate(numpy.ndindex(*kernel)):
        for w, window in enumerate(numpy.ndindex(*output)):
            pixel = tuple(o * s + k * d - p for o, k, (_, _, s, p, d) in zip(window, tap, axes, strict=True))
            if all(0 <= place < extent for place, extent in zip(pixel, extents, strict=True)):
                yield t, w, pixel


def im2col(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, extents: Any) -> Any:
    axes = zip(x.shape[2:], kernel, stride, padding, dilation, strict=True)
    count = math.prod((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in axes)
    made = numpy.zeros((*x.shape[:2], math.prod(kernel), count))
    for t, w, pixel in windows(x.shape[2:], kernel, stride, padding, dilation):
        made[:, :, t, w] = x[(..., *pixel)]
    return made.reshape(x.shape[0], x.shape[1] * math.prod(kernel), count)


def col2im(columns: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, extents: Any) -> Any:
    taps = math.prod(kernel)
    parts = columns.reshape(columns.shape[0], columns.shape[1] // taps, taps, columns.shape[2])
    made = numpy.zeros((*parts.shape[:2], *extents))
    for t, w, pixel in windows(extents, kernel, stride, padding, dilation):
        made[(..., *pixel)] += parts[:, :, t, w]
    return made


VISION: dict[str, Callable[..., Any]] = {
    "assign_anchors": assign_anchors,
    "bilinear_sample": bilinear_sample,
    "bilinear_slopes": bilinear_slopes,
    "bilinear_spread": bilinear_spread,
    "bipartite_match": bipartite_match,
    "col2im": col2im,
    "im2col": im2col,
    "roi_align": roi_align,
    "roi_align_back": roi_align_back,
    "roi_pool": roi_pool,
    "roi_pool_back": roi_pool_back,
    "suppress_boxes": suppress_boxes,
}
