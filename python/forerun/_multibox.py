"""Anchor boxes of single-shot detectors, with MXNet's names and arguments; part of ``npx``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._boxes import box_iou, centers, check_boxes, decoded, encoded, joined, take_rows
from forerun._convert import floating, to_array, to_arrays
from forerun._forerun import default_float, ndarray
from forerun._layers import softmax
from forerun._pointwise import greater_equal, less, maximum, minimum, where
from forerun._types import ArrayLike

__all__ = ["multibox_detection", "multibox_prior", "multibox_target"]

VARIANCES = (0.1, 0.1, 0.2, 0.2)


def multibox_prior(
    data: ArrayLike,
    sizes: float | Sequence[float] = (1.0,),
    ratios: float | Sequence[float] = (1.0,),
    clip: bool = False,
    steps: Sequence[float] = (-1.0, -1.0),
    offsets: Sequence[float] = (0.5, 0.5),
) -> ndarray:
    """Generate anchor boxes around each pixel of images.

    Every pixel gets ``len(sizes) + len(ratios) - 1`` boxes: all sizes with the first ratio, and the first size with
    the other ratios. A box of size ``s`` and ratio ``r`` has ``s / sqrt(r)`` of the height of the image, and is ``r``
    times as wide as high, in pixels. Coordinates are relative to the image: 0 to 1.

    Parameters
    ----------
    data
        Images of shape (batch, channels, height, width); only the last two extents count.
    sizes, ratios
        Heights relative to the image, and ratios of width to height.
    clip
        Whether to limit coordinates to 0 and 1.
    steps
        Distances between boxes, down and across; one pixel where they are not positive.
    offsets
        Where a box is centred within its pixel, down and across.

    Returns
    -------
    ndarray
        Corners of shape (1, height * width * boxes per pixel, 4).

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.multibox_prior(np.zeros((1, 3, 2, 2)), sizes=[0.5], ratios=[1])[0, :2]
    array([[0. , 0. , 0.5, 0.5],
           [0.5, 0. , 1. , 0.5]])
    """
    x = to_array(data)
    if x.ndim < 2 or 0 in x.shape[-2:]:
        raise ValueError(f"multibox_prior: needs images of shape (..., height, width), got {x.shape}")
    lists = [tuple(map(float, each)) if isinstance(each, Sequence) else (float(each),) for each in (sizes, ratios)]
    if not all(lists) or min(min(each) for each in lists) <= 0:
        raise ValueError(f"multibox_prior: sizes and ratios must be positive numbers, got {sizes} and {ratios}")
    if len(steps) != 2 or len(offsets) != 2:
        raise ValueError(f"multibox_prior: steps and offsets are two numbers each, got {steps} and {offsets}")
    height, width = x.shape[-2:]
    kind = x.dtype if x.dtype.kind == "f" else default_float()
    pairs = [(size, lists[1][0]) for size in lists[0]] + [(lists[0][0], ratio) for ratio in lists[1][1:]]
    halves = [
        to_array([size * height / width * math.sqrt(ratio) / 2 for size, ratio in pairs], kind, x.device),
        to_array([size / math.sqrt(ratio) / 2 for size, ratio in pairs], kind, x.device),
    ]
    down, across = (step if step > 0 else 1 / extent for step, extent in zip(steps, (height, width), strict=True))
    rows = (_forerun.arange(0, height, 1, kind, x.device) + offsets[0]) * down
    columns = (_forerun.arange(0, width, 1, kind, x.device) + offsets[1]) * across
    shape = (height, width, len(pairs))
    at = [_forerun.broadcast_to(columns.reshape(1, width, 1), shape), rows.reshape(height, 1, 1)]
    at[1] = _forerun.broadcast_to(at[1], shape)
    boxes = joined((at[0] - halves[0], at[1] - halves[1], at[0] + halves[0], at[1] + halves[1]))
    made = boxes.reshape(1, math.prod(shape), 4)
    return minimum(maximum(made, 0), 1) if clip else made


def _anchors(op: str, anchor: ndarray) -> ndarray:
    check_boxes(op, "anchor", anchor)
    if anchor.ndim != 3 or anchor.shape[0] != 1:
        raise ValueError(f"{op}: anchor must have shape (1, anchors, 4), got {anchor.shape}")
    return anchor


def _four(op: str, variances: Sequence[float]) -> tuple[float, float, float, float]:
    if len(variances) != 4:
        raise ValueError(f"{op}: variances are 4 numbers, got {variances}")
    a, b, c, d = map(float, variances)
    return a, b, c, d


def multibox_target(
    anchor: ArrayLike,
    label: ArrayLike,
    cls_pred: ArrayLike,
    overlap_threshold: float = 0.5,
    ignore_label: float = -1,
    negative_mining_ratio: float = -1,
    negative_mining_thresh: float = 0.5,
    minimum_negative_samples: SupportsIndex = 0,
    variances: Sequence[float] = VARIANCES,
) -> list[ndarray]:
    """Assign labels to anchor boxes: the targets of a single-shot detector.

    First each label gets the anchor that overlaps it most, best pairs first. Then an anchor is assigned to the label
    that it overlaps most, if the intersection over union is above ``overlap_threshold``. All others have no object.

    Parameters
    ----------
    anchor
        Corners of shape (1, anchors, 4).
    label
        Labels of shape (batch, labels, 5 or more): a class, and corners. The first label of class -1 ends the list; if
        there is none at all, every anchor is ignored.
    cls_pred
        Scores of shape (batch, classes + 1, anchors), background first. Only negative mining reads them.
    overlap_threshold
        See above; with 0 or less, only the best anchors are assigned.
    ignore_label
        The class target of anchors that are ignored.
    negative_mining_ratio
        If positive: the number of anchors without an object that count, for each one with an object. They are those
        with the smallest probability of background. The others are ignored.
    negative_mining_thresh
        The overlap below which an anchor may count as one without an object.
    minimum_negative_samples
        The least number of them.
    variances
        What the offsets are divided by.

    Returns
    -------
    list of ndarray
        Offsets as in :func:`box_encode` of shape (batch, anchors * 4), masks of the same shape (1 for anchors with an
        object), and classes of shape (batch, anchors): 0 without an object, else the class + 1.

    Examples
    --------
    >>> from forerun import np, npx
    >>> anchors = np.array([[[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 1.0, 1.0]]])
    >>> labels = np.array([[[3.0, 0.5, 0.5, 1.0, 1.0]]])
    >>> npx.multibox_target(anchors, labels, np.zeros((1, 5, 2)))[2]
    array([[0., 4.]])
    """
    priors, labels, scores = (floating(x).detach() for x in to_arrays(anchor, label, cls_pred))
    _anchors("multibox_target", priors)
    if labels.ndim != 3 or labels.shape[2] < 5:
        raise ValueError(f"multibox_target: label must have shape (batch, labels, 5 or more), got {labels.shape}")
    (batch, count, _), size = labels.shape, priors.shape[1]
    if scores.ndim != 3 or (scores.shape[0], scores.shape[2]) != (batch, size):
        raise ValueError(
            f"multibox_target: cls_pred of shape {scores.shape} does not fit {size} anchors and labels {labels.shape}"
        )
    mines = negative_mining_ratio > 0
    if mines and negative_mining_thresh <= 0:
        raise ValueError(f"multibox_target: negative_mining_thresh must be positive, got {negative_mining_thresh}")
    scales = _four("multibox_target", variances)
    kind, device = priors.dtype, priors.device
    if count == 0 or size == 0:
        nothing = _forerun.full((batch, size * 4), 0, kind, device)
        return [nothing, nothing.copy(), _forerun.full((batch, size), ignore_label, kind, device)]
    labels = labels.astype(kind, copy=False)
    overlaps = box_iou(labels[..., 1:5], priors.reshape(size, 4)).transpose([0, 2, 1])
    background = softmax(scores, 1)[:, 0] if mines else _forerun.full((batch, size), 0, kind, device)
    found = _forerun.routine(
        "assign_anchors",
        [overlaps, labels[..., 0], background.astype(kind, copy=False)],
        overlap=float(overlap_threshold),
        ratio=float(negative_mining_ratio),
        negative=float(negative_mining_thresh),
        fewest=index(minimum_negative_samples),
    )
    chosen = take_rows(labels, maximum(found, 0))
    matched = greater_equal(found, 0)
    # Anchors without an object are encoded by themselves, so that no logarithm fails.
    boxes = where(matched.reshape(batch, size, 1), chosen[..., 1:5], priors)
    offsets = joined(encoded(centers(priors, False), centers(boxes, False))) / to_array(scales, kind, device)
    masks = _forerun.broadcast_to(matched.reshape(batch, size, 1), (batch, size, 4)).astype(kind)
    classes = where(matched, chosen[..., 0] + 1, where(less(found, -1), ignore_label, 0))
    return [offsets.reshape(batch, size * 4), masks.reshape(batch, size * 4), classes.astype(kind, copy=False)]


def multibox_detection(
    cls_prob: ArrayLike,
    loc_pred: ArrayLike,
    anchor: ArrayLike,
    clip: bool = True,
    threshold: float = 0.01,
    background_id: SupportsIndex = 0,
    nms_threshold: float = 0.5,
    force_suppress: bool = False,
    variances: Sequence[float] = VARIANCES,
    nms_topk: SupportsIndex = -1,
) -> ndarray:
    """Decode the predictions of a single-shot detector, and suppress boxes that overlap a better one.

    Parameters
    ----------
    cls_prob
        Probabilities of shape (batch, classes + 1, anchors).
    loc_pred
        Offsets of shape (batch, anchors * 4).
    anchor
        Corners of shape (1, anchors, 4).
    clip
        Whether to limit coordinates to 0 and 1.
    threshold
        The least probability of an object.
    background_id
        The class that is no object; later classes are numbered one less.
    nms_threshold
        The intersection over union from which on a box with a smaller probability is suppressed. If it is not within
        (0, 1], nothing is suppressed and the boxes stay in the order of the anchors.
    force_suppress
        Whether boxes of different classes suppress each other too.
    variances
        What the offsets are multiplied by.
    nms_topk
        How many boxes with the best probabilities are considered; all if not positive.

    Returns
    -------
    ndarray
        Rows of shape (batch, anchors, 6): class, probability and corners, in descending order of probability. A
        suppressed box has class -1; where nothing is left, the whole row is -1.

    Examples
    --------
    >>> from forerun import np, npx
    >>> anchors = np.array([[[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 1.0, 1.0]]])
    >>> probabilities = np.array([[[0.9, 0.25], [0.1, 0.75]]])
    >>> npx.multibox_detection(probabilities, np.zeros((1, 8)), anchors, threshold=0.5)
    array([[[ 0.  ,  0.75,  0.5 ,  0.5 ,  1.  ,  1.  ],
            [-1.  , -1.  , -1.  , -1.  , -1.  , -1.  ]]])
    """
    scores, offsets, priors = (floating(x) for x in to_arrays(cls_prob, loc_pred, anchor))
    _anchors("multibox_detection", priors)
    size, skipped = priors.shape[1], index(background_id)
    if scores.ndim != 3 or scores.shape[2] != size or scores.shape[1] < 2:
        raise ValueError(f"multibox_detection: cls_prob must have shape (batch, 2 or more, {size}), got {scores.shape}")
    batch, classes, _ = scores.shape
    if offsets.shape != (batch, size * 4):
        raise ValueError(f"multibox_detection: loc_pred must have shape ({batch}, {size * 4}), got {offsets.shape}")
    if not 0 <= skipped < classes:
        raise ValueError(f"multibox_detection: background_id {skipped} is not one of {classes} classes")
    scales = _four("multibox_detection", variances)
    if batch == 0 or size == 0:
        return _forerun.full((batch, size, 6), -1, scores.dtype, scores.device)
    objects = (
        scores[:, 1:] if skipped == 0 else _forerun.concatenate([scores[:, :skipped], scores[:, skipped + 1 :]], 1)
    )
    best, kinds = objects.max(1), objects.detach().argmax(1).astype(scores.dtype)
    boxes = joined(decoded(offsets.reshape(batch, size, 4), centers(priors, False), scales, -1.0))
    boxes = minimum(maximum(boxes, 0), 1) if clip else boxes
    good = greater_equal(best.detach(), threshold)
    if 0 < nms_threshold <= 1:
        top = index(nms_topk)
        order = _forerun.routine(
            "suppress_boxes",
            [where(good, best.detach(), -math.inf), boxes.detach(), kinds * 0 if force_suppress else kinds],
            overlap=float(nms_threshold),
            valid=-math.inf,
            top=top if top > 0 else -1,
            inclusive=True,
        )
    else:
        last = where(good, 0, 1)
        order = _forerun.routine("argsort", [last], axis=1)
        order = where(_forerun.routine("take_along_axis", [last, order], axis=1) > 0, size, order)
    columns = [each.reshape(batch, size, 1) for each in (kinds, best)]
    place = where(less(order, 0), -1 - order, order)
    picked = take_rows(_forerun.concatenate([*columns, boxes], 2), minimum(place, size - 1))
    names = where(less(order, 0), -1, picked[..., 0]).reshape(batch, size, 1)
    made = _forerun.concatenate([names, picked[..., 1:]], 2)
    return where(less(place, size).reshape(batch, size, 1), made, -1)
