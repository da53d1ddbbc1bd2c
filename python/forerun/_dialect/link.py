"""Which leaves a tensor was computed from.

The engine's tape knows the gradients; this chain of links only says whose ``grad`` a backward pass fills, because a
dialect's ``grad`` is ``None`` until then. A link holds no array, so it keeps no buffer alive.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forerun._dialect.tensor import Tensor


class Link:
    """The inputs of one operation: the links of its operands; or a leaf."""

    __slots__ = ("inputs", "leaf")

    def __init__(self, inputs: Sequence[Link] = (), leaf: Tensor | None = None) -> None:
        self.inputs = tuple(inputs)
        self.leaf = None if leaf is None else weakref.ref(leaf)


def reach(head: Link) -> list[Link]:
    """Return every link that leads to this one, including itself, each once."""
    seen = {id(head)}
    found = [head]
    # Iterative, because a deep network would exceed Python's recursion limit.
    for link in found:
        for earlier in link.inputs:
            if id(earlier) not in seen:
                seen.add(id(earlier))
                found.append(earlier)
    return found
