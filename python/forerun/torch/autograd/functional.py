"""Derivatives of functions of tensors, by repeated backward passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun._missing import module_getattr
from forerun.torch._creation import zeros
from forerun.torch._joining import stack
from forerun.torch._tensor import Tensor
from forerun.torch.autograd._gradients import grad

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _started(inputs: Any, create_graph: bool = False) -> tuple[Any, ...]:
    """Return the inputs as tensors that require gradients."""
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if create_graph:
        return tuple(x if x.requires_grad else x.detach().clone().requires_grad_() for x in given)
    return tuple(x.detach().clone().requires_grad_() for x in given)


def _same_form(parts: Any, inputs: Any) -> Any:
    return parts[0] if isinstance(inputs, Tensor) else tuple(parts)


def _gradients(head: Tensor, starts: tuple[Any, ...], weight: Any, create_graph: bool) -> list[Any]:
    if head._link is None:
        return [x.detach() * 0 for x in starts]
    return list(grad(head, starts, weight, True, create_graph, materialize_grads=True))


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False) -> Any:
    """Return the derivatives of every element of the output by every element of the inputs.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.autograd.functional.jacobian(lambda x: x**2, torch.tensor([1.0, 3.0]))
    tensor([[2., 0.],
            [0., 6.]])
    """
    starts = _started(inputs, create_graph)
    outputs = func(*starts)
    made = []
    for out in (outputs,) if isinstance(outputs, Tensor) else outputs:
        flat = out.reshape(-1)
        rows = [_gradients(flat[number], starts, None, create_graph) for number in range(flat.numel())]
        made.append(
            [
                stack([row[place] for row in rows]).reshape(*out.shape, *x.shape)
                if rows
                else zeros(*out.shape, *x.shape)
                for place, x in enumerate(starts)
            ]
        )
    parts = [_same_form(part, inputs) for part in made]
    return parts[0] if isinstance(outputs, Tensor) else tuple(parts)


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False) -> Any:
    """Return the second derivatives of a function with one number as its output.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.autograd.functional.hessian(lambda x: (x**3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """

    def first(*starts: Any) -> Any:
        found = grad(func(*starts), starts, create_graph=True, materialize_grads=True)
        return found[0] if isinstance(inputs, Tensor) else found

    return jacobian(first, inputs, create_graph)


def vjp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False) -> tuple[Any, Any]:
    """Return the output, and the product of a vector with the derivatives.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.autograd.functional.vjp(lambda x: x**2, torch.tensor([3.0]), torch.tensor([10.0]))
    (tensor([9.]), tensor([60.]))
    """
    starts = _started(inputs, create_graph)
    outputs = func(*starts)
    heads = (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
    weights = (v,) if isinstance(v, Tensor) or v is None else tuple(v)
    found = list(grad(heads, starts, weights, create_graph, create_graph, materialize_grads=True))
    shown = heads if create_graph else tuple(head.detach() for head in heads)
    return (shown[0] if isinstance(outputs, Tensor) else shown), _same_form(found, inputs)


def jvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False) -> tuple[Any, Any]:
    """Return the output, and the product of the derivatives with a vector, by two backward passes.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.autograd.functional.jvp(lambda x: x**2, torch.tensor([3.0]), torch.tensor([10.0]))
    (tensor([9.]), tensor([60.]))
    """
    starts = _started(inputs, create_graph)
    output = func(*starts)
    if not isinstance(output, Tensor):
        raise RuntimeError("jvp: the function must return one tensor")
    weight = (output.detach() * 0).requires_grad_()
    found: Any = grad(output, starts, weight, create_graph=True, materialize_grads=True)
    vectors = (v,) if isinstance(v, Tensor) or v is None else tuple(v)
    product = grad(found, weight, vectors, create_graph, create_graph)[0]
    return (output if create_graph else output.detach()), product


def hvp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False) -> tuple[Any, Any]:
    """Return the output, and the product of the second derivatives with a vector.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.autograd.functional.hvp(lambda x: (x**3).sum(), torch.tensor([2.0]), torch.tensor([1.0]))
    (tensor(8.), tensor([12.]))
    """
    starts = _started(inputs, create_graph)
    output = func(*starts)
    first: Any = grad(output, starts, create_graph=True, materialize_grads=True)
    vectors = (v,) if isinstance(v, Tensor) or v is None else tuple(v)
    found = grad(first, starts, vectors, create_graph, create_graph, materialize_grads=True)
    return (output if create_graph else output.detach()), _same_form(list(found), inputs)


def vhp(func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False) -> tuple[Any, Any]:
    """Return the output, and the product of a vector with the second derivatives, which are symmetric.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.autograd.functional.vhp(lambda x: (x**3).sum(), torch.tensor([2.0]), torch.tensor([1.0]))[1]
    tensor([12.])
    """
    return hvp(func, inputs, v, create_graph)


__getattr__ = module_getattr(__name__, globals(), {})
