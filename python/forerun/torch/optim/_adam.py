"""Adam and the optimisers that descend from it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from forerun import np
from forerun.torch._tensor import Tensor
from forerun.torch.optim._optimizer import Optimizer

__all__ = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam"]


class _Moments(Optimizer):
    """An optimiser with running means of gradients and of their squares."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        **settings: Any,
    ) -> None:
        name = type(self).__name__
        if lr < 0 or eps < 0 or weight_decay < 0:
            raise ValueError(f"{name}: lr, eps and weight_decay must not be negative, got {lr}, {eps}, {weight_decay}")
        if not all(0 <= beta < 1 for beta in betas):
            raise ValueError(f"{name}: betas must be at least 0 and below 1, got {betas}")
        given = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**given, **settings})

    def _decay(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        """Decay the weights by themselves, not through the gradients."""
        if group["weight_decay"]:
            for parameter in parameters:
                parameter._array[...] = parameter._array.detach() * (1 - group["lr"] * group["weight_decay"])


class Adam(_Moments):
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
        Added to the divisor.
    weight_decay : float
        The weight decay, added to the gradient; see :class:`AdamW`.
    amsgrad : bool
        Whether to divide by the largest mean square so far.
    foreach, capturable, differentiable, fused : optional
        Have no effect.
    maximize : bool
        Whether to ascend instead.
    decoupled_weight_decay : bool
        Whether the weights decay by themselves, as in :class:`AdamW`.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad=amsgrad, maximize=maximize)
        self._decoupled = decoupled_weight_decay

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        if self._decoupled:
            self._decay(parameters, group)
        decay = 0.0 if self._decoupled else group["weight_decay"]
        if not group["amsgrad"]:
            states = self._states(parameters, ("exp_avg", "exp_avg_sq"))
            options = {"beta1": beta1, "beta2": beta2, "epsilon": group["eps"]}
            kind = {"correct_bias": True, "correct_epsilon": True, "decoupled": False}
            self._native("adam", parameters, group, states, {**options, **kind}, weight_decay=decay)
            return
        states = self._states(parameters, ("exp_avg", "exp_avg_sq", "max_exp_avg_sq"))
        grads = self._gradients(parameters, group["maximize"])
        for parameter, grad, step, (mean, square, top) in zip(
            parameters, grads, self._steps(parameters), states, strict=True
        ):
            weight = parameter._array.detach()
            grad = grad + decay * weight if decay else grad
            mean[...] = beta1 * mean + (1 - beta1) * grad
            square[...] = beta2 * square + (1 - beta2) * grad * grad
            top[...] = np.maximum(top, square)
            divisor = np.sqrt(top) / math.sqrt(1 - beta2**step) + group["eps"]
            parameter._array[...] = weight - group["lr"] / (1 - beta1**step) * mean / divisor


class AdamW(Adam):
    """Adam whose weights decay by themselves: ``w *= 1 - lr * weight_decay`` before the step.

    Parameters
    ----------
    params, lr, betas, eps, amsgrad, foreach, maximize, capturable, differentiable, fused
        As for :class:`Adam`.
    weight_decay : float
        The weight decay.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.AdamW([w], lr=0.5, weight_decay=0.2)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.4000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options, decoupled_weight_decay=True)


class NAdam(_Moments):
    """Adam with Nesterov momentum.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.NAdam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.item() < 1
    True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        **unused: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, momentum_decay=momentum_decay, maximize=maximize)
        self._decoupled = decoupled_weight_decay

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        if self._decoupled:
            self._decay(parameters, group)
        states = self._states(parameters, ("exp_avg", "exp_avg_sq"))
        options = {"beta1": group["betas"][0], "beta2": group["betas"][1], "epsilon": group["eps"]}
        options["schedule_decay"] = group["momentum_decay"]
        decay = 0.0 if self._decoupled else group["weight_decay"]
        self._native("nadam", parameters, group, states, options, weight_decay=decay)


class Adamax(_Moments):
    """Adam with the largest gradient in place of the mean square.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.Adamax([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
        **unused: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        states = self._states(parameters, ("exp_avg", "exp_inf"))
        grads = self._gradients(parameters, group["maximize"])
        for parameter, grad, step, (mean, top) in zip(parameters, grads, self._steps(parameters), states, strict=True):
            weight = parameter._array.detach()
            grad = grad + group["weight_decay"] * weight if group["weight_decay"] else grad
            mean[...] = beta1 * mean + (1 - beta1) * grad
            top[...] = np.maximum(beta2 * top, np.abs(grad) + group["eps"])
            parameter._array[...] = weight - group["lr"] / (1 - beta1**step) * mean / top


class RAdam(_Moments):
    """Adam whose first steps are limited by the variance of the mean square.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.RAdam([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
        **unused: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize)
        self._decoupled = decoupled_weight_decay

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        beta1, beta2 = group["betas"]
        if self._decoupled:
            self._decay(parameters, group)
        decay = 0.0 if self._decoupled else group["weight_decay"]
        states = self._states(parameters, ("exp_avg", "exp_avg_sq"))
        grads = self._gradients(parameters, group["maximize"])
        most = 2 / (1 - beta2) - 1
        for parameter, grad, step, (mean, square) in zip(
            parameters, grads, self._steps(parameters), states, strict=True
        ):
            weight = parameter._array.detach()
            grad = grad + decay * weight if decay else grad
            mean[...] = beta1 * mean + (1 - beta1) * grad
            square[...] = beta2 * square + (1 - beta2) * grad * grad
            corrected = mean / (1 - beta1**step)
            length = most - 2 * step * beta2**step / (1 - beta2**step)
            if length > 5:
                ratio = (length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)
                root = math.sqrt(ratio) * math.sqrt(1 - beta2**step)
                corrected = corrected * root / (np.sqrt(square) + group["eps"])
            parameter._array[...] = weight - group["lr"] * corrected
