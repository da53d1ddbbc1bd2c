"""The figures of a profile: time by op and line, waits, memory by line, and advice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from forerun._profile._advice import advise
from forerun._profile._runs import Cause, Run, Timeline
from forerun._tables import Column, as_html, as_text, duration, megabytes, milliseconds, place, size
from forerun._trace import TraceEvent

__all__ = ["MemoryRow", "OpRow", "Report", "WaitRow"]

#: Rows of each table in text.
_MOST_ROWS = 12


class OpRow(NamedTuple):
    """What one op at one line took. Times are in seconds."""

    op: str
    file: str
    line: int
    device: str
    times: int
    time: float
    """How long it ran. The time of a fused task is divided over its ops by their estimated costs."""
    fused: int
    """How many of the runs were fused with other ops."""
    bytes: float
    """The bytes that it read and wrote."""
    flops: int
    """Its floating-point operations, if it is a matrix product or a convolution."""

    @property
    def rate(self) -> str:
        """What it reached: floating-point operations per second, or the bandwidth."""
        if self.time <= 0 or not (self.flops or self.bytes):
            return ""
        if self.flops:
            return f"{self.flops / self.time / 1e9:.3g} GFLOP/s"
        return f"{size(self.bytes / self.time)}/s"


class WaitRow(NamedTuple):
    """All waits of one call at one line. Times are in seconds."""

    file: str
    line: int
    call: str
    times: int
    time: float
    idle: float
    """How long the thread did nothing."""
    computing: float
    """How long the thread ran ops itself."""
    causes: tuple[tuple[Cause, float], ...]
    """The ops that the time was spent on, the most expensive first."""

    @property
    def cause(self) -> Cause | None:
        """The op that took most of the time, and its line; None if no op ran."""
        return next((cause for cause, _ in self.causes if cause[0]), None)


class MemoryRow(NamedTuple):
    """Memory of what one op at one line made. Sizes are in bytes."""

    file: str
    line: int
    op: str
    device: str
    peak: int
    """What it held when the device's memory was fullest."""
    held: int
    """What it held at the end."""
    allocated: int
    """What it allocated altogether."""
    times: int
    """The number of allocations."""


class Report:
    """The figures of a profile.

    Attributes
    ----------
    wall
        Seconds from the start of the statement until its work was done.
    block
        Seconds of the statement itself.
    ops
        Time by op and line: a list of ``OpRow``, the longest first.
    waits
        Waits by line and call: a list of ``WaitRow``, the longest first.
    memory
        Memory by line: a list of ``MemoryRow``, the largest at the peak first.
    advice
        Sentences about what to change.
    """

    def __init__(
        self,
        events: Sequence[TraceEvent],
        block: float,
        wall: float,
        steps: Sequence[float],
        truncated: bool,
        held: Mapping[str, Mapping[tuple[str, int, str], int]],
        since: float = 0.0,
    ) -> None:
        # What a full ring has lost is known of no thread.
        self.events = [event for event in events if event.end >= since] if truncated else list(events)
        self.since, self.block, self.wall, self.steps, self.truncated = since, block, wall, list(steps), truncated
        self._timeline = Timeline(self.events)
        self.runs = self._timeline.runs
        self.ops = _ops(self.runs)
        self.waits = _waits(self._timeline, self.events)
        self.memory = _memory(self.events, held)
        self.live = _live(self.events, held)
        self.advice = advise(self)

    @property
    def span(self) -> float:
        """Seconds that the events cover: the wall time, unless older events were overwritten."""
        return max(self.wall - self.since, 1e-12)

    def run_of(self, value: int) -> Run | None:
        """Return the run that computed a value."""
        return self._timeline.of_value.get(value)

    def spent(self, wait: TraceEvent) -> dict[Cause, float]:
        """Return what the time of a wait was spent on, by op and line."""
        return self._timeline.spent(wait)

    def share(self, seconds: float) -> str:
        """Return a part of the wall time in percent."""
        return f"{100 * seconds / self.span:.1f}"

    def summary(self) -> str:
        """Return a line with the totals."""
        submitted = len(self._timeline.submitted)
        waited = sum(row.time for row in self.waits)
        parts = [
            duration(self.wall),
            f"{submitted} ops submitted",
            f"{len(self.runs)} tasks run",
            f"{self.share(waited)} % spent waiting",
        ]
        if self.steps:
            parts.append(f"{len(self.steps)} steps")
        if self.truncated:
            parts.append(f"older events were overwritten: the tables cover the last {duration(self.span)}")
        return ", ".join(parts)

    def tables(self) -> Iterable[tuple[str, Sequence[Column], list[list[str]], str]]:
        """Return the tables: title, columns, rows, and what to say if there are none."""
        yield "Time by op and line", _OP_COLUMNS, self._op_rows(), "nothing ran"
        yield "Waits", _WAIT_COLUMNS, self._wait_rows(), "nothing waits"
        yield "Memory by line", _MEMORY_COLUMNS, self._memory_rows(), "no result of 4 KiB or more"

    def _op_rows(self) -> list[list[str]]:
        return [
            [
                row.op,
                place(row.file, row.line),
                milliseconds(row.time),
                self.share(row.time),
                str(row.times),
                size(row.bytes),
                row.rate,
                fused(row),
                row.device,
            ]
            for row in self.ops
        ]

    def _wait_rows(self) -> list[list[str]]:
        return [
            [
                place(row.file, row.line),
                row.call,
                str(row.times),
                milliseconds(row.time),
                self.share(row.time),
                milliseconds(row.idle),
                milliseconds(row.computing),
                spent_on(row),
            ]
            for row in self.waits
        ]

    def _memory_rows(self) -> list[list[str]]:
        return [
            [
                place(row.file, row.line),
                row.op,
                megabytes(row.peak),
                megabytes(row.held),
                megabytes(row.allocated),
                str(row.times),
                row.device,
            ]
            for row in self.memory
        ]

    def text(self) -> str:
        """Return the tables and the advice as text."""
        parts = [self.summary()]
        for title, columns, rows, empty in self.tables():
            table = as_text(columns, rows[:_MOST_ROWS]) if rows else empty
            more = f"\n({len(rows) - _MOST_ROWS} more rows)" if len(rows) > _MOST_ROWS else ""
            parts.append(f"{title}\n{table}{more}")
        return "\n\n".join([*parts, *self.advice])

    def html(self) -> str:
        """Return the tables and the advice as HTML."""
        from html import escape

        parts = [f"<p>{escape(text)}</p>" for text in (self.summary(), *self.advice)]
        for title, columns, rows, empty in self.tables():
            table = as_html(columns, rows[:_MOST_ROWS]) if rows else f"<p>{escape(empty)}</p>"
            parts.append(f"<h4>{escape(title)}</h4>{table}")
        return "".join(parts)


_OP_COLUMNS = (
    Column("op"),
    Column("line"),
    Column("self ms", numeric=True),
    Column("% of wall", numeric=True),
    Column("count", numeric=True),
    Column("moved", numeric=True),
    Column("reached", numeric=True),
    Column("fused"),
    Column("device"),
)
_WAIT_COLUMNS = (
    Column("waits at"),
    Column("call"),
    Column("count", numeric=True),
    Column("ms", numeric=True),
    Column("% of wall", numeric=True),
    Column("idle ms", numeric=True),
    Column("computing ms", numeric=True),
    Column("spent on"),
)
_MEMORY_COLUMNS = (
    Column("line"),
    Column("op"),
    Column("MB at the peak", numeric=True),
    Column("MB at the end", numeric=True),
    Column("MB allocated", numeric=True),
    Column("count", numeric=True),
    Column("device"),
)


def fused(row: OpRow) -> str:
    """Return whether the runs of a row were fused: yes, no, or how many."""
    return {0: "no", row.times: "yes"}.get(row.fused, f"{row.fused} of {row.times}")


def spent_on(row: WaitRow) -> str:
    """Return the op that took most of the time of waits, in words."""
    if (cause := row.cause) is None:
        return "no op: planning and waking"
    op, file, line = cause
    part = 100 * dict(row.causes)[cause] / row.time if row.time > 0 else 0.0
    return f"{op} at {place(file, line)} ({part:.0f} %)"


def _ops(runs: Iterable[Run]) -> list[OpRow]:
    rows: dict[tuple[str, str, int, str], OpRow] = {}
    for run in runs:
        joined = len(run.members) > 1
        for m in run.members:
            key = (m.op, m.file, m.line, m.device)
            old = rows.get(key) or OpRow(*key, 0, 0.0, 0, 0.0, 0)
            rows[key] = OpRow(
                *key,
                old.times + 1,
                old.time + run.own * m.share,
                old.fused + joined,
                old.bytes + run.bytes * m.share,
                old.flops + m.flops,
            )
    return sorted(rows.values(), key=lambda row: (-row.time, row.file, row.line, row.op))


def _waits(timeline: Timeline, events: Iterable[TraceEvent]) -> list[WaitRow]:
    waits: defaultdict[tuple[str, int, str], list[TraceEvent]] = defaultdict(list)
    for event in events:
        if event.kind == "waited":
            waits[event.call_file, event.call_line, event.call].append(event)
    rows = []
    for (file, line, call), found in waits.items():
        causes: defaultdict[Cause, float] = defaultdict(float)
        for wait in found:
            for cause, seconds in timeline.spent(wait).items():
                causes[cause] += seconds
        time = sum(wait.end - wait.start for wait in found)
        idle, computing = sum(wait.parked for wait in found), sum(wait.helped for wait in found)
        ordered = tuple(sorted(causes.items(), key=lambda item: -item[1]))
        rows.append(WaitRow(file, line, call, len(found), time, idle, computing, ordered))
    return sorted(rows, key=lambda row: -row.time)


def _memory(events: Iterable[TraceEvent], held: Mapping[str, Mapping[tuple[str, int, str], int]]) -> list[MemoryRow]:
    rows = []
    for device, at_end in held.items():
        own = [event for event in events if event.kind in ("allocated", "freed") and event.device == device]
        # Backwards from the end, where the amounts are known.
        back = own[::-1]
        totals = list(accumulate((-_change(event) for event in back), initial=sum(at_end.values())))
        peak: defaultdict[tuple[str, int, str], int] = defaultdict(int, at_end)
        for event in back[: totals.index(max(totals))]:
            peak[event.file, event.line, event.op] -= _change(event)
        allocated: defaultdict[tuple[str, int, str], list[int]] = defaultdict(list)
        for event in own:
            if event.kind == "allocated":
                allocated[event.file, event.line, event.op].append(event.bytes)
        for key in {*peak, *at_end, *allocated}:
            file, line, op = key
            sizes = allocated.get(key, [])
            held_most = max(peak.get(key, 0), 0)
            rows.append(MemoryRow(file, line, op, device, held_most, at_end.get(key, 0), sum(sizes), len(sizes)))
    return sorted(rows, key=lambda row: (-row.peak, -row.allocated, row.file, row.line, row.op))


def _change(event: TraceEvent) -> int:
    return event.bytes if event.kind == "allocated" else -event.bytes


def _live(
    events: Iterable[TraceEvent], held: Mapping[str, Mapping[tuple[str, int, str], int]]
) -> dict[str, list[tuple[float, int]]]:
    """Return the bytes in use over time, by device."""
    changes = [event for event in events if event.kind in ("allocated", "freed")]
    series = {}
    for device, at_end in held.items():
        now = sum(at_end.values())
        points = []
        for event in reversed(changes):
            if event.device == device:
                points.append((event.start, max(now, 0)))
                now -= _change(event)
        points.append((0.0, max(now, 0)))
        series[device] = points[::-1]
    return series
