"""``mxnet.profiler``: traces of what the engine runs, and events of the program, in one timeline.

The profiler records a ``forerun.trace``; see there for what an event of the engine says.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

from forerun._trace import Trace
from forerun.mxnet._aggregates import Aggregates

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "scope",
    "set_config",
    "set_state",
]

# The settings of MXNet's ``set_config``. Those that only select what MXNet records are accepted and change nothing.
_SETTINGS: dict[str, Any] = {
    "filename": "profile.json",
    "gpu_memory_profile_filename_prefix": "gpu_memory_profile",
    "profile_all": False,
    "profile_symbolic": True,
    "profile_imperative": True,
    "profile_memory": True,
    "profile_api": True,
    "continuous_dump": False,
    "dump_period": 1.0,
    "aggregate_stats": False,
    "profile_process": "worker",
}
_STATS = ("total", "avg", "min", "max", "count")


class _Profiler:
    """The state of the profiler: finished traces, marks of the program, and the trace that runs."""

    def __init__(self) -> None:
        self.settings = dict(_SETTINGS)
        self.lock = threading.RLock()
        self.running = self.paused = False
        self.origin = time.perf_counter()
        self.trace: Trace | None = None
        self.begun = 0.0
        self.rows: list[dict[str, Any]] = []
        self.aggregates = Aggregates()

    def now(self) -> float:
        return (time.perf_counter() - self.origin) * 1e6

    def start(self) -> None:
        if self.trace is None and self.running and not self.paused:
            self.trace = Trace()
            self.begun = self.now()
            self.trace.__enter__()

    def stop(self) -> None:
        """End the running trace and keep its rows."""
        if self.trace is None:
            return
        trace, self.trace = self.trace, None
        trace.__exit__(None, None, None)
        for row in trace.timeline()["traceEvents"]:
            self.rows.append({**row, "ts": row["ts"] + self.begun} if row["ph"] != "M" else row)
        self.aggregates.add_trace(trace)

    def collect(self) -> None:
        """Keep what was recorded so far; recording goes on."""
        self.stop()
        self.start()

    def mark(self, row: dict[str, Any]) -> None:
        with self.lock:
            if self.running and not self.paused:
                place = {"pid": os.getpid(), "tid": threading.get_native_id()}
                self.rows.append({**place, **row})


_PROFILER = _Profiler()


def set_config(**kwargs: Any) -> None:
    """Set the options of the profiler.

    Parameters
    ----------
    filename
        The file that :func:`dump` writes, ``"profile.json"`` by default.
    profile_all, profile_symbolic, profile_imperative, profile_memory, profile_api, aggregate_stats, continuous_dump, \
dump_period, profile_process, gpu_memory_profile_filename_prefix
        Accepted for compatibility: everything is recorded, and written when :func:`dump` is called.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.profiler.set_config(profile_all=True, filename="profile.json")
    """
    unknown = sorted(set(kwargs) - set(_SETTINGS))
    if unknown:
        raise ValueError(f"set_config: {', '.join(unknown)}: not an option; there are {', '.join(_SETTINGS)}")
    _PROFILER.settings.update(kwargs)


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Start or stop the profiler.

    Parameters
    ----------
    state
        ``"run"`` or ``"stop"``.
    profile_process
        Accepted for compatibility: there is one process.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.profiler.set_state("run")
    >>> mx.profiler.set_state("stop")
    """
    if state not in ("run", "stop"):
        raise ValueError(f"set_state: state must be run or stop, got {state!r}")
    with _PROFILER.lock:
        _PROFILER.running = state == "run"
        if state == "run":
            _PROFILER.start()
        else:
            _PROFILER.stop()


def pause(profile_process: str = "worker") -> None:
    """Stop recording until :func:`resume`.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.profiler.pause()
    >>> mx.profiler.resume()
    """
    with _PROFILER.lock:
        _PROFILER.paused = True
        _PROFILER.stop()


def resume(profile_process: str = "worker") -> None:
    """Record again after :func:`pause`.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.profiler.resume()
    """
    with _PROFILER.lock:
        _PROFILER.paused = False
        _PROFILER.start()


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Write everything recorded so far to the configured file, in the trace event format.

    https://ui.perfetto.dev and ``chrome://tracing`` display the file.

    Parameters
    ----------
    finished
        Whether to stop the profiler.
    profile_process
        Accepted for compatibility: there is one process.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import mxnet as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mx.profiler.set_config(filename=os.path.join(folder, "profile.json"))
    ...     mx.profiler.set_state("run")
    ...     (mx.np.ones((2, 2)) + 1).wait_to_read()
    ...     mx.profiler.dump()
    ...     os.path.getsize(os.path.join(folder, "profile.json")) > 0
    True
    >>> mx.profiler.set_config(filename="profile.json")
    """
    with _PROFILER.lock:
        _PROFILER.collect()
        if finished:
            set_state("stop")
        rows = sorted(_PROFILER.rows, key=lambda row: row.get("ts", 0))
        with open(_PROFILER.settings["filename"], "w", encoding="utf-8") as file:
            json.dump({"traceEvents": rows, "displayTimeUnit": "ms"}, file)


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> str:
    """Return statistics of what was recorded: calls and times of ops, tasks, frames and events, and bytes of results.

    Parameters
    ----------
    reset
        Whether to begin the statistics again.
    format
        ``"table"`` or ``"json"``.
    sort_by
        ``"total"``, ``"avg"``, ``"min"``, ``"max"`` or ``"count"``.
    ascending
        Whether the smallest comes first.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> text = mx.profiler.dumps(reset=True)
    >>> mx.profiler.set_state("run")
    >>> with mx.profiler.scope("setup"):
    ...     (mx.np.ones((2, 2)) + 1).wait_to_read()
    >>> mx.profiler.set_state("stop")
    >>> "setup" in mx.profiler.dumps(reset=True)
    True
    """
    if format not in ("table", "json"):
        raise ValueError(f"dumps: format must be table or json, got {format!r}")
    if sort_by not in _STATS:
        raise ValueError(f"dumps: sort_by must be one of {', '.join(_STATS)}, got {sort_by!r}")
    with _PROFILER.lock:
        _PROFILER.collect()
        sections = _PROFILER.aggregates.sections(sort_by.capitalize(), ascending)
        if reset:
            _PROFILER.aggregates = Aggregates()
    return json.dumps(sections, indent=4) if format == "json" else Aggregates.table(sections)


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """Call :func:`set_config`; the name of older programs.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.profiler.profiler_set_config("all", "profile.json")
    """
    set_config(**{f"profile_{mode}": True, "filename": filename})


def profiler_set_state(state: str = "stop") -> None:
    """Call :func:`set_state`; the name of older programs.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.profiler.profiler_set_state("stop")
    """
    set_state(state)


def dump_profile() -> None:
    """Call :func:`dump`; the name of older programs.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> callable(mx.profiler.dump_profile)
    True
    """
    dump(True)


class Domain:
    """A group of tasks, frames, counters and markers: the category in the timeline.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> domain = mx.profiler.Domain("training")
    >>> print(domain.new_task("epoch"))
    epoch
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    def new_task(self, name: str) -> Task:
        """Make a task of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """Make a frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: float | None = None) -> Counter:
        """Make a counter of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """Make a marker of this domain."""
        return Marker(self, name)


class _Span:
    """Something with a start and an end."""

    def __init__(self, category: str, name: str) -> None:
        self.name = name
        self._category = category
        self._begun: float | None = None

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    def start(self) -> None:
        """Note the start."""
        self._begun = _PROFILER.now()

    def stop(self) -> None:
        """Note the end and add the time in between to the timeline."""
        if self._begun is None:
            return
        begun, self._begun = self._begun, None
        length = _PROFILER.now() - begun
        _PROFILER.mark({"name": self.name, "cat": self._category, "ph": "X", "ts": begun, "dur": length})
        if _PROFILER.running and not _PROFILER.paused:
            _PROFILER.aggregates.add_time(self._category, self.name, length / 1e3)


class Task(_Span):
    """A unit of work of the program, with a start and an end.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> task = mx.profiler.Task(mx.profiler.Domain("training"), "epoch")
    >>> task.start()
    >>> task.stop()
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(domain.name, name)
        self.domain = domain


class Frame(_Span):
    """One of several equal passes, such as a batch, with a start and an end.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> frame = mx.profiler.Frame(mx.profiler.Domain("training"), "batch")
    >>> frame.start()
    >>> frame.stop()
    """

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(domain.name, name)
        self.domain = domain


class Event(_Span):
    """A part of the program, with a start and an end.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> event = mx.profiler.Event("load")
    >>> event.start()
    >>> event.stop()
    """

    def __init__(self, name: str) -> None:
        super().__init__("event", name)


class Counter:
    """A number that changes with time.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> counter = mx.profiler.Counter(mx.profiler.Domain("training"), "samples", 1)
    >>> counter += 4
    >>> counter.decrement(2)
    >>> counter.value
    3
    """

    def __init__(self, domain: Domain, name: str, value: float | None = None) -> None:
        self.domain = domain
        self.name = name
        self.value: float = 0
        if value is not None:
            self.set_value(value)

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    def set_value(self, value: float) -> None:
        """Set the number."""
        self.value = value
        args = {self.name: value}
        _PROFILER.mark(
            {"name": self.name, "cat": self.domain.name, "ph": "C", "ts": _PROFILER.now(), "args": args}
        )

    def increment(self, delta: float = 1) -> None:
        """Add to the number."""
        self.set_value(self.value + delta)

    def decrement(self, delta: float = 1) -> None:
        """Subtract from the number."""
        self.set_value(self.value - delta)

    def __iadd__(self, delta: float) -> Counter:
        """Add to the number."""
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Counter:
        """Subtract from the number."""
        self.decrement(delta)
        return self


class Marker:
    """A point in time.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.profiler.Marker(mx.profiler.Domain("training"), "epoch ends").mark()
    """

    _SCOPES = {"global": "g", "process": "p", "thread": "t", "task": "t", "marker": "t"}  # noqa: RUF012

    def __init__(self, domain: Domain, name: str) -> None:
        self.domain = domain
        self.name = name

    def mark(self, scope: str = "process") -> None:
        """Add the point to the timeline, for the thread, the process or everything."""
        if scope not in self._SCOPES:
            raise ValueError(f"mark: scope must be one of {', '.join(self._SCOPES)}, got {scope!r}")
        row = {"name": self.name, "cat": self.domain.name, "ph": "i", "ts": _PROFILER.now(), "s": self._SCOPES[scope]}
        _PROFILER.mark(row)


@contextlib.contextmanager
def scope(name: str = "<unk>:", append_mode: bool = True) -> Iterator[None]:
    """Name a part of the program: the timeline and the statistics show the time it took.

    Parameters
    ----------
    name
        The name.
    append_mode
        Accepted for compatibility: scopes inside one another are shown so.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> with mx.profiler.scope("forward"):
    ...     y = mx.np.ones((2,)) + 1
    """
    span = _Span("scope", name)
    span.start()
    try:
        yield
    finally:
        span.stop()
