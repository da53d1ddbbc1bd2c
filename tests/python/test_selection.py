"""Functions without a full sort: partitions, quantiles, counts, sets, and interpolation."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from forerun import _forerun, autograd, np

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "complex64"]
SIZES = [1, 2, 33, 513, 5000, 70_001]


def drawn(dtype: str, size: int, seed: int = 0) -> numpy.ndarray:
    """Draw numbers with many duplicates, zeros of both signs and, for floats, NaN."""
    draw = numpy.random.default_rng([size, seed])
    made = draw.integers(-40, 40, size) * draw.choice([1, 0.37], size)
    if dtype in ("bool", "uint8", "uint64"):
        made = abs(made)
    made = made.astype(dtype)
    if made.dtype.kind in "fc":
        made[draw.integers(0, size, size // 50)] = numpy.nan
        made[draw.integers(0, size, size // 50)] = -0.0
    return made


def bits(x: Any) -> bytes:
    """Return the bytes of an array of either library; all NaNs are equal."""
    read = numpy.array(x)
    if read.dtype.kind == "f":
        read[numpy.isnan(read)] = numpy.nan
    return read.tobytes()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_partitions_are_parted(dtype: str, size: int) -> None:
    x = drawn(dtype, size)
    order = numpy.sort(x)
    for kth in ([0], [size // 3], [size - 1], [0, size // 2], sorted({k * (size - 1) // 7 for k in range(8)})):
        kths = kth if len(kth) > 1 else kth[0]
        places = np.argpartition(np.array(x), kths).asnumpy()
        made = np.partition(np.array(x), kths).asnumpy()
        assert bits(made) == bits(x[places])
        assert sorted(places) == list(range(size))
        numpy.testing.assert_array_equal(made[kth], order[kth])
        for k in kth:
            numpy.testing.assert_array_equal(numpy.sort(made[:k]), order[:k])
            numpy.testing.assert_array_equal(numpy.sort(made[k:]), order[k:])


def test_partitions_of_layouts() -> None:
    x = drawn("float32", 6000).reshape(20, 30, 10)
    for ours, theirs in ((np.array(x)[:, ::-1], x[:, ::-1]), (np.array(x).transpose(2, 0, 1), x.transpose(2, 0, 1))):
        for axis in (0, 1, -1, None):
            k = 3
            made = np.partition(ours, k, axis).asnumpy()
            want = numpy.partition(theirs, k, axis)
            numpy.testing.assert_array_equal(numpy.take(made, k, axis), numpy.take(want, k, axis))


def test_a_partition_has_a_gradient() -> None:
    x = np.array(drawn("float32", 3000).astype("float64"))
    x = np.nan_to_num(x) + np.arange(3000) * 1e-4
    x.attach_grad()
    factors = np.arange(3000).astype("float64")
    with autograd.record():
        total = (np.partition(x, 1000) * factors).sum()
    total.backward()
    want = numpy.empty(3000)
    want[np.argpartition(x, 1000).asnumpy()] = factors.asnumpy()
    numpy.testing.assert_array_equal(x.grad.asnumpy(), want)


METHODS = [
    "linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "inverted_cdf", "averaged_inverted_cdf",
    "closest_observation", "interpolated_inverted_cdf", "median_unbiased", "normal_unbiased",
]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_quantiles_are_those_of_the_whole_order(dtype: str, method: str) -> None:
    for size in (1, 2, 3, 100, 513, 5000):
        for seed in range(2):
            x = drawn(dtype, size, seed)
            if seed == 0:
                x = numpy.nan_to_num(x) if x.dtype.kind == "f" else x
            for q in (0, 0.5, 1, 0.123, [0.25, 0.5], numpy.linspace(0, 1, 9)):
                with autograd.record():
                    want = np.quantile(np.array(x), q, method=method)
                assert bits(np.quantile(np.array(x), q, method=method)) == bits(want)
                assert np.quantile(np.array(x), q, method=method).shape == want.shape
    rows = np.array(drawn("float32", 6000).reshape(20, 30, 10))
    for axis in (0, 1, (0, 2), None):
        for keepdims in (False, True):
            with autograd.record():
                want = np.quantile(rows, [0.1, 0.5], axis, method, keepdims=keepdims)
            made = np.quantile(rows, [0.1, 0.5], axis, method, keepdims=keepdims)
            assert made.shape == want.shape and bits(made) == bits(want)


def test_medians() -> None:
    for size in SIZES:
        x = numpy.nan_to_num(drawn("float64", size))
        assert float(np.median(np.array(x))) == numpy.median(x)
        assert float(np.percentile(np.array(x), 90)) == pytest.approx(numpy.percentile(x, 90), rel=1e-12)
    x[0] = numpy.nan
    assert numpy.isnan(float(np.median(np.array(x))))
    with pytest.raises(ValueError, match="median: no elements"):
        np.median(np.ones((0,)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_interpolation_is_that_of_single_ops(dtype: str) -> None:
    draw = numpy.random.default_rng(5)
    for count in (1, 2, 7, 300):
        points, values = numpy.sort(draw.normal(size=count)).astype(dtype), draw.normal(size=count).astype(dtype)
        x = numpy.concatenate([draw.normal(size=700), points, [numpy.nan, numpy.inf, -numpy.inf]]).astype(dtype)
        for ends in ({}, {"left": -3.5}, {"right": 0.1}, {"left": 1, "right": -1}, {"period": 1.5}):
            ours = [np.array(each) for each in (x, points, values)]
            with autograd.record():
                want = np.interp(*ours, **ends)
            assert bits(np.interp(*ours, **ends)) == bits(want)
            if "period" not in ends:
                made = np.interp(*ours, **ends).asnumpy()
                numpy.testing.assert_allclose(made, numpy.interp(x, points, values, **ends), rtol=1e-4, atol=1e-4)
    assert float(np.interp(2, [1, 2, 3], [10, 20, 30])) == 20


@pytest.mark.parametrize("dtype", DTYPES)
def test_membership(dtype: str) -> None:
    x = drawn(dtype, 3000)
    for count in (0, 1, 5, 40, 900):
        others = drawn(dtype, max(count, 1), 1)[:count]
        for invert in (False, True):
            made = np.isin(np.array(x).reshape(30, 100), np.array(others), invert=invert).asnumpy()
            numpy.testing.assert_array_equal(made, numpy.isin(x, others, invert=invert).reshape(30, 100))


def test_membership_of_numbers_far_apart() -> None:
    draw = numpy.random.default_rng(1)
    x = draw.integers(-(2**63), 2**63 - 1, 5000)
    for others in (x[::7], numpy.array([*x[:20], -(2**63), 2**63 - 1])):
        made = np.isin(np.array(x), np.array(others)).asnumpy()
        numpy.testing.assert_array_equal(made, numpy.isin(x, others))


def test_counts_of_numbers() -> None:
    for dtype in ("bool", "int8", "uint8", "int32", "int64", "uint16"):
        for size in SIZES:
            x = abs(drawn("int32", size)).astype(dtype)
            for least in (0, 3, 200):
                made = np.bincount(np.array(x), minlength=least).asnumpy()
                numpy.testing.assert_array_equal(made, numpy.bincount(x, minlength=least))
    far = numpy.array([3, 5_000_000])
    numpy.testing.assert_array_equal(np.bincount(np.array(far)).asnumpy(), numpy.bincount(far))
    with pytest.raises(ValueError, match="bincount: numbers must not be negative: -4"):
        np.bincount(np.array([3, -4, -2]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_histograms(dtype: str) -> None:
    draw = numpy.random.default_rng(3)
    for size in SIZES:
        x = (draw.normal(size=size) * 50).astype(dtype)
        for bins in (1, 10, 77):
            made, edges = np.histogram(np.array(x), bins)
            # Forerun's edges have the dtype of the elements, so compute the counts from them.
            wide = numpy.asarray(edges.asnumpy(), "float64")
            numpy.testing.assert_array_equal(made.asnumpy(), numpy.histogram(x, wide)[0])
        within = np.histogram(np.array(x), 20, (-30.0, 45.0))
        numpy.testing.assert_array_equal(within[0].asnumpy(), numpy.histogram(x, within[1].asnumpy())[0])
        edges = numpy.array([-100, -3, -3, 0, 0.5, 90]).astype("float32" if dtype == "float32" else "float64")
        numpy.testing.assert_array_equal(
            np.histogram(np.array(x), np.array(edges))[0].asnumpy(), numpy.histogram(x, edges)[0]
        )


def test_orders_are_those_of_random_bits() -> None:
    for count in (0, 1, 2, 5, 1000, 20_000):
        np.random.seed(7)
        made = np.random.permutation(count)
        np.random.seed(7)
        drawn = _forerun.routine("random_bits", [], shape=[count])
        low = (1 << max(count - 1, 0).bit_length()) - 1
        marked = numpy.sort(drawn.asnumpy() & ~low | numpy.arange(count))
        numpy.testing.assert_array_equal(made.asnumpy(), marked & low)
