"""States of optimisers: nested tuples of arrays, and their names in files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from forerun import _forerun
from forerun._forerun import ndarray
from forerun._refused import refused

if TYPE_CHECKING:
    from forerun.optimizer.base import Optimizer

__all__ = ["flat", "load", "mapped", "save", "take"]


def flat(state: Any) -> tuple[ndarray, ...]:
    """Return the arrays of a state: ``None``, an array, or tuples of states."""
    if state is None:
        return ()
    if isinstance(state, ndarray):
        return (state,)
    return tuple(array for part in state for array in flat(part))


def mapped(function: Callable[[ndarray], ndarray], state: Any) -> Any:
    """Return a state with every array replaced."""
    if state is None:
        return None
    if isinstance(state, ndarray):
        return function(state)
    return tuple(mapped(function, part) for part in state)


def _names(optimizer: Optimizer, state: Any) -> Iterable[str]:
    """Return the names of the arrays of a state, in order."""
    names, count = optimizer.state_names, len(flat(state))
    if count == len(names):
        return names
    return ("master", *names) if count == len(names) + 1 else map(str, range(count))


def save(fname: str | os.PathLike[str], optimizer: Optimizer, states: Mapping[int, Any]) -> None:
    """Write states by parameter, and the numbers of updates, to a file."""
    arrays = {
        f"{index}.{name}": array
        for index, state in states.items()
        for name, array in zip(_names(optimizer, state), flat(state), strict=True)
    }
    notes = {
        "optimizer": type(optimizer).__name__,
        "num_update": str(optimizer.num_update),
        "counts": json.dumps({str(index): count for index, count in optimizer.counts.items()}),
    }
    _forerun.save_arrays(fname, arrays, notes)


def load(
    fname: str | os.PathLike[str], optimizer: Optimizer, where: str
) -> tuple[dict[str, ndarray], dict[int, int], int]:
    """Read arrays by name, the number of updates of each parameter, and the largest of them."""
    arrays, notes = _forerun.load_arrays(fname)
    kind = type(optimizer).__name__
    if notes.get("optimizer") != kind:
        raise refused(f"{where}: states of {notes.get('optimizer')}, not of {kind}")
    try:
        counts = {int(index): int(count) for index, count in json.loads(notes["counts"]).items()}
        return arrays, counts, int(notes["num_update"])
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise refused(f"{where}: the numbers of updates cannot be read: {error}") from error


def take(optimizer: Optimizer, index: int, weight: ndarray, arrays: dict[str, ndarray], where: str) -> Any:
    """Take a parameter's state out of the arrays of a file; ``None`` if it is not there."""
    template = optimizer.create_state_multi_precision(index, weight)
    names = list(_names(optimizer, template))
    found = [arrays.pop(f"{index}.{name}", None) for name in names]
    given = [array for array in found if array is not None]
    if not given:
        return None
    expected = flat(template)
    if [array.shape for array in given] != [array.shape for array in expected]:
        raise refused(f"{where}: the state of parameter {index} does not fit its shape {weight.shape}")
    for name, array, model in zip(names, given, expected, strict=True):
        if array.dtype != model.dtype:
            raise refused(f"{where}: {name} of parameter {index} is {array.dtype.name}, not {model.dtype.name}")
    ordered = iter(given)
    return mapped(lambda _: next(ordered), template)
