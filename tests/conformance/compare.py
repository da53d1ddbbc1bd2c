"""Run the array API's own test suite on `forerun.np` and on peers, and print where they differ.

Usage::

    python tests/conformance/compare.py SUITE [--examples 200] [--version 2024.12] [--out docs/conformance]
        [--reports FOLDER] [--jobs 1]

SUITE is a checkout of data-apis/array-api-tests with its submodule. The interpreter must have forerun, numpy,
array-api-strict and the requirements of the suite (pytest, pytest-json-report, hypothesis, ndindex). Each module runs
in its own process. ``--out`` writes the table to ``array-api.md`` in that folder. ``--reports`` keeps the reports
there; a peer with an existing report is not run again. Several ``--jobs`` need pytest-xdist. The script fails if
`forerun.np` fails a test that a peer passes.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

OURS = "forerun.np"
PEERS = ("numpy", "array_api_strict")


def run(args: argparse.Namespace, module: str, reports: pathlib.Path) -> dict[str, str]:
    """Run the suite on a module; return the outcome of each test by its name."""
    report = reports.resolve() / f"{module}-{args.version}-{args.examples}.json"
    if module == OURS or not report.exists():
        paths = [str(pathlib.Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            "ARRAY_API_TESTS_MODULE": module,
            "ARRAY_API_TESTS_VERSION": args.version,
            "PYTHONPATH": os.pathsep.join(paths),
        }
        command = [
            sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-p", "patient", "--tb=no",
            f"--max-examples={args.examples}", "--json-report", f"--json-report-file={report}", "array_api_tests",
        ]  # fmt: skip
        command += ["-n", str(args.jobs)] if args.jobs > 1 else []
        subprocess.run(command, cwd=args.suite, env=environment, stdout=subprocess.DEVNULL, check=False)
    tests = json.loads(report.read_text())["tests"]
    return {test["nodeid"].removeprefix("array_api_tests/"): test["outcome"] for test in tests}


def is_bad(outcome: str) -> bool:
    """Return whether a test failed or could not be run."""
    return outcome in ("failed", "error")


def versions() -> str:
    """Return the names and versions of the compared modules."""
    import array_api_strict
    import numpy

    import forerun

    return (
        f"forerun {forerun.__version__}, NumPy {numpy.__version__}, "
        f"array_api_strict {array_api_strict.__version__}, CPython {sys.version.split()[0]}"
    )


def table(outcomes: dict[str, dict[str, str]]) -> list[str]:
    """Return the counts of outcomes per file of the suite."""
    files = sorted({name.split("::")[0] for results in outcomes.values() for name in results})
    lines = ["| file | " + " | ".join(outcomes) + " |", "|---|" + "---|" * len(outcomes)]
    for file in [*files, ""]:
        cells = []
        for results in outcomes.values():
            here = [outcome for name, outcome in results.items() if name.startswith(file)]
            bad = sum(map(is_bad, here))
            cells.append(f"{here.count('passed')} passed, {bad} failed, {here.count('skipped')} skipped")
        lines.append(f"| {file or '**all**'} | " + " | ".join(cells) + " |")
    return lines


def main() -> int:
    """Compare and print; return an exit status that tells whether a peer passes more."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=pathlib.Path)
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--version", default="2024.12")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--reports", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        reports = args.reports or pathlib.Path(scratch)
        reports.mkdir(parents=True, exist_ok=True)
        outcomes = {module: run(args, module, reports) for module in (OURS, *PEERS)}
    behind = [
        (name, [peer for peer in PEERS if outcomes[peer].get(name) == "passed"])
        for name, outcome in outcomes[OURS].items()
        if is_bad(outcome) and any(outcomes[peer].get(name) == "passed" for peer in PEERS)
    ]
    ahead = {name for name, _ in behind}
    alone = sorted(name for name, outcome in outcomes[OURS].items() if is_bad(outcome) and name not in ahead)
    told = f"python tests/conformance/compare.py SUITE --examples {args.examples} --version {args.version}"
    lines = [
        "# The array API's test suite",
        "",
        f"`{told}`, where SUITE is a checkout of data-apis/array-api-tests, printed:",
        "",
        versions() + ".",
        "",
        *table(outcomes),
        "",
        f"Tests that `{OURS}` fails and a peer passes: {len(behind)}.",
        "",
        *(f"- `{name}` ({', '.join(peers)})" for name, peers in sorted(behind)),
        "",
        f"Tests that `{OURS}` fails and no peer passes: {len(alone)}.",
        "",
        *(f"- `{name}`" for name in alone),
    ]
    text = "\n".join(lines).rstrip() + "\n"
    print(text)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "array-api.md").write_text(text)
    return 1 if behind else 0


if __name__ == "__main__":
    sys.exit(main())
