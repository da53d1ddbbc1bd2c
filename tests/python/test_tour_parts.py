"""The parts of the tour: its arithmetic, plots, listings, progress bar and sampler."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from html import unescape

import pytest

from forerun import np
from tour import increments, intermediate, overlap, page, plot, report, training
from tour.increments import Parts, Size
from tour.memory import Sampler
from tour.progress import Progress

SVG = "{http://www.w3.org/2000/svg}"


def numbers(text: str) -> list[tuple[float, float]]:
    """Return the points of a polyline."""
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in text.split())]


def test_the_slower_side_sets_the_pace() -> None:
    engine = Parts(submit=1.0, execute=2.0, give_back=0.5)
    assert engine.backend_bound(1000)
    assert engine.predicted(1000) == engine.hidden(1000) == 1.0 + 1000 * 2.0 + 0.5
    program = Parts(submit=2.0, execute=1.0, give_back=0.5)
    assert not program.backend_bound(1000)
    assert program.predicted(1000) == 1000 * 2.0 + 1.0 + 0.5
    assert program.hidden(1000) < program.predicted(1000)


def test_the_crossing_is_looked_for_from_above() -> None:
    slow, quick = Parts(1.0, 2.0, 0.0), Parts(2.0, 1.0, 0.0)
    sizes = [Size((1, n), part, []) for n, part in [(1, slow), (2, quick), (3, slow), (4, slow)]]
    assert increments.crossing(sizes) == 3
    assert increments.crossing(sizes[:2]) is None


def test_durations_choose_their_unit() -> None:
    assert [page.seconds(t) for t in (2.0, 0.0125, 3.4e-6, 5e-9)] == ["2.00 s", "12.50 ms", "3.40 us", "5 ns"]
    assert increments.short(0.01) == "10 ms"


def test_curves_lie_where_their_points_are() -> None:
    points = [(0.0, 0.0), (5.0, 10.0), (10.0, 5.0)]
    drawn = ET.fromstring(plot.curves(600, "a & b", [plot.Series("<s>", points, "s0")], plot.Axis("x"), plot.Axis("y")))
    assert drawn.get("aria-label") == "a & b"
    (curve,) = drawn.iter(f"{SVG}polyline")
    (x0, y0), (x1, y1), (x2, y2) = numbers(curve.get("points", ""))
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    # The y axis points downwards.
    assert y1 < y2 < y0
    assert y0 - y2 == pytest.approx(y2 - y1, abs=0.2)
    assert [title.text for title in drawn.iter(f"{SVG}title")] == ["<s>: 0, 0", "<s>: 5, 10", "<s>: 10, 5"]


def test_equal_factors_are_equal_steps_on_a_logarithmic_axis() -> None:
    axis = plot.Axis("n", log=True)
    drawn = ET.fromstring(plot.curves(600, "", [plot.Series("s", [(1, 1), (10, 10), (100, 1000)], "s0")], axis, axis))
    (curve,) = drawn.iter(f"{SVG}polyline")
    (x0, y0), (x1, y1), (x2, y2) = numbers(curve.get("points", ""))
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert 2 * (y0 - y1) == pytest.approx(y1 - y2, abs=0.2)


def test_one_point_is_a_plot_too() -> None:
    for log in (False, True):
        axis = plot.Axis("n", log=log)
        ET.fromstring(plot.curves(344, "", [plot.Series("s", [(3, 7)], "s0")], axis, axis))


def test_no_peak_is_lost_when_points_are_thinned() -> None:
    points = [(i / 1000, float(i % 7)) for i in range(10_000)]
    points[4321] = (4.321, 99.0)
    points[7654] = (7.654, -99.0)
    for kept in (plot.thin(points, 50), plot.highest(points, 50)):
        assert (4.321, 99.0) in kept
        assert kept == sorted(kept)
        assert len(kept) <= 4 * 51
    assert {points[0], points[-1], (7.654, -99.0)} <= set(plot.thin(points, 50))
    assert plot.thin(points[:10], 50) == plot.highest(points[:10], 50) == points[:10]


def test_ticks_are_round() -> None:
    assert plot.ticks(0, 10, 5) == [0, 2, 4, 6, 8, 10]
    assert plot.ticks(0, 0.97, 5) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8])
    assert plot.powers(-0.1, 6.1, 4) == [1, 100, 10_000, 1_000_000]
    assert plot.powers(1.7, 3.2, 7) == [100, 200, 500, 1000]


def test_bars_are_as_long_as_their_values() -> None:
    for width in (760, 344):
        drawn = ET.fromstring(plot.bars(width, "", [plot.Bar("a", 4.0, "4 s"), plot.Bar("b", 1.0, "1 s")]))
        long, short = (float(box.get("width", "")) for box in drawn.iter(f"{SVG}rect"))
        assert long == pytest.approx(4 * short, abs=0.4)
        assert long < width


def test_a_timeline_places_spans_by_their_times() -> None:
    rows = [plot.Row("p", [plot.Span(0.0, 1.0, "k")]), plot.Row("q", [plot.Span(1.0, 3.0, "k"), plot.Span(3, 4, "m")])]
    drawn = ET.fromstring(plot.timeline(760, "", rows, [("k", "s0"), ("m", "s1")]))
    spans = [box for box in drawn.iter(f"{SVG}rect") if box.find(f"{SVG}title") is not None]
    starts = [float(box.get("x", "")) for box in spans]
    widths = [float(box.get("width", "")) for box in spans]
    assert starts[1] == pytest.approx(starts[0] + widths[0], abs=0.2)
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.3)
    assert [box.get("class") for box in spans] == ["box s0", "box s0", "box s1"]
    shown = plot.timeline_text(rows, [("k", "="), ("m", "#")], columns=8).splitlines()
    assert shown[:2] == ["p |==      |", "q |  ====##|"]


def test_a_graph_stands_below_what_it_needs() -> None:
    vertices = [plot.Vertex(["a"], []), plot.Vertex(["b"], [0]), plot.Vertex(["c"], [0, 1, 1])]
    drawn = ET.fromstring(plot.graph(344, "", vertices))
    tops = [float(box.get("y", "")) for box in drawn.iter(f"{SVG}rect")]
    assert tops[0] < tops[1] < tops[2]
    assert len(list(drawn.iter(f"{SVG}path"))) == 3


def test_highlighting_changes_no_letter() -> None:
    for function in (training.build, training.with_barrier, overlap.one_ahead, intermediate.chain, plot.graph):
        code = page.body(function)
        assert '"""' not in code.split("\n")[0]
        shown = report.highlighted(code)
        assert unescape(re.sub(r"<[^>]+>", "", shown)) == code
        assert '<span class="word">' in shown


def test_batches_are_counted_by_when_they_end() -> None:
    def batch(begun: float, loss: float, update: float) -> overlap.Batch:
        notes = overlap.Notes(training.Model(None, None, None))  # type: ignore[arg-type]
        moments = [overlap.Moment(np.zeros(()), notes) for _ in range(2)]
        moments[0].at, moments[1].at = loss, update
        return overlap.Batch(begun, begun, moments[0], moments[1])

    batches = [batch(0, 2, 4), batch(1, 5, 6), batch(3, 7, 8), batch(6, 9, 10)]
    assert overlap.apart(batches, lambda b: b.loss.at) == "2 of 2"
    assert overlap.apart(batches, lambda b: b.update.at) == "1 of 2"
    assert overlap.overlapping(batches) == "3 of 3"
    assert overlap.most_at_once(batches) == 3


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def test_the_bar_is_for_terminals_only() -> None:
    quiet, shown = io.StringIO(), Terminal()
    for stream in (quiet, shown):
        with Progress("work", 4, stream) as progress:
            for _ in range(4):
                progress.step()
    assert quiet.getvalue() == ""
    assert f"[{'.' * 30}] 0/4  work" in shown.getvalue()
    assert f"[{'#' * 30}] 4/4  work" in shown.getvalue()
    # The line is empty at the end.
    assert shown.getvalue().endswith("\r\x1b[K")


def test_the_sampler_sees_arrays_come_and_go() -> None:
    with Sampler() as sampler:
        x = np.ones((1024, 4096))
        x.wait_to_read()
        sampler._sample()
        del x
    first, most = sampler.samples[0].live, max(live for _, live in sampler.live())
    assert most - first >= 16
    assert all(earlier.at <= later.at for earlier, later in zip(sampler.samples, sampler.samples[1:], strict=False))
