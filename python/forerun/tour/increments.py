"""What running ahead is worth: many increments, waiting after each or only after the last.

The measurements run in a process of their own, in which nothing is left out and nothing is fused, so that n increments
are n executions: ``python -m forerun.tour.increments`` prints their table.
"""

from __future__ import annotations

import functools
import os
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

from forerun import np, npx
from forerun.tour import clock, page

SHAPES = [(1, 2), (10, 10), (32, 32), (100, 100), (200, 200), (500, 500), (1000, 1000)]
COUNTS = [1000, 10_000]
# Sweeping every count over every size would take minutes; longer cases are left out.
LONGEST = 1.5
PROBES = 100
# Waking up after the gate takes a good part of what is shorter.
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
    """The seconds that one increment spends in each of its three stations."""

    submit: float
    execute: float
    give_back: float

    def predicted(self, count: int) -> float:
        """Return what so many increments should take when only the last is waited for."""
        slower = max(self.submit, self.execute)
        return self.submit + (count - 1) * slower + self.execute + self.give_back

    def backend_bound(self, count: int) -> bool:
        """Return whether the engine, and not the program, sets the pace."""
        return count * self.execute > (count - 1) * self.submit


def submit_time(x: np.ndarray) -> float:
    """Issue a few increments into an idle engine: what is over when the loop is over is t1."""

    def issue() -> None:
        for _ in range(PROBES):
            x + 1

    return clock.best(issue, runs=5) / PROBES


def execute_time(x: np.ndarray, gate: np.ndarray, count: int) -> float:
    """Issue increments behind a slow product, then time them from the product's end: that is t2."""
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
    """Estimate the three stations for arrays like x.

    What a synchronous increment takes beyond its submission bounds t2. Where the increments behind the gate are over
    too soon to be timed, that bound is the estimate, and t3 is within it.
    """
    whole = clock.best(lambda: synchronous(x, PROBES)) / PROBES
    # Enough of them that waking up after the product does not count, and no more than a window holds.
    count = min(max(int(0.03 / whole), PROBES), 4000)
    submit, execute = submit_time(x), execute_time(x, gate, count)
    rest = max(whole - submit, 0.0)
    execute = min(execute, rest) if count * execute > SHORTEST else rest
    return Parts(submit, execute, rest - execute)


def sweep() -> None:
    """Measure every size and count, and print the tables."""
    gate = np.random.normal(size=(1000, 1000)) * 0.03
    stations, totals, bound = [], [], []
    for shape in SHAPES:
        x = np.ones(shape)
        asynchronous(x, PROBES)
        part = parts(x, gate)
        size = shape[0] * shape[1]
        name = f"{shape[0]} x {shape[1]}"
        holds = part.backend_bound(1000)
        stations.append([name, *(page.seconds(t) if t else "within t2" for t in part), "yes" if holds else "no"])
        bound.append((size, holds))
        for count in COUNTS:
            if count * sum(part) > LONGEST:
                continue
            waiting = clock.best(functools.partial(synchronous, x, count))
            running = clock.best(functools.partial(asynchronous, x, count))
            figures = [f"{waiting:.4f}", f"{running:.4f}", f"{waiting / running:.2f}x", f"{part.predicted(count):.4f}"]
            totals.append([name, f"{count}", *figures])
    page.table(["array", "t1 submit", "t2 execute", "t3 give back", "1000 t2 > 999 t1"], stations)
    page.table(["array", "increments", "synchronous", "asynchronous", "gain", "predicted"], totals)
    # From the largest size downwards: one odd measurement among the small ones decides nothing.
    first = None
    for size, holds in reversed(bound):
        if not holds:
            break
        first = size
    if first is None:
        page.say("On this machine submitting was the slower side at every size: the program set the pace throughout.")
    else:
        page.say(
            f"Here 1000 t2 > 999 t1 begins to hold at about {first} elements. From there on the engine sets the pace "
            "and submitting is hidden behind it; below, the program does, and the engine waits for work."
        )


def show() -> None:
    """Show the section."""
    page.title("5. What running ahead is worth")
    page.say("Add one to an array many times over, waiting after each addition, and then only after the last:")
    page.listing(synchronous)
    page.listing(asynchronous)
    page.say(
        "Call t1 what it takes to submit one addition, t2 to execute it, t3 to give its result back. Waiting each "
        "time, n additions take n (t1 + t2 + t3). Running ahead, submitting overlaps with executing and giving back "
        "happens once, so they take about t1 + n t2 + t3, provided that the engine is the slower side: if it were the "
        "faster, it would run dry between two submissions, and the loop would take about n t1 instead. For n = 1000 "
        "that condition reads 1000 t2 > 999 t1. Measured with every addition executed on its own "
        "(FORERUN_DROP_DEAD=0, FORERUN_FUSE=0), times in seconds where no unit is given:"
    )
    sys.stdout.flush()
    subprocess.run([sys.executable, "-m", "forerun.tour.increments"], check=True)
    x = np.ones((1, 2))
    count = COUNTS[-1]
    page.say(
        f"With both switches back on, nobody looks at any but the last of {count} additions, and the loop takes "
        f"{page.seconds(clock.best(lambda: asynchronous(x, count)))}."
    )


if __name__ == "__main__":
    # Read when the engine starts, which is at the first array.
    os.environ.update(FORERUN_DROP_DEAD="0", FORERUN_FUSE="0")
    sweep()
