"""The examples of README.md and of every page under docs/ run, and print what the pages show.

In an output a number with two or more decimals stands for any number, because times differ from run to run.
"""

from __future__ import annotations

import os
import pathlib
import re

import pytest
from outputs import PAGES, ROOT, examples_of, runs

NUMBER = re.compile(r"\d+\.\d{2,}")


def comparable(text: str) -> list[str]:
    """Return the words of an output. Columns of tables are as wide as their numbers."""
    return NUMBER.sub("#", text).split()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if examples_of(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_examples_run(page: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Files that an example writes stay out of the tree.
    monkeypatch.chdir(tmp_path)
    for example, printed in runs(page):
        # Other engines wait elsewhere.
        if example["output"] is not None and os.environ.get("FORERUN_ENGINE", "async") == "async":
            assert comparable(printed) == comparable(example["output"]), printed


def test_listed_pages_of_layers_have_examples() -> None:
    layers = ROOT / "docs/layers"
    index = (layers / "README.md").read_text(encoding="utf-8")
    listed = [page for page in sorted(layers.glob("*.md")) if f"({page.name})" in index]
    assert len(listed) > 10
    for page in listed:
        assert examples_of(page), f"{page.name} has no example"


@pytest.mark.parametrize("name", ["start", "asynchronous", "timing", "memory", "errors", "devices", "dtypes"])
def test_every_chapter_of_the_guide_has_examples(name: str) -> None:
    assert examples_of(ROOT / f"docs/{name}.md")
