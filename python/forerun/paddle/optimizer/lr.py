"""Schedules of learning rates with Paddle's names."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from typing import Any

from forerun._missing import module_getattr

__all__ = [
    "CosineAnnealingDecay", "ExponentialDecay", "InverseTimeDecay", "LRScheduler", "LambdaDecay", "LinearWarmup",
    "MultiStepDecay", "NaturalExpDecay", "NoamDecay", "PiecewiseDecay", "PolynomialDecay", "StepDecay",
]  # fmt: skip


class LRScheduler:
    """Base class: a subclass defines ``get_lr``, the rate of epoch ``last_epoch``.

    Examples
    --------
    >>> from forerun import paddle
    >>> rate = paddle.optimizer.lr.ExponentialDecay(learning_rate=1.0, gamma=0.5)
    >>> rate.step()
    >>> rate()
    0.5
    """

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        self.base_lr, self.last_epoch = float(learning_rate), last_epoch
        self.last_lr = float(learning_rate)
        self.step()

    def __call__(self) -> float:
        """Return the current rate."""
        return self.last_lr

    def get_lr(self) -> float:
        """Return the rate of the epoch. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr")

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to the given one."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self.last_lr = self.get_lr()

    def state_dict(self) -> dict[str, Any]:
        """Return the epoch and the rate."""
        return {"last_epoch": self.last_epoch, "last_lr": self.last_lr}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state."""
        self.last_epoch, self.last_lr = state_dict["last_epoch"], state_dict["last_lr"]


def _schedule(name: str, names: str, rate: Callable[..., float], doc: str) -> type[LRScheduler]:
    """Make a schedule from a function of the epoch, the base rate and options: ``gamma=0.1`` has a default."""
    pairs = [part.partition("=") for part in names.split()]
    defaults = {option: float(value) for option, has, value in pairs if has}
    order = [option for option, _, _ in pairs]

    def start(self: LRScheduler, *args: Any, **options: Any) -> None:
        given = {**defaults, **dict(zip(order, args, strict=False)), **options}
        known = {"last_epoch": given.pop("last_epoch", -1), "verbose": given.pop("verbose", False)}
        missing = [option for option in order if option not in given]
        if missing or set(given) - set(order):
            raise TypeError(f"{name}: takes {', '.join(order)}, last_epoch and verbose")
        base = given.pop("learning_rate")
        self.__dict__["_options"] = given
        LRScheduler.__init__(self, base, **known)

    def get_lr(self: LRScheduler) -> float:
        return float(rate(self.last_epoch, self.base_lr, **self.__dict__["_options"]))

    get_lr.__doc__ = "Return the rate of the epoch."
    body = {"__doc__": doc, "__module__": __name__, "__qualname__": name, "__init__": start, "get_lr": get_lr}
    return type(name, (LRScheduler,), body)


def _polynomial(epoch: int, base: float, decay_steps: int, end_lr: float, power: float, cycle: float) -> float:
    length, at = float(decay_steps), float(epoch)
    if cycle:
        length *= max(1.0, math.ceil(epoch / decay_steps))
    else:
        at = min(at, length)
    return (base - end_lr) * (1 - at / length) ** power + end_lr


def _passed(epoch: int, milestones: Sequence[int]) -> int:
    return bisect.bisect_right(list(milestones), epoch)


ExponentialDecay = _schedule(
    "ExponentialDecay",
    "learning_rate gamma",
    lambda t, base, gamma: base * gamma**t,
    "A rate times ``gamma`` each epoch.",
)
NaturalExpDecay = _schedule(
    "NaturalExpDecay",
    "learning_rate gamma",
    lambda t, base, gamma: base * math.exp(-gamma * t),
    "``learning_rate * exp(-gamma * epoch)``.",
)
InverseTimeDecay = _schedule(
    "InverseTimeDecay",
    "learning_rate gamma",
    lambda t, base, gamma: base / (1 + gamma * t),
    "``learning_rate / (1 + gamma * epoch)``.",
)
PolynomialDecay = _schedule(
    "PolynomialDecay",
    "learning_rate decay_steps end_lr=0.0001 power=1.0 cycle=0",
    _polynomial,
    "A rate that falls to ``end_lr`` along a power.",
)
StepDecay = _schedule(
    "StepDecay",
    "learning_rate step_size gamma=0.1",
    lambda t, base, step_size, gamma: base * gamma ** (t // step_size),
    "A rate times ``gamma`` every ``step_size`` epochs.",
)
MultiStepDecay = _schedule(
    "MultiStepDecay",
    "learning_rate milestones gamma=0.1",
    lambda t, base, milestones, gamma: base * gamma ** _passed(t, milestones),
    "A rate times ``gamma`` at each of the given epochs.",
)
LambdaDecay = _schedule(
    "LambdaDecay",
    "learning_rate lr_lambda",
    lambda t, base, lr_lambda: base * lr_lambda(t),
    "A rate times a function of the epoch.",
)
CosineAnnealingDecay = _schedule(
    "CosineAnnealingDecay",
    "learning_rate T_max eta_min=0",
    lambda t, base, T_max, eta_min: eta_min + (base - eta_min) * (1 + math.cos(math.pi * t / T_max)) / 2,
    "A rate that falls to ``eta_min`` along half a cosine.",
)


class PiecewiseDecay(LRScheduler):
    """One rate for each interval of epochs.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.optimizer.lr.PiecewiseDecay([2, 4], [1.0, 0.5, 0.1])()
    1.0
    """

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if len(values) != len(boundaries) + 1:
            raise ValueError(f"PiecewiseDecay: {len(boundaries)} boundaries need {len(boundaries) + 1} values")
        self.boundaries, self.values = boundaries, values
        super().__init__(values[0], last_epoch)

    def get_lr(self) -> float:
        """Return the rate of the epoch."""
        return float(self.values[_passed(self.last_epoch, self.boundaries)])


class NoamDecay(LRScheduler):
    """A linear rise and a fall by the root, as for the first transformers.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.optimizer.lr.NoamDecay(d_model=4, warmup_steps=10)()
    0.0
    """

    def __init__(
        self, d_model: int, warmup_steps: int, learning_rate: float = 1.0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        self.d_model, self.warmup_steps = d_model, warmup_steps
        super().__init__(learning_rate, last_epoch)

    def get_lr(self) -> float:
        """Return the rate of the epoch."""
        falling = 1.0 if self.last_epoch == 0 else self.last_epoch**-0.5
        rising = self.warmup_steps**-1.5 * self.last_epoch
        return float(self.base_lr * self.d_model**-0.5 * min(falling, rising))


class LinearWarmup(LRScheduler):
    """A linear rise from ``start_lr`` to ``end_lr``, then another schedule.

    Examples
    --------
    >>> from forerun import paddle
    >>> rate = paddle.optimizer.lr.LinearWarmup(1.0, warmup_steps=2, start_lr=0.0, end_lr=1.0)
    >>> rate.step()
    >>> rate()
    0.5
    """

    def __init__(
        self,
        learning_rate: Any,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self._after, self.warmup_steps, self.start_lr, self.end_lr = learning_rate, warmup_steps, start_lr, end_lr
        super().__init__(start_lr, last_epoch)

    def get_lr(self) -> float:
        """Return the rate of the epoch."""
        if self.last_epoch < self.warmup_steps:
            return self.start_lr + (self.end_lr - self.start_lr) * self.last_epoch / self.warmup_steps
        if isinstance(self._after, LRScheduler):
            self._after.step(self.last_epoch - self.warmup_steps)
            return self._after()
        return float(self._after)


__getattr__ = module_getattr(
    __name__, globals(), {"ReduceOnPlateau": "compare the loss in the program, and call set_lr"}
)
