"""Gradients and parameters taken together."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from forerun import np
from forerun._dialect.mode import GradMode
from forerun.torch._joining import cat, stack
from forerun.torch._tensor import Tensor

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "vector_to_parameters",
]


def _listed(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def get_total_norm(tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """Return the norm of all elements of tensors. Waits with ``error_if_nonfinite``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    given = _listed(tensors)
    if not given:
        return Tensor._of(np.array(0.0))
    with GradMode(False):
        total = stack([tensor.detach().norm(norm_type) for tensor in given]).norm(norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(f"the norm of order {norm_type} of the gradients is not finite, so they cannot be clipped")
    return total


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of parameters so that their common norm is at most ``max_norm``; return what it was.

    It waits only with ``error_if_nonfinite``.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.zeros(2, requires_grad=True)
    >>> (w * torch.tensor([3.0, 4.0])).sum().backward()
    >>> torch.nn.utils.clip_grad_norm_([w], 1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    grads = [parameter.grad for parameter in _listed(parameters) if parameter.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite)
    with GradMode(False):
        factor = (max_norm / (total + 1e-6)).clamp_max(1.0)
        for grad in grads:
            grad.mul_(factor.to(device=grad.device, dtype=grad.dtype))
    return total


def clip_grad_norm(parameters: Any, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Call :func:`clip_grad_norm_`, whose old name this is.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.utils.clip_grad_norm([torch.zeros(1)], 1.0)
    tensor(0.)
    """
    return clip_grad_norm_(parameters, max_norm, norm_type)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Limit every element of the gradients to ``[-clip_value, clip_value]``.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.zeros(2, requires_grad=True)
    >>> (w * torch.tensor([3.0, 0.5])).sum().backward()
    >>> torch.nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([1.0000, 0.5000])
    """
    with GradMode(False):
        for parameter in _listed(parameters):
            if parameter.grad is not None:
                parameter.grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return the elements of parameters, one after another.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.utils.parameters_to_vector([torch.ones(1), torch.zeros(2, 1)])
    tensor([1., 0., 0.])
    """
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write the elements of a vector into parameters, one after another.

    Examples
    --------
    >>> from forerun import torch
    >>> w = torch.zeros(2, 1)
    >>> torch.nn.utils.vector_to_parameters(torch.ones(2), [w])
    >>> w.sum()
    tensor(2.)
    """
    at = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec.detach()[at : at + count].reshape(parameter.shape)
        at += count
