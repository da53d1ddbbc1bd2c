"""The benefit of running ahead: many increments, with a wait after each or only after the last.

The measurements run in a separate process without dead-code elimination and fusion, so that n increments are n
executions: ``python -m tour.increments`` prints one line of JSON per size.
"""

from __future__ import annotations

import functools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from forerun import np, npx
from tour import clock, plot
from tour.page import Page, seconds
from tour.progress import Progress

SHAPES = [(1, 2), (10, 10), (32, 32), (100, 100), (200, 200), (500, 500), (1000, 1000)]
QUICK_SHAPES = [(1, 2), (100, 100), (500, 500)]
COUNT = 1000
# The number of increments in other editions of the chapter.
MORE = 10_000
# Larger sizes would take minutes, so longer totals are skipped.
LONGEST = 1.5
PROBES = 100
# For shorter times, waking up after the gate would be a large part of the measurement.
SHORTEST = 1e-3


def synchronous(x: np.ndarray, count: int) -> None:
    """Wait after each increment."""
    for _ in range(count):
        y = x + 1
        y.wait_to_read()


def asynchronous(x: np.ndarray, count: int) -> None:
    """Wait after the last increment."""
    for _ in range(count):
        y = x + 1
    y.wait_to_read()


class Parts(NamedTuple):
    """The time in seconds of each of the three stages of an increment."""

    submit: float
    execute: float
    give_back: float

    def hidden(self, count: int) -> float:
        """Return the time of ``count`` increments if submission were always hidden behind execution."""
        return self.submit + count * self.execute + self.give_back

    def predicted(self, count: int) -> float:
        """Return the predicted time of ``count`` increments if only the last one is waited for."""
        slower = max(self.submit, self.execute)
        return self.submit + (count - 1) * slower + self.execute + self.give_back

    def backend_bound(self, count: int) -> bool:
        """Return whether the engine, not the program, is the bottleneck."""
        return count * self.execute > (count - 1) * self.submit


class Total(NamedTuple):
    """The time in seconds of a number of increments, with a wait after each and after the last."""

    increments: int
    waiting: float
    running: float


@dataclass(frozen=True)
class Size:
    """The measurements for arrays of one size, without totals that would take too long."""

    shape: tuple[int, int]
    parts: Parts
    totals: list[Total]

    @property
    def elements(self) -> int:
        """The number of elements."""
        return self.shape[0] * self.shape[1]

    @property
    def name(self) -> str:
        """The shape as text."""
        return f"{self.shape[0]} x {self.shape[1]}"


def submit_time(x: np.ndarray) -> float:
    """Submit a few increments to an idle engine: the time of the loop is t1."""

    def issue() -> None:
        for _ in range(PROBES):
            x + 1

    return clock.best(issue, runs=5) / PROBES


def execute_time(x: np.ndarray, gate: np.ndarray, count: int) -> float:
    """Submit increments behind a slow product, then time them from the end of the product: that is t2."""
    taken = []
    for _ in range(3):
        npx.waitall()
        slow = np.dot(gate, gate)
        behind = x + slow.sum() * 0
        for _ in range(count):
            behind + 1
        slow.wait_to_read()
        start = time.perf_counter()
        npx.waitall()
        taken.append((time.perf_counter() - start) / count)
    return statistics.median(taken)


def parts(x: np.ndarray, gate: np.ndarray) -> Parts:
    """Estimate the three stages for arrays like x.

    The time of a synchronous increment beyond its submission is an upper bound of t2. If the increments behind the gate
    finish too soon to be timed, that bound is the estimate, and it includes t3.
    """
    whole = clock.best(lambda: synchronous(x, PROBES)) / PROBES
    # Enough increments that waking up after the product is negligible, and no more than fit into a window.
    count = min(max(int(0.03 / whole), PROBES), 4000)
    submit, execute = submit_time(x), execute_time(x, gate, count)
    rest = max(whole - submit, 0.0)
    execute = min(execute, rest) if count * execute > SHORTEST else rest
    return Parts(submit, execute, rest - execute)


def measure(shape: tuple[int, int], gate: np.ndarray, quick: bool) -> Size:
    """Measure one size."""
    x = np.ones(shape)
    asynchronous(x, PROBES)
    part = parts(x, gate)
    runs = 1 if quick else 3
    totals = []
    for count in (COUNT,) if quick else (COUNT, MORE):
        if count * sum(part) <= LONGEST:
            waiting = clock.best(functools.partial(synchronous, x, count), runs)
            totals.append(Total(count, waiting, clock.best(functools.partial(asynchronous, x, count), runs)))
    return Size(shape, part, totals)


def sweep(quick: bool) -> Iterator[Size]:
    """Measure every size in another process, with both settings off from the start."""
    command = [sys.executable, "-m", "tour.increments", *(["--quick"] if quick else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            read = json.loads(line)
            yield Size(tuple(read["shape"]), Parts(*read["parts"]), [Total(*total) for total in read["totals"]])
    if process.returncode:
        raise RuntimeError(f"the measurement of increments ended with status {process.returncode}")


def crossing(sizes: Sequence[Size]) -> int | None:
    """Return the number of elements from which on the engine is the bottleneck.

    The search starts at the largest size, so that a single outlier among the small ones does not matter.
    """
    first = None
    for size in reversed(sizes):
        if not size.parts.backend_bound(COUNT):
            break
        first = size.elements
    return first


def show_stations(page: Page, sizes: Sequence[Size]) -> None:
    """Show the times of the stages."""
    page.table(
        ["array", "t1 submit", "t2 execute", "t3 give back", f"{COUNT} t2 > {COUNT - 1} t1"],
        [
            [
                size.name,
                *(seconds(t) if t else "within t2" for t in size.parts),
                "yes" if size.parts.backend_bound(COUNT) else "no",
            ]
            for size in sizes
        ],
    )
    stations = [("t1, submit", "s1", 0), ("t2, execute", "s0", 1)]
    series = [
        plot.Series(name, [(size.elements, max(size.parts[i], 1e-9)) for size in sizes], colour)
        for name, colour, i in stations
    ]
    page.figure(
        "The time of one increment in each stage. Where t2 is above t1, the engine is the bottleneck.",
        functools.partial(
            plot.curves,
            label="t1 and t2 against the size of the array",
            series=series,
            x=plot.Axis("elements", "{:,.0f}".format, log=True),
            y=plot.Axis("time an increment", short, log=True),
        ),
    )


def show_totals(page: Page, sizes: Sequence[Size]) -> None:
    """Show the times of the loops, and the predictions of the formula with and without its condition."""
    page.table(
        ["array", "increments", "synchronous", "asynchronous", "gain", "slower side", "t1 + n t2 + t3"],
        [
            [
                size.name,
                f"{count}",
                seconds(waiting),
                seconds(running),
                f"{waiting / running:.2f}x",
                seconds(size.parts.predicted(count)),
                seconds(size.parts.hidden(count)),
            ]
            for size in sizes
            for count, waiting, running in size.totals
        ],
    )
    timed = [(size, total) for size in sizes for total in size.totals if total.increments == COUNT]
    series = [
        plot.Series("waiting after each", [(size.elements, total.waiting) for size, total in timed], "s1"),
        plot.Series("waiting after the last", [(size.elements, total.running) for size, total in timed], "s0"),
        plot.Series("the slower side alone", [(s.elements, s.parts.predicted(COUNT)) for s, _ in timed], "s2"),
    ]
    page.figure(
        f"{COUNT} increments, by the size of the array.",
        functools.partial(
            plot.curves,
            label="seconds for a thousand increments against the size of the array",
            series=series,
            x=plot.Axis("elements", "{:,.0f}".format, log=True),
            y=plot.Axis(f"time for {COUNT} increments", short, log=True),
        ),
    )
    size, total = timed[0]
    page.found(f"{COUNT} increments of {size.name}: gain from running ahead", f"{total.waiting / total.running:.2f}x")


def short(value: float) -> str:
    """Write a duration without decimals, for axes."""
    return seconds(value).replace(".00", "")


def show(page: Page, quick: bool) -> None:
    """Show the section."""
    page.title("5. What running ahead is worth")
    page.say("Add one to an array many times over, waiting after each addition, and then only after the last:")
    page.listing(synchronous, asynchronous)
    page.say(
        "Let t1 be the time to submit one addition, t2 the time to execute it, and t3 the time to return its "
        "result. With a wait after each, n additions take n (t1 + t2 + t3). Without, submission overlaps with "
        "execution and the result is returned once, so they take about t1 + n t2 + t3. Measured with every addition"
        " executed separately (`FORERUN_DROP_DEAD=0`, `FORERUN_FUSE=0`):"
    )
    sizes = []
    with Progress("increments of every size", len(QUICK_SHAPES if quick else SHAPES)) as progress:
        for size in sweep(quick):
            sizes.append(size)
            progress.step()
    show_stations(page, sizes)
    page.say(
        f"Exercise: why does that formula require {COUNT} t2 > {COUNT - 1} t1? Because it counts submission only "
        "once. That is correct only if the engine is slower than the program and always finds the next addition in "
        "the queue. If the engine is faster, it is idle between two submissions, and the submission rate limits the"
        " loop: it takes about n t1. The table below shows the loops, the time of the slower side alone, and the "
        "formula; where the condition fails, the formula predicts too little time:"
    )
    show_totals(page, sizes)
    first = crossing(sizes)
    if first is None:
        page.say("On this machine submission was slower than execution at every size: the program was the bottleneck.")
    else:
        page.say(
            f"Here {COUNT} t2 > {COUNT - 1} t1 holds from {first} elements on, among the tested sizes. There the "
            "engine is the bottleneck and hides the submission; for smaller arrays the program is, and the engine "
            "waits for work."
        )
    x = np.ones((1, 2))
    page.say(
        f"With both settings back on, only the last of {MORE} additions is read, and the loop takes "
        f"{seconds(clock.best(lambda: asynchronous(x, MORE)))}."
    )


def main() -> None:
    """Measure every size, and print each result at once."""
    quick = "--quick" in sys.argv
    gate = np.random.normal(size=(1000, 1000)) * 0.03
    for shape in QUICK_SHAPES if quick else SHAPES:
        print(json.dumps(asdict(measure(shape, gate, quick))), flush=True)


if __name__ == "__main__":
    # The engine reads these when it starts, at the first array.
    os.environ.update(FORERUN_DROP_DEAD="0", FORERUN_FUSE="0")
    main()
