"""Initialisers: objects that write into a parameter."""

from __future__ import annotations

import math
from typing import Any

from forerun import np
from forerun._missing import module_getattr
from forerun.paddle._borrow import lend
from forerun.paddle._tensor import Tensor
from forerun.torch.nn import init

__all__ = [
    "Assign",
    "Constant",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "TruncatedNormal",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
]


class _Initializer:
    def __call__(self, param: Tensor, block: Any = None) -> Tensor:
        """Write into a parameter."""
        # Paddle's matrices are (inputs, outputs), the other dialect's (outputs, inputs).
        drawn = np.zeros_like(param._array.detach())
        turned = drawn.T if drawn.ndim == 2 else drawn
        self._fill(lend(Tensor._of(turned)))
        param.set_value(drawn)
        return param

    def _fill(self, target: Any) -> None:
        raise NotImplementedError


class Constant(_Initializer):
    """One value.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.initializer.Constant(2.0)(paddle.zeros([1])).item()
    2.0
    """

    def __init__(self, value: float = 0.0) -> None:
        self._value = value

    def _fill(self, target: Any) -> None:
        init.constant_(target, self._value)


class Normal(_Initializer):
    """A normal distribution."""

    def __init__(self, mean: float = 0.0, std: float = 1.0) -> None:
        self._mean, self._std = mean, std

    def _fill(self, target: Any) -> None:
        init.normal_(target, self._mean, self._std)


class TruncatedNormal(Normal):
    """A normal distribution without elements beyond two standard deviations."""

    def _fill(self, target: Any) -> None:
        low, high = self._mean - 2 * self._std, self._mean + 2 * self._std
        init.trunc_normal_(target, self._mean, self._std, low, high)


class Uniform(_Initializer):
    """A uniform distribution."""

    def __init__(self, low: float = -1.0, high: float = 1.0) -> None:
        self._low, self._high = low, high

    def _fill(self, target: Any) -> None:
        init.uniform_(target, self._low, self._high)


class XavierUniform(_Initializer):
    """The uniform distribution that keeps the variance of activations and gradients."""

    def _fill(self, target: Any) -> None:
        init.xavier_uniform_(target)


class XavierNormal(_Initializer):
    """The normal distribution that keeps the variance of activations and gradients."""

    def _fill(self, target: Any) -> None:
        init.xavier_normal_(target)


class KaimingUniform(_Initializer):
    """The uniform distribution that keeps the variance through rectified units."""

    def _fill(self, target: Any) -> None:
        init.kaiming_uniform_(target, nonlinearity="relu")


class KaimingNormal(_Initializer):
    """The normal distribution that keeps the variance through rectified units."""

    def _fill(self, target: Any) -> None:
        init.kaiming_normal_(target, nonlinearity="relu")


class Assign(_Initializer):
    """Given elements."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self, param: Tensor, block: Any = None) -> Tensor:
        """Write into a parameter."""
        given = self._value if isinstance(self._value, Tensor) else Tensor._of(np.array(self._value))
        if math.prod(given.shape) != param.size:
            raise ValueError(f"Assign: {given.shape} elements do not fit {param.shape}")
        param.set_value(given.reshape(param.shape))
        return param


__getattr__ = module_getattr(__name__, globals(), {})
