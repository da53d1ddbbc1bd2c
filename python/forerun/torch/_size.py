"""The extents of a tensor."""

from __future__ import annotations

import math
from typing import Any


class Size(tuple[int, ...]):
    """The extents of a tensor: a tuple with PyTorch's notation.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.ones(2, 3).shape
    torch.Size([2, 3])
    >>> torch.ones(2, 3).shape == (2, 3), torch.Size([2, 3]).numel()
    (True, 6)
    """

    __slots__ = ()

    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self)

    def __getitem__(self, index: Any) -> Any:
        """Return one extent, or a size of some of them."""
        chosen = super().__getitem__(index)
        return Size(chosen) if isinstance(index, slice) else chosen

    def __add__(self, other: Any) -> Size:
        """Append extents."""
        return Size(tuple(self) + tuple(other))

    def __repr__(self) -> str:
        """Return PyTorch's notation."""
        return f"torch.Size([{', '.join(map(str, self))}])"
