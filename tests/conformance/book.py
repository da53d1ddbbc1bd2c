"""Run the MXNet programs of *Dive into Deep Learning* on Forerun, and write which sections run.

Usage::

    python tests/conformance/book.py MIRROR [SECTION...] [--scratch FOLDER] [--timeout 300] [--out docs/conformance]

MIRROR is a clone of d2l-ai/d2l-en, with or without a work tree. A SECTION is part of a path such as
``chapter_optimization/adam``; without any, all sections run. The interpreter must have forerun, the published package
``d2l`` (``pip install --no-deps d2l``), ipython, matplotlib, matplotlib-inline, pandas before version 3, pillow,
requests and scipy. Each section runs in its own process and folder. Its MXNet cells run unedited, with ``import mxnet``
answered by `forerun.mxnet.install`, and downloads by the files of `book_data.py`. ``--out`` writes ``book.md`` there,
unless sections are named. Reports and outputs stay in the scratch folder.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from typing import Any

import book_data
from book_section import cells

HERE = pathlib.Path(__file__).resolve().parent
# Sections with a home folder of their own: those that scale images to 224 or 96 pixels take fewer images, and one counts
# on the size of the test set.
HOMES = {
    "geometry-linear-algebraic-ops": "full",
    **dict.fromkeys(("alexnet", "vgg", "nin", "googlenet", "resnet", "densenet", "cnn-design"), "small"),
}


def chapters(mirror: pathlib.Path, folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """Unpack the text and the pictures of the book, and return the sections with MXNet cells by name."""

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", "-C", mirror, *arguments], check=True, capture_output=True).stdout

    sections = {}
    for name in git("ls-tree", "-r", "--name-only", "HEAD").decode().splitlines():
        path = folder / name
        chapter = name.startswith("chapter_") and name.endswith(".md")
        if chapter or (name.startswith("img/") and name.endswith(".jpg")):
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_bytes(git("show", f"HEAD:{name}"))
        if chapter and cells(path.read_text()) is not None:
            sections[name.removesuffix(".md")] = path
    return sections


def environment(data: pathlib.Path, name: str) -> dict[str, str]:
    """Return the variables of a section's process.

    The home folder holds the generated data sets. The book's programs name two GPUs; where there are none, they are simulated.
    """
    home = data / HOMES.get(name.split("/")[-1], "home")
    folders = {"HOME": str(home), "MPLCONFIGDIR": str(data / "matplotlib"), "IPYTHONDIR": str(data / "ipython")}
    return {"FORERUN_SIM_GPUS": "2", **os.environ, **folders}


def patiently(child: subprocess.Popen[bytes], timeout: float) -> int | None:
    """Wait for a process; return its status, or None after the timeout, which does not count while all is suspended."""
    for _ in range(int(timeout)):
        try:
            return child.wait(1)
        except subprocess.TimeoutExpired:
            pass
    return None


def run(path: pathlib.Path, name: str, data: pathlib.Path, timeout: float) -> dict[str, Any]:
    """Run a section; return its report."""
    stem = name.replace("/", "--").removeprefix("chapter_")
    reports = data / "reports"
    reports.mkdir(exist_ok=True)
    report, log = reports / f"{stem}.json", reports / f"{stem}.txt"
    report.unlink(missing_ok=True)
    command = [sys.executable, HERE / "book_section.py", path, data, report]
    with log.open("w") as out:
        child = subprocess.Popen(
            command, cwd=path.parent, env=environment(data, name), stdout=out, stderr=out, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            code = patiently(child, timeout)
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)  # Also ends workers that the section left behind.
            except ProcessLookupError:
                pass
            child.wait()
    if report.exists():
        return json.loads(report.read_text())
    at = log.read_text(errors="replace").count("--- cell ")
    error = f"cell {at}: " + (f"more than {timeout:.0f} s" if code is None else f"the process ended with status {code}")
    return {"cells": 0, "ran": max(at - 1, 0), "error": error, "seconds": [], "losses": {}}


def falls(series: list[float]) -> bool:
    """Return whether the last quarter of a series is below its first."""
    part = max(1, len(series) // 4)
    return sum(series[-part:]) < sum(series[:part])


def losses(report: dict[str, Any]) -> str:
    """Describe the losses: where each begins and ends, and which do not fall."""
    found = []
    for label, series in report["losses"].items():
        if len(series) > 1:
            found.append(f"{label} {series[0]:.3g} → {series[-1]:.3g}" + ("" if falls(series) else " **does not fall**"))
    return "; ".join(found[:6]) + (f"; {len(found) - 6} more" if len(found) > 6 else "")


def table(reports: dict[str, dict[str, Any]], commit: str) -> str:
    """Return the page: a count, a row for each section."""
    ran = sum(not report["error"] for report in reports.values())
    lines = [
        "# The book *Dive into Deep Learning*",
        "",
        "Written by `python tests/conformance/book.py MIRROR --out docs/conformance`, which explains the conditions.",
        f"d2l-ai/d2l-en at {commit}. Data sets are small generated files, so losses and accuracies are not the book's.",
        "",
        f"**{ran} of {len(reports)} sections with MXNet cells run.** A section runs if none of its cells raises.",
        "",
        "| section | result | seconds | losses, by plot |",
        "|---|---|---|---|",
    ]
    for name, report in reports.items():
        error = " ".join(report["error"].split()).replace("|", "\\|")[:240]
        result = f"{report['ran']} cells" if not error else f"**{error}**"
        lines.append(f"| {name.removeprefix('chapter_')} | {result} | {sum(report['seconds']):.0f} | {losses(report)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run the sections."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirror", type=pathlib.Path)
    parser.add_argument("sections", nargs="*")
    parser.add_argument("--scratch", type=pathlib.Path)
    parser.add_argument("--timeout", type=float, default=300)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_intermixed_args()
    data = (args.scratch or pathlib.Path(tempfile.mkdtemp())).resolve()
    data.mkdir(parents=True, exist_ok=True)
    if not (data / "files" / "bert-vocab.json").exists():
        book_data.main(data)
    subprocess.run([sys.executable, HERE / "book_weights.py", data], check=True)
    sections = chapters(args.mirror, data / "book")
    chosen = {
        name: path
        for name, path in sections.items()
        if not args.sections or any(part in name for part in args.sections)
    }
    reports = {}
    for name, path in chosen.items():
        reports[name] = run(path, name, data, args.timeout)
        seconds = sum(reports[name]["seconds"])
        print(f"{name}: {reports[name]['error'] or 'ran'} ({seconds:.0f} s) {losses(reports[name])}", flush=True)
    failed = [name for name, report in reports.items() if report["error"]]
    print(f"{len(reports) - len(failed)} of {len(reports)} sections ran")
    if args.out and not args.sections:
        commit = subprocess.run(["git", "-C", args.mirror, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        (args.out / "book.md").write_text(table(reports, commit.stdout.strip()[:12]))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
