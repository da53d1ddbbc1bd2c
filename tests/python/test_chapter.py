"""The chapter's own cells, under ``tests/chapter``, run as printed and give the values the chapter shows."""

from __future__ import annotations

import ast
import pathlib
import re
from typing import Any

import numpy
import pytest

CHAPTER = pathlib.Path(__file__).resolve().parents[1] / "chapter"

# What each program times, in order; `Done` is a block without a description.
TIMED = {
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
    "french": [
        "numpy",
        "mxnet.np",
        "Done",
        "waitall",
        "wait_to_read",
        "numpy conversion",
        "scalar conversion",
        "synchronous",
        "asynchronous",
    ],
}
TIMED["turkish"] = TIMED["french"]
TIMED["indonesian"] = [*TIMED["french"][:5], "konversi numpy", "konversi scalar", *TIMED["french"][7:]]


def run_cells(path: pathlib.Path) -> tuple[dict[str, Any], list[Any]]:
    """Run a program's cells in a fresh namespace, as a notebook would; return it with what each cell shows."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in path.read_text(encoding="utf-8").split("# %%")[1:]:
        tree = ast.parse(cell.split("\n", 1)[1])
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(path), "exec"), namespace)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), str(path), "eval"), namespace))
    return namespace, shown


def test_every_program_is_expected() -> None:
    assert sorted(path.stem for path in CHAPTER.glob("*.py")) == sorted(TIMED)


@pytest.mark.parametrize("edition", sorted(TIMED))
def test_cells_run_as_printed(edition: str, capsys: pytest.CaptureFixture[str]) -> None:
    namespace, shown = run_cells(CHAPTER / f"{edition}.py")

    lines = capsys.readouterr().out.splitlines()
    timings = [re.fullmatch(r"(.+?):? \d+\.\d{4} sec", line) for line in lines]
    assert [timing and timing[1] for timing in timings] == TIMED[edition]

    # The first cell shows what `set_np` returns, which is nothing.
    nothing, z = shown
    assert nothing is None
    assert "3" in repr(z)
    numpy.testing.assert_array_equal(z.asnumpy(), [[3, 3]])
    assert str(z.dtype) == "float32"
    numpy.testing.assert_array_equal(namespace["x"].asnumpy(), [[1, 1]])
    numpy.testing.assert_array_equal(namespace["y"].asnumpy(), [[2, 2]])

    a, b = namespace["a"].asnumpy(), namespace["b"].asnumpy()
    assert a.shape == b.shape == (1000, 1000)
    assert abs(a.mean()) < 0.01
    assert abs(a.std() - 1) < 0.01
    # Rounding of a sum of a thousand products of float32, each of size one.
    numpy.testing.assert_allclose(b, a.astype("float64") @ a.astype("float64"), rtol=1e-4, atol=1e-3)
    numpy.testing.assert_allclose(namespace["b"].sum().item(), b.astype("float64").sum(), rtol=1e-3, atol=1.0)
