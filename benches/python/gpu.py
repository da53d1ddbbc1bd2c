# peers: numpy torch jax
"""The workloads of the chapter on a GPU, compared with PyTorch and JAX: ``python benches/python/gpu.py [ROUNDS]``.

It needs a machine with an NVIDIA GPU, the installed package and, for ratios, PyTorch; JAX is measured if it finds the
GPU. The figures are medians of interleaved rounds. Elimination of dead results is off.
"""

from __future__ import annotations

import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

import forerun
from forerun import _forerun, autograd, gluon, np, npx
from forerun.gluon import nn

now = time.perf_counter
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 11
GPU = npx.gpu(0)

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]  # a module, or nothing to compare with

# Otherwise JAX allocates most of the device memory.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
try:
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        jax = None
except Exception:  # It may be there and not go with the driver.
    jax = None


def rounds(runs: dict[str, Callable[[], float]], warm: int = 2) -> dict[str, float]:
    """Return the median time of each function, over interleaved runs."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for n in range(ROUNDS + warm):
        for name, run in runs.items():
            seconds = run()
            if n >= warm:
                times[name].append(seconds)
    return {name: statistics.median(all_) for name, all_ in times.items()}


def timed(f: Callable[[], Any], finish: Callable[[], None], repeat: int = 1) -> Callable[[], float]:
    """Return a function that returns the mean time of a number of calls, in seconds."""

    def run() -> float:
        finish()
        start = now()
        for _ in range(repeat):
            f()
        finish()
        return (now() - start) / repeat

    return run


def show(title: str, figures: dict[str, float], scale: float, unit: str, peer: str | None = None) -> None:
    print(f"\n{title}")
    for name, seconds in figures.items():
        ratio = f"   {seconds / figures[peer]:6.2f} of {peer}" if peer in figures and name != peer else ""
        print(f"  {name:34} {seconds * scale:10.3f} {unit}{ratio}", flush=True)


def settle() -> None:
    """Wait until the kernels compiled in the background are in use."""
    npx.waitall()
    time.sleep(0.4)


def synchronize() -> None:
    torch.cuda.synchronize()


def tiny() -> None:
    count = 2000
    with GPU:
        x = np.ones((1, 2))

    def chain() -> None:
        y = x
        for _ in range(count):
            y = y + 1
        y.wait_to_read()

    def unfused() -> float:
        _forerun.set_fuse(False)
        seconds = timed(chain, npx.waitall)() / count
        _forerun.set_fuse(True)
        return seconds

    def waits() -> None:
        (x + 1).wait_to_read()

    runs: dict[str, Callable[[], float]] = {
        "unfused": unfused,
        "fused by the window": lambda: timed(chain, npx.waitall)() / count,
        "a wait after each": timed(waits, npx.waitall, 500),
    }
    if torch is not None:
        t = torch.ones((1, 2), device="cuda")

        def torch_chain() -> None:
            y = t
            for _ in range(count):
                y = y + 1

        def torch_waits() -> None:
            t + 1
            synchronize()

        runs["torch"] = lambda: timed(torch_chain, synchronize)() / count
        runs["torch, a wait after each"] = timed(torch_waits, synchronize, 500)
    if jax is not None:
        j = jnp.ones((1, 2))

        def jax_chain() -> None:
            y = j
            for _ in range(count):
                y = y + 1
            y.block_until_ready()

        runs["jax"] = lambda: timed(jax_chain, lambda: None)() / count
        runs["jax, a wait after each"] = timed(lambda: (j + 1).block_until_ready(), lambda: None, 500)
    chain()
    settle()
    show("a chain of y + 1 on (1, 2), each", rounds(runs), 1e6, "us", "torch")


def in_turn(f: Callable[[Any], Any], each: list[Any], finish: Callable[[], None]) -> Callable[[], float]:
    """Return a function that returns the mean time of several calls, each with its own operands, in seconds."""

    def run() -> float:
        finish()
        start = now()
        kept = [f(operands) for operands in each]
        finish()
        seconds = (now() - start) / len(each)
        del kept
        return seconds

    return run


def large() -> None:
    size, count = 128 << 20, 5
    with GPU:
        pairs = [(np.random.uniform(size=(size,)), np.random.uniform(size=(size,))) for _ in range(count)]
        squares = [np.random.uniform(size=(4096, 4096)) for _ in range(count)]

    def chain(xy: Any) -> Any:
        x, y = xy
        return np.tanh(x) * y + x * 2 - y / 3

    runs = {"forerun": in_turn(chain, pairs, npx.waitall)}
    sums = {"forerun": in_turn(lambda xy: xy[0].sum(), pairs, npx.waitall)}

    def product(tf32: bool) -> Callable[[], float]:
        run = in_turn(lambda a: np.dot(a, a), squares, npx.waitall)

        def set_and_run() -> float:
            _forerun.set_tf32(GPU, tf32)
            return run()

        return set_and_run

    products = {"forerun, float32": product(False), "forerun, tf32": product(True)}
    if torch is not None:
        theirs = [(torch.rand(size, device="cuda"), torch.rand(size, device="cuda")) for _ in range(count)]
        their_squares = [torch.rand(4096, 4096, device="cuda") for _ in range(count)]

        def torch_chain(xy: Any) -> Any:
            x, y = xy
            return torch.tanh(x) * y + x * 2 - y / 3

        def torch_product(tf32: bool) -> Callable[[], float]:
            run = in_turn(lambda a: a @ a, their_squares, synchronize)

            def set_and_run() -> float:
                torch.backends.cuda.matmul.allow_tf32 = tf32
                return run()

            return set_and_run

        runs["torch"] = in_turn(torch_chain, theirs, synchronize)
        sums["torch"] = in_turn(lambda xy: xy[0].sum(), theirs, synchronize)
        products["torch, float32"], products["torch, tf32"] = torch_product(False), torch_product(True)
    if jax is not None:
        keys = jax.random.split(jax.random.PRNGKey(0), 2 * count)
        draws = [jax.random.uniform(key, (size,)) for key in keys]
        compiled = jax.jit(lambda x, y: jnp.tanh(x) * y + x * 2 - y / 3)

        def jax_run() -> float:
            start = now()
            kept = [compiled(x, y) for x, y in zip(draws[:count], draws[count:], strict=True)]
            jax.block_until_ready(kept)
            return (now() - start) / count

        runs["jax, jit"] = jax_run
    runs["forerun"](), sums["forerun"](), [run() for run in products.values()]
    settle()
    chains = rounds(runs)
    print(f"\nideal bytes of the chain: {3 * 4 * size / chains['forerun'] / 1e9:.0f} GB/s")
    show(f"tanh(x) * y + x * 2 - y / 3, 512 MiB each, {count} in a row", chains, 1e3, "ms", "torch")
    show(f"sum over 512 MiB, {count} in a row", rounds(sums), 1e3, "ms", "torch")
    show(f"product of two 4096 x 4096, {count} in a row", rounds(products), 1e3, "ms", "torch, float32")
    _forerun.set_tf32(GPU, False)


BATCHES, BATCH, WIDTHS, RATE = 150, 1024, (512, 2048, 512, 1), 0.01


def mlp(hybrid: bool) -> Callable[[], Any]:
    with GPU:
        net = nn.HybridSequential()
        for i, width in enumerate(WIDTHS[1:]):
            net.add(nn.Dense(width, activation="relu" if i < len(WIDTHS) - 2 else None))
        net.initialize(ctx=GPU)
        if hybrid:
            net.hybridize()
        x, y = np.random.normal(size=(BATCH, WIDTHS[0])), np.random.normal(size=(BATCH, 1))
    loss_of = gluon.loss.L2Loss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": RATE})

    def step() -> Any:
        with GPU:
            with autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(BATCH)
        return loss

    return step


def torch_mlp() -> tuple[Callable[[], Any], Callable[[], Any]]:
    torch.manual_seed(0)
    layers: list[Any] = []
    for i in range(len(WIDTHS) - 1):
        layers.append(torch.nn.Linear(WIDTHS[i], WIDTHS[i + 1]))
        if i < len(WIDTHS) - 2:
            layers.append(torch.nn.ReLU())
    net = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    x, y = torch.randn(BATCH, WIDTHS[0], device="cuda"), torch.randn(BATCH, 1, device="cuda")

    def step() -> Any:
        optimizer.zero_grad(set_to_none=False)
        loss = ((net(x) - y) ** 2 / 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return step, graph.replay


def jax_mlp(tf32: bool) -> Callable[[], float]:
    """Return a function that returns the time of all batches in seconds, with each step compiled."""
    keys = jax.random.split(jax.random.PRNGKey(0), len(WIDTHS) + 1)
    sizes = list(itertools.pairwise(WIDTHS))
    start = [(jax.random.normal(k, s) * s[0] ** -0.5, jnp.zeros(s[1])) for k, s in zip(keys, sizes, strict=False)]
    x, y = jax.random.normal(keys[-2], (BATCH, WIDTHS[0])), jax.random.normal(keys[-1], (BATCH, 1))
    precision = "tensorfloat32" if tf32 else "highest"

    def loss_of(params: Any) -> Any:
        h = x
        for n, (w, b) in enumerate(params):
            h = jnp.matmul(h, w, precision=precision) + b
            h = jax.nn.relu(h) if n < len(params) - 1 else h
        return ((h - y) ** 2 / 2).mean()

    @jax.jit
    def step(params: Any) -> Any:
        gradients = jax.grad(loss_of)(params)
        return jax.tree.map(lambda p, g: p - RATE * g, params, gradients)

    def run() -> float:
        params, begun = start, now()
        for _ in range(BATCHES):
            params = step(params)
        jax.block_until_ready(params)
        return now() - begun

    return run


def training() -> None:
    for tf32 in (False, True):
        _forerun.set_tf32(GPU, tf32)
        plain, hybrid = mlp(False), mlp(True)

        def epoch(step: Callable[[], Any], barrier: bool) -> Callable[[], float]:
            def run() -> None:
                for _ in range(BATCHES):
                    loss = step()
                    if barrier:
                        loss.wait_to_read()

            return timed(run, npx.waitall)

        runs = {
            "forerun": epoch(plain, False),
            "forerun, hybridize": epoch(hybrid, False),
            "forerun, a barrier each batch": epoch(plain, True),
        }
        if torch is not None:
            torch.backends.cuda.matmul.allow_tf32 = tf32
            eager, replay = torch_mlp()

            def torch_epoch(step: Callable[[], Any]) -> Callable[[], float]:
                return timed(lambda: [step() for _ in range(BATCHES)], synchronize)

            runs["torch, eager"] = torch_epoch(eager)
            runs["torch, CUDA graph by hand"] = torch_epoch(replay)
        if jax is not None:
            runs["jax, jit"] = jax_mlp(tf32)
        for warm in runs.values():
            warm()
        settle()
        before = _forerun.gpu_stats(GPU)
        figures = rounds(runs)
        after = _forerun.gpu_stats(GPU)
        kind = "tf32" if tf32 else "float32"
        show(f"{BATCHES} batches of the MLP, {kind}", figures, 1e3, "ms", "torch, CUDA graph by hand")
        names = ("launched", "launched_in_graphs", "graphs", "graphs_unchanged")
        alone, in_graphs, graphs, unchanged = (after[k] - before[k] for k in names)
        print(f"  launched in graphs: {in_graphs} of {alone + in_graphs}, in {graphs} graphs, {unchanged} as they were")
    _forerun.set_tf32(GPU, False)


def memory() -> None:
    step = mlp(False)
    for _ in range(5):
        step()
    peaks = {}
    for barrier in (True, False):
        npx.waitall()
        _forerun.reset_gpu_peak(GPU)
        for _ in range(100):
            loss = step()
            if barrier:
                loss.wait_to_read()
        npx.waitall()
        peaks[barrier] = _forerun.gpu_stats(GPU)["peak_bytes"]
    with_, without = peaks[True] / 2**20, peaks[False] / 2**20
    print(f"\npeak device memory: {with_:.1f} MiB with a barrier, {without:.1f} without: {without / with_:.3f}")


def overlap() -> None:
    with GPU:
        a = np.random.uniform(size=(4096, 4096)) * 0.01
    b = np.random.uniform(size=(1500, 1500)) * 0.01
    timed(lambda: np.dot(a, a), npx.waitall)(), timed(lambda: np.dot(b, b), npx.waitall)()
    on_gpu, on_cpu = timed(lambda: np.dot(a, a), npx.waitall, 20)(), timed(lambda: np.dot(b, b), npx.waitall, 5)()
    gpu_count, cpu_count = max(1, round(1 / on_gpu)), max(1, round(1 / on_cpu))

    def gpu() -> None:
        for _ in range(gpu_count):
            np.dot(a, a)

    def cpu() -> None:
        for _ in range(cpu_count):
            np.dot(b, b)

    def both() -> None:
        done = 0
        for n in range(cpu_count):
            np.dot(b, b)
            while done < (n + 1) * gpu_count // cpu_count:
                np.dot(a, a)
                done += 1

    figures = {name: timed(f, npx.waitall)() for name, f in (("GPU", gpu), ("CPU", cpu), ("interleaved", both))}
    show("products on the GPU and on the CPU, from one thread", figures, 1, "s")
    print(f"  {figures['interleaved'] / max(figures['GPU'], figures['CPU']):.3f} of the longer")


def new_chain() -> None:
    with GPU:
        x = np.random.uniform(size=(1 << 22,))
        npx.waitall()
        stalls, served = [], []
        for n in range(5):
            text = "np.sin(x)" if hasattr(np, "sin") else "np.exp(x)"
            for _ in range(3 + n):
                text += f" * {n + 2}.0 + np.tanh(x)"
            run = eval(f"lambda: {text}", {"np": np, "x": x})
            start = now()
            y = run()
            stalls.append(now() - start)
            y.wait_to_read()
            served.append(now() - start)
        print(f"\na new pointwise chain: the frontend stalled {max(stalls) * 1e3:.2f} ms at the most")
        median, longest = statistics.median(served) * 1e3, max(served) * 1e3
        print(f"  its kernel served after {median:.0f} ms (median), {longest:.0f} ms (longest)")


if __name__ == "__main__":
    peers = " | ".join(f"{n} {m.__version__ if m else 'absent'}" for n, m in (("PyTorch", torch), ("JAX", jax)))
    print(_forerun.gpu_stats(GPU)["description"], "|", peers)
    print("rounds:", ROUNDS, "| dropping of unseen results: off | NumPy", numpy.__version__)
    _forerun.set_drop_dead(False)
    wanted = sys.argv[2:]
    for part in (tiny, large, training, memory, overlap, new_chain):
        if not wanted or part.__name__ in wanted:
            try:
                part()
            except Exception as error:
                print(f"{part.__name__}: FAILED: {type(error).__name__}: {str(error)[:400]}", flush=True)
    print("\n", forerun.stats())
