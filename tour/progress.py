"""A progress bar for parts that take a while: shown in terminals only, and removed at the end."""

from __future__ import annotations

import sys
import time
from typing import TextIO

COLUMNS = 30
# Drawing more often than necessary would slow down the measured loop.
PAUSE = 0.1


class Progress:
    """A context manager; call ``step`` after each piece of work."""

    def __init__(self, name: str, total: int, stream: TextIO | None = None) -> None:
        self.name = name
        self.total = total
        self.done = 0
        self.stream = sys.stdout if stream is None else stream
        self._shown = self.stream.isatty()
        self._last = float("-inf")

    def __enter__(self) -> Progress:
        """Show an empty bar."""
        self._draw()
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove the bar."""
        if self._shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()

    def step(self) -> None:
        """Count a piece of work."""
        self.done += 1
        self._draw()

    def _draw(self) -> None:
        if not self._shown:
            return
        now = time.monotonic()
        if now - self._last < PAUSE and self.done < self.total:
            return
        self._last = now
        full = COLUMNS * min(self.done, self.total) // self.total
        bar = "#" * full + "." * (COLUMNS - full)
        self.stream.write(f"\r    [{bar}] {self.done}/{self.total}  {self.name}\x1b[K")
        self.stream.flush()
