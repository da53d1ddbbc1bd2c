"""Errors about files, raised from Python: like the engine's errors, they name the user's line."""

from __future__ import annotations

from forerun import _forerun


def refused(text: str) -> ValueError:
    """Make the error for an invalid file."""
    return ValueError(f"{text}\n  read at {_forerun.user_line()}")
