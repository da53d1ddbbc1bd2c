"""How the runner of the book's sections chooses cells, and what it says about losses."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from types import ModuleType

FOLDER = pathlib.Path(__file__).parents[1] / "conformance"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Dataclasses look their module up.
    spec.loader.exec_module(module)
    return module


section = load("book_section")


def fenced(*cells: str) -> str:
    return "Text.\n" + "\n".join(f"```{{.python .input  n=1}}\n{cell}\n```\n" for cell in cells)


def test_cells_of_mxnet_and_of_all_frameworks_run() -> None:
    text = fenced(
        "%load_ext d2lbook.tab", "%%tab mxnet\na", "#@tab pytorch, mxnet\nb", "%%tab all    \nc", "%%tab jax\nd", "e"
    )
    assert section.cells(text) == ["a\n", "#@tab pytorch, mxnet\nb\n", "c\n"]


def test_sections_without_cells_of_their_own_do_not_count() -> None:
    assert section.cells(fenced("#@tab all\na")) is None
    assert section.cells("```python\n%%tab mxnet\n```\n") is None


def test_the_chosen_framework_is_mxnet() -> None:
    assert section.Tab.selected("pytorch", "mxnet") and section.Tab.selected(["mxnet"])
    assert not section.Tab.selected("pytorch") and not section.Tab.selected(["jax", "tensorflow"])
