"""An exercise: let each batch overlap only with the next one, and show it on a timeline.

A batch has two ends: its loss is computed, and its update is done. The program records when it submits and when it
waits; a separate thread waits for both ends of every batch and records their times.
"""

from __future__ import annotations

import functools
import itertools
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from forerun import autograd, np, npx
from tour import plot
from tour.page import Page
from tour.training import Model, warmed_up

BATCHES = 10
QUICK_BATCHES = 5

SUBMIT, WAIT = "program submits", "program waits"
FORWARD, REST = "submitted, until the loss is there", "until the update is done"
COLOURS = [(SUBMIT, "s1"), (WAIT, "dim"), (FORWARD, "s0"), (REST, "s2")]
MARKS = [(SUBMIT, "+"), (WAIT, "."), (FORWARD, "="), (REST, "#")]


def train(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Submit one batch; return its loss, and a few numbers that are computed when every parameter is updated."""
    X, y = np.random.normal(size=(1024, 512)), np.ones((1024,))
    with autograd.record():
        loss = model.loss(model.net(X), y)
    loss.backward()
    model.trainer.step(X.shape[0])
    parameters = model.net.collect_params().values()
    update = np.concatenate([p.data().reshape((-1,))[:1] for p in parameters])
    return loss, update


class Moment:
    """An array, and the time at which it was first known to be computed."""

    def __init__(self, array: np.ndarray, notes: Notes) -> None:
        self.array = array
        self.notes = notes
        self.at = float("inf")

    def wait_to_read(self) -> None:
        """Wait for the array in the program, and record the wait."""
        start = self.notes.now()
        self.watch()
        self.notes.waits.append((start, self.notes.now()))

    def watch(self) -> None:
        """Wait for the array."""
        self.array.wait_to_read()
        # The earliest observation is the best estimate.
        self.at = min(self.at, self.notes.now())


@dataclass(frozen=True)
class Batch:
    """The times of one batch: begin and end of its submission, and its two ends."""

    begun: float
    submitted: float
    loss: Moment
    update: Moment


class Notes:
    """Submits batches and records the times of events, in seconds from the start."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.batches: list[Batch] = []
        self.waits: list[tuple[float, float]] = []
        self.finished = 0.0
        self._watched: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._start = time.perf_counter()

    def now(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self._start

    def submit(self) -> Batch:
        """Submit a batch, and watch its ends."""
        begun = self.now()
        loss, update = train(self.model)
        batch = Batch(begun, self.now(), Moment(loss, self), Moment(update, self))
        self.batches.append(batch)
        self._watched.put(batch)
        return batch

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Watch the batches submitted inside until they are done."""
        watcher = threading.Thread(target=self._watch, daemon=True)
        # The watcher must not wait for the GIL while the program is busy submitting.
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-4)
        watcher.start()
        try:
            yield
        finally:
            self._watched.put(None)
            watcher.join()
            sys.setswitchinterval(interval)
        npx.waitall()
        self.finished = self.now()

    def _watch(self) -> None:
        while (batch := self._watched.get()) is not None:
            batch.loss.watch()
            batch.update.watch()


Submit = Callable[[], Batch]


def freely(count: int, submit: Submit) -> None:
    """Never wait."""
    for _ in range(count):
        submit()


def one_by_one(count: int, submit: Submit) -> None:
    """Wait for each loss before the next batch."""
    for _ in range(count):
        submit().loss.wait_to_read()


def one_ahead(count: int, submit: Submit) -> None:
    """Keep the losses; wait for one after the next batch is submitted."""
    batches: list[Batch] = []
    for t in range(count):
        if t >= 2:
            batches[t - 2].loss.wait_to_read()
        batches.append(submit())


def one_whole_ahead(count: int, submit: Submit) -> None:
    """Wait for the update instead, which is the last work of a batch."""
    batches: list[Batch] = []
    for t in range(count):
        if t >= 2:
            batches[t - 2].update.wait_to_read()
        batches.append(submit())


LOOPS: list[tuple[str, Callable[[int, Submit], None]]] = [
    ("no barrier", freely),
    ("wait for the loss of b(t)", one_by_one),
    ("wait for the loss of b(t-1)", one_ahead),
    ("wait for the update of b(t-1)", one_whole_ahead),
]


def measure(loop: Callable[[int, Submit], None], count: int) -> Notes:
    """Run and watch a loop."""
    notes = Notes(warmed_up())
    with notes.watched():
        loop(count, notes.submit)
    return notes


def apart(batches: list[Batch], end: Callable[[Batch], float]) -> str:
    """Count the steps t for which batch b(t) ends before b(t+2) begins."""
    pairs = list(zip(batches, batches[2:], strict=False))
    return f"{sum(end(earlier) <= later.begun for earlier, later in pairs)} of {len(pairs)}"


def overlapping(batches: list[Batch]) -> str:
    """Count the steps t for which batch b(t+1) begins before b(t) ends."""
    pairs = list(itertools.pairwise(batches))
    return f"{sum(later.begun < earlier.update.at for earlier, later in pairs)} of {len(pairs)}"


def most_at_once(batches: list[Batch]) -> int:
    """Return the maximum number of batches in flight."""
    return max(sum(b.begun <= moment.begun < b.update.at for b in batches) for moment in batches)


def timeline(notes: Notes) -> list[plot.Row]:
    """Return the rows of a timeline: the program, then every batch."""
    waits = [plot.Span(start, end, WAIT) for start, end in notes.waits]
    # Drawn last, on top: a submission is short, and the wait next to it would hide it.
    rows = [plot.Row("program", [*waits, *(plot.Span(b.begun, b.submitted, SUBMIT) for b in notes.batches)])]
    for t, b in enumerate(notes.batches):
        spans = [plot.Span(b.begun, b.loss.at, FORWARD), plot.Span(b.loss.at, b.update.at, REST)]
        rows.append(plot.Row(f"b({t})", spans))
    return rows


def show(page: Page, quick: bool) -> None:
    """Show the section."""
    page.title("7. Exercise: an overlap of one batch")
    page.say(
        "How must the training loop change so that b(t) ends before b(t+2) begins, while b(t+1) may overlap with "
        "both? Keep the loss of each batch, and before submitting a batch wait for the loss of the last but one:"
    )
    page.listing(one_ahead)
    page.say(
        "A loss is only half of a batch: the backward pass and the update follow. To wait for the whole batch, wait"
        " for its update; `submit` returns a few of its numbers besides the loss:"
    )
    page.listing(one_whole_ahead, train)
    count = QUICK_BATCHES if quick else BATCHES
    noted = {name: measure(loop, count) for name, loop in LOOPS}
    head = [
        "before b(t+1) begins",
        "seconds",
        "overlaps",
        "at once",
        "loss in time",
        "all in time",
    ]
    page.table(
        head,
        [
            [
                name,
                f"{notes.finished:.4f}",
                overlapping(notes.batches),
                f"{most_at_once(notes.batches)}",
                apart(notes.batches, lambda b: b.loss.at),
                apart(notes.batches, lambda b: b.update.at),
            ]
            for name, notes in noted.items()
        ],
    )
    page.say(
        "The columns show: for how many t the batch b(t+1) began before b(t) ended; the maximum number of batches "
        "in flight; and for how many t the loss of b(t), and all of b(t), were done before the program began "
        "b(t+2). Even the barrier of section 6 waits for half a batch only: the backward pass of b(t) may continue "
        "while b(t+1) is submitted."
    )
    for name, notes in list(noted.items())[2:]:
        rows = timeline(notes)
        page.say(f"The timeline of the loop `{name}`:")
        page.figure(
            f"{count} batches; {name} before b(t+1) begins. A batch lasts from its first submission to its update.",
            functools.partial(plot.timeline, label=f"timeline: {name}", rows=rows, kinds=COLOURS),
            plot.timeline_text(rows, MARKS),
        )
    strict = noted[LOOPS[-1][0]].batches
    page.found("b(t) wholly done before b(t+2) begins", apart(strict, lambda b: b.update.at))
