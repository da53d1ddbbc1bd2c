"""Traces made by hand, with known figures, for the tests of profiles and of their page.

``python tests/python/synthetic.py FOLDER`` writes the pages that page/test/page.mjs opens.
"""

from __future__ import annotations

import pathlib
import sys
from typing import Any

from forerun._profile._page import page
from forerun._profile._report import Report
from forerun._trace import TraceEvent

SCRIPT = "/home/ada/project/train.py"
MAIN, WORKERS = "MainThread", ("forerun-0", "forerun-1")


class Events:
    """Builds a trace. Times are in milliseconds."""

    def __init__(self) -> None:
        self.all: list[TraceEvent] = []
        self._known: dict[int, TraceEvent] = {}

    def _add(self, kind: str, thread: str, start: float, end: float, op: str, line: int, **more: Any) -> None:
        plain = {"value": 0, "shape": (), "dtype": "", "bytes": 0, "task": None, "age": None, "device": "cpu(0)"}
        wait = {"call": "", "call_file": "", "call_line": 0, "parked": 0.0, "helped": 0.0}
        fields = {**plain, **wait, **more}
        self.all.append(TraceEvent(kind, thread, start / 1e3, end / 1e3, op, SCRIPT if line else "", line, **fields))

    def submit(
        self, at: float, op: str, line: int, inputs: tuple[int, ...] = (), *, size: int = 4000, flops: int = 0
    ) -> int:
        """Add a submission; return the number of its value. Each operand has as many bytes as the result."""
        value = len(self._known) + 1
        self._add(
            "submitted", MAIN, at, at, op, line, value=value, shape=(size // 4,), dtype="float32", bytes=size,
            inputs=inputs, reads=(size,) * len(inputs), flops=flops,
        )  # fmt: skip
        self._known[value] = self.all[-1]
        return value

    def run(self, start: float, end: float, values: list[int], thread: str = WORKERS[0], *, stored: int = 1) -> None:
        """Add the run of a task that computes these values, of which the last ones are stored."""
        for value in values:
            made = self._known[value]
            self._add(
                "planned", MAIN, made.start * 1e3, made.start * 1e3, made.op, made.line, value=value, shape=made.shape,
                dtype=made.dtype, bytes=made.bytes, task=values[0], age=values[0], reads=made.reads, flops=made.flops,
            )  # fmt: skip
        last = self._known[values[-1]]
        self._add(
            "ran", thread, start, end, last.op, last.line, value=values[-1], shape=last.shape, dtype=last.dtype,
            bytes=stored * last.bytes, task=values[0], reads=last.reads, flops=last.flops,
        )  # fmt: skip

    def wait(self, start: float, end: float, call: str, line: int, value: int = 0, helped: float = 0.0) -> None:
        """Add a wait for a value, or for everything."""
        op, at = (self._known[value].op, self._known[value].line) if value else ("", 0)
        self._add(
            "waited", MAIN, start, end, op, at, value=value, call=call, call_file=SCRIPT, call_line=line,
            parked=(end - start - helped) / 1e3, helped=helped / 1e3, device="",
        )  # fmt: skip

    def memory(self, at: float, op: str, line: int, size: int) -> None:
        """Add an allocation, or with a negative size what was freed."""
        self._add("allocated" if size > 0 else "freed", WORKERS[0], at, at, op, line, bytes=abs(size))

    def report(
        self,
        wall: float,
        *,
        block: float | None = None,
        steps: list[float] | None = None,
        held: dict[tuple[str, int, str], int] | None = None,
    ) -> Report:
        """Return the figures."""
        events = sorted(self.all, key=lambda event: (event.start, -event.end))
        marks = [step / 1e3 for step in steps or []]
        at_end = {} if held is None else {"cpu(0)": held}
        return Report(events, (wall if block is None else block) / 1e3, wall / 1e3, marks, False, at_end)


def training(steps: int, read: bool = True) -> Report:
    """Return a loop of steps of 10 ms: a product of 6 ms, a fused task of 2 ms, and a read that waits for 8 ms."""
    events = Events()
    before = 0
    for step in range(steps):
        at = step * 10.0
        product = events.submit(at, "matmul", 12, (before,) if before else (), size=40_000, flops=600_000_000)
        square = events.submit(at + 0.1, "multiply", 13, (product,), size=40_000)
        shifted = events.submit(at + 0.2, "add", 13, (square,), size=40_000)
        loss = events.submit(at + 0.3, "sum", 14, (shifted,), size=4)
        events.memory(at + 0.4, "matmul", 12, 40_000)
        events.run(at + 0.5, at + 6.5, [product])
        events.run(at + 6.5, at + 8.5, [square, shifted], WORKERS[step % 2])
        events.run(at + 8.5, at + 8.6, [loss])
        events.memory(at + 8.6, "matmul", 12, -40_000)
        if read:
            events.wait(at + 0.6, at + 8.6, "item", 15, loss)
        before = loss
    return events.report(steps * 10.0, steps=[10.0 * step + 9.5 for step in range(steps)], held={})


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    # Eight events of the page for each step: four submissions, three runs and a wait.
    for name, steps in (("small", 20), ("large", 12_500)):
        folder.joinpath(f"{name}.html").write_text(page(training(steps), "train.py"), encoding="utf-8")
    quiet = Events()
    value = quiet.submit(1.0, "ones", 3)
    quiet.run(2.0, 3.0, [value])
    folder.joinpath("quiet.html").write_text(page(quiet.report(4.0), ""), encoding="utf-8")
    folder.joinpath("empty.html").write_text(page(Events().report(1.0), ""), encoding="utf-8")
