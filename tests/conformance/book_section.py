"""Run the MXNet cells of one section of the book in this process; `book.py` starts it.

Usage: ``python book_section.py MARKDOWN DATA REPORT``. `DATA` is the folder that `book_data.py` wrote. The cells run
unedited in IPython, one after another, until one raises. The report is a JSON file.
"""

from __future__ import annotations

import dataclasses
import inspect
import io
import json
import pathlib
import re
import sys
import time
import traceback
from typing import Any

FENCE = re.compile(r"^```\{\.python \.input[^}]*\}\n(.*?)^```\s*$", re.S | re.M)
TABS = re.compile(r"(?:#\s*@tab|%%tab)\s+([\w, ]+)")
# Labels of the losses in the book's plots.
LOSS = re.compile("loss|ppl|RMSE|mlm|nsp|class error|bbox mae|content|style|TV|discriminator|generator")


@dataclasses.dataclass
class Report:
    """What happened: the cells that ran, the failure, and the series of losses that the book plotted."""

    cells: int = 0
    ran: int = 0
    error: str = ""
    seconds: list[float] = dataclasses.field(default_factory=list)
    losses: dict[str, list[float]] = dataclasses.field(default_factory=dict)


class Tab:
    """The book's `tab`, which its cells ask for the chosen framework."""

    @staticmethod
    def selected(*tabs: Any) -> bool:
        """Return whether MXNet is among the names."""
        return "mxnet" in (tabs[0] if len(tabs) == 1 and isinstance(tabs[0], (list, tuple)) else tabs)


def cells(text: str) -> list[str] | None:
    """Return the cells that the book runs for MXNet, or None if none is only for some frameworks and MXNet.

    The rules are those of the book's build: a cell belongs to the frameworks of its first line, to every framework with
    ``all``, and to the first framework, PyTorch, without such a line.
    """
    found, own = [], False
    for match in FENCE.finditer(text):
        first, _, rest = match[1].partition("\n")
        named = TABS.match(first)
        tabs = [tab.strip() for tab in named[1].split(",")] if named else []
        own |= "mxnet" in tabs
        if "mxnet" in tabs or tabs == ["all"]:
            found.append(rest if first.startswith("%%") else match[1])
    return found if own else None


def serve(files: pathlib.Path) -> None:
    """Answer requests of URLs from the folder of generated files, by the last part of the URL."""
    import requests

    def send(self: Any, request: Any, **_: Any) -> requests.Response:
        path = files / request.url.rsplit("/", 1)[-1]
        if not path.exists():
            raise requests.ConnectionError(f"no such generated file: {path.name}")
        response = requests.Response()
        response.status_code, response.url, response.request = 200, request.url, request
        response.raw = io.BytesIO(path.read_bytes())
        return response

    requests.adapters.HTTPAdapter.send = send  # type: ignore[method-assign]


def watch_losses(losses: dict[str, list[float]]) -> None:
    """Keep the losses that the two classes of the book for plots receive; each plot has series of its own."""
    from d2l import mxnet as d2l

    plots: dict[int, tuple[int, Any]] = {}

    def series(plot: Any, label: str) -> list[float]:
        number, _ = plots.setdefault(id(plot), (len(plots) + 1, plot))
        return losses.setdefault(f"{label} ({number})", [])

    draw, add, start = d2l.ProgressBoard.draw, d2l.Animator.add, d2l.Animator.__init__
    arguments = inspect.signature(start)

    def draw_and_keep(self: Any, x: Any, y: Any, label: str, every_n: int = 1) -> Any:
        if LOSS.search(label):
            series(self, label).append(float(y))
        return draw(self, x, y, label, every_n)

    def start_and_keep(self: Any, *args: Any, **options: Any) -> None:
        start(self, *args, **options)
        given = arguments.bind(self, *args, **options).arguments
        self.kept_labels = given.get("legend") or [given.get("ylabel") or ""]

    def add_and_keep(self: Any, x: Any, y: Any) -> Any:
        for label, value in zip(self.kept_labels, y if hasattr(y, "__len__") else [y], strict=False):
            if LOSS.search(label) and value is not None:
                series(self, label).append(float(value))
        return add(self, x, y)

    d2l.ProgressBoard.draw, d2l.Animator.add, d2l.Animator.__init__ = draw_and_keep, add_and_keep, start_and_keep


def accept_old_plots() -> None:
    """Let plots accept what the versions of matplotlib and NumPy that the book names accepted.

    These are the argument `use_line_collection` of `stem`, which matplotlib 3.8 removed and whose value is the default
    now, and sequences of numbers and arrays with one element, which NumPy 1.24 no longer converts.
    """
    from matplotlib import pyplot

    stem, plot = pyplot.stem, pyplot.plot

    def accepting(*args: Any, use_line_collection: bool = True, **options: Any) -> Any:
        return stem(*args, **options)

    def number(value: Any) -> Any:
        return value.item() if getattr(value, "shape", ()) == (1,) else value

    def plot_numbers(*args: Any, **options: Any) -> Any:
        return plot(*([number(v) for v in arg] if isinstance(arg, tuple) else arg for arg in args), **options)

    pyplot.stem, pyplot.plot = accepting, plot_numbers


def shell() -> Any:
    """Return an IPython shell without history.

    It shows objects as text, and draws every figure once, at the end of its cell. The book shows the figures of its
    training loops again and again, and drawing them takes more time than the training.
    """
    from IPython.core.interactiveshell import InteractiveShell
    from matplotlib import pyplot
    from traitlets.config import Config

    class Shell(InteractiveShell):  # type: ignore[misc]
        def enable_gui(self, gui: Any = None) -> None:
            """Figures need no event loop."""

    def draw_figures() -> None:
        for number in pyplot.get_fignums():
            pyplot.figure(number).savefig(io.BytesIO(), format="svg")

    notebook = Shell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    notebook.display_formatter.active_types = ["text/plain"]
    notebook.events.register("post_execute", draw_figures)
    return notebook


def run(markdown: pathlib.Path, data: pathlib.Path, report: Report) -> None:
    """Run the cells."""
    import forerun.mxnet

    forerun.mxnet.install()
    serve(data / "files")
    sources = cells(markdown.read_text()) or []
    report.cells = len(sources)
    if any("d2l" in source for source in sources):
        watch_losses(report.losses)
    accept_old_plots()
    notebook = shell()
    notebook.push({"tab": Tab})
    for number, source in enumerate(sources, 1):
        print(f"--- cell {number}", flush=True)
        begin = time.perf_counter()
        result = notebook.run_cell(source)
        error = result.error_before_exec or result.error_in_exec
        if error is None:
            forerun.npx.waitall()  # Raises what the cell left behind.
        report.seconds.append(round(time.perf_counter() - begin, 2))
        if error is not None:
            error.add_note(f"cell {number}") if hasattr(error, "add_note") else None
            raise error
        report.ran = number


def main() -> int:
    """Run the section and write its report."""
    markdown, data, path = map(pathlib.Path, sys.argv[1:])
    report = Report()
    try:
        run(markdown, data, report)
    except BaseException as error:
        traceback.print_exc()
        report.error = f"cell {report.ran + 1}: {type(error).__name__}: {error}"
    path.write_text(json.dumps(dataclasses.asdict(report)))
    return bool(report.error)


if __name__ == "__main__":
    sys.exit(main())
