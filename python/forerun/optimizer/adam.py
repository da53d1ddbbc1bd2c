"""Adam and the optimisers that descend from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from forerun.optimizer.base import Optimizer, register

__all__ = ["FTML", "LAMB", "LANS", "AdaBelief", "Adam", "AdamW", "Adamax", "Nadam"]


class _Moments(Optimizer):
    """An optimiser with running means of gradients and of their squares."""

    default_lr = 0.001
    state_names: tuple[str, ...] = ("mean", "variance")
    _options: tuple[str, ...] = ("beta1", "beta2", "epsilon")

    def __init__(
        self, learning_rate: float | None, beta1: float, beta2: float, epsilon: float, **arguments: Any
    ) -> None:
        super().__init__(learning_rate, **arguments)
        for name, beta in (("beta1", beta1), ("beta2", beta2)):
            if not 0 <= beta < 1:
                raise ValueError(f"{type(self).__name__}: {name} must be at least 0 and below 1, got {beta}")
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon


@register
class Adam(_Moments):
    """The Adam optimiser.

    With ``g' = g + wd * w``: ``m = beta1 * m + (1 - beta1) * g'``, ``v = beta2 * v + (1 - beta2) * g' ** 2``, then ``w
    -= r * m / (sqrt(v) + epsilon)``, where ``r = lr * sqrt(1 - beta2 ** t) / (1 - beta1 ** t)`` in step ``t``.

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
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.Adam(beta1=0.8).beta1
    0.8
    """

    _rule = "adam"
    _fixed: ClassVar[Mapping[str, float]] = {"correct_bias": True, "correct_epsilon": False, "decoupled": False}

    def __init__(
        self,
        learning_rate: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **arguments)


@register
class AdamW(_Moments):
    """Adam with decoupled weight decay.

    ``m = beta1 * m + (1 - beta1) * g``, ``v = beta2 * v + (1 - beta2) * g ** 2``, then ``w -= r * (m / (sqrt(v) +
    epsilon) + wd * w)`` with the ``r`` of :class:`Adam`, or the learning rate without ``correct_bias``.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.001 if not given.
    beta1, beta2, epsilon
        As for :class:`Adam`.
    correct_bias
        Whether to correct the bias of the means.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import np, optimizer
    >>> adamw = optimizer.AdamW(learning_rate=0.5, wd=0.5, correct_bias=False)
    >>> weight, gradient = np.ones((2,)), np.zeros((2,))
    >>> adamw.update([0], [weight], [gradient], [adamw.create_state(0, weight)])
    >>> weight
    array([0.75, 0.75])
    """

    _rule = "adam"
    _options = (*_Moments._options, "correct_bias")
    _fixed: ClassVar[Mapping[str, float]] = {"correct_epsilon": False, "decoupled": True}

    def __init__(
        self,
        learning_rate: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        correct_bias: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **arguments)
        self.correct_bias = correct_bias


@register
class Adamax(_Moments):
    """Adam with the largest gradient in place of the mean square.

    With ``g' = g + wd * w``: ``m = beta1 * m + (1 - beta1) * g'``, ``u = max(beta2 * u, abs(g'))``, then ``w -= lr / (1
    - beta1 ** t) * m / (u + epsilon)``.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.002 if not given.
    beta1, beta2, epsilon, **arguments
        As for :class:`Adam`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.Adamax().learning_rate
    0.002
    """

    default_lr = 0.002
    _rule = "adamax"

    def __init__(
        self,
        learning_rate: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        **arguments: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **arguments)


@register
class Nadam(_Moments):
    """Adam with Nesterov momentum.

    With the means ``m`` and ``v`` of :class:`Adam`, ``mu(t) = beta1 * (1 - 0.5 * 0.96 ** (t * schedule_decay))`` and
    ``p(t) = mu(1) * ... * mu(t)``: ``w -= lr * (mu(t + 1) * m / (1 - p(t + 1)) + (1 - mu(t)) * g' / (1 - p(t))) /
    (sqrt(v / (1 - beta2 ** t)) + epsilon)``. The product has one factor per update of the parameter; in MXNet, one per
    update of any parameter.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.001 if not given.
    beta1, beta2, epsilon
        As for :class:`Adam`.
    schedule_decay
        How fast the momentum approaches ``beta1``.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.Nadam().schedule_decay
    0.004
    """

    _rule = "nadam"
    _options = (*_Moments._options, "schedule_decay")

    def __init__(
        self,
        learning_rate: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **arguments: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **arguments)
        self.schedule_decay = schedule_decay


@register
class AdaBelief(_Moments):
    """Adam with the mean squared deviation of gradients from their mean.

    With ``g' = clip(g + wd * w)``: ``m = beta1 * m + (1 - beta1) * g'``, ``s = beta2 * s + (1 - beta2) * (g' - m) ** 2
    + epsilon``, then ``w -= r * m / (sqrt(s) + epsilon)`` with the ``r`` of :class:`AdamW`.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.001 if not given.
    beta1, beta2
        As for :class:`Adam`.
    epsilon
        Added to the mean square and to the divisor.
    correct_bias
        Whether to correct the bias of the means.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.AdaBelief().epsilon
    1e-06
    """

    _rule = "adabelief"
    _options = (*_Moments._options, "correct_bias")

    def __init__(
        self,
        learning_rate: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        correct_bias: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **arguments)
        self.correct_bias = correct_bias


@register
class FTML(_Moments):
    """Follow the moving leader.

    With ``g' = g + wd * w``: ``v = beta2 * v + (1 - beta2) * g' ** 2``, ``d' = (1 - beta1 ** t) / lr * (sqrt(v / (1 -
    beta2 ** t)) + epsilon)``, ``z = beta1 * z + (1 - beta1) * g' - (d' - beta1 * d) * w``, ``d = d'``, then ``w = -z /
    d``.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.0025 if not given. It must not be 0.
    beta1, beta2
        The decay rates of ``z`` and of the mean squared gradient.
    epsilon
        Added to the root of the mean square.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.FTML().beta1
    0.6
    """

    default_lr = 0.0025
    state_names = ("d", "v", "z")
    _rule = "ftml"

    def __init__(
        self,
        learning_rate: float | None = None,
        beta1: float = 0.6,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        **arguments: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **arguments)


@register
class LANS(_Moments):
    """LAMB with normalised gradients and Nesterov momentum.

    With ``g' = clip(g / |g|)`` and corrected means ``m'`` and ``v'`` of it and its square:
    ``d = m' / (sqrt(v') + epsilon) + wd * w``, ``e = g' / (sqrt(v') + epsilon) + wd * w``, then
    ``w -= lr * |w| * (beta1 * d / |d| + (1 - beta1) * e / |e|)``. A ratio with a norm of zero is 1.

    Parameters
    ----------
    learning_rate
        The learning rate; 0.001 if not given.
    beta1, beta2, epsilon
        As for :class:`Adam`.
    lower_bound, upper_bound
        Limits of ``|w|``.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.LANS(lower_bound=0.1).lower_bound
    0.1
    """

    _rule = "lans"
    _options = (*_Moments._options, "lower_bound", "upper_bound")

    def __init__(
        self,
        learning_rate: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, **arguments)
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound


@register
class LAMB(LANS):
    """Adam whose steps have the size of the weights.

    With the means ``m`` and ``v`` of :class:`AdamW`, corrected: ``d = m / (sqrt(v) + epsilon) + wd * w``, then ``w -=
    lr * |w| / |d| * d``. The ratio is 1 if a norm is zero.

    Parameters
    ----------
    learning_rate, beta1, beta2, epsilon, lower_bound, upper_bound
        As for :class:`LANS`.
    bias_correction
        Whether to correct the bias of the means.
    **arguments
        Passed to :class:`Optimizer`.

    Examples
    --------
    >>> from forerun import optimizer
    >>> optimizer.LAMB().epsilon
    1e-06
    """

    _rule = "lamb"
    _options = (*LANS._options, "bias_correction")

    def __init__(
        self,
        learning_rate: float | None = None,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, lower_bound, upper_bound, **arguments)
        self.bias_correction = bias_correction
