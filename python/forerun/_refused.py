"""Errors that the package's own Python files raise about a file: they name the user's line, as the engine's do."""

from __future__ import annotations

from forerun import _forerun


def refused(text: str) -> ValueError:
    """Make the error of a file that is not what it should be."""
    return ValueError(f"{text}\n  read at {_forerun.user_line()}")
