"""Blockers: calls that look harmless and have to wait for a value."""

from __future__ import annotations

import functools
from collections.abc import Callable

from forerun import np
from forerun.tour import clock, page

STEPS = 200
SIDE = 250


def prepare() -> int:
    """Stand for what a program does by itself in every step: reading, logging, deciding."""
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
    """Multiply, and look at the product in one way or another."""
    return look(np.dot(a, a))


def show() -> None:
    """Show the section."""
    page.title("4. Blockers")
    page.say(
        "Whatever turns an array into something Python can look at must have its value, and so waits for it: printing, "
        "conversion to NumPy, conversion to a number. Each of these is a barrier in disguise. One product, then:"
    )
    a = np.random.normal(size=(1000, 1000))
    looks: list[tuple[str, Callable[[np.ndarray], object]]] = [
        ("nothing", lambda b: b),
        ("b.wait_to_read()", lambda b: b.wait_to_read()),
        ("b.asnumpy()", lambda b: b.asnumpy()),
        ("b.sum().item()", lambda b: b.sum().item()),
        ("str(b), as print does", str),
    ]
    rows = []
    for name, look in looks:
        rows.append([name, f"{clock.best(functools.partial(product, a, look)):.4f}"])
    page.table(["np.dot(a, a), then", "seconds"], rows)
    page.say(
        "Once is no harm. A small number fetched at every step is, because the program can no longer run ahead: while "
        "it waits it does nothing of its own, and while it does something of its own the engine has nothing to do. "
        "The remedy is to leave the number where it is and to fetch it once. `prepare` stands for a quarter of a "
        "millisecond or so of plain Python:"
    )
    page.listing(read_at_every_step, read_once)
    a = np.ones((SIDE, SIDE)) / SIDE
    often, seldom = clock.best(lambda: read_at_every_step(a)), clock.best(lambda: read_once(a))
    page.table(
        [f"{STEPS} steps", "seconds", "total"],
        [
            ["read at every step", f"{often:.4f}", f"{read_at_every_step(a):.1f}"],
            ["read once", f"{seldom:.4f}", f"{read_once(a):.1f}"],
        ],
    )
