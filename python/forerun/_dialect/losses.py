"""Dropout and losses on tensors of any dialect; a loss is reduced to one number unless the caller wants one a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun import np, npx
from forerun._dialect.mode import trained


def dropout(x: Any, p: float, training: bool) -> Any:
    """Replace elements by zero with probability ``p`` and scale the rest up, in training."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: {p} is no probability")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    return x._run(lambda array: trained(True, npx.dropout, array, p), x)


def squared(x: Any, target: Any, reduction: str) -> Any:
    """Return the squared differences, reduced."""
    return reduced((x - target).square(), reduction)


def absolute(x: Any, target: Any, reduction: str) -> Any:
    """Return the absolute differences, reduced."""
    return reduced((x - target).abs(), reduction)


def cross_entropy(scores: Any, target: Any, reduction: str, chances: bool) -> Any:
    """Return how badly scores along the last dimension predict classes, or chances of the classes, reduced."""
    wanted = scores._array.shape if chances else scores._array.shape[:-1]
    if target._array.shape != wanted:
        shapes = f"{scores._array.shape} and {target._array.shape}"
        raise ValueError(f"cross_entropy: shapes of scores and target do not go together: {shapes}")
    logs = scores._run(lambda array: npx.log_softmax(array, axis=-1), scores)
    if chances:
        return reduced(scores._run(lambda x, y: -np.sum(x * y, axis=-1), logs, target), reduction)
    return reduced(-scores._run(npx.pick, logs, target), reduction)


def reduced(losses: Any, reduction: str) -> Any:
    """Return the mean or the sum of losses, or the losses."""
    if reduction == "none":
        return losses
    ways: dict[str, Callable[[Any], Any]] = {"mean": np.mean, "sum": np.sum}
    if reduction not in ways:
        raise ValueError(f"reduction is one of {', '.join(ways)}, none, not {reduction!r}")
    return losses._run(ways[reduction], losses)
