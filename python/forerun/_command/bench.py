"""``forerun bench``: workloads of Forerun and of installed peers, in interleaved rounds."""

from __future__ import annotations

import argparse
import html
import importlib.metadata
import importlib.util
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterator

import forerun
from forerun._command.rounds import Peer
from forerun._command.terminal import paint, progress
from forerun._command.workloads import ABOUT, BENCH, PACKAGES, of_package
from forerun._tables import Column, as_text

#: How long the rounds may take together, unless their number is given. The first round is not counted.
SECONDS = 20.0
#: Samples by workload, figure and package, in seconds.
Samples = dict[str, dict[str, dict[str, list[float]]]]


def main(options: argparse.Namespace) -> int:
    """Measure, and print a table."""
    packages = [name for name in dict.fromkeys(PACKAGES.values()) if importlib.util.find_spec(name) is not None]
    if options.list:
        print(as_text([Column("workload"), Column("what it does")], ([name, ABOUT[name]] for name in BENCH)))
        print(f"\ninstalled: {', '.join(versions(packages))}")
        return 0
    unknown = [name for name in options.workloads if name not in BENCH]
    if unknown:
        print(f"forerun bench: no workload is called {unknown[0]}; there are {', '.join(BENCH)}", file=sys.stderr)
        return 2
    if options.html is not None and not os.path.isdir(os.path.dirname(os.path.abspath(options.html))):
        print(f"forerun bench: --html {options.html}: the folder does not exist", file=sys.stderr)
        return 2
    wanted = options.workloads or list(BENCH)
    samples, rounds, lost = measure(packages, wanted, options.rounds)
    if not samples:
        print("forerun bench: nothing could be measured", file=sys.stderr)
        return 1
    rows = list(rows_of(samples, packages))
    head = ["workload", "", *(f"{package} ms" for package in packages), "ratio"]
    about = [
        f"{', '.join(versions(packages))}; {forerun.num_threads()} threads; {processor()}",
        f"Medians; rounds: {rounds}. The ratio is Forerun's time to the fastest peer's: below 1, Forerun is faster.",
    ]
    ratios = [ratio for figures in samples.values() for times in figures.values() if (ratio := ratio_of(times))]
    if ratios:
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
        about.append(f"Geometric mean of the ratios: {mean:.2f}.")
    text = as_text([Column(name, numeric=k >= 2) for k, name in enumerate(head)], rows)
    print(paint(text.splitlines()[0], "bold"), *text.splitlines()[1:], "", *about, sep="\n")
    for package in lost:
        print(f"{package} ended before its last round", file=sys.stderr)
    if options.html is not None:
        with open(options.html, "w", encoding="utf-8") as file:
            file.write(page(head, rows, about, wanted))
        print(f"written to {options.html}")
    return 1 if "forerun" in lost else 0


def measure(packages: list[str], wanted: list[str], rounds: int | None) -> tuple[Samples, int, list[str]]:
    """Run the rounds. Return the samples, the number of rounds, and the packages whose processes ended early."""
    threads = forerun.num_threads()
    peers = {name: Peer(name, ["-m", "forerun._command.workloads", name], threads, {}) for name in packages}
    plan = [(workload, name) for workload in wanted for name in packages if workload in of_package(name)]
    samples: Samples = {}
    done = 0
    try:
        # Imports, preparation and the first runs.
        for workload, name in progress(plan, len(plan), "warm-up"):
            peers[name].run(workload)
        start = time.perf_counter()
        while done < rounds if rounds is not None else done < 1 or not _over(start, done):
            for workload, name in progress(plan, len(plan), f"round {done + 1}"):
                for figure, seconds in peers[name].run(workload).items():
                    samples.setdefault(workload, {}).setdefault(figure, {}).setdefault(name, []).append(seconds)
            done += 1
    finally:
        for peer in peers.values():
            peer.close()
    return samples, done, [name for name, peer in peers.items() if not peer.alive]


def _over(start: float, done: int) -> bool:
    """Return whether another round would take longer than is allowed."""
    took = time.perf_counter() - start
    return took + took / done > SECONDS


def rows_of(samples: Samples, packages: list[str]) -> Iterator[list[str]]:
    """Yield a row per workload and figure: a median per package in milliseconds, and the ratio."""
    for workload, figures in samples.items():
        for figure, times in figures.items():
            cells = [f"{statistics.median(times[name]) * 1e3:.3f}" if name in times else "" for name in packages]
            ratio = ratio_of(times)
            yield [workload, figure, *cells, "" if ratio is None else f"{ratio:.2f}"]


def ratio_of(times: dict[str, list[float]]) -> float | None:
    """Return the ratio of Forerun's median to that of the fastest peer; None without a peer."""
    others = [statistics.median(values) for package, values in times.items() if package != "forerun"]
    return statistics.median(times["forerun"]) / min(others) if others and "forerun" in times else None


def versions(packages: list[str]) -> list[str]:
    """Return the packages with their versions."""
    found = []
    for name in packages:
        try:
            version = forerun.__version__ if name == "forerun" else importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = "of unknown version"
        found.append(f"{name} {version}")
    return found


def processor() -> str:
    """Return the name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


_STYLE = """\
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { text-align: right; padding: .25em .8em; border-bottom: 1px solid #8886 }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left }
.faster { color: light-dark(#0a6b2d, #6fdd8b) }"""


def page(head: list[str], rows: list[list[str]], about: list[str], wanted: list[str]) -> str:
    """Return the table as an HTML page that needs no other file."""

    def cell(text: str, last: bool) -> str:
        faster = ' class="faster"' if last and text and float(text) < 1 else ""
        return f"<td{faster}>{html.escape(text)}</td>"

    lines = [
        "<!doctype html>",
        '<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>forerun bench</title><style>{_STYLE}</style>",
        "<h1>forerun bench</h1>",
        *(f"<p>{html.escape(text)}</p>" for text in about),
        '<div class="wide"><table><thead><tr>' + "".join(f"<th>{html.escape(text)}</th>" for text in head),
        "</tr></thead><tbody>",
    ]
    for row in rows:
        lines.append("<tr>" + "".join(cell(text, k == len(row) - 1) for k, text in enumerate(row)) + "</tr>")
    lines.append("</tbody></table></div><dl>")
    lines += [f"<dt>{name}</dt><dd>{html.escape(ABOUT[name])}</dd>" for name in wanted]
    lines.append(f"</dl><p>Made by <code>forerun bench {' '.join(wanted)}</code>.</p></html>")
    return "\n".join(lines) + "\n"
