"""Counters and switches of the engine, for tests, benchmarks and debugging.

The switches do not change results: values stay the same bit for bit.
"""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar, overload

from forerun import _forerun
from forerun._forerun import Device
from forerun._missing import module_getattr as _module_getattr
from forerun._statistics import Counters, MemoryReport
from forerun._types import DeviceMemoryStats, MemoryStats

__all__ = [
    "Graph",
    "Restore",
    "Submission",
    "empty_cache",
    "graph",
    "memory_stats",
    "num_threads",
    "reset_peak",
    "set_budget",
    "set_drop_dead",
    "set_fuse",
    "set_num_threads",
    "set_tiny_limit",
    "set_writable_asnumpy",
    "stats",
]

_T = TypeVar("_T")


class Restore(Generic[_T]):
    """The result of a switch; as a context manager it restores the old setting at the end.

    Attributes
    ----------
    old
        The setting before the switch.
    """

    def __init__(self, switch: Callable[[_T], _T], old: _T) -> None:
        self._switch = switch
        self.old = old

    def __enter__(self) -> Restore[_T]:
        """Do nothing: the switch was set when it was called."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Restore the old setting."""
        self._switch(self.old)


def set_drop_dead(on: bool) -> Restore[bool]:
    """Set whether results that nobody can read are skipped.

    Examples
    --------
    >>> from forerun import engine, np
    >>> with engine.set_drop_dead(False):
    ...     for _ in range(3):
    ...         y = np.ones((2,)) + 1
    >>> y
    array([2., 2.])
    """
    return Restore(_forerun.set_drop_dead, _forerun.set_drop_dead(on))


def set_fuse(on: bool) -> Restore[bool]:
    """Set whether chains of pointwise ops are fused into one pass over memory.

    Examples
    --------
    >>> from forerun import engine, np
    >>> with engine.set_fuse(False):
    ...     np.ones((2,)) * 2 + 1
    array([3., 3.])
    """
    return Restore(_forerun.set_fuse, _forerun.set_fuse(on))


def num_threads() -> int:
    """Return the number of threads that compute; 1 if the engine has no workers and waiting threads compute.

    Examples
    --------
    >>> import forerun
    >>> forerun.num_threads() >= 1
    True
    """
    return _forerun.num_threads()


def set_num_threads(threads: int) -> Restore[int]:
    """Set the number of worker threads of the process; may be called at any time, from any thread.

    Surplus threads end after their current task; additional ones start when there is work. The initial number is
    ``FORERUN_NUM_THREADS``, or else ``OMP_NUM_THREADS``, or else the number of cores that the process may use. Results
    do not depend on the number.

    Examples
    --------
    >>> import forerun
    >>> from forerun import np
    >>> with forerun.set_num_threads(2):
    ...     (np.ones((300, 300)) @ np.ones((300, 300)))[0, 0].item()
    300.0
    """
    return Restore(_forerun.set_num_threads, _forerun.set_num_threads(threads))


def set_tiny_limit(elements: int) -> Restore[int]:
    """Set up to how many elements an op may run inline instead of on a worker.

    Examples
    --------
    >>> from forerun import engine, np
    >>> with engine.set_tiny_limit(0):
    ...     np.ones((2,)) + 1
    array([2., 2.])
    """
    return Restore(_forerun.set_tiny_limit, _forerun.set_tiny_limit(elements))


def set_writable_asnumpy(on: bool) -> Restore[bool]:
    """Set whether ``asnumpy()`` and ``numpy.asarray`` return a writable copy, for the whole process.

    By default they return a read-only view of the value's bytes, without a copy.

    Examples
    --------
    >>> from forerun import engine, np
    >>> x = np.zeros((2,))
    >>> with engine.set_writable_asnumpy(True):
    ...     x.asnumpy().flags.writeable
    True
    >>> x.asnumpy().flags.writeable
    False
    """
    return Restore(_forerun.set_writable_asnumpy, _forerun.set_writable_asnumpy(on))


def stats() -> dict[str, int]:
    """Return the engine's counters: a dictionary that prints as a table.

    Examples
    --------
    >>> from forerun import engine, np
    >>> before = engine.stats()["records"]
    >>> y = np.ones((2,)) + 1
    >>> engine.stats()["records"] > before
    True
    """
    return Counters(_forerun.stats())


@overload
def memory_stats(holders: int = 10, device: None = None) -> MemoryStats: ...
@overload
def memory_stats(holders: int = 10, *, device: Device) -> MemoryStats | DeviceMemoryStats: ...
def memory_stats(holders: int = 10, device: Device | None = None) -> MemoryStats | DeviceMemoryStats:
    """Return memory statistics, including the lines of the program that hold the most memory.

    Parameters
    ----------
    holders
        How many lines to list.
    device
        The device; the host if not given. All host devices share one memory.

    Returns
    -------
    dict
        A dictionary that prints as tables. Sizes are in bytes, rounded to the allocator's size classes.

        ``live``
            bytes of arrays now
        ``peak``
            maximum of ``live`` since the start or ``reset_peak()``
        ``cached``
            bytes kept for reuse; ``empty_cache()`` releases them
        ``promised``
            bytes that planned work will allocate when it starts
        ``budget``
            limit of live bytes for running ahead
        ``prefetch``
            ``allowance``: bytes that random numbers and host copies may use ahead of the oldest unfinished work;
            ``used``: how much of it random numbers use
        ``queued_records``
            ops submitted and not yet planned
        ``queued_host``
            bytes copied from the host whose arrays the program has dropped and that pending ops still read
        ``held``
            ``times`` and ``seconds`` that submissions waited, because the ``window`` was full or because the queued
            ``host`` bytes would have exceeded the allowance
        ``allocated``
            ``bytes`` and ``count`` of all allocations so far
        ``holders``
            the lines that hold the most, the largest first: ``file``, ``line``, ``op``, ``bytes``, ``arrays``;
            arrays below 4 KiB are not counted

        For a GPU ``live``, ``peak``, ``cached``, ``promised``, ``budget`` and ``holders``, and also

        ``capacity``
            bytes available for arrays
        ``description``
            name of the device

    Examples
    --------
    >>> import forerun
    >>> from forerun import np
    >>> before = forerun.memory_stats()
    >>> x = np.ones((1024, 1024))
    >>> x.wait_to_read()
    >>> after = forerun.memory_stats(holders=3)
    >>> after["live"] - before["live"]
    4194304
    >>> after["allocated"]["count"] - before["allocated"]["count"]
    1
    >>> any(line["op"] == "full" for line in after["holders"])
    True
    """
    if device is None or device.device_type == "cpu":
        return _typing.cast(MemoryStats, MemoryReport(_forerun.memory_stats(holders)))
    return _typing.cast(DeviceMemoryStats, MemoryReport(_forerun.gpu_memory_stats(device, holders)))


def reset_peak(device: Device | None = None) -> None:
    """Reset the peak of ``memory_stats`` to the bytes live now, on the host or on a GPU.

    Examples
    --------
    >>> import forerun
    >>> forerun.reset_peak()
    >>> stats = forerun.memory_stats()
    >>> stats["peak"] - stats["live"]
    0
    """
    _forerun.reset_peak(device)


def set_budget(size: int) -> Restore[int]:
    """Set the limit of live bytes for running ahead; ``FORERUN_BUDGET`` is its initial value.

    The oldest unfinished op may always start, so a small budget makes a program slower, never incorrect.

    Parameters
    ----------
    size
        Bytes.

    Examples
    --------
    >>> from forerun import engine
    >>> before = engine.memory_stats()["budget"]
    >>> with engine.set_budget(1 << 20):
    ...     engine.memory_stats()["budget"]
    1048576
    >>> engine.memory_stats()["budget"] == before
    True
    """
    if size <= 0:
        raise ValueError(f"set_budget: the budget must be positive, got {size}")
    return Restore(_forerun.set_budget, _forerun.set_budget(size))


def empty_cache() -> None:
    """Release memory kept for reuse to the system, on every device.

    Examples
    --------
    >>> import forerun
    >>> from forerun import np
    >>> x = np.ones((1024, 1024))
    >>> x.wait_to_read()
    >>> del x
    >>> before = forerun.memory_stats()["cached"]
    >>> forerun.empty_cache()
    >>> forerun.memory_stats()["cached"] < before
    True
    """
    _forerun.empty_cache()


class Submission(NamedTuple):
    """A submitted op."""

    op: str
    value: int
    inputs: list[int]
    shape: list[int]
    file: str
    line: int


class Graph:
    """The ops submitted inside a ``with`` statement, and their dependencies.

    Examples
    --------
    >>> from forerun import engine, np
    >>> with engine.graph() as g:
    ...     x = np.ones((1, 2))
    ...     z = x * x + 2
    >>> print(g)
    v0 = full() (1, 2)
    v1 = multiply(v0, v0) (1, 2)
    v2 = add(v1) (1, 2)
    """

    def __init__(self) -> None:
        self.submissions: list[Submission] = []

    def __enter__(self) -> Graph:
        """Start recording."""
        _forerun.note_submissions(True)
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop recording and keep the ops."""
        self.submissions = [Submission(*entry) for entry in _forerun.note_submissions(False)]

    def __iter__(self) -> Iterator[Submission]:
        """Iterate over the ops in the order of their submission."""
        return iter(self.submissions)

    def names(self) -> dict[int, str]:
        """Return a short name for every value, in order of appearance."""
        names: dict[int, str] = {}
        for entry in self.submissions:
            for value in [*entry.inputs, entry.value]:
                names.setdefault(value, f"v{len(names)}")
        return names

    def __str__(self) -> str:
        """Return one line per op."""
        names = self.names()
        return "\n".join(
            f"{names[e.value]} = {e.op}({', '.join(names[i] for i in e.inputs)}) {tuple(e.shape)}" for e in self
        )


def graph() -> Graph:
    """Record submitted ops inside a ``with`` statement; print or iterate over the result."""
    return Graph()


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
