"""Learning rate schedules: functions of the number of updates.

Examples
--------
>>> from forerun import lr_scheduler
>>> schedule = lr_scheduler.MultiFactorScheduler(step=[2, 4], factor=0.5, base_lr=1.0)
>>> [schedule(update) for update in range(1, 7)]
[1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
"""

from __future__ import annotations

import math
import typing as _typing
from collections.abc import Sequence

from forerun._missing import module_getattr as _module_getattr

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


class LRScheduler:
    """Base class of schedulers: a learning rate, and how to warm up to it.

    Parameters
    ----------
    base_lr
        The learning rate after the warm-up.
    warmup_steps
        The number of warm-up updates.
    warmup_begin_lr
        The learning rate at the start of the warm-up.
    warmup_mode
        ``"linear"``: increase linearly. ``"constant"``: stay at ``warmup_begin_lr``.

    Examples
    --------
    >>> from forerun import lr_scheduler
    >>> schedule = lr_scheduler.CosineScheduler(10, base_lr=1.0, warmup_steps=4)
    >>> [schedule(update) for update in range(5)]
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0.0,
        warmup_mode: str = "linear",
    ) -> None:
        name = type(self).__name__
        if warmup_begin_lr > base_lr:
            raise ValueError(f"{name}: warmup_begin_lr is {warmup_begin_lr}, above the learning rate {base_lr}")
        _check_steps(self, "warmup_steps", warmup_steps, 0)
        if warmup_mode not in ("linear", "constant"):
            raise ValueError(f"{name}: warmup_mode is 'linear' or 'constant', not {warmup_mode!r}")
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_mode = warmup_mode

    def __call__(self, num_update: int) -> float:
        """Return the learning rate of an update."""
        return self._after_warmup(num_update) if num_update >= self.warmup_steps else self.get_warmup_lr(num_update)

    def get_warmup_lr(self, num_update: int) -> float:
        """Return the learning rate of an update during the warm-up."""
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        return self.warmup_begin_lr + (self.base_lr - self.warmup_begin_lr) * num_update / self.warmup_steps

    def _after_warmup(self, num_update: int) -> float:
        raise NotImplementedError(f"{type(self).__name__} has no rule")


def _check_steps(scheduler: LRScheduler, option: str, value: int, least: int) -> None:
    if not isinstance(value, int) or value < least:
        raise ValueError(f"{type(scheduler).__name__}: {option} must be an integer of at least {least}, got {value!r}")


class FactorScheduler(LRScheduler):
    """Multiply the learning rate by a factor every ``step`` updates, down to ``stop_factor_lr``.

    Parameters
    ----------
    step
        The number of updates between two changes.
    factor
        The factor; at most 1.
    stop_factor_lr
        The smallest learning rate that a change leads to.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        As for :class:`LRScheduler`.

    Examples
    --------
    >>> from forerun import lr_scheduler
    >>> schedule = lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)
    >>> [schedule(update) for update in range(1, 6)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self,
        step: int,
        factor: float = 1.0,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0.0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        _check_steps(self, "step", step, 1)
        if factor > 1.0:
            raise ValueError(f"FactorScheduler: factor must be at most 1, got {factor}")
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr

    def _after_warmup(self, num_update: int) -> float:
        rate = self.base_lr
        # Multiplied step by step, as in MXNet: a power would be rounded differently.
        for _ in range(max(num_update - 1, 0) // self.step):
            rate *= self.factor
            # The lower bound applies only after a decrease: a base rate below it is unchanged.
            if rate <= self.stop_factor_lr or self.factor == 1:
                return max(rate, self.stop_factor_lr)
        return rate


class MultiFactorScheduler(LRScheduler):
    """Multiply the learning rate by a factor after each of the updates listed in ``step``.

    Parameters
    ----------
    step
        Increasing numbers of updates.
    factor
        The factor; at most 1.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        As for :class:`LRScheduler`.

    Examples
    --------
    >>> from forerun import lr_scheduler
    >>> schedule = lr_scheduler.MultiFactorScheduler([1, 3], factor=0.1, base_lr=1.0)
    >>> schedule(1), schedule(2)
    (1.0, 0.1)
    """

    def __init__(
        self,
        step: Sequence[int],
        factor: float = 1.0,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0.0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.step = list(step)
        for each in self.step:
            _check_steps(self, "step", each, 1)
        if not self.step or any(b <= a for a, b in zip(self.step, self.step[1:], strict=False)):
            raise ValueError(f"MultiFactorScheduler: step must be increasing numbers, got {self.step}")
        if factor > 1.0:
            raise ValueError(f"MultiFactorScheduler: factor must be at most 1, got {factor}")
        self.factor = factor

    def _after_warmup(self, num_update: int) -> float:
        cuts: int = sum(num_update > step for step in self.step)
        return self.base_lr * self.factor**cuts


class PolyScheduler(LRScheduler):
    """Decay polynomially to ``final_lr`` at update ``max_update``.

    Parameters
    ----------
    max_update
        The update from which on the learning rate is ``final_lr``.
    pwr
        The power.
    final_lr
        The last learning rate.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        As for :class:`LRScheduler`.

    Examples
    --------
    >>> from forerun import lr_scheduler
    >>> schedule = lr_scheduler.PolyScheduler(4, base_lr=1.0, pwr=2)
    >>> [schedule(update) for update in range(6)]
    [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0.0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0.0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self._span = _span(self, max_update)
        self.max_update = max_update
        self.power = pwr
        self.final_lr = final_lr

    def _after_warmup(self, num_update: int) -> float:
        done = min(num_update - self.warmup_steps, self._span) / self._span
        return self.final_lr + (self.base_lr - self.final_lr) * float((1 - done) ** self.power)


class CosineScheduler(LRScheduler):
    """Decay along a half cosine to ``final_lr`` at update ``max_update``.

    Parameters
    ----------
    max_update
        The update from which on the learning rate is ``final_lr``.
    final_lr
        The last learning rate.
    base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        As for :class:`LRScheduler`.

    Examples
    --------
    >>> from forerun import lr_scheduler
    >>> schedule = lr_scheduler.CosineScheduler(4, base_lr=1.0)
    >>> [round(schedule(update), 3) for update in range(6)]
    [1.0, 0.854, 0.5, 0.146, 0.0, 0.0]
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0.0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0.0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self._span = _span(self, max_update)
        self.max_update = max_update
        self.final_lr = final_lr

    def _after_warmup(self, num_update: int) -> float:
        done = min(num_update - self.warmup_steps, self._span) / self._span
        return self.final_lr + (self.base_lr - self.final_lr) * (1 + math.cos(math.pi * done)) / 2


def _span(scheduler: LRScheduler, max_update: int) -> int:
    """Return how many updates lie between the warm-up and the last change."""
    _check_steps(scheduler, "max_update", max_update, 1)
    if max_update <= scheduler.warmup_steps:
        raise ValueError(
            f"{type(scheduler).__name__}: max_update must exceed the {scheduler.warmup_steps} steps of warm-up,"
            f" got {max_update}"
        )
    return max_update - scheduler.warmup_steps


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
