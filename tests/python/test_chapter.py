"""The chapter's own code, under ``tests/chapter``, runs as printed and gives the values the chapter shows.

The programs differ from the printed text only in their imports; digests of the text verify this. The programs for MXNet
also run as they were printed, after ``forerun.mxnet.install()``.

The book trains on 150 batches of 1024 rows. Only the long test does; other runs replace the two numbers in the text of
``data_iter``.
"""

from __future__ import annotations

import ast
import hashlib
import os
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import forerun.mxnet
from forerun import npx

CHAPTER = pathlib.Path(__file__).resolve().parents[1] / "chapter"
LONG = os.environ.get("FORERUN_TEST_LONG") == "1"

# The printed text of every program: SHA-256 over its blocks, without trailing white space.
PRINTED = {
    "chinese_paddle": "770329c57c2a7f5d688714afdaabc3058e0d9044ac3da76fba6d13beb6256dcf",
    "english": "ef0c1a7913480bae8d84ba6643fc0bc09895512f0ad335dae3f14709e85ae42e",
    "french": "623a94221f07ecf2f5500324154bc30a918c93582595f425ca73874f776320c6",
    "french_pytorch": "bae013e335a378e7e6fa5b22db61b4cfe20444cf1efa13f5f03fb53c4026d53e",
    "indonesian": "67f82bc9e999d121f2109b4ad63cbb8695b6cf0e326f1a5f392bad0a69fd98a5",
    "indonesian_pytorch": "bae013e335a378e7e6fa5b22db61b4cfe20444cf1efa13f5f03fb53c4026d53e",
    "turkish": "623a94221f07ecf2f5500324154bc30a918c93582595f425ca73874f776320c6",
    "turkish_pytorch": "bae013e335a378e7e6fa5b22db61b4cfe20444cf1efa13f5f03fb53c4026d53e",
}

# The timed blocks of each program, in order; `Done` is a block without a description.
FRENCH = [
    "numpy",
    "mxnet.np",
    "Done",
    "waitall",
    "wait_to_read",
    "numpy conversion",
    "scalar conversion",
    "synchronous",
    "asynchronous",
]
TIMED = {
    "chinese_paddle": ["numpy", "飞桨", "Done"],
    "english": [
        "numpy   ",
        "mxnet.np",
        "Done in",
        "waitall     ",
        "wait_to_read",
        "numpy  conversion",
        "scalar conversion",
        "Synchronous ",
        "Asynchronous",
    ],
    "french": FRENCH,
    "french_pytorch": ["numpy", "torch", "Done"],
    "indonesian": [*FRENCH[:5], "konversi numpy", "konversi scalar", *FRENCH[7:]],
    "indonesian_pytorch": ["numpy", "torch", "Done"],
    "turkish": FRENCH,
    "turkish_pytorch": ["numpy", "torch", "Done"],
}
MXNET = ["english", "french", "indonesian", "turkish"]
TRAINING = 7  # blocks of the English edition before those that train


def blocks(program: str) -> list[str]:
    """Return a program's blocks."""
    text = (CHAPTER / f"{program}.py").read_text(encoding="utf-8")
    return [block.split("\n", 1)[1].strip("\n") for block in text.split("# %%")[1:]]


def printed(block: str) -> str:
    """Restore the imports that the book prints."""
    for ours, printed in [
        (r"from forerun import d2l\nimport ", r"import d2l, "),
        (r"from forerun\.d2l import", r"from d2l import"),
        (r"from forerun import (torch|paddle)$", r"import \1"),
        (r"from forerun\.(torch|paddle) import", r"from \1 import"),
        (r"from forerun(\.gluon)? import", r"from mxnet\1 import"),
    ]:
        block = re.sub(f"^{ours}", printed, block, flags=re.MULTILINE)
    return block


def shorten(block: str) -> str:
    """Make ``data_iter`` return fewer and smaller batches, unless this is the long test."""
    return block if LONG else block.replace("num_batches, batch_size = 150, 1024", "num_batches, batch_size = 50, 16")


def run(cells: list[str], namespace: dict[str, Any]) -> list[Any]:
    """Run blocks like a notebook; return the output of each."""
    shown = []
    for cell in cells:
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "chapter", "exec"), namespace)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), "chapter", "eval"), namespace))
    return shown


@pytest.fixture
def stand_in() -> Iterator[None]:
    """Make ``import mxnet`` and ``import d2l`` find this package."""
    forerun.mxnet.install()
    yield
    forerun.mxnet.uninstall()


def test_only_the_imports_are_changed() -> None:
    found = {path.stem: "\0".join(map(printed, blocks(path.stem))) for path in CHAPTER.glob("*.py")}
    assert {stem: hashlib.sha256(text.encode()).hexdigest() for stem, text in found.items()} == PRINTED


@pytest.mark.parametrize("program", sorted(PRINTED))
def test_programs_run_with_their_imports_changed(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown = run(blocks(program)[:TRAINING], namespace)
    check(program, namespace, shown, capsys.readouterr().out.splitlines())


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("program", MXNET)
def test_programs_for_mxnet_run_unchanged(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown = run([printed(block) for block in blocks(program)[:TRAINING]], namespace)
    check(program, namespace, shown, capsys.readouterr().out.splitlines())
    assert namespace["np"].__name__ == "forerun.mxnet.numpy"
    assert namespace["b"].asnumpy().flags.writeable


def check(program: str, namespace: dict[str, Any], shown: list[Any], lines: list[str]) -> None:
    """Check what a program printed, displayed and left behind."""
    timings = [re.fullmatch(r"(.+?):? \d+\.\d{4} sec", line) for line in lines]
    assert [timing and timing[1] for timing in timings] == TIMED[program]

    # The first block for MXNet displays the result of `set_np`, which is None; `synchronize` and `wait` display
    # nothing.
    z = shown[-1]
    assert all(value is None for value in shown[:-1])
    assert "3" in repr(z)
    assert str(z.dtype) == "float32"
    numpy.testing.assert_array_equal(numpy.asarray(z), [[3, 3]])
    numpy.testing.assert_array_equal(numpy.asarray(namespace["x"]), [[1, 1]])
    # The last block for MXNet adds one.
    numpy.testing.assert_array_equal(numpy.asarray(namespace["y"]), [[2, 2] if program in MXNET else [1, 1]])

    a, b = numpy.asarray(namespace["a"]), numpy.asarray(namespace["b"])
    assert a.shape == b.shape == (1000, 1000)
    assert a.dtype == b.dtype == numpy.float32
    assert abs(a.mean()) < 0.01
    assert abs(a.std() - 1) < 0.01
    # The rounding error of a sum of a thousand float32 products of magnitude one.
    numpy.testing.assert_allclose(b, a.astype("float64") @ a.astype("float64"), rtol=1e-4, atol=1e-3)
    numpy.testing.assert_allclose(namespace["b"].sum().item(), b.astype("float64").sum(), rtol=1e-3, atol=1.0)


def train(cells: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Run the training blocks of the English edition; check what they learnt and printed."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    npx.seed(1)
    run([cells[0], *map(shorten, cells[TRAINING:-2])], namespace)
    first, second = cells[-2:]
    net, loss, X, y = (namespace[name] for name in ("net", "loss", "X", "y"))
    capsys.readouterr()

    before = loss(y, net(X)).mean().item()
    run([first], namespace)
    between = loss(y, net(X)).mean().item()
    run([second], namespace)
    after = loss(y, net(X)).mean().item()
    assert numpy.isfinite([before, between, after]).all()
    assert between < before
    assert after < before / 2

    batches = 150 if LONG else 50
    assert namespace["l"].shape == namespace["y"].shape == (1024 if LONG else 16,)
    assert [parameter.shape for parameter in net.collect_params().values()] == [
        (2048, 512),
        (2048,),
        (512, 2048),
        (512,),
        (1, 512),
        (1,),
    ]
    lines = [re.sub(r"-?\d+\.\d+", "T", line) for line in capsys.readouterr().out.splitlines()]
    progress = [f"batch {i}, time T sec" for i in range(50, batches + 1, 50)]
    assert lines == [*progress, "Time per epoch: T sec", "increased memory: T MB"] * 2


def test_the_network_trains_with_its_imports_changed(capsys: pytest.CaptureFixture[str]) -> None:
    train(blocks("english"), capsys)


@pytest.mark.usefixtures("stand_in")
def test_the_network_trains_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    train([printed(block) for block in blocks("english")], capsys)
