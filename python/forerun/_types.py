"""What the annotations of the package mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias

from forerun._forerun import dtype, ndarray


class SupportsArray(Protocol):
    """What NumPy can turn into an array."""

    def __array__(self) -> Any:
        """Give a NumPy array."""


Number: TypeAlias = "bool | int | float"
ArrayLike: TypeAlias = "ndarray | Number | SupportsArray | Sequence[Any]"
DTypeLike: TypeAlias = "dtype | str | type | Any"
ShapeLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"
AxisLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex] | None"
