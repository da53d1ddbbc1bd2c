"""Which leaves a tensor was computed from.

The engine's tape knows the gradients; this chain of links only says whose ``grad`` a backward pass fills, because a
dialect's ``grad`` is ``None`` until then. A link holds no array, so it keeps no buffer alive.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forerun._dialect.tensor import Tensor


class Link:
    """The inputs of one operation: the links of its operands; or a leaf.

    Attributes
    ----------
    name : str
        The name of the operation.
    hooks : dict
        Functions that are called with the leaf's gradient in each backward pass, by their handles' numbers.
    """

    __slots__ = ("__weakref__", "hooks", "inputs", "leaf", "name")

    def __init__(self, inputs: Sequence[Link] = (), leaf: Tensor | None = None, name: str = "") -> None:
        self.inputs = tuple(inputs)
        self.leaf = None if leaf is None else weakref.ref(leaf)
        self.name = name
        self.hooks: dict[int, Callable[[Any], Any]] | None = None


def reach(*heads: Link) -> list[Link]:
    """Return every link that leads to these, including themselves, each once."""
    found: list[Link] = []
    seen: set[int] = set()
    for head in heads:
        if id(head) not in seen:
            seen.add(id(head))
            found.append(head)
    # Iterative, because a deep network would exceed Python's recursion limit.
    for link in found:
        for earlier in link.inputs:
            if id(earlier) not in seen:
                seen.add(id(earlier))
                found.append(earlier)
    return found


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of the operation that a function of arrays computes."""
    name: str = getattr(function, "__qualname__", "") or type(function).__name__
    # A function inside another is named after the outer one: `softmax.<locals>.<lambda>`.
    return name.partition(".<locals>")[0].rpartition(".")[2]
