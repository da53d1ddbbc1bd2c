"""The Python examples of README.md and of the pages under docs/, and their outputs.

A block of ``text`` right after an example is its output. An example that cannot run here follows a comment that says
why: ``<!-- not run: REASON -->``. Examples with prompts come from docstrings, which run as doctests.

Usage, to write the outputs again after a change of what examples print::

    python tests/python/outputs.py docs/errors.md ...
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import re
import sys
import tempfile
from collections.abc import Iterator

import forerun.mxnet

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLE = re.compile(
    r"(?P<skipped><!-- not run: .+ -->\n)?^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)


def examples_of(page: pathlib.Path) -> list[re.Match[str]]:
    """Return the examples that run, with their outputs."""
    found = EXAMPLE.finditer(page.read_text(encoding="utf-8"))
    return [example for example in found if not example["skipped"] and not example["code"].startswith(">>> ")]


def runs(page: pathlib.Path) -> Iterator[tuple[re.Match[str], str]]:
    """Run the examples of a page in order and in one namespace; yield each with what it printed."""
    names = {"__name__": "__main__"}
    try:
        for example in examples_of(page):
            forerun.reset_blockers()
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(example["code"], "example.py", "exec"), names)
            yield example, printed.getvalue()
    finally:
        # Some examples install the dialect for the whole process.
        forerun.mxnet.uninstall()


def main() -> None:
    """Write the outputs of pages again."""
    for name in sys.argv[1:]:
        page = pathlib.Path(name).resolve()
        text = page.read_text(encoding="utf-8")
        # Files that an example writes stay out of the tree.
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            done = list(runs(page))
        for example, printed in reversed(done):
            if example["output"] is not None:
                text = text[: example.start("output")] + printed + text[example.end("output") :]
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
