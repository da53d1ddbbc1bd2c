# peers: numpy torch tensorflow jax
"""The workloads of the chapter, compared with the peers. Elimination of dead results is off.

``cargo xtask bench chapter --release [ROUNDS] [WORKLOAD ...]`` prints medians of interleaved rounds. If a run takes
only a few milliseconds, a round is the best of several runs, with threads awake.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from _harness import Bench, main, measure, show

# By its path, because `builds.py` runs it with other builds of the package.
SOURCE = Path(__file__).parents[2] / "python/forerun/_command/workloads.py"
spec = importlib.util.spec_from_file_location("workloads", SOURCE)
assert spec is not None and spec.loader is not None
workloads = importlib.util.module_from_spec(spec)
spec.loader.exec_module(workloads)

#: `tiny.py` measures the increments.
BENCH: Bench = {name: makes for name, makes in workloads.BENCH.items() if name != "increments"}


def report(rounds: int) -> None:
    wanted = [a for a in sys.argv[1:] if a in BENCH] or list(BENCH)
    for workload in wanted:
        results = measure(__file__, BENCH, workload, rounds)
        show(workload, results, 1e-3, "ms")
        if workload == "chain":
            plan_cache()
        if workload == "products":
            geometric_mean(results)
        if workload == "chains":
            only = {"chains": {"forerun": workloads.chains_forerun}}
            apart = measure(__file__, only, "chains", rounds, extra={"FORERUN_INTRA_OP": "0"})
            show("chains, one thread an op", apart, 1e-3, "ms")


def plan_cache() -> None:
    """Print whether the second round of the chain hits the plan cache."""
    from forerun import engine, np

    x, y = (np.random.uniform(size=(workloads.SIDE, workloads.SIDE)) for _ in "xy")
    y.wait_to_read()
    for name in ("first", "second"):
        before = engine.stats()
        workloads.chain(np, x, y).wait_to_read()
        after = engine.stats()
        hits, misses = (after[k] - before[k] for k in ("plan_hits", "plan_misses"))
        print(f"chain, {name} round: {hits} plans found in the cache, {misses} made")


def geometric_mean(results: dict[str, dict[str, list[float]]]) -> None:
    import math
    import statistics

    def speed(peer: str) -> float:
        return math.exp(statistics.fmean(-math.log(min(v)) for v in results[peer].values()))

    best = max((p for p in results if p != "forerun"), key=speed)
    ratios = {m: min(results[best][m]) / min(v) for m, v in results["forerun"].items()}
    print(f"\nproducts: geometric mean {speed('forerun') / speed(best):.3f} of {best}, the best single library")
    worst = min(ratios, key=lambda m: ratios[m])
    print(f"products: lowest {ratios[worst]:.3f} at {worst}")


if __name__ == "__main__":
    main(__file__, BENCH, report)
