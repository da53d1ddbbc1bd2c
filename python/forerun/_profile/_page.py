"""The page of a profile: the compiled viewer, ``page.html``, with the data of one profile.

The viewer is generated from the folder ``page`` of the repository.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from forerun._profile._advice import source
from forerun._profile._runs import Cause
from forerun._tables import duration, size

if TYPE_CHECKING:
    from forerun._profile._report import Report

__all__ = ["page"]

#: The unit of times on the page, in seconds.
_UNIT = 1e-7


class _Index(dict[Hashable, int]):
    """Numbers for different things, in the order in which they appear."""

    def of(self, thing: Hashable) -> int:
        """Return the number of a thing."""
        return self.setdefault(thing, len(self))

    def pairs(self) -> list[Any]:
        """Return the things, which are pairs."""
        return list(self)


def page(report: Report, program: str) -> str:
    """Return the page as the text of one HTML file."""
    with open(os.path.join(os.path.dirname(__file__), "page.html"), encoding="utf-8") as file:
        template = file.read()
    # No text of a program can end the script element.
    data = json.dumps(_data(report, program), separators=(",", ":")).replace("</", "<\\/").replace("<!--", "<\\u0021--")
    before, after = template.split("/*data*/")
    return before + data + after


def _data(report: Report, program: str) -> dict[str, Any]:
    ops, lines, calls, shapes = _Index(), _Index(), _Index(), _Index()
    threads = _threads(report)
    number = {name: i for i, (name, _) in enumerate(threads)}
    runs: dict[str, list[int]] = {key: [] for key in ("thread", "start", "length", "bytes", "age")}
    runs["members"] = [0]
    members: dict[str, list[int]] = {key: [] for key in ("op", "line", "shape", "share", "flops")}
    for run in report.runs:
        _add(
            runs,
            thread=number[run.thread],
            start=_time(run.start),
            length=_time(run.end - run.start),
            bytes=run.bytes,
            age=-1 if run.age is None else run.age,
        )
        for m in run.members:
            _add(
                members,
                op=ops.of(m.op),
                line=lines.of((m.file, m.line)),
                shape=shapes.of((m.dtype, m.shape)),
                share=round(m.share * 1000),
                flops=m.flops,
            )
        runs["members"].append(len(members["op"]))
    submits: dict[str, list[int]] = {key: [] for key in ("thread", "at", "op", "line", "shape", "run")}
    waits: dict[str, list[Any]] = {
        key: []
        for key in ("thread", "start", "length", "call", "line", "op", "opLine", "run", "idle", "computing", "causes")
    }
    for event in report.events:
        ran = report.run_of(event.value)
        index = -1 if ran is None else ran.number
        if event.kind == "submitted":
            _add(
                submits,
                thread=number[event.thread],
                at=_time(event.start),
                op=ops.of(event.op),
                line=lines.of((event.file, event.line)),
                shape=shapes.of((event.dtype, event.shape)),
                run=index,
            )
        elif event.kind == "waited":
            causes = sorted(report.spent(event).items(), key=lambda item: -item[1])
            _add(
                waits,
                thread=number[event.thread],
                start=_time(event.start),
                length=_time(event.end - event.start),
                call=calls.of(event.call),
                line=lines.of((event.call_file, event.call_line)),
                op=ops.of(event.op) if event.op else -1,
                opLine=lines.of((event.file, event.line)),
                run=index,
                idle=_time(event.parked),
                computing=_time(event.helped),
                causes=[_cause(cause, seconds, ops, lines) for cause, seconds in causes[:4]],
            )
    tables = {
        "ops": [
            {
                "op": ops.of(row.op),
                "line": lines.of((row.file, row.line)),
                "device": row.device,
                "count": row.times,
                "seconds": row.time,
                "fused": row.fused,
                "bytes": round(row.bytes),
                "flops": row.flops,
            }
            for row in report.ops
        ],
        "waits": [
            {
                "line": lines.of((row.file, row.line)),
                "call": calls.of(row.call),
                "count": row.times,
                "seconds": row.time,
                "idle": row.idle,
                "computing": row.computing,
                "causes": [_cause(cause, seconds, ops, lines) for cause, seconds in row.causes[:4]],
            }
            for row in report.waits
        ],
        "memory": [
            {
                "line": lines.of((row.file, row.line)),
                "op": ops.of(row.op),
                "device": row.device,
                "peak": row.peak,
                "held": row.held,
                "allocated": row.allocated,
                "count": row.times,
            }
            for row in report.memory
        ],
    }
    return {
        "title": f"Profile of {program}" if program else "Profile",
        "program": program,
        "facts": _facts(report),
        "advice": report.advice,
        "span": report.span,
        "first": _time(report.since),
        "last": max(_time(report.wall), _time(report.since) + 10),
        "block": _time(report.block),
        "threads": [{"name": name, "kind": kind} for name, kind in threads],
        "ops": list(ops),
        "lines": [[file, line, source(file, line) if file else ""] for file, line in lines.pairs()],
        "calls": list(calls),
        "shapes": [f"{dtype} {_shape(shape)}" for dtype, shape in shapes.pairs()],
        "runs": runs,
        "members": members,
        "submits": submits,
        "waits": waits,
        "steps": [_time(step) for step in report.steps],
        "memory": [
            {"device": device, "at": [_time(at) for at, _ in points], "bytes": [held for _, held in points]}
            for device, points in report.live.items()
        ],
        "tables": tables,
    }


def _add(columns: dict[str, list[Any]], **values: Any) -> None:
    for name, value in values.items():
        columns[name].append(value)


def _time(seconds: float) -> int:
    return round(seconds / _UNIT)


def _cause(cause: Cause, seconds: float, ops: _Index, lines: _Index) -> tuple[int, int, float]:
    op, file, line = cause
    return (ops.of(op) if op else -1, lines.of((file, line)), seconds)


def _shape(shape: tuple[int, ...]) -> str:
    return "scalar" if not shape else " \u00d7 ".join(str(extent) for extent in shape)


def _threads(report: Report) -> list[tuple[str, str]]:
    """Return the rows of the timeline: threads of the program, then workers, then lanes of GPUs."""
    kinds: dict[str, str] = {}
    for event in report.events:
        if event.kind in ("submitted", "waited"):
            kinds[event.thread] = "frontend"
        elif event.kind == "ran":
            kinds.setdefault(event.thread, "lane" if event.thread.startswith("gpu(") else "worker")
    order = ("frontend", "worker", "lane")
    return sorted(kinds.items(), key=lambda item: (order.index(item[1]), item[0]))


def _facts(report: Report) -> list[tuple[str, str]]:
    waited = sum(row.time for row in report.waits)
    submitted = sum(event.kind == "submitted" for event in report.events)
    facts = [
        ("Wall time", duration(report.span)),
        ("Waiting", f"{report.share(waited)} %"),
        ("Ops submitted", f"{submitted:,}"),
        ("Tasks run", f"{len(report.runs):,}"),
    ]
    if report.steps:
        facts.append(("Steps", f"{len(report.steps):,}"))
    facts += [
        (f"Peak memory, {device}", size(max(held for _, held in points))) for device, points in report.live.items()
    ]
    if report.truncated:
        facts.append(("Recorded", f"the last {duration(report.span)}"))
    return facts
