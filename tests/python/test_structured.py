"""Reductions, products, shapes and fills compared with NumPy."""

from __future__ import annotations

from typing import Any

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy
import pytest

from forerun import np

DTYPES = ["int32", "int64", "float32", "float64"]
AXES: list[Any] = [None, 0, 1, -1]
REDUCTIONS = [(name, axis) for name in ["argmax", "argmin"] for axis in AXES]
AXES += [(0, 2), (0, 1, 2), ()]
REDUCTIONS += [(name, axis) for name in ["sum", "prod", "mean", "max", "min"] for axis in AXES]
SHAPE = (3, 4, 5)


def sample(dtype: str, shape: tuple[int, ...] = SHAPE) -> numpy.ndarray:
    generator = numpy.random.default_rng(0)
    return generator.integers(-3, 4, shape).astype(dtype)


def close(got: np.ndarray, expected: Any, places: float = 1e-6) -> None:
    expected = numpy.asarray(expected)
    assert got.shape == expected.shape
    numpy.testing.assert_allclose(got.asnumpy(), expected, rtol=places, atol=places)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("name", "axis"), REDUCTIONS)
def test_reductions(name: str, dtype: str, axis: Any, keepdims: bool) -> None:
    x = sample(dtype)
    expected = getattr(numpy, name)(x, axis=axis, keepdims=keepdims)
    got = getattr(np, name)(np.array(x), axis=axis, keepdims=keepdims)
    close(got, expected)
    close(getattr(np.array(x), name)(axis, keepdims=keepdims), expected)
    # A reduction of a view, and one with a chain before it.
    close(getattr(np.array(x).T, name)(), getattr(x.T, name)())
    close(getattr(np.array(x) * 2, name)(axis, keepdims=keepdims), getattr(x * 2, name)(axis=axis, keepdims=keepdims))


def test_dtypes_of_reductions() -> None:
    assert np.ones((2,), "int32").sum().dtype == np.int64
    assert np.ones((2,), "bool").sum().item() == 2
    assert np.ones((2,), "int32").max().dtype == np.int32
    assert np.ones((2,), "int32").mean().dtype == np.float64
    assert np.ones((2,), "float64").mean().dtype == np.float64
    assert np.ones((2,)).argmax().dtype == np.int64
    assert np.ones((2,)).sum(dtype="float64").dtype == np.float64


def test_reductions_of_nothing() -> None:
    empty = np.zeros((0, 3))
    assert empty.sum().item() == 0.0
    assert empty.prod(axis=0).tolist() == [1.0] * 3
    assert empty.max(axis=1).shape == (0,)
    with pytest.raises(ValueError, match=r"max: zero-size array \(0, 3\) has no identity"):
        empty.max()


def test_nan_wins() -> None:
    x = np.array([1.0, np.nan, 3.0])
    assert numpy.isnan(x.max().item()) and numpy.isnan(x.min().item())
    assert (x.argmax().item(), x.argmin().item()) == (1, 1)


def test_large_sums_are_accurate() -> None:
    x = np.full((4096, 1000), 0.1)
    assert abs(x.sum().item() / (0.1 * 4096000) - 1) < 1e-6


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((4,), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((3, 0), (0, 2)),
    ],
)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> None:
    a, b = sample(dtype, left), sample(dtype, right)
    close(np.array(a) @ np.array(b), a @ b)
    close(np.matmul(np.array(a), b), a @ b)
    if a.ndim <= 2 and b.ndim <= 2:
        close(np.dot(np.array(a), np.array(b)), numpy.dot(a, b))


def test_matmul_of_views_and_with_a_tail() -> None:
    a, b, c = sample("float32", (7, 5)), sample("float32", (7, 6)), sample("float32", (6,))
    close(np.array(a).T @ np.array(b) + np.array(c), a.T @ b + c)
    close((np.array(a)[::2].T @ np.array(b)[::2]) * 2 - 1, (a[::2].T @ b[::2]) * 2 - 1)
    x = np.array(sample("float32", (3, 3)))
    expected = x.asnumpy() @ x.asnumpy()
    x @= x
    close(x, expected)
    with pytest.raises(ValueError, match=r"matmul: inner dimensions differ: \(2, 3\) x \(2, 3\)"):
        np.ones((2, 3)) @ np.ones((2, 3))
    with pytest.raises(TypeError):
        np.ones((2, 3)) @ 2


def test_joining() -> None:
    a, b = sample("float32", (2, 3)), sample("float32", (2, 3))
    for axis in [0, 1, -1]:
        close(np.concatenate([np.array(a), np.array(b).T.T], axis=axis), numpy.concatenate([a, b], axis=axis))
        close(np.stack([np.array(a), np.array(b)], axis=axis), numpy.stack([a, b], axis=axis))
    close(np.concatenate([np.array(a), b], axis=None), numpy.concatenate([a, b], axis=None))
    assert np.concat([np.ones((1,)), np.ones((1,), "int64")]).dtype == np.float32
    with pytest.raises(ValueError, match="concatenate: shapes differ"):
        np.concatenate([np.ones((2, 3)), np.ones((3, 2))])


def test_shapes() -> None:
    a = sample("float32", (2, 3, 4))
    x = np.array(a)
    close(np.reshape(x, (4, -1)), a.reshape(4, -1))
    close(x.T.reshape(-1), a.T.reshape(-1))
    close(np.transpose(x, (2, 0, 1)), a.transpose(2, 0, 1))
    close(x.transpose(1, 0, 2), a.transpose(1, 0, 2))
    close(np.swapaxes(x, 0, -1), a.swapaxes(0, -1))
    close(np.moveaxis(x, (0, 1), (-1, 0)), numpy.moveaxis(a, (0, 1), (-1, 0)))
    close(np.expand_dims(x, -1), numpy.expand_dims(a, -1))
    close(np.squeeze(x[:, None]), a)
    close(np.broadcast_to(x, (5, 2, 3, 4)), numpy.broadcast_to(a, (5, 2, 3, 4)))
    close(x.flatten(), a.flatten())
    with pytest.raises(ValueError, match="reshape"):
        x.reshape(5, 5)
    with pytest.raises(ValueError):
        np.squeeze(x, 0)
    with pytest.raises((IndexError, ValueError)):
        np.swapaxes(x, 0, 3)


def test_fills() -> None:
    for args in [(5,), (2, 7), (0, 1, 0.1), (10, 0, -3), (0,), (5, 5), (1.5, 4)]:
        close(np.arange(*args), numpy.arange(*args))
    close(np.arange(3, dtype="float64"), numpy.arange(3.0))
    for k in [-2, 0, 1]:
        close(np.eye(3, 4, k), numpy.eye(3, 4, k))
    close(np.linspace(0, 1, 7), numpy.linspace(0, 1, 7))
    close(np.linspace(-2, 5, 9, endpoint=False, dtype="float64"), numpy.linspace(-2, 5, 9, endpoint=False), 1e-15)
    close(np.linspace(0, 1, 1), numpy.linspace(0, 1, 1))
    close(np.full_like(np.arange(3), 7.5), numpy.full_like(numpy.arange(3), 7.5))
    close(np.zeros_like(np.ones((2, 3))), numpy.zeros((2, 3)))
    assert (np.empty((2,)).shape, np.empty((2,)).dtype) == ((2,), np.float32)
    with pytest.raises(ValueError, match="negative dimensions"):
        np.ones((-1,))
    with pytest.raises(ValueError, match="dimensions"):
        np.ones((1,) * 33)


def test_comparisons_of_whole_arrays() -> None:
    x = np.array([1.0, np.inf, np.nan])
    assert not np.allclose(x, x)
    assert np.allclose(x, x, equal_nan=True)
    assert not np.allclose(np.array([1.0]), np.array([np.inf]))
    assert np.array_equal(np.arange(3), [0, 1, 2])
    assert not np.array_equal(np.arange(3), np.arange(4))
    assert np.all(np.zeros((0,))).item() is True
    assert np.any(np.zeros((0,))).item() is False
    assert np.all(np.array([[1, 0], [1, 1]]), axis=1).tolist() == [False, True]


@pytest.mark.parametrize("to", ["bool", *DTYPES])
@pytest.mark.parametrize("dtype", ["bool", *DTYPES])
def test_casts(dtype: str, to: str) -> None:
    x = sample(dtype) if dtype != "bool" else sample("int32").astype("bool")
    if dtype.startswith("float"):
        x = x + x.dtype.type(0.75)
    got = np.array(x).astype(to)
    assert got.dtype == to
    numpy.testing.assert_array_equal(got.asnumpy(), x.astype(to))


def test_random_numbers() -> None:
    np.random.seed(3)
    first = [np.random.normal(2, 3, size=(100, 100)), np.random.uniform(-1, 1, size=(100, 100)), np.random.randn(2)]
    np.random.seed(3)
    again = [np.random.normal(2, 3, size=(100, 100)), np.random.uniform(-1, 1, size=(100, 100)), np.random.randn(2)]
    for a, b in zip(first, again, strict=True):
        assert np.array_equal(a, b)
    normal, uniform = first[0].asnumpy(), first[1].asnumpy()
    assert abs(normal.mean() - 2) < 0.15 and abs(normal.std() - 3) < 0.15
    assert uniform.min() >= -1 and uniform.max() < 1 and abs(uniform.mean()) < 0.05
    drawn = np.random.randint(0, 3, size=(1000,)).asnumpy()
    assert set(drawn.tolist()) == {0, 1, 2}
    assert np.random.normal().shape == ()
    assert np.random.rand(2, 3).shape == (2, 3)
    assert np.random.normal(np.zeros((3,)), 2.0).shape == (3,)
    assert np.random.normal(size=2, dtype="float64").dtype == np.float64
    assert not np.array_equal(np.random.randn(8), np.random.randn(8))


@hypothesis.given(
    arrays.arrays("float64", arrays.array_shapes(max_dims=4, max_side=6), elements=st.floats(-1e3, 1e3)),
    st.data(),
)
def test_sums_over_any_axes(x: numpy.ndarray, data: st.DataObject) -> None:
    axes = tuple(data.draw(st.sets(st.integers(0, x.ndim - 1))))
    numpy.testing.assert_allclose(np.array(x).sum(axes).asnumpy(), x.sum(axes), rtol=1e-12, atol=1e-9)
    numpy.testing.assert_array_equal(np.array(x).max(axes).asnumpy(), x.max(axes))


@pytest.mark.parametrize(("dtype", "digits"), [("float16", 11), ("bfloat16", 8)])
def test_products_of_half_floats_are_rounded_once(dtype: str, digits: int) -> None:
    """Long sums and odd sizes: no partial sum may be rounded before it is added."""
    m, k, n = 1000, 999, 1001
    draw = numpy.random.default_rng(3)
    x = np.array(draw.uniform(-0.5, 0.5, (m, k)).astype("float32")).astype(dtype)
    y = np.array(draw.uniform(-0.5, 0.5, (k, n)).astype("float32")).astype(dtype)
    exact = x.astype("float64").asnumpy() @ y.astype("float64").asnumpy()
    for got, want in ((x @ y, exact), (y.T @ x.T, exact.T), (x[1:] @ y[:, 1:], exact[1:, 1:])):
        off = numpy.abs(got.astype("float64").asnumpy() - want)
        assert (off <= numpy.abs(want) * 2.0**-digits + 3e-4).all()
