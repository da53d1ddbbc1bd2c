"""What the annotations of the package mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias, TypedDict

from forerun._forerun import dtype, ndarray


class SupportsArray(Protocol):
    """What NumPy can turn into an array."""

    def __array__(self) -> Any:
        """Give a NumPy array."""


class Prefetch(TypedDict):
    """Bytes that may be taken ahead of the oldest unfinished work, and how many of them are."""

    allowance: int
    used: int


class Holds(TypedDict):
    """How often, and for how long altogether, submissions were held."""

    times: int
    seconds: float


class Held(TypedDict):
    """Why submissions were held."""

    window: Holds
    host: Holds


class Allocated(TypedDict):
    """What was ever taken for arrays."""

    bytes: int
    count: int


class Holder(TypedDict):
    """What the arrays made at one line, by one op, hold."""

    file: str
    line: int
    op: str
    bytes: int
    arrays: int


class _Memory(TypedDict):
    """What is known of the memory of every device."""

    live: int
    peak: int
    cached: int
    promised: int
    budget: int
    holders: list[Holder]


class MemoryStats(_Memory):
    """What memory is used for; see ``forerun.memory_stats``."""

    prefetch: Prefetch
    queued_records: int
    queued_host: int
    held: Held
    allocated: Allocated


class DeviceMemoryStats(_Memory):
    """What the memory of a GPU is used for; see ``forerun.memory_stats``."""

    capacity: int
    description: str


Out: TypeAlias = "ndarray | tuple[ndarray] | None"
Number: TypeAlias = "bool | int | float | complex"
ArrayLike: TypeAlias = "ndarray | Number | SupportsArray | Sequence[Any]"
DTypeLike: TypeAlias = "dtype | str | type | Any"
ShapeLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"
AxisLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex] | None"
