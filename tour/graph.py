"""The dependency graph of three statements."""

from __future__ import annotations

import functools
import inspect

from forerun import engine, np
from tour import plot
from tour.page import Page

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


def drawing(seen: engine.Graph) -> str:
    """Draw a graph: one line per op, with its dependencies."""
    names = seen.names()
    lines = []
    for entry in seen:
        needs = ", ".join(names[i] for i in entry.inputs)
        waits = f"  <--  waits for {needs}" if needs else "  (waits for nothing)"
        shape = "x".join(str(d) for d in entry.shape)
        lines.append(f"line {entry.line:>3}   {names[entry.value]}: {entry.op} [{shape}]{waits}")
    return "\n".join(lines)


def vertices(seen: engine.Graph) -> list[plot.Vertex]:
    """Return a box for each op: the op, its shape, its statement, and the boxes it depends on."""
    lines, first = inspect.getsourcelines(program)
    places: dict[int, int] = {}
    boxes = []
    for entry in seen:
        shape = " x ".join(str(d) for d in entry.shape)
        statement = lines[entry.line - first].strip()
        boxes.append(plot.Vertex([f"{entry.op}  [{shape}]", statement], [places[i] for i in entry.inputs]))
        places[entry.value] = len(places)
    return boxes


def show(page: Page, quick: bool) -> None:
    """Show the section."""
    page.title("2. What waits for what")
    page.listing(program)
    page.say(
        "None of these lines computes anything itself. From their arguments the engine knows that `x` and `y` are "
        "independent, that the product needs both, and that the sum needs the product; the 2 is stored in the "
        "record of the addition:"
    )
    with engine.graph() as seen:
        z = program()
    page.drawing(drawing(seen))
    page.say("The same as a picture:")
    page.figure(
        "Each op, with the statement that submitted it. Arrows point from an op to the ops that depend on it.",
        functools.partial(plot.graph, label="the dependency graph of z", vertices=vertices(seen)),
        KNOWN,
    )
    page.say("Only reading z waits, and only for the dependencies of z. `print(z)` prints:")
    page.drawing(str(z))
