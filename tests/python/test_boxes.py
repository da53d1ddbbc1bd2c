"""Boxes, anchors and regions: against plain loops, their gradients, and what they refuse."""

from __future__ import annotations

import itertools
import math
import pathlib
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import vision

import forerun
from forerun import autograd, np, npx

LINE = pathlib.Path(__file__).name


def boxes(*shape: int, seed: int = 0, dtype: str = "float64") -> Any:
    """Draw boxes with their corners in order, within 0 and 1."""
    ends = numpy.random.default_rng(seed).uniform(0, 1, (*shape, 2, 2))
    ends.sort(-2)
    return ends.reshape(*shape, 4).astype(dtype)


def to_centers(x: Any) -> Any:
    return numpy.concatenate([(x[..., :2] + x[..., 2:]) / 2, x[..., 2:] - x[..., :2]], -1)


def differences(f: Callable[[Any], np.ndarray], x: Any, weights: Any) -> Any:
    made = numpy.zeros(x.shape)
    for place in numpy.ndindex(*x.shape):
        ends = []
        for step in (1e-6, -1e-6):
            moved = x.copy()
            moved[place] += step
            ends.append(float((f(np.array(moved)).asnumpy() * weights).sum()))
        made[place] = (ends[0] - ends[1]) / 2e-6
    return made


def check_gradient(f: Callable[[Any], np.ndarray], x: Any) -> None:
    """Compare a gradient in float64 with finite differences."""
    array = np.array(x)
    array.attach_grad()
    with autograd.record():
        y = f(array)
    weights = numpy.random.default_rng(9).uniform(0.5, 1.5, y.shape)
    y.backward(np.array(weights))
    numpy.testing.assert_allclose(array.grad.asnumpy(), differences(f, x, weights), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_overlaps(dtype: str) -> None:
    a, b = boxes(2, 5, dtype=dtype), boxes(7, seed=1, dtype=dtype)
    want = numpy.array([[[vision.overlap(x, y) for y in b] for x in row] for row in a])
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    got = npx.box_iou(np.array(a), np.array(b))
    assert got.shape == (2, 5, 7) and got.dtype == dtype and (want > 0).any()
    numpy.testing.assert_allclose(got.asnumpy(), want, atol=tolerance)
    got = npx.box_iou(np.array(to_centers(a)), np.array(to_centers(b)), format="center")
    numpy.testing.assert_allclose(got.asnumpy(), want, atol=10 * tolerance)


def test_boxes_without_area_do_not_overlap() -> None:
    turned = np.array([[0.5, 0.5, 0.0, 0.0], [0.2, 0.2, 0.2, 0.2]])
    assert not npx.box_iou(turned, np.array([[0.0, 0.0, 1.0, 1.0]])).any()


def test_overlaps_have_gradients() -> None:
    b = boxes(3, seed=4)
    check_gradient(lambda x: npx.box_iou(x, np.array(b)), boxes(4, seed=3))


def suppressed(x: Any, **options: Any) -> Any:
    """Suppress boxes in plain loops, as MXNet describes it."""
    given = {
        "overlap_thresh": 0.5, "valid_thresh": 0, "topk": -1, "coord_start": 2, "score_index": 1, "id_index": -1,
        "background_id": -1, "force_suppress": False, "in_format": "corner", "out_format": "corner",
    } | options  # fmt: skip
    start, name = given["coord_start"], given["id_index"]
    made = numpy.full(x.shape, -1.0)
    for place in numpy.ndindex(*x.shape[:-2]):
        rows = x[place].astype("float64")
        where = rows[:, start : start + 4]
        if given["in_format"] == "center":
            where = numpy.concatenate([where[:, :2] - where[:, 2:] / 2, where[:, :2] + where[:, 2:] / 2], -1)
        scores = rows[:, given["score_index"]]
        order = [i for i in numpy.argsort(-scores, stable=True) if scores[i] > given["valid_thresh"]]
        if name >= 0:
            order = [i for i in order if rows[i, name] != given["background_id"]]
        order = order[: given["topk"] if given["topk"] > 0 else None]
        kept: list[int] = []
        for i in order:
            others = [k for k in kept if name < 0 or given["force_suppress"] or rows[i, name] == rows[k, name]]
            if all(vision.overlap(where[i], where[k]) <= given["overlap_thresh"] for k in others):
                kept.append(i)
        for to, i in enumerate(kept):
            made[place][to] = rows[i]
            if given["in_format"] != given["out_format"]:
                corner = where[i] if given["out_format"] == "corner" else to_centers(rows[i, start : start + 4])
                made[place][to, start : start + 4] = corner
    return made


def scored(*shape: int, seed: int = 0, center: bool = False) -> Any:
    """Draw rows of a class from -1 to 2, a score from -0.2 to 1, a box and another number."""
    generator = numpy.random.default_rng(seed)
    where = boxes(*shape, seed=seed)
    ids = generator.integers(-1, 3, (*shape, 1)).astype("float64")
    scores = generator.uniform(-0.2, 1, (*shape, 1))
    return numpy.concatenate([ids, scores, to_centers(where) if center else where, scores * 2], -1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_suppression(dtype: str) -> None:
    for options in [
        {},
        {"id_index": 0},
        {"id_index": 0, "background_id": 1, "overlap_thresh": 0.1},
        {"id_index": 0, "force_suppress": True, "overlap_thresh": 0.2},
        {"topk": 5, "overlap_thresh": 0.01},
        {"valid_thresh": 0.6, "overlap_thresh": 0.3},
        {"out_format": "center", "overlap_thresh": 0.3},
        {"in_format": "center", "overlap_thresh": 0.3},
        {"in_format": "center", "out_format": "center"},
    ]:
        x = scored(2, 3, 30, center=options.get("in_format") == "center").astype(dtype)
        want = suppressed(x, **options)
        got = npx.box_nms(np.array(x), **options)
        assert got.dtype == dtype and (want != -1).any() and (want == -1).all(-1).any()
        numpy.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-6, err_msg=str(options))


def test_suppression_with_other_columns() -> None:
    x = scored(40, seed=2)
    turned = numpy.concatenate([x[:, 2:6], x[:, 1:2], x[:, :1]], -1)
    options = {"coord_start": 0, "score_index": 4, "id_index": 5}
    numpy.testing.assert_allclose(npx.box_nms(np.array(turned), **options).asnumpy(), suppressed(turned, **options))
    numpy.testing.assert_array_equal(npx.box_nms(np.array(x), topk=0).asnumpy(), x)
    assert npx.box_nms(np.zeros((2, 0, 6))).shape == (2, 0, 6)


def test_gradients_go_back_to_the_boxes_that_are_left() -> None:
    # The example of MXNet's documentation.
    x = np.array(
        [[0, 0.5, 0.1, 0.1, 0.2, 0.2], [1, 0.4, 0.1, 0.1, 0.2, 0.2], [0, 0.3, 0.1, 0.1, 0.14, 0.14],
         [2, 0.6, 0.5, 0.5, 0.7, 0.8]]
    )  # fmt: skip
    x.attach_grad()
    with autograd.record():
        y = npx.box_nms(x, overlap_thresh=0.1, coord_start=2, score_index=1, id_index=0, force_suppress=True)
    y.backward(np.array([[0.1] * 6, [0.2] * 6, [0.3] * 6, [0.4] * 6]))
    want = numpy.array([[0.2] * 6, [0.0] * 6, [0.0] * 6, [0.1] * 6])
    numpy.testing.assert_allclose(x.grad.asnumpy(), want, rtol=1e-6)
    numpy.testing.assert_allclose(y.asnumpy()[:, 0], [2, 0, -1, -1])
    check_gradient(lambda x: npx.box_nms(x, overlap_thresh=0.3, out_format="center"), scored(8, seed=6))


def test_matching() -> None:
    scores = numpy.random.default_rng(3).uniform(0, 1, (2, 4, 3))
    for options in [{"threshold": 0.3}, {"threshold": 0.7, "is_ascend": True}, {"threshold": 1e-12, "topk": 2}]:
        rows, columns = npx.bipartite_matching(np.array(scores), **options)
        want = vision.bipartite_match(
            scores, options["threshold"], bool(options.get("is_ascend")), int(options.get("topk", -1))
        )
        numpy.testing.assert_array_equal(rows.asnumpy(), want[:, :4])
        numpy.testing.assert_array_equal(columns.asnumpy(), want[:, 4:])
    assert npx.bipartite_matching(np.array(scores[0]))[0].shape == (4,)


def test_encoding_and_decoding_are_inverse() -> None:
    anchors, refs = boxes(1, 6, seed=1), boxes(1, 3, seed=2)
    samples = numpy.array([[1.0, 0, -1, 1, 1, -1]])
    matches = numpy.array([[2.0, 0, 0, 0, 1, 0]])
    mean, deviation = numpy.array([0.1, 0.0, 0.2, 0.0]), numpy.array([0.1, 0.2, 0.3, 0.4])
    targets, masks = npx.box_encode(*map(np.array, (samples, matches, anchors, refs, mean, deviation)))
    with_object = samples[0] == 1
    numpy.testing.assert_array_equal(masks.asnumpy()[0], numpy.repeat(with_object[:, None], 4, 1))
    assert not targets.asnumpy()[0][~with_object].any()
    offsets = np.array(targets.asnumpy() + mean / deviation)
    for center in (False, True):
        priors = np.array(to_centers(anchors) if center else anchors)
        got = npx.box_decode(offsets, priors, *deviation, format="center" if center else "corner")
        want = refs[0][matches[0].astype(int)]
        numpy.testing.assert_allclose(got.asnumpy()[0][with_object], want[with_object], rtol=1e-9)
    check_gradient(lambda x: npx.box_decode(x, np.array(anchors), 0.1, 0.1, 0.2, 0.2, format="corner"), boxes(1, 6))
    wide = npx.box_decode(np.array([[[0.0, 0.0, 9.0, 9.0]]]), np.array([[[0.0, 0.0, 2.0, 2.0]]]), clip=1.0)
    numpy.testing.assert_allclose(wide.asnumpy()[0, 0], [-math.e, -math.e, math.e, math.e], rtol=1e-6)


def test_anchors() -> None:
    sizes, ratios, height, width = (0.75, 0.5, 0.25), (1.0, 2.0, 0.5), 3, 5
    want = []
    for i, j in numpy.ndindex(height, width):
        y, x = (i + 0.5) / height, (j + 0.5) / width
        for size, ratio in [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]:
            w, h = size * math.sqrt(ratio) * height / width / 2, size / math.sqrt(ratio) / 2
            want.append([x - w, y - h, x + w, y + h])
    got = npx.multibox_prior(np.zeros((2, 3, height, width)), sizes=sizes, ratios=ratios)
    assert got.shape == (1, height * width * 5, 4)
    numpy.testing.assert_allclose(got.asnumpy()[0], want, rtol=1e-5, atol=1e-6)
    clipped = npx.multibox_prior(np.zeros((2, 3, height, width)), sizes, ratios, clip=True)
    numpy.testing.assert_allclose(clipped.asnumpy()[0], numpy.clip(want, 0, 1), rtol=1e-5, atol=1e-6)
    moved = npx.multibox_prior(np.zeros((1, 1, 2, 2)), [1.0], [1.0], steps=(0.25, 0.5), offsets=(0, 1))
    numpy.testing.assert_allclose(moved.asnumpy()[0, 3], [0.5, -0.25, 1.5, 0.75])


def test_targets() -> None:
    """The example of *Dive into Deep Learning*, whose anchors and labels are known."""
    label = np.array([[[0, 0.1, 0.08, 0.52, 0.92], [1, 0.55, 0.2, 0.9, 0.88]]])
    anchors = np.array([[
        [0, 0.1, 0.2, 0.3], [0.15, 0.2, 0.4, 0.4], [0.63, 0.05, 0.88, 0.98], [0.66, 0.45, 0.8, 0.8],
        [0.57, 0.3, 0.92, 0.9],
    ]])  # fmt: skip
    offsets, masks, classes = npx.multibox_target(anchors, label, np.zeros((1, 3, 5)))
    numpy.testing.assert_array_equal(classes.asnumpy(), [[0, 1, 2, 0, 2]])
    numpy.testing.assert_array_equal(masks.asnumpy().reshape(5, 4)[:, 0], [0, 1, 1, 0, 1])
    want = [0, 0, 0, 0, 1.4, 10, 2.59, 7.18, -1.2, 0.269, 1.68, -1.57, 0, 0, 0, 0, -0.571, -1, 0, 0.626]
    numpy.testing.assert_allclose(offsets.asnumpy()[0], want, rtol=5e-3, atol=1e-5)


def test_targets_with_mining() -> None:
    generator = numpy.random.default_rng(5)
    anchors, label = boxes(1, 40, seed=5), numpy.full((3, 4, 6), -1.0)
    label[0, :3, 1:5], label[0, :3, 0] = boxes(3, seed=6), [2, 0, 1]
    label[1, :1, 1:5], label[1, 0, 0] = boxes(1, seed=7), 3
    scores = generator.normal(size=(3, 5, 40))
    for options in [
        {"negative_mining_ratio": 3.0, "negative_mining_thresh": 0.3},
        {"negative_mining_ratio": 0.5, "minimum_negative_samples": 7, "overlap_threshold": 0.3},
        {"overlap_threshold": 0.2, "ignore_label": -7.0},
    ]:
        overlaps = numpy.array([[[vision.overlap(a, b[1:5]) for b in one] for a in anchors[0]] for one in label])
        exponentials = numpy.exp(scores)
        found = vision.assign_anchors(
            overlaps,
            label[..., 0],
            exponentials[:, 0] / exponentials.sum(1),
            options.get("overlap_threshold", 0.5),
            options.get("negative_mining_ratio", -1),
            options.get("negative_mining_thresh", 0.5),
            options.get("minimum_negative_samples", 0),
        )
        offsets, masks, classes = npx.multibox_target(*map(np.array, (anchors, label, scores)), **options)
        named = numpy.take_along_axis(label[..., 0], numpy.maximum(found, 0), 1) + 1
        ignored = options.get("ignore_label", -1.0)
        want = numpy.where(found >= 0, named, numpy.where(found == -1, 0, ignored))
        numpy.testing.assert_array_equal(classes.asnumpy(), want)
        assert (want[2] == ignored).all() and (found[:2] >= 0).any() and numpy.isfinite(offsets.asnumpy()).all()
        numpy.testing.assert_array_equal(masks.asnumpy().reshape(3, 40, 4)[..., 0], found >= 0)
        decoded = npx.box_decode(
            offsets.reshape(3, 40, 4), np.array(anchors), 0.1, 0.1, 0.2, 0.2, format="corner"
        ).asnumpy()
        for n, anchor in zip(*numpy.nonzero(found >= 0), strict=True):
            numpy.testing.assert_allclose(decoded[n, anchor], label[n, found[n, anchor], 1:5], atol=1e-9)
    nothing = npx.multibox_target(np.array(anchors), np.zeros((2, 0, 5)), np.zeros((2, 3, 40)))
    assert (nothing[2] == -1).all() and nothing[0].shape == (2, 160)


def detected(scores: Any, offsets: Any, anchors: Any, **options: Any) -> Any:
    """Detect objects in plain loops."""
    given: dict[str, Any] = {
        "clip": True, "threshold": 0.01, "nms_threshold": 0.5, "force_suppress": False, "nms_topk": -1
    } | options  # fmt: skip
    batch, _, count = scores.shape
    made = numpy.full((batch, count, 6), -1.0)
    for n in range(batch):
        rows = []
        for a in range(count):
            kind = int(scores[n, 1:, a].argmax())
            if scores[n, 1 + kind, a] < given["threshold"]:
                continue
            left, top, right, bottom = anchors[0, a]
            dx, dy, dw, dh = offsets[n, 4 * a : 4 * a + 4] * [0.1, 0.1, 0.2, 0.2]
            x, y = dx * (right - left) + (left + right) / 2, dy * (bottom - top) + (top + bottom) / 2
            w, h = math.exp(dw) * (right - left) / 2, math.exp(dh) * (bottom - top) / 2
            box = numpy.array([x - w, y - h, x + w, y + h])
            rows.append([kind, scores[n, 1 + kind, a], *(numpy.clip(box, 0, 1) if given["clip"] else box)])
        if 0 < given["nms_threshold"] <= 1:
            rows.sort(key=lambda row: -row[1])
            rows = rows[: given["nms_topk"] if given["nms_topk"] > 0 else None]
            for i, j in itertools.combinations(range(len(rows)), 2):
                same = given["force_suppress"] or rows[i][0] == rows[j][0]
                near = vision.overlap(rows[i][2:], rows[j][2:]) >= given["nms_threshold"]
                if same and near and rows[i][0] >= 0:
                    rows[j][0] = -1
        made[n, : len(rows)] = numpy.array(rows).reshape(-1, 6)
    return made


def test_detection() -> None:
    generator = numpy.random.default_rng(8)
    scores = generator.dirichlet(numpy.ones(4), (2, 30)).transpose(0, 2, 1)
    offsets, anchors = generator.normal(size=(2, 120)), boxes(1, 30, seed=8)
    for options in [
        {},
        {"nms_threshold": 0.2, "force_suppress": True},
        {"threshold": 0.5, "nms_threshold": 0.1, "clip": False},
        {"nms_topk": 7, "nms_threshold": 0.05},
        {"threshold": 0.6, "nms_threshold": 0},
    ]:
        got = npx.multibox_detection(*map(np.array, (scores, offsets, anchors)), **options)
        want = detected(scores, offsets, anchors, **options)
        numpy.testing.assert_allclose(got.asnumpy(), want, rtol=1e-9, err_msg=str(options))
    turned = np.array(scores[:, [1, 2, 0, 3]])
    moved = npx.multibox_detection(turned, np.array(offsets), np.array(anchors), background_id=2)
    numpy.testing.assert_allclose(moved.asnumpy(), detected(scores, offsets, anchors), rtol=1e-9)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_regions(dtype: str) -> None:
    generator = numpy.random.default_rng(1)
    x = generator.normal(size=(2, 4, 9, 7)).astype(dtype)
    corners = (boxes(12, seed=3) * [14, 18, 14, 18] - 1).astype(dtype)
    images = generator.integers(-1, 2, 12)
    rois = np.array(numpy.concatenate([images[:, None].astype(dtype), corners], 1))
    wide, where = x.astype("float64"), corners.astype("float64")
    tolerance = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12}[dtype]
    got = npx.roi_pooling(np.array(x), rois, (3, 2), 0.5)
    numpy.testing.assert_array_equal(got.asnumpy(), vision.roi_pool(wide, wide, images, where, (3, 2), 0.5))
    for ratio, aligned, own in itertools.product((-1, 1, 3), (False, True), (False, True)):
        got = npx.roi_align(np.array(x), rois, (2, 2), 0.5, ratio, position_sensitive=own, aligned=aligned)
        want = vision.roi_align(wide, images, where, (2, 2), 0.5, ratio, aligned, own, [])
        assert got.dtype == dtype and got.shape == (12, 1 if own else 4, 2, 2)
        numpy.testing.assert_allclose(got.asnumpy(), want, rtol=tolerance, atol=tolerance)


def test_gradients_of_regions() -> None:
    x = numpy.random.default_rng(2).normal(size=(2, 4, 4, 5))
    rois = np.array([[0.0, 0.3, 0.2, 3.6, 2.9], [1.0, -2.0, 1.0, 2.0, 9.0], [1.0, 1.0, 1.0, 3.0, 3.0]], dtype="float64")
    check_gradient(lambda x: npx.roi_pooling(x, rois, 2, 1.0), x)
    check_gradient(lambda x: npx.roi_align(x, rois, 2, 1.0), x)
    check_gradient(lambda x: npx.roi_align(x, rois, 2, 0.7, 2, position_sensitive=True, aligned=True), x)


def test_huge_and_tiny_regions() -> None:
    x = np.ones((1, 1, 4, 4))
    rois = np.array([[0, -1e30, -1e30, 1e30, 1e30], [0, 2, 2, 2, 2], [0, 1e30, 1e30, 1e30, 1e30]])
    pooled = npx.roi_pooling(x, rois, 2, 1.0).asnumpy()
    assert pooled[1].min() == 1 and pooled[2].max() == 0
    aligned = npx.roi_align(x, rois, 2, 1.0).asnumpy()
    assert numpy.isfinite(aligned).all() and aligned[1].min() == 1 and aligned[2].max() == 0


def test_nothing_waits() -> None:
    x, rois, anchors = np.ones((1, 8, 4, 4)), np.array([[0.0, 0, 0, 2, 2]]), np.array([[[0.0, 0.0, 0.5, 0.5]]])
    with forerun.no_sync("error"):
        npx.box_nms(np.array(scored(9)))
        npx.bipartite_matching(np.ones((2, 3)))
        npx.multibox_target(
            anchors, np.array([[[0, 0.0, 0.0, 1.0, 1.0]]]), np.zeros((1, 2, 1)), negative_mining_ratio=3
        )
        npx.multibox_detection(np.ones((1, 2, 1)), np.zeros((1, 4)), anchors)
        npx.multibox_detection(np.ones((1, 2, 1)), np.zeros((1, 4)), anchors, nms_threshold=-1)
        npx.roi_pooling(x, rois, (2, 2), 1.0)
        npx.roi_align(x, rois, (2, 2), 1.0)


def test_an_image_that_does_not_exist_raises_at_the_read() -> None:
    made = npx.roi_align(np.ones((1, 1, 4, 4)), np.array([[1.0, 0, 0, 2, 2]]), (2, 2), 1.0)
    with pytest.raises(ValueError, match="roi_align: image 1 of region 0 does not exist: there are 1") as raised:
        made.wait_to_read()
    assert LINE in "".join([str(raised.value), *getattr(raised.value, "__notes__", [])])
    made = npx.roi_pooling(np.ones((1, 1, 4, 4)), np.array([[0, math.nan, 0, 2, 2]]), (2, 2), 1.0)
    with pytest.raises(ValueError, match="roi_pool: the box of region 0 is not finite"):
        made.wait_to_read()


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: npx.box_iou(np.ones((2, 3)), np.ones((2, 4))), r"lhs must have 4 coordinates .* got shape \(2, 3\)"),
    (lambda: npx.box_iou(np.ones((2, 4)), np.ones((2, 4)), "edge"), "format must be 'corner' or 'center', not 'edge'"),
    (lambda: npx.box_nms(np.ones(6)), r"needs boxes of shape \(..., count, width\), got \(6,\)"),
    (lambda: npx.box_nms(np.ones((2, 5))), "coordinates 2 to 5 are not within boxes of width 5"),
    (lambda: npx.box_nms(np.ones((2, 6)), score_index=3), "score_index 3, id_index -1 and coordinates from 2 on"),
    (lambda: npx.box_nms(np.ones((2, 6)), id_index=1), "score_index 1, id_index 1 and coordinates"),
    (lambda: npx.box_nms(np.ones((2, 6)), out_format="x"), "out_format must be 'corner' or 'center'"),
    (lambda: npx.bipartite_matching(np.ones(3)), r"needs scores of shape \(..., rows, columns\), got \(3,\)"),
    (
        lambda: npx.box_encode(
            np.ones((1, 2)), np.ones((1, 3)), np.ones((1, 2, 4)), np.ones((1, 1, 4)), [0] * 4, [1] * 4
        ),
        r"samples \(1, 2\) and matches \(1, 3\) do not fit \(1, 2, 4\)",
    ),
    (
        lambda: npx.box_encode(np.ones((1, 2)), np.ones((1, 2)), np.ones((1, 2, 4)), np.ones((1, 1, 4)), [0], [1] * 4),
        r"means and stds are 4 numbers each, got \(1,\) and \(4,\)",
    ),
    (lambda: npx.box_decode(np.ones((1, 2, 4)), np.ones((1, 3, 4))), r"anchors of shape \(1, 3, 4\) do not fit"),
    (lambda: npx.multibox_prior(np.ones(3)), r"needs images of shape \(..., height, width\), got \(3,\)"),
    (lambda: npx.multibox_prior(np.ones((2, 2)), sizes=[]), "sizes and ratios must be positive numbers"),
    (lambda: npx.multibox_prior(np.ones((2, 2)), steps=(1,)), "steps and offsets are two numbers each"),
    (
        lambda: npx.multibox_target(np.ones((2, 3, 4)), np.ones((1, 1, 5)), np.ones((1, 2, 3))),
        r"anchor must have shape \(1, anchors, 4\), got \(2, 3, 4\)",
    ),
    (
        lambda: npx.multibox_target(np.ones((1, 3, 4)), np.ones((1, 1, 4)), np.ones((1, 2, 3))),
        r"label must have shape \(batch, labels, 5 or more\), got \(1, 1, 4\)",
    ),
    (
        lambda: npx.multibox_target(np.ones((1, 3, 4)), np.ones((1, 1, 5)), np.ones((1, 2, 4))),
        r"cls_pred of shape \(1, 2, 4\) does not fit 3 anchors",
    ),
    (
        lambda: npx.multibox_detection(np.ones((1, 2, 3)), np.ones((1, 9)), np.ones((1, 3, 4))),
        r"loc_pred must have shape \(1, 12\), got \(1, 9\)",
    ),
    (
        lambda: npx.multibox_detection(np.ones((1, 2, 3)), np.ones((1, 12)), np.ones((1, 3, 4)), variances=(1,)),
        "variances are 4 numbers",
    ),
    (lambda: npx.roi_pooling(np.ones((2, 3)), np.ones((1, 5)), 2, 1.0), r"data must have shape .* got \(2, 3\)"),
    (lambda: npx.roi_pooling(np.ones((1, 1, 2, 2)), np.ones((1, 4)), 2, 1.0), r"rois must have shape \(regions, 5\)"),
    (lambda: npx.roi_align(np.ones((1, 1, 2, 2)), np.ones((1, 5)), 0, 1.0), "pooled_size must be two positive numbers"),
    (lambda: npx.roi_align(np.ones((1, 1, 2, 2)), np.ones((1, 5)), 2, 0.0), "scale must be a positive number, got 0"),
    (
        lambda: npx.roi_align(np.ones((1, 3, 2, 2)), np.ones((1, 5)), 2, 1.0, position_sensitive=True),
        "3 channels cannot be divided among 2 x 2 bins",
    ),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call()
