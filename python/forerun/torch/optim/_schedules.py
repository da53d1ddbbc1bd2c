"""Schedules of learning rates: each call of ``step`` sets the rates of an optimiser's groups."""

from __future__ import annotations

import bisect
import math
import types
from collections import Counter
from collections.abc import Iterable
from typing import Any

from forerun.torch.optim._optimizer import Optimizer

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "PolynomialLR", "StepLR",
]  # fmt: skip


class LRScheduler:
    """Base class: a subclass defines ``get_lr``, the rates of the groups in epoch ``last_epoch``.

    Parameters
    ----------
    optimizer : Optimizer
        The optimiser.
    last_epoch : int
        The number of the last epoch, or -1 to start.

    Examples
    --------
    >>> from forerun import torch
    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base * 0.5**self.last_epoch for base in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1, verbose: Any = None) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__}: needs an optimiser, not a {type(optimizer).__name__}")
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(f"{type(self).__name__}: with last_epoch, every group needs 'initial_lr'")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._last_lr: list[float] = []
        self.step()

    @property
    def _groups(self) -> list[dict[str, Any]]:
        return self.optimizer.param_groups

    def get_lr(self) -> list[float]:
        """Return the rates of the groups. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr")

    def get_last_lr(self) -> list[float]:
        """Return the rates that were set last."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch, or of the given one."""
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = getattr(self, "_get_closed_form_lr", None)
        self._set(closed() if epoch is not None and closed is not None else self.get_lr())

    def _set(self, rates: Iterable[float]) -> None:
        for group, rate in zip(self._groups, rates, strict=True):
            group["lr"] = rate
        self._last_lr = [group["lr"] for group in self._groups]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimiser and functions."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name != "optimizer" and not isinstance(value, types.FunctionType)
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a state."""
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The base rate times a function of the epoch.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1, verbose: Any = None) -> None:
        self.lr_lambdas = per_group(self, optimizer, lr_lambda, "lr_lambda")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates of the groups."""
        return [base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Return everything but the optimiser and functions."""
        return {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}


class MultiplicativeLR(LambdaLR):
    """The last rate times a function of the epoch.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[float]:
        """Return the rates of the groups."""
        if self.last_epoch <= 0:
            return [group["lr"] for group in self._groups]
        return [
            group["lr"] * function(self.last_epoch)
            for group, function in zip(self._groups, self.lr_lambdas, strict=True)
        ]


def per_group(scheduler: LRScheduler, optimizer: Optimizer, value: Any, name: str) -> list[Any]:
    count = len(optimizer.param_groups)
    listed = list(value) if isinstance(value, (list, tuple)) else [value] * count
    if len(listed) != count:
        raise ValueError(f"{type(scheduler).__name__}: needs {count} values of {name}, got {len(listed)}")
    return listed


class StepLR(LRScheduler):
    """A rate that is multiplied by ``gamma`` every ``step_size`` epochs.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    >>> scheduler.step()
    >>> optimizer.param_groups[0]["lr"]
    0.5
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: Any = None
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates of the groups."""
        changes = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return [group["lr"] * (self.gamma if changes else 1) for group in self._groups]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """A rate that is multiplied by ``gamma`` at each of the given epochs.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], gamma=0.5)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: Any = None,
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates of the groups."""
        return [group["lr"] * self.gamma ** self.milestones[self.last_epoch] for group in self._groups]

    def _get_closed_form_lr(self) -> list[float]:
        passed = bisect.bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The base rate times ``factor`` for the first ``total_iters`` epochs.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2).get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
        verbose: Any = None,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: factor must be between 0 and 1, got {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates of the groups."""
        change = self.factor if self.last_epoch == 0 else 1 / self.factor if self.last_epoch == self.total_iters else 1
        return [group["lr"] * change for group in self._groups]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * (self.factor if self.last_epoch < self.total_iters else 1) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The base rate times a factor that runs from ``start_factor`` to ``end_factor``.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
        verbose: Any = None,
    ) -> None:
        if not (0 < start_factor <= 1 and 0 <= end_factor <= 1):
            raise ValueError(f"LinearLR: factors must be between 0 and 1, got {start_factor} and {end_factor}")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return (
            self.start_factor + (self.end_factor - self.start_factor) * min(epoch, self.total_iters) / self.total_iters
        )

    def get_lr(self) -> list[float]:
        """Return the rates of the groups."""
        if self.last_epoch == 0:
            return [group["lr"] * self.start_factor for group in self._groups]
        change = self._factor(self.last_epoch) / self._factor(self.last_epoch - 1)
        return [group["lr"] * change for group in self._groups]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self._factor(self.last_epoch) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """A rate that is multiplied by ``gamma`` every epoch.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1, verbose: Any = None) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates of the groups."""
        return [group["lr"] * (self.gamma if self.last_epoch > 0 else 1) for group in self._groups]

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The base rate times ``(1 - epoch / total_iters) ** power``.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=2)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
        verbose: Any = None,
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates of the groups."""
        epoch, total = self.last_epoch, self.total_iters
        if epoch == 0 or epoch > total:
            return [group["lr"] for group in self._groups]
        change = ((1.0 - epoch / total) / (1.0 - (epoch - 1) / total)) ** self.power
        return [group["lr"] * change for group in self._groups]

    def _get_closed_form_lr(self) -> list[float]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """A rate that falls to ``eta_min`` along half a cosine in ``T_max`` epochs.

    Examples
    --------
    >>> from forerun import torch
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1, verbose: Any = None
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        """Return the rates of the groups."""
        epoch, least = self.last_epoch, self.eta_min
        if epoch == 0:
            return [group["lr"] for group in self._groups]
        if self._step_count == 1:
            return self._get_closed_form_lr()
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            return [
                group["lr"] + (base - least) * rise for base, group in zip(self.base_lrs, self._groups, strict=True)
            ]
        ratio = (1 + math.cos(math.pi * epoch / self.T_max)) / (1 + math.cos(math.pi * (epoch - 1) / self.T_max))
        return [ratio * (group["lr"] - least) + least for group in self._groups]

    def _get_closed_form_lr(self) -> list[float]:
        share = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]
