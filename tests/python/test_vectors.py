"""Multivariate normal draws: moments, shapes as in NumPy, singular covariances, gradients, errors."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import forerun
from forerun import autograd, np

COUNT = 40_000
MEAN = numpy.array([1.0, -2.0, 0.5])
COV = numpy.array([[2.0, 0.6, -0.4], [0.6, 1.0, 0.3], [-0.4, 0.3, 0.5]])


def check_moments(x: numpy.ndarray, mean: numpy.ndarray, cov: numpy.ndarray) -> None:
    """Compare means and covariances of draws with their expectations, within five standard errors."""
    spread = numpy.diag(cov)
    assert (numpy.abs(x.mean(0) - mean) <= 5 * numpy.sqrt(spread / len(x)) + 1e-6).all()
    error = numpy.sqrt((numpy.outer(spread, spread) + cov**2) / len(x))
    assert (numpy.abs(numpy.cov(x.T, ddof=0) - cov) <= 5 * error + 1e-6).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments(dtype: str) -> None:
    np.random.seed(3)
    x = np.random.multivariate_normal(MEAN, COV, (COUNT,), dtype=dtype)
    assert x.dtype == dtype
    check_moments(x.asnumpy().astype("float64"), MEAN, COV)
    # Draws of two calls, and the vectors of one call, are independent.
    y = np.random.multivariate_normal(MEAN, COV, COUNT, dtype=dtype).asnumpy()
    both = numpy.corrcoef(x.asnumpy().T, y.T)[:3, 3:]
    next_to = numpy.corrcoef(y[1:].T, y[:-1].T)[:3, 3:]
    assert numpy.abs(both).max() < 5 / COUNT**0.5 and numpy.abs(next_to).max() < 5 / COUNT**0.5


@pytest.mark.parametrize("size", [None, 4, (4,), (), (2, 3), (0,), (2, 0)])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_shapes(size: Any, length: int) -> None:
    mean, cov = numpy.zeros(length), numpy.eye(length)
    want = (
        numpy.random.multivariate_normal(mean, cov, size)
        if length
        else numpy.zeros((*numpy.zeros(size or ()).shape, 0))
    )
    got = np.random.multivariate_normal(mean, cov, size)
    assert got.shape == want.shape and got.dtype == np.float32
    assert numpy.isfinite(got.asnumpy()).all()


def test_parameters_of_every_kind() -> None:
    wanted = []
    wide = np.array(numpy.repeat(numpy.repeat(COV, 2, 0), 2, 1))
    for mean, cov in [
        (MEAN, COV),
        (MEAN.tolist(), COV.tolist()),
        (np.array(MEAN), np.array(COV)),
        (np.array(MEAN), wide[::2, 1::2]),
        # The upper triangle is not read.
        (MEAN, numpy.tril(COV)),
    ]:
        np.random.seed(7)
        wanted.append(np.random.multivariate_normal(mean, cov, (5,), dtype="float64").asnumpy())
    for got in wanted[1:]:
        assert got.tobytes() == wanted[0].tobytes()
    np.random.seed(7)
    whole = np.random.multivariate_normal([1, 2], [[4, 0], [0, 9]], (3,), dtype="float64").asnumpy()
    np.random.seed(7)
    plain = np.random.normal(size=(3, 2), dtype="float64").asnumpy()
    numpy.testing.assert_allclose(whole, plain * [2, 3] + [1, 2], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_singular_covariances(dtype: str) -> None:
    np.random.seed(4)
    # Three numbers, the last of which is the sum of the others: rounding may make an eigenvalue negative.
    mix = numpy.array([[1.0, 0.0], [0.3, 0.7], [1.3, 0.7]])
    cov = (mix @ mix.T).astype(dtype)
    x = np.random.multivariate_normal(np.zeros(3), cov, (COUNT,), dtype="float64").asnumpy()
    check_moments(x, numpy.zeros(3), cov.astype("float64"))
    assert numpy.abs(x[:, 0] + x[:, 1] - x[:, 2]).max() < 40 * float(numpy.finfo(dtype).eps) ** 0.5
    still = np.random.multivariate_normal(MEAN, numpy.zeros((3, 3), dtype), (2,), dtype="float64")
    assert still.tolist() == [MEAN.tolist()] * 2


@pytest.mark.parametrize("cov", [[[1.0, 2.0], [2.0, 1.0]], [[-1.0, 0.0], [0.0, -1.0]], [[1.0, 0.0], [0.0, -1e-6]]])
def test_no_covariance_gives_no_numbers(cov: list[list[float]]) -> None:
    assert numpy.isnan(np.random.multivariate_normal([0.0, 0.0], cov, (4,)).asnumpy()).all()


@pytest.mark.parametrize(
    "mean, cov, text",
    [
        (0.0, [[1.0]], r"mean must have one dimension, not \(\)"),
        ([[0.0]], [[1.0]], r"mean must have one dimension, not \(1, 1\)"),
        ([0.0], 1.0, r"cov must be a square matrix, not \(\)"),
        ([0.0], [1.0], r"cov must be a square matrix, not \(1,\)"),
        ([0.0, 0.0], [[1.0, 0.0]], r"cov must be a square matrix, not \(1, 2\)"),
        ([0.0, 0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], r"mean and cov differ in length: \(3,\), \(2, 2\)"),
    ],
)
def test_what_is_refused(mean: Any, cov: Any, text: str) -> None:
    with pytest.raises(ValueError):
        numpy.random.multivariate_normal(mean, cov)
    with pytest.raises(ValueError, match="multivariate_normal: " + text):
        np.random.multivariate_normal(mean, cov)


def test_negative_sizes_and_complex_numbers_are_refused() -> None:
    with pytest.raises(ValueError):
        np.random.multivariate_normal(MEAN, COV, (-1,))
    with pytest.raises(TypeError, match="multivariate_normal: no complex numbers: complex128, float64"):
        np.random.multivariate_normal(MEAN + 1j, COV)


def test_draws_repeat_whatever_the_threads_and_have_generators() -> None:
    runs = []
    for threads in (1, 3):
        with forerun.set_num_threads(threads):
            np.random.seed(9)
            runs.append(np.random.multivariate_normal(MEAN, COV, (5000,)).asnumpy().tobytes())
    assert runs[0] == runs[1]
    a, b = (np.random.default_rng(5).multivariate_normal(MEAN, COV, (8,), dtype="float64") for _ in range(2))
    assert a.dtype == np.float64 and a.tolist() == b.tolist()


@pytest.mark.parametrize("cov", [COV, numpy.eye(3), numpy.diag([1.0, 1.0, 4.0])])
def test_gradients(cov: numpy.ndarray) -> None:
    weights = numpy.random.default_rng(1).normal(size=(6, 3))

    def loss(mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
        np.random.seed(2)
        x = np.random.multivariate_normal(mean, cov, (6,), dtype="float64")
        return (x * x * np.array(weights)).sum()

    mean, spread = np.array(MEAN), np.array(cov)
    mean.attach_grad()
    spread.attach_grad()
    with autograd.record():
        y = loss(mean, spread)
    y.backward()
    assert mean.grad is not None and spread.grad is not None

    def slope(at: numpy.ndarray, way: numpy.ndarray, of: Any) -> float:
        step = 1e-6
        return float((of(np.array(at + step * way)) - of(np.array(at - step * way))).item() / (2 * step))

    for i in range(3):
        way = numpy.eye(3)[i]
        numpy.testing.assert_allclose(mean.grad[i].item(), slope(MEAN, way, lambda m: loss(m, spread)), rtol=1e-6)
        for j in range(i + 1):
            # The matrix stays symmetric, so both triangles change together.
            both = numpy.outer(way, numpy.eye(3)[j])
            both = (both + both.T) / 2
            want = slope(cov, both, lambda c: loss(mean, c))
            numpy.testing.assert_allclose(spread.grad[i, j].item(), want, rtol=1e-5, atol=1e-6)
