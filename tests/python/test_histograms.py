"""Histograms and indexing functions beyond NumPy, compared with NumPy."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import autograd, np, npx

# In the sync engine every op has run before the next is submitted.
WAITS = 0 if os.environ.get("FORERUN_ENGINE") == "sync" else 1

GENERATOR = numpy.random.default_rng(11)


def same(got: np.ndarray, want: Any, close: bool = False) -> None:
    want = numpy.asarray(want)
    assert got.shape == want.shape and got.dtype.name == want.dtype.name, (got.shape, got.dtype, want.shape, want.dtype)
    if close:
        numpy.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-6)
    else:
        numpy.testing.assert_array_equal(got.asnumpy(), want)


def test_counts_of_numbers() -> None:
    x = GENERATOR.integers(0, 9, 40)
    for length in (0, 5, 20):
        same(np.bincount(np.array(x), minlength=length), numpy.bincount(x, minlength=length))
        w = GENERATOR.random(40)
        same(np.bincount(np.array(x), np.array(w), length), numpy.bincount(x, w, length), close=True)
    same(np.bincount(np.array(x[::-2].astype("int32"))), numpy.bincount(x[::-2]))
    same(np.bincount(np.zeros((0,), "int64")), numpy.bincount(numpy.zeros(0, "int64")))
    with pytest.raises(ValueError, match="bincount: numbers must not be negative: -1"):
        np.bincount(np.array([1, -1]))
    with pytest.raises(TypeError, match="bincount: needs integers, not float32"):
        np.bincount(np.array([1.0]))
    with pytest.raises(ValueError, match="bincount: weights"):
        np.bincount(np.array([1]), np.ones((2,)))
    # Large enough that reading it waits.
    big = np.array(GENERATOR.integers(0, 9, 3_000_000))
    npx.waitall()
    forerun.reset_blockers()
    np.bincount(np.sort(big))
    assert sum(blocker.count for blocker in forerun.blockers()) == WAITS


BINS: list[Any] = [1, 7, [0.0, 1.0, 1.5, 4.0], [-1.0, -1.0, 2.0]]


@pytest.mark.parametrize("bins", BINS)
@pytest.mark.parametrize("limits", [None, (-1.0, 2.0), (3.0, 3.0)])
def test_histograms(bins: Any, limits: tuple[float, float] | None) -> None:
    x = (GENERATOR.integers(-12, 12, (4, 50)) / 4).astype("float64")
    x[0, :3] = numpy.nan if limits else 0.0
    for density in (False, True):
        got = np.histogram(np.array(x), bins, limits, density)
        with numpy.errstate(all="ignore"):
            want = numpy.histogram(x, bins, limits, density)
        same(got[0], want[0], close=density)
        same(got[1], numpy.asarray(want[1], got[1].dtype.name), close=True)
    w = GENERATOR.random(x.shape)
    got = np.histogram(np.array(x), 5, (-1, 2), weights=np.array(w))
    same(got[0], numpy.histogram(x, 5, (-1, 2), weights=w)[0], close=True)


def test_histograms_of_other_kinds() -> None:
    same(np.histogram(np.zeros((0,)), 3)[0], numpy.histogram([], 3)[0])
    same(np.histogram(np.full((4,), 2.0), 3)[0], numpy.histogram([2.0] * 4, 3)[0])
    whole = GENERATOR.integers(0, 30, 100)
    same(np.histogram(np.array(whole), 6)[0], numpy.histogram(whole, 6)[0])
    with pytest.raises(ValueError, match="histogram: bins must be positive: 0"):
        np.histogram(np.ones((3,)), 0)
    with pytest.raises(ValueError, match="histogram: range must be finite and increasing"):
        np.histogram(np.ones((3,)), 3, (2, 1))
    with pytest.raises(ValueError, match="histogram: unknown rule best"):
        np.histogram(np.ones((3,)), "best")


SAMPLES = [
    GENERATOR.normal(size=500),
    GENERATOR.random(7),
    numpy.ones(5),
    numpy.arange(40.0),
    GENERATOR.integers(0, 5, 60),
]


@pytest.mark.parametrize("rule", ["auto", "fd", "doane", "scott", "rice", "sturges", "sqrt"])
def test_numbers_of_bins(rule: str) -> None:
    for x in SAMPLES:
        for limits in (None, (0, 2)):
            got = np.histogram_bin_edges(np.array(x), rule, limits)
            want = numpy.histogram_bin_edges(x, rule, limits)
            numpy.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-5)


def test_histograms_of_points() -> None:
    points = GENERATOR.normal(size=(200, 3))
    for density in (False, True):
        got = np.histogramdd(np.array(points), [3, 4, 5], density=density)
        want = numpy.histogramdd(points, [3, 4, 5], density=density)
        same(got[0], want[0], close=True)
        for mine, theirs in zip(got[1], want[1], strict=True):
            same(mine, theirs, close=True)
    x, y = points[:, 0], points[:, 1]
    edges = numpy.array([-1.0, 0.0, 0.5, 2.0])
    kinds: list[tuple[Any, Any]] = [
        (4, 4),
        ([3, 5], [3, 5]),
        (np.array(edges), edges),
        ([np.array(edges), 6], [edges, 6]),
    ]
    for ours, theirs in kinds:
        both = zip(np.histogram2d(np.array(x), np.array(y), ours), numpy.histogram2d(x, y, theirs), strict=True)
        for mine, wanted in both:
            same(mine, wanted, close=True)
    w = GENERATOR.random(200)
    limits = [(-1.0, 1.0), (0.0, 1.0)]
    same(
        np.histogram2d(np.array(x), np.array(y), 3, limits, weights=np.array(w))[0],
        numpy.histogram2d(x, y, 3, limits, weights=w)[0],
        close=True,
    )
    with pytest.raises(ValueError, match="histogramdd: 2 kinds of bins for 3 dimensions"):
        np.histogramdd(np.array(points), [3, 4])


@pytest.mark.parametrize("ascend", [False, True])
def test_the_largest_few(ascend: bool) -> None:
    x = GENERATOR.integers(-9, 9, (4, 7, 3)).astype("float32")
    for axis in (0, 1, -1):
        order = numpy.argsort(x if ascend else -x, axis, stable=True)
        for k in (1, 3):
            places = numpy.take(order, numpy.arange(k), axis)
            same(npx.topk(np.array(x), axis, k, is_ascend=ascend, dtype="int64"), places)
            values, indices = npx.topk(np.array(x), axis, k, "both", ascend)
            same(values, numpy.take_along_axis(x, places, axis))
            same(indices, places.astype("float32"))
            mask = numpy.zeros_like(x)
            numpy.put_along_axis(mask, places, 1, axis)
            same(npx.topk(np.array(x), axis, k, "mask", ascend), mask)
    flat = numpy.argsort(x.ravel() if ascend else -x.ravel(), stable=True)[:5]
    same(npx.topk(np.array(x), None, 5, "value", ascend), x.ravel()[flat])
    same(npx.topk(np.array(x), 0, 0, "value", ascend), numpy.sort(x, 0) if ascend else -numpy.sort(-x, 0))
    with pytest.raises(ValueError, match="argtop: 9 elements requested of 4"):
        npx.topk(np.array(x), 0, 9)
    with pytest.raises(ValueError, match="topk: ret_typ must be"):
        npx.topk(np.array(x), 0, 1, "all")


def test_largest_so_far() -> None:
    x = GENERATOR.integers(-9, 9, (4, 7)).astype("float32")
    x[1, 3] = numpy.nan
    for axis in (0, 1, -1):
        same(npx.cummax(np.array(x), axis), numpy.maximum.accumulate(x, axis))
        same(npx.cummin(np.array(x), axis), numpy.minimum.accumulate(x, axis))


def test_elements_by_coordinates() -> None:
    x = GENERATOR.normal(size=(3, 4, 5)).astype("float32")
    for depth in (1, 2, 3):
        named = numpy.stack([GENERATOR.integers(-n, n, (2, 6)) for n in x.shape[:depth]])
        same(npx.gather_nd(np.array(x), np.array(named)), x[tuple(named)])
        val = GENERATOR.normal(size=(2, 6, *x.shape[depth:])).astype("float32")
        want = x.copy()
        numpy.add.at(want, tuple(named), val)
        same(npx.index_add(np.array(x), np.array(named), np.array(val)), want, close=True)
        want = x.copy()
        for place in numpy.ndindex(2, 6):
            want[tuple(named[(slice(None), *place)])] = val[place]
        same(npx.index_update(np.array(x), np.array(named), np.array(val)), want)
    for bad in ([[3], [0]], [[0], [4]], [[-4], [0]]):
        with pytest.raises(IndexError, match="out of bounds"):
            npx.gather_nd(np.array(x), np.array(bad)).asnumpy()
    with pytest.raises(ValueError, match="gather_nd: indices"):
        npx.gather_nd(np.ones((3,)), np.zeros((2, 1), "int64"))


@pytest.mark.parametrize("axis", [0, 1])
def test_sequences(axis: int) -> None:
    x = GENERATOR.normal(size=(4, 6, 2)).astype("float32")
    count = x.shape[1 - axis]
    lengths = GENERATOR.integers(1, x.shape[axis] + 1, count)
    ours = np.array(x), np.array(lengths.astype("float32")), True
    lines = numpy.moveaxis(x, axis, 0)
    masked, turned = lines.copy(), lines.copy()
    for i, n in enumerate(lengths):
        masked[n:, i] = 7
        turned[:n, i] = lines[:n, i][::-1]
    same(npx.sequence_mask(*ours, value=7, axis=axis), numpy.moveaxis(masked, 0, axis))
    same(npx.sequence_reverse(*ours, axis=axis), numpy.moveaxis(turned, 0, axis))
    same(npx.sequence_last(*ours, axis=axis), numpy.stack([lines[n - 1, i] for i, n in enumerate(lengths)]))
    same(npx.sequence_mask(ours[0]), x)
    same(npx.sequence_last(ours[0], axis=axis), lines[-1])
    same(npx.sequence_reverse(ours[0], axis=axis), numpy.flip(x, axis))
    with pytest.raises(ValueError, match=r"sequence_mask: .* lengths for"):
        npx.sequence_mask(ours[0], np.ones((9,)), True, axis=axis)


def test_gradients_flow() -> None:
    calls: list[tuple[Callable[[np.ndarray], np.ndarray], list[float]]] = [
        (lambda x: npx.topk(x, k=2, ret_typ="value").sum(), [1, 0, 0, 1]),
        (lambda x: npx.cummax(x).sum(), [3, 0, 0, 1]),
        (lambda x: npx.gather_nd(x, np.array([[2, 2]])).sum(), [0, 0, 2, 0]),
        (lambda x: npx.index_update(x, np.array([[1]]), 9).sum(), [1, 0, 1, 1]),
        (lambda x: npx.sequence_mask(x.reshape(1, 4), np.array([3]), True, axis=1).sum(), [1, 1, 1, 0]),
    ]
    x = np.array([3.0, 1.0, 2.0, 5.0])
    x.attach_grad()
    for call, want in calls:
        with autograd.record():
            y = call(x)
        y.backward()
        assert x.grad is not None
        numpy.testing.assert_allclose(x.grad.asnumpy(), want)


def test_logarithms_of_sums() -> None:
    x = numpy.array([[1.0, 2.0, -numpy.inf], [-numpy.inf] * 3, [1e4, 1e4, 0.0]])
    for axis in (0, 1, -1, None, (0, 1)):
        for keep in (False, True):
            with numpy.errstate(all="ignore"):
                want = numpy.logaddexp.reduce(x, axis, keepdims=keep)
            same(npx.logsumexp(np.array(x), axis, keep), want, close=True)
    y = np.array([0.5, 1.0, -2.0])
    y.attach_grad()
    with autograd.record():
        z = npx.logsumexp(y)
    z.backward()
    assert y.grad is not None
    numpy.testing.assert_allclose(y.grad.asnumpy(), npx.softmax(y).asnumpy(), rtol=1e-5)
