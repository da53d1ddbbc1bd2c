"""The examples in docstrings run and give the documented output."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import forerun

#: Every module of the package but the compiled one.
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(forerun.__path__, "forerun.")
    if not module.name.endswith("._forerun")
)
MODULES.append("forerun")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_examples_are_found() -> None:
    finder = doctest.DocTestFinder()
    counts = [len(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name))]
    assert sum(counts) > 500
