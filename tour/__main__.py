"""Run the sections of the tour in the order of the chapter, and write the report."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Sequence
from pathlib import Path

import numpy

import forerun
from forerun import npx
from tour import (
    barriers,
    blockers,
    devices,
    graph,
    increments,
    intermediate,
    issue,
    overlap,
    report,
    training,
)
from tour.page import Page

SECTIONS = (issue, graph, barriers, blockers, increments, training, overlap, intermediate, devices)


def arguments(line: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tour",
        description="The book's chapter on asynchronous computation, live, with this machine's own figures.",
    )
    parser.add_argument("--quick", action="store_true", help="fewer batches, sizes and repetitions")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--report",
        metavar="PATH",
        type=Path,
        default=Path("forerun-tour.html"),
        help="where the report goes: %(default)s",
    )
    where.add_argument("--no-report", dest="report", action="store_const", const=None, help="only print")
    chosen = parser.parse_args(line)
    # Fail early instead of after minutes of measuring.
    if chosen.report is not None and not chosen.report.parent.is_dir():
        parser.error(f"there is no folder {chosen.report.parent} to write the report to")
    return chosen


def main() -> None:
    """Run every section."""
    chosen = arguments()
    page = Page(f"Forerun {forerun.__version__}: a tour")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    mode = os.environ.get("FORERUN_ENGINE", "async")
    page.say(
        f"Engine mode: {mode}. Cores this process may use: {cores}. GPUs: {npx.num_gpus()}. "
        f"{platform.system()} on {platform.machine()}, Python {platform.python_version()}, NumPy {numpy.__version__}."
    )
    if chosen.quick:
        page.say("The quick tour: every figure is a single run on little work, and varies from run to run.")
    for section in SECTIONS:
        section.show(page, chosen.quick)
    page.title("In short")
    page.table(["what", "here"], page.findings)
    page.say(
        "docs/start.md has first steps, docs/settings.md the settings, and ARCHITECTURE.md how a line of a program"
        " passes through the engine."
    )
    if chosen.report is not None:
        chosen.report.write_text(report.html(page), encoding="utf-8")
        print(f"\nThe same with plots: {chosen.report}")


if __name__ == "__main__":
    main()
