"""Run MXNet's own unit tests, unmodified, on `forerun.mxnet`, and write what passes and what fails.

Usage::

    python tests/conformance/mxnet_suite.py SUITE [--out docs/conformance] [--limit 30] [--jobs 1] [--seconds S]
        [--outcomes FOLDER] [FILE ...]

SUITE is a checkout of apache/mxnet (its folder ``tests/python`` and ``conftest.py`` suffice). The interpreter must have
forerun, pytest, scipy and the other requirements of the tests. Each process runs a part of a file, ``--jobs`` processes
at a time, and each test has a time limit; a process that ends early is started again with the remaining tests. Skipped
tests, tests that exceed the limit, and tests not reached within ``--seconds`` count as failed. ``--outcomes`` keeps the
outcomes per file in that folder; without FILE all files of the list below run, and with FILE only those, and the
outcomes of the others are read from that folder.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

# The outcome and the reason of each test.
Results = dict[str, tuple[str, str]]
_PREFIX = "tests/python/unittest/"
# How many tests a process is given.
_PART = 100

# The files of engine, exceptions, autograd, arrays, numpy ops, gluon, rnn, loss, metric, optimizer, trainer, data and
# profiler. Symbols, the key-value store, sparse arrays and tests of the C interface are left out.
FILES = (
    "test_autograd", "test_contrib_gluon_data_vision", "test_engine", "test_engine_import", "test_exc_handling",
    "test_gluon", "test_gluon_batch_processor", "test_gluon_control_flow", "test_gluon_data", "test_gluon_estimator",
    "test_gluon_event_handler", "test_gluon_indexing", "test_gluon_model_zoo", "test_gluon_probability_v2",
    "test_gluon_rnn", "test_gluon_save", "test_gluon_trainer", "test_gluon_utils", "test_higher_order_grad",
    "test_image", "test_loss", "test_metric", "test_ndarray", "test_numpy_contrib_gluon_data_vision",
    "test_numpy_default_dtype", "test_numpy_gluon", "test_numpy_gluon_data_vision", "test_numpy_interoperability",
    "test_numpy_loss", "test_numpy_ndarray", "test_numpy_op", "test_optimizer", "test_profiler", "test_random",
    "test_recordio", "test_runtime", "test_test_utils",
)  # fmt: skip


class Suite:
    """A checkout of MXNet's tests, and how to run them."""

    def __init__(self, folder: pathlib.Path, limit: int, until: float) -> None:
        here = pathlib.Path(__file__).resolve().parent
        paths = [str(here), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self.folder = folder / "tests" / "python" / "unittest"
        self.until = until
        self.command = [
            sys.executable, "-m", "pytest", "-q", "-p", "as_mxnet", "-p", "no:cacheprovider", "-c", os.devnull,
            f"--rootdir={folder.resolve()}", f"--limit={limit}", "--tb=short", "-W", "ignore",
        ]  # fmt: skip

    def tests(self, name: str) -> tuple[list[str], str]:
        """Return the tests of a file, and why there are none."""
        listed = subprocess.run(
            [*self.command, "--collect-only", f"{name}.py"],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        tests = [line for line in listed.stdout.splitlines() if line.startswith(f"{_PREFIX}{name}.py::")]
        reason = next((line[2:] for line in listed.stdout.splitlines() if line.startswith("E ")), listed.stdout[-500:])
        return tests, reason.strip()

    def run(self, tests: list[str]) -> Results:
        """Run tests one after another; a process that ends early is started again with the remaining ones."""
        results: Results = {}
        left = tests
        while left and time.monotonic() < self.until:
            with tempfile.TemporaryDirectory() as scratch:
                notes = pathlib.Path(scratch) / "notes"
                notes.touch()
                names = pathlib.Path(scratch) / "names"
                names.write_text("".join(test.removeprefix(_PREFIX) + "\n" for test in left))
                environment = {**self.environment, "MXNET_SUITE_OUTCOMES": str(notes), "MXNET_HOME": scratch}
                try:
                    status = subprocess.run(
                        [*self.command, f"@{names}"],
                        cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                        check=False, timeout=max(1.0, self.until - time.monotonic()),
                    ).returncode  # fmt: skip
                except subprocess.TimeoutExpired:
                    _read(notes, results)
                    break
                last = _read(notes, results)
            if last is not None:
                results[last] = ("failed", f"the process ended with status {status} during the test")
            if not any(test in results for test in left):
                results |= {test: ("failed", f"the process ended with status {status}") for test in left}
            left = [test for test in left if test not in results]
        return results | {
            test: ("failed", "not run: the time for all tests was over") for test in left if test not in results
        }


def run(suite: Suite, names: list[str], jobs: int, outcomes: pathlib.Path) -> None:
    """Run files, several processes at a time, and write the outcome of each test."""
    outcomes.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool:
        listed = dict(zip(names, pool.map(suite.tests, names), strict=True))
        parts = {
            name: [pool.submit(suite.run, tests[i : i + _PART]) for i in range(0, len(tests), _PART)]
            for name, (tests, _) in listed.items()
        }
        for name, (tests, reason) in listed.items():
            results: Results = {} if tests else {f"{_PREFIX}{name}.py::(collection)": ("failed", reason)}
            for part in parts[name]:
                results |= part.result()
            (outcomes / f"{name}.json").write_text(json.dumps(results, indent=1))


def _read(notes: pathlib.Path, results: Results) -> str | None:
    """Read the notes of a process; return the test that it was in when it ended, if any."""
    running = None
    for line in notes.read_text().splitlines():
        row = json.loads(line)
        if row["when"] == "start":
            running = row["test"]
            continue
        before = results.get(row["test"], ("passed", ""))
        good = row["outcome"] == "passed" or (row["xfail"] and row["outcome"] == "skipped")
        results[row["test"]] = before if good and before[0] == "passed" else ("failed", before[1] or row["reason"])
    return running if running is not None and running not in results else None


def grouped(failures: dict[str, str]) -> list[str]:
    """List the failures by reason."""
    groups: dict[str, list[str]] = collections.defaultdict(list)
    for test, reason in failures.items():
        first = next((line.strip() for line in reason.splitlines() if line.strip()), "no message")
        # Numbers and addresses differ between tests that fail for the same reason.
        key = re.sub(r"0x[0-9a-f]+|-?\d+\.\d+(e[-+]?\d+)?|\b\d{3,}\b", "…", first)[:160]
        groups[key].append(test)
    lines = []
    for reason, tests in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        functions = collections.Counter(test.split("[")[0] for test in tests)
        lines.append(f"- {len(tests)}: `{reason.replace('`', chr(39))}`")
        lines += [
            f"  - `{test}`" + (f" ({count} cases)" if count > 1 else "") for test, count in sorted(functions.items())
        ]
    return lines


def report(outcomes: pathlib.Path, limit: int) -> tuple[str, float]:
    """Write the table and the failures; return them with the share of tests that pass."""
    results: dict[str, Results] = {}
    for name in FILES:
        path = outcomes / f"{name}.json"
        if path.exists():
            results[name] = json.loads(path.read_text())
    rows, total, good = [], 0, 0
    for name, tests in results.items():
        passed = sum(outcome == "passed" for outcome, _ in tests.values())
        rows.append(f"| {name}.py | {len(tests)} | {passed} | {len(tests) - passed} | {passed / len(tests):.0%} |")
        total, good = total + len(tests), good + passed
    share = good / max(total, 1)
    lines = [
        "# MXNet's unit tests",
        "",
        f"`python tests/conformance/mxnet_suite.py SUITE --limit {limit}`, where SUITE is a checkout of apache/mxnet "
        "(version 2, master), ran the unmodified files below with `import mxnet` resolved by "
        "`forerun.mxnet.install()`. Skipped tests and tests that took longer than the limit count as failed. "
        "Files of symbols, the key-value store, sparse arrays and the C interface are left out.",
        "",
        versions() + ".",
        "",
        "| file | tests | passed | failed | share |",
        "|---|---|---|---|---|",
        *rows,
        f"| **all** | {total} | {good} | {total - good} | {share:.1%} |",
        "",
        "## Failures by reason",
        "",
    ]
    for name, tests in results.items():
        failures = {test.split("::", 1)[1]: reason for test, (outcome, reason) in tests.items() if outcome != "passed"}
        if failures:
            lines += [f"### {name}.py", "", *grouped(failures), ""]
    return "\n".join(lines).rstrip() + "\n", share


def versions() -> str:
    """Return the names and versions of what ran."""
    import numpy

    import forerun

    return f"forerun {forerun.__version__}, NumPy {numpy.__version__}, CPython {sys.version.split()[0]}"


def main() -> int:
    """Run, write and print; return an exit status that tells whether 85 % pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=pathlib.Path)
    parser.add_argument("files", nargs="*", default=[])
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--limit", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e6)
    parser.add_argument("--outcomes", type=pathlib.Path)
    args = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as scratch:
        outcomes = (args.outcomes or pathlib.Path(scratch)).resolve()
        suite = Suite(args.suite.resolve(), args.limit, time.monotonic() + args.seconds)
        run(suite, [name.removesuffix(".py") for name in args.files or FILES], args.jobs, outcomes)
        text, share = report(outcomes, args.limit)
    print(text)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        (args.out / "mxnet-tests.md").write_text(text)
    return 0 if share >= 0.85 else 1


if __name__ == "__main__":
    sys.exit(main())
