"""How the tour measures: the best of a few runs, each begun with nothing left to do."""

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
