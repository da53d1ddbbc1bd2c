"""Profiles: where the time and the memory of a program went, as tables and as a page."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType

from forerun import _forerun, _steps
from forerun._profile._report import Report
from forerun._trace import TraceEvent, begin, events_of

__all__ = ["Profile", "profile"]

_MOST = 1 << 16


class Profile:
    """A profile of a ``with`` statement; see ``profile``. Printing it shows tables.

    Attributes
    ----------
    report
        The figures; filled when the profile ends.
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, steps: tuple[int, int] | None = None, events: int = _MOST
    ) -> None:
        if steps is not None and not 0 <= steps[0] < steps[1]:
            raise ValueError(f"profile: steps must be (first, last) with 0 <= first < last, got {steps}")
        if events < 1:
            raise ValueError(f"profile: events must be positive, got {events}")
        self._path, self._range, self._most = path, steps, events
        self._state = "new"
        self._count = 0
        self._start = 0.0
        self._marks: list[float] = []
        self._own_steps = False
        self._report: Report | None = None

    @property
    def report(self) -> Report:
        """The figures of the profile."""
        if self._report is None:
            raise RuntimeError("profile: the profile has not ended yet, so it has no figures")
        return self._report

    def __enter__(self) -> Profile:
        """Start recording, or wait for the first step to record."""
        if self._state != "new":
            raise RuntimeError("profile: a profile can be used once; make another one")
        self._state = "waiting"
        if self._range is None or self._range[0] == 0:
            self._begin()
        _steps.LISTENERS.append(self._step_ended)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop recording, and write the page if a path was given."""
        _steps.LISTENERS.remove(self._step_ended)
        if self._state == "waiting":
            self._state = "ended"
            self._report = Report([], 0.0, 0.0, [], False, {})
        elif self._state == "recording":
            # A program that ends itself has not failed.
            self._end(interrupted=error is not None and not isinstance(error, SystemExit))
        if self._path is not None:
            try:
                self.save(self._path)
            except OSError:
                # The error of the block is what the program has to see.
                if error is None:
                    raise

    def step(self) -> None:
        """Say that a step of a loop has ended.

        A loop that calls an optimiser's ``step`` need not call this: without it, each update of the parameters ends a
        step.
        """
        if not self._own_steps:
            # Steps of optimisers do not count from here on.
            self._own_steps, self._count = True, 0
            self._marks.clear()
        self._count_step()

    def _step_ended(self) -> None:
        if not self._own_steps:
            self._count_step()

    def _count_step(self) -> None:
        self._count += 1
        if self._state == "recording":
            self._marks.append(time.perf_counter() - self._start)
            if self._range is not None and self._count >= self._range[1]:
                self._end(interrupted=False)
        elif self._state == "waiting" and self._range is not None and self._count >= self._range[0]:
            self._begin()

    def _begin(self) -> None:
        # Earlier work is not part of the profile.
        _forerun.drain()
        begin(self._most)
        self._start = time.perf_counter()
        self._state = "recording"

    def _end(self, interrupted: bool) -> None:
        self._state = "ended"
        block = time.perf_counter() - self._start
        try:
            # What was submitted runs to its end, so that its times are known. After an exception, perhaps an interrupt,
            # nothing waits.
            if not interrupted:
                _forerun.drain()
        finally:
            wall = time.perf_counter() - self._start
            lanes = _forerun.stop_trace()
            events = events_of(lanes)
            full = [rows[0][1][0] for _, rows in lanes if len(rows) >= self._most]
            self._report = Report(events, block, wall, self._marks, bool(full), _held(events), max(full, default=0.0))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page: one HTML file that needs no network and no other file."""
        from forerun._profile._page import page

        text = page(self.report, _program())
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def __str__(self) -> str:
        """Return the tables and the advice as text."""
        return "the profile has not ended yet" if self._report is None else self._report.text()

    def __repr__(self) -> str:
        """Return a line about the profile."""
        if self._report is None:
            return "<forerun profile, not ended>"
        count, wall = len(self._report.runs), self._report.wall
        return f"<forerun profile: {count} runs in {wall * 1e3:.1f} ms; print it, or call save(path)>"

    def _repr_html_(self) -> str:
        """Return the tables and the advice for a notebook."""
        return "<p>the profile has not ended yet</p>" if self._report is None else self._report.html()


def _program() -> str:
    """Return the name of the running script; empty in a notebook, and for ``python -c``."""
    name = os.path.basename(sys.argv[0]) if sys.argv else ""
    return "" if name.startswith(("-", "ipykernel")) else name


def _held(events: list[TraceEvent]) -> dict[str, dict[tuple[str, int, str], int]]:
    """Return the memory held now, by device and by line and op."""
    devices = {event.device for event in events if event.kind in ("allocated", "freed")}
    held: dict[str, dict[tuple[str, int, str], int]] = {}
    # A line may have several entries, one for each function that it belongs to.
    for device in devices:
        if device.startswith("gpu"):
            from forerun import npx

            lines = _forerun.gpu_memory_stats(npx.gpu(int(device[4:-1])), sys.maxsize)["holders"]
        else:
            lines = _forerun.memory_stats(sys.maxsize)["holders"]
        sums = held.setdefault(device, {})
        for line in lines:
            key = (line["file"], line["line"], line["op"])
            sums[key] = sums.get(key, 0) + line["bytes"]
    return held


def profile(
    path: str | os.PathLike[str] | None = None, *, steps: tuple[int, int] | None = None, events: int = _MOST
) -> Profile:
    """Measure where time and memory go inside a ``with`` statement.

    The profile waits for earlier work when it starts, and for the work of the statement when it ends. Neither wait is
    counted. One profile or trace can be on at a time.

    Parameters
    ----------
    path
        Where to write the page: an HTML file with a timeline and tables, which a browser opens without a network.
    steps
        ``(first, last)``: record only from the end of step ``first`` to the end of step ``last``. A step ends with each
        update of the parameters by an optimiser, or where the program calls ``step()`` of the profile.
    events
        The maximum number of events per thread; older events are overwritten.

    Returns
    -------
    Profile
        ``print`` shows its tables; ``save(path)`` writes the page; ``report`` has the figures.

    Examples
    --------
    >>> import forerun
    >>> from forerun import np
    >>> with forerun.profile() as p:
    ...     x = np.ones((500, 500))
    ...     y = (x @ x).sum()
    >>> [row.op for row in p.report.ops if row.op == "matmul"]
    ['matmul']
    >>> "nothing waits" in str(p)
    True
    """
    return Profile(path, steps=steps, events=events)
