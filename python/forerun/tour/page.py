"""How the tour looks in a terminal, a pipe or a file: titles, paragraphs, listings, tables. Text only."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sequence

WIDTH = 88


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n{'=' * len(text)}", flush=True)


def say(text: str) -> None:
    """Print a paragraph."""
    print(f"\n{textwrap.fill(text, WIDTH)}", flush=True)


def drawing(text: str) -> None:
    """Print lines as they are, indented."""
    print(f"\n{textwrap.indent(textwrap.dedent(text).strip(chr(10)), '    ')}", flush=True)


def listing(*functions: Callable[..., object]) -> None:
    """Print the bodies of functions: what the tour shows is what it runs."""
    for function in functions:
        lines, _ = inspect.getsourcelines(function)
        signature_end = next(i for i, line in enumerate(lines) if line.rstrip().endswith(":"))
        body = textwrap.dedent("".join(lines[signature_end + 1 :]))
        if body.startswith('"""'):
            body = body.split('"""', 2)[2].lstrip("\n")
        drawing(body)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table: the first column to the left, the others to the right."""
    widths = [max(len(line[column]) for line in (head, *rows)) for column in range(len(head))]
    print()
    for line in (head, ["-" * width for width in widths], *rows):
        first, *rest = (
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("    " + "   ".join([first, *rest]).rstrip())
    print(end="", flush=True)


def seconds(value: float) -> str:
    """Write a duration in the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(value) >= scale:
            return f"{value / scale:.2f} {unit}"
    return f"{value * 1e9:.0f} ns"
