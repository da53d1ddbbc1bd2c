"""The Python examples of README.md and of every page under docs/ run, in order, and print what the pages show.

A block of ``text`` right after an example is its output. In both, a number with two or more decimals stands for any
number, because times differ from run to run. An example that cannot run here follows a comment that says why:
``<!-- not run: REASON -->``. Examples with prompts come from docstrings, which run as doctests.
"""

from __future__ import annotations

import os
import pathlib
import re

import pytest

import forerun.mxnet

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLE = re.compile(
    r"(?P<skipped><!-- not run: .+ -->\n)?^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"\d+\.\d{2,}")


def examples_of(page: pathlib.Path) -> list[re.Match[str]]:
    found = EXAMPLE.finditer(page.read_text(encoding="utf-8"))
    return [example for example in found if not example["skipped"] and not example["code"].startswith(">>> ")]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def comparable(text: str) -> list[str]:
    """Return the words of an output. Rules and columns of tables are as wide as their numbers."""
    return NUMBER.sub("#", text).split()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if examples_of(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_the_examples_run(
    page: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Files that an example writes stay out of the tree.
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    try:
        for example in examples_of(page):
            forerun.reset_blockers()
            exec(compile(example["code"], "example.py", "exec"), names)
            printed = capsys.readouterr().out
            # Other engines wait elsewhere.
            if example["output"] is not None and os.environ.get("FORERUN_ENGINE", "async") == "async":
                assert comparable(printed) == comparable(example["output"]), printed
    finally:
        # Some examples install the dialect for the whole process.
        forerun.mxnet.uninstall()


def test_listed_pages_of_layers_have_examples() -> None:
    layers = ROOT / "docs/layers"
    index = (layers / "README.md").read_text(encoding="utf-8")
    listed = [page for page in sorted(layers.glob("*.md")) if f"({page.name})" in index]
    assert len(listed) > 10
    for page in listed:
        assert examples_of(page), f"{page.name} has no example"


def test_every_chapter_has_an_example_or_none_to_run() -> None:
    guide = ["start", "asynchronous", "timing", "memory", "errors", "devices", "dtypes"]
    for name in guide:
        assert examples_of(ROOT / f"docs/{name}.md"), name
