# peers: numpy
"""Basic operations on small arrays, including the wait for the result, compared with NumPy.

``cargo xtask bench small --release [ROUNDS]`` prints medians of interleaved rounds in one process, and the 99th
percentile of single calls, which includes the cost of the clock on both sides. On a shared machine, compare the best
rounds.
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

COUNT = 2000
SINGLE = 2000
now = time.perf_counter_ns

ROW = [float(i) for i in range(10)]
TABLE = [ROW, ROW, ROW, ROW]
# The statements for both sides: `x` is a vector of 100, `m` a 10 x 10 matrix, `s` a number, `lib` the namespace.
CASES = {
    "x[5]": "x[5]",
    "x[5].item()": "x[5].item()",
    "float(x[5])": "float(x[5])",
    "m[3]": "m[3]",
    "m[2, 3].item()": "m[2, 3].item()",
    "m[2, 3] = 1.0": "m[2, 3] = 1.0",
    "m[2, 3] = 1.0, read": "m[2, 3] = 1.0; m[2, 3].item()",
    "m[2, 3] = 1.0, float": "m[2, 3] = 1.0; float(m[2, 3])",
    "m[2, 3] += 1.0, read": "m[2, 3] += 1.0; m[2, 3].item()",
    "x[5] = s, read": "x[5] = s; x[5].item()",
    "x.sum().item()": "x.sum().item()",
    "s.item()": "s.item()",
    "float(s)": "float(s)",
    "for row in m": "for row in m: pass",
    "for row in m, read": "for row in m: row[0].item()",
    "array(list of 10)": "lib.array(ROW)",
    "array(4 lists of 10)": "lib.array(TABLE)",
    "array(list of 10), read": "lib.array(ROW)[3].item()",
    "array(2.0)": "lib.array(2.0)",
    "asarray(x)": "numpy.asarray(x)",
    "x.tolist()": "x.tolist()",
    "x.shape": "x.shape",
}


def make(text: str, lib: object, single: bool) -> Callable[[], list[int] | None]:
    """Return a loop over a statement, timed as a whole or call by call."""
    inner = [f"        {statement.strip()}" for statement in text.split(";")]
    if single:
        lines = [
            "def loop():", "    times = []", "    for _ in range(COUNT):", "        start = now()", *inner,
            "        times.append(now() - start)", "    return times",
        ]  # fmt: skip
    else:
        lines = ["def loop():", "    for _ in range(COUNT):", *inner]
    count = SINGLE if single else COUNT
    space = {"lib": lib, "numpy": numpy, "ROW": ROW, "TABLE": TABLE, "COUNT": count, "now": now}
    space.update({name: lib.array(value) for name, value in arrays().items()})  # type: ignore[attr-defined]  # a module
    exec("\n".join(lines), space)
    return space["loop"]  # type: ignore[return-value]  # made by exec above


def arrays() -> dict[str, numpy.ndarray]:
    vector = numpy.arange(100, dtype="float32")
    return {"x": vector, "m": vector.reshape(10, 10), "s": vector[5, ...]}


def main() -> None:
    rounds = next((int(a) for a in sys.argv[1:] if a.isdigit()), 11)
    wanted = [name for name in CASES if not sys.argv[1:] or sys.argv[1].isdigit() or sys.argv[1] in name]
    print(
        f"{'':26} {'ours':>9} {'NumPy':>9} {'ratio':>6}   best {'ours':>9} {'NumPy':>9}    p99 {'ours':>9} {'NumPy':>9}"
    )
    for name in wanted:
        loops = [make(CASES[name], lib, False) for lib in (np, numpy)]
        singles = [make(CASES[name], lib, True) for lib in (np, numpy)]
        samples: list[list[float]] = [[], []]
        tails: list[list[float]] = [[], []]
        for round_ in range(rounds + 1):
            for side in (0, 1):
                start = now()
                loops[side]()
                taken = (now() - start) / COUNT
                times = singles[side]()
                npx.waitall()
                if round_ and times is not None:
                    samples[side].append(taken)
                    tails[side].append(statistics.quantiles(times, n=100)[98])
        ours, theirs = (statistics.median(values) for values in samples)
        our_tail, their_tail = (statistics.median(values) for values in tails)
        row = f"{ours:6.0f} ns {theirs:6.0f} ns {ours / theirs:6.2f}"
        best = f"{min(samples[0]):6.0f} ns {min(samples[1]):6.0f} ns"
        print(f"{name:26} {row}        {best}        {our_tail:6.0f} ns {their_tail:6.0f} ns")


if __name__ == "__main__":
    main()
