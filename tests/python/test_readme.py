"""The Python examples of README.md run unchanged."""

from __future__ import annotations

import pathlib
import re

import pytest

import forerun.mxnet


def test_the_examples_run(
    root: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Files that an example writes stay out of the tree.
    monkeypatch.chdir(tmp_path)
    page = (root / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert examples
    try:
        for example in examples:
            exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})
    finally:
        # One of the examples installs the dialect for the whole process.
        forerun.mxnet.uninstall()
    assert re.search(r"\[\[\s*3\.?\d*,?\s+3\.?\d*\s*\]\]", capsys.readouterr().out)
