"""Update rules over many parameters at once: one native call per step, for any number of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forerun import _forerun, np


class Momentum:
    """Stochastic gradient descent: ``v = momentum * v + g``, then ``w -= lr * v``.

    The native rule keeps ``lr * v`` and rescales it when the learning rate changes.
    """

    def __init__(self) -> None:
        self._states: dict[int, tuple[_forerun.ndarray, float]] = {}

    def step(self, parameters: Sequence[Any], lr: float, momentum: float, weight_decay: float) -> None:
        """Update the parameters in place by their gradients."""
        weights = [parameter._array for parameter in parameters]
        grads = [weight.grad for weight in weights]
        rates, decays = [lr] * len(weights), [weight_decay] * len(weights)
        if not momentum:
            _forerun.sgd_update(weights, grads, None, rates, decays, 0.0)
            return
        states = [self._states.get(id(parameter)) or (np.zeros_like(parameter._array), lr) for parameter in parameters]
        momenta, last = [array for array, _ in states], [rate for _, rate in states]
        self._states.update((id(parameter), (array, lr)) for parameter, array in zip(parameters, momenta, strict=True))
        _forerun.sgd_update(weights, grads, momenta, rates, decays, momentum, last_rates=last)


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
        weights = [parameter._array for parameter in parameters]
        grads = [weight.grad for weight in weights]
        means, variances, counts = [], [], []
        for parameter in parameters:
            if id(parameter) not in self._states:
                zeros = np.zeros_like(parameter._array)
                self._states[id(parameter)] = zeros, zeros.copy(), 0
            mean, variance, count = self._states[id(parameter)]
            self._states[id(parameter)] = mean, variance, count + 1
            means.append(mean)
            variances.append(variance)
            counts.append(count + 1)
        rates, decays = [lr] * len(weights), [weight_decay] * len(weights)
        _forerun.adam_update(
            weights, grads, means, variances, rates, decays, counts, (betas[0], betas[1]), eps, correction="full"
        )
