"""The Python examples of README.md run as they stand."""

from __future__ import annotations

import pathlib
import re

import pytest


def test_the_examples_run(root: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (root / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})
    assert re.search(r"\[\[\s*3\.?\d*,?\s+3\.?\d*\s*\]\]", capsys.readouterr().out)
