"""Damaged files of every format are read or refused; ``fuzzing.py`` says what else is checked."""

from __future__ import annotations

import pathlib

import fuzzing
import pytest


@pytest.mark.parametrize("name", fuzzing.FORMATS)
def test_whatever_the_bytes(name: str, tmp_path: pathlib.Path, long: bool) -> None:
    rounds = 250_000 if long else 500
    found = fuzzing.run(name, rounds, 1, 11, tmp_path)
    assert not found["failures"], "\n".join(found["failures"])
    assert found["read"] + found["refused"] == rounds
    # Elements may change without harm, and most other changes are detected.
    assert found["read"] > rounds / 200 and found["refused"] > rounds / 10, found
