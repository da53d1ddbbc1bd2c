"""Type checking: every example of the page of functions, and the types of results."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
import reference

CALLS = """
from typing import assert_type

from forerun import np

x = np.arange(3.0)
assert_type(np.exp(x), np.ndarray)
assert_type(np.add(x, 1), np.ndarray)
assert_type(np.where(x > 1, x, 0), np.ndarray)
assert_type(np.where(x > 1), tuple[np.ndarray, ...])
assert_type(x + 1, np.ndarray)
assert_type(x.shape, tuple[int, ...])
"""
# Each line is an error.
REFUSED = """
from forerun import np

np.where(np.ones(3), 1)
np.exp(np.ones(3), 1)
np.exp()
np.exponential_of(np.ones(3))
np.reshape(np.ones(3), "3")
"""


def examples() -> str:
    """Return every example of the page of functions as a function."""
    lines = []
    for module, entries in reference.functions().items():
        for called, _, code in entries:
            lines.append(f"def {module.replace('.', '_')}_{called.split('(')[0]}() -> None:")
            lines += ["    " + line[4:] for line in code if line.startswith((">>> ", "... ")) or line == "..."]
    return "\n".join(lines) + "\n"


def check(folder: pathlib.Path, text: str) -> list[str]:
    """Return the output of a strict type checker for a program, without the last line."""
    pytest.importorskip("mypy")
    program = folder / "program.py"
    program.write_text(text)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-pretty",
        "--cache-dir",
        str(folder / "cache"),
        program.name,
    ]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert told.stderr == ""
    return [line for line in told.stdout.splitlines()[:-1] if line.startswith("program.py")]


def test_examples_and_calls_are_typed(tmp_path: pathlib.Path) -> None:
    assert examples().count("def ") > 400
    assert check(tmp_path, CALLS + examples()) == []


def test_wrong_calls_are_found(tmp_path: pathlib.Path) -> None:
    found = {line.split(":")[1] for line in check(tmp_path, REFUSED)}
    wrong = [str(number) for number, line in enumerate(REFUSED.splitlines(), 1) if line.startswith("np.")]
    assert sorted(found) == sorted(wrong)
