"""Advice: what a program should change, in one or two sentences."""

from __future__ import annotations

import linecache
import re
from typing import TYPE_CHECKING

from forerun._tables import place

if TYPE_CHECKING:
    from forerun._profile._report import Report, WaitRow

__all__ = ["advise", "source"]

#: A part of the wall time that is worth a change.
_MUCH = 0.1
#: A wait this often is one of a loop.
_OFTEN = 3
#: Workers that are idle for more than this part of the time have too little to do.
_IDLE = 0.5

#: Calls that read one number.
_NUMBERS = ("item", "float", "int", "bool", "complex", "index")


def source(file: str, line: int) -> str:
    """Return the text of a source line; empty if it is not known."""
    return linecache.getline(file, line).strip()


def advise(report: Report) -> list[str]:
    """Return at most two sentences about what to change first."""
    if not report.ops:
        return []
    advice = []
    for row in report.waits:
        if row.time / report.span >= _MUCH and (row.times >= _OFTEN or row.call.startswith("submit")):
            advice.append(_about_wait(report, row))
            break
    if not advice and (text := _about_submission(report)):
        advice.append(text)
    if text := _about_op(report):
        advice.append(text)
    return advice[:2]


def _about_wait(report: Report, row: WaitRow) -> str:
    where, part = place(row.file, row.line) or "the program", f"{100 * row.time / report.span:.0f} %"
    for_op = ""
    if (cause := row.cause) is not None:
        for_op = f", {100 * dict(row.causes)[cause] / row.time:.0f} % of that for {cause[0]} at {place(*cause[1:])}"
    if row.call.startswith("submit"):
        return (
            f"{where} submits ops faster than they run: {part} of the time it waits for room in the queue{for_op}. "
            "That is no loss: the ops themselves are the limit."
        )
    steps = len(report.steps)
    often = "every step" if steps and abs(row.times - steps) <= max(1, steps // 5) else f"{row.times} times"
    spent = f"{part} of the time is spent waiting there{for_op}."
    if row.call in ("waitall", "wait_to_read", "wait_to_write"):
        return f"{where} calls {row.call} {often}; {spent} Remove the wait: ops wait for their inputs by themselves."
    if row.call in _NUMBERS:
        fewer = "Read it every 50 steps" if steps else "Read it less often"
        return f"{where} reads {_what(row)} {often}; {spent} {fewer} or use item_async()."
    return f"{where} reads {_what(row)} {often} with {row.call}; {spent} Read it less often."


def _what(row: WaitRow) -> str:
    """Return what a line reads, in the words of its source."""
    text = source(row.file, row.line)
    call = re.escape("print" if row.call in ("str", "repr", "format") else row.call)
    name = re.search(rf"([A-Za-z_]\w*)(?:\.\w+\([^()]*\))*\.{call}\(", text)
    if name is None:
        name = re.search(rf"\b{call}\(([A-Za-z_]\w*)\)", text)
    if name is None or name[1] in ("self", "np", "npx"):
        return "a value"
    return "the loss" if name[1] in ("l", "loss") else f"`{name[1]}`"


def _about_submission(report: Report) -> str:
    """Say that the program submits ops more slowly than they run."""
    waited = sum(row.time for row in report.waits)
    busy = _covered(report)
    if waited / report.span >= _MUCH or busy / report.span >= _IDLE or report.block / report.span < 0.9:
        return ""
    count = len(report.runs)
    if count < 50:
        return ""
    return (
        f"No op runs for {100 * (1 - busy / report.span):.0f} % of the time: the program submits ops more slowly than "
        f"they run. Use larger arrays, such as larger batches, so that each of the {count} tasks does more."
    )


def _covered(report: Report) -> float:
    """Return how long at least one op ran."""
    covered, until = 0.0, 0.0
    for run in sorted(report.runs, key=lambda run: run.start):
        if run.end > until:
            covered += run.end - max(run.start, until)
            until = run.end
    return covered


def _about_op(report: Report) -> str:
    """Name the op that takes most of the time."""
    first = report.ops[0]
    if first.time / report.span < 0.25:
        return ""
    text = f"{first.op} at {place(first.file, first.line)} takes {100 * first.time / report.span:.0f} % of the time"
    cause = (first.op, first.file, first.line)
    doubles = any(m.cause == cause and m.dtype == "float64" for run in report.runs for m in run.members)
    if doubles and first.flops:
        return f"{text}, in float64. In float32 it takes about half of that."
    return f"{text}, {first.rate}." if first.flops else f"{text}."
