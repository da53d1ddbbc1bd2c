"""Optimisers that divide each element's step by what its gradients were."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from forerun import np
from forerun.torch._tensor import Tensor
from forerun.torch.optim._optimizer import Optimizer

__all__ = ["Adadelta", "Adagrad", "RMSprop", "Rprop"]


class RMSprop(Optimizer):
    """RMSprop: gradients divided by the root of their running mean square.

    Parameters
    ----------
    params : iterable of Tensor, or of dict
        The parameters to update; a dict holds some under ``"params"`` with settings of their own.
    lr : float
        The learning rate.
    alpha : float
        The decay rate of the running means.
    eps : float
        Added to the divisor.
    weight_decay, momentum : float
        The weight decay and the momentum factor.
    centered : bool
        Whether the running mean of the gradients is subtracted.
    capturable, foreach, differentiable : optional
        Have no effect.
    maximize : bool
        Whether to ascend instead.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([w], lr=0.01)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        settings = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum}
        for name, value in settings.items():
            if value < 0:
                raise ValueError(f"RMSprop: {name} must not be negative, got {value}")
        super().__init__(params, {**settings, "centered": centered, "maximize": maximize})

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        alpha, momentum, centered = group["alpha"], group["momentum"], group["centered"]
        if not (momentum or centered):
            states = self._states(parameters, ("square_avg",))
            options = {"rho": alpha, "momentum": 0.0, "epsilon": group["eps"], "centered": False, "clip_weights": None}
            self._native("rmsprop", parameters, group, states, options)
            return
        states = self._states(parameters, ("square_avg", "grad_avg", "momentum_buffer"))
        grads = self._gradients(parameters, group["maximize"])
        for parameter, grad, (square, mean, velocity) in zip(parameters, grads, states, strict=True):
            weight = parameter._array.detach()
            grad = grad + group["weight_decay"] * weight if group["weight_decay"] else grad
            square[...] = alpha * square + (1 - alpha) * grad * grad
            spread = square
            if centered:
                mean[...] = alpha * mean + (1 - alpha) * grad
                spread = square - mean * mean
            change = grad / (np.sqrt(spread) + group["eps"])
            if momentum:
                velocity[...] = momentum * velocity + change
                change = velocity
            parameter._array[...] = weight - group["lr"] * change


class Adagrad(Optimizer):
    """Adagrad: ``h += g ** 2``, then ``w -= lr / (1 + (t - 1) * lr_decay) * g / (sqrt(h) + eps)``.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        **unused: Any,
    ) -> None:
        settings = {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps}
        settings["initial_accumulator_value"] = initial_accumulator_value
        for name, value in settings.items():
            if value < 0:
                raise ValueError(f"Adagrad: {name} must not be negative, got {value}")
        super().__init__(params, {**settings, "maximize": maximize})

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        states = self._states(parameters, ("sum",), group["initial_accumulator_value"])
        lrs = [group["lr"] / (1 + (step - 1) * group["lr_decay"]) for step in self._steps(parameters)]
        self._native("adagrad", parameters, group, states, {"epsilon": group["eps"]}, lrs=lrs)


class Adadelta(Optimizer):
    """Adadelta: steps of the size of the last steps.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([w])
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.item() < 1
    True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        **unused: Any,
    ) -> None:
        settings = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**settings, "maximize": maximize})

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        states = self._states(parameters, ("square_avg", "acc_delta"))
        self._native("adadelta", parameters, group, states, {"rho": group["rho"], "epsilon": group["eps"]})


class Rprop(Optimizer):
    """Resilient propagation: steps that grow while the sign of the gradient stays, and shrink where it changes.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.Rprop([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.7500], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        maximize: bool = False,
        **unused: Any,
    ) -> None:
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        for parameter in parameters:
            if "step_size" not in self.state[parameter]:
                self.state[parameter]["step_size"] = Tensor._of(np.full_like(parameter._array.detach(), group["lr"]))
        states = self._states(parameters, ("prev", "step_size"))
        grads = self._gradients(parameters, group["maximize"])
        for parameter, grad, (before, size) in zip(parameters, grads, states, strict=True):
            agreement = grad * before
            factor = np.where(agreement > 0, grow, np.where(agreement < 0, shrink, 1.0))
            size[...] = np.clip(size * factor, least, most)
            kept = np.where(agreement < 0, 0.0, grad)
            parameter._array[...] = parameter._array.detach() - np.sign(kept) * size
            before[...] = kept
