"""Traces: what was submitted, planned, run and waited for, by which thread and when."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from types import TracebackType
from typing import Any, NamedTuple

from forerun import _forerun
from forerun._cells import line_of
from forerun._tables import Column, as_html, as_text

__all__ = ["Trace", "TraceEvent", "start_trace", "stop_trace", "trace"]

_MOST = 1 << 16
_KINDS = ("submitted", "planned", "ran", "waited", "allocated", "freed")
_COUNTS = [Column("thread"), *(Column(kind, numeric=True) for kind in _KINDS)]


class TraceEvent(NamedTuple):
    """An event on a thread. Times are in seconds since the start of the trace."""

    kind: str
    """``submitted`` and ``planned``, which have no length; ``ran`` and ``waited``, from their start to their end;
    ``allocated`` and ``freed``, of memory for results of at least 4 KiB."""
    thread: str
    """The name of the thread; of what a GPU ran, the GPU and the lane: ``gpu(0) compute``."""
    start: float
    end: float
    op: str
    """The op; of a task that fuses several, the last; of a wait, the op that was waited for."""
    file: str
    """The file of the line that submitted the op."""
    line: int
    value: int
    """A number for the value that the op makes, or that was waited for; 0 if there is none."""
    shape: tuple[int, ...]
    dtype: str
    bytes: int
    task: int | None
    """The number of the task: records that were fused into one task share it."""
    age: int | None
    """The age of the task: older ones go first; 0 if a waiter ran it at once. Known of what was planned."""
    call: str
    """What a wait called; empty otherwise."""
    call_file: str
    call_line: int
    parked: float
    """How long a wait did nothing."""
    helped: float
    """How long a wait ran tasks."""
    device: str = ""
    """Where the op runs, or where the memory is."""
    inputs: tuple[int, ...] = ()
    """The numbers of the values that a submitted op reads."""
    reads: tuple[int, ...] = ()
    """The bytes that the op reads of each array."""
    flops: int = 0
    """The floating-point operations of a matrix product or a convolution; 0 for other ops."""


def _event(thread: str, raw: _forerun._Event) -> TraceEvent:
    kind, (start, end), (op, (file, line)), value, made, size, (task, age), wait, (inputs, reads, flops) = raw
    shape, dtype, device = made or ([], "", "")
    call, (call_file, call_line), parked, helped = wait or ("", ("", 0), 0.0, 0.0)
    return TraceEvent(
        kind, thread, start, end, op, file, line, value, tuple(shape), dtype, size, task, age,
        call, call_file, call_line, parked, helped, device, tuple(inputs), tuple(reads), flops,
    )  # fmt: skip


def begin(most: int) -> None:
    """Start a trace; the thread that starts it appears under Python's name for it."""
    # Imported late, so that `import forerun` stays quick.
    import threading

    _forerun.name_track(threading.current_thread().name)
    _forerun.start_trace(most)


def events_of(lanes: list[tuple[str, list[_forerun._Event]]]) -> list[TraceEvent]:
    """Return the events of all threads, ordered by start time; equal starts are ordered from outer to inner."""
    events = [_event(thread, raw) for thread, rows in lanes for raw in rows]
    return sorted(events, key=lambda event: (event.start, -event.end))


class Trace:
    """The events of a ``with`` statement; see ``trace``.

    Attributes
    ----------
    events
        The events, ordered by start time; filled when the trace ends.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self.events: list[TraceEvent] = []

    def __enter__(self) -> Trace:
        """Start recording."""
        begin(self._most)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop recording and keep the events."""
        self._stop()

    def _stop(self) -> None:
        self.events = events_of(_forerun.stop_trace())

    def __repr__(self) -> str:
        """Return the number of events."""
        return f"<forerun trace: {len(self.events)} events; print it, or call save(path)>"

    def _counts(self) -> list[list[str]]:
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for event in self.events:
            counts[event.thread][event.kind] += 1
        return [[thread, *(str(count[kind]) for kind in _KINDS)] for thread, count in sorted(counts.items())]

    def __str__(self) -> str:
        """Return a table: how many events of each kind each thread has."""
        return as_text(_COUNTS, self._counts()) if self.events else "no events"

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return as_html(_COUNTS, self._counts())

    def timeline(self) -> dict[str, Any]:
        """Return the trace in the trace event format that Perfetto and ``chrome://tracing`` read.

        Each thread and each stream of a GPU has a track. Runs are named by their ops, and arrows connect them to their
        submissions.
        """
        threads = {name: number for number, name in enumerate(sorted({event.thread for event in self.events}), 1)}
        process = os.getpid()
        rows: list[dict[str, Any]] = []
        parts: defaultdict[int, list[TraceEvent]] = defaultdict(list)
        submitted = {event.value: event for event in self.events if event.kind == "submitted"}
        for event in self.events:
            if event.kind == "planned" and event.task is not None:
                parts[event.task].append(event)
        arrows = 0
        live: Counter[str] = Counter()
        # A submission has no recorded duration; it is drawn short enough to end before the next event.
        lengths: dict[int, float] = {}
        later: dict[str, float] = {}
        for event in reversed(self.events):
            if event.kind == "submitted":
                lengths[event.value] = min(1e-7, later.get(event.thread, event.start + 1) - event.start)
            later[event.thread] = event.start
        for event in self.events:
            place = {"pid": process, "tid": threads[event.thread], "ts": event.start * 1e6}
            span = {"ph": "X", "dur": (event.end - event.start) * 1e6, **place}
            args: dict[str, Any] = {"loc": line_of(event.file, event.line)}
            if event.kind == "waited":
                args |= {"loc": line_of(event.call_file, event.call_line), "parked_us": event.parked * 1e6}
                args |= {"helped_us": event.helped * 1e6, "for": event.op, "for_loc": line_of(event.file, event.line)}
                rows.append({"name": f"wait: {event.call}", "cat": "wait", "args": args, **span})
                continue
            if event.kind in ("allocated", "freed"):
                live[event.device] += event.bytes if event.kind == "allocated" else -event.bytes
                held = {"bytes": live[event.device]}
                name = f"memory of {event.device}, since the start"
                rows.append({"name": name, "cat": "memory", "ph": "C", "args": held, **place})
                continue
            args |= {"shape": list(event.shape), "dtype": event.dtype, "bytes": event.bytes}
            if event.kind == "submitted":
                span["dur"] = lengths[event.value] * 1e6
                rows.append({"name": f"submit: {event.op}", "cat": "submit", "args": args, **span})
            elif event.kind == "planned":
                args["age"] = event.age
                rows.append({"name": f"plan: {event.op}", "cat": "plan", "ph": "i", "s": "t", "args": args, **place})
            elif event.kind == "ran":
                fused = parts.get(event.task or 0) or [event]
                args["age"] = fused[0].age
                args["fused"] = [{"op": part.op, "loc": line_of(part.file, part.line)} for part in fused]
                rows.append({"name": " ".join(part.op for part in fused), "cat": "run", "args": args, **span})
                for part in fused:
                    if (source := submitted.get(part.value)) is None:
                        continue
                    arrows += 1
                    arrow = {"name": "submission", "cat": "flow", "id": arrows, "pid": process}
                    rows.append({"ph": "s", "tid": threads[source.thread], "ts": source.start * 1e6, **arrow})
                    rows.append({"ph": "f", "bp": "e", "tid": place["tid"], "ts": place["ts"], **arrow})
        rows.sort(key=lambda row: row["ts"])
        names: list[dict[str, Any]] = [
            {"name": "thread_name", "ph": "M", "pid": process, "tid": number, "ts": 0, "args": {"name": name}}
            for name, number in threads.items()
        ]
        return {"traceEvents": names + rows, "displayTimeUnit": "ms"}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the timeline to a JSON file, for https://ui.perfetto.dev or ``chrome://tracing``."""
        import json

        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.timeline(), file)


def trace(events: int = _MOST) -> Trace:
    """Record what every thread submits, plans, runs and waits for, inside a ``with`` statement.

    Parameters
    ----------
    events
        The maximum number of events per thread; older events are overwritten.

    Examples
    --------
    >>> import forerun
    >>> from forerun import np
    >>> with forerun.trace() as t:
    ...     y = np.ones((300, 300)) * 2 + 1
    ...     y.wait_to_read()
    >>> [event.op for event in t.events if event.kind == "submitted"]
    ['full', 'multiply', 'add']
    >>> t.timeline()["displayTimeUnit"]
    'ms'
    """
    return Trace(events)


_RUNNING: list[Trace] = []


def start_trace(events: int = _MOST) -> None:
    """Start a trace; ``stop_trace`` ends it. One trace can be on at a time.

    Parameters
    ----------
    events
        The maximum number of events per thread; older events are overwritten.

    Examples
    --------
    >>> import forerun
    >>> forerun.start_trace()
    >>> forerun.stop_trace().events
    []
    """
    _RUNNING.append(Trace(events).__enter__())


def stop_trace() -> Trace:
    """End the trace that ``start_trace`` started, and return it.

    Examples
    --------
    >>> import forerun
    >>> from forerun import np
    >>> forerun.start_trace()
    >>> y = np.ones((2,)) + 1
    >>> {event.kind for event in forerun.stop_trace().events} >= {"submitted"}
    True
    """
    if not _RUNNING:
        raise RuntimeError("stop_trace: no trace was started")
    running = _RUNNING.pop()
    running._stop()
    return running
