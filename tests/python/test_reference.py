"""The page of functions is what its generator prints, and every function on it shows what it does."""

from __future__ import annotations

import pathlib

import reference

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "functions.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == reference.page(), "run: python tests/python/reference.py > docs/functions.md"


def test_every_function_has_an_example() -> None:
    bare = [called for entries in reference.functions().values() for called, _, code in entries if not code]
    assert bare == []
