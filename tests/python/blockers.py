"""Write the table of ``docs/asynchronous.md``: every public name that may wait for a value.

Usage::

    python tests/python/blockers.py

The names come from ``blocking.txt``, whose every line ``test_blocking.py`` checks. What they return comes from their
docstrings.
"""

from __future__ import annotations

import importlib
import pathlib
import re
from typing import Any

from dialects import page as with_tables

HERE = pathlib.Path(__file__).parent
PAGE = HERE.parents[1] / "docs/asynchronous.md"
# How programs call the slots of arrays.
SLOTS = {
    "__array__": ("`numpy.asarray(x)`", "The elements as a NumPy array."),
    "__bool__": ("`bool(x)`, `if x:`", "Whether the only element is true."),
    "__complex__": ("`complex(x)`", "The only element."),
    "__contains__": ("`value in x`", "Whether an element equals the value."),
    "__dlpack__": ("`numpy.from_dlpack(x)`", "The elements for another library."),
    "__float__": ("`float(x)`", "The only element."),
    "__format__": ('`f"{x}"`, `format(x)`', "The elements as text."),
    "__getitem__": ("`x[i]`", "Elements."),
    "__index__": ("`range(x)`, `items[x]`", "The only element, as an index or an extent."),
    "__int__": ("`int(x)`", "The only element."),
    "__repr__": ("`repr(x)`", "The elements as text."),
    "__setitem__": ("`x[i] = y`", "Writes elements."),
    "__str__": ("`print(x)`, `str(x)`", "The elements as text."),
    "_repr_html_": ("`x` as the last line of a notebook's cell", "The elements as text."),
    "_repr_pretty_": ("`x` as the last line of IPython's input", "The elements as text."),
}


def rows() -> list[tuple[str, str, str]]:
    """Return what a program calls, with which arguments it waits (empty for all), and what it does."""
    found = []
    for line in (HERE / "blocking.txt").read_text(encoding="utf-8").splitlines():
        name, word, *why = line.split(maxsplit=2)
        if word in ("waits", "may:"):
            plain = f"`{name.replace('ndarray.', 'x.')}()`"
            called, summary = SLOTS.get(name.removeprefix("ndarray.")) or (plain, _summary(name))
            found.append((called, why[0] if word == "may:" else "", summary))
    return found


def _summary(name: str) -> str:
    """Return the first sentence of a docstring."""
    thing: Any = importlib.import_module("forerun")
    for part in name.replace("ndarray.", "np.ndarray.").split("."):
        thing = getattr(thing, part)
    text = " ".join((thing.__doc__ or "").split("\n\n")[0].split())
    # Roles and literals of docstrings become code.
    text = re.sub(r":[a-z]+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text.split(". ")[0].rstrip("."))
    return text.replace("``", "`") + "."


def table() -> str:
    """Return the tables."""
    titles = {"x": "Arrays", "np": "`np`", "npx": "`npx`", "gluon": "`gluon`"}
    parts: dict[str, list[str]] = {title: [] for title in (*titles.values(), "Other modules")}
    for called, why, summary in rows():
        start = "x" if (called, summary) in SLOTS.values() else called.strip("`").split(".")[0]
        parts[titles.get(start, "Other modules")].append(f"| {called} | {why or 'always'} | {summary} |")
    head = "| call | waits | what it does |\n|---|---|---|\n"
    return "\n\n".join(f"### {title}\n\n{head}" + "\n".join(lines) for title, lines in parts.items() if lines)


def page(text: str) -> str:
    """Return the page with its tables written again."""
    return with_tables(text, table())


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
