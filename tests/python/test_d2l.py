"""The book's helpers: their names, their output, and the ways to import them."""

from __future__ import annotations

import importlib
import re

import pytest

from forerun import d2l, npx
from forerun.d2l import mxnet, paddle, torch


def test_the_face_of_a_framework_has_the_same_names() -> None:
    for name in ("Benchmark", "Timer", "benchmark", "try_gpu"):
        assert getattr(mxnet, name) is getattr(d2l, name)
    assert importlib.import_module("forerun.d2l.mxnet") is mxnet


def test_every_framework_has_the_helpers() -> None:
    for face in (mxnet, paddle, torch):
        for name in ("Benchmark", "Timer", "benchmark"):
            assert getattr(face, name) is getattr(d2l, name)
    assert str(torch.try_gpu(1000)) == "cpu"
    assert str(paddle.try_gpu(1000)) == "Place(cpu)"


def test_a_timer_adds_up() -> None:
    timer = d2l.Timer()
    assert timer.stop() >= 0
    timer.times = [1.0, 2.0, 4.0]
    assert timer.avg() == pytest.approx(7 / 3)
    assert timer.sum() == 7
    assert timer.cumsum() == [1, 3, 7]


def test_benchmarks_print_their_time_also_when_the_block_raises(capsys: pytest.CaptureFixture[str]) -> None:
    with d2l.Benchmark():
        pass
    with pytest.raises(ZeroDivisionError), d2l.Benchmark("bad"):
        1 / 0  # noqa: B018  (raising is its purpose)
    with d2l.benchmark():
        pass
    with pytest.raises(ZeroDivisionError), d2l.benchmark("%.4f seconds of sorrow"):
        1 / 0  # noqa: B018  (raising is its purpose)
    lines = [re.sub(r"\d+\.\d{4}", "T", line) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["Done: T sec", "bad: T sec", "Done in T sec", "T seconds of sorrow"]


def test_without_that_gpu_the_cpu_is_tried() -> None:
    assert d2l.try_gpu(npx.num_gpus()) == npx.cpu()
