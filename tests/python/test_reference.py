"""The pages of public names equal the output of their generator, and every public name is on one of them."""

from __future__ import annotations

import importlib
import pathlib
import re

import pytest
import reference

DOCS = pathlib.Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", reference.PAGES)
def test_the_page_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text() == reference.PAGES[name](), "run: python tests/python/reference.py docs"


def test_every_public_name_is_on_a_page() -> None:
    pages = "".join((DOCS / name).read_text() for name in reference.PAGES)
    documented = set(re.findall(r"^(?:### |- )`([^(`]+)", pages, re.MULTILINE))
    for also in re.findall(r"Also called (.+?)\.", pages):
        documented |= set(re.findall(r"`(\w+)`", also))
    modules = [*reference.TOOLS, *reference.dialect_modules()]
    every = [
        (f"{module}.{name}", name, thing)
        for module in modules
        if hasattr(importlib.import_module(module), "__all__")
        for name, thing in reference.names_of(module).items()
    ]
    # A thing with several names is listed under one of them.
    listed = {id(thing) for _, name, thing in every if name in documented}
    missing = {path for path, name, thing in every if id(thing) not in listed}
    assert missing == set()


def test_every_class_has_a_sentence_and_most_have_an_example() -> None:
    entries = [entry for each in reference.classes().values() for entry in each]
    assert [called for called, summary, _, _ in entries if not summary] == []
    assert sum(bool(code) for *_, code in entries) > 0.85 * len(entries)


def test_every_function_has_an_example() -> None:
    bare = [called for entries in reference.functions().values() for called, _, code in entries if not code]
    assert bare == []
