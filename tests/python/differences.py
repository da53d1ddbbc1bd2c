"""Gradients in float64 against finite differences: of every input, of the first and of the second order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from forerun import autograd, np

STEP = 1e-6


def weighted(f: Callable[..., Any], arrays: Sequence[Any]) -> Any:
    """Return a sum of a function's results and of their squares, each with a weight of its own.

    The squares make the second derivative of a linear function other than zero.
    """
    y = f(*arrays)
    return ((y + y * y / 2) * np.array(numpy.random.default_rng(9).uniform(0.5, 1.5, y.shape))).sum()


def gradients(f: Callable[..., Any], arrays: Sequence[Any], create: bool = False) -> list[Any]:
    """Return the gradients of the weighted sum."""
    with autograd.record():
        y = weighted(f, arrays)
        return list(autograd.grad(y, list(arrays), create_graph=create, retain_graph=create))


def numeric(total: Callable[[list[Any]], Any], xs: Sequence[Any]) -> list[Any]:
    """Return central differences of a number for every element of every input."""
    made = []
    for n, x in enumerate(xs):
        slopes = numpy.zeros(x.shape)
        for place in numpy.ndindex(*x.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = x.copy()
                moved[place] += step
                ends.append(float(total([*xs[:n], moved, *xs[n + 1 :]])))
            slopes[place] = (ends[0] - ends[1]) / (2 * STEP)
        made.append(slopes)
    return made


def check_gradients(f: Callable[..., Any], xs: Sequence[Any], second: bool = True, tolerance: float = 1e-6) -> None:
    """Compare the gradients of all inputs with differences; with ``second``, those of the gradients as well."""

    def arrays(values: Sequence[Any]) -> list[Any]:
        made = [np.array(numpy.asarray(value, "float64")) for value in values]
        for array in made:
            array.attach_grad()
        return made

    def value(values: Sequence[Any]) -> float:
        # As in the gradients, layers are in training mode.
        with autograd.record():
            y = weighted(f, arrays(values))
        return float(y.item())

    got = gradients(f, arrays(xs))
    want = numeric(value, xs)
    for ours, theirs in zip(got, want, strict=True):
        numpy.testing.assert_allclose(ours.asnumpy(), theirs, rtol=tolerance, atol=tolerance)
    if not second:
        return
    shares = [numpy.random.default_rng(7 + n).uniform(0.5, 1.5, x.shape) for n, x in enumerate(xs)]

    def slope(values: Sequence[Any]) -> Any:
        """Return a weighted sum of the first gradients."""
        return sum((g.asnumpy() * share).sum() for g, share in zip(gradients(f, arrays(values)), shares, strict=True))

    inputs = arrays(xs)
    with autograd.record():
        first = gradients(f, inputs, create=True)
        total = sum((g * np.array(share)).sum() for g, share in zip(first, shares, strict=True))
    got = autograd.grad(total, inputs)
    for ours, theirs in zip(got, numeric(slope, xs), strict=True):
        numpy.testing.assert_allclose(ours.asnumpy(), theirs, rtol=10 * tolerance, atol=10 * tolerance)
