"""What every test of the Python face shares: where the repository is, and how long property tests may draw."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import hypothesis
import pytest

from forerun import npx

ROOT = pathlib.Path(__file__).resolve().parents[2]

# A deadline would turn a busy machine into a failing test.
hypothesis.settings.register_profile("normal", deadline=None, max_examples=100)
hypothesis.settings.register_profile("long", deadline=None, max_examples=5000)
hypothesis.settings.load_profile("long" if os.environ.get("FORERUN_TEST_LONG") == "1" else "normal")


@pytest.fixture(scope="session")
def root() -> pathlib.Path:
    """Give the root of the repository."""
    return ROOT


@pytest.fixture(autouse=True)
def finish() -> Iterator[None]:
    """Finish what a test left in the window, so that its errors are its own."""
    yield
    npx.waitall()
