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
book = load("book")


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


def test_losses_that_rise_are_marked() -> None:
    series = {"train_ppl (1)": [3.0, 2.0, 1.0, 1.5], "mlm (1)": [1.0, 2.0], "val_ppl (1)": [1.0, 2.0]}
    found = book.losses({"losses": series})
    assert found == "train_ppl (1) 3 → 1.5; mlm (1) 1 → 2 **does not fall**; val_ppl (1) 1 → 2"


def test_the_page_counts_sections_and_gives_reasons() -> None:
    ran = {"ran": 3, "error": "", "seconds": [1.0, 2.0], "losses": {}}
    failed = ran | {"error": "cell 4: ValueError: a | b"}
    page = book.table({"chapter_a/b": ran, "chapter_a/c": failed, f"chapter_{next(iter(book.LONG))}": None}, "0123")
    assert "**1 of 3 sections with MXNet cells run**, 1 were not tried." in page
    assert "| a/b | 3 cells | 3 |" in page and "| **cell 4: ValueError: a \\| b** |" in page
    assert f"**not tried** {next(iter(book.LONG.values()))} |" in page
