"""An exercise: whether a product on the CPU is asynchronous, and a CPU and a GPU used together."""

from __future__ import annotations

import functools

from forerun import np, npx
from tour import clock, plot
from tour.increments import short
from tour.page import Page, seconds
from tour.progress import Progress

SIDES = [64, 128, 256, 512, 1024, 1536]
QUICK_SIDES = [64, 256, 1024]


def multiply(a: np.ndarray) -> list[np.ndarray]:
    """Multiply ten times, and keep the results."""
    return [np.dot(a, a) for _ in range(10)]


def show(page: Page, quick: bool) -> None:
    """Show the section."""
    page.title("9. Exercise: on the CPU, and beside a GPU")
    page.say(
        "Some libraries are asynchronous only on a GPU: on the CPU the caller computes the product itself. Is the "
        "matrix product on the CPU asynchronous here? Ten products of one matrix, by its side:"
    )
    page.listing(multiply)
    sides = QUICK_SIDES if quick else SIDES
    timed = []
    with Progress("products of every size", len(sides)) as progress:
        for side in sides:
            a = np.random.normal(size=(side, side))
            multiply(a)
            timed.append((side, *clock.issued_and_finished(functools.partial(multiply, a), 1 if quick else 3)))
            progress.step()
    page.table(
        ["side", "issued", "finished", "share"],
        [
            [f"{side}", seconds(issued), seconds(finished), f"{100 * issued / finished:.1f} %"]
            for side, issued, finished in timed
        ],
    )
    series = [
        plot.Series("issued", [(side, issued) for side, issued, _ in timed], "s1"),
        plot.Series("finished", [(side, finished) for side, _, finished in timed], "s0"),
    ]
    page.figure(
        "The times until the products are issued and finished. In between, the program can do other work.",
        functools.partial(
            plot.curves,
            label="time until ten products are issued and finished, against the side of the matrix",
            series=series,
            x=plot.Axis("side of the matrix", "{:g}".format, log=True),
            y=plot.Axis("time for ten products", short, log=True),
        ),
    )
    if not npx.num_gpus():
        page.say("CPU and GPU together: `npx.num_gpus()` is 0 here, so there is no GPU to use.")
