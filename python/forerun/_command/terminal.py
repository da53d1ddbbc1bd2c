"""What the commands print: colours where a terminal shows them, and progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TextIO, TypeVar

_T = TypeVar("_T")
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def coloured(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that shows colours, and the user has not turned them off (``NO_COLOR``)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def paint(text: str, style: str) -> str:
    """Return a text in a style, if the output shows it."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if coloured(sys.stdout) else text


def progress(steps: Iterable[_T], total: int, title: str) -> Iterable[_T]:
    """Return the steps with a bar from ``tqdm`` around them, if it is installed and errors go to a terminal."""
    if not sys.stderr.isatty():
        return steps
    try:
        from tqdm import tqdm
    except ImportError:
        return steps
    bar: Iterable[_T] = tqdm(steps, total=total, desc=title, leave=False)
    return bar
