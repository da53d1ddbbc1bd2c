"""The workloads of ``forerun bench`` and of ``benches/python/chapter.py``, for Forerun and its peers.

``python -m forerun._command.workloads PACKAGE`` is the process of one peer: each line of its input names a workload,
which it runs once. The benchmark loads this file by its path, beside other builds of the package: the file imports
nothing from the package until a workload is made.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

Run = Callable[[], "float | dict[str, float]"]
Make = Callable[[], Run]
Bench = dict[str, dict[str, Make]]

now = time.perf_counter
#: The side of the matrices in `chain`, `random` and `sums`.
SIDE = 4096


def best_of(repeats: int, run: Callable[[], None]) -> float:
    """Return the time in seconds of the fastest of several calls, with threads awake."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


# ---- ten draws and products, all kept ---------------------------------------------------------------------------
def draws_forerun() -> Run:
    from forerun import np

    def run() -> dict[str, float]:
        start = now()
        kept = []
        for _ in range(10):
            a = np.random.normal(size=(1000, 1000))
            kept.append(np.dot(a, a))
        issued = now()
        for b in kept:
            b.wait_to_read()
        return {"issued": issued - start, "finished": now() - start}

    return run


def draws_torch() -> Run:
    import torch

    def run() -> dict[str, float]:
        start = now()
        kept = []
        for _ in range(10):
            a = torch.randn(1000, 1000)
            kept.append(torch.mm(a, a))
        return {"finished": now() - start}

    return run


def draws_numpy() -> Run:
    import numpy

    rng = numpy.random.default_rng(0)

    def run() -> dict[str, float]:
        start = now()
        kept = []
        for _ in range(10):
            a = rng.standard_normal((1000, 1000), dtype=numpy.float32)
            kept.append(a @ a)
        return {"finished": now() - start}

    return run


# ---- one fused chain -----------------------------------------------------------------------------------------------
def chain(np: Any, x: Any, y: Any) -> Any:
    return np.tanh(x) * y + x * 2 - y / 3


def chain_forerun() -> Run:
    from forerun import np

    x, y = (np.random.uniform(-2, 2, size=(SIDE, SIDE)) for _ in "xy")

    return lambda: best_of(9, lambda: chain(np, x, y).wait_to_read())


def chain_numpy() -> Run:
    import numpy

    rng = numpy.random.default_rng(0)
    x, y = (rng.random((SIDE, SIDE), dtype=numpy.float32) * 4 - 2 for _ in "xy")

    return lambda: best_of(9, lambda: chain(numpy, x, y))


def chain_tf() -> Run:
    import tensorflow as tf

    x, y = (tf.random.uniform((SIDE, SIDE), -2, 2) for _ in "xy")
    compiled = tf.function(lambda x, y: chain(tf, x, y), jit_compile=True)

    return lambda: best_of(9, lambda: compiled(x, y)[0, 0].numpy())


def chain_jax() -> Run:
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(jax.random.PRNGKey(0))
    x, y = (jax.random.uniform(k, (SIDE, SIDE), minval=-2, maxval=2) for k in keys)
    compiled = jax.jit(lambda x, y: chain(jnp, x, y))

    return lambda: best_of(9, lambda: compiled(x, y).block_until_ready())


def chain_torch() -> Run:
    import torch

    x, y = (torch.rand(SIDE, SIDE) for _ in "xy")

    return lambda: best_of(9, lambda: chain(torch, x, y))


# ---- random numbers ------------------------------------------------------------------------------------------------
def random_forerun() -> Run:
    from forerun import np

    def timed(draw: Any) -> float:
        return best_of(5, lambda: draw(size=(SIDE, SIDE)).wait_to_read())

    return lambda: {"normal": timed(np.random.normal), "uniform": timed(np.random.uniform)}


def random_torch() -> Run:
    import torch

    def timed(draw: Any) -> float:
        return best_of(5, lambda: draw(SIDE, SIDE))

    return lambda: {"normal": timed(torch.randn), "uniform": timed(torch.rand)}


def random_numpy() -> Run:
    import numpy

    rng = numpy.random.default_rng(0)

    def timed(draw: Any) -> float:
        return best_of(5, lambda: draw((SIDE, SIDE), dtype=numpy.float32))

    return lambda: {"normal": timed(rng.standard_normal), "uniform": timed(rng.random)}


def random_jax() -> Run:
    import jax

    key = jax.random.PRNGKey(0)
    draws = {
        "normal": jax.jit(lambda k: jax.random.normal(k, (SIDE, SIDE))),
        "uniform": jax.jit(lambda k: jax.random.uniform(k, (SIDE, SIDE))),
    }

    def timed(draw: Any) -> float:
        return best_of(5, lambda: draw(key).block_until_ready())

    return lambda: {name: timed(draw) for name, draw in draws.items()}


def random_tf() -> Run:
    import tensorflow as tf

    def timed(draw: Any) -> float:
        return best_of(5, lambda: draw((SIDE, SIDE))[0, 0].numpy())

    return lambda: {"normal": timed(tf.random.normal), "uniform": timed(tf.random.uniform)}


# ---- sums ----------------------------------------------------------------------------------------------------------
AXES: tuple[int | None, ...] = (None, 0, 1)


def sums_forerun() -> Run:
    from forerun import np

    x = np.random.uniform(size=(SIDE, SIDE))

    def timed(axis: int | None) -> float:
        return best_of(15, lambda: x.sum(axis=axis).wait_to_read())

    return lambda: {f"axis {a}": timed(a) for a in AXES}


def sums_torch() -> Run:
    import torch

    x = torch.rand(SIDE, SIDE)

    def timed(axis: int | None) -> float:
        return best_of(15, lambda: x.sum() if axis is None else x.sum(dim=axis))

    return lambda: {f"axis {a}": timed(a) for a in AXES}


def sums_numpy() -> Run:
    import numpy

    x = numpy.random.default_rng(0).random((SIDE, SIDE), dtype=numpy.float32)

    def timed(axis: int | None) -> float:
        return best_of(15, lambda: x.sum(axis=axis))

    return lambda: {f"axis {a}": timed(a) for a in AXES}


# ---- products ------------------------------------------------------------------------------------------------------
#: m, n, k, and whether A and B are transposed: square products, and those of a training step.
PRODUCTS = [
    *((n, n, n, False, False) for n in (256, 1000, 2048, 4096)),
    (1024, 2048, 512, False, True),
    (1024, 512, 2048, False, True),
    (512, 1024, 1024, True, False),
    (1024, 2048, 512, False, False),
    (2048, 512, 1024, True, False),
]


def product_name(p: tuple[int, int, int, bool, bool]) -> str:
    m, n, k, ta, tb = p
    return f"{m}x{n}x{k}{' A^T' if ta else ''}{' B^T' if tb else ''}"


def products(make: Any, multiply: Any, finish: Any) -> Run:
    pairs = []
    for m, n, k, ta, tb in PRODUCTS:
        a = make((k, m)).T if ta else make((m, k))
        b = make((n, k)).T if tb else make((k, n))
        pairs.append((a, b))

    def timed(a: Any, b: Any, flops: float) -> float:
        count = max(1, int(3e8 / flops))
        start = now()
        for _ in range(count):
            c = multiply(a, b)
        finish(c)
        return (now() - start) / count

    return lambda: {
        product_name(p): timed(*pair, 2.0 * p[0] * p[1] * p[2]) for p, pair in zip(PRODUCTS, pairs, strict=True)
    }


def products_forerun() -> Run:
    from forerun import np

    return products(lambda s: np.random.normal(size=s), lambda a, b: a @ b, lambda c: c.wait_to_read())


def products_torch() -> Run:
    import torch

    return products(lambda s: torch.randn(*s), lambda a, b: a @ b, lambda c: None)


def products_numpy() -> Run:
    import numpy

    rng = numpy.random.default_rng(0)

    def make(shape: tuple[int, int]) -> Any:
        return rng.standard_normal(shape, dtype=numpy.float32)

    return products(make, lambda a, b: a @ b, lambda c: None)


def products_tf() -> Run:
    import tensorflow as tf

    def make(shape: tuple[int, int]) -> Any:
        class Matrix:
            def __init__(self, x: Any, transposed: bool) -> None:
                self.x, self.transposed = x, transposed

            @property
            def T(self) -> Any:
                return Matrix(self.x, not self.transposed)

        return Matrix(tf.random.normal(shape), False)

    def multiply(a: Any, b: Any) -> Any:
        return tf.matmul(a.x, b.x, transpose_a=a.transposed, transpose_b=b.transposed)

    return products(make, multiply, lambda c: c[0, 0].numpy())


# ---- two chains ----------------------------------------------------------------------------------------------------
def chains(make: Any, multiply: Any, finish: Any) -> Run:
    first, second = make((500, 500)), make((500, 500))

    def timed(matrices: list[Any]) -> float:
        start = now()
        ends = list(matrices)
        for _ in range(20):
            for i, m in enumerate(matrices):
                ends[i] = multiply(ends[i], m)
        for end in ends:
            finish(end)
        return now() - start

    return lambda: {"one": timed([first]), "two": timed([first, second])}


def chains_forerun() -> Run:
    from forerun import np

    return chains(lambda s: np.random.normal(size=s) * 0.04, lambda a, b: a @ b, lambda c: c.wait_to_read())


def chains_torch() -> Run:
    import torch

    return chains(lambda s: torch.randn(*s) * 0.04, lambda a, b: a @ b, lambda c: None)


def chains_numpy() -> Run:
    import numpy

    rng = numpy.random.default_rng(0)
    return chains(
        lambda s: rng.standard_normal(s, dtype=numpy.float32) * numpy.float32(0.04), lambda a, b: a @ b, lambda c: None
    )


def chains_tf() -> Run:
    import tensorflow as tf

    return chains(lambda s: tf.random.normal(s) * 0.04, tf.matmul, lambda c: c[0, 0].numpy())


# ---- many tiny ops --------------------------------------------------------------------------------------------------
COUNT = 10_000


def increments(x: Any, finish: Any) -> Run:
    def timed(wait: bool) -> float:
        start = now()
        for _ in range(COUNT):
            y = x + 1
            if wait:
                finish(y)
        finish(y)
        return now() - start

    return lambda: {"ahead": timed(False), "waiting": timed(True)}


def increments_forerun() -> Run:
    from forerun import np

    return increments(np.ones((1, 2)), lambda y: y.wait_to_read())


def increments_torch() -> Run:
    import torch

    return increments(torch.ones((1, 2)), lambda y: None)


def increments_numpy() -> Run:
    import numpy

    return increments(numpy.ones((1, 2), numpy.float32), lambda y: None)


def increments_jax() -> Run:
    import jax.numpy as jnp

    return increments(jnp.ones((1, 2)), lambda y: y.block_until_ready())


def peers(**makes: Make) -> dict[str, Make]:
    return makes


BENCH: Bench = {
    "draws": peers(forerun=draws_forerun, torch=draws_torch, numpy=draws_numpy),
    "chain": peers(forerun=chain_forerun, tf_xla=chain_tf, jax_jit=chain_jax, torch=chain_torch, numpy=chain_numpy),
    "random": peers(forerun=random_forerun, torch=random_torch, numpy=random_numpy, jax_jit=random_jax, tf=random_tf),
    "sums": peers(forerun=sums_forerun, torch=sums_torch, numpy=sums_numpy),
    "products": peers(forerun=products_forerun, torch=products_torch, numpy=products_numpy, tf=products_tf),
    "chains": peers(forerun=chains_forerun, torch=chains_torch, numpy=chains_numpy, tf=chains_tf),
    "increments": peers(forerun=increments_forerun, torch=increments_torch, numpy=increments_numpy, jax=increments_jax),
}

#: What each workload does.
ABOUT = {
    "draws": "ten times: draw a 1000 x 1000 matrix and multiply it by itself",
    "chain": "tanh(x) * y + x * 2 - y / 3",
    "random": "normal and uniform random numbers",
    "sums": "the sum of a matrix, of its columns and of its rows",
    "products": "products of matrices (m x n x k)",
    "chains": "one and two chains of twenty products of 500 x 500 matrices",
    "increments": "y = x + 1 for two numbers, ten thousand times: without a wait, and with a wait each",
}
#: The package behind the name of a peer.
PACKAGES = {
    "forerun": "forerun",
    "numpy": "numpy",
    "torch": "torch",
    "jax_jit": "jax",
    "jax": "jax",
    "tf_xla": "tensorflow",
    "tf": "tensorflow",
}


def shorten() -> None:
    """Use smaller matrices, so that a round takes about a second."""
    global SIDE, PRODUCTS
    SIDE = 2048
    PRODUCTS = PRODUCTS[:3]


def of_package(package: str) -> dict[str, Make]:
    """Return the workloads that a package has, by name."""
    return {
        workload: make for workload, makes in BENCH.items() for peer, make in makes.items() if PACKAGES[peer] == package
    }


if __name__ == "__main__":
    from forerun._command.rounds import serve

    shorten()
    serve(of_package(sys.argv[1]))
