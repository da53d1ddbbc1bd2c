"""Updaters: an optimiser together with the states of the weights that it has seen."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any

from forerun._forerun import ndarray
from forerun.optimizer import states as stored
from forerun.optimizer.base import Optimizer

__all__ = ["Updater", "get_updater"]


class Updater:
    """Update weights and keep their states, by index.

    Parameters
    ----------
    optimizer
        The optimiser.

    Examples
    --------
    >>> from forerun import np, optimizer
    >>> updater = optimizer.get_updater(optimizer.SGD(1.0, momentum=0.5))
    >>> weight = np.zeros((2,))
    >>> for _ in range(2):
    ...     updater(0, np.ones((2,)), weight)
    >>> weight
    array([-2.5, -2.5])
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[int, Any] = {}
        # What `set_states` has read, for weights that are not known yet.
        self._read: dict[str, ndarray] = {}

    def __call__(
        self, index: int | Sequence[int], grad: ndarray | Sequence[ndarray], weight: ndarray | Sequence[ndarray]
    ) -> None:
        """Update a weight, or several, in place.

        Parameters
        ----------
        index
            The index of the weight, or of each.
        grad, weight
            The gradient and the weight, or one of each per index.
        """
        indices = [index] if isinstance(index, int) else list(index)
        grads = [grad] if isinstance(grad, ndarray) else list(grad)
        weights = [weight] if isinstance(weight, ndarray) else list(weight)
        for each, array in zip(indices, weights, strict=True):
            if each not in self.states:
                self.states[each] = self._state(each, array)
        known = [self.states[each] for each in indices]
        self.optimizer.update_multi_precision(indices, weights, grads, known)

    def _state(self, index: int, weight: ndarray) -> Any:
        """Return the state that :meth:`set_states` has read for a weight, or a new one."""
        read = stored.take(self.optimizer, index, weight, self._read, "set_states") if self._read else None
        if read is None:
            return self.optimizer.create_state_multi_precision(index, weight)
        return stored.mapped(lambda array: array.as_in_ctx(weight.device), read)

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """Return the states as the bytes of a file in the safetensors format.

        Parameters
        ----------
        dump_optimizer
            Accepted for compatibility with MXNet: the numbers of updates are always part of the bytes, the settings of
            the optimiser never.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "states")
            stored.save(path, self.optimizer, self.states)
            with open(path, "rb") as file:
                return file.read()

    def set_states(self, states: bytes) -> None:
        """Set the states and the numbers of updates to what :meth:`get_states` returned."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "states")
            with open(path, "wb") as file:
                file.write(states)
            self._read, self.optimizer.counts, self.optimizer.num_update = stored.load(
                path, self.optimizer, "set_states"
            )
        self.states = {}


def get_updater(optimizer: Optimizer) -> Updater:
    """Return an updater with an optimiser.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.get_updater(optimizer.Adam()).states
    {}
    """
    return Updater(optimizer)
