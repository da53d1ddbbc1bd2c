"""Environment settings: honoured, or named in an error if they are invalid."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Run

pytestmark = pytest.mark.usefixtures("once")

# Computes, then counts the engine's threads by name.
THREADS = """
import os
from forerun import np, npx

x = np.random.normal(size=(700, 700))
y = [x @ x for _ in range(40)]
npx.waitall()
names = []
for task in os.listdir("/proc/self/task"):
    with open(f"/proc/self/task/{task}/comm") as comm:
        names.append(comm.read())
print(sum(name.startswith("forerun-") for name in names))
"""

BAD = [
    ("FORERUN_NUM_THREADS", "many"),
    ("FORERUN_NUM_THREADS", "0"),
    ("FORERUN_ENGINE", "fast"),
    ("FORERUN_ENGINE", "seeded:x"),
    ("FORERUN_FUSE", "off"),
    ("FORERUN_DROP_DEAD", "no"),
    ("FORERUN_INTRA_OP", "2"),
    ("FORERUN_BUDGET", "2GiB"),
    ("FORERUN_PREFETCH", "-1"),
    ("FORERUN_TINY", "x"),
    ("FORERUN_WINDOW", "1"),
    ("FORERUN_WINDOW", "4294967296"),
    ("FORERUN_WINDOW", "18446744073709551615"),
    ("FORERUN_ISA", "sse"),
    ("FORERUN_JIT", "off"),
]


@pytest.mark.parametrize(("name", "value"), BAD)
def test_what_makes_no_sense_is_named_and_passed_over(run: Run, name: str, value: str) -> None:
    result = run("from forerun import np; print((np.ones((2,)) + 1).tolist())", **{name: value})
    assert (result.returncode, result.stdout) == (0, "[2.0, 2.0]\n")
    assert result.stderr.startswith(f"forerun: {name}={value} is ignored: it must be ")
    assert result.stderr.count("\n") == 1


def test_what_makes_sense_is_not_mentioned(run: Run) -> None:
    good = {"FORERUN_NUM_THREADS": "2", "FORERUN_FUSE": "0", "FORERUN_BUDGET": "", "OMP_NUM_THREADS": "2,1"}
    result = run("from forerun import np; print((np.ones((2,)) + 1).tolist())", **good)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads cannot be counted here")
@pytest.mark.parametrize(
    ("environment", "most"),
    [
        ({"FORERUN_NUM_THREADS": "3"}, 3),
        ({"FORERUN_NUM_THREADS": "1", "OMP_NUM_THREADS": "4"}, 1),
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "1"}, 1),
    ],
)
def test_threads_are_as_many_as_asked_for(run: Run, environment: dict[str, str], most: int) -> None:
    result = run(THREADS, FORERUN_ENGINE="async", **environment)
    assert result.returncode == 0, result.stderr
    assert 1 <= int(result.stdout) <= most
    assert most != 1 or int(result.stdout) == 1


@pytest.mark.skipif(shutil.which("taskset") is None, reason="needs taskset")
def test_no_more_threads_than_cores_allowed() -> None:
    core = min(os.sched_getaffinity(0))
    free = {name: value for name, value in os.environ.items() if name not in ("FORERUN_NUM_THREADS", "OMP_NUM_THREADS")}
    result = subprocess.run(
        ["taskset", "-c", str(core), sys.executable, "-c", THREADS],
        capture_output=True,
        text=True,
        timeout=60,
        env={**free, "FORERUN_ENGINE": "async"},
        check=False,
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "1\n", "")


# Changes the number of threads under load, from this and another thread.
RESIZE = """
import os, sys, threading, time
import forerun
from forerun import np, npx

def threads():
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as comm:
                names.append(comm.read())
        except OSError:
            pass  # it left meanwhile
    return sum(name.startswith("forerun-") for name in names)

def work():
    x = np.arange(160000.0).reshape((400, 400)) * 1e-6
    y = [x]
    for _ in range(40):
        y.append(np.tanh(y[-1] @ x) + x)
    return y

def settled(count):
    for _ in range(5000):
        if threads() == count:
            return True
        time.sleep(0.001)
    return False

assert forerun.num_threads() == 1
expected = work()[-1].asnumpy()
for count in [4, 2, 1]:
    result = work()
    changer = threading.Thread(target=forerun.set_num_threads, args=(count,))
    changer.start()
    changer.join()
    assert forerun.num_threads() == count
    load = [work() for _ in range(5)]
    assert settled(count), (count, threads())
    assert (result[-1].asnumpy() == expected).all()
    npx.waitall()
    assert all((turn[-1].asnumpy() == expected).all() for turn in load)
    assert threads() == count
with forerun.set_num_threads(3) as switch:
    assert (forerun.num_threads(), switch.old) == (3, 1)
assert forerun.num_threads() == 1
try:
    forerun.set_num_threads(0)
except ValueError as error:
    print(error)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads cannot be counted here")
def test_the_number_of_threads_can_change_under_load(run: Run) -> None:
    result = run(RESIZE, FORERUN_ENGINE="async", FORERUN_NUM_THREADS="1")
    said = "set_num_threads: threads must be at least 1, got 0\n"
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{said}  submitted at ") and "program.py:" in result.stdout
