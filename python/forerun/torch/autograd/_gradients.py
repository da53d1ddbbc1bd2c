"""Gradients of tensors with respect to tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forerun import _forerun
from forerun._dialect.link import Link, reach
from forerun._dialect.mode import recorded
from forerun._dialect.tensor import to_array
from forerun.torch._tensor import Tensor

__all__ = ["backward", "grad", "gradcheck"]


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, Tensor) or value is None else list(value)


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of outputs with respect to inputs, without changing any ``grad``.

    Parameters
    ----------
    outputs : Tensor or sequence of Tensor
        What is differentiated. Tensors of several elements need ``grad_outputs``.
    inputs : Tensor or sequence of Tensor
        What it is differentiated with respect to: leaves, or tensors on the way.
    grad_outputs : Tensor or sequence, optional
        The gradient of each output; ones for tensors of one element.
    retain_graph : bool, optional
        Whether to keep the graph for another pass; as ``create_graph`` if not given.
    create_graph : bool
        Whether to record the gradients, so that they can be differentiated.
    allow_unused : bool, optional
        Whether an input that the outputs do not depend on gives None; otherwise it raises.
    is_grads_batched : bool
        Must be False.
    materialize_grads : bool
        Whether unused inputs give zeros.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> (first,) = torch.autograd.grad(x**3, x, create_graph=True)
    >>> torch.autograd.grad(first, x)
    (tensor([12.]),)
    """
    if is_grads_batched:
        raise RuntimeError("grad: is_grads_batched is not supported: call grad once per gradient")
    heads, variables = _listed(outputs), _listed(inputs)
    given = _listed(grad_outputs) if grad_outputs is not None else [None] * len(heads)
    for head, gradient in zip(heads, given, strict=True):
        if head._link is None:
            raise RuntimeError("grad: an output neither requires gradients nor was computed from a tensor that does")
        if gradient is None and head.numel() != 1:
            raise RuntimeError(f"grad: an output of shape {tuple(head.shape)} needs a gradient of that shape")
    reached = {id(link) for link in reach(*[head._link for head in heads])}
    used = []
    for variable in variables:
        if variable._link is None:
            raise RuntimeError("grad: an input does not require gradients")
        used.append(id(variable._link) in reached)
    if not all(used) and not (allow_unused or materialize_grads):
        raise RuntimeError("grad: the outputs do not depend on an input; with allow_unused=True its gradient is None")
    retain = create_graph if retain_graph is None else retain_graph
    arrays = [variable._array for variable, use in zip(variables, used, strict=True) if use]
    found: list[Any] = []
    if arrays:
        call = (_forerun.gradients, [head._array for head in heads], arrays, [to_array(g) for g in given], retain)
        found = recorded(*call, True) if create_graph else _forerun.gradients(*call[1:], False)
    links = [tensor._link for tensor in (*heads, *given) if isinstance(tensor, Tensor) and tensor._link is not None]
    link = Link(links, name="grad") if create_graph else None
    results = iter(found)
    made: list[Tensor | None] = []
    for variable, use in zip(variables, used, strict=True):
        if use:
            array = next(results)
            made.append(Tensor._of(array, link) if link is not None else Tensor._of(array.detach()))
        else:
            made.append(variable.detach() * 0 if materialize_grads else None)
    return tuple(made)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Add the gradients of several tensors to the ``grad`` of the leaves they were computed from.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> torch.autograd.backward([x * 2, x * 3])
    >>> x.grad
    tensor([5.])
    """
    heads = _listed(tensors)
    given = _listed(grad_tensors) if grad_tensors is not None else [None] * len(heads)
    for number, (head, gradient) in enumerate(zip(heads, given, strict=True)):
        keep = bool(retain_graph) or number + 1 < len(heads)
        head.backward(gradient, keep, create_graph)


def gradcheck(
    func: Any, inputs: Any, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True
) -> bool:
    """Compare gradients with finite differences; the inputs must be float64. Waits for values.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, (x,))
    True
    """
    import numpy

    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for place, x in enumerate(given):
        if not isinstance(x, Tensor) or not x.requires_grad:
            continue
        if x.dtype.name != "float64":
            raise ValueError(f"gradcheck: the inputs must be float64, got {x.dtype.name}")
        out = func(*given)
        weight = numpy.cos(numpy.arange(out.numel(), dtype="float64")).reshape(tuple(out.shape))
        gradient = grad(out, x, Tensor._of(_forerun.from_numpy(weight)))[0]
        assert gradient is not None, "the output depends on the input, or grad raises"
        exact, point = gradient.numpy(), x.detach().numpy()
        for index in numpy.ndindex(point.shape):
            values = []
            for step in (eps, -eps):
                moved = point.copy()
                moved[index] += step
                other = Tensor._of(_forerun.from_numpy(moved))
                values.append((func(*given[:place], other, *given[place + 1 :]).detach().numpy() * weight).sum())
            estimate = (values[0] - values[1]) / (2 * eps)
            if abs(estimate - exact[index]) > atol + rtol * abs(estimate):
                if raise_exception:
                    raise RuntimeError(
                        f"gradcheck: the gradient of input {place} at {index} is {exact[index]}, "
                        f"finite differences give {estimate}"
                    )
                return False
    return True
