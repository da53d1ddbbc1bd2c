"""Sorting, scans, sets and quantiles compared with NumPy."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import autograd, np, npx

# In the sync engine every op has run before the next is submitted.
WAITS = 0 if os.environ.get("FORERUN_ENGINE") == "sync" else 1

DTYPES = ["bool", "int32", "int64", "float32", "float64"]
GENERATOR = numpy.random.default_rng(5)


def drawn(dtype: str, *shape: int) -> numpy.ndarray:
    """Draw numbers with many duplicates."""
    return (GENERATOR.integers(-20, 20, shape) / 4).astype(dtype)


def same(got: np.ndarray, want: Any, close: bool = False) -> None:
    """Compare a result with NumPy's: values, shape and dtype."""
    want = numpy.asarray(want)
    assert got.shape == want.shape and got.dtype.name == want.dtype.name, (got.shape, got.dtype, want.shape, want.dtype)
    if close:
        numpy.testing.assert_allclose(got.asnumpy(), want, rtol=1e-5, atol=1e-6)
    else:
        numpy.testing.assert_array_equal(got.asnumpy(), want)


def views(x: numpy.ndarray) -> list[tuple[np.ndarray, numpy.ndarray]]:
    """Return an array and views of it, with NumPy's."""
    ours = np.array(x)
    return [(ours, x), (ours.T, x.T), (ours[::-1, 1::2], x[::-1, 1::2]), (ours[:0], x[:0])]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_orders(dtype: str, axis: int | None) -> None:
    for ours, theirs in views(drawn(dtype, 6, 9)):
        same(np.sort(ours, axis), numpy.sort(theirs, axis))
        same(np.argsort(ours, axis), numpy.argsort(theirs, axis, stable=True))
        same(
            np.sort(ours, axis=axis, descending=True),
            numpy.flip(numpy.sort(theirs, axis), -1 if axis is None else axis),
        )


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("count", [199, 200, 201, 16383, 16384, 70_000, 300_000])
def test_long_lines(dtype: str, count: int) -> None:
    x = (GENERATOR.normal(size=count) * 1e5).astype(dtype)
    x[::7] = x[0]
    for array in (
        x,
        numpy.arange(count).astype(dtype),
        numpy.full(count, 3, dtype),
        -numpy.arange(count).astype(dtype),
    ):
        same(np.sort(np.array(array)), numpy.sort(array))
        same(np.argsort(np.array(array)), numpy.argsort(array, stable=True))
        same(np.argsort(np.array(array), descending=True), numpy.argsort(-array, stable=True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [20, 1000, 100_000])
def test_zeros_keep_their_order_and_nan_is_last(dtype: str, count: int) -> None:
    x = numpy.array([0.0, -0.0, numpy.nan, -1.0, numpy.inf, -numpy.nan, -numpy.inf, 1e-40], dtype)
    x = x[GENERATOR.integers(0, len(x), count)]
    for descending in (False, True):
        number = numpy.where(numpy.isnan(x), numpy.inf, -x if descending else x)
        order = numpy.lexsort([number, numpy.isnan(x)])
        same(np.argsort(np.array(x), descending=descending), order)
        got = np.sort(np.array(x), descending=descending).asnumpy()
        numpy.testing.assert_array_equal(got, x[order])
        numbers = ~numpy.isnan(got)
        numpy.testing.assert_array_equal(numpy.signbit(got[numbers]), numpy.signbit(x[order][numbers]))


def test_bits_do_not_depend_on_threads() -> None:
    x = np.array(GENERATOR.normal(size=400_000).astype("float32"))
    results = []
    for threads in (1, 2, 3):
        with forerun.set_num_threads(threads):
            results.append([np.cumsum(x).asnumpy(), np.sort(x).asnumpy(), np.argsort(x).asnumpy()])
    for other in results[1:]:
        for got, want in zip(other, results[0], strict=True):
            assert got.tobytes() == want.tobytes()


def test_orders_are_refused() -> None:
    with pytest.raises((ValueError, IndexError), match="sort: axis 2 is out of bounds"):
        np.sort(np.ones((2, 2)), 2)
    with pytest.raises((ValueError, IndexError), match="sort: axis"):
        np.sort(np.array(1.0))
    with pytest.raises(ValueError, match="partition: kth 3 is out of bounds for 3 elements"):
        np.partition(np.ones((3,)), 3)
    with pytest.raises(ValueError, match="lexsort: keys differ in shape"):
        np.lexsort([np.ones((3,)), np.ones((2,))])


def test_partitions() -> None:
    x = drawn("float32", 5, 11)
    for kth in (0, 4, -1, [2, 7]):
        made = np.partition(np.array(x), kth, 1).asnumpy()
        numpy.testing.assert_array_equal(made[:, kth], numpy.partition(x, kth, 1)[:, kth])
        places = np.argpartition(np.array(x), kth, 1).asnumpy()
        numpy.testing.assert_array_equal(numpy.take_along_axis(x, places, 1)[:, kth], made[:, kth])
    same(np.msort(np.array(x)), numpy.sort(x, 0))


def test_several_keys() -> None:
    keys = [drawn("int32", 4, 30), drawn("float32", 4, 30), drawn("bool", 4, 30)]
    for axis in (0, 1, -1):
        same(np.lexsort([np.array(key) for key in keys], axis), numpy.lexsort(keys, axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_places_in_an_order(dtype: str) -> None:
    numbers, values = numpy.sort(drawn(dtype, 30)), drawn(dtype, 4, 5)
    for side in ("left", "right"):
        for ours, theirs in views(values):
            same(np.searchsorted(np.array(numbers), ours, side), numpy.searchsorted(numbers, theirs, side))
    mixed = drawn(dtype, 30)
    order = numpy.argsort(mixed, stable=True)
    same(
        np.searchsorted(np.array(mixed), np.array(values), sorter=np.array(order)),
        numpy.searchsorted(mixed, values, sorter=order),
    )
    for right, edges in itertools.product([False, True], [numbers, numbers[::-1].copy()]):
        if dtype != "bool":
            same(np.digitize(np.array(values), np.array(edges), right), numpy.digitize(values, edges, right))


def test_places_of_numbers_and_other_dtypes() -> None:
    doubles = numpy.array([0.05, 0.1, 0.2])
    same(np.searchsorted(np.array(doubles), 0.1), numpy.searchsorted(doubles, 0.1))
    same(np.searchsorted(np.array([1, 2, 3]), 1.5), numpy.searchsorted([1, 2, 3], 1.5))
    same(np.searchsorted(np.array([1, 2, 3]), np.array([0.5, 2.5])), numpy.searchsorted([1, 2, 3], [0.5, 2.5]))
    with pytest.raises(ValueError, match="side must be left or right"):
        np.searchsorted(np.ones((2,)), 1, "middle")
    with pytest.raises(ValueError, match="digitize: bins must be monotonic"):
        np.digitize(np.ones((2,)), np.array([1.0, 3.0, 2.0])).asnumpy()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_scans(dtype: str, axis: int | None) -> None:
    for ours, theirs in views(drawn(dtype, 6, 9)):
        same(np.cumsum(ours, axis), numpy.cumsum(theirs, axis), close=True)
        same(np.cumprod(ours, axis), numpy.cumprod(theirs, axis), close=True)
        same(np.cumsum(ours, axis, "float64"), numpy.cumsum(theirs, axis, "float64"), close=True)
    x = drawn(dtype, 5, 4)
    if axis is not None:
        for first in (False, True):
            same(
                np.cumulative_sum(np.array(x), axis=axis, include_initial=first),
                numpy.cumulative_sum(x, axis=axis, include_initial=first),
                close=True,
            )
            same(
                np.cumulative_prod(np.array(x), axis=axis, include_initial=first),
                numpy.cumulative_prod(x, axis=axis, include_initial=first),
                close=True,
            )
    same(np.cumsum(np.array(x[0, 0])), numpy.cumsum(x[0, 0]))
    with pytest.raises(ValueError, match="cumulative_sum: axis is required"):
        np.cumulative_sum(np.array(x))


def test_long_sums_never_fall() -> None:
    for shape, axis in (((100_003,), 0), ((3, 5000), 1), ((5000, 3), 0)):
        x = GENERATOR.random(shape).astype("float32")
        made = np.cumsum(np.array(x), axis).asnumpy()
        numpy.testing.assert_allclose(made, numpy.cumsum(x, axis, "float64"), rtol=1e-5)
        assert (numpy.diff(made, axis=axis) >= 0).all()
    # Adjacent lines give the same sums as a contiguous one.
    x = GENERATOR.normal(size=(3, 5000)).astype("float32")
    assert np.cumsum(np.array(x), 1).asnumpy().tobytes() == np.cumsum(np.array(x.T.copy()), 0).asnumpy().T.tobytes()


def test_scans_without_nan() -> None:
    x = numpy.array([[1.0, numpy.nan, 3.0], [numpy.nan, 2.0, 2.0]], "float32")
    for axis in (None, 0, 1):
        same(np.nancumsum(np.array(x), axis), numpy.nancumsum(x, axis))
        same(np.nancumprod(np.array(x), axis), numpy.nancumprod(x, axis))
    same(np.nancumsum(np.array([1, 2])), numpy.nancumsum([1, 2]))


def test_along_an_axis() -> None:
    x = drawn("float32", 3, 4, 5)
    for axis in (0, 1, -1):
        places = numpy.argsort(x, axis)
        same(np.take_along_axis(np.array(x), np.array(places), axis), numpy.take_along_axis(x, places, axis))
        few = numpy.take(places, [0], axis)
        ours, theirs = np.array(x), x.copy()
        np.put_along_axis(ours, np.array(few), 99, axis)
        numpy.put_along_axis(theirs, few, 99, axis)
        same(ours, theirs)
    same(np.take_along_axis(np.array(x), np.array([3, -1]), None), numpy.take_along_axis(x, numpy.array([3, -1]), None))
    one = numpy.array([[[2, 0]]])
    same(np.take_along_axis(np.array(x), np.array(one), 2), numpy.take_along_axis(x, one, 2))
    ours, theirs = np.array(x)[::2], x.copy()[::2]
    np.put_along_axis(ours, np.array(one), np.array([[[1.0, 2.0]]]), 2)
    numpy.put_along_axis(theirs, one, numpy.array([[[1.0, 2.0]]]), 2)
    same(ours, theirs)
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0"):
        np.take_along_axis(np.ones((3,)), np.array([9]), 0).asnumpy()
    with pytest.raises(ValueError, match="take_along_axis: indices"):
        np.take_along_axis(np.ones((3, 2)), np.array([0]), 0)


UNIQUE: list[dict[str, Any]] = [
    {"return_index": a, "return_inverse": b, "return_counts": c}
    for a, b, c in itertools.product([False, True], repeat=3)
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wanted", UNIQUE)
def test_distinct_elements(dtype: str, wanted: dict[str, bool]) -> None:
    for ours, theirs in views(drawn(dtype, 6, 9)):
        for axis in (None, 0, 1, -1):
            if axis is not None and theirs.size == 0:
                continue
            got, want = np.unique(ours, axis=axis, **wanted), numpy.unique(theirs, axis=axis, **wanted)
            got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
            for mine, theirs_ in zip(got, want, strict=True):
                same(mine, theirs_)
    few = numpy.array([[1, 2], [0, 1], [1, 2], [0, 1]], dtype)
    got, want = np.unique(np.array(few), axis=0, return_counts=True), numpy.unique(few, axis=0, return_counts=True)
    same(got[0], want[0])
    same(got[1], want[1])


def test_distinct_elements_of_the_standard() -> None:
    x = numpy.array([[2.0, numpy.nan, 1.0], [numpy.nan, 2.0, 0.0]], "float32")
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        got, want = getattr(np, name)(np.array(x)), getattr(numpy, name)(x)
        assert got._fields == want._fields
        for mine, theirs in zip(got, want, strict=True):
            same(mine, theirs)
    same(np.unique_values(np.array(x)), numpy.unique_counts(x).values)
    same(np.unique(np.array(x)), numpy.unique(x))
    same(np.unique(np.array(x), equal_nan=False), numpy.unique(x, equal_nan=False))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_sets(dtype: str) -> None:
    pairs = [
        (drawn(dtype, 20), drawn(dtype, 3, 5)),
        (drawn(dtype, 0), drawn(dtype, 4)),
        (drawn(dtype, 4), drawn(dtype, 0)),
    ]
    for a, b in pairs:
        for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d", "isin"):
            same(getattr(np, name)(np.array(a), np.array(b)), getattr(numpy, name)(a, b))
        same(np.in1d(np.array(b), np.array(a)), numpy.isin(b.ravel(), a))
        same(np.isin(np.array(a), np.array(b), invert=True), numpy.isin(a, b, invert=True))
    a, b = pairs[0]
    for got, want in zip(
        np.intersect1d(np.array(a), np.array(b), return_indices=True),
        numpy.intersect1d(a, b, return_indices=True),
        strict=True,
    ):
        same(got, want)
    nan = numpy.array([numpy.nan, 1.0], "float32")
    same(np.isin(np.array(nan), np.array(nan)), numpy.isin(nan, nan))


def test_sets_wait_once() -> None:
    # Large enough that reading it waits.
    a, b = (np.array(drawn("float64", 1_000_000)) for _ in range(2))
    calls: list[Callable[[], object]] = [
        lambda: np.unique(a, True, True, True),
        lambda: np.unique_all(a),
        lambda: np.union1d(a, b),
        lambda: np.setxor1d(a, b),
        lambda: np.intersect1d(a, b, return_indices=True),
        lambda: np.setdiff1d(a, b),
    ]
    for call in calls:
        npx.waitall()
        forerun.reset_blockers()
        call()
        assert sum(blocker.count for blocker in forerun.blockers()) == WAITS


METHODS = [
    "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
    "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased",
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_quantiles(method: str) -> None:
    q = [0.0, 0.1, 0.25, 0.5, 0.8, 1.0]
    for count in (1, 2, 7, 10):
        x = drawn("float64", 3, count, 2)
        for axis in (None, 0, 1, -1, (0, 1)):
            for keep in (False, True):
                got = np.quantile(np.array(x), q, axis, method, keepdims=keep)
                same(got, numpy.quantile(x, q, axis, method=method, keepdims=keep), close=True)
        holes = x.copy()
        holes[0, 0, 0] = holes[2, :, 1] = numpy.nan
        same(np.quantile(np.array(holes), q, 1, method), numpy.quantile(holes, q, 1, method=method), close=True)
        with numpy.errstate(all="ignore"), pytest.warns(RuntimeWarning) if count else numpy.errstate():
            want = numpy.nanquantile(holes, q, 1, method=method)
        same(np.nanquantile(np.array(holes), q, 1, method), want, close=True)


def test_quantiles_of_other_kinds() -> None:
    x = drawn("float32", 5, 8)
    same(np.median(np.array(x)), numpy.median(x), close=True)
    same(np.median(np.array(x), 1, keepdims=True), numpy.median(x, 1, keepdims=True), close=True)
    same(np.percentile(np.array(x), 30, 0), numpy.percentile(x, 30, 0).astype("float32"), close=True)
    same(
        np.percentile(np.array(x), np.array([30.0, 60.0]), 0),
        numpy.percentile(x, [30, 60], 0).astype("float32"),
        close=True,
    )
    same(np.median(np.array([3, 1, 2])), numpy.float64(2.0))
    same(np.median(np.array([1.0, numpy.inf, numpy.inf])), numpy.float32(numpy.inf))
    x[0, 0] = numpy.nan
    same(np.nanmedian(np.array(x), 1), numpy.nanmedian(x, 1), close=True)
    same(np.nanpercentile(np.array(x), 20), numpy.float32(numpy.nanpercentile(x, 20)), close=True)
    assert np.isnan(np.median(np.array(x))).item()
    with pytest.raises(ValueError, match="quantile: q must lie between 0 and 1"):
        np.quantile(np.array(x), 1.5)
    with pytest.raises(ValueError, match="quantile: unknown method"):
        np.quantile(np.array(x), 0.5, method="best")
    with pytest.raises(ValueError, match="quantile: no elements"):
        np.quantile(np.ones((0,)), 0.5)


def test_gradients_flow() -> None:
    x = np.array([3.0, 1.0, 2.0, 5.0])
    x.attach_grad()
    calls: list[tuple[Callable[[np.ndarray], np.ndarray], list[float]]] = [
        (lambda x: np.sort(x)[1], [0, 0, 1, 0]),
        (lambda x: np.median(x), [0.5, 0, 0.5, 0]),
        (lambda x: np.cumsum(x).sum(), [4, 3, 2, 1]),
        (lambda x: np.take_along_axis(x, np.array([3, 3]), 0).sum(), [0, 0, 0, 2]),
        (lambda x: np.partition(x, 3)[3], [0, 0, 0, 1]),
        (lambda x: np.unique(x)[0], [0, 1, 0, 0]),
    ]
    for call, want in calls:
        with autograd.record():
            y = call(x)
        y.backward()
        assert x.grad is not None
        numpy.testing.assert_allclose(x.grad.asnumpy(), want)
