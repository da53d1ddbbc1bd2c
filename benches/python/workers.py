# peers: numpy
"""The scaling of host workloads with the number of threads. The bits of the results must not change.

``python benches/python/workers.py`` starts one process per number of threads. Processes run in turn, and the best run
of each counts. Bits are compared by a hash of all results with those of one thread.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

ROUNDS = 3


def workloads() -> dict[str, Callable[[], Any]]:
    """Return the timed workloads; each returns arrays that are waited for."""
    from forerun import autograd, gluon, np, npx
    from forerun.gluon import nn

    np.random.seed(3)
    x = np.random.uniform(-2, 2, (4096, 4096))
    y = np.random.uniform(1, 2, (4096, 4096))
    a, b = x[:2048, :2048].copy(), y[:2048, :2048].copy()
    parts = [np.random.uniform(0, 1, (256, 256)) for _ in range(16)]
    npx.waitall()

    def epoch() -> Any:
        npx.random.seed(7)
        net = nn.Sequential()
        net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(1))
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
        loss = gluon.loss.L2Loss()
        for _ in range(20):
            with autograd.record():
                value = loss(net(a), b[:, 0])
            value.backward()
            trainer.step(len(a))
        return [p.data() for p in net.collect_params().values()]

    def separate() -> Any:
        made = []
        for part in parts:
            for _ in range(12):
                part = np.dot(part, part) * 0.005  # a chain of its own each
            made.append(part)
        return made

    return {
        "tanh(x)*y + x*2 - y/3": lambda: [np.tanh(x) * y + x * 2 - y / 3],
        "sum, mean, max": lambda: [x.sum(), x.mean(axis=0), x.max(axis=1)],
        "product 2048": lambda: [np.dot(a, b)],
        "sort 4096 rows": lambda: [np.sort(x)],
        "16 chains of products": separate,
        "20 training steps": epoch,
    }


def child() -> None:
    """Time every workload and print times and hashes."""
    from forerun import npx

    made = {}
    for name, work in workloads().items():
        best = float("inf")
        for _ in range(4):
            npx.waitall()
            begun = time.perf_counter()
            results = work()
            npx.waitall()
            best = min(best, time.perf_counter() - begun)
        digest = hashlib.sha256(b"".join(result.asnumpy().tobytes() for result in results)).hexdigest()
        made[name] = (best, digest)
    print(json.dumps(made))


def main() -> None:
    """Run one process per number of threads, in turn, and print a table of speed-ups."""
    cores = len(os.sched_getaffinity(0))
    numbers = [n for n in (1, 2, 4, 8, 12, 16, 32, 64) if n <= cores]
    best: dict[tuple[str, int], float] = {}
    hashes: dict[str, set[str]] = {}
    for _ in range(ROUNDS):
        for n in numbers:
            environment = {**os.environ, "FORERUN_NUM_THREADS": str(n)}
            command = [sys.executable, __file__, "child"]
            output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
            for name, (seconds, digest) in json.loads(output).items():
                best[name, n] = min(best.get((name, n), float("inf")), seconds)
                hashes.setdefault(name, set()).add(digest)
    print(f"{cores} cores; milliseconds with one thread, then how many times as fast")
    print(f"{'':24}{'1':>9}" + "".join(f"{n:>7}" for n in numbers[1:]) + "   bits")
    for name, digests in hashes.items():
        ratios = "".join(f"{best[name, 1] / best[name, n]:7.2f}" for n in numbers[1:])
        print(f"{name:24}{best[name, 1] * 1e3:9.1f}{ratios}   {'equal' if len(digests) == 1 else 'differ'}")


if __name__ == "__main__":
    child() if "child" in sys.argv else main()
