"""Ctrl-C ends every kind of wait soon, and the engine stays usable; cancelling of pending work."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from forerun import np, npx

if TYPE_CHECKING:
    from conftest import Run

# Each is the body of a function that has a long chain of products `y`, and would not return soon by itself.
WAITS = {
    "wait_to_read": "y.wait_to_read()",
    "waitall": "npx.waitall()",
    "asnumpy": "y.asnumpy()",
    "print": "print(y)",
    "item": "y.sum().item()",
    "bool": "bool(y.sum() > 0)",
    "iteration": "for row in y: row.asnumpy()",
    "a full window": "while True: y = y @ x * 0.01",
    "held host copies": "while True: y = y + np.array(host)",
    "looking for NaN": 'with __import__("forerun").detect_nonfinite(): (y @ x).wait_to_read()',
    "a long product": "z = large @ large; z.wait_to_read(); npx.waitall(); time.sleep(1)",
}

PROGRAM = """
import faulthandler, os, signal, sys, threading, time
import numpy
from forerun import np, npx

trials = int(sys.argv[1])
faulthandler.dump_traceback_later(30 + 10 * trials, exit=True)
# The parent process may have ignored the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
x = np.random.normal(size=(1000, 1000))
large = np.random.normal(size=(2500, 2500))
host = numpy.ones((1000, 1000), "float32")
npx.waitall()

def wait(y):
    WAIT

def interrupt():
    time.sleep(0.1)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

taken = []
for _ in range(trials):
    y = x
    for _ in range(1000):
        y = y @ x * 0.01
    sent = []
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        wait(y)
        sys.exit("the wait ended without an interrupt")
    except KeyboardInterrupt:
        taken.append(time.monotonic() - sent[0])
    thread.join()
    assert (np.ones((2,)) + 1).tolist() == [2.0, 2.0]
    npx.cancel_pending()
    npx.waitall()
taken.sort()
print(f"of {trials}: median {taken[trials // 2] * 1000:.1f} ms, worst {taken[-1] * 1000:.1f} ms")
sys.exit(0 if taken[trials // 2] < 0.1 else 1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("how", WAITS)
def test_an_interrupt_ends_a_wait(run: Run, long: bool, how: str) -> None:
    program = PROGRAM.replace("WAIT", WAITS[how])
    result = run(program, "50" if long else "5", timeout=600, FORERUN_ENGINE="async")
    assert result.returncode == 0, result.stdout + result.stderr
    print(how, result.stdout.splitlines()[-1])


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("how", ["wait_to_read", "waitall", "item"])
def test_a_wait_raises_what_a_handler_raised(run: Run, how: str) -> None:
    program = """
        import signal, sys
        from forerun import np, npx

        class Alarm(Exception):
            pass

        def handler(number, frame):
            raise Alarm("mine")

        x = np.random.normal(size=(1000, 1000))
        y = x
        for _ in range(1000):
            y = y @ x * 0.01
        signal.signal(signal.SIGALRM, handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            WAIT
            sys.exit("the wait ended without an interrupt")
        except Alarm as alarm:
            assert str(alarm) == "mine"
        npx.cancel_pending()
        """
    result = run(program.replace("WAIT", WAITS[how]), FORERUN_ENGINE="async")
    assert result.returncode == 0, result.stdout + result.stderr


def test_what_has_not_started_is_cancelled(run: Run) -> None:
    program = """
        from forerun import np, npx
        x = np.random.normal(size=(500, 500))
        x.wait_to_read()
        made = []
        y = x
        for _ in range(200):
            y = y @ x * 0.01
            made.append(y)
        npx.cancel_pending()
        npx.waitall()
        cancelled = 0
        for y in made:
            try:
                y.wait_to_read()
                assert not cancelled, "what follows a cancelled array cannot be there"
            except RuntimeError as error:
                assert "cancelled" in str(error) and "program.py:8" in str(error), error
                cancelled += 1
        assert cancelled > 100, cancelled
        for _ in range(3):
            npx.cancel_pending()
        z = x @ x
        assert z.asnumpy().shape == (500, 500)
        y[:] = 1
        assert y.sum().item() == 250000.0
        """
    result = run(program, FORERUN_ENGINE="async")
    assert result.returncode == 0, result.stdout + result.stderr


def test_what_is_there_is_not_cancelled() -> None:
    x = np.ones((100, 100)) @ np.ones((100, 100))
    x.wait_to_read()
    npx.cancel_pending()
    assert (x + 1)[0, 0].item() == 101.0


def test_other_errors_are_still_reported() -> None:
    x = np.take(np.arange(3), np.array([7]))
    # Small ops run in submission order: when the second is computed, the first has failed.
    (np.ones((2,)) + 1).wait_to_read()
    npx.cancel_pending()
    with pytest.raises(IndexError, match="take"):
        npx.waitall()
    with pytest.raises(IndexError, match="take"):
        x.wait_to_read()
