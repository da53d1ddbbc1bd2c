"""Optimisers.

An update of all parameters is one call into the engine, usually made by ``gluon.Trainer``.

Examples
--------
>>> from forerun import np, optimizer
>>> sgd = optimizer.create("sgd", learning_rate=0.5)
>>> weight, gradient = np.ones((2,)), np.array([1.0, 2.0])
>>> sgd.update([0], [weight], [gradient], [sgd.create_state(weight)])
>>> weight
array([0.5, 0. ])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from forerun import _forerun, np
from forerun._forerun import ndarray
from forerun._missing import module_getattr as _module_getattr

if TYPE_CHECKING:
    from forerun.gluon.parameter import Parameter

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "create", "register"]

_Class = TypeVar("_Class", bound="type[Optimizer]")
_BY_NAME: dict[str, type[Optimizer]] = {}


def register(cls: _Class) -> _Class:
    """Register a class by its name in lower case.

    Examples
    --------
    >>> from forerun import optimizer
    >>> @optimizer.register
    ... class Lazy(optimizer.Optimizer):
    ...     def apply(self, weights, grads, states, lrs, wds, counts):
    ...         pass
    >>> type(optimizer.create("lazy")).__name__
    'Lazy'
    """
    _BY_NAME[cls.__name__.lower()] = cls
    return cls


def create(name: str | Optimizer, **arguments: Any) -> Optimizer:
    """Return an optimiser by its name, or the one given.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.create("adam").learning_rate
    0.001
    """
    if isinstance(name, Optimizer):
        if arguments:
            raise ValueError(f"{type(name).__name__} already exists: arguments cannot be given")
        return name
    cls = _BY_NAME.get(name.lower())
    if cls is None:
        raise ValueError(f"unknown optimiser {name!r}; available: {', '.join(sorted(_BY_NAME))}")
    return cls(**arguments)


class Optimizer:
    """Base class of optimisers: learning rate, weight decay, scaling and clipping of gradients, update counts.

    Parameters
    ----------
    learning_rate
        The learning rate; with a scheduler, its base.
    wd
        The weight decay.
    rescale_grad
        A factor for the gradients.
    clip_gradient
        The maximum absolute value of each element of a rescaled gradient.
    lr_scheduler
        A function from the number of updates to the learning rate.
    begin_num_update
        The initial number of updates.
    param_dict
        The parameters by index, for their ``lr_mult`` and ``wd_mult``.
    multi_precision
        Accepted for compatibility with MXNet. Parameters are updated in their own dtype.

    Examples
    --------
    >>> from forerun import optimizer
    >>> sgd = optimizer.SGD(learning_rate=0.5)
    >>> sgd.set_learning_rate(0.25)
    >>> sgd.learning_rate
    0.25
    """

    default_lr = 0.01
    state_names: tuple[str, ...] = ()

    def __init__(
        self,
        learning_rate: float | None = None,
        wd: float = 0.0,
        rescale_grad: float = 1.0,
        clip_gradient: float | None = None,
        lr_scheduler: Callable[[int], float] | None = None,
        begin_num_update: int = 0,
        param_dict: Mapping[int, Parameter] | None = None,
        multi_precision: bool = False,
    ) -> None:
        self.lr_scheduler = lr_scheduler
        if lr_scheduler is None:
            self.lr = self.default_lr if learning_rate is None else learning_rate
        elif learning_rate is not None:
            lr_scheduler.base_lr = learning_rate  # type: ignore[attr-defined]
        self.wd = wd
        self.rescale_grad = rescale_grad
        self.clip_gradient = clip_gradient
        self.begin_num_update = begin_num_update
        self.num_update = begin_num_update
        self.param_dict: dict[int, Parameter] = dict(param_dict or {})
        self.counts: dict[int, int] = {}

    @property
    def learning_rate(self) -> float:
        """The current learning rate."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    @learning_rate.setter
    def learning_rate(self, lr: float) -> None:
        self.set_learning_rate(lr)

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate; raise if a scheduler controls it."""
        if self.lr_scheduler is not None:
            raise UserWarning("the scheduler of the optimiser sets the learning rate")
        self.lr = lr

    def create_state(self, weight: ndarray) -> tuple[ndarray, ...]:
        """Create the optimiser's states of a parameter: zeros of its shape, one per name in ``state_names``."""
        return tuple(np.zeros_like(weight) for _ in self.state_names)

    def _decay(self, index: int) -> float:
        parameter = self.param_dict.get(index)
        return self.wd if parameter is None else self.wd * parameter.wd_mult

    def writes(self, index: int) -> int:
        """Return how often one step writes a parameter; ``Trainer.restore`` undoes as many writes per step."""
        return 1

    def update(
        self,
        indices: Sequence[int],
        weights: Sequence[ndarray],
        grads: Sequence[ndarray],
        states: Sequence[tuple[ndarray, ...]],
    ) -> None:
        """Update parameters in place with their gradients.

        Parameters
        ----------
        indices
            The indices of the parameters, by which updates are counted. One that lives on several devices has its
            number several times, and is counted once.
        weights, grads, states
            One of each per parameter.
        """
        all_counts, begin = self.counts, self.begin_num_update
        for index in dict.fromkeys(indices):
            all_counts[index] = all_counts.get(index, begin) + 1
        counts = [all_counts[index] for index in indices]
        self.num_update = max(self.num_update, *counts)
        lr, parameters = self.learning_rate, self.param_dict
        lrs = [lr * parameters[index].lr_mult if index in parameters else lr for index in indices]
        wds = [self._decay(index) for index in indices]
        self.apply(weights, grads, states, lrs, wds, counts)

    def apply(
        self,
        weights: Sequence[ndarray],
        grads: Sequence[ndarray],
        states: Sequence[tuple[ndarray, ...]],
        lrs: list[float],
        wds: list[float],
        counts: list[int],
    ) -> None:
        """Apply the update rule. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no rule")


@register
class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum.

    ``m = momentum * m - lr * (g + wd * w)``, then ``w += m``, where ``g`` is the rescaled, clipped gradient.

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

    def __init__(
        self, learning_rate: float | None = None, momentum: float = 0.0, lazy_update: bool = False, **arguments: Any
    ) -> None:
        super().__init__(learning_rate, **arguments)
        self.momentum = momentum
        self.state_names = ("momentum",) if momentum else ()

    def apply(
        self,
        weights: Sequence[ndarray],
        grads: Sequence[ndarray],
        states: Sequence[tuple[ndarray, ...]],
        lrs: list[float],
        wds: list[float],
        counts: list[int],
    ) -> None:
        """Apply the update rule."""
        momenta = [state[0] for state in states] if self.momentum else None
        _forerun.sgd_update(weights, grads, momenta, lrs, wds, self.momentum, self.rescale_grad, self.clip_gradient)


@register
class Adam(Optimizer):
    """The Adam optimiser.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.001 if not given.
    beta1, beta2
        The decay rates of the mean gradient and of the mean squared gradient.
    epsilon
        Added to the divisor.
    lazy_update
        Accepted for compatibility with MXNet: gradients are dense here.
    **arguments
        Passed to :class:`Optimizer`. The weight decay is added to the gradient.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.Adam(beta1=0.8).beta1
    0.8
    """

    default_lr = 0.001
    state_names = ("mean", "variance")
    # Overridden by AdamW.
    correct_bias = True
    decoupled = False

    def __init__(
        self,
        learning_rate: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(learning_rate, **arguments)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def apply(
        self,
        weights: Sequence[ndarray],
        grads: Sequence[ndarray],
        states: Sequence[tuple[ndarray, ...]],
        lrs: list[float],
        wds: list[float],
        counts: list[int],
    ) -> None:
        """Apply the update rule."""
        _forerun.adam_update(
            weights,
            grads,
            [mean for mean, _ in states],
            [variance for _, variance in states],
            lrs,
            wds,
            counts,
            (self.beta1, self.beta2),
            self.epsilon,
            self.rescale_grad,
            self.clip_gradient,
            "rate" if self.correct_bias else "none",
            self.decoupled,
        )


@register
class AdamW(Adam):
    """Adam with decoupled weight decay: ``w -= lr * wd * w`` before each step.

    Parameters
    ----------
    learning_rate, beta1, beta2, epsilon
        As for :class:`Adam`.
    correct_bias
        Whether to correct the bias of the means.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import np, optimizer
    >>> adamw = optimizer.AdamW(learning_rate=0.5, wd=0.5)
    >>> weight, gradient = np.ones((2,)), np.zeros((2,))
    >>> adamw.update([0], [weight], [gradient], [adamw.create_state(weight)])
    >>> weight
    array([0.75, 0.75])
    """

    decoupled = True

    def __init__(
        self,
        learning_rate: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        correct_bias: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **arguments)
        self.correct_bias = correct_bias

    def writes(self, index: int) -> int:
        """Return how often one step writes a parameter: once for the decay, if any parameter has one."""
        return 2 if any(self._decay(other) for other in self.counts) else 1


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
