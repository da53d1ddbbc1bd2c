"""The Python test suite on an NVIDIA GPU: ``python tests/gpu/suite.py [PROCESSES]``.

It needs the installed package, NumPy, pytest and hypothesis; exchange is tested with PyTorch and CuPy if they are
installed. Every file runs in its own process, PROCESSES at a time. Prints one line per file, then ``N passed, N
failed``.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
ON_THE_GPU = {"FORERUN_TEST_DEVICE": "gpu"}
# The time limit of a file in seconds; with an empty cache most of the time goes to compiling kernels.
LIMIT = int(os.environ.get("FORERUN_TEST_LIMIT", "500"))
# Samples need one kernel each, so they are split into parts.
PARTS = 8
sys.path.insert(0, str(ROOT / "tests/python"))


def jobs() -> list[tuple[str, list[str]]]:
    """Return the jobs: a name and the arguments of pytest, longest first."""
    from test_devices import ANYWHERE

    python = "tests/python"
    samples = f"{python}/test_samples.py"
    ops = sorted({sample["op"] for sample in json.loads((ROOT / python / "samples.json").read_text("utf-8"))})
    made = [
        (f"samples {part + 1}", [f"{samples}::test_against_numpy[{op}]" for op in ops[part::PARTS]])
        for part in range(PARTS)
    ]
    made += [
        ("samples that fail", [samples, "-k", "fails or dropout"]),
        ("programs", [f"{python}/test_programs.py", "-k", "not sync"]),
        ("chapter", [f"{python}/test_chapter.py"]),
        ("exchange", ["tests/gpu/python"]),
    ]
    # A lane has its own share of the events that a thread recorded.
    made += [(name, [f"{python}/test_{name}.py", "-k", "not newest_win"]) for name in ANYWHERE]
    return made


def run(job: tuple[str, list[str]]) -> tuple[int, int]:
    """Run one job, print its outcome, and return the numbers of passed and failed tests."""
    name, args = job
    begun = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "--quiet", "--tb=short", "-p", "no:cacheprovider", *args]
    try:
        environment = {**os.environ, **ON_THE_GPU}
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, cwd=ROOT, env=environment, check=False
        )
        text, code = result.stdout + result.stderr, result.returncode
    except subprocess.TimeoutExpired as stopped:
        text = (stopped.stdout or b"").decode() + f"\nstopped after {LIMIT} s"
        code = -1
    counts = {kind: int(n) for n, kind in re.findall(r"(\d+) (passed|failed|errors?|skipped)", text)}
    passed = counts.get("passed", 0)
    failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    # A process that crashed counts as failed, whatever it reported.
    failed = max(failed, int(code not in (0, 5)))
    seconds, skipped = time.perf_counter() - begun, counts.get("skipped", 0)
    print(f"{name:20}{passed:7} passed{failed:5} failed{skipped:5} skipped{seconds:8.1f} s", flush=True)
    if failed:
        print("\n".join(text.splitlines()[-60:]), flush=True)
    return passed, failed


def main() -> int:
    """Run all jobs."""
    with ThreadPoolExecutor(int(sys.argv[1]) if len(sys.argv) > 1 else 4) as pool:
        counts = list(pool.map(run, jobs()))
    passed, failed = map(sum, zip(*counts, strict=True))
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
