"""Blockers: calls that look harmless and have to wait for a value."""

from __future__ import annotations

import functools
from collections.abc import Callable

from forerun import np
from forerun.tour import clock, page

STEPS = 1000


def read_at_every_step(x: np.ndarray) -> float:
    """Fetch a number in every step of a loop."""
    total = 0.0
    for _ in range(STEPS):
        x = x * 0.999
        total += x.sum().item()
    return total


def read_once(x: np.ndarray) -> float:
    """Keep the running total in an array, and fetch it when the loop is over."""
    total = np.zeros(())
    for _ in range(STEPS):
        x = x * 0.999
        total = total + x.sum()
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
        "Once is no harm. Fetching a small number at every step is: the program can no longer run ahead, so the engine "
        "never sees more than one step at a time. The remedy is to leave the number where it is and to fetch it once."
    )
    page.listing(read_at_every_step)
    page.listing(read_once)
    x = np.ones((100, 100))
    often, seldom = clock.best(lambda: read_at_every_step(x)), clock.best(lambda: read_once(x))
    page.table(
        [f"{STEPS} steps", "seconds", "total"],
        [
            ["read at every step", f"{often:.4f}", f"{read_at_every_step(x):.6g}"],
            ["read once", f"{seldom:.4f}", f"{read_once(x):.6g}"],
        ],
    )
