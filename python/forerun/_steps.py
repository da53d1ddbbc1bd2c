"""The steps of a training loop: optimisers announce each, and a profile listens."""

from __future__ import annotations

from collections.abc import Callable

LISTENERS: list[Callable[[], None]] = []


def ended() -> None:
    """Announce that a step has ended."""
    for listener in tuple(LISTENERS):
        listener()
