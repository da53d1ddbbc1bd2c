"""Runs of tasks, with the ops that each computes, and what a wait spent its time on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from forerun._trace import TraceEvent

__all__ = ["Cause", "Member", "Run", "Timeline"]

Cause: TypeAlias = "tuple[str, str, int]"
"""An op and its line: name, file, number. The empty op stands for time in which no op ran."""

# What a core does, roughly. Used only to divide the time of a fused task over its ops.
_BYTES_PER_SECOND = 1e10
_FLOPS_PER_SECOND = 5e10


class Member(NamedTuple):
    """An op of a task."""

    op: str
    file: str
    line: int
    value: int
    shape: tuple[int, ...]
    dtype: str
    device: str
    flops: int
    share: float
    """The part of the task's time and bytes that is attributed to it."""

    @property
    def cause(self) -> Cause:
        """The op and its line."""
        return self.op, self.file, self.line


class Run(NamedTuple):
    """A task that ran on a thread, or on a lane of a GPU."""

    number: int
    thread: str
    start: float
    end: float
    own: float
    """Its length without the runs that it contains."""
    bytes: int
    """The bytes that it reads and writes."""
    task: int
    age: int | None
    """The age of its task; None if it ran without one, on the thread that planned it."""
    members: tuple[Member, ...]


class Timeline:
    """The runs of a trace, by value, by thread and by time."""

    def __init__(self, events: Iterable[TraceEvent]) -> None:
        events = list(events)
        self.submitted = {event.value: event for event in events if event.kind == "submitted"}
        planned: defaultdict[int, list[TraceEvent]] = defaultdict(list)
        for event in events:
            if event.kind == "planned" and event.task is not None:
                planned[event.task].append(event)
        own = _own_times(events)
        self.runs: list[Run] = []
        self.of_value: dict[int, Run] = {}
        for event in events:
            if event.kind != "ran":
                continue
            run = self._run(event, planned.get(event.task or 0) or [event], own[id(event)])
            self.runs.append(run)
            self.of_value.update((member.value, run) for member in run.members)
        self._by_thread: defaultdict[str, list[Run]] = defaultdict(list)
        for run in self.runs:
            self._by_thread[run.thread].append(run)
        self._starts = {thread: [run.start for run in runs] for thread, runs in self._by_thread.items()}

    def _run(self, event: TraceEvent, parts: list[TraceEvent], own: float) -> Run:
        made = {part.value for part in parts}
        costs = []
        # Of values that several ops of the task read, each byte is read once.
        outer: dict[int, int] = {}
        unknown = 0
        for part in parts:
            known = self.submitted.get(part.value)
            costs.append((sum(part.reads) + part.bytes) / _BYTES_PER_SECOND + part.flops / _FLOPS_PER_SECOND + 1e-12)
            if known is None or len(known.inputs) != len(part.reads):
                unknown += sum(part.reads) if len(parts) == 1 else 0
                continue
            for value, read in zip(known.inputs, part.reads, strict=True):
                if value not in made:
                    outer[value] = max(outer.get(value, 0), read)
        total = sum(costs)
        members = tuple(
            Member(
                part.op, part.file, part.line, part.value, part.shape, part.dtype, part.device, part.flops, cost / total
            )
            for part, cost in zip(parts, costs, strict=True)
        )
        moved = event.bytes + sum(outer.values()) + unknown
        task, age = event.task or 0, parts[0].age
        return Run(len(self.runs), event.thread, event.start, event.end, own, moved, task, age, members)

    def spent(self, wait: TraceEvent) -> dict[Cause, float]:
        """Return what the time of a wait was spent on, in seconds by op and line.

        For a value, the time goes to the ops on the path that determined when the value was ready: its own task, before
        that the input that was ready last, and so on. Time between two of them goes to what kept the thread busy
        meanwhile. A wait for everything goes to whatever ran, in equal parts where several ops ran at once.
        """
        spent: defaultdict[Cause, float] = defaultdict(float)
        run = self.of_value.get(wait.value) if wait.value else None
        if run is None or run.start > wait.end:
            self._fill(spent, wait.start, wait.end, None)
            return dict(spent)
        # After the value was ready, the thread was woken.
        now = max(min(run.end, wait.end), wait.start)
        if wait.end > now:
            spent["", "", 0] += wait.end - now
        while now > wait.start:
            begin = max(run.start, wait.start)
            if begin < now:
                _credit(spent, run, now - begin)
                now = begin
            before = self._latest_input(run)
            if before is None or before.start >= run.start or before.end <= wait.start:
                self._fill(spent, wait.start, now, run.thread)
                break
            if before.end < now:
                self._fill(spent, before.end, now, run.thread)
            now = min(now, before.end)
            run = before
        return dict(spent)

    def _latest_input(self, run: Run) -> Run | None:
        """Return the run of the input of a task that was ready last."""
        made = {member.value for member in run.members}
        found: Run | None = None
        for member in run.members:
            known = self.submitted.get(member.value)
            for value in known.inputs if known is not None else ():
                before = self.of_value.get(value) if value not in made else None
                if before is not None and before is not run and (found is None or before.end > found.end):
                    found = before
        return found

    def _fill(self, spent: defaultdict[Cause, float], start: float, end: float, thread: str | None) -> None:
        """Attribute an interval to what a thread ran, and the rest to what the others ran."""
        if end <= start:
            return
        if thread is None:
            _share(spent, self._between(start, end, self._by_thread), start, end)
            return
        now = start
        for run in self._between(start, end, [thread]):
            if run.start > now:
                self._fill(spent, now, run.start, None)
            begin, now = max(run.start, now), max(now, min(run.end, end))
            if now > begin:
                _credit(spent, run, now - begin)
        self._fill(spent, now, end, None)

    def _between(self, start: float, end: float, threads: Iterable[str]) -> list[Run]:
        found: list[Run] = []
        for thread in threads:
            runs, starts = self._by_thread.get(thread, []), self._starts.get(thread, [])
            first = bisect_left(starts, start)
            # A run that starts earlier and lasts into the interval, or that contains the one before.
            while first > 0 and runs[first - 1].end > start:
                first -= 1
            found += [run for run in runs[first : bisect_right(starts, end)] if run.end > start and run.start < end]
        return found


def _own_times(events: list[TraceEvent]) -> dict[int, float]:
    """Return how long each run lasts without the runs on the same thread that it contains, by the event's id."""
    own: dict[int, float] = {}
    open_runs: defaultdict[str, list[TraceEvent]] = defaultdict(list)
    for event in events:
        if event.kind != "ran":
            continue
        stack = open_runs[event.thread]
        while stack and stack[-1].end <= event.start:
            stack.pop()
        own[id(event)] = event.end - event.start
        if stack:
            own[id(stack[-1])] -= event.end - event.start
        stack.append(event)
    return own


def _credit(spent: defaultdict[Cause, float], run: Run, seconds: float) -> None:
    for member in run.members:
        spent[member.cause] += seconds * member.share


def _share(spent: defaultdict[Cause, float], runs: list[Run], start: float, end: float) -> None:
    """Divide an interval over the runs in it, in equal parts while several are on."""
    edges = sorted({start, end, *(min(max(at, start), end) for run in runs for at in (run.start, run.end))})
    if len(runs) <= 1:
        covered = 0.0
        for run in runs:
            covered = min(run.end, end) - max(run.start, start)
            _credit(spent, run, covered)
        if end - start > covered:
            spent["", "", 0] += end - start - covered
        return
    ordered = sorted(runs, key=lambda run: run.start)
    current: list[Run] = []
    position = 0
    for left, right in pairwise(edges):
        current = [run for run in current if run.end > left]
        while position < len(ordered) and ordered[position].start <= left:
            if ordered[position].end > left:
                current.append(ordered[position])
            position += 1
        if not current:
            spent["", "", 0] += right - left
        for run in current:
            _credit(spent, run, (right - left) / len(current))
