# peers: numpy
"""Common NumPy statements at four sizes, compared with NumPy. Every result is waited for.

``cargo xtask bench lines --release [ROUNDS] [SIZE ...] [TEXT ...]``: rounds of every line, interleaved in one process;
the sizes are 1k, 16k, 1M and 16M; a text chooses the lines that contain it, or a group. The figure of a line is the
best of its rounds, each the mean of as many calls as take about 0.3 ms. Both sides may use two threads. The threads of
NumPy's products poll for tens of milliseconds after each product, and would take the second core from what is measured
next. Before a round of products the bench therefore pauses, and runs the line once.
"""

from __future__ import annotations

import math
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["FORERUN_DROP_DEAD"] = "0"
os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "2")

import numpy

from forerun import engine
from forerun import np as forerun

SIZES = {"1k": 1 << 10, "16k": 1 << 14, "1M": 1 << 20, "16M": 1 << 24}
#: The minimum duration of a round of a line, in seconds.
ROUND = 3e-4
#: Seconds after which the threads of NumPy's products have stopped polling.
PAUSE = 0.05
#: Slower than NumPy beyond this counts as not met.
ALLOWED = 1.10

# ``x``, ``y``: floats between 0.5 and 1.5; ``z``: floats around 0; ``d``: doubles; ``s``: sorted floats.
# ``i``, ``j``: int64 from 0 and from 1 to 999; ``k``: int32; ``m``, ``o``: masks, half true and all false.
# ``X``: a square matrix, ``w``: a row of it; ``Q``: at most 512 rows; ``r``: rows of four; ``c``: four rows.
#: The lines by group, separated by semicolons.
LINES = {
    "arithmetic": """
        x + y; x - y; x * y; x / y; x + 1; 2 * x; x / 3; 1 - x; 1 / x; -x; x * y + z; x * 2 + y * 3;
        (x - y) / (x + y); d + d; d * 2.5; i + j; i * 3; i - 1; k + k; k * 2; x + i; i / j; np.add(x, y);
        np.multiply(x, 2); X + w; X * w; X - X.mean(axis=0); X / X.sum(axis=1, keepdims=True); x.copy()
    """,
    "powers": """
        x**2; x**3; x**0.5; x**-1; x**2.5; x**y; 2**x; i**2; np.sqrt(x**2 + y**2); np.exp(-0.5 * (z / 0.3) ** 2);
        np.square(x); (r**2).sum(axis=1)
    """,
    "functions": """
        np.abs(z); np.sqrt(x); np.exp(z); np.log(x); np.sin(z); np.cos(z); np.tan(z); np.tanh(z); np.sinh(z);
        np.cosh(z); np.arctan(z); np.arcsin(x - 1); np.arctan2(z, x); np.expm1(z); np.log1p(x); np.log2(x);
        np.log10(x); np.exp2(z); np.cbrt(x); np.hypot(x, y); np.floor(z); np.ceil(z); np.rint(z); np.round(z, 2);
        np.sign(z); np.clip(z, -0.5, 0.5); np.maximum(x, y); np.minimum(z, 0); np.reciprocal(x);
        1 / (1 + np.exp(-z)); np.exp(d); np.sin(d); np.log(d); np.sqrt(d); np.deg2rad(z)
    """,
    "integers": """
        i // j; i % j; i // 7; i % 7; k // 3; k % 3; x // y; x % y; i & j; i | j; i ^ j; ~i; i << 2; i >> 1; k & 1;
        np.gcd(i, j); np.divmod(i, j)
    """,
    "casts": """
        x.astype('int32'); x.astype('int64'); x.astype('float64'); d.astype('float32'); i.astype('float32');
        i.astype('int32'); k.astype('float64'); m.astype('float32'); m.astype('int64'); z.astype('bool');
        k.astype('int64'); (255 * (x - 0.5)).astype('uint8')
    """,
    "tests": """
        x > y; z > 0; i == j; x != y; x <= 1; m & o; m | o; ~m; np.isnan(x); np.isfinite(x);
        np.logical_and(z > 0, x > 1); np.where(m, x, y); np.where(z > 0, z, 0); o.any(); m.any(); m.all();
        (z > 0).any(); (x > 0).all(); np.count_nonzero(m); (z > 0).sum(); m.sum(); np.allclose(x, x);
        np.array_equal(x, x); np.isclose(x, y); (x == y).mean()
    """,
    "reductions": """
        x.sum(); x.mean(); x.max(); x.min(); x.std(); x.var(); x.prod(); x.argmax(); x.argmin(); np.ptp(x);
        d.sum(); i.sum(); i.max(); i.mean(); k.sum(); X.sum(axis=0); X.sum(axis=1); X.mean(axis=0); X.max(axis=0);
        X.max(axis=1); X.argmax(axis=1); X.argmax(axis=0); X.std(axis=0); r.sum(axis=1); r.max(axis=1);
        r.argmin(axis=1); r.mean(axis=1); c.sum(axis=0); c.max(axis=0); c.argmax(axis=0); np.linalg.norm(x);
        np.linalg.norm(r, axis=1); np.nansum(x); np.nanmax(x); np.average(x, weights=y); np.cumsum(x);
        np.cumsum(X, axis=0); np.cumsum(X, axis=1); np.diff(x); np.median(x); np.percentile(x, 90); np.trace(X);
        abs(x - y).max(); ((x - y) ** 2).mean()
    """,
    "products": """
        x @ y; np.dot(x, y); X @ w; w @ X; X.T @ w; Q @ Q; Q @ Q.T; np.outer(w, w); np.einsum('ij,ij->i', X, X);
        np.einsum('ij,ij->', X, X); np.einsum('ij->ji', X); np.einsum('ij,j->i', X, w); np.inner(x, y);
        np.tensordot(Q, Q, axes=1); np.convolve(x, taps); np.vdot(x, y)
    """,
    "moves": """
        X.T + 0; X.T.copy(); x[::2] + 0; x[::-1] + 0; x[idx]; np.take(x, idx); X[:, 1] + 0; X[rows]; x[m];
        np.nonzero(m); np.where(m); np.repeat(x, 2); np.tile(x, 2); np.concatenate([x, y]); np.stack([x, y]);
        np.stack([x, y], axis=1); np.hstack([x, y]); np.vstack([x, y]); np.roll(x, 1); np.flip(x); np.pad(X, 1);
        x.reshape(-1, 4) + 0; np.append(x, y); np.split(x, 4)[1] + 0; np.broadcast_to(w, X.shape) + 0;
        np.transpose(r) + 0; np.swapaxes(X, 0, 1) + 0; np.triu(X); np.diag(X) + 0; X.ravel() + 0; X.flatten();
        np.squeeze(X[None]) + 1; np.delete(x, 3); out.put(idx, 0); out.fill(2)
    """,
    "writes": """
        out[:] = x; out[::2] = 0; out[m] = 0; out[idx] = 1; out += z; out *= -1; out[1:] = x[:-1]
    """,
    "creation": """
        np.zeros(n); np.ones(n, 'float32'); np.full(n, 2.5); np.arange(n); np.arange(0, 1, 1 / n);
        np.linspace(0, 1, n); np.eye(side); np.zeros_like(x); np.ones_like(x); np.empty_like(x); np.meshgrid(w, w);
        np.random.normal(size=n); np.random.uniform(size=n); np.random.randint(0, 100, n);
        np.random.permutation(n); np.array(x)
    """,
    "orders": """
        np.sort(x); np.sort(X, axis=1); np.sort(r, axis=1); np.argsort(x); np.sort(i); np.partition(x, 10);
        np.unique(i); np.bincount(i); np.histogram(x, 50)[0]; np.searchsorted(s, x); np.digitize(x, bins);
        np.isin(i, few); np.interp(x, s[:64], s[:64]); np.argpartition(x, 10); np.sort(d)
    """,
}

#: Reasons for lines beyond the accepted ratio that the number of records does not explain.
FLOORS = {
    "np.zeros(n)": "NumPy takes pages from the system that it does not write; here they are written",
    "out[idx] = 1": "indices are checked before anything is written, in a pass of its own",
    "x[idx]": "indices are checked before anything is written, in a pass of its own",
    "np.nonzero(m)": "waits for the number of true elements before the second op is submitted",
    "np.where(m)": "waits for the number of true elements before the second op is submitted",
    "np.bincount(i)": "waits for the largest number, then slices the counts",
    **dict.fromkeys(
        ["x.copy()", "x.argmax()", "x.argmin()", "out[:] = x"],
        "the fixed cost of one record; NumPy's call is shorter than that",
    ),
    **dict.fromkeys(
        ["np.array(x)", "np.empty_like(x)", "np.arange(n)", "np.concatenate([x, y])"],
        "the fixed cost of one record, and of a Python function in between: its call and its frame",
    ),
    "out[1:] = x[:-1]": "two views, whose layouts of 32 places are large to copy",
    "np.einsum('ij->ji', X)": "returns a view, as NumPy does; the labels are parsed in Python",
    **dict.fromkeys(
        ["x**y", "np.arctan2(z, x)", "np.log(d)", "np.log2(x)", "np.log10(x)", "np.cbrt(x)", "np.expm1(z)"],
        "with AVX-512 NumPy calls SVML, whose kernel takes less time per element",
    ),
    **dict.fromkeys(
        ["np.sin(z)", "np.cos(z)", "np.tan(z)", "np.tanh(z)", "np.sinh(z)", "np.cosh(z)"],
        "with AVX-512 NumPy calls SVML, whose kernel takes less time per element",
    ),
    **dict.fromkeys(
        [
            "np.sort(x)",
            "np.sort(X, axis=1)",
            "np.sort(i)",
            "np.sort(d)",
            "np.partition(x, 10)",
            "np.argpartition(x, 10)",
        ],
        "NumPy sorts and partitions with vector compress instructions, ours only in part",
    ),
}


def inputs(n: int, array: Callable[[Any], Any]) -> dict[str, Any]:
    """Create the inputs of the lines, with equal values on both sides."""
    draw = numpy.random.default_rng(0)
    side = math.isqrt(n)
    edge = min(side, 512)
    made = {
        "x": draw.random(n, dtype="float32") + 0.5,
        "y": draw.random(n, dtype="float32") + 0.5,
        "z": draw.standard_normal(n, dtype="float32"),
        "d": draw.random(n) + 0.5,
        "i": draw.integers(0, 1000, n),
        "j": draw.integers(1, 1000, n),
        "k": draw.integers(0, 1000, n).astype("int32"),
        "m": draw.random(n) > 0.5,
        "o": numpy.zeros(n, "bool"),
        "X": draw.random((side, side), dtype="float32"),
        "r": draw.random((n // 4, 4), dtype="float32"),
        "c": draw.random((4, n // 4), dtype="float32"),
        "w": draw.random(side, dtype="float32"),
        "Q": draw.random((edge, edge), dtype="float32"),
        "idx": draw.integers(0, n, n // 4),
        "rows": draw.integers(0, side, side),
        "s": numpy.sort(draw.random(n, dtype="float32") + 0.5),
        "taps": draw.random(32, dtype="float32"),
        "bins": numpy.linspace(0.5, 1.5, 20).astype("float32"),
        "few": numpy.arange(0, 1000, 50),
        "out": numpy.zeros(n, "float32"),
    }
    return {**{name: array(value) for name, value in made.items()}, "n": n, "side": side}


def finish(made: Any) -> None:
    """Wait for every array of a result."""
    if isinstance(made, list | tuple):
        for part in made:
            finish(part)
    elif hasattr(made, "wait_to_read"):
        made.wait_to_read()


def compiled(line: str, lib: Any, names: dict[str, Any]) -> Callable[[int], float]:
    """Return a function that runs a line ``count`` times, waits for each result, and returns the mean seconds."""
    scope = {**names, "np": lib, "finish": finish, "now": time.perf_counter}
    try:
        made = eval(line, scope)
        body = [f"made = {line}"]
    except SyntaxError:
        made, body = None, [line]
    # For a statement, or a method that returns nothing, wait for the array it wrote.
    result, kind = ("out", scope["out"]) if made is None else ("made", made)
    if hasattr(kind, "wait_to_read"):
        body.append(f"{result}.wait_to_read()")
    elif isinstance(kind, list | tuple) and lib is forerun:
        body.append(f"finish({result})")
    text = [
        "def loop(count, out=out):",
        "    start = now()",
        "    for _ in range(count):",
        *(f"        {part}" for part in body),
    ]
    exec("\n".join([*text, "    return (now() - start) / count"]), scope)
    return scope["loop"]  # type: ignore[no-any-return]  # made by exec above


def measure(
    line: str, rounds: int, ours: dict[str, Any], theirs: dict[str, Any], pause: float = 0.0
) -> tuple[float, float]:
    """Return the seconds of both sides: the best of interleaved rounds, with a pause and a first call before each."""
    sides = [compiled(line, forerun, ours), compiled(line, numpy, theirs)]
    counts = []
    for side in sides:
        side(1)
        counts.append(max(1, math.ceil(ROUND / max(side(2), 1e-9))))
    best = [math.inf, math.inf]
    for _ in range(rounds):
        for at, (side, count) in enumerate(zip(sides, counts, strict=True)):
            if pause:
                time.sleep(pause)
                side(1)
            best[at] = min(best[at], side(count))
    return best[0], best[1]


def submitted(line: str, names: dict[str, Any]) -> float:
    """Return the number of records that a line submits, including views."""
    loop = compiled(line, forerun, names)
    before = engine.stats()["records"]
    loop(10)
    return (engine.stats()["records"] - before) / 10


def main() -> None:
    """Measure the requested lines and sizes."""
    words = sys.argv[1:]
    rounds = next((int(word) for word in words if word.isdigit()), 11)
    sizes = [word for word in words if word in SIZES] or list(SIZES)
    wanted = [word for word in words if not word.isdigit() and word not in SIZES]
    lines = [(group, line.strip()) for group, text in LINES.items() for line in text.split(";")]
    lines = [(group, line) for group, line in lines if not wanted or any(w in line or w == group for w in wanted)]
    records: dict[str, float] = {}
    table: dict[str, dict[str, tuple[float, float]]] = {line: {} for _, line in lines}
    for size in sizes:
        ours, theirs = inputs(SIZES[size], forerun.array), inputs(SIZES[size], lambda value: value)
        for value in ours.values():
            finish(value)
        for group, line in lines:
            table[line][size] = measure(line, rounds, ours, theirs, PAUSE if group == "products" else 0.0)
            records[line] = submitted(line, ours)
    print(f"{'time of Forerun / time of NumPy':44}" + "".join(f"{size:>10}{'us':>12}" for size in sizes))
    for group, line in lines:
        cells = "".join(f"{ours / theirs:10.2f}{ours * 1e6:12.1f}" for ours, theirs in table[line].values())
        print(f"{group[:10]:11}{line[:32]:33}{cells}")
    for size in sizes:
        ratios = sorted(ours / theirs for ours, theirs in (table[line][size] for _, line in lines))
        slower = sum(ratio > ALLOWED for ratio in ratios)
        print(f"{size:4} {len(ratios)} lines, median {statistics.median(ratios):.2f}, {slower} slower by over 10 %")
    every = [ours / theirs for cells in table.values() for ours, theirs in cells.values()]
    print(f"all  {len(every)} figures, median {statistics.median(every):.2f}")
    alone = table.get("-x", {}).get("1k")
    if alone:
        print(f"the fixed cost of one record, one result and a wait, by -x at 1k: {alone[0] * 1e6:.2f} us")
    for _, line in lines:
        missed = [size for size, (ours, theirs) in table[line].items() if ours / theirs > ALLOWED]
        if missed:
            floor = FLOORS.get(line)
            if floor is None:
                times = ", ".join(f"{table[line][size][1] * 1e6:.2f} us at {size}" for size in missed)
                floor = f"records submitted: {records[line]:.0f}; NumPy's line takes {times}"
            print(f"slower at {', '.join(missed)}: {line}: {floor}")


if __name__ == "__main__":
    main()
