"""Issuing work against finishing it: ten random matrices, each multiplied by itself."""

from __future__ import annotations

import time

import numpy

from forerun import np, npx
from forerun.tour import clock, page

SIZE = (1000, 1000)


def with_numpy() -> None:
    """Compute with NumPy, which finishes each line before the next."""
    for _ in range(10):
        a = numpy.random.normal(size=SIZE)
        numpy.dot(a, a)


def with_numpy_float32() -> None:
    """Compute with NumPy in the precision that Forerun uses by default."""
    generator = numpy.random.default_rng()
    for _ in range(10):
        a = generator.standard_normal(SIZE, dtype=numpy.float32)
        numpy.dot(a, a)


def with_forerun() -> list[np.ndarray]:
    """Issue the same with Forerun, and keep what comes out."""
    kept = []
    for _ in range(10):
        a = np.random.normal(size=SIZE)
        kept.append(np.dot(a, a))
    return kept


def without_keeping() -> None:
    """Issue the same with Forerun, and let each product go."""
    for _ in range(10):
        a = np.random.normal(size=SIZE)
        np.dot(a, a)
    npx.waitall()


def measure() -> tuple[float, float]:
    """Return the seconds until everything is issued and until everything is finished."""
    npx.waitall()
    start = time.perf_counter()
    kept = with_forerun()
    issued = time.perf_counter() - start
    npx.waitall()
    finished = time.perf_counter() - start
    del kept
    return issued, finished


def show() -> None:
    """Show the section."""
    page.title("1. Issued is not finished")
    page.say("Ten times, draw a matrix of a thousand by a thousand and multiply it by itself:")
    page.listing(with_forerun)
    page.say(
        "The loop is over long before the products are there. Each call only hands a record to the engine and comes "
        "back with a handle; `npx.waitall()` is where this program finally waits. NumPy has no such gap: when its loop "
        "is over, so is its work. A stopwatch around a loop without a barrier therefore says how fast a program asks, "
        "not how fast it is answered."
    )
    measure()
    issued, finished = min((measure() for _ in range(3)), key=lambda pair: pair[1])
    plain, single = clock.best(with_numpy), clock.best(with_numpy_float32)
    page.table(
        ["", "seconds", "against NumPy"],
        [
            ["NumPy, float64", f"{plain:.4f}", ""],
            ["NumPy, float32", f"{single:.4f}", f"{plain / single:.1f}x"],
            ["Forerun, issued", f"{issued:.4f}", f"{plain / issued:.1f}x"],
            ["Forerun, finished", f"{finished:.4f}", f"{plain / finished:.1f}x"],
        ],
    )
    unkept = clock.best(without_keeping)
    page.say(
        "All ten products were kept above, so all ten were computed. When a program lets a result go before anything "
        f"has looked at it, the engine may leave it out: the same loop without the list took {page.seconds(unkept)}. "
        "FORERUN_DROP_DEAD=0 turns that off."
    )
