"""Boxes in images: overlap, suppression, encoding and matching, with MXNet's names and arguments; part of ``npx``."""

from __future__ import annotations

import math
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import floating, to_array, to_arrays
from forerun._forerun import int64, ndarray
from forerun._pointwise import equal, exp, greater, less, log, maximum, minimum, where
from forerun._types import ArrayLike
from forerun.np._common import alike

__all__ = ["bipartite_matching", "box_decode", "box_encode", "box_iou", "box_nms"]

Sides = tuple[ndarray, ndarray, ndarray, ndarray]


def check_boxes(op: str, name: str, boxes: ndarray) -> None:
    """Raise unless the last axis has four coordinates."""
    if boxes.ndim < 1 or boxes.shape[-1] != 4:
        raise ValueError(f"{op}: {name} must have 4 coordinates along the last axis, got shape {boxes.shape}")


def _is_center(op: str, name: str, value: str) -> bool:
    if value not in ("corner", "center"):
        raise ValueError(f"{op}: {name} must be 'corner' or 'center', not {value!r}")
    return value == "center"


def sides(boxes: ndarray) -> Sides:
    """Return the four coordinates of boxes."""
    return boxes[..., 0], boxes[..., 1], boxes[..., 2], boxes[..., 3]


def corners(boxes: ndarray, center: bool) -> Sides:
    """Return left, top, right and bottom of boxes."""
    x, y, width, height = sides(boxes)
    if not center:
        return x, y, width, height
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def centers(boxes: ndarray, center: bool) -> Sides:
    """Return the centers, widths and heights of boxes."""
    left, top, right, bottom = sides(boxes)
    if center:
        return left, top, right, bottom
    return (left + right) / 2, (top + bottom) / 2, right - left, bottom - top


def joined(columns: Sides) -> ndarray:
    """Return coordinates along a new last axis."""
    return _forerun.concatenate([column.reshape(*column.shape, 1) for column in columns], -1)


def take_rows(rows: ndarray, order: ndarray) -> ndarray:
    """Return rows of shape (batch, count, width) in the order of indices of shape (batch, any number)."""
    batch, count, width = rows.shape
    first = _forerun.arange(0, batch, 1, int64, rows.device).reshape(batch, 1) * count
    return _forerun.take(rows.reshape(batch * count, width), order + first, 0)


def box_iou(lhs: ArrayLike, rhs: ArrayLike, format: str = "corner") -> ndarray:
    """Compute the intersection over union of all pairs of boxes.

    The result has the shapes of both without their last axes, one after the other. It has gradients; MXNet's are zero.

    Parameters
    ----------
    lhs, rhs
        Boxes, with four coordinates along the last axis.
    format
        ``"corner"``: left, top, right, bottom; or ``"center"``: center, width and height.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.box_iou(np.array([[0.0, 0.0, 2.0, 2.0]]), np.array([[1.0, 0.0, 3.0, 2.0], [2.0, 2.0, 3.0, 3.0]]))
    array([[0.33333334, 0.        ]])
    """
    a, b = (floating(x) for x in alike(lhs, rhs))
    check_boxes("box_iou", "lhs", a)
    check_boxes("box_iou", "rhs", b)
    center = _is_center("box_iou", "format", format)
    left, top, right, bottom = corners(a.reshape(*a.shape[:-1], *(1,) * (b.ndim - 1), 4), center)
    other_left, other_top, other_right, other_bottom = corners(b, center)
    width = minimum(right, other_right) - maximum(left, other_left)
    height = minimum(bottom, other_bottom) - maximum(top, other_top)
    both = maximum(width, 0) * maximum(height, 0)
    areas = _area(left, top, right, bottom) + _area(other_left, other_top, other_right, other_bottom)
    meet = greater(both, 0)
    return where(meet, both / where(meet, areas - both, 1), 0)


def _area(left: ndarray, top: ndarray, right: ndarray, bottom: ndarray) -> ndarray:
    return maximum(right - left, 0) * maximum(bottom - top, 0)


def box_nms(
    data: ArrayLike,
    overlap_thresh: float = 0.5,
    valid_thresh: float = 0,
    topk: SupportsIndex = -1,
    coord_start: SupportsIndex = 2,
    score_index: SupportsIndex = 1,
    id_index: SupportsIndex = -1,
    background_id: SupportsIndex = -1,
    force_suppress: bool = False,
    in_format: str = "corner",
    out_format: str = "corner",
) -> ndarray:
    """Suppress boxes that overlap a box with a better score.

    The boxes that are left come first, in descending order of score; the rest of the result is -1. A gradient goes back
    to the boxes that are left.

    Parameters
    ----------
    data
        Boxes of shape (..., count, width): along the last axis a score, four coordinates, and perhaps a class.
    overlap_thresh
        The intersection over union above which the box with the smaller score is suppressed.
    valid_thresh
        Boxes whose score is not above this one are left out.
    topk
        How many boxes with the best scores are considered; all if negative. With 0 the result is a copy.
    coord_start, score_index, id_index
        Where the first coordinate, the score and the class are; a negative ``id_index``: there are no classes.
    background_id
        Boxes of this class are left out.
    force_suppress
        Whether boxes of different classes suppress each other too.
    in_format, out_format
        The format of the boxes and of the result, as for :func:`box_iou`.

    Examples
    --------
    >>> from forerun import np, npx
    >>> boxes = np.array([[0.5, 0, 0, 2, 2], [0.9, 0, 0, 2, 3], [0.1, 5, 5, 6, 6]])
    >>> npx.box_nms(boxes, coord_start=1, score_index=0)
    array([[ 0.9,  0. ,  0. ,  2. ,  3. ],
           [ 0.1,  5. ,  5. ,  6. ,  6. ],
           [-1. , -1. , -1. , -1. , -1. ]])
    """
    x = floating(to_array(data))
    if x.ndim < 2:
        raise ValueError(f"box_nms: needs boxes of shape (..., count, width), got {x.shape}")
    count, width = x.shape[-2:]
    start, score, name, top = index(coord_start), index(score_index), index(id_index), index(topk)
    places = [score] if name < 0 else [score, name]
    if not 0 <= start <= width - 4:
        raise ValueError(f"box_nms: coordinates {start} to {start + 3} are not within boxes of width {width}")
    for place in places:
        if not 0 <= place < width or start <= place < start + 4 or places.count(place) > 1:
            raise ValueError(
                f"box_nms: score_index {score}, id_index {name} and coordinates from {start} on do not fit "
                f"boxes of shape {x.shape}"
            )
    center, made_center = _is_center("box_nms", "in_format", in_format), _is_center("box_nms", "out_format", out_format)
    if top == 0 or x.size == 0:
        return x.copy()
    rows = x.reshape(math.prod(x.shape[:-2]), count, width)
    still = rows.detach()
    scores = still[..., score]
    classes = scores * 0 if name < 0 or force_suppress else still[..., name]
    if name >= 0:
        scores = where(equal(still[..., name], index(background_id)), -math.inf, scores)
    coordinates = still[..., start : start + 4]
    order = _forerun.routine(
        "suppress_boxes",
        [scores, joined(corners(coordinates, True)) if center else coordinates, classes],
        overlap=float(overlap_thresh),
        valid=float(valid_thresh),
        top=top,
        compact=True,
    )
    picked = take_rows(rows, minimum(order, count - 1))
    if center != made_center:
        boxes = picked[..., start : start + 4]
        turned = joined(corners(boxes, True) if center else centers(boxes, False))
        picked = _forerun.concatenate([picked[..., :start], turned, picked[..., start + 4 :]], -1)
    return where(less(order, count).reshape(*order.shape, 1), picked, -1).reshape(*x.shape)


def bipartite_matching(
    data: ArrayLike, is_ascend: bool = False, threshold: float = 0.0, topk: SupportsIndex = -1
) -> list[ndarray]:
    """Match rows with columns: the pair with the best score first, then the best of the rows and columns left.

    Parameters
    ----------
    data
        Scores of shape (..., rows, columns).
    is_ascend
        Whether small scores are better.
    threshold
        A score must be above it, or below it with ``is_ascend``.
    topk
        The largest number of matches; any number if not positive.

    Returns
    -------
    list of ndarray
        The column of each row, and the row of each column; -1 without a match. They have the dtype of the scores.

    Examples
    --------
    >>> from forerun import np, npx
    >>> rows, columns = npx.bipartite_matching(np.array([[0.5, 0.6], [0.1, 0.2], [0.3, 0.4]]), threshold=1e-12)
    >>> rows
    array([ 1., -1.,  0.])
    >>> columns
    array([2., 0.])
    """
    x = floating(to_array(data)).detach()
    if x.ndim < 2:
        raise ValueError(f"bipartite_matching: needs scores of shape (..., rows, columns), got {x.shape}")
    *outer, rows, columns = x.shape
    scores = x.reshape(math.prod(outer), rows, columns)
    found = _forerun.routine(
        "bipartite_match", [scores], threshold=float(threshold), ascending=bool(is_ascend), top=index(topk)
    ).astype(x.dtype)
    return [found[:, :rows].reshape(*outer, rows), found[:, rows:].reshape(*outer, columns)]


def encoded(anchors: Sides, boxes: Sides) -> Sides:
    """Return boxes relative to anchors, both as centers and extents."""
    x, y, width, height = anchors
    return (boxes[0] - x) / width, (boxes[1] - y) / height, log(boxes[2] / width), log(boxes[3] / height)


def box_encode(
    samples: ArrayLike, matches: ArrayLike, anchors: ArrayLike, refs: ArrayLike, means: ArrayLike, stds: ArrayLike
) -> list[ndarray]:
    """Encode the boxes that anchors are matched with, relative to the anchors: the targets of a regression.

    For centers ``x``, ``y`` and extents ``w``, ``h`` they are ``(x - ax) / aw``, ``(y - ay) / ah``, ``log(w / aw)`` and
    ``log(h / ah)``, less the means and divided by the deviations.

    Parameters
    ----------
    samples
        Of shape (batch, anchors): 1 for an anchor with an object, else -1 or 0.
    matches
        Of the same shape: the box that each anchor is matched with.
    anchors
        Corners of shape (batch, anchors, 4).
    refs
        Corners of shape (batch, boxes, 4).
    means, stds
        Four numbers each.

    Returns
    -------
    list of ndarray
        Targets and masks of the shape of the anchors; both are 0 for anchors without an object.

    Examples
    --------
    >>> from forerun import np, npx
    >>> boxes = np.array([[[0.0, 0.0, 2.0, 2.0]]])
    >>> targets, masks = npx.box_encode(np.ones((1, 1)), np.zeros((1, 1)), boxes, boxes + 1, np.zeros(4), np.ones(4))
    >>> targets
    array([[[0.5, 0.5, 0. , 0. ]]])
    """
    chosen, matched, priors, boxes, mean, deviation = to_arrays(samples, matches, anchors, refs, means, stds)
    check_boxes("box_encode", "anchors", priors)
    check_boxes("box_encode", "refs", boxes)
    shape = priors.shape[:-1]
    if priors.ndim != 3 or boxes.ndim != 3 or boxes.shape[0] != shape[0]:
        raise ValueError(f"box_encode: needs anchors and refs of one batch, got {priors.shape} and {boxes.shape}")
    if chosen.shape != shape or matched.shape != shape:
        raise ValueError(f"box_encode: samples {chosen.shape} and matches {matched.shape} do not fit {priors.shape}")
    if mean.shape != (4,) or deviation.shape != (4,):
        raise ValueError(f"box_encode: means and stds are 4 numbers each, got {mean.shape} and {deviation.shape}")
    positive = greater(chosen, 0.5)
    found = take_rows(boxes, where(positive, matched.astype(int64), 0))
    # Anchors without an object are encoded by themselves, so that no logarithm fails.
    found = where(positive.reshape(*shape, 1), found, priors)
    targets = (joined(encoded(centers(priors, False), centers(found, False))) - mean) / deviation
    masks = _forerun.broadcast_to(positive.reshape(*shape, 1), priors.shape).astype(targets.dtype)
    return [where(positive.reshape(*shape, 1), targets, 0), masks]


def decoded(offsets: ndarray, anchors: Sides, scales: tuple[float, float, float, float], most: float) -> Sides:
    """Return the corners of boxes that are given relative to anchors; a positive ``most`` bounds the exponents."""
    x, y, width, height = anchors
    across, down = offsets[..., 2] * scales[2], offsets[..., 3] * scales[3]
    if most > 0:
        across, down = minimum(across, most), minimum(down, most)
    x, y = offsets[..., 0] * scales[0] * width + x, offsets[..., 1] * scales[1] * height + y
    half, half_height = exp(across) * width / 2, exp(down) * height / 2
    return x - half, y - half_height, x + half, y + half_height


def box_decode(
    data: ArrayLike,
    anchors: ArrayLike,
    std0: float = 1.0,
    std1: float = 1.0,
    std2: float = 1.0,
    std3: float = 1.0,
    clip: float = -1.0,
    format: str = "center",
) -> ndarray:
    """Decode boxes that are given relative to anchors: the inverse of :func:`box_encode`.

    Parameters
    ----------
    data
        Predictions of shape (batch, anchors, 4).
    anchors
        Anchors of shape (1, anchors, 4).
    std0, std1, std2, std3
        What the predictions are multiplied by.
    clip
        If positive, the largest logarithm of a width or height.
    format
        The format of the anchors, as for :func:`box_iou`. The result has corners.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.box_decode(np.array([[[0.5, 0.5, 0.0, 0.0]]]), np.array([[[0.0, 0.0, 2.0, 2.0]]]), format="corner")
    array([[[1., 1., 3., 3.]]])
    """
    x, priors = (floating(each) for each in alike(data, anchors))
    check_boxes("box_decode", "data", x)
    check_boxes("box_decode", "anchors", priors)
    if x.ndim != 3 or priors.ndim != 3 or priors.shape[0] not in (1, x.shape[0]) or priors.shape[1] != x.shape[1]:
        raise ValueError(f"box_decode: anchors of shape {priors.shape} do not fit predictions of shape {x.shape}")
    center = _is_center("box_decode", "format", format)
    return joined(decoded(x, centers(priors, center), (std0, std1, std2, std3), clip))
