"""The plots of the report: bars, curves, timelines and graphs, laid out for a given width."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tour.svg import Canvas, Point, text_width

# Below this width, labels are above their items instead of beside them.
NARROW = 500


@dataclass(frozen=True)
class Bar:
    """A bar: its name, its length, and the text at its end."""

    name: str
    value: float
    text: str
    colour: str = "s0"


@dataclass(frozen=True)
class Series:
    """A curve."""

    name: str
    points: Sequence[Point]
    colour: str
    dots: bool = True


@dataclass(frozen=True)
class Axis:
    """The label of an axis, the format of its values, and whether it is logarithmic."""

    name: str
    written: Callable[[float], str] = "{:g}".format
    log: bool = False


@dataclass(frozen=True)
class Span:
    """A time interval, in seconds."""

    start: float
    end: float
    kind: str


@dataclass(frozen=True)
class Row:
    """A row of a timeline."""

    name: str
    spans: Sequence[Span]


@dataclass(frozen=True)
class Vertex:
    """A box of a graph: its lines of text, and the indices of the boxes it depends on."""

    lines: Sequence[str]
    needs: Sequence[int]


def bars(width: int, label: str, rows: Sequence[Bar]) -> str:
    """Draw horizontal bars from zero."""
    above = width < NARROW
    names = 0.0 if above else max(text_width(row.name) for row in rows) + 12
    values = max(text_width(row.text) for row in rows) + 10
    pitch = 38 if above else 28
    canvas = Canvas(width, pitch * len(rows) + 6)
    most = max(row.value for row in rows) or 1.0
    for place, row in enumerate(rows):
        top = place * pitch + 4
        if above:
            canvas.text((0, top + 10), row.name)
            top += 14
        else:
            canvas.text((names - 12, top + 14), row.name, anchor="end")
        # A bar that is too short to see would look missing.
        long = max((width - names - values) * row.value / most, 1.5)
        canvas.box((names, top), (long, 18), row.colour, f"{row.name}: {row.text}")
        canvas.text((names + long + 6, top + 13), row.text, "faint")
    return canvas.svg(label)


def thin(points: Sequence[Point], buckets: int) -> list[Point]:
    """Keep the first, last, lowest and highest point of each of ``buckets`` equal intervals, to preserve peaks."""
    if len(points) <= 4 * buckets:
        return list(points)
    first, last = points[0][0], points[-1][0]
    stretches: dict[int, list[Point]] = {}
    for point in points:
        stretches.setdefault(int((point[0] - first) / (last - first) * buckets), []).append(point)
    kept: list[Point] = []
    for stretch in stretches.values():
        ends = {stretch[0], stretch[-1], min(stretch, key=lambda p: p[1]), max(stretch, key=lambda p: p[1])}
        kept.extend(sorted(ends))
    return kept


def highest(points: Sequence[Point], buckets: int) -> list[Point]:
    """Return the highest point of each of ``buckets`` equal intervals: the envelope of a rapidly changing curve."""
    if len(points) <= buckets:
        return list(points)
    first, last = points[0][0], points[-1][0]
    tops: dict[int, Point] = {}
    for point in points:
        bucket = min(int((point[0] - first) / (last - first) * buckets), buckets - 1)
        tops[bucket] = max(tops.get(bucket, point), point, key=lambda p: p[1])
    return list(tops.values())


def powers(low: float, high: float, about: int) -> list[float]:
    """Return powers of ten within a range of exponents, or round multiples of them if there are too few."""
    whole = range(math.ceil(low), math.floor(high) + 1)
    if len(whole) >= 3:
        return [10.0**p for p in whole[:: -(-len(whole) // (about + 1))]]
    steps = (m * 10.0**p for p in range(math.floor(low), math.ceil(high)) for m in (1, 2, 5))
    return [step for step in steps if low <= math.log10(step) <= high] or [10.0**low]


def ticks(low: float, high: float, about: int) -> list[float]:
    """Return round values within a range, about ``about`` of them."""
    if high <= low:
        return [low]
    rough = (high - low) / about
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


class Scale:
    """Maps values to positions between two ends of a picture."""

    def __init__(self, axis: Axis, values: Sequence[float], start: float, end: float, about: int) -> None:
        self.log = axis.log
        if axis.log:
            low, high = math.log10(min(values)), math.log10(max(values))
            # A margin, so that no point lies on the frame.
            air = max((high - low) * 0.06, 0.05)
            self.low, self.high = low - air, high + air
            self.ticks = powers(self.low, self.high, about)
        else:
            self.low = min(0.0, *values)
            self.high = max(values)
            self.ticks = ticks(self.low, self.high, about)
            self.high = max(self.high, self.ticks[-1])
            if self.high == self.low:
                self.high = self.low + 1.0
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        """Return the position of a value."""
        value = math.log10(value) if self.log else value
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def curves(width: int, label: str, series: Sequence[Series], x: Axis, y: Axis) -> str:
    """Draw curves over common axes."""
    drawn = [(s, list(s.points) if s.dots else thin(s.points, width // 4)) for s in series]
    height = 300 if width >= NARROW else 260
    canvas = Canvas(width, height)
    top = canvas.legend([(s.name, s.colour) for s in series], (0, 0), width) + 28
    bottom = height - 40
    all_points = [point for _, points in drawn for point in points]
    up = Scale(y, [p[1] for p in all_points], bottom, top, 5)
    left = max(text_width(y.written(t)) for t in up.ticks) + 10
    values = [p[0] for p in all_points]
    right = width - max(14.0, text_width(x.written(max(values))) / 2 + 2)
    across = Scale(x, values, left, right, 7 if width >= NARROW else 4)
    canvas.text((0, top - 14), y.name, "faint")
    for tick in up.ticks:
        canvas.line((left, up(tick)), (right, up(tick)))
        canvas.text((left - 6, up(tick) + 4), y.written(tick), "faint", "end")
    for tick in across.ticks:
        canvas.line((across(tick), bottom), (across(tick), bottom + 4), "axis")
        canvas.text((across(tick), bottom + 17), x.written(tick), "faint", "middle")
    canvas.line((left, bottom), (right, bottom), "axis")
    canvas.text(((left + right) / 2, height - 6), x.name, "faint", "middle")
    for curve, points in drawn:
        placed = [(across(px), up(py)) for px, py in points]
        canvas.polyline(placed, curve.colour)
        if curve.dots:
            for (px, py), at in zip(points, placed, strict=True):
                canvas.dot(at, curve.colour, f"{curve.name}: {x.written(px)}, {y.written(py)}")
    return canvas.svg(label)


def timeline(width: int, label: str, rows: Sequence[Row], kinds: Sequence[tuple[str, str]]) -> str:
    """Draw a timeline with one row each; ``kinds`` maps each kind of span to its colour."""
    colours = dict(kinds)
    canvas = Canvas(width, 0)
    top = canvas.legend(list(kinds), (0, 0), width) + 8
    left = max(text_width(row.name) for row in rows) + 10
    pitch, right = 24, width - 14
    bottom = top + pitch * len(rows) + 4
    canvas.height = bottom + 40
    last = max(span.end for row in rows for span in row.spans)
    axis = Axis("milliseconds")
    across = Scale(axis, [0.0, last * 1e3], left, right, 7 if width >= NARROW else 5)
    for tick in across.ticks:
        canvas.line((across(tick), top), (across(tick), bottom))
        canvas.text((across(tick), bottom + 15), axis.written(tick), "faint", "middle")
    for place, row in enumerate(rows):
        y = top + place * pitch + 4
        canvas.text((left - 10, y + 12), row.name, anchor="end")
        for span in row.spans:
            start, end = across(span.start * 1e3), across(span.end * 1e3)
            hint = f"{row.name}, {span.kind}: {span.start * 1e3:.2f} to {span.end * 1e3:.2f} ms"
            canvas.box((start, y), (max(end - start, 1.0), 16), colours[span.kind], hint)
    canvas.line((left, bottom), (right, bottom), "axis")
    canvas.text(((left + right) / 2, bottom + 34), axis.name, "faint", "middle")
    return canvas.svg(label)


def timeline_text(rows: Sequence[Row], marks: Sequence[tuple[str, str]], columns: int = 64) -> str:
    """Draw a timeline with one character per time interval; ``marks`` maps each kind of span to its character."""
    characters = dict(marks)
    last = max(span.end for row in rows for span in row.spans)
    names = max(len(row.name) for row in rows)
    lines = []
    for row in rows:
        cells = [" "] * columns
        for span in row.spans:
            first = min(int(span.start / last * columns), columns - 1)
            for place in range(first, max(math.ceil(span.end / last * columns), first + 1)):
                cells[place] = characters[span.kind]
        lines.append(f"{row.name:>{names}} |{''.join(cells)}|")
    ruler = f"{'':>{names}}  0{f'{last * 1e3:.1f} ms':>{columns - 1}}"
    return "\n".join([*lines, ruler, "", "   ".join(f"{mark} {kind}" for kind, mark in marks)])


def graph(width: int, label: str, vertices: Sequence[Vertex]) -> str:
    """Draw dependencies from the top down: a box is below everything it depends on."""
    depths: list[int] = []
    for vertex in vertices:
        depths.append(max((depths[need] + 1 for need in vertex.needs), default=0))
    layers = [[v for v, depth in enumerate(depths) if depth == d] for d in range(max(depths) + 1)]
    line, pitch = 16, 88
    high = [line * len(vertex.lines) + 14 for vertex in vertices]
    canvas = Canvas(width, pitch * (len(layers) - 1) + max(high) + 4)
    middles: dict[int, Point] = {}
    for depth, layer in enumerate(layers):
        for place, v in enumerate(layer):
            # Adjacent boxes share the width evenly, but stay close on a wide page.
            share = min(width / len(layer), 230.0)
            middles[v] = (width / 2 + (place - (len(layer) - 1) / 2) * share, depth * pitch + 2)
    for v, vertex in enumerate(vertices):
        x, y = middles[v]
        for need in dict.fromkeys(vertex.needs):
            above_x, above_y = middles[need]
            lean = max(min((above_x - x) / 4, 30.0), -30.0)
            canvas.arrow((above_x, above_y + high[need]), (x + lean, y))
    for v, vertex in enumerate(vertices):
        x, y = middles[v]
        wide = max(text_width(words) for words in vertex.lines) + 22
        canvas.box((x - wide / 2, y), (wide, high[v]), "vertex", radius=8)
        for place, words in enumerate(vertex.lines):
            canvas.text((x, y + 19 + place * line), words, "faint" if place else "ink", "middle")
    return canvas.svg(label)
