"""Functions that stay finite at the edges of their domains."""

from __future__ import annotations

from forerun import np, npx
from forerun._forerun import ndarray

__all__ = ["clip_prob", "epsilon", "softplus", "sum_last", "xlogy"]


def epsilon(x: ndarray) -> float:
    """Return the distance of 1 to the next number, in float64 or float32."""
    return 2.0**-52 if x.dtype == "float64" else 2.0**-23


def clip_prob(prob: ndarray) -> ndarray:
    """Return probabilities that are neither 0 nor 1, so that logarithms are finite."""
    return np.clip(prob, epsilon(prob), 1 - epsilon(prob))


def softplus(x: ndarray) -> ndarray:
    """Return ``log(1 + exp(x))`` without overflow."""
    return npx.activation(x, "softrelu")


def xlogy(x: ndarray, y: ndarray) -> ndarray:
    """Return ``x * log(y)``, and 0 where ``x`` is 0; so is the gradient of ``y`` there."""
    return x * np.log(np.where(x == 0, 1.0, y))


def sum_last(x: ndarray, count: int) -> ndarray:
    """Sum over the last dimensions."""
    return x.sum(axis=tuple(range(-count, 0))) if count else x
