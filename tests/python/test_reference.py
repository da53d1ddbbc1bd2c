"""The page of functions equals the output of its generator, and every function on it has an example."""

from __future__ import annotations

import pathlib

import reference

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "functions.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == reference.page(), "run: python tests/python/reference.py > docs/functions.md"


def test_every_function_has_an_example() -> None:
    bare = [called for entries in reference.functions().values() for called, _, code in entries if not code]
    assert bare == []
