# peers: numpy
"""``y = x + 1`` on a (1, 2) array in a Python loop of 10000, compared with NumPy. Elimination of dead results is off.

``cargo xtask bench tiny --release [ROUNDS]`` prints medians of interleaved rounds in one process.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable

os.environ["FORERUN_DROP_DEAD"] = "0"

import numpy

from forerun import np, npx

COUNT = 10_000
now = time.perf_counter
x = np.ones((1, 2))
nx = numpy.ones((1, 2), numpy.float32)


def numpy_loop() -> None:
    for _ in range(COUNT):
        y = nx + 1  # noqa: F841 - the result is thrown away on purpose


def asynchronous() -> None:
    for _ in range(COUNT):
        y = x + 1  # noqa: F841 - as above
    npx.waitall()


def chained() -> None:
    y = x
    for _ in range(COUNT):
        y = y + 1
    y.wait_to_read()


def wait_each() -> None:
    for _ in range(COUNT):
        y = x + 1
        y.wait_to_read()


def long_function(lines: int) -> Callable[[], None]:
    """Return the asynchronous loop at the end of a long function, where finding the source line is slow."""
    body = ["def loop():", "    a = 0"]
    body += ["    a = a + 1 if a < 0 else a" for _ in range(lines)]
    body += [f"    for _ in range({COUNT}):", "        y = x + 1", "    npx.waitall()"]
    space = {"x": x, "npx": npx}
    exec("\n".join(body), space)
    return space["loop"]  # type: ignore[return-value]  # made by exec above


def main() -> None:
    rounds = next((int(a) for a in sys.argv[1:] if a.isdigit()), 21)
    loops: dict[str, Callable[[], None]] = {
        "NumPy": numpy_loop,
        "asynchronous": asynchronous,
        "chained": chained,
        "a wait after each": wait_each,
        "asynchronous, in 500 lines": long_function(500),
    }
    samples: dict[str, list[float]] = {name: [] for name in loops}
    for round_ in range(rounds + 1):
        for name, loop in loops.items():
            start = now()
            loop()
            if round_:
                samples[name].append((now() - start) / COUNT * 1e9)
    base = statistics.median(samples["NumPy"])
    for name, values in samples.items():
        median = statistics.median(values)
        print(f"{name:28} median {median:7.1f} ns   best {min(values):7.1f} ns   {base / median:5.2f} x NumPy")
    cold = []
    for _ in range(5):
        time.sleep(1)
        start = now()
        asynchronous()
        cold.append((now() - start) / COUNT * 1e9)
    print(f"{'asynchronous, 1 s of idle':28} median {statistics.median(cold):7.1f} ns")


if __name__ == "__main__":
    main()
