"""The page of a tour: printed as it is written, and kept for the report.

The output is plain text, so that a terminal, a pipe and a file show the same. The page has the contents, not their
appearance in a report.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

WIDTH = 88


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; `backquotes` mark code."""

    text: str


@dataclass(frozen=True)
class Listing:
    """Python that the tour ran."""

    code: str


@dataclass(frozen=True)
class Drawing:
    """Preformatted lines."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table: the first column is left-aligned, the others are right-aligned."""

    head: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Figure:
    """A plot, drawn for the width that the report requests."""

    caption: str
    draw: Callable[[int], str]


Part = Paragraph | Listing | Drawing | Table | Figure


@dataclass
class Section:
    """The contents under one heading."""

    title: str
    parts: list[Part] = field(default_factory=list)


class Page:
    """Titles, paragraphs, listings, tables and figures, in order."""

    def __init__(self, title: str) -> None:
        self.opening = Section(title)
        self.sections = [self.opening]
        self.findings: list[tuple[str, str]] = []
        _heading(title)

    def title(self, text: str) -> None:
        """Begin a section."""
        self.sections.append(Section(text))
        _heading(text)

    def say(self, text: str) -> None:
        """Write a paragraph."""
        self._keep(Paragraph(text))
        print(f"\n{textwrap.fill(text, WIDTH)}", flush=True)

    def drawing(self, text: str) -> None:
        """Write preformatted lines."""
        text = textwrap.dedent(text).strip("\n")
        self._keep(Drawing(text))
        _print_indented(text)

    def listing(self, *functions: Callable[..., object]) -> None:
        """Write the bodies of functions: the tour shows the code that it runs."""
        for function in functions:
            code = body(function)
            self._keep(Listing(code))
            _print_indented(code)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write a table."""
        table = Table(list(head), [list(row) for row in rows])
        self._keep(table)
        print(f"\n{laid_out(table)}", flush=True)

    def figure(self, caption: str, draw: Callable[[int], str], text: str = "") -> None:
        """Keep a plot for the report; print its text replacement."""
        self._keep(Figure(caption, draw))
        if text:
            _print_indented(textwrap.dedent(text).strip("\n"))

    def found(self, what: str, figure: str) -> None:
        """Add a result to the summary."""
        self.findings.append((what, figure))

    def _keep(self, part: Part) -> None:
        self.sections[-1].parts.append(part)


def body(function: Callable[..., object]) -> str:
    """Return the body of a function, without its docstring."""
    lines, _ = inspect.getsourcelines(function)
    signature_end = next(i for i, line in enumerate(lines) if line.rstrip().endswith(":"))
    code = textwrap.dedent("".join(lines[signature_end + 1 :]))
    if code.startswith('"""'):
        code = code.split('"""', 2)[2]
    return code.strip("\n")


def laid_out(table: Table) -> str:
    """Return a table as text."""
    widths = [max(len(line[column]) for line in (table.head, *table.rows)) for column in range(len(table.head))]
    lines = []
    for line in (table.head, ["-" * width for width in widths], *table.rows):
        first, *rest = (
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        lines.append("    " + "   ".join([first, *rest]).rstrip())
    return "\n".join(lines)


def seconds(value: float) -> str:
    """Format a duration in a suitable unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= scale:
            return f"{value / scale:.2f} {unit}"
    return f"{value * 1e9:.0f} ns"


def _heading(text: str) -> None:
    print(f"\n{text}\n{'=' * len(text)}", flush=True)


def _print_indented(text: str) -> None:
    print(f"\n{textwrap.indent(text, '    ')}", flush=True)
