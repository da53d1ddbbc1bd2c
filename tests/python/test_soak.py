"""The same many times over, under a watchdog: interrupts, forks, ends with a full queue, threads on shared arrays."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Run

pytestmark = [
    pytest.mark.usefixtures("once"),
    pytest.mark.skipif(sys.platform == "win32", reason="signals and forks"),
]

# The watchdog: a program that stands still prints where, and ends.
HEAD = """\
import faulthandler, os, random, signal, sys, threading, time
import numpy
from forerun import np, npx

rounds = int(sys.argv[1])
faulthandler.enable()

def alive():
    faulthandler.dump_traceback_later(60, exit=True)

alive()
x = np.random.normal(size=(400, 400))
x.wait_to_read()

def chain(length):
    y = x
    for _ in range(length):
        y = y @ x * 0.01
    return y
"""

INTERRUPTS = """
signal.signal(signal.SIGINT, signal.default_int_handler)
host = numpy.ones((400, 400), "float32")

def full_window():
    y = x
    while True:
        y = y @ x * 0.01

def host_copies():
    y = x
    while True:
        y = y + np.array(host)

waits = [
    lambda: chain(3000).wait_to_read(),
    lambda: (chain(3000), npx.waitall()),
    lambda: chain(3000).asnumpy(),
    lambda: chain(3000).sum().item(),
    full_window,
    host_copies,
]
random.seed(1)
for turn in range(rounds):
    alive()
    signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.03 * random.random())
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        waits[turn % len(waits)]()
        sys.exit("the wait ended without an interrupt")
    except KeyboardInterrupt:
        pass
    npx.cancel_pending()
    assert (np.ones((2,)) + 1).tolist() == [2.0, 2.0]
    assert (np.ones((100, 100)) @ np.ones((100, 100)))[0, 0].item() == 100.0
npx.waitall()
"""

FORKS = """
stop = threading.Event()
def work():
    while not stop.is_set():
        chain(3).wait_to_read()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
random.seed(1)
for turn in range(rounds):
    alive()
    y = chain(20)
    ready = x + turn
    ready.wait_to_read()
    if turn % 3:
        time.sleep(0.003 * random.random())
    pid = os.fork()
    if pid == 0:
        # The watchdog's thread is not here, and it cannot be started again.
        signal.alarm(60)
        status = 1
        try:
            good = (ready - x - turn).sum().item() < 1
            z = np.ones((200, 200)) @ np.ones((200, 200))
            status = 0 if good and z[0, 0].item() == 200.0 else 2
            try:
                y.wait_to_read()
            except RuntimeError as error:
                status = status if "pending at fork" in str(error) else 3
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
npx.waitall()
"""

THREADS = """
shared = [np.zeros((8,)), np.zeros((5000,)), np.zeros((2, 3)), np.zeros((1,))]
failures = []
def work(number):
    try:
        for turn in range(rounds):
            at = (turn + number) % len(shared)
            shared[at][:] += 1
            if turn % 1000 == number:
                (shared[at] * 2).wait_to_read()
            if turn % 5000 == number:
                alive()
    except BaseException as failure:
        failures.append(failure)
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not failures, failures
npx.waitall()
for each in shared:
    values = each.asnumpy()
    assert (values == values.flat[0]).all() and 0 < values.flat[0] <= 8 * rounds
"""

ENDS = """
y = x
for step in range(10000):
    y = y @ x if step % 10 == 0 else y + 1
if rounds % 3 == 0:
    threading.Thread(target=y.wait_to_read, daemon=True).start()
if rounds % 3 == 1:
    sys.exit()
"""


def survives(run: Run, program: str, rounds: int) -> None:
    result = run(HEAD + program, str(rounds), timeout=3600, FORERUN_ENGINE="async")
    assert result.returncode == 0, result.stdout + result.stderr


def test_interrupts(run: Run, long: bool) -> None:
    survives(run, INTERRUPTS, 500 if long else 50)


def test_forks(run: Run, long: bool) -> None:
    survives(run, FORKS, 500 if long else 30)


def test_ends_with_a_full_queue(run: Run, long: bool) -> None:
    for turn in range(500 if long else 9):
        result = run(HEAD + ENDS, str(turn), FORERUN_ENGINE="async")
        assert (result.returncode, result.stderr) == (0, "")


def test_threads_on_shared_arrays(run: Run, long: bool) -> None:
    survives(run, THREADS, 100_000 if long else 5_000)
