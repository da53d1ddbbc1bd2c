"""How the tour measures time: the best of a few runs, each begun with nothing left to do."""

from __future__ import annotations

import time
from collections.abc import Callable

from forerun import npx


def once(work: Callable[[], object]) -> float:
    """Return the seconds that one call takes, begun with nothing left to do."""
    npx.waitall()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def best(work: Callable[[], object], runs: int = 3) -> float:
    """Return the least of the seconds that several calls take: the one disturbed least."""
    return min(once(work) for _ in range(runs))


def issued_and_finished(work: Callable[[], object], runs: int = 3) -> tuple[float, float]:
    """Return the seconds until a call is back and until all it asked for is done, of the run that was done first."""

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
