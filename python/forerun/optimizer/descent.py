"""Gradient descent and its variants with momentum, noise, signs and layer-wise rates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from forerun import np
from forerun._forerun import ndarray
from forerun.optimizer.base import Optimizer, register

__all__ = ["DCASGD", "LARS", "NAG", "SGD", "SGLD", "Signum", "Test"]


class _WithMomentum(Optimizer):
    """An optimiser that has a momentum as state, unless its factor is zero."""

    _options: tuple[str, ...] = ("momentum",)
    momentum: float

    def create_state(self, index: int, weight: ndarray) -> Any:
        """Create the optimiser's states of a parameter: a momentum, unless its factor is zero."""
        return (np.zeros_like(weight),) if self.momentum else ()

    @property
    def state_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the states."""
        return ("momentum",) if self.momentum else ()


@register
class SGD(_WithMomentum):
    """Stochastic gradient descent, optionally with momentum.

    ``m = momentum * m + lr * (g + wd * w)``, then ``w -= m``, where ``g`` is the rescaled, clipped gradient.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.01 if not given. (This is MXNet 1's default; with MXNet 2's default of 0.1
        the book's training loop diverges.)
    momentum
        The momentum factor.
    lazy_update
        Accepted for compatibility with MXNet: gradients are dense here.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.SGD(momentum=0.9).learning_rate
    0.01
    """

    _rule = "sgd"
    _fixed: ClassVar[Mapping[str, float]] = {"velocity": False}

    def __init__(
        self, learning_rate: float | None = None, momentum: float = 0.0, lazy_update: bool = False, **arguments: Any
    ) -> None:
        super().__init__(learning_rate, **arguments)
        self.momentum = momentum


@register
class NAG(_WithMomentum):
    """Nesterov's accelerated gradient.

    ``m = momentum * m + lr * (g + wd * w)``, then ``w -= momentum * m + lr * (g + wd * w)``.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.1 if not given.
    momentum
        The momentum factor.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.NAG().momentum
    0.9
    """

    default_lr = 0.1
    _rule = "nag"

    def __init__(self, learning_rate: float | None = None, momentum: float = 0.9, **arguments: Any) -> None:
        super().__init__(learning_rate, **arguments)
        self.momentum = momentum


@register
class DCASGD(_WithMomentum):
    """Descent with compensation for delayed gradients.

    With ``g' = g + wd * w`` and the previous weight ``p``: ``d = g' + lamda * g' ** 2 * (w - p)``, ``m = momentum * m +
    lr * d``, then ``w -= m``.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.1 if not given.
    momentum
        The momentum factor.
    lamda
        The factor of the compensation.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.DCASGD(lamda=0.1).lamda
    0.1
    """

    default_lr = 0.1
    _rule = "dcasgd"
    _options = ("momentum", "lamda")

    def __init__(
        self, learning_rate: float | None = None, momentum: float = 0.0, lamda: float = 0.04, **arguments: Any
    ) -> None:
        super().__init__(learning_rate, **arguments)
        self.momentum = momentum
        self.lamda = lamda

    def create_state(self, index: int, weight: ndarray) -> Any:
        """Create the optimiser's states of a parameter: a momentum, unless its factor is zero, and the weight."""
        return *super().create_state(index, weight), weight.detach().copy()

    @property
    def state_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the states."""
        return *super().state_names, "previous"


@register
class SGLD(Optimizer):
    """Langevin dynamics: ``w -= lr / 2 * (g + wd * w) + n``, where ``n`` is normal with variance ``lr``.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.1 if not given.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.SGLD().learning_rate
    0.1
    """

    default_lr = 0.1
    _rule = "sgld"


@register
class Signum(_WithMomentum):
    """Descent by the signs of a running mean of gradients.

    ``m = momentum * m + (1 - momentum) * (g + wd * w)``, then ``w = (1 - lr * wd_lh) * w - lr * sign(m)``. Without
    momentum ``w = (1 - lr * (wd + wd_lh)) * w - lr * sign(g)``.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.01 if not given.
    momentum
        The factor of the old mean.
    wd_lh
        The weight decay that does not go through the sign.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.Signum(wd_lh=0.1).wd_lh
    0.1
    """

    _rule = "signum"
    _options = ("momentum", "wd_lh")

    def __init__(
        self, learning_rate: float | None = None, momentum: float = 0.9, wd_lh: float = 0.0, **arguments: Any
    ) -> None:
        super().__init__(learning_rate, **arguments)
        self.momentum = momentum
        self.wd_lh = wd_lh


@register
class LARS(_WithMomentum):
    """Descent with layer-wise rates: :class:`SGD` with ``lr * eta * |w| / (|g| + wd * |w| + epsilon)``.

    ``|g|`` is the norm of the rescaled gradient before clipping. The rate is ``lr`` if a norm is zero, and for
    parameters whose name ends with ``bias``, ``gamma`` or ``beta``.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.1 if not given.
    momentum
        The momentum factor.
    eta
        The factor of the ratio of norms.
    epsilon
        Added to the divisor.
    lazy_update
        Accepted for compatibility with MXNet: gradients are dense here.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.LARS().eta
    0.001
    """

    default_lr = 0.1
    _rule = "lars"
    _options = ("momentum", "eta", "epsilon")

    def __init__(
        self,
        learning_rate: float | None = None,
        momentum: float = 0.0,
        eta: float = 0.001,
        epsilon: float = 1e-8,
        lazy_update: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(learning_rate, **arguments)
        self.momentum = momentum
        self.eta = eta
        self.epsilon = epsilon

    def _adapts(self, indices: Sequence[int]) -> list[bool]:
        names = (self._names(index) for index in indices)
        return [not any(name.endswith(("bias", "gamma", "beta")) for name in own) for own in names]


@register
class Test(Optimizer):
    """A plain step, ``w -= lr * (g + wd * w)``, with a state that stays zero and without clipping; for tests.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.Test().learning_rate
    0.01
    """

    # Not a class of tests.
    __test__ = False
    state_names = ("state",)

    def step(
        self, indices: Sequence[int], weights: Sequence[ndarray], grads: Sequence[ndarray], states: Sequence[Any]
    ) -> None:
        """Count the update and apply the rule."""
        self._update_count(indices)
        lrs, wds = self._get_lrs(indices), self._get_wds(indices)
        for weight, grad, lr, wd in zip(weights, grads, lrs, wds, strict=True):
            weight -= lr * (self.rescale_grad * grad + wd * weight)
