"""Schedules of learning rates that rise and fall, that follow a metric, and that combine others."""

from __future__ import annotations

import bisect
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from forerun.torch.optim._optimizer import Optimizer
from forerun.torch.optim._schedules import LRScheduler, per_group

__all__ = [
    "ChainedScheduler", "CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR", "ReduceLROnPlateau",
    "SequentialLR",
]  # fmt: skip


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines one after another, each ``T_mult`` times as long as the one before.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
        verbose: Any = None,
    ) -> None:
        if T_0 <= 0 or T_mult < 1:
            raise ValueError(f"CosineAnnealingWarmRestarts: T_0 and T_mult must be at least 1, got {T_0} and {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, float(last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates of the groups."""
        share = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the rates of the next epoch, or of the given one, which may be a fraction."""
        if epoch is None:
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
            self.last_epoch += 1
        else:
            if epoch < 0:
                raise ValueError(f"CosineAnnealingWarmRestarts: epoch must not be negative, got {epoch}")
            self.T_cur, self.T_i = epoch, self.T_0
            while self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
            self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())


class CyclicLR(LRScheduler):
    """A rate that runs between two bounds, batch by batch.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=2, cycle_momentum=False)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
        verbose: Any = None,
    ) -> None:
        scales: dict[str, tuple[Callable[[float], float], str]] = {
            "triangular": (lambda x: 1.0, "cycle"),
            "triangular2": (lambda x: 1 / 2.0 ** (x - 1), "cycle"),
            "exp_range": (lambda x: gamma**x, "iterations"),
        }
        if scale_fn is None and mode not in scales:
            raise ValueError(f"CyclicLR: mode is one of {', '.join(scales)}, not {mode!r}")
        self._scale, self.scale_mode = scales[mode] if scale_fn is None else (scale_fn, scale_mode)
        lows = per_group(self, optimizer, base_lr, "base_lr")
        if last_epoch == -1:
            for low, group in zip(lows, optimizer.param_groups, strict=True):
                group["lr"] = low
                group["initial_lr"] = low
        self.max_lrs = per_group(self, optimizer, max_lr, "max_lr")
        self.total_size = float(step_size_up + (step_size_up if step_size_down is None else step_size_down))
        self.step_ratio = step_size_up / self.total_size
        self.cycle_momentum, self.base_momentum, self.max_momentum = cycle_momentum, base_momentum, max_momentum
        if cycle_momentum and not {"momentum", "betas"} & set(optimizer.defaults):
            raise ValueError("CyclicLR: the optimiser has no momentum: set cycle_momentum=False")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates of the groups, and set their momentum."""
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        factor = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self._scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            fall = (self.max_momentum - self.base_momentum) * factor * scale
            for group in self._groups:
                _set_momentum(group, self.max_momentum - fall)
        return [low + (high - low) * factor * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]


def _set_momentum(group: dict[str, Any], momentum: float) -> None:
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class OneCycleLR(LRScheduler):
    """One rise to ``max_lr`` and one fall far below, batch by batch, with the opposite course of the momentum.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> for _ in range(2):
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
        verbose: Any = None,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("OneCycleLR: needs total_steps, or epochs and steps_per_epoch")
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0 or not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: total_steps {total_steps} or pct_start {pct_start} is out of range")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy is 'cos' or 'linear', not {anneal_strategy!r}")
        self.total_steps, self._strategy = total_steps, anneal_strategy
        top = float(pct_start * total_steps) - 1
        if three_phase:
            self._phases = [
                (top, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                (2 * top, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                (total_steps - 1.0, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            self._phases = [
                (top, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                (total_steps - 1.0, "max_lr", "min_lr", "base_momentum", "max_momentum"),
            ]
        if last_epoch == -1:
            rates = per_group(self, optimizer, max_lr, "max_lr")
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["initial_lr"], group["max_lr"] = rate / div_factor, rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
                group["base_momentum"], group["max_momentum"] = base_momentum, max_momentum
        self.cycle_momentum = cycle_momentum
        if cycle_momentum and not {"momentum", "betas"} & set(optimizer.defaults):
            raise ValueError("OneCycleLR: the optimiser has no momentum: set cycle_momentum=False")
        super().__init__(optimizer, last_epoch)

    def _between(self, start: float, end: float, share: float) -> float:
        if self._strategy == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)

    def get_lr(self) -> list[float]:
        """Return the rates of the groups, and set their momentum."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"OneCycleLR: step {step} is beyond the total of {self.total_steps}")
        rates = []
        for group in self._groups:
            begin = 0.0
            for number, (end, low, high, first, last) in enumerate(self._phases):
                if step <= end or number == len(self._phases) - 1:
                    share = (step - begin) / (end - begin)
                    rates.append(self._between(group[low], group[high], share))
                    if self.cycle_momentum:
                        _set_momentum(group, self._between(group[first], group[last], share))
                    break
                begin = end
        return rates


class SequentialLR(LRScheduler):
    """Several schedules, one after the other, with the epochs at which the next one starts.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.optim import lr_scheduler
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> warm = lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> scheduler = lr_scheduler.SequentialLR(optimizer, [warm, lr_scheduler.ExponentialLR(optimizer, 0.5)], [2])
    >>> for _ in range(3):
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
        verbose: Any = None,
    ) -> None:
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(f"SequentialLR: {len(schedulers)} schedules need {len(schedulers) - 1} milestones")
        if any(scheduler.optimizer is not optimizer for scheduler in schedulers):
            raise ValueError("SequentialLR: all schedules must belong to the optimiser")
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        # Making a schedule steps it once: undo that for all, and begin with the first.
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0].step()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch."""
        self.last_epoch += 1
        number = bisect.bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[number]
        if number > 0 and self._milestones[number - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """Return the state, including that of the schedules."""
        own = {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "_schedulers")}
        return {**own, "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state."""
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class ChainedScheduler(SequentialLR):
    """Several schedules at the same time.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.optim import lr_scheduler
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> both = [lr_scheduler.ExponentialLR(optimizer, 0.5), lr_scheduler.ConstantLR(optimizer, 0.5, 1)]
    >>> scheduler = lr_scheduler.ChainedScheduler(both)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        self.optimizer, self._schedulers = schedulers[0].optimizer, list(schedulers)
        if any(scheduler.optimizer is not self.optimizer for scheduler in schedulers):
            raise ValueError("ChainedScheduler: all schedules must belong to one optimiser")
        self._last_lr = [group["lr"] for group in self._groups]

    def step(self, epoch: int | None = None) -> None:
        """Step all schedules."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [group["lr"] for group in self._groups]


class ReduceLROnPlateau(LRScheduler):
    """A rate that falls when a metric has stopped improving for ``patience`` epochs. Each step reads the metric.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    >>> for loss in (1.0, 1.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
        verbose: Any = None,
    ) -> None:
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau: factor must be below 1, got {factor}")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(f"ReduceLROnPlateau: unknown mode {mode!r} or threshold_mode {threshold_mode!r}")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.min_lrs = per_group(self, optimizer, min_lr, "min_lr")
        self.last_epoch = 0
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0
        self._last_lr = [group["lr"] for group in self._groups]

    def _is_better(self, value: float) -> bool:
        if self.threshold_mode == "rel":
            # The base is what the metric must be compared with; infinity stays infinity.
            share = 1 - self.threshold if self.mode == "min" else 1 + self.threshold
            bound = self.best * share
        else:
            bound = self.best - self.threshold if self.mode == "min" else self.best + self.threshold
        return value < bound if self.mode == "min" else value > bound

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Compare a metric with the best one so far, and reduce the rates if it is time."""
        value = float(metrics)
        if epoch is not None:
            warnings.warn("ReduceLROnPlateau: epoch is deprecated", UserWarning, stacklevel=2)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self._groups, self.min_lrs, strict=True):
                rate = max(group["lr"] * self.factor, least)
                if group["lr"] - rate > self.eps:
                    group["lr"] = rate
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self._groups]
