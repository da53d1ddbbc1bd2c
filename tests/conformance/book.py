"""Run the MXNet programs of *Dive into Deep Learning* on Forerun, and write which sections run.

Usage::

    python tests/conformance/book.py MIRROR [SECTION...] [--scratch FOLDER] [--timeout 300] [--out docs/conformance]

MIRROR is a clone of d2l-ai/d2l-en, with or without a work tree. A SECTION is part of a path such as
``chapter_optimization/adam``; without any, all sections run. The interpreter must have forerun, the published package
``d2l`` (``pip install --no-deps d2l``), ipython, matplotlib, matplotlib-inline, pandas before version 3, pillow,
requests and scipy. Each section runs in its own process and folder. Its MXNet cells run unedited, with ``import mxnet``
answered by `forerun.mxnet.install`, and downloads by the files of `book_data.py`. ``--out`` writes ``book.md`` there,
from the newest reports of all sections. Reports stay in the scratch folder, so sections can be run one by one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from typing import Any

from book_section import cells

HERE = pathlib.Path(__file__).resolve().parent
# Sections with a home folder of their own: those whose networks need many operations per image take few images, and
# one counts on the size of the test set.
HOMES = {
    "geometry-linear-algebraic-ops": "full",
    **dict.fromkeys(
        ("alexnet", "vgg", "nin", "googlenet", "resnet", "densenet", "cnn-design", "multiple-gpus-concise"), "small"
    ),
}

# Why a section may have no report, for the page. The counts of images are the smallest that work: the training loops
# divide by the number of batches per epoch over five.
LONG = {
    "computer-vision/fine-tuning": "57 TFLOP: ResNet-18 at 224 pixels, 520 images, 10 epochs",
    "computer-vision/image-augmentation": "34 TFLOP: ResNet-18, 1025 images, 10 epochs",
    "computer-vision/kaggle-cifar10": "50 TFLOP: ResNet-18, 760 images, 20 epochs",
    "computer-vision/kaggle-dog": "28 TFLOP: ResNet-34 at 224 pixels, 384 images, 10 epochs",
    "computer-vision/neural-style": "100 TFLOP or more: VGG-19 at 300 x 450 pixels, 500 steps",
}
# Labels of losses that may rise.
UNJUDGED = ("val", "test", "discriminator", "generator")


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

    The home folder holds the generated data sets. Where there are no GPUs, the two that the book names are simulated.
    """
    home = data / HOMES.get(name.split("/")[-1], "home")
    folders = {"HOME": str(home), "MPLCONFIGDIR": str(data / "matplotlib"), "IPYTHONDIR": str(data / "ipython")}
    return {"FORERUN_SIM_GPUS": "2", "FORERUN_SIM_MEMORY": str(8 << 30), **os.environ, **folders}


def patiently(child: subprocess.Popen[bytes], timeout: float) -> int | None:
    """Wait for a process; return its status, or None after the timeout, which does not count while all is suspended."""
    for _ in range(int(timeout)):
        try:
            return child.wait(1)
        except subprocess.TimeoutExpired:
            pass
    return None


def files_of(name: str, data: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Return the paths of a section's report and output."""
    stem = name.replace("/", "--").removeprefix("chapter_")
    return data / "reports" / f"{stem}.json", data / "reports" / f"{stem}.txt"


def run(path: pathlib.Path, name: str, data: pathlib.Path, timeout: float) -> dict[str, Any]:
    """Run a section; return its report."""
    report, log = files_of(name, data)
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    command = [sys.executable, HERE / "book_section.py", path, data, report]
    with log.open("w") as out:
        child = subprocess.Popen(
            command,
            cwd=path.parent,
            env=environment(data, name),
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = patiently(child, timeout)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # Also ends workers that the section left behind.
            child.wait()
    if not report.exists():
        at = log.read_text(errors="replace").count("--- cell ")
        what = f"more than {timeout:.0f} s" if code is None else f"the process ended with status {code}"
        ended = {"cells": 0, "ran": max(at - 1, 0), "error": f"cell {at}: {what}", "seconds": [], "losses": {}}
        report.write_text(json.dumps(ended))
    found: dict[str, Any] = json.loads(report.read_text())
    return found


def falls(series: list[float]) -> bool:
    """Return whether the last quarter of a series is below its first."""
    part = max(1, len(series) // 4)
    return sum(series[-part:]) < sum(series[:part])


def losses(report: dict[str, Any]) -> str:
    """Describe the losses: where each begins and ends, and which do not fall.

    Losses of validation may rise, because the data sets are small, and so may those of opponents.
    """
    found = []
    for label, series in report["losses"].items():
        if len(series) > 1:
            well = label.startswith(UNJUDGED) or falls(series)
            found.append(f"{label} {series[0]:.3g} → {series[-1]:.3g}" + ("" if well else " **does not fall**"))
    return "; ".join(found[:6]) + (f"; {len(found) - 6} more" if len(found) > 6 else "")


def table(reports: dict[str, dict[str, Any] | None], commit: str) -> str:
    """Return the page: a count, a row for each section."""
    ran = sum(report is not None and not report["error"] for report in reports.values())
    left = sum(report is None for report in reports.values())
    lines = [
        "# The book *Dive into Deep Learning*",
        "",
        "Written by `python tests/conformance/book.py MIRROR --out docs/conformance`, which explains the conditions.",
        f"d2l-ai/d2l-en at {commit}. Data sets are small generated files, so losses and accuracies are not the book's.",
        "",
        f"**{ran} of {len(reports)} sections with MXNet cells run**, {left} were not tried.",
        "A section runs if none of its cells raises. The seconds are of a machine that ran other programs too.",
        "The losses must fall, except those of validation and tests, because the data sets are small, and those of the",
        "two networks of a GAN, which are opponents.",
        "",
        "| section | result | seconds | losses, by plot |",
        "|---|---|---|---|",
    ]
    for name, report in reports.items():
        if report is None:
            reason = LONG.get(name.removeprefix("chapter_"), "")
            row = f"**not tried** {reason} | |".replace("  ", " ")
        else:
            error = " ".join(report["error"].split()).replace("|", "\\|")[:240]
            result = f"**{error}**" if error else f"{report['ran']} cells"
            row = f"{result} | {sum(report['seconds']):.0f} | {losses(report)}"
        lines.append(f"| {name.removeprefix('chapter_')} | {row} |")
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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # Ends the running section too.
    data = (args.scratch or pathlib.Path(tempfile.mkdtemp())).resolve()
    data.mkdir(parents=True, exist_ok=True)
    if not (data / "files" / "bert-vocab.json").exists():
        subprocess.run([sys.executable, HERE / "book_data.py", data], check=True)
    subprocess.run([sys.executable, HERE / "book_weights.py", data], check=True)
    sections = chapters(args.mirror, data / "book")
    failed = 0
    for name, path in sections.items():
        if not args.sections or any(part in name for part in args.sections):
            report = run(path, name, data, args.timeout)
            failed += bool(report["error"])
            seconds = sum(report["seconds"])
            print(f"{name}: {report['error'] or 'ran'} ({seconds:.0f} s) {losses(report)}", flush=True)
    if args.out:
        kept = {name: files_of(name, data)[0] for name in sections}
        reports = {name: json.loads(path.read_text()) if path.exists() else None for name, path in kept.items()}
        commit = subprocess.run(
            ["git", "-C", args.mirror, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
        )
        (args.out / "book.md").write_text(table(reports, commit.stdout.strip()[:12]))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
