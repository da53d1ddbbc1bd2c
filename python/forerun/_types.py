"""Types used in annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias, TypedDict

from forerun._forerun import dtype, ndarray


class SupportsArray(Protocol):
    """An object that NumPy can convert to an array."""

    def __array__(self) -> Any:
        """Return a NumPy array."""


class Prefetch(TypedDict):
    """The allowance for memory allocated ahead of the oldest unfinished work, and how much of it is used."""

    allowance: int
    used: int


class Holds(TypedDict):
    """How often and for how long in total submissions waited."""

    times: int
    seconds: float


class Held(TypedDict):
    """Why submissions waited."""

    window: Holds
    host: Holds


class Allocated(TypedDict):
    """Total allocations for arrays."""

    bytes: int
    count: int


class Holder(TypedDict):
    """The memory held by arrays made at one line by one op."""

    file: str
    line: int
    op: str
    bytes: int
    arrays: int


class _Memory(TypedDict):
    """Memory statistics that every device has."""

    live: int
    peak: int
    cached: int
    promised: int
    budget: int
    holders: list[Holder]


class MemoryStats(_Memory):
    """Memory statistics; see ``forerun.memory_stats``."""

    prefetch: Prefetch
    queued_records: int
    queued_host: int
    held: Held
    allocated: Allocated


class DeviceMemoryStats(_Memory):
    """Memory statistics of a GPU; see ``forerun.memory_stats``."""

    capacity: int
    description: str


Out: TypeAlias = "ndarray | tuple[ndarray] | None"
Number: TypeAlias = "bool | int | float | complex"
ArrayLike: TypeAlias = "ndarray | Number | SupportsArray | Sequence[Any]"
DTypeLike: TypeAlias = "dtype | str | type | Any"
ShapeLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"
AxisLike: TypeAlias = "SupportsIndex | Sequence[SupportsIndex] | None"
