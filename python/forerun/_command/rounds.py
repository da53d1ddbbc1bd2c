"""Interleaved rounds: each peer has its own process, and every round runs each peer once.

The process of a peer stays alive between its runs and is idle meanwhile. All peers get the same environment, number of
threads and huge-page setting.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping

from forerun._command.workloads import Make, Run

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


class Peer:
    """One peer's process."""

    def __init__(self, name: str, command: list[str], threads: int, extra: Mapping[str, str]) -> None:
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, *command],
            env={**environment(threads), **extra},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.alive = True

    def run(self, workload: str) -> dict[str, float]:
        """Run a workload once and return its figures; none if the process has ended."""
        assert self.process.stdin is not None and self.process.stdout is not None
        if not self.alive:
            return {}
        time.sleep(PAUSE)
        try:
            self.process.stdin.write(f"{workload}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        self.alive = bool(line)
        figures: dict[str, float] = json.loads(line) if line else {}
        return figures

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


def serve(makes: Mapping[str, Make]) -> None:
    """Run the loop of a peer's process: each line of the input names a workload, which is run once."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    ready: dict[str, Run] = {}
    for line in sys.stdin:
        workload = line.strip()
        if workload not in ready:
            ready[workload] = makes[workload]()
            ready[workload]()
        took = ready[workload]()
        print(json.dumps(took if isinstance(took, dict) else {"": took}), file=out, flush=True)
    out.flush()
    os._exit(0)
