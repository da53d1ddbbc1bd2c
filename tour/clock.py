"""Time measurements of the tour: the best of a few runs, each started with an idle engine."""

from __future__ import annotations

import time
from collections.abc import Callable

from forerun import npx


def once(work: Callable[[], object]) -> float:
    """Return the time of one call in seconds, started with an idle engine."""
    npx.waitall()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best(work: Callable[[], object], runs: int = 3) -> float:
    """Return the shortest time of several calls in seconds."""
    return min(once(work) for _ in range(runs))


def issued_and_finished(work: Callable[[], object], runs: int = 3) -> tuple[float, float]:
    """Return the times in seconds until a call returns and until all its work is done, for the fastest run."""

    def run() -> tuple[float, float]:
        npx.waitall()
        start = time.perf_counter()
        kept = work()
        issued = time.perf_counter() - start
        npx.waitall()
        finished = time.perf_counter() - start
        del kept
        return issued, finished

    return min((run() for _ in range(runs)), key=lambda pair: pair[1])
