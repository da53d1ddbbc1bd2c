"""What depends on what: three statements and the graph that follows from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import forerun
from forerun import np
from forerun.tour import page

KNOWN = """
    ones (1, 2)     ones (1, 2)
        x               y
         \\             /
          \\           /
           multiply       2
                \\        /
                 \\      /
                   add
                    z
"""


def program() -> np.ndarray:
    """Run the chapter's three statements."""
    x = np.ones((1, 2))
    y = np.ones((1, 2))
    z = x * y + 2
    return z


def lines_of(graph: Iterable[Any]) -> str:
    """Write a graph, given as pairs of an op and its inputs, one op a line."""
    lines = []
    for op, inputs in graph:
        named = inputs if isinstance(inputs, str) else ", ".join(str(name) for name in inputs)
        lines.append(f"{op} <- {named}" if named else str(op))
    return "\n".join(lines)


def show() -> None:
    """Show the section."""
    page.title("2. What waits for what")
    page.listing(program)
    page.say(
        "None of these lines computes anything by itself. From their arguments the engine knows that `x` and `y` are "
        "free of each other, that the product needs both, and that the sum needs the product; the 2 travels inside "
        "the record of the addition:"
    )
    z = program()
    drawn = getattr(forerun, "graph", None)
    page.drawing(lines_of(drawn(z)) if drawn is not None else KNOWN)
    page.say("Only looking at z has to wait, and only for what z needs. print(z) says:")
    page.drawing(str(z))
