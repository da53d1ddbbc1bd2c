"""Many repetitions under a watchdog: interrupts, forks, exits with a full queue, threads on shared arrays."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Run

pytestmark = [
    pytest.mark.usefixtures("once"),
    pytest.mark.skipif(sys.platform == "win32", reason="signals and forks"),
]

# The watchdog: a program that hangs prints where, and ends.
HEAD = """\
import faulthandler, os, random, signal, sys, threading, time
import numpy
from forerun import np, npx

rounds = int(float(sys.argv[1]))
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
signal.signal(signal.SIGALRM, signal.default_int_handler)
taken = []
for turn in range(rounds):
    alive()
    delay = 0.001 + 0.03 * random.random()
    due = time.monotonic() + delay
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        waits[turn % len(waits)]()
        sys.exit("the wait ended without an interrupt")
    except KeyboardInterrupt:
        taken.append(time.monotonic() - due)
    npx.cancel_pending()
    assert (np.ones((2,)) + 1).tolist() == [2.0, 2.0]
    assert (np.ones((100, 100)) @ np.ones((100, 100)))[0, 0].item() == 100.0
npx.waitall()
taken.sort()
middle, late, worst = (1e3 * taken[int(share * (rounds - 1))] for share in (0.5, 0.99, 1))
print(f"{rounds} interrupts: median {middle:.1f} ms, p99 {late:.1f} ms, worst {worst:.1f} ms")
if rounds >= 500 and late > 100:
    sys.exit("too late")
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
        # The watchdog's thread does not exist in the child, and cannot be restarted.
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

# Trains and infers in turn for a number of seconds; at the end of each iteration nothing is pending. The median of
# resident memory, live bytes and Python objects must be the same in the last fifth of the time as in the second: leaks
# grow, however slowly, while caches fluctuate from one iteration to the next.
TRAINS = """
import array
from forerun import autograd, engine, gluon

seconds, allowed = float(sys.argv[1]), float(sys.argv[2])
net = gluon.nn.Sequential()
net.add(gluon.nn.Dense(256, activation="relu"), gluon.nn.Dropout(0.1), gluon.nn.Dense(64, activation="relu"))
net.add(gluon.nn.Dense(1))
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "adam")
squares = gluon.loss.L2Loss()
host = numpy.random.default_rng(1).normal(size=(128, 64)).astype("float32")

def train():
    for step in range(60):
        X = np.array(host) if step % 2 else np.random.normal(size=(128, 64))
        with autograd.record():
            loss = squares(net(X), np.ones((128,)))
        loss.backward()
        trainer.step(128)
        if step % 20 == 0:
            loss.mean().item()

def infer():
    for _ in range(60):
        net(np.array(host)).asnumpy()

def several():
    threads = [threading.Thread(target=infer) for _ in range(2)]
    for thread in threads:
        thread.start()
    infer()
    for thread in threads:
        thread.join()

def look():
    npx.waitall()
    with open("/proc/self/statm") as statm:
        resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    return resident, engine.stats()["live_bytes"], sys.getallocatedblocks()

start = time.monotonic()
# A buffer of fixed size, so that the measurements themselves do not look like a leak.
MOST = 5000
times, looks = array.array("d", bytes(8 * MOST)), [array.array("q", bytes(8 * MOST)) for _ in range(3)]
turns = noted = 0
while (now := (time.monotonic() - start) / seconds) < 1 or not turns:
    alive()
    train()
    infer()
    several()
    turns += 1
    if now * MOST >= noted and noted < MOST:
        times[noted] = now
        for seen, number in zip(looks, look()):
            seen[noted] = number
        noted += 1

def usual(seen, since, until):
    inside = sorted(number for at, number in zip(times[:noted], seen) if since <= at <= until) or [seen[noted - 1]]
    return inside[len(inside) // 2]

grown = False
for name, seen in zip(("resident bytes", "live bytes", "objects of Python"), looks):
    before, after = usual(seen, 0.2, 0.4), usual(seen, 0.8, 1)
    grown = grown or after > before * (1 + allowed)
    print(f"{name}: {before} in the second fifth of {seconds:.0f} s, {after} in the last ({after / before - 1:+.2%})")
print(f"{turns} turns")
if grown:
    sys.exit("something grows")
"""

ENDS = """
y = x
for step in range(10000):
    y = y @ x if step % 10 == 0 else y + 1
if rounds % 3 == 0:
    threading.Thread(target=y.wait_to_read, daemon=True).start()
print(time.monotonic(), flush=True)
if rounds % 3 == 1:
    sys.exit()
"""


def survives(run: Run, program: str, *args: object, timeout: float = 3600) -> None:
    result = run(HEAD + program, *map(str, args), timeout=timeout, FORERUN_ENGINE="async")
    assert result.returncode == 0, result.stdout + result.stderr
    print(result.stdout)


def test_interrupts(run: Run, long: bool) -> None:
    survives(run, INTERRUPTS, 500 if long else 50)


def test_forks(run: Run, long: bool) -> None:
    survives(run, FORKS, 500 if long else 30)


def test_ends_with_a_full_queue(run: Run, long: bool) -> None:
    taken = []
    for turn in range(500 if long else 9):
        result = run(HEAD + ENDS, str(turn), FORERUN_ENGINE="async")
        assert (result.returncode, result.stderr) == (0, "")
        taken.append(time.monotonic() - float(result.stdout))
    taken.sort()
    print(f"{len(taken)} ends: median {taken[len(taken) // 2]:.3f} s, worst {taken[-1]:.3f} s")
    assert not long or taken[-1] < 2


def test_threads_on_shared_arrays(run: Run, long: bool) -> None:
    survives(run, THREADS, 100_000 if long else 5_000)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory cannot be seen here")
def test_training_and_inference_keep_their_memory(run: Run, long: bool) -> None:
    seconds = float(os.environ.get("FORERUN_TEST_SOAK", "3600" if long else "10"))
    # A short run is still filling its caches.
    survives(run, TRAINS, seconds, 0.01 if seconds >= 1800 else 0.2, timeout=2 * seconds + 300)
