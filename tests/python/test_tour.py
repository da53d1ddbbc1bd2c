"""The tour runs without a terminal, and its report contains the printed output."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET
from typing import NamedTuple

import pytest
from conftest import ROOT

from tour import page
from tour.__main__ import SECTIONS

HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"


class Tour(NamedTuple):
    """The output of a quick tour, and its report."""

    printed: str
    report: ET.Element

    def section(self, number: int) -> ET.Element:
        """Return a section of the report by its number."""
        for section in self.report.iter(f"{HTML}section"):
            if text(section[0]).startswith(f"{number}."):
                return section
        raise LookupError(number)

    def rows(self, number: int, table: int = 0) -> list[list[str]]:
        """Return the rows of a table in a section, without its header."""
        return cells(list(self.section(number).iter(f"{HTML}table"))[table])[1:]

    def plot(self, number: int, label: str) -> ET.Element:
        """Return a plot of a section, as drawn for a wide page, by a part of its label."""
        wide = [div for div in self.section(number).iter(f"{HTML}div") if div.get("class") == "wide"]
        return next(div[0] for div in wide if label in div[0].get("aria-label", ""))


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Tour:
    folder = tmp_path_factory.mktemp("tour")
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "tour", "--quick"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=env)
    assert shown.returncode == 0, shown.stderr
    assert [path.name for path in folder.iterdir()] == ["forerun-tour.html"]
    return Tour(shown.stdout, ET.parse(folder / "forerun-tour.html").getroot())


def text(element: ET.Element) -> str:
    """Return the text of an element as the page wrote it, with code in backquotes."""
    inner = "".join(text(child) + (child.tail or "") for child in element)
    whole = (element.text or "") + inner
    return f"`{whole}`" if element.tag == f"{HTML}code" else whole


def cells(table: ET.Element) -> list[list[str]]:
    """Return the cells of a table, including its header."""
    return [[text(cell) for cell in row] for row in table.iter(f"{HTML}tr")]


def hints(plot: ET.Element, shape: str) -> list[str]:
    """Return the tooltips of the shapes in a plot."""
    titles = (element.find(f"{SVG}title") for element in plot.iter(f"{SVG}{shape}"))
    return [title.text or "" for title in titles if title is not None]


def test_the_tour_runs_into_a_pipe(tour: Tour) -> None:
    titles = re.findall(r"^(\d)\. .+\n=+$", tour.printed, re.MULTILINE)
    assert titles == [str(n + 1) for n in range(len(SECTIONS))]
    # Neither colours nor a progress bar.
    assert "\x1b" not in tour.printed
    assert "\r" not in tour.printed


def test_the_report_shows_what_was_printed(tour: Tour) -> None:
    tables = [page.Table(head, rows) for head, *rows in map(cells, tour.report.iter(f"{HTML}table"))]
    paragraphs = [text(p) for p in tour.report.iter(f"{HTML}p")]
    assert len(tables) >= len(SECTIONS)
    for table in tables:
        assert page.laid_out(table) in tour.printed
    for paragraph in paragraphs:
        assert textwrap.fill(paragraph, page.WIDTH) in tour.printed
    for listing in tour.report.iter(f"{HTML}pre"):
        lines = "".join(listing.itertext())
        assert textwrap.indent(lines, "    ") in tour.printed


def test_the_report_opens_with_the_findings(tour: Tour) -> None:
    opening = next(tour.report.iter(f"{HTML}dl"))
    cards = [[text(part) for part in card] for card in opening]
    *_, last = tour.report.iter(f"{HTML}table")
    assert cards == cells(last)[1:]


def test_the_report_needs_nothing_else(tour: Tour) -> None:
    tags = {element.tag.split("}")[1] for element in tour.report.iter()}
    assert not tags & {"script", "link", "img", "iframe", "image", "use"}
    targets = {element.get("id") for element in tour.report.iter() if element.get("id")}
    links = [link.get("href", "") for link in tour.report.iter(f"{HTML}a")]
    assert len(links) == len(targets) == len(SECTIONS) + 1
    assert {link.removeprefix("#") for link in links} == targets
    (style,) = tour.report.iter(f"{HTML}style")
    assert "prefers-color-scheme: dark" in (style.text or "")
    assert "url(" not in (style.text or "")
    # The style sheet defines every class that plots use.
    classes = {name for svg in tour.report.iter(f"{SVG}svg") for e in svg.iter() for name in e.get("class", "").split()}
    assert {name for name in classes if f".{name}" not in (style.text or "")} == set()


def test_bars_are_the_rows_of_their_table(tour: Tour) -> None:
    assert hints(tour.plot(1, "issued"), "rect") == [f"{row[0]}: {row[1]} s" for row in tour.rows(1)]
    assert hints(tour.plot(4, "looking"), "rect") == [f"{row[0]}: {row[1]} s" for row in tour.rows(4)]


def test_the_graph_of_z_has_its_ops_and_arrows(tour: Tour) -> None:
    graph = tour.plot(2, "graph of z")
    words = [element.text for element in graph.iter(f"{SVG}text")]
    assert [word.split()[0] for word in words[::2] if word] == ["full", "full", "multiply", "add"]
    assert words[1::2] == ["x = np.ones((1, 2))", "y = np.ones((1, 2))", "z = x * y + 2", "z = x * y + 2"]
    assert len(list(graph.iter(f"{SVG}polygon"))) == 3


def test_curves_have_a_point_a_row(tour: Tour) -> None:
    stations = hints(tour.plot(5, "t1 and t2"), "circle")
    sizes = tour.rows(5)
    assert len(stations) == 2 * len(sizes)
    # As in the table, except for insignificant decimals.
    assert [hint.rsplit(", ", 1)[1] for hint in stations[: len(sizes)]] == [row[1].replace(".00", "") for row in sizes]
    products = hints(tour.plot(9, "ten products"), "circle")
    rows = tour.rows(9)
    assert products[: len(rows)] == [f"issued: {row[0]}, {row[1].replace('.00', '')}" for row in rows]
    assert products[len(rows) :] == [f"finished: {row[0]}, {row[2].replace('.00', '')}" for row in rows]
    assert len(hints(tour.plot(8, "n-th product"), "circle")) == 2 * len(tour.rows(8))


def test_training_shows_both_loops(tour: Tour) -> None:
    rows = {row[0]: row[1:] for row in tour.rows(6)}
    with_barrier, without = rows["loss of the last batch"]
    assert with_barrier == without
    for name in ("time for the epoch, s", "arrays took at most, MiB", "records a batch"):
        assert all(float(figure) > 0 for figure in rows[name])
    curves = tour.plot(6, "done with each batch").iter(f"{SVG}polyline")
    batches = int(next(iter(cells(next(tour.section(6).iter(f"{HTML}table")))))[0].split()[0])
    assert [len(curve.get("points", "").split()) for curve in curves] == [batches, batches]
    assert len(list(tour.plot(6, "most bytes").iter(f"{SVG}polyline"))) == 2


def test_a_batch_is_over_before_the_last_but_one_after_it(tour: Tour) -> None:
    rows = {row[0]: row[1:] for row in tour.rows(7)}
    for name, (_, _, _, loss, whole) in rows.items():
        done, pairs = (int(n) for n in loss.split(" of "))
        # Waiting for a loss only guarantees the loss; waiting for the update guarantees the whole batch.
        if "wait" in name:
            assert done == pairs
        if "update" in name:
            assert whole == loss
    timeline = tour.plot(7, "wait for the update")
    spans = [re.fullmatch(r"b\((\d+)\), .*: ([\d.]+) to ([\d.]+) ms", hint) for hint in hints(timeline, "rect")]
    begun: dict[int, float] = {}
    ended: dict[int, float] = {}
    for span in filter(None, spans):
        t, start, end = int(span[1]), float(span[2]), float(span[3])
        begun[t] = min(begun.get(t, start), start)
        ended[t] = max(ended.get(t, end), end)
    assert sorted(begun) == list(range(max(begun) + 1))
    for t in range(len(begun) - 2):
        assert ended[t] <= begun[t + 2]


def test_plots_are_drawn_for_two_widths(tour: Tour) -> None:
    for figure in tour.report.iter(f"{HTML}figure"):
        wide, narrow, _ = figure
        assert [wide.get("class"), narrow.get("class")] == ["wide", "narrow"]
        boxes = [div[0].get("viewBox", "").split()[2] for div in (wide, narrow)]
        assert float(boxes[0]) > float(boxes[1])


def test_a_report_has_a_place_or_there_is_none(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tour.__main__ import arguments

    assert arguments([]).report == pathlib.Path("forerun-tour.html")
    assert arguments(["--report", str(tmp_path / "a.html")]).report == tmp_path / "a.html"
    assert arguments(["--no-report"]).report is None
    for line in (["--no-report", "--report", "a"], ["--report", str(tmp_path / "absent" / "a.html")]):
        with pytest.raises(SystemExit):
            arguments(line)
    assert "there is no folder" in capsys.readouterr().err
