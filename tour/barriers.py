"""Barriers: waiting for everything, and for one array."""

from __future__ import annotations

from forerun import np, npx
from tour import clock
from tour.page import Page


def wait_for_all(a: np.ndarray) -> np.ndarray:
    """Multiply, and wait for everything."""
    b = np.dot(a, a)
    npx.waitall()
    return b


def wait_for_one(a: np.ndarray) -> np.ndarray:
    """Multiply, and wait for the product."""
    b = np.dot(a, a)
    b.wait_to_read()
    return b


def show(page: Page, quick: bool) -> None:
    """Show the section."""
    page.title("3. Barriers")
    page.say(
        "`npx.waitall()` waits until everything submitted by any thread is computed. `b.wait_to_read()` waits only "
        "for b and its dependencies. With one product in flight both take the same time; section 8 shows where they"
        " differ."
    )
    a = np.random.normal(size=(1000, 1000)) * 0.03
    wait_for_one(a)
    page.listing(wait_for_all, wait_for_one)
    runs = 1 if quick else 5
    page.table(
        ["one product, then", "seconds"],
        [
            ["waitall", f"{clock.best(lambda: wait_for_all(a), runs):.4f}"],
            ["wait_to_read", f"{clock.best(lambda: wait_for_one(a), runs):.4f}"],
        ],
    )
