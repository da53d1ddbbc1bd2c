"""Whether a thread is capturing a block, and whether it did something that cannot be replayed."""

from __future__ import annotations

import threading


class _Thread(threading.local):
    # Ops submitted while this is set belong to the capture.
    capturing = False
    # The first action that a replay would not repeat.
    obstacle: str | None = None


thread = _Thread()


def object_to_replay(why: str) -> None:
    """Mark the current capture, if any, as not replayable."""
    if thread.capturing and thread.obstacle is None:
        thread.obstacle = why
