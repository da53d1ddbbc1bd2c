"""Tables: as text for a terminal, as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from forerun._cells import line_of

__all__ = ["Column", "as_html", "as_text", "duration", "megabytes", "milliseconds", "place", "size"]


class Column(NamedTuple):
    """A column: its heading, and whether its cells are numbers, which are aligned to the right."""

    name: str
    numeric: bool = False


def place(file: str, line: int) -> str:
    """Return a short form of a source line: the last two parts of its path and the number.

    Examples
    --------
    >>> place("/home/me/project/train.py", 42)
    'project/train.py:42'
    """
    if file.startswith("<"):
        return f"{file}:{line}"
    return line_of("/".join(file.replace("\\", "/").split("/")[-2:]), line)


def milliseconds(seconds: float) -> str:
    """Return a time in milliseconds with three decimals."""
    return f"{seconds * 1e3:.3f}"


def megabytes(count: float) -> str:
    """Return a number of bytes in units of 10^6 bytes."""
    return f"{count / 1e6:.2f}"


def size(count: float) -> str:
    """Return a number of bytes with a unit.

    Examples
    --------
    >>> size(1_500_000)
    '1.5 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.3g} {unit}" if abs(count) < 1000 else f"{count:,.0f} {unit}"


def duration(seconds: float) -> str:
    """Return a time with a unit.

    Examples
    --------
    >>> duration(0.0125), duration(75)
    ('12.5 ms', '75 s')
    """
    return f"{seconds:.4g} s" if seconds >= 1 else f"{seconds * 1e3:.4g} ms"


def as_text(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """Return the table with aligned columns."""
    lines = [[column.name for column in columns], *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(columns))]
    aligned = (
        [
            text.rjust(width) if column.numeric else text.ljust(width)
            for text, width, column in zip(line, widths, columns, strict=True)
        ]
        for line in lines
    )
    return "\n".join("  ".join(line).rstrip() for line in aligned)


def as_html(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """Return the table as HTML."""
    from html import escape

    def line(tag: str, cells: Sequence[str]) -> str:
        made = (
            f'<{tag} style="text-align: {"right" if column.numeric else "left"}">{escape(cell)}</{tag}>'
            for cell, column in zip(cells, columns, strict=True)
        )
        return f"<tr>{''.join(made)}</tr>"

    head = line("th", [column.name for column in columns])
    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
