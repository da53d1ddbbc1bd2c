"""Blockers: calls that look harmless but wait for a value."""

from __future__ import annotations

import functools
from collections.abc import Callable

from forerun import np
from tour import clock, plot
from tour.page import Page

STEPS = 200
SIDE = 250


def prepare() -> int:
    """Simulate the other work of a program in each step: reading, logging, deciding."""
    return sum(range(20_000))


def read_at_every_step(a: np.ndarray) -> float:
    """Fetch a number in every step of a loop."""
    x, total = a, 0.0
    for _ in range(STEPS):
        x = np.dot(x, a)
        total += x.sum().item()
        prepare()
    return total


def read_once(a: np.ndarray) -> float:
    """Keep the running total in an array, and fetch it when the loop is over."""
    x, total = a, np.zeros(())
    for _ in range(STEPS):
        x = np.dot(x, a)
        total = total + x.sum()
        prepare()
    return float(total.item())


def product(a: np.ndarray, look: Callable[[np.ndarray], object]) -> object:
    """Multiply, and read the product in different ways."""
    return look(np.dot(a, a))


def show(page: Page, quick: bool) -> None:
    """Show the section."""
    page.title("4. Blockers")
    page.say(
        "Every call that converts an array to a Python object needs its value, and waits for it: printing, "
        "conversion to NumPy, conversion to a number. Each of these is an implicit barrier. One product, then:"
    )
    a = np.random.normal(size=(1000, 1000))
    looks: list[tuple[str, Callable[[np.ndarray], object]]] = [
        ("nothing", lambda b: b),
        ("b.wait_to_read()", lambda b: b.wait_to_read()),
        ("b.asnumpy()", lambda b: b.asnumpy()),
        ("b.sum().item()", lambda b: b.sum().item()),
        ("str(b), as print does", str),
    ]
    runs = 1 if quick else 3
    rows = [(name, clock.best(functools.partial(product, a, look), runs)) for name, look in looks]
    page.table(["np.dot(a, a), then", "seconds"], [[name, f"{took:.4f}"] for name, took in rows])
    shown = [plot.Bar(name, took, f"{took:.4f} s", "s1" if place else "s2") for place, (name, took) in enumerate(rows)]
    page.figure(
        "One product, and five ways to go on. Only the first does not wait.",
        functools.partial(plot.bars, label="seconds that ways of looking at a product take", rows=shown),
    )
    page.say(
        "A single wait does no harm. Reading a small number in every step does, because the program can no longer "
        "run ahead: while it waits it does no other work, and while it does other work the engine is idle. Instead,"
        " keep the number in an array and read it once. `prepare` stands for about a quarter of a millisecond of "
        "plain Python:"
    )
    page.listing(read_at_every_step, read_once)
    a = np.ones((SIDE, SIDE)) / SIDE
    often, seldom = clock.best(lambda: read_at_every_step(a), runs), clock.best(lambda: read_once(a), runs)
    page.table(
        [f"{STEPS} steps", "seconds", "total"],
        [
            ["read at every step", f"{often:.4f}", f"{read_at_every_step(a):.1f}"],
            ["read once", f"{seldom:.4f}", f"{read_once(a):.1f}"],
        ],
    )
    page.found("fetching a number at every step, against once", f"{often / seldom:.2f}x")
