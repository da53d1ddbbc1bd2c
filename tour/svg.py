"""The few shapes that plots are made of, as SVG text.

Colours are classes: ``s0`` to ``s3`` for series, ``ink``, ``faint``, ``dim`` and ``grid`` for the rest. The embedding
page defines their colours, so that one drawing serves light and dark themes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

FONT = 12.0
# The average width of a character in the page's sans-serif font, relative to its size: accurate enough to place labels.
CHARACTER = 0.62

Point = tuple[float, float]


def text_width(text: str, size: float = FONT) -> float:
    """Estimate the width of a text."""
    return len(text) * size * CHARACTER


class Canvas:
    """A picture under construction: shapes are drawn in the order in which they are added."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self._shapes: list[str] = []

    def line(self, start: Point, end: Point, colour: str = "grid") -> None:
        """Add a straight line."""
        (x1, y1), (x2, y2) = start, end
        self._shapes.append(f'<line class="{colour}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def polyline(self, points: Sequence[Point], colour: str) -> None:
        """Add a line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._shapes.append(f'<polyline class="curve {colour}" points="{path}"/>')

    def dot(self, at: Point, colour: str, hint: str) -> None:
        """Add a point with a tooltip that shows its value."""
        x, y = at
        self._shapes.append(
            f'<circle class="dot {colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.2"><title>{escape(hint)}</title></circle>'
        )

    def box(self, corner: Point, size: Point, colour: str, hint: str = "", radius: float = 2.0) -> None:
        """Add a rectangle."""
        (x, y), (width, height) = corner, size
        title = f"<title>{escape(hint)}</title>" if hint else ""
        self._shapes.append(
            f'<rect class="box {colour}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{radius:g}">{title}</rect>'
        )

    def text(self, at: Point, words: str, colour: str = "ink", anchor: str = "start", size: float = FONT) -> None:
        """Add a line of text; its baseline is at the point."""
        x, y = at
        self._shapes.append(
            f'<text class="{colour}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}">'
            f"{escape(words)}</text>"
        )

    def arrow(self, start: Point, end: Point) -> None:
        """Add a curved arrow that points downwards."""
        (x1, y1), (x2, y2) = start, end
        middle = (y1 + y2) / 2
        bend = f"M{x1:.1f},{y1:.1f} C{x1:.1f},{middle:.1f} {x2:.1f},{middle:.1f} {x2:.1f},{y2 - 6:.1f}"
        self._shapes.append(f'<path class="edge" d="{bend}"/>')
        head = f"{x2 - 4:.1f},{y2 - 8:.1f} {x2 + 4:.1f},{y2 - 8:.1f} {x2:.1f},{y2:.1f}"
        self._shapes.append(f'<polygon class="head" points="{head}"/>')

    def legend(self, names: Sequence[tuple[str, str]], at: Point, width: float) -> float:
        """Add a legend of (name, colour) pairs, wrapped to a width; return its height."""
        left, top = at
        x, y = left, top
        for name, colour in names:
            wide = 18 + text_width(name) + 16
            if x > left and x + wide > left + width:
                x, y = left, y + 18
            self.box((x, y + 2), (12, 10), colour)
            self.text((x + 18, y + 11), name)
            x += wide
        return y + 18 - top

    def svg(self, label: str) -> str:
        """Return the picture; the label describes it for screen readers."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f'aria-label="{escape(label)}">{"".join(self._shapes)}</svg>'
        )
