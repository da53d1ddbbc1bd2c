"""The recorded operations as PyTorch shows them, and hooks on the gradients of tensors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from forerun import _forerun
from forerun._dialect.link import Link
from forerun._dialect.mode import MODE, recorded

if TYPE_CHECKING:
    from forerun.torch._tensor import Tensor

_NUMBERS = itertools.count()


class Node:
    """A recorded operation: what ``grad_fn`` returns. It can be printed, and it knows those before it.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.sin(x).grad_fn
    <SinBackward>
    >>> torch.sin(x).grad_fn.next_functions
    ((<AccumulateGrad>, 0),)
    """

    __slots__ = ("_link",)

    def __init__(self, link: Link) -> None:
        self._link = link

    def name(self) -> str:
        """Return the name of the operation."""
        if self._link.leaf is not None:
            return "AccumulateGrad"
        parts = [part for part in self._link.name.strip("_").split("_") if part and "<" not in part]
        return "".join(part[0].upper() + part[1:] for part in parts) + "Backward"

    @property
    def next_functions(self) -> tuple[tuple[Node, int], ...]:
        """The operations whose results this one used, those that need gradients; empty after a backward pass."""
        return tuple((Node(link), 0) for link in self._link.inputs)

    @property
    def variable(self) -> Any:
        """The leaf, if this stands for one."""
        return None if self._link.leaf is None else self._link.leaf()

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same operation."""
        return isinstance(other, Node) and self._link is other._link

    def __hash__(self) -> int:
        """Return a hash that is consistent with equality."""
        return id(self._link)

    def __repr__(self) -> str:
        """Return the name in angle brackets."""
        return f"<{self.name()}>"


class RemovableHandle:
    """What a hook's registration returns: ``remove`` ends it, and so does the end of a ``with`` block."""

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self._hooks, self.id = hooks, next(_NUMBERS)
        hooks[self.id] = hook

    def remove(self) -> None:
        """Do not call the hook any more."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        """Return the handle."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove the hook."""
        self.remove()


def passing(arrays: list[Any], callback: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """Return arrays of the same values on the tape, whose gradients pass through a function."""
    copies = [array.detach() for array in arrays]
    return recorded(_forerun.record_function, arrays, copies, callback)


def watch_gradient(tensor: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Call a function with the gradient of a tensor in each backward pass."""
    link = tensor._link
    assert link is not None, "only tensors that require gradients are watched"
    if link.leaf is not None:
        link.hooks = {} if link.hooks is None else link.hooks
        return RemovableHandle(link.hooks, hook)
    hooks: dict[int, Callable[[Tensor], Any]] = {}

    def passed(grads: list[Any]) -> list[Any]:
        grad = grads[0]
        for each in list(hooks.values()):
            given = each(tensor._of(grad))
            grad = grad if given is None else given._array
        return [grad]

    tensor._array = passing([tensor._array], passed)[0]
    tensor._link = Link([link], name=link.name)
    return RemovableHandle(hooks, hook)


def keep_gradient(tensor: Tensor) -> None:
    """Make a tensor that is no leaf keep its gradient as ``grad``."""

    def keep(grad: Tensor) -> None:
        former = MODE.grad
        MODE.grad = False
        try:
            tensor._grad = grad.clone() if tensor._grad is None else tensor._grad + grad
        finally:
            MODE.grad = former

    watch_gradient(tensor, keep)
