"""Read damaged files of every format: for any bytes, reading succeeds or raises a ValueError with the name of the file.

Run as a program, it mutates files and prints how many were read and how many were refused::

    python tests/python/fuzzing.py --rounds 100000 --jobs 2 npz onnx

Without names it runs all formats. While a file is read, these are failures: any other exception, a crash, more memory
than the length of the file justifies, more than ``LONGEST`` seconds of CPU time, a program or code that is executed, an
import of anything outside the package and its libraries, and a file that is opened for writing. A failing file is kept.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import faulthandler
import json
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
import traceback
import tracemalloc
import warnings
from typing import Any

import numpy
from fuzzed_formats import FORMATS, SLACK, Format
from mutations import anywhere

# Named tuples execute code, so modules that readers import late are imported here.
from forerun import _forerun, _npy, _npz, _params, memory_stats, npx  # noqa: F401

# Seconds of CPU time for a file; a file of these sizes takes milliseconds.
LONGEST = 5.0
# Seconds after which a process that has not read a hundred files is ended.
HANGING = 120.0
# Python objects and arrays that reading may make, in bytes for each byte of the file.
PER_BYTE = 64
# The address space that a process may use in addition to what it has after reading valid files.
SPACE = 512 << 20
# Failures after which a process stops.
MOST_FAILURES = 10
# What code and programs raise as audit events.
FORBIDDEN: tuple[str, ...] = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "pickle.find_class",
    "socket.",
)
FORBIDDEN += ("marshal.loads", "ctypes.", "os.remove", "os.rename", "shutil.")


class Watch:
    """Notes what must not happen while a file is read."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.on = False
        self.seen: list[str] = []
        self._folder = str(folder)
        roots = [sysconfig.get_path("stdlib"), *map(os.path.dirname, (_forerun.__file__, numpy.__file__)), "<"]
        self._roots = tuple(roots)
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open":
            path, mode, _ = arguments
            if mode is not None and set("wax+").intersection(mode) and not str(path).startswith(self._folder):
                self.seen.append(f"open {path} {mode}")
        elif event == "exec":
            # Modules that are imported late.
            file = getattr(arguments[0], "co_filename", "")
            if not file.startswith(self._roots) or file == "<string>":
                self.seen.append(f"exec {file}")
        elif event.startswith(FORBIDDEN):
            self.seen.append(event)


def job(name: str, rounds: int, seed: int, keep: pathlib.Path) -> dict[str, Any]:
    """Read damaged files in this process; return the counts."""
    warnings.simplefilter("ignore")
    failures: list[str] = []
    kinds: set[str | None] = set()
    counts = {"read": 0, "refused": 0, "slowest": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        made = FORMATS[name](pathlib.Path(folder))
        dice = random.Random(seed)
        # Imports at the first files are not counted.
        for file in [*made.files, *(anywhere(made.files, dice) for _ in range(20))]:
            try:
                made.read(file, dice)
            except ValueError:
                assert file not in made.files, "a valid file is refused"
        watch = Watch(pathlib.Path(folder))
        _limit_space()
        for number in range(rounds):
            if number % 100 == 0:
                faulthandler.dump_traceback_later(HANGING, exit=True)
            data = dice.choice(made.mutations)(made.files, dice)
            problem = _one(made, data, dice, watch, counts, number % 25 == 0)
            # A failure is described once.
            kind = problem and re.sub(r"\d+", "", problem[-200:])
            if problem is not None and kind not in kinds:
                kinds.add(kind)
                place = keep / f"{name}-{seed}-{number}"
                place.write_bytes(data)
                failures.append(f"{place}: {problem}")
                if len(failures) == MOST_FAILURES:
                    break
        faulthandler.cancel_dump_traceback_later()
        npx.waitall()
        for file in made.files:
            made.read(file, dice)
    return {**counts, "failures": failures}


def _limit_space() -> None:
    # The address sanitizer reserves terabytes.
    if not sys.platform.startswith("linux") or "asan" in os.environ.get("LD_PRELOAD", ""):
        return
    pages = int(pathlib.Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + SPACE
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _one(
    made: Format, data: bytes, dice: random.Random, watch: Watch, counts: dict[str, float], traced: bool
) -> str | None:
    """Read one file; return what is wrong, or None."""
    problem = None
    before = memory_stats(0)["allocated"]["bytes"]
    if traced:
        tracemalloc.start()
    watch.on = True
    begin = time.process_time()
    try:
        made.read(data, dice)
        counts["read"] += 1
    except ValueError as error:
        counts["refused"] += 1
        text = str(error)
        if type(error) is not ValueError or not any(name in text for name in made.named) or "panicked" in text:
            problem = traceback.format_exc()
    except made.others:
        counts["refused"] += 1
    except BaseException:
        problem = traceback.format_exc()
    spent = time.process_time() - begin
    watch.on = False
    peak = tracemalloc.get_traced_memory()[1] if traced else 0
    if traced:
        tracemalloc.stop()
    taken = memory_stats(0)["allocated"]["bytes"] - before
    counts["slowest"] = max(counts["slowest"], spent)
    if watch.seen:
        problem = f"not only read: {watch.seen}"
        watch.seen = []
    if peak > PER_BYTE * len(data) + SLACK:
        problem = f"{peak} bytes of Python objects for a file of {len(data)} bytes"
    if taken > PER_BYTE * len(data) + made.allowance:
        problem = f"{taken} bytes of arrays for a file of {len(data)} bytes"
    if spent > LONGEST:
        problem = f"{spent:.1f} s for a file of {len(data)} bytes"
    return problem


def run(name: str, rounds: int, jobs: int, seed: int, keep: pathlib.Path) -> dict[str, Any]:
    """Read damaged files in several processes; return the counts and failures of all."""
    shares = [rounds // jobs + (number < rounds % jobs) for number in range(jobs)]

    def child(number: int) -> dict[str, Any]:
        command = [sys.executable, "-X", "faulthandler", __file__, "--child", "--rounds", str(shares[number])]
        command += ["--seed", str(seed + number), "--keep", str(keep), name]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            failure = f"seed {seed + number}: the process ended with {ran.returncode}:\n{ran.stderr[-4000:]}"
            return {"read": 0, "refused": 0, "slowest": 0.0, "failures": [failure]}
        found: dict[str, Any] = json.loads(ran.stdout)
        return found

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        parts = list(pool.map(child, range(jobs)))
    return {
        "read": sum(part["read"] for part in parts),
        "refused": sum(part["refused"] for part in parts),
        "slowest": max(part["slowest"] for part in parts),
        "failures": [failure for part in parts for failure in part["failures"]],
    }


def main() -> int:
    """Run the formats that the command line names."""
    parser = argparse.ArgumentParser(description="Read damaged files.")
    parser.add_argument("formats", nargs="*", choices=[*FORMATS, []], metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument("--rounds", type=int, default=100_000, help="mutations of each format")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--keep", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()), help="where failing files go"
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(job(given.formats[0], given.rounds, given.seed, given.keep)))
        return 0
    failed = 0
    print(f"{'format':12} {'mutations':>9} {'read':>8} {'refused':>8} {'failures':>8} {'slowest ms':>10} {'s':>6}")
    for name in given.formats or FORMATS:
        begin = time.perf_counter()
        found = run(name, given.rounds, given.jobs, given.seed, given.keep)
        spent = time.perf_counter() - begin
        count, failures = found["read"] + found["refused"], found["failures"]
        row = f"{name:12} {count:9} {found['read']:8} {found['refused']:8} {len(failures):8}"
        print(f"{row} {found['slowest'] * 1e3:10.1f} {spent:6.0f}", flush=True)
        for failure in failures:
            print(failure)
        failed += bool(failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
