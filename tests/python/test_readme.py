"""The Python examples of README.md and of the pages on layers run unchanged."""

from __future__ import annotations

import pathlib
import re

import pytest

import forerun.mxnet


def examples_of(page: pathlib.Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_examples_run(
    root: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Files that an example writes stay out of the tree.
    monkeypatch.chdir(tmp_path)
    examples = examples_of(root / "README.md")
    assert examples
    try:
        for example in examples:
            exec(compile(example, "README.md", "exec"), {"__name__": "__main__"})
    finally:
        # One of the examples installs the dialect for the whole process.
        forerun.mxnet.uninstall()
    assert re.search(r"\[\[\s*3\.?\d*,?\s+3\.?\d*\s*\]\]", capsys.readouterr().out)


def test_the_examples_of_layers_run(root: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = sorted((root / "docs" / "layers").glob("*.md"))
    examples = [(page.name, example) for page in pages for example in examples_of(page)]
    assert {"boxes.md", "sampling.md"} <= {name for name, _ in examples}
    for name, example in examples:
        exec(compile(example, name, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out
