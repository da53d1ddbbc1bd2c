"""The engine's counters and switches, for tests, benches and the curious.

No program needs them for its results: whatever is switched, values stay the same bit for bit.
"""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar, overload

from forerun import _forerun
from forerun._forerun import Device
from forerun._missing import module_getattr as _module_getattr
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
    """What a switch returns: used in a ``with`` statement, it puts the old setting back at the end.

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
        """Put the old setting back."""
        self._switch(self.old)


def set_drop_dead(on: bool) -> Restore[bool]:
    """Say whether results that nobody can look at are left out.

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
    """Say whether pointwise chains become one pass over memory.

    Examples
    --------
    >>> from forerun import engine, np
    >>> with engine.set_fuse(False):
    ...     np.ones((2,)) * 2 + 1
    array([3., 3.])
    """
    return Restore(_forerun.set_fuse, _forerun.set_fuse(on))


def num_threads() -> int:
    """Say how many threads compute; 1 if the engine has none of its own and whoever waits does.

    Examples
    --------
    >>> import forerun
    >>> forerun.num_threads() >= 1
    True
    """
    return _forerun.num_threads()


def set_num_threads(threads: int) -> Restore[int]:
    """Change how many threads compute, for the whole process, at any time and from any thread.

    Threads that are too many leave after the task that they run; missing ones start when there is something to do. At
    the start there are as many as ``FORERUN_NUM_THREADS`` says, else ``OMP_NUM_THREADS``, else as many as
    there are cores that the process may use. Values do not depend on the number.

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
    """Say up to how many elements an op may run on the spot instead of on a worker.

    Examples
    --------
    >>> from forerun import engine, np
    >>> with engine.set_tiny_limit(0):
    ...     np.ones((2,)) + 1
    array([2., 2.])
    """
    return Restore(_forerun.set_tiny_limit, _forerun.set_tiny_limit(elements))


def set_writable_asnumpy(on: bool) -> Restore[bool]:
    """Say whether ``asnumpy()`` and ``numpy.asarray`` give a copy that may be written, for the whole process.

    Without it they give a read-only view of the value's bytes, which costs nothing.

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
    """Return the engine's counters.

    Examples
    --------
    >>> from forerun import engine, np
    >>> before = engine.stats()["records"]
    >>> y = np.ones((2,)) + 1
    >>> engine.stats()["records"] > before
    True
    """
    return _forerun.stats()


@overload
def memory_stats(holders: int = 10, device: None = None) -> MemoryStats: ...
@overload
def memory_stats(holders: int = 10, *, device: Device) -> MemoryStats | DeviceMemoryStats: ...
def memory_stats(holders: int = 10, device: Device | None = None) -> MemoryStats | DeviceMemoryStats:
    """Return what memory is used for, and by which lines of the program.

    Parameters
    ----------
    holders
        How many of the lines that hold the most are named.
    device
        Whose memory; the host's without one. All devices of the host share its memory.

    Returns
    -------
    dict
        Plain dicts and lists; sizes are in bytes, as the pool rounds them.

        ``live``
            bytes of arrays now
        ``peak``
            the most of them at once, since the start or ``reset_peak()``
        ``cached``
            bytes kept for reuse; ``empty_cache()`` gives them back
        ``promised``
            bytes that planned work will take when it starts
        ``budget``
            how many live bytes running ahead may reach
        ``prefetch``
            ``allowance``: bytes that random numbers and host copies may take ahead of the oldest unfinished work;
            ``used``: what random numbers have taken of it
        ``queued_records``
            ops submitted and not yet planned
        ``queued_host``
            bytes copied from the host whose arrays nobody holds any more and that wait for their readers
        ``held``
            ``times`` and ``seconds`` for which submissions were held, because the ``window`` was full and because
            more ``host`` bytes would have been queued than the allowance
        ``allocated``
            ``bytes`` and ``count`` of all that was ever taken for arrays
        ``holders``
            the lines that hold the most, the largest first: ``file``, ``line``, ``op``, ``bytes``, ``arrays``;
            arrays below 4 KiB are left out

        For a GPU ``live``, ``peak``, ``cached``, ``promised``, ``budget`` and ``holders``, and also

        ``capacity``
            how many bytes arrays may take
        ``description``
            what it is

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
        return _forerun.memory_stats(holders)
    return _forerun.gpu_memory_stats(device, holders)


def reset_peak(device: Device | None = None) -> None:
    """Let the peak of ``memory_stats`` start again from what is live now, on the host or on a GPU.

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
    """Set how many live bytes running ahead may reach; ``FORERUN_BUDGET`` is what it begins with.

    The oldest unfinished work may always go on, so a small budget makes a program slower, never wrong.

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
    """Give the bytes kept for reuse back to the system, on every device.

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
    """One op as it was submitted."""

    op: str
    value: int
    inputs: list[int]
    shape: list[int]
    file: str
    line: int


class Graph:
    """The ops submitted inside a ``with`` statement, and what each of them needs.

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
        """Start noting."""
        _forerun.note_submissions(True)
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop noting and keep what was noted."""
        self.submissions = [Submission(*entry) for entry in _forerun.note_submissions(False)]

    def __iter__(self) -> Iterator[Submission]:
        """Go through the ops in the order of their submission."""
        return iter(self.submissions)

    def names(self) -> dict[int, str]:
        """Return a short name for every value, in order of appearance."""
        names: dict[int, str] = {}
        for entry in self.submissions:
            for value in [*entry.inputs, entry.value]:
                names.setdefault(value, f"v{len(names)}")
        return names

    def __str__(self) -> str:
        """Write one line an op."""
        names = self.names()
        return "\n".join(
            f"{names[e.value]} = {e.op}({', '.join(names[i] for i in e.inputs)}) {tuple(e.shape)}" for e in self
        )


def graph() -> Graph:
    """Note what is submitted: use it in a ``with`` statement, then look at it or print it."""
    return Graph()


def __dir__() -> list[str]:
    return sorted(__all__)


# A checker of types is to miss what is not there.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
