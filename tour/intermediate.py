"""An exercise: `waitall` compared with `wait_to_read`, for an intermediate result."""

from __future__ import annotations

import functools
import time

from forerun import np, npx
from tour import plot
from tour.page import Page
from tour.progress import Progress

CHAIN = 12


def chain(a: np.ndarray) -> list[np.ndarray]:
    """Multiply repeatedly, and keep every product."""
    products = [np.dot(a, a)]
    for _ in range(CHAIN - 1):
        products.append(np.dot(products[-1], a))
    return products


def measure(a: np.ndarray, place: int) -> tuple[float, float]:
    """Return the times in seconds until one product of a chain is computed, and until all are."""
    npx.waitall()
    start = time.perf_counter()
    products = chain(a)
    products[place].wait_to_read()
    early = time.perf_counter() - start
    npx.waitall()
    late = time.perf_counter() - start
    del products
    return early, late


def show(page: Page, quick: bool) -> None:
    """Show the section."""
    page.title("8. Exercise: waiting in the middle")
    page.say(
        f"Submit a chain of {CHAIN} products, wait for one of them, then for all. The products after it continue "
        "while the program already has its result:"
    )
    page.listing(chain)
    a = np.random.normal(size=(1000, 1000)) * 0.03
    npx.waitall()
    places = list(range(0, CHAIN, 4 if quick else 1))
    timed = []
    with Progress("waiting for each product of a chain", len(places)) as progress:
        for place in places:
            runs = [measure(a, place) for _ in range(1 if quick else 3)]
            timed.append((place + 1, *min(runs, key=lambda pair: pair[1])))
            progress.step()
    page.table(
        ["product", "wait_to_read, s", "then waitall, s", "share"],
        [[f"{n}", f"{early:.4f}", f"{late:.4f}", f"{100 * early / late:.0f} %"] for n, early, late in timed],
    )
    series = [
        plot.Series("wait_to_read on the n-th product", [(n, early) for n, early, _ in timed], "s0"),
        plot.Series("waitall", [(n, late) for n, _, late in timed], "s1"),
    ]
    page.figure(
        "The wait for one product grows with its number of dependencies; the total time is the same.",
        functools.partial(
            plot.curves,
            label="seconds until the n-th product of a chain is there",
            series=series,
            x=plot.Axis("n"),
            y=plot.Axis("seconds"),
        ),
    )
