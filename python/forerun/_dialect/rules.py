"""Update rules over many parameters at once: one native call per step, for any number of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forerun import _forerun, np


class Momentum:
    """Stochastic gradient descent: ``v = momentum * v + g``, then ``w -= lr * v``."""

    def __init__(self) -> None:
        self._states: dict[int, _forerun.ndarray] = {}

    def step(self, parameters: Sequence[Any], lr: float, momentum: float, weight_decay: float) -> None:
        """Update the parameters in place by their gradients."""
        weights = [parameter._array for parameter in parameters]
        states: list[tuple[_forerun.ndarray, ...]] = [()] * len(weights)
        if momentum:
            for parameter in parameters:
                if id(parameter) not in self._states:
                    self._states[id(parameter)] = np.zeros_like(parameter._array)
            states = [(self._states[id(parameter)],) for parameter in parameters]
        _step("sgd", weights, states, lr, weight_decay, None, {"momentum": momentum, "velocity": True})


class Moments:
    """Adam, with the bias of the moments corrected through rate and epsilon."""

    def __init__(self) -> None:
        self._states: dict[int, tuple[_forerun.ndarray, _forerun.ndarray, int]] = {}

    def step(
        self,
        parameters: Sequence[Any],
        lr: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
    ) -> None:
        """Update the parameters in place by their gradients."""
        states, counts = [], []
        for parameter in parameters:
            if id(parameter) not in self._states:
                zeros = np.zeros_like(parameter._array)
                self._states[id(parameter)] = zeros, zeros.copy(), 0
            mean, variance, count = self._states[id(parameter)]
            self._states[id(parameter)] = mean, variance, count + 1
            states.append((mean, variance))
            counts.append(count + 1)
        options = {"beta1": betas[0], "beta2": betas[1], "epsilon": eps}
        kind = {"correct_bias": True, "correct_epsilon": True, "decoupled": False}
        weights = [parameter._array for parameter in parameters]
        _step("adam", weights, states, lr, weight_decay, counts, {**options, **kind})


def _step(
    rule: str,
    weights: list[_forerun.ndarray],
    states: Sequence[tuple[_forerun.ndarray, ...]],
    lr: float,
    weight_decay: float,
    counts: list[int] | None,
    options: dict[str, float],
) -> None:
    number = len(weights)
    grads: Any = [weight.grad for weight in weights]
    _forerun.update_weights(
        rule, weights, grads, states, [lr] * number, [weight_decay] * number, counts or [1] * number, options
    )
