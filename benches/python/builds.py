"""Compare two builds of Forerun: loops of ``tiny.py``, workloads of ``chapter.py``, an epoch, the engine, a GPU.

``python benches/python/builds.py OLD NEW [ROUNDS] [WORKLOAD ...]``, where OLD and NEW are folders with an unpacked
package each. Every workload has one process per build, and their runs alternate. The bench prints the new build's time
divided by the old build's, for medians and for best runs. Two workloads run only if they are named: ``gpu`` needs an
NVIDIA device; ``engine`` needs the program of ``cargo build --release -p forerun-benches --bin engine`` in each folder.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from _harness import PAUSE, Make, Peer, Run, serve


def tiny() -> Run:
    """Prepare the loops of ``tiny.py``."""
    import tiny as loops

    named: dict[str, Callable[[], None]] = {
        "asynchronous": loops.asynchronous,
        "chained": loops.chained,
        "a wait after each": loops.wait_each,
        "in 500 lines": loops.long_function(500),
    }

    def run() -> dict[str, float]:
        took = {}
        for name, loop in named.items():
            start = time.perf_counter()
            loop()
            took[name] = time.perf_counter() - start
        return took

    return run


def gpu() -> Run:
    """Prepare the tiny ops and epochs of ``gpu.py`` on the first NVIDIA device."""
    sys.argv[1:] = []
    import gpu as device

    from forerun import _forerun, np, npx

    _forerun.set_drop_dead(False)
    with device.GPU:
        x = np.ones((1, 2))

    def chain() -> None:
        y = x
        for _ in range(2000):
            y = y + 1
        y.wait_to_read()

    def waits() -> None:
        for _ in range(500):
            (x + 1).wait_to_read()

    def epoch(step: Callable[[], Any], barrier: bool) -> Callable[[], None]:
        def run() -> None:
            for _ in range(device.BATCHES):
                loss = step()
                if barrier:
                    loss.wait_to_read()

        return run

    plain, hybrid = device.mlp(False), device.mlp(True)
    named = {
        "2000 ops": chain,
        "500 waits": waits,
        "epoch": epoch(plain, False),
        "epoch, hybridize": epoch(hybrid, False),
        "epoch, barriers": epoch(plain, True),
    }
    return lambda: {name: device.timed(run, npx.waitall)() for name, run in named.items()}


def engine() -> Run:
    """Prepare the program that measures the engine alone; its times of other libraries are left out."""
    program = Path(os.environ["PYTHONPATH"]) / "engine"
    figure = re.compile(r"^(\S.*?) {2,}([\d.]+)(?: ns an op| )", re.MULTILINE)

    def run() -> dict[str, float]:
        printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
        return {name: float(nanoseconds) * 1e-9 for name, nanoseconds in figure.findall(printed)}

    return run


def workloads() -> dict[str, Make]:
    """Return the workloads."""
    import chapter
    import training

    found: dict[str, Make] = {"tiny": tiny}
    found |= {name: peers["forerun"] for name, peers in chapter.BENCH.items()}
    found["training"] = training.BENCH["epoch"]["forerun"]
    found |= {"engine": engine, "gpu": gpu}
    return found


def shown(seconds: float) -> str:
    """Return a time as text, in milliseconds or nanoseconds."""
    return f"{seconds * 1e3:10.3f} ms" if seconds > 1e-6 else f"{seconds * 1e9:10.1f} ns"


def compare(workload: str, builds: list[str], rounds: int) -> list[float]:
    """Measure one workload, print its figures, and return the ratios of medians."""
    peers = [Peer(__file__, workload, build, 2, {"PYTHONPATH": build}) for build in builds]
    for round_ in range(rounds + 1):
        # Alternate the order of the peers too.
        for peer in peers if round_ % 2 else peers[::-1]:
            time.sleep(PAUSE)
            peer.run(keep=round_ > 0)
    for peer in peers:
        peer.close()
    ratios = []
    old, new = (peer.samples for peer in peers)
    for metric in old:
        before, after = statistics.median(old[metric]), statistics.median(new[metric])
        ratios.append(after / before)
        print(
            f"{workload + ' ' + metric:32} before {shown(before)}   after {shown(after)}   "
            f"ratio {after / before:5.2f}, of best runs {min(new[metric]) / min(old[metric]):5.2f}",
            flush=True,
        )
    return ratios


def main() -> None:
    """Run as a worker or as the bench, depending on the arguments."""
    if sys.argv[1:2] == ["--worker"]:
        serve(workloads()[sys.argv[2]])
        return
    builds = [str(Path(folder).resolve()) for folder in sys.argv[1:3]]
    rounds = next((int(word) for word in sys.argv[3:] if word.isdigit()), 21)
    default = [name for name in workloads() if name not in ("engine", "gpu")]
    wanted = [word for word in sys.argv[3:] if not word.isdigit()] or default
    ratios = [ratio for workload in wanted for ratio in compare(workload, builds, rounds)]
    print(f"{len(ratios)} figures, median {statistics.median(ratios):.2f}, {sum(r > 1.05 for r in ratios)} over 1.05")


if __name__ == "__main__":
    main()
