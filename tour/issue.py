"""Submission compared with completion: ten random matrices, each multiplied by itself."""

from __future__ import annotations

import functools

import numpy

from forerun import np, npx
from tour import clock, plot
from tour.page import Page, seconds

SIZE = (1000, 1000)


def with_numpy() -> None:
    """Compute with NumPy, which finishes each line before the next."""
    for _ in range(10):
        a = numpy.random.normal(size=SIZE)
        numpy.dot(a, a)


def with_numpy_float32() -> None:
    """Compute with NumPy in Forerun's default precision."""
    generator = numpy.random.default_rng()
    for _ in range(10):
        a = generator.standard_normal(SIZE, dtype=numpy.float32)
        numpy.dot(a, a)


def with_forerun() -> list[np.ndarray]:
    """Submit the same with Forerun, and keep the results."""
    kept = []
    for _ in range(10):
        a = np.random.normal(size=SIZE)
        kept.append(np.dot(a, a))
    return kept


def without_keeping() -> None:
    """Submit the same with Forerun, and drop each product."""
    for _ in range(10):
        a = np.random.normal(size=SIZE)
        np.dot(a, a)
    npx.waitall()


def show(page: Page, quick: bool) -> None:
    """Show the section."""
    page.title("1. Issued is not finished")
    page.say("Ten times, draw a 1000 x 1000 matrix and multiply it by itself:")
    page.listing(with_forerun)
    page.say(
        "The loop ends long before the products are computed. Each call only submits a record to the engine and "
        "returns a handle; `npx.waitall()` is where this program waits. NumPy has no such gap: when its loop ends, "
        "its work is done. Timing a loop without a barrier therefore measures how fast a program submits work, not "
        "how fast the work is done."
    )
    runs = 1 if quick else 3
    with_forerun()
    issued, finished = clock.issued_and_finished(with_forerun, runs)
    plain, single = clock.best(with_numpy, runs), clock.best(with_numpy_float32, runs)
    timed = [
        ("NumPy, float64", plain, "s0"),
        ("NumPy, float32", single, "s0"),
        ("Forerun, issued", issued, "s1"),
        ("Forerun, finished", finished, "s2"),
    ]
    page.table(
        ["", "seconds", "against NumPy"],
        [[name, f"{took:.4f}", f"{plain / took:.1f}x" if took != plain else ""] for name, took, _ in timed],
    )
    shown = [plot.Bar(name, took, f"{took:.4f} s", colour) for name, took, colour in timed]
    page.figure(
        "Ten draws and ten products. The bar for the submission is very short.",
        functools.partial(plot.bars, label="seconds until issued and until finished", rows=shown),
    )
    page.found("ten products: issued after", seconds(issued))
    page.found("ten products: finished after", seconds(finished))
    unkept = clock.best(without_keeping, runs)
    page.say(
        "All ten products were kept above, so all ten were computed. If a program drops a result before anything "
        f"has read it, the engine may skip its computation: the same loop without the list took {seconds(unkept)}. "
        "`FORERUN_DROP_DEAD=0` turns that off."
    )
