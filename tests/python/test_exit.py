"""Process exit: soon and without a crash, whatever is queued, alive or being read."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Run

HEAD = """\
import atexit, os, sys, threading, time
from forerun import np, npx

x = np.random.normal(size=(1500, 1500))

def fill():
    y = x
    for step in range(10000):
        y = y @ x if step % 10 == 0 else y + 1
    return y

def say(text):
    os.write(1, str(text).encode())
"""

# Ways to end with a full queue. Each program reports when it reached its end.
FULL = {
    "the last line": "kept = fill(); say(time.monotonic())",
    "sys.exit": "kept = fill(); say(time.monotonic()); sys.exit(0)",
    "an exception": "kept = fill(); say(time.monotonic()); raise SystemExit",
    "a thread": """
def work():
    global kept
    kept = fill()
    say(time.monotonic())
threading.Thread(target=work).start()
""",
    "os._exit": "kept = fill(); say(time.monotonic()); os._exit(0)",
}


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("how", FULL)
def test_a_full_queue_does_not_hold_up_the_end(run: Run, how: str) -> None:
    # A busy machine may be late sometimes, but not always.
    for _ in range(3):
        result = run(HEAD + FULL[how], FORERUN_ENGINE="async")
        taken = time.monotonic() - float(result.stdout)
        assert (result.returncode, result.stderr) == (0, "")
        if taken < 2:
            break
    assert taken < 2


# Other events at exit, and the expected output.
ENDS = {
    "arrays in cycles, read as they die": (
        """
class Holder:
    def __init__(self):
        self.x = np.ones((300, 300)) @ np.ones((300, 300))
        self.me = self
    def __del__(self):
        say(self.x[0, 0].item())
holders = [Holder() for _ in range(3)]
""",
        "300.0300.0300.0",
    ),
    "an array that is still pending, read as it dies": (
        """
x[0].asnumpy()  # NumPy can no longer be imported at the end
class Holder:
    def __init__(self):
        self.x = x @ x
    def __del__(self):
        say(self.x.asnumpy().shape)
holder = Holder()
""",
        "(1500, 1500)",
    ),
    "ops submitted as things die": (
        """
class Holder:
    def __del__(self, np=np):
        say((np.ones((100, 100)) @ np.ones((100, 100)))[0, 0].item())
holder = Holder()
""",
        "100.0",
    ),
    "waits at exit": (
        """
y = x @ x
def last():
    y.wait_to_read()
    npx.waitall()
    say(y.shape)
atexit.register(last)
""",
        "(1500, 1500)",
    ),
    "daemons that submit": (
        """
def work():
    while True:
        y = x + 1
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
""",
        "",
    ),
}


@pytest.mark.parametrize("how", ENDS)
def test_the_end_is_orderly(run: Run, how: str) -> None:
    program, said = ENDS[how]
    result = run(HEAD + program)
    assert (result.returncode, result.stdout, result.stderr) == (0, said, "")


# Daemon threads that are interrupted by interpreter exit, with Rust frames on their stacks.
DAEMONS = {
    "waiting": """
def work(number):
    while True:
        y = x @ x
        y[0].asnumpy() if number % 2 else npx.waitall()
""",
    "importing": """
def work(number):
    while True:
        x[number].asnumpy()  # the first one imports NumPy
""",
    "called back": """
from forerun import autograd
class Twice(autograd.Function):
    def forward(self, x):
        return x * 2
    def backward(self, gradient):
        for _ in range(2000):
            pass
        return gradient * 2
def work(number):
    while True:
        variable = np.ones((3,))
        variable.attach_grad()
        with autograd.record():
            y = Twice()(variable).sum()
        y.backward()
        repr(variable.grad)
        np.stack(variable + step for step in range(10))
""",
}

START = """
for number in range(4):
    threading.Thread(target=work, args=(number,), daemon=True).start()
time.sleep(float(sys.argv[1]))
"""


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("how", DAEMONS)
def test_daemons_end_with_the_interpreter(run: Run, long: bool, how: str) -> None:
    for turn in range(50 if long else 10):
        result = run(HEAD + DAEMONS[how] + START, str(0.05 * (turn % 10 + 1)))
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_an_exception_is_reported_as_ever(run: Run) -> None:
    result = run(HEAD + "kept = fill()\nraise ValueError('mine')", FORERUN_ENGINE="async")
    assert result.returncode == 1
    assert result.stderr.endswith("ValueError: mine\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_program_can_be_terminated(run: Run) -> None:
    program = HEAD + "kept = fill()\nsay('full')\nkept.wait_to_read()"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.read(4) == b"full"
        child.terminate()
        assert child.wait(timeout=20) < 0
