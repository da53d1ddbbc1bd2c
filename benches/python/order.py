# peers: numpy torch
"""Sorting, scans, row operations and normalisations of float32, compared with the peers, with one and two threads.

``cargo xtask bench order --release [ROUNDS] [WORKLOAD ...]`` runs interleaved rounds, each the best of a few runs.
Compare the best rounds: other load on the machine only makes a run slower.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from _harness import Bench, Make, Run, best_of, main, measure, show

SHAPES: dict[str, tuple[int, ...]] = {"1e6": (1_000_000,), "1e7": (10_000_000,), "rows": (4096, 4096)}
SIDE = 4096


def numbers(shape: tuple[int, ...]) -> Any:
    import numpy

    return numpy.random.default_rng(0).normal(size=shape).astype(numpy.float32)


def indices() -> Any:
    import numpy

    return numpy.random.default_rng(1).integers(0, SIDE, SIDE)


def forerun(shape: tuple[int, ...], prepare: Callable[[Any, Any], Callable[[], Any]]) -> Make:
    def make() -> Run:
        from forerun import np

        run = prepare(np, np.array(numbers(shape)))
        return lambda: best_of(3, lambda: run().wait_to_read())

    return make


def numpy(shape: tuple[int, ...], prepare: Callable[[Any, Any], Callable[[], Any]]) -> Make:
    def make() -> Run:
        import numpy

        run = prepare(numpy, numbers(shape))
        return lambda: best_of(3, run)

    return make


def torch(shape: tuple[int, ...], prepare: Callable[[Any, Any], Callable[[], Any]]) -> Make:
    def make() -> Run:
        import torch

        run = prepare(torch, torch.from_numpy(numbers(shape)))
        return lambda: best_of(3, run)

    return make


def layer_norm(npx: Any, np: Any, x: Any) -> Callable[[], Any]:
    gamma, beta = np.ones((SIDE,)), np.zeros((SIDE,))
    return lambda: npx.layer_norm(x, gamma, beta)


def npx() -> Any:
    from forerun import npx

    return npx


def orders() -> Bench:
    bench: Bench = {}
    for size, shape in SHAPES.items():
        bench[f"sort {size}"] = {
            "forerun": forerun(shape, lambda np, x: lambda: np.sort(x)),
            "numpy": numpy(shape, lambda np, x: lambda: np.sort(x)),
            "torch": torch(shape, lambda torch, x: lambda: torch.sort(x)),
        }
        bench[f"argsort {size}"] = {
            "forerun": forerun(shape, lambda np, x: lambda: np.argsort(x)),
            "numpy": numpy(shape, lambda np, x: lambda: np.argsort(x)),
            "torch": torch(shape, lambda torch, x: lambda: torch.argsort(x)),
        }
        bench[f"cumsum {size}"] = {
            "forerun": forerun(shape, lambda np, x: lambda: np.cumsum(x, -1)),
            "numpy": numpy(shape, lambda np, x: lambda: np.cumsum(x, -1)),
            "torch": torch(shape, lambda torch, x: lambda: torch.cumsum(x, -1)),
        }
    return bench


def rows() -> Bench:
    shape = SHAPES["rows"]
    bench: Bench = {
        "softmax": {
            "forerun": forerun(shape, lambda np, x: lambda: npx().softmax(x)),
            "torch": torch(shape, lambda torch, x: lambda: torch.softmax(x, -1)),
        },
        "log_softmax": {
            "forerun": forerun(shape, lambda np, x: lambda: npx().log_softmax(x)),
            "torch": torch(shape, lambda torch, x: lambda: torch.log_softmax(x, -1)),
        },
        "logsumexp": {
            "forerun": forerun(shape, lambda np, x: lambda: npx().logsumexp(x, -1)),
            "torch": torch(shape, lambda torch, x: lambda: torch.logsumexp(x, -1)),
        },
        "layer_norm": {
            "forerun": forerun(shape, lambda np, x: layer_norm(npx(), np, x)),
            "torch": torch(shape, lambda torch, x: lambda: torch.nn.functional.layer_norm(x, (SIDE,))),
        },
    }

    def take_forerun(np: Any, x: Any) -> Callable[[], Any]:
        named = np.array(indices())
        return lambda: np.take(x, named, 0)

    def take_torch(torch: Any, x: Any) -> Callable[[], Any]:
        named = torch.from_numpy(indices())
        return lambda: torch.index_select(x, 0, named)

    def take_numpy(np: Any, x: Any) -> Callable[[], Any]:
        named = indices()
        return lambda: np.take(x, named, 0)

    bench["take rows"] = {
        "forerun": forerun(shape, take_forerun),
        "numpy": numpy(shape, take_numpy),
        "torch": torch(shape, take_torch),
    }
    return bench


BENCH: Bench = {**orders(), **rows()}


def report(rounds: int) -> None:
    chosen = [name for name in BENCH if not sys.argv[2:] or any(word in name for word in sys.argv[2:])]
    started = time.perf_counter()
    for threads in (1, 2):
        print(f"\n==== {threads} thread{'s' if threads > 1 else ''}")
        for workload in chosen:
            show(workload, measure(__file__, BENCH, workload, rounds, threads), 1e-3, "ms")
    print(f"\n{time.perf_counter() - started:.0f} s in all")


if __name__ == "__main__":
    main(__file__, BENCH, report)
