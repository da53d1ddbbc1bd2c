"""Memory measurements of the tour: from outside, as `ps` reports, and from inside, as the engine counts."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

from forerun import engine

MIB = 2.0**20
STATM = Path("/proc/self/statm")


def get_mem() -> float | None:
    """Return the resident memory in megabytes as `ps` reports it, like the chapter; None without `ps`."""
    if shutil.which("ps") is None:
        return None
    said = subprocess.check_output(["ps", "-o", "rss=", "-p", str(os.getpid())])
    return int(said) / 1e3


def resident() -> float | None:
    """Return the anonymous resident memory in MiB; None if the system does not report it."""
    if not STATM.exists():
        return None
    pages = STATM.read_text().split()
    return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE") / MIB


class Sample(NamedTuple):
    """The memory in use at one moment, in seconds and MiB."""

    at: float
    resident: float | None
    live: float


class Sampler:
    """Samples the memory every few milliseconds inside a ``with`` statement."""

    def __init__(self, every: float = 0.004) -> None:
        self.samples: list[Sample] = []
        self._every = every
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Sampler:
        """Start sampling."""
        self._start = time.perf_counter()
        self._sample()
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Take a last sample."""
        self._over.set()
        self._thread.join()
        self._sample()

    def grown(self) -> list[tuple[float, float]]:
        """Return the growth of the process since the first sample; empty if the system does not report it."""
        first = self.samples[0].resident
        return [(s.at, s.resident - first) for s in self.samples if s.resident is not None and first is not None]

    def live(self) -> list[tuple[float, float]]:
        """Return the memory of arrays."""
        return [(s.at, s.live) for s in self.samples]

    def _look(self) -> None:
        while not self._over.wait(self._every):
            self._sample()

    def _sample(self) -> None:
        live = engine.stats()["live_bytes"] / MIB
        self.samples.append(Sample(time.perf_counter() - self._start, resident(), live))
