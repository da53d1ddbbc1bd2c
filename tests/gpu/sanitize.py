"""One sample of every op under compute-sanitizer: ``python tests/gpu/sanitize.py [PROCESSES]``.

``memcheck`` runs on all of them, ``racecheck`` on those whose kernels use shared memory: all that are not pointwise,
except for Fourier transforms, which use cuFFT. It needs compute-sanitizer in addition to the requirements of
``tests/gpu/suite.py``. Prints one line per process, then the number of ops checked and errors found.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
# The time limit of a process, in seconds.
LIMIT = int(os.environ.get("FORERUN_TEST_LIMIT", "300"))


def look(tool: str, part: int, parts: int) -> None:
    """Run one sample of every op of this part. The first is in single precision, if the op takes it."""
    sys.path.insert(0, str(ROOT / "tests/python"))
    import test_samples

    from forerun import npx

    chosen: dict[str, tuple[dict[str, object], str]] = {}
    for _, sample, dtype in test_samples.GOOD:
        if sample["op"] not in chosen or (dtype == "float32" and chosen[sample["op"]][1] != dtype):
            chosen[sample["op"]] = sample, dtype
    shares = [op for op in chosen if op not in test_samples.POINTWISE and "fft" not in op]
    ops = sorted(chosen if tool == "memcheck" else shares)
    with npx.gpu(0):
        for op in ops[part::parts]:
            for result in test_samples.call(*chosen[op]):
                result.asnumpy()
            print("looked at", op, flush=True)


def run(job: tuple[str, int, int]) -> tuple[str, int, int]:
    """Run one process; return the number of ops checked and of errors found."""
    tool, part, _ = job
    begun = time.perf_counter()
    command = [TOOL, "--tool", tool, sys.executable, __file__, "--look", *map(str, job)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        text, code = result.stdout + result.stderr, result.returncode
    except subprocess.TimeoutExpired as stopped:
        text, code = (stopped.stdout or b"").decode(), -1
    looked = len(re.findall(r"^looked at ", text, re.MULTILINE))
    summary = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)", text)
    errors = int(summary[1]) if summary else 0
    print(f"{tool} {part + 1:2}: {looked:3} ops, {errors} errors, {time.perf_counter() - begun:6.1f} s", flush=True)
    if code != 0 or errors or not summary:
        print(f"  ended with {code}\n" + "\n".join(text.splitlines()[-30:]), flush=True)
    return tool, looked, errors if summary and code == 0 else errors + 1


def main() -> int:
    """Distribute the ops over processes and add up the counts."""
    parts = int(sys.argv[1]) if len(sys.argv) > 1 else max(1, (os.cpu_count() or 2) - 1)
    jobs = [(tool, part, parts) for tool in ("memcheck", "racecheck") for part in range(parts)]
    with ThreadPoolExecutor(parts) as pool:
        done = list(pool.map(run, jobs))
    for tool in ("memcheck", "racecheck"):
        looked, errors = (sum(entry[n] for entry in done if entry[0] == tool) for n in (1, 2))
        print(f"{tool}: {looked} ops, {errors} errors")
    return 1 if any(errors for _, _, errors in done) else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--look"]:
        look(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        sys.exit(main())
