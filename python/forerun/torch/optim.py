"""Optimisers with PyTorch's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from forerun._dialect.rules import Moments, Momentum
from forerun._missing import module_getattr
from forerun.torch._tensor import Tensor

__all__ = ["SGD", "Adam", "Optimizer"]


class Optimizer:
    """Base class of optimisers.

    Attributes
    ----------
    param_groups : list of dict
        Groups with parameters under ``"params"`` and their settings, which may be changed at any time.
    """

    def __init__(self, params: Iterable[Any], settings: dict[str, Any]) -> None:
        given = list(params)
        if not given:
            raise ValueError("an optimiser got no parameters")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        self.param_groups: list[dict[str, Any]] = []
        for group in groups:
            unknown = set(group) - set(settings) - {"params"}
            if unknown:
                raise TypeError(f"{type(self).__name__}: unknown setting {sorted(unknown)[0]!r}")
            chosen = group["params"]
            group = {**settings, **group, "params": [chosen] if isinstance(chosen, Tensor) else list(chosen)}
            for parameter in group["params"]:
                if not isinstance(parameter, Tensor):
                    raise TypeError(f"{type(self).__name__}: a {type(parameter).__name__} is not a parameter")
            self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the parameters' gradients, or set them to zero."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter._clear_grad(set_to_none)

    def step(self) -> None:
        """Update the parameters that have a gradient."""
        for group in self.param_groups:
            self._update([parameter for parameter in group["params"] if parameter.grad is not None], group)

    def _update(self, parameters: list[Tensor], settings: dict[str, Any]) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no rule")


class SGD(Optimizer):
    """Stochastic gradient descent.

    Parameters
    ----------
    params : iterable of Tensor, or of dict
        The parameters to update; a dict holds some under ``"params"`` with settings of their own.
    lr : float
        The learning rate.
    momentum : float
        The momentum factor.
    weight_decay : float
        The weight decay (L2 penalty).

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.], requires_grad=True)
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0.0, weight_decay: float = 0.0
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self._rule = Momentum()

    def _update(self, parameters: list[Tensor], settings: dict[str, Any]) -> None:
        self._rule.step(parameters, settings["lr"], settings["momentum"], settings["weight_decay"])


class Adam(Optimizer):
    """The Adam optimiser.

    Parameters
    ----------
    params : iterable of Tensor, or of dict
        The parameters to update; a dict holds some under ``"params"`` with settings of their own.
    lr : float
        The learning rate.
    betas : tuple of float
        Decay rates of the mean gradient and of the mean squared gradient.
    eps : float
        Added to the divisor for numerical stability.
    weight_decay : float
        The weight decay (L2 penalty).

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        self._rule = Moments()

    def _update(self, parameters: list[Tensor], settings: dict[str, Any]) -> None:
        self._rule.step(parameters, settings["lr"], settings["betas"], settings["eps"], settings["weight_decay"])


__getattr__ = module_getattr(__name__, globals(), {"lr_scheduler": "set optimizer.param_groups[0]['lr'] between steps"})
