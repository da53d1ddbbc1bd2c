"""Blockers, barriers, signals and threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest

from forerun import engine, np, npx


def run(program: str, *, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
        check=False,
    )


def test_importing_starts_nothing() -> None:
    result = run(
        """
        import sys, threading, os
        import forerun
        from forerun import np, npx
        assert "numpy" not in sys.modules
        assert threading.active_count() == 1
        if os.path.exists("/proc/self/task"):
            assert len(os.listdir("/proc/self/task")) == 1
        """
    )
    assert result.returncode == 0, result.stderr


def test_waiting_for_an_intermediate_value() -> None:
    x = np.random.normal(size=(300, 300))
    middle = x @ x
    last = middle
    for _ in range(10):
        last = last @ x * 0.05
    middle.wait_to_read()
    expected = x.asnumpy() @ x.asnumpy()
    numpy.testing.assert_allclose(middle.asnumpy(), expected, rtol=1e-3, atol=1e-3)
    assert numpy.isfinite(last.asnumpy()).all()


def test_waitall_finishes_everything() -> None:
    made = [np.ones((100, 100)) * i + 1 for i in range(50)]
    npx.waitall()
    for i, x in enumerate(made):
        assert x.sum().item() == 10000.0 * (i + 1)


def test_increments() -> None:
    x = np.zeros((1, 2))
    for _ in range(10000):
        x = x + 1
    assert x.tolist() == [[10000.0, 10000.0]]
    for _ in range(10000):
        x += 1
    assert x.tolist() == [[20000.0, 20000.0]]


def test_results_nobody_keeps() -> None:
    x = np.ones((1, 2))
    for _ in range(10000):
        y = x + 1
    assert y.tolist() == [[2.0, 2.0]]


def test_counters() -> None:
    before = engine.stats()
    x = np.ones((1000,)) + 1
    x.wait_to_read()
    after = engine.stats()
    assert after["records"] >= before["records"] + 2
    assert after["peak_bytes"] >= 4000


def test_threads_hand_values_to_each_other() -> None:
    count, rounds = 4, 50
    boxes: list[list[np.ndarray]] = [[] for _ in range(count)]
    barrier = threading.Barrier(count)
    failures: list[BaseException] = []

    def work(me: int) -> None:
        try:
            value = np.full((64,), me, dtype="int64")
            for _ in range(rounds):
                boxes[me].append(value + 1)
                barrier.wait()
                value = boxes[me - 1][-1] * 1
                barrier.wait()
            boxes[me].append(value)
        except BaseException as failure:
            failures.append(failure)
            barrier.abort()

    threads = [threading.Thread(target=work, args=(me,)) for me in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for me in range(count):
        origin = (me - rounds) % count
        assert boxes[me][-1].tolist() == [origin + rounds] * 64


def test_a_value_of_a_thread_that_ended() -> None:
    made: list[np.ndarray] = []

    def work() -> None:
        x = np.ones((500, 500))
        made.append(x @ x + 1)

    for _ in range(20):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    for x in made:
        assert x[0, 0].item() == 501.0


def test_many_threads_write_to_their_own_arrays() -> None:
    def work(number: int) -> None:
        x = np.zeros((100,))
        for step in range(300):
            x += number
            if step % 100 == 0:
                x.wait_to_read()
        results[number] = x.sum().item()

    results: dict[int, float] = {}
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: number * 300 * 100.0 for number in range(8)}


@pytest.mark.skipif(os.environ.get("FORERUN_ENGINE") == "sync", reason="there every op runs on its caller")
def test_other_threads_run_while_one_waits() -> None:
    x = np.random.normal(size=(1500, 1500))
    x.wait_to_read()
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    y = x
    # A GPU runs hundreds in the time in which the host, also as a simulated GPU, runs a few. The factor keeps the size
    # of the elements: products of subnormal numbers would take a hundred times as long.
    is_gpu = x.device.device_type != "cpu" and not os.environ.get("FORERUN_SIM_GPUS")
    for _ in range(300 if is_gpu else 5):
        y = y @ x * (1500**-0.5)
    before = ticks
    y.wait_to_read()
    during = ticks - before
    stop.set()
    thread.join()
    assert during > 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_handler_that_does_not_raise_lets_the_wait_go_on() -> None:
    seen: list[int] = []
    old = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        x = np.random.normal(size=(1000, 1000))
        y = x
        for _ in range(10):
            y = y @ x * 0.01
        signal.raise_signal(signal.SIGUSR1)
        y.wait_to_read()
        assert seen == [signal.SIGUSR1]
        assert numpy.isfinite(y.asnumpy()).all()
    finally:
        signal.signal(signal.SIGUSR1, old)


def test_sync_mode_gives_the_same() -> None:
    program = """
        from forerun import np
        np.random.seed(1)
        x = np.random.normal(size=(50, 50))
        y = (x @ x.T + 1).sum(axis=0) * x
        print(y.asnumpy().tobytes().hex())
        """
    outputs = {run(program, FORERUN_ENGINE=mode).stdout for mode in ["sync", "async"]}
    assert len(outputs) == 1 and outputs != {""}


# Says for each read whether it spawned tasks: long chains are planned, short ones run record by record.
SHORT_PLANS = """
    from forerun import engine, np
    x = np.ones((20000,))
    x.wait_to_read()
    spawned = []
    for step in range(40):
        before, y = engine.stats()["tasks"], x
        for _ in range(6 if step % 2 else 1):
            y = y * 0.5 + 1
        y.wait_to_read()
        spawned.append("01"[engine.stats()["tasks"] > before])
    print("".join(spawned), y[7].item())
"""


@pytest.mark.usefixtures("once")
def test_a_seed_decides_whether_a_waiter_runs_short_plans_itself() -> None:
    outputs = []
    for seed in ["1", "2", "1"]:
        result = run(SHORT_PLANS, FORERUN_ENGINE=f"seeded:{seed}", FORERUN_TINY="4096")
        assert result.returncode == 0, result.stderr
        outputs.append(result.stdout.split())
    (first, value), (second, other), again = outputs
    assert again == [first, value], "the same seed gives the same schedule"
    assert first != second
    for spawned in [first, second]:
        assert set(spawned[::2]) == set(spawned[1::2]) == {"0", "1"}, "both happen, for both kinds of plans"
    assert value == other == str(2 - 0.5**6)
