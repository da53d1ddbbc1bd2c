"""Barriers: waiting for everything, for one array, and for one in the middle."""

from __future__ import annotations

import time

from forerun import np, npx
from forerun.tour import clock, page

CHAIN = 10


def wait_for_all(a: np.ndarray) -> np.ndarray:
    """Multiply, and wait for whatever there is."""
    b = np.dot(a, a)
    npx.waitall()
    return b


def wait_for_one(a: np.ndarray) -> np.ndarray:
    """Multiply, and wait for the product."""
    b = np.dot(a, a)
    b.wait_to_read()
    return b


def chain(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Multiply again and again; return the first product and the last."""
    first = last = np.dot(a, a)
    for _ in range(CHAIN - 1):
        last = np.dot(last, a)
    return first, last


def measure(a: np.ndarray) -> tuple[float, float]:
    """Return the seconds until the first product of a chain is there, and until all are."""
    npx.waitall()
    start = time.perf_counter()
    first, last = chain(a)
    first.wait_to_read()
    early = time.perf_counter() - start
    npx.waitall()
    late = time.perf_counter() - start
    del last
    return early, late


def show() -> None:
    """Show the section."""
    page.title("3. Barriers")
    page.say(
        "`npx.waitall()` waits until nothing is left to do, whoever asked for it. `b.wait_to_read()` waits for b and "
        "what b needs, and for nothing else. With one product in flight they come to the same:"
    )
    a = np.random.normal(size=(1000, 1000)) * 0.03
    wait_for_one(a)
    page.listing(wait_for_all, wait_for_one)
    page.table(
        ["one product, then", "seconds"],
        [
            ["waitall", f"{clock.best(lambda: wait_for_all(a)):.4f}"],
            ["wait_to_read", f"{clock.best(lambda: wait_for_one(a)):.4f}"],
        ],
    )
    page.say(
        f"They differ as soon as something else is on its way. Here are {CHAIN} products in a chain, and a barrier on "
        "the first of them; the others go on while the program already has what it wanted:"
    )
    page.listing(chain)
    early, late = min((measure(a) for _ in range(3)), key=lambda pair: pair[1])
    page.table(
        ["a chain of products, then", "seconds"],
        [["first.wait_to_read()", f"{early:.4f}"], ["npx.waitall()", f"{late:.4f}"]],
    )
