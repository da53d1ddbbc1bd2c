# peers: numpy torch
"""Ops that only move elements, compared with the peers: indexing, masks, transposed copies, indexed writes.

``cargo xtask bench moves --release [ROUNDS] [WORKLOAD ...]`` prints the best of interleaved rounds, each the best of
several runs with threads awake.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from _harness import Bench, Make, Run, best_of, main, measure

ROWS, WIDTH, MANY, SIDE = 1_000_000, 16, 10_000_000, 4096


def made(size: int, below: int) -> Any:
    import numpy

    return numpy.random.default_rng(0).integers(0, below, size)


# Each workload returns the timed function over arrays of one library.
def rows(np: Any, array: Callable[[Any], Any]) -> Callable[[], Any]:
    x, places = array(made(ROWS * WIDTH, 100).astype("float32").reshape(ROWS, WIDTH)), array(made(ROWS, ROWS))
    return lambda: x[places]


def elements(np: Any, array: Callable[[Any], Any]) -> Callable[[], Any]:
    x, places = array(made(MANY, 100).astype("float32")), array(made(ROWS, MANY))
    return lambda: x[places]


def pairs(np: Any, array: Callable[[Any], Any]) -> Callable[[], Any]:
    x = array(made(SIDE * SIDE, 100).astype("float32").reshape(SIDE, SIDE))
    i, j = array(made(ROWS, SIDE)), array(made(ROWS, SIDE)[::-1].copy())
    return lambda: x[i, j]


def chosen(np: Any, array: Callable[[Any], Any]) -> Callable[[], Any]:
    x = array(made(MANY, 100).astype("float32"))
    mask = x > 50
    return lambda: x[mask]


def written(np: Any, array: Callable[[Any], Any]) -> Callable[[], Any]:
    x, places = array(made(MANY, 100).astype("float32")), array(made(ROWS, MANY))
    values = array(made(ROWS, 100).astype("float32"))

    def run() -> Any:
        x[places] = values
        return x

    return run


def masked(np: Any, array: Callable[[Any], Any]) -> Callable[[], Any]:
    x = array(made(MANY, 100).astype("float32"))
    mask = x > 50

    def run() -> Any:
        x[mask] = 7
        return x

    return run


def transposed(np: Any, array: Callable[[Any], Any]) -> Callable[[], Any]:
    x = array(made(SIDE * SIDE, 100).astype("float32").reshape(SIDE, SIDE))
    return (lambda: x.T.contiguous()) if hasattr(x, "contiguous") else (lambda: x.T.copy())


WORKLOADS = {f.__name__: f for f in (rows, elements, pairs, chosen, written, masked, transposed)}


def timed(run: Callable[[], Any], finish: Callable[[Any], None]) -> Run:
    return lambda: best_of(7, lambda: finish(run()))


def peers(workload: Callable[[Any, Callable[[Any], Any]], Callable[[], Any]]) -> dict[str, Make]:
    def forerun() -> Run:
        from forerun import np

        run = workload(np, np.array)
        return timed(run, lambda made: made.wait_to_read())

    def numpy() -> Run:
        import numpy

        run = workload(numpy, numpy.asarray)
        return timed(run, lambda _: None)

    def torch() -> Run:
        import torch

        run = workload(torch, torch.from_numpy)
        return timed(run, lambda _: None)

    return {"forerun": forerun, "numpy": numpy, "torch": torch}


BENCH: Bench = {name: peers(workload) for name, workload in WORKLOADS.items()}


def report(rounds: int) -> None:
    """Print one line per workload: the best time of every peer, and Forerun's ratio to the fastest peer."""
    named = [name for name in sys.argv[1:] if name in BENCH] or list(BENCH)
    for name in named:
        best = {
            peer: min(samples[""]) * 1e3 for peer, samples in measure(__file__, BENCH, name, rounds).items() if samples
        }
        others = min((ms for peer, ms in best.items() if peer != "forerun"), default=float("nan"))
        line = "   ".join(f"{peer} {ms:8.3f} ms" for peer, ms in best.items())
        print(f"{name:12} {line}   {best['forerun'] / others:5.2f} of the better peer", flush=True)


if __name__ == "__main__":
    main(__file__, BENCH, report)
