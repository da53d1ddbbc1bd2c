"""The Python examples of README.md and of the pages about layers and images run unchanged."""

from __future__ import annotations

import pathlib
import re

import pytest

import forerun.mxnet

PAGES = sorted((pathlib.Path(__file__).parents[2] / "docs/layers").glob("*.md"))


def examples_of(page: pathlib.Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


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


DOCS = PAGES[0].parents[1]


@pytest.mark.parametrize("page", [*PAGES, DOCS / "images.md", DOCS / "profiling.md"], ids=lambda page: page.stem)
def test_the_examples_of_pages_run(page: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for example in examples_of(page):
        exec(compile(example, page.name, "exec"), {"__name__": "__main__"})


def test_listed_pages_of_layers_have_examples() -> None:
    index = next(page for page in PAGES if page.name == "README.md").read_text(encoding="utf-8")
    listed = [page for page in PAGES if f"({page.name})" in index]
    assert len(listed) > 10
    for page in listed:
        assert examples_of(page), f"{page.name} has no example"
