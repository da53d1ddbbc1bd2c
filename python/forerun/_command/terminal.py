"""What the commands print: tables, and colours where a terminal shows them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO, TypeVar

_T = TypeVar("_T")
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def coloured(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that shows colours, and the user has not turned them off (``NO_COLOR``)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def paint(text: str, style: str) -> str:
    """Return a text in a style, if the output shows it."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if coloured(sys.stdout) else text


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return rows as text with aligned columns; those in ``right`` are aligned at their ends.

    Examples
    --------
    >>> from forerun._command.terminal import table
    >>> print(table([["op", "ms"], ["add", "0.5"], ["matmul", "12.0"]], right=[1]))
    op        ms
    add      0.5
    matmul  12.0
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]

    def line(row: Sequence[str]) -> str:
        cells = [
            text.rjust(width) if column in right else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return "\n".join(line(row) for row in rows)


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
