"""Interleaved benchmark rounds: each peer has its own process, and every round runs each peer once.

The process of a peer stays alive between its runs and is idle meanwhile. All peers get the same environment, number of
threads and huge-page setting. A bench is a dictionary ``{workload: {peer: make}}``, where ``make()`` prepares the peer
and returns a function that does one run and returns its time in seconds, or a dictionary of figures.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

Run = Callable[[], "float | dict[str, float]"]
Make = Callable[[], Run]
Bench = dict[str, dict[str, Make]]

#: Pause between two runs, until the threads of other peers stop spinning, which takes tens of milliseconds.
PAUSE = 0.15


def environment(threads: int) -> dict[str, str]:
    """Return the environment of every peer."""
    count = str(threads)
    return {
        **os.environ,
        "FORERUN_DROP_DEAD": "0",
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "TF_NUM_INTRAOP_THREADS": count,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    }


def best_of(repeats: int, run: Callable[[], None]) -> float:
    """Return the time in seconds of the fastest of several calls, with threads awake."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


class Peer:
    """One peer's process for one workload."""

    def __init__(self, script: str, workload: str, peer: str, threads: int, extra: dict[str, str]) -> None:
        self.name = peer
        self.process = subprocess.Popen(
            [sys.executable, script, "--worker", workload, peer],
            env={**environment(threads), **extra},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.samples: dict[str, list[float]] = {}
        self.alive = self._answer() is not None

    def _answer(self) -> dict[str, float] | None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def run(self, keep: bool) -> None:
        """Run once and return the figures."""
        if not self.alive:
            return
        assert self.process.stdin is not None
        self.process.stdin.write("run\n")
        self.process.stdin.flush()
        answer = self._answer()
        self.alive = answer is not None
        if keep and answer is not None:
            for metric, seconds in answer.items():
                self.samples.setdefault(metric, []).append(seconds)

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def serve(make: Make) -> None:
    """Run the worker loop of a peer."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    run = make()
    run()
    print("{}", file=out, flush=True)
    for _ in sys.stdin:
        took = run()
        print(json.dumps(took if isinstance(took, dict) else {"": took}), file=out, flush=True)
    out.flush()
    os._exit(0)


def measure(
    script: str, bench: Bench, workload: str, rounds: int, threads: int = 2, extra: dict[str, str] | None = None
) -> dict[str, dict[str, list[float]]]:
    """Return the times of all runs in seconds, by peer and metric."""
    peers = [Peer(script, workload, name, threads, extra or {}) for name in bench[workload]]
    for round_ in range(rounds + 1):
        for peer in peers:
            time.sleep(PAUSE)
            peer.run(keep=round_ > 0)
    for peer in peers:
        peer.close()
    return {peer.name: peer.samples for peer in peers if peer.samples}


def show(workload: str, results: dict[str, dict[str, list[float]]], unit: float, name: str) -> None:
    """Print a table: median, best, and the ratio of Forerun's median to the best peer's median.

    A metric whose name ends in ``MB`` is an amount of memory; others are times.
    """
    metrics = {m for samples in results.values() for m in samples}
    for metric in sorted(metrics):
        rows = {p: s[metric] for p, s in results.items() if metric in s}
        others = {p: statistics.median(v) for p, v in rows.items() if not p.startswith("forerun")}
        best = min(others.values(), default=float("nan"))
        print(f"\n{workload} {metric}".rstrip())
        scale, word = (1.0, "MB") if metric.endswith("MB") else (unit, name)
        for peer, values in sorted(rows.items(), key=lambda r: statistics.median(r[1])):
            median = statistics.median(values)
            ratio = f"  {median / best:5.2f} of the best peer" if peer.startswith("forerun") and others else ""
            print(f"  {peer:16} median {median / scale:9.3f} {word}   best {min(values) / scale:9.3f} {word}{ratio}")


def main(script: str, bench: Bench, report: Callable[[int], None]) -> None:
    """Run as a worker or as the bench, depending on the arguments."""
    if sys.argv[1:2] == ["--worker"]:
        serve(bench[sys.argv[2]][sys.argv[3]])
    else:
        sys.path.insert(0, str(Path(script).parent))
        report(int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 15)
