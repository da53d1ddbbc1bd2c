"""Polynomials fitted to points, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from forerun import np

X = numpy.linspace(-1.0, 2.0, 12)
Y = 2 * X**3 - X + numpy.random.default_rng(0).normal(size=12) / 10


@pytest.mark.parametrize("degree", [0, 1, 3])
@pytest.mark.parametrize("sets", [1, 2])
def test_fits(degree: int, sets: int) -> None:
    y = Y if sets == 1 else numpy.stack([Y, Y**2], 1)
    weights = numpy.linspace(1.0, 2.0, 12)
    ours = np.array(X), np.array(y), degree
    for w in (None, weights):
        given: Any = None if w is None else np.array(w)
        numpy.testing.assert_allclose(np.polyfit(*ours, w=given).asnumpy(), numpy.polyfit(X, y, degree, w=w), rtol=1e-9)
        for cov in (True, "unscaled"):
            found = np.polyfit(*ours, w=given, cov=cov)
            for got, want in zip(found, numpy.polyfit(X, y, degree, w=w, cov=cov), strict=True):
                numpy.testing.assert_allclose(got.asnumpy(), numpy.broadcast_to(want, got.shape), rtol=1e-8)
    coefficients, residuals, rank, s, _ = np.polyfit(*ours, full=True)
    theirs = numpy.polyfit(X, y, degree, full=True)
    numpy.testing.assert_allclose(coefficients.asnumpy(), theirs[0], rtol=1e-9)
    numpy.testing.assert_allclose(residuals.asnumpy(), theirs[1], rtol=1e-9)
    assert rank.item() == theirs[2]
    numpy.testing.assert_allclose(s.asnumpy(), theirs[3], rtol=1e-9)


def test_what_does_not_fit() -> None:
    x = np.array(X)
    with pytest.raises(ValueError, match="polyfit: deg must not be negative"):
        np.polyfit(x, x, -1)
    with pytest.raises(TypeError, match="polyfit: x and y do not fit"):
        np.polyfit(x, x[:3], 1)
    with pytest.raises(TypeError, match="polyfit: x must be a vector with elements"):
        np.polyfit(np.zeros((0,)), np.zeros((0,)), 1)
    with pytest.raises(TypeError, match="polyfit: w and y do not fit"):
        np.polyfit(x, x, 1, w=x[:3])
    with pytest.raises(ValueError, match="polyfit: a covariance needs more than 2 points"):
        np.polyfit(x[:2], x[:2], 1, cov=True)
