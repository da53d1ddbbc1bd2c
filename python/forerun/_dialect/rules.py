"""Update rules over many parameters at once: one native call per step, for any number of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from forerun import _forerun, np


class Momentum:
    """Stochastic gradient descent: ``v = momentum * v + g``, then ``w -= lr * v``.

    The native rule keeps ``-lr * v``, so the state is rescaled when the learning rate changes.
    """

    def __init__(self) -> None:
        self._velocities: dict[int, tuple[_forerun.ndarray, float]] = {}

    def step(self, parameters: Sequence[Any], lr: float, momentum: float, weight_decay: float) -> None:
        """Update the parameters in place by their gradients."""
        weights = [parameter._array for parameter in parameters]
        if not weights:
            return
        momenta = [self._velocity(parameter, lr) for parameter in parameters] if momentum else None
        grads = [weight.grad for weight in weights]
        count = len(weights)
        _forerun.sgd_update(weights, grads, momenta, [lr] * count, [weight_decay] * count, momentum, 1.0, None)

    def _velocity(self, parameter: Any, lr: float) -> _forerun.ndarray:
        velocity, rate = self._velocities.get(id(parameter), (None, lr))
        if velocity is None:
            velocity = np.zeros_like(parameter._array)
        elif rate != lr:
            velocity *= lr / rate if rate else 0.0
        self._velocities[id(parameter)] = velocity, lr
        return velocity


class Moments:
    """Adam, with the bias of the moments corrected through rate and epsilon."""

    def __init__(self) -> None:
        self._moments: dict[int, tuple[_forerun.ndarray, _forerun.ndarray, int]] = {}

    def step(
        self,
        parameters: Sequence[Any],
        lr: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
    ) -> None:
        """Update the parameters in place by their gradients."""
        by_age: dict[int, list[Any]] = {}
        for parameter in parameters:
            by_age.setdefault(self._moments_of(parameter)[2], []).append(parameter)
        for age, same in by_age.items():
            first, second = 1 - betas[0] ** (age + 1), math.sqrt(1 - betas[1] ** (age + 1))
            weights = [parameter._array for parameter in same]
            moments = [self._moments_of(parameter) for parameter in same]
            means, variances = [mean for mean, _, _ in moments], [variance for _, variance, _ in moments]
            grads, count = [weight.grad for weight in weights], len(weights)
            rates, decays = [lr * second / first] * count, [weight_decay] * count
            _forerun.adam_update(weights, grads, means, variances, rates, decays, *betas, eps * second, 1.0, None)
            for parameter, (mean, variance, _) in zip(same, moments, strict=True):
                self._moments[id(parameter)] = mean, variance, age + 1

    def _moments_of(self, parameter: Any) -> tuple[_forerun.ndarray, _forerun.ndarray, int]:
        if id(parameter) not in self._moments:
            zeros = np.zeros_like(parameter._array)
            self._moments[id(parameter)] = zeros, zeros.copy(), 0
        return self._moments[id(parameter)]
