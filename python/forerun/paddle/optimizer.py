"""Optimisers with Paddle's names."""

from __future__ import annotations

from collections.abc import Iterable

from forerun._dialect.rules import Moments
from forerun._dialect.rules import Momentum as _Rule
from forerun._missing import module_getattr
from forerun.paddle._tensor import Tensor

__all__ = ["SGD", "Adam", "Momentum", "Optimizer"]


class Optimizer:
    """Base class of optimisers."""

    def __init__(
        self, learning_rate: float, parameters: Iterable[Tensor] | None, weight_decay: float | None = None
    ) -> None:
        if parameters is None:
            raise AttributeError(f"{type(self).__name__}: parameters= is required: pass net.parameters()")
        self._learning_rate, self._weight_decay = learning_rate, weight_decay or 0.0
        self._parameters = list(parameters)

    def step(self) -> None:
        """Update the parameters that have a gradient."""
        self._update([parameter for parameter in self._parameters if parameter.grad is not None])

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Set the parameters' gradients to zero, or drop them."""
        for parameter in self._parameters:
            parameter.clear_grad(set_to_zero)

    def get_lr(self) -> float:
        """Return the learning rate."""
        return self._learning_rate

    def set_lr(self, value: float) -> None:
        """Change the learning rate."""
        self._learning_rate = value

    def _update(self, parameters: list[Tensor]) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no rule")


class Momentum(Optimizer):
    """Stochastic gradient descent with momentum.

    Parameters
    ----------
    learning_rate : float
        The learning rate.
    momentum : float
        The momentum factor.
    parameters : iterable of Tensor
        The parameters to update.
    weight_decay : float, optional
        The weight decay (L2 penalty).
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        momentum: float = 0.9,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay)
        self._momentum, self._rule = momentum, _Rule()

    def _update(self, parameters: list[Tensor]) -> None:
        self._rule.step(parameters, self._learning_rate, self._momentum, self._weight_decay)


class SGD(Momentum):
    """Stochastic gradient descent.

    Parameters
    ----------
    learning_rate : float
        The learning rate.
    parameters : iterable of Tensor
        The parameters to update.
    weight_decay : float, optional
        The weight decay (L2 penalty).

    Examples
    --------
    >>> from forerun import paddle
    >>> w = paddle.to_tensor([1.0], stop_gradient=False)
    >>> optimizer = paddle.optimizer.SGD(learning_rate=0.5, parameters=[w])
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.item()
    0.0
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(learning_rate, 0.0, parameters, weight_decay)


class Adam(Optimizer):
    """The Adam optimiser.

    Parameters
    ----------
    learning_rate : float
        The learning rate.
    beta1, beta2 : float
        Decay rates of the mean gradient and of the mean squared gradient.
    epsilon : float
        Added to the divisor for numerical stability.
    parameters : iterable of Tensor
        The parameters to update.
    weight_decay : float, optional
        The weight decay (L2 penalty).

    Examples
    --------
    >>> from forerun import paddle
    >>> w = paddle.to_tensor([1.0], stop_gradient=False)
    >>> optimizer = paddle.optimizer.Adam(learning_rate=0.5, parameters=[w])
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    0.5
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameters: Iterable[Tensor] | None = None,
        weight_decay: float | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay)
        self._betas, self._epsilon, self._rule = (beta1, beta2), epsilon, Moments()

    def _update(self, parameters: list[Tensor]) -> None:
        self._rule.step(parameters, self._learning_rate, self._betas, self._epsilon, self._weight_decay)


__getattr__ = module_getattr(__name__, globals(), {"lr": "call set_lr between steps"})
