"""The pages of the dialects list what their modules have."""

from __future__ import annotations

import importlib
import pathlib
import types

import pytest
from dialects import PAGES, page, tables

DOCS = pathlib.Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_the_tables_are_what_the_modules_have(name: str) -> None:
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert text == page(text, tables(*PAGES[name])), "write the pages again: python tests/python/dialects.py docs"


@pytest.mark.parametrize("name", PAGES)
def test_every_listed_name_exists_and_every_module_is_listed(name: str) -> None:
    package, modules = PAGES[name]
    for each in modules:
        path = f"{package}.{each}" if each else package
        module = importlib.import_module(path)
        for public in module.__all__:
            found = getattr(module, public)
            inside = isinstance(found, types.ModuleType) and found.__name__.startswith(package)
            if inside and hasattr(found, "__all__"):
                known = found.__name__.removeprefix(f"{package}.")
                assert known in modules or known.startswith(("backends.", "functional")), f"{known} is not on the page"
        with pytest.raises(ImportError):
            exec(f"from {path} import Missing")


@pytest.mark.parametrize("name", PAGES)
def test_no_reason_is_given_for_a_name_that_exists(name: str) -> None:
    from dialects import hints_of

    package, modules = PAGES[name]
    for each in modules:
        module = importlib.import_module(f"{package}.{each}" if each else package)
        for missing in hints_of(module):
            with pytest.raises(AttributeError):
                getattr(module, missing)
