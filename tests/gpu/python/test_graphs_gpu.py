"""Loops that become graphs on an NVIDIA device."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

from forerun import _forerun, np, npx

if npx.num_gpus() == 0 or os.environ.get("FORERUN_SIM_GPUS"):
    pytest.skip("there is no NVIDIA device", allow_module_level=True)

GPU = npx.gpu(0)


def test_a_setting_reaches_products_that_are_graphs() -> None:
    host = [numpy.random.default_rng(n).uniform(size=(256, 256)).astype("float32") for n in range(5)]
    exact = [a.astype("float64") @ a.astype("float64") for a in host]
    squares = [np.array(a, ctx=GPU) for a in host]
    before = _forerun.gpu_stats(GPU)["graphs"]
    try:
        for fast in (True, False, True, False):
            _forerun.set_tf32(GPU, fast)
            for _ in range(40):
                made = [np.dot(a, a) for a in squares]
                npx.waitall()
            off = max(numpy.abs(m.asnumpy() / e - 1).max() for m, e in zip(made, exact, strict=True))
            assert (off > 1e-5) == fast, f"tf32 {fast}: off by {off}"
    finally:
        _forerun.set_tf32(GPU, False)
    assert _forerun.gpu_stats(GPU)["graphs"] > before


def test_a_kernel_that_is_told_often_gives_what_it_gave() -> None:
    # Sizes, scalars and addresses change; some launches are waited for, some accumulate, some are part of a larger
    # graph.
    values = numpy.random.default_rng(3).uniform(size=5000).astype("float32")
    x = np.array(values, ctx=GPU)
    kept = []
    for turn in range(120):
        count, by = (turn * 37) % 5000 + 1, numpy.float32(turn)
        y = x[:count] * float(by) + 1
        if turn % 3 == 0:
            y.wait_to_read()
        kept.append((y, values[:count] * by + numpy.float32(1)))
    for y, want in kept:
        assert (y.asnumpy() == want).all()


def test_threads_tell_the_same_kernel() -> None:
    values = numpy.arange(64, dtype="float32")
    x = np.array(values, ctx=GPU)

    def run(by: int) -> bool:
        return all(((x * by).asnumpy() == values * by).all() for _ in range(300))

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(run, [2, 3, 5, 7]))


@pytest.mark.parametrize("lists", [3, 10])
def test_addresses_that_go_round_change_no_result(lists: int) -> None:
    # The lists keep the results of recent iterations, so each iteration uses other memory.
    x = np.array(numpy.random.default_rng(7).uniform(-0.1, 0.1, size=(128, 128)).astype("float32"), ctx=GPU)
    before = _forerun.gpu_stats(GPU)["graphs_unchanged"]
    kept: list[list[np.ndarray]] = [[] for _ in range(lists)]
    for turn in range(240):
        chain = [x]
        for _ in range(12):
            chain.append(np.dot(chain[-1], x))
        if turn % 40 == 39:
            assert all((made == again).all() for made, again in zip(kept[turn % lists], chain, strict=True))
        kept[turn % lists] = chain
    assert _forerun.gpu_stats(GPU)["graphs_unchanged"] > before
