"""The examples in the docstrings run and show what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "forerun",
    "forerun._layers",
    "forerun._pointwise",
    "forerun.d2l",
    "forerun.engine",
    "forerun.np.creation",
    "forerun.np.manipulation",
    "forerun.np.random",
    "forerun.np.reduction",
    "forerun.npx",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
