"""Optimisers that divide each element's step by what its gradients were."""

from __future__ import annotations

from typing import Any

from forerun import np
from forerun._forerun import ndarray
from forerun.optimizer.base import Optimizer, register

__all__ = ["AdaDelta", "AdaGrad", "Ftrl", "GroupAdaGrad", "RMSProp"]


@register
class AdaGrad(Optimizer):
    """AdaGrad: ``h += g' ** 2`` with ``g' = g + wd * w``, then ``w -= lr * g' / (sqrt(h) + epsilon)``.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.01 if not given.
    epsilon
        Added to the divisor.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.AdaGrad().epsilon
    1e-06
    """

    state_names = ("history",)
    _rule = "adagrad"
    _options = ("epsilon",)

    def __init__(self, learning_rate: float | None = None, epsilon: float = 1e-6, **arguments: Any) -> None:
        super().__init__(learning_rate, **arguments)
        self.epsilon = epsilon


@register
class GroupAdaGrad(AdaGrad):
    """AdaGrad with one history per row: ``h += mean(g ** 2, axis=1)``, then ``w -= lr * g / (sqrt(h) + epsilon)``.

    Weights have two dimensions, and there is no weight decay.

    Parameters
    ----------
    learning_rate, epsilon, **arguments
        As for :class:`AdaGrad`.

    Examples
    --------
    >>> from forerun import np, optimizer
    >>> optimizer.GroupAdaGrad().create_state(0, np.ones((3, 2)))[0].shape
    (3, 1)
    """

    _rule = "groupadagrad"

    def create_state(self, index: int, weight: ndarray) -> Any:
        """Create the optimiser's states of a parameter: one number per row."""
        if weight.ndim != 2:
            raise ValueError(f"GroupAdaGrad: weights must have 2 dimensions, got shape {weight.shape}")
        return (np.zeros_like(weight[:, :1]),)


@register
class AdaDelta(Optimizer):
    """AdaDelta: steps of the size of the last steps, without a learning rate of their own.

    With ``g' = g + wd * w``: ``a = rho * a + (1 - rho) * g' ** 2``, ``d = sqrt(b + epsilon) / sqrt(a + epsilon) * g'``,
    ``b = rho * b + (1 - rho) * d ** 2``, then ``w -= lr * d``.

    Parameters
    ----------
    learning_rate
        A factor; 1 if not given.
    rho
        The decay rate of the running means.
    epsilon
        Added to the running means.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.AdaDelta().learning_rate
    1.0
    """

    default_lr = 1.0
    state_names = ("gradients", "steps")
    _rule = "adadelta"
    _options = ("rho", "epsilon")

    def __init__(
        self, learning_rate: float | None = None, rho: float = 0.9, epsilon: float = 1e-6, **arguments: Any
    ) -> None:
        super().__init__(learning_rate, **arguments)
        self.rho = rho
        self.epsilon = epsilon


@register
class RMSProp(Optimizer):
    """RMSProp: gradients divided by the root of their running mean square.

    With ``g' = g + wd * w``: ``v = rho * v + (1 - rho) * g' ** 2``, then ``w -= lr * g' / (sqrt(v) + epsilon)``. With
    ``centered`` also ``m = rho * m + (1 - rho) * g'`` and ``d = momentum * d + lr * g' / sqrt(v - m ** 2 + epsilon)``,
    then ``w -= d``.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.001 if not given.
    rho
        The decay rate of the running means.
    momentum
        The momentum factor; used with ``centered`` only.
    epsilon
        Added to the divisor, or with ``centered`` to the variance.
    centered
        Whether the running mean of the gradients is subtracted.
    clip_weights
        The maximum absolute value of an updated weight.
    gamma1, gamma2
        The names of ``rho`` and ``momentum`` in MXNet 1.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.RMSProp(centered=True).state_names
    ('mean', 'variance', 'momentum')
    """

    default_lr = 0.001
    _rule = "rmsprop"
    _options = ("rho", "momentum", "epsilon", "centered", "clip_weights")

    def __init__(
        self,
        learning_rate: float | None = None,
        rho: float = 0.9,
        momentum: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        gamma1: float | None = None,
        gamma2: float | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(learning_rate, **arguments)
        if clip_weights is not None and not clip_weights > 0:
            raise ValueError(f"RMSProp: clip_weights must be positive, got {clip_weights}")
        self.rho = rho if gamma1 is None else gamma1
        self.momentum = momentum if gamma2 is None else gamma2
        self.epsilon = epsilon
        self.centered = centered
        self.clip_weights = clip_weights
        self.state_names = ("mean", "variance", "momentum") if centered else ("variance",)


@register
class Ftrl(Optimizer):
    """Follow the regularised leader: sparse weights for linear models.

    ``z += g - (sqrt(n + g ** 2) - sqrt(n)) / lr * w``, ``n += g ** 2``, then
    ``w = -sign(z) * max(abs(z) - lamda1, 0) / ((beta + sqrt(n)) / lr + wd)``.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.1 if not given. It must not be 0.
    lamda1
        The coefficient of the absolute weights.
    beta
        Added to ``sqrt(n)``.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.Ftrl().lamda1
    0.01
    """

    default_lr = 0.1
    state_names = ("z", "n")
    _rule = "ftrl"
    _options = ("lamda1", "beta")

    def __init__(
        self, learning_rate: float | None = None, lamda1: float = 0.01, beta: float = 1.0, **arguments: Any
    ) -> None:
        super().__init__(learning_rate, **arguments)
        self.lamda1 = lamda1
        self.beta = beta
