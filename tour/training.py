"""Training without a barrier, and with one after every batch: time, memory, and how far the program runs ahead."""

from __future__ import annotations

import functools
import linecache
import os.path
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import forerun
from forerun import autograd, engine, gluon, np, npx
from forerun._types import Holder
from forerun.gluon import nn
from tour import memory, plot
from tour.memory import MIB
from tour.page import Page, seconds
from tour.progress import Progress
from tour.svg import Point

BATCHES = 150
QUICK_BATCHES = 8
SEED = 7
# Warm-up batches, so that one-time costs are not measured.
FIRST = 3
# The resolution of memory curves: the number of intervals per epoch, and of batches in the close-up.
STRETCHES = 80
NEAR = 4

Batches = Iterable[tuple[np.ndarray, np.ndarray]]


class Model(NamedTuple):
    """The objects of a training loop, without the data."""

    net: nn.Sequential
    trainer: gluon.Trainer
    loss: gluon.loss.L2Loss


def build() -> Model:
    """Make the chapter's network."""
    net = nn.Sequential()
    net.add(nn.Dense(2048, activation="relu"), nn.Dense(512, activation="relu"), nn.Dense(1))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    loss = gluon.loss.L2Loss()
    return Model(net, trainer, loss)


def draw_batches(count: int, step: Callable[[], None]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Draw random batches, and report progress after each."""
    for _ in range(count):
        X = np.random.normal(size=(1024, 512))
        y = np.ones((1024,))
        yield X, y
        step()


def with_barrier(model: Model, batches: Batches) -> Any:
    """Wait for the loss of each batch before the next."""
    for X, y in batches:
        with autograd.record():
            loss = model.loss(model.net(X), y)
        loss.backward()
        model.trainer.step(X.shape[0])
        loss.wait_to_read()  # the program goes no further before the loss is there
    return loss


def without_barrier(model: Model, batches: Batches) -> Any:
    """Never wait."""
    for X, y in batches:
        with autograd.record():
            loss = model.loss(model.net(X), y)
        loss.backward()
        model.trainer.step(X.shape[0])
    return loss


def warmed_up() -> Model:
    """Build a network and run one batch, which initialises the parameters."""
    npx.seed(SEED)
    model = build()
    for X, y in draw_batches(1, lambda: None):
        model.loss(model.net(X), y).wait_to_read()
    npx.waitall()
    return model


@dataclass(frozen=True)
class Epoch:
    """The measurements of one epoch, in seconds and MiB unless stated otherwise."""

    batches: int
    issued: float
    finished: float
    processor: float
    loss: float
    grown_by_ps: float | None
    grown: list[Point]
    live: list[Point]
    peak: float
    held: float
    counters: dict[str, int]
    holders: list[Holder]
    issue_times: list[float]

    @property
    def hit_rate(self) -> float:
        """The hit rate of the plan cache."""
        hits, misses = self.counters["plan_hits"], self.counters["plan_misses"]
        return hits / max(hits + misses, 1)


def measure(name: str, loop: Callable[[Model, Batches], Any], count: int) -> Epoch:
    """Run one epoch and measure it."""
    model = warmed_up()
    # Memory that earlier parts of the tour left in the pool would hide the growth.
    forerun.empty_cache()
    forerun.reset_peak()
    held, counters, ps = forerun.memory_stats(0)["held"], engine.stats(), memory.get_mem()
    issue_times: list[float] = []
    with Progress(f"training {name}", count) as progress, memory.Sampler() as sampler:
        start, worked = time.perf_counter(), time.process_time()

        def step() -> None:
            issue_times.append(time.perf_counter() - start)
            progress.step()

        loss = loop(model, draw_batches(count, step))
        issued = time.perf_counter() - start
        holders = forerun.memory_stats(4)["holders"]
        npx.waitall()
        finished, processor = time.perf_counter() - start, time.process_time() - worked
    after, ps_after = forerun.memory_stats(0), memory.get_mem()
    return Epoch(
        batches=count,
        issued=issued,
        finished=finished,
        processor=processor,
        loss=float(loss.mean().item()),
        grown_by_ps=None if ps is None or ps_after is None else ps_after - ps,
        grown=sampler.grown(),
        live=sampler.live(),
        peak=after["peak"] / MIB,
        held=sum(after["held"][why]["seconds"] - held[why]["seconds"] for why in ("window", "host")),
        counters={key: value - counters[key] for key, value in engine.stats().items()},
        holders=holders,
        issue_times=issue_times,
    )


def rows(epochs: list[Epoch]) -> list[list[str]]:
    """Return the table of epochs, a column each."""

    def line(name: str, cell: Callable[[Epoch], str]) -> list[str]:
        return [name, *(cell(epoch) for epoch in epochs)]

    def growth(epoch: Epoch) -> str:
        return f"{max(y for _, y in epoch.grown):.1f}" if epoch.grown else "not told"

    return [
        line("time for the epoch, s", lambda e: f"{e.finished:.4f}"),
        line("processor time of all threads, s", lambda e: f"{e.processor:.4f}"),
        line("the program was done after, s", lambda e: f"{e.issued:.4f}"),
        line("that is, of the epoch", lambda e: f"{100 * e.issued / e.finished:.2f} %"),
        line("held while submitting, s", lambda e: f"{e.held:.4f}"),
        line("`get_mem` grew by, MB", lambda e: "no ps" if e.grown_by_ps is None else f"{e.grown_by_ps:.1f}"),
        line("process grew at most by, MiB", growth),
        line("arrays took at most, MiB", lambda e: f"{e.peak:.1f}"),
        line("records a batch", lambda e: f"{e.counters['records'] / e.batches:.0f}"),
        line("plan cache hits", lambda e: f"{100 * e.hit_rate:.1f} %"),
        line("loss of the last batch", lambda e: f"{e.loss:.6g}"),
    ]


def figure(page: Page, caption: str, x: str, y: str, barrier: list[Point], free: list[Point]) -> None:
    """Show two curves in one plot, unless the system did not report them."""
    if barrier and free:
        series = [
            plot.Series("with a barrier", barrier, "s0", dots=False),
            plot.Series("without", free, "s1", dots=False),
        ]
        draw = functools.partial(plot.curves, label=caption, series=series, x=plot.Axis(x), y=plot.Axis(y))
        page.figure(caption, draw)


def figures(page: Page, barrier: Epoch, free: Epoch) -> None:
    """Show memory over time, and when each batch was issued."""
    caption = "The most bytes of arrays in each stretch of the epoch, as the engine counts them."
    # An interval shorter than a batch would show its position within the batch.
    tops = [plot.highest(e.live, min(STRETCHES, max(e.batches // 2, 1))) for e in (barrier, free)]
    figure(page, caption, "seconds", "MiB of arrays", *tops)
    caption = f"The same from near, over the time of {NEAR} batches: every one takes memory and gives it back."
    near = [[p for p in e.live if p[0] <= e.finished * NEAR / e.batches] for e in (barrier, free)]
    figure(page, caption, "seconds", "MiB of arrays", *near)
    caption = "What the process grew by during the epoch, as the system counts it."
    figure(page, caption, "seconds", "MiB above the start", barrier.grown, free.grown)
    caption = "When the program was done with each batch. A flat line is a program far ahead of its engine."
    issued: list[list[Point]] = [list(enumerate(epoch.issue_times, 1)) for epoch in (barrier, free)]
    figure(page, caption, "batch", "seconds", *issued)


def show(page: Page, quick: bool) -> None:
    """Show the section."""
    count = QUICK_BATCHES if quick else BATCHES
    page.title("6. Training, with and without a barrier")
    page.say("A network of three layers, batches of random numbers, and plain gradient descent:")
    page.listing(build, draw_batches)
    page.say(
        "The chapter measures memory with `ps`, as the size of the process. Here the system is also queried every "
        "few milliseconds, and the engine counts the bytes of its arrays, `forerun.memory_stats()`."
    )
    page.listing(memory.get_mem)
    page.say("First with a barrier after every batch, then the same lines without it:")
    page.listing(with_barrier, without_barrier)
    for loop in (with_barrier, without_barrier):
        loop(warmed_up(), draw_batches(FIRST, lambda: None))
    barrier = measure("with a barrier", with_barrier, count)
    free = measure("without a barrier", without_barrier, count)
    page.table([f"{count} batches", "with a barrier", "without"], rows([barrier, free]))
    figures(page, barrier, free)
    if free.held > 0:
        page.say(
            f"Without the barrier the program waited for {seconds(free.held)}: a window holds a limited number of "
            "records, and a program that is a full window ahead waits."
        )
    same = "the same" if barrier.loss == free.loss else "not the same"
    page.say(
        "An engine that started everything at once would hold the data and the intermediate results of every "
        "submitted batch. This one allocates memory for an op when the op starts, prefers the oldest work, and lets"
        " random numbers run ahead only within an allowance; so a barrier saves little. The size of the process "
        "includes more than arrays, and varies by several MiB from run to run. If the times of the two loops differ"
        " and their processor times do not, another process was running. After the same seed, the mean loss of the "
        f"last batch is {same} number with and without the barrier."
    )
    page.say("When the program without a barrier was done, these lines held the most memory:")
    page.table(
        ["line", "at", "op", "MiB", "arrays"],
        [
            [
                f"`{linecache.getline(h['file'], h['line']).strip()}`",
                f"{os.path.basename(h['file'])}:{h['line']}",
                h["op"],
                f"{h['bytes'] / MIB:.2f}",
                f"{h['arrays']}",
            ]
            for h in free.holders
        ],
    )
    page.found(f"{count} batches, with a barrier", seconds(barrier.finished))
    page.found(f"{count} batches, without a barrier", seconds(free.finished))
    page.found("most bytes of arrays, with and without", f"{barrier.peak:.0f} and {free.peak:.0f} MiB")
    page.found(
        "without a barrier, share of the epoch until the program is done", f"{100 * free.issued / free.finished:.2f} %"
    )
