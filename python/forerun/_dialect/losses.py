"""Dropout and losses on tensors of any dialect; losses are reduced to one number unless requested per row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from forerun import _forerun, np, npx
from forerun._dialect.tensor import Tensor

_T = TypeVar("_T", bound=Tensor)


def dropout(x: _T, p: float, training: bool) -> _T:
    """Replace elements by zero with probability ``p`` and scale the rest up, in training."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p must be a probability, got {p}")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    dropped: _T = x._run(lambda array: npx.dropout(array, p, mode="always"), x)
    return dropped


def squared(x: _T, target: Any, reduction: str) -> _T:
    """Return the squared differences, reduced."""
    squares: _T = (x - target).square()
    return reduced(squares, reduction)


def absolute(x: _T, target: Any, reduction: str) -> _T:
    """Return the absolute differences, reduced."""
    apart: _T = (x - target).abs()
    return reduced(apart, reduction)


def cross_entropy(scores: _T, target: Any, reduction: str, chances: bool, ignore_index: int = -100) -> _T:
    """Return the cross-entropy between scores along the last dimension and classes or class probabilities, reduced.

    Rows whose class is ``ignore_index`` are ignored. Any other invalid class raises when the loss is read.
    """
    wanted = scores._array.shape if chances else scores._array.shape[:-1]
    if target._array.shape != wanted:
        shapes = f"{scores._array.shape} and {target._array.shape}"
        raise ValueError(f"cross_entropy: shapes of scores and target do not match: {shapes}")
    if not chances and "int" not in target._array.dtype.name:
        raise TypeError(f"cross_entropy: classes must be integers, not {target._array.dtype.name}")
    losses: _T = scores._run(
        lambda x, y: _forerun.loss("softmax", x, y, sparse=not chances, ignore=ignore_index).squeeze(-1), scores, target
    )
    if chances or reduction != "mean":
        return reduced(losses, reduction)
    count = np.sum(np.not_equal(target._array, ignore_index))
    mean: _T = scores._run(lambda array: np.sum(array) / count, losses)
    return mean


def reduced(losses: _T, reduction: str) -> _T:
    """Return the mean or the sum of losses, or the losses."""
    if reduction == "none":
        return losses
    ways: dict[str, Callable[[Any], Any]] = {"mean": np.mean, "sum": np.sum}
    if reduction not in ways:
        raise ValueError(f"reduction is one of {', '.join(ways)}, none, not {reduction!r}")
    one: _T = losses._run(ways[reduction], losses)
    return one
