"""Fail points: named places where a test injects a failure. They do nothing in the published package."""

from __future__ import annotations

from collections.abc import Callable

from forerun import _forerun


def _nothing(site: str) -> None:
    """Do nothing: the fail point of builds without fail points."""


#: Marks a fail point by the name of its site; raises if a test has armed it.
point: Callable[[str], None] = getattr(_forerun, "fail_point", _nothing)
