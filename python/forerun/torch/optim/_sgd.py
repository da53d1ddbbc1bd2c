"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from forerun.torch._tensor import Tensor
from forerun.torch.optim._optimizer import Optimizer

__all__ = ["ASGD", "SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent.

    With ``g' = g + weight_decay * w``: ``v = momentum * v + (1 - dampening) * g'``, where the first ``v`` is ``g'``,
    then ``w -= lr * v``, or with ``nesterov`` ``w -= lr * (g' + momentum * v)``.

    Parameters
    ----------
    params : iterable of Tensor, or of dict
        The parameters to update; a dict holds some under ``"params"`` with settings of their own.
    lr : float
        The learning rate.
    momentum, dampening, weight_decay : float
        As above.
    nesterov : bool
        As above; needs a momentum and no dampening.
    maximize : bool
        Whether to ascend instead.
    foreach, differentiable, fused : optional
        Have no effect.

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
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        for name, value in (("lr", lr), ("momentum", momentum), ("weight_decay", weight_decay)):
            if value < 0:
                raise ValueError(f"SGD: {name} must not be negative, got {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("SGD: nesterov needs a momentum and no dampening")
        settings = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**settings, "nesterov": nesterov, "maximize": maximize})

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        momentum, dampening = group["momentum"], group["dampening"]
        if not momentum:
            self._native("sgd", parameters, group, [()] * len(parameters), {"momentum": 0.0, "velocity": True})
            return
        fresh = [parameter for parameter in parameters if "momentum_buffer" not in self.state[parameter]]
        states = self._states(parameters, ("momentum_buffer",))
        if not (dampening or group["nesterov"]):
            self._native("sgd", parameters, group, states, {"momentum": momentum, "velocity": True})
            return
        first = {id(parameter) for parameter in fresh}
        grads = self._gradients(parameters, group["maximize"])
        for parameter, grad, (velocity,) in zip(parameters, grads, states, strict=True):
            weight = parameter._array.detach()
            grad = grad + group["weight_decay"] * weight if group["weight_decay"] else grad
            share = 1.0 if id(parameter) in first else 1.0 - dampening
            velocity[...] = momentum * velocity + share * grad
            parameter._array[...] = weight - group["lr"] * (
                grad + momentum * velocity if group["nesterov"] else velocity
            )


class ASGD(Optimizer):
    """Averaged stochastic gradient descent.

    Parameters
    ----------
    params : iterable of Tensor, or of dict
        The parameters to update.
    lr, lambd, alpha, t0, weight_decay : float
        The learning rate, its decay, the power of the decay, the step at which averaging starts, and the weight decay.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.ones(1, requires_grad=True)
    >>> optimizer = torch.optim.ASGD([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> round(w.item(), 4)
    -0.0001
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
        **unused: Any,
    ) -> None:
        settings = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay}
        super().__init__(params, {**settings, "maximize": maximize})

    def _update(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        states = self._states(parameters, ("ax",))
        grads = self._gradients(parameters, group["maximize"])
        lr, lambd = group["lr"], group["lambd"]
        for parameter, grad, (mean,) in zip(parameters, grads, states, strict=True):
            state = self.state[parameter]
            step = state["step"]
            eta = state.get("eta", lr)
            weight = parameter._array.detach()
            grad = grad + group["weight_decay"] * weight if group["weight_decay"] else grad
            moved = weight * (1 - lambd * eta) - eta * grad
            parameter._array[...] = moved
            share = state.get("mu", 1.0)
            mean[...] = moved if share == 1 else mean + (moved - mean) * share
            state["eta"] = lr / (1 + lambd * lr * step) ** group["alpha"]
            state["mu"] = 1 / max(1, step - group["t0"])
