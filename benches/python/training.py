# peers: numpy torch tensorflow jax
"""The training loop of the chapter, compared with the peers, with and without a barrier after every batch.

``cargo xtask bench training --release [ROUNDS] [WORKLOAD ...]``. Batches of 1024 x 512 random numbers, Dense 2048 relu,
Dense 512 relu, Dense 1, squared error, plain SGD. ``epoch``: medians of interleaved rounds of BATCHES batches each,
shown as an epoch of 150. ``products``: the five matrix products of a batch alone. ``memory``: the peak memory of the
process over an epoch, sampled from outside, and the statistics of plan cache and frontend; with ``long`` also 5000
batches.
"""

from __future__ import annotations

import itertools
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from _harness import Bench, Run, environment, main, measure, show

now = time.perf_counter
BATCHES, EPOCH = 15, 150
BATCH, WIDTHS, RATE = 1024, (512, 2048, 512, 1), 0.01


def weights() -> list[tuple[Any, Any]]:
    import numpy

    rng = numpy.random.default_rng(0)
    shapes = itertools.pairwise(WIDTHS)
    return [(rng.uniform(-0.07, 0.07, (i, o)).astype("float32"), numpy.zeros(o, "float32")) for i, o in shapes]


Step = Callable[[], Any]


def epochs(step: Step, wait: Callable[[Any], None], finish: Callable[[], None]) -> Run:
    """Return a function that times a number of batches, with and without barriers."""

    def timed(barrier: bool) -> float:
        start = now()
        for _ in range(BATCHES):
            loss = step()
            if barrier:
                wait(loss)
        finish()
        return (now() - start) * EPOCH / BATCHES

    return lambda: {"with a barrier": timed(True), "without": timed(False)}


def forerun_step(hybrid: bool = False) -> Step:
    from forerun import autograd, gluon, np
    from forerun.gluon import nn

    net = nn.HybridSequential()
    for i, width in enumerate(WIDTHS[1:]):
        net.add(nn.Dense(width, activation="relu" if i < 2 else None, in_units=WIDTHS[i]))
    net.initialize()
    for layer, (weight, bias) in zip(net, weights(), strict=True):
        layer.weight.set_data(np.array(weight.T))
        layer.bias.set_data(np.array(bias))
    loss = gluon.loss.L2Loss()
    if hybrid:
        net.hybridize()
        loss.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": RATE})
    ones = np.ones((BATCH, 1))

    def step() -> Any:
        x = np.random.normal(size=(BATCH, WIDTHS[0]))
        with autograd.record():
            out = loss(net(x), ones)
        out.backward()
        trainer.step(BATCH)
        return out

    return step


def epoch_forerun() -> Run:
    from forerun import npx

    return epochs(forerun_step(), lambda loss: loss.wait_to_read(), npx.waitall)


def epoch_forerun_hybrid() -> Run:
    from forerun import npx

    return epochs(forerun_step(hybrid=True), lambda loss: loss.wait_to_read(), npx.waitall)


def epoch_torch() -> Run:
    import torch

    layers: list[Any] = []
    for weight, bias in weights():
        layer = torch.nn.Linear(*weight.shape)
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(weight.T.copy()))
            layer.bias.copy_(torch.from_numpy(bias))
        layers += [layer, torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1])
    optimiser = torch.optim.SGD(net.parameters(), lr=RATE)
    ones = torch.ones(BATCH, 1)

    def step() -> Any:
        loss = 0.5 * ((net(torch.randn(BATCH, WIDTHS[0])) - ones) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return loss

    return epochs(step, lambda loss: loss.item(), lambda: None)


def epoch_tf() -> Run:
    import tensorflow as tf

    params = [tf.Variable(p) for pair in weights() for p in pair]
    ones = tf.ones((BATCH, 1))

    @tf.function
    def compiled(x: Any) -> Any:
        with tf.GradientTape() as tape:
            for i in range(0, len(params), 2):
                x = x @ params[i] + params[i + 1]
                if i + 2 < len(params):
                    x = tf.nn.relu(x)
            loss = 0.5 * tf.reduce_mean((x - ones) ** 2)
        for p, g in zip(params, tape.gradient(loss, params), strict=True):
            p.assign_sub(RATE * g)
        return loss

    def step() -> Any:
        return compiled(tf.random.normal((BATCH, WIDTHS[0])))

    return epochs(step, lambda loss: loss.numpy(), lambda: params[0][0, 0].numpy())


def epoch_jax() -> Run:
    import jax
    import jax.numpy as jnp

    state: dict[str, Any] = {"params": [(jnp.array(w), jnp.array(b)) for w, b in weights()], "key": jax.random.key(0)}
    ones = jnp.ones((BATCH, 1))

    def loss(params: Any, x: Any) -> Any:
        for i, (w, b) in enumerate(params):
            x = x @ w + b
            if i + 1 < len(params):
                x = jax.nn.relu(x)
        return 0.5 * jnp.mean((x - ones) ** 2)

    @jax.jit
    def compiled(params: Any, x: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x)
        return value, jax.tree.map(lambda p, g: p - RATE * g, params, grads)

    def step() -> Any:
        state["key"], key = jax.random.split(state["key"])
        value, state["params"] = compiled(state["params"], jax.random.normal(key, (BATCH, WIDTHS[0])))
        return value

    return epochs(step, lambda loss: loss.block_until_ready(), lambda: jax.block_until_ready(state["params"]))


# ---- the products alone --------------------------------------------------------------------------------------------
def products(
    normal: Callable[[tuple[int, int]], Any], dot: Callable[[Any, Any], Any], done: Callable[[Any], None]
) -> Run:
    """Time the five main products of a batch, transposed as in the loop: two forward, three backward."""
    x, h1, g1, g2 = (normal((BATCH, width)) for width in (512, 2048, 2048, 512))
    w1, w2 = normal((2048, 512)), normal((512, 2048))

    def run() -> float:
        start = now()
        for _ in range(BATCHES):
            for a, b in ((x, w1.T), (h1, w2.T), (g2.T, h1), (g2, w2), (g1.T, x)):
                done(dot(a, b))
        return (now() - start) * EPOCH / BATCHES

    return run


def products_forerun() -> Run:
    from forerun import np

    return products(lambda s: np.random.normal(size=s), np.dot, lambda c: c.wait_to_read())


def products_torch() -> Run:
    import torch

    return products(lambda s: torch.randn(*s), torch.mm, lambda c: None)


def products_numpy() -> Run:
    import numpy

    rng = numpy.random.default_rng(0)
    return products(lambda s: rng.standard_normal(s, dtype="float32"), numpy.dot, lambda c: None)


BENCH: Bench = {
    "epoch": {
        "forerun": epoch_forerun,
        "forerun hybrid": epoch_forerun_hybrid,
        "torch": epoch_torch,
        "tensorflow": epoch_tf,
        "jax": epoch_jax,
    },
    "products": {
        "forerun": products_forerun,
        "torch": products_torch,
        "numpy": products_numpy,
    },
}


# ---- memory, in a separate process ---------------------------------------------------------------------------------
PAGE = os.sysconf("SC_PAGE_SIZE") / 2**20


def anonymous(pid: int) -> float:
    """Return the anonymous memory of a process in MiB."""
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return (int(fields[1]) - int(fields[2])) * PAGE


def sample(barrier: bool, batches: int) -> None:
    """Print the memory growth of one run of the loop, sampled every 5 ms from outside."""
    code = f"import training; training.watched({barrier}, {batches})"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        env=environment(2),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdout.readline()
    before = peak = anonymous(process.pid)
    process.stdin.write("go\n")
    process.stdin.flush()
    done: list[str] = []
    os.set_blocking(process.stdout.fileno(), False)
    while not done:
        peak = max(peak, anonymous(process.pid))
        done = process.stdout.readlines()
        time.sleep(0.005)
    process.stdin.close()
    process.wait()
    how = "with a barrier" if barrier else "without       "
    print(f"  {how} {batches:5} batches: peak grown by {peak - before:6.1f} MiB; {done[-1].strip()}")


def watched(barrier: bool, batches: int) -> None:
    """Run the loop for :func:`sample` and print the statistics of the engine."""
    from forerun import engine, npx

    step = forerun_step()
    step().wait_to_read()
    npx.waitall()
    print("ready", flush=True)
    sys.stdin.readline()
    before, start = engine.stats(), now()
    for _ in range(batches):
        loss = step()
        if barrier:
            loss.wait_to_read()
    issued = now() - start
    npx.waitall()
    took = now() - start
    after = engine.stats()
    hits, misses = (after[k] - before[k] for k in ("plan_hits", "plan_misses"))
    rate = 100 * hits / max(1, hits + misses)
    records = (after["records"] - before["records"]) / batches
    print(
        f"issued in {100 * issued / took:.1f} % of {took:.2f} s; {records:.0f} records a batch; "
        f"plan cache hit {rate:.1f} %",
        flush=True,
    )


def report(rounds: int) -> None:
    chosen = [name for name in sys.argv[1:] if not name.isdigit()] or ["epoch", "products", "memory"]
    results = {}
    for workload in [w for w in ("epoch", "products") if w in chosen]:
        results[workload] = measure(__file__, BENCH, workload, rounds)
        show(f"{workload} (of {EPOCH} batches)", results[workload], 1.0, "s")
    if len(results) == 2:
        alone = min(statistics.median(s[""]) for s in results["products"].values())
        for metric, values in results["epoch"]["forerun"].items():
            ratio = statistics.median(values) / alone
            print(f"\nforerun {metric}: {ratio:.3f} of its products alone, by the fastest library")
    if "memory" in chosen:
        print("\nmemory")
        for batches in (EPOCH, 5000) if "long" in chosen else (EPOCH,):
            for barrier in (True, False):
                sample(barrier, batches)


if __name__ == "__main__":
    main(__file__, BENCH, report)
