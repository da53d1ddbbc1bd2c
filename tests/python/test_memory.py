"""Memory: accounts by line, backpressure on host data, and the memory that the system reports."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import textwrap

import numpy
import pytest

import forerun
from forerun import engine, np, npx
from forerun._types import Holder

MIB = 1 << 20

needs_async = pytest.mark.skipif(
    os.environ.get("FORERUN_ENGINE") == "sync", reason="there every op runs before the next is submitted"
)


def here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def at(line: int) -> list[Holder]:
    return [
        holder
        for holder in forerun.memory_stats(1000)["holders"]
        if (holder["file"], holder["line"]) == (__file__, line)
    ]


def run(program: str, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, **environment},
        check=False,
    )


def test_one_function_under_two_names() -> None:
    assert forerun.memory_stats is engine.memory_stats
    assert forerun.empty_cache is engine.empty_cache
    assert forerun.reset_peak is engine.reset_peak


def test_lines_are_named() -> None:
    kept = [np.ones((1024, 1024)) for _ in range(3)]
    line = here() - 1
    small = np.ones((8,))
    npx.waitall()
    assert at(line) == [{"file": __file__, "line": line, "op": "full", "bytes": 12 * MIB, "arrays": 3}]
    assert len(forerun.memory_stats(holders=1)["holders"]) == 1
    exported = kept[0].asnumpy()
    del kept
    npx.waitall()
    assert at(line)[0]["bytes"] == 4 * MIB, "NumPy still looks at one of them"
    del exported
    assert at(line) == []
    assert small.tolist() == [1.0] * 8


def test_in_place_moves_the_bytes_to_its_line() -> None:
    x = np.ones((1024, 1024))
    made = here() - 1
    x.wait_to_read()
    assert at(made)[0]["bytes"] == 4 * MIB
    x += 1
    taken = here() - 1
    x.wait_to_read()
    assert at(made) == []
    assert [(holder["op"], holder["bytes"]) for holder in at(taken)] == [("add", 4 * MIB)]


def test_bytes_a_step_are_a_difference() -> None:
    w = np.ones((512, 512))
    w.wait_to_read()
    before = forerun.memory_stats()["allocated"]
    for _ in range(5):
        y = w @ w
        y.wait_to_read()
    after = forerun.memory_stats()["allocated"]
    assert after["count"] - before["count"] == 5
    assert after["bytes"] - before["bytes"] == 5 * MIB


@needs_async
def test_feeding_without_waiting_stays_bounded() -> None:
    result = run(
        """
        import numpy
        import forerun
        from forerun import np, npx
        w = np.full((700, 700), 1e-3)
        gate = w
        for _ in range(40):
            gate = gate @ w
        gate = gate.sum() * 0 + 1
        total = np.zeros((1,))
        forerun.reset_peak()
        for step in range(64):
            x = np.array(numpy.full((512, 1024), step, dtype="float32"))
            total = total + (x * gate).mean()
            assert forerun.memory_stats()["queued_host"] <= 8 << 20
        assert total.item() == sum(range(64))
        stats = forerun.memory_stats()
        assert stats["prefetch"]["allowance"] == 8 << 20
        assert stats["peak"] <= 28 << 20, stats
        assert stats["held"]["host"]["times"] > 0 and stats["held"]["host"]["seconds"] > 0, stats
        assert stats["queued_host"] == 0
        """,
        FORERUN_PREFETCH=str(8 * MIB),
        FORERUN_ENGINE="async",
    )
    assert result.returncode == 0, result.stderr


def test_a_data_set_that_is_kept_holds_nobody() -> None:
    before = forerun.memory_stats()["held"]["host"]["times"]
    batch = numpy.ones((1024, 1024), dtype="float32")
    data = [np.array(batch) for _ in range(12)]
    sums = [x.sum() for x in data]
    stats = forerun.memory_stats()
    assert (stats["queued_host"], stats["held"]["host"]["times"]) == (0, before)
    assert all(total.item() == float(MIB) for total in sums)


# The kind of wait, and the condition that starts it.
INTERRUPTED = {
    "host": ("np.array(batch) * gate", 'stats["queued_host"] > 26 << 20'),
    "window": ("y = y + 1", 'stats["queued_records"] > 7000'),
    "window, in place": ("y += 1", 'stats["queued_records"] > 7000'),
}


@needs_async
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("what", INTERRUPTED)
def test_an_interrupt_ends_a_hold(what: str) -> None:
    step, is_held = INTERRUPTED[what]
    result = run(
        f"""
        import os, signal, threading, time
        import numpy
        import forerun
        from forerun import engine, np
        # The parent process may have ignored the signal.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        engine.set_drop_dead(False)
        w = np.full((1500, 1500), 1e-3)
        gate = w
        for _ in range(400):
            gate = gate @ w
        gate = gate.sum()
        y = np.zeros((128, 128)) + gate
        batch = numpy.ones((1024, 1024), dtype="float32")
        def held():
            stats = forerun.memory_stats()
            return {is_held}
        def interrupt():
            while not held():
                time.sleep(0.01)
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        try:
            while True:
                {step}
        except KeyboardInterrupt:
            # If the wait had ended by itself, much less would be queued.
            times = forerun.memory_stats()["held"]["{what.split(",")[0]}"]["times"]
            print(held(), times, flush=True)
            os._exit(0 if held() and times == 1 else 1)
        """,
        FORERUN_ENGINE="async",
        FORERUN_PREFETCH=str(32 * MIB),
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="how large the process is")
def test_an_empty_cache_is_seen_by_the_system() -> None:
    result = run(
        """
        import os
        import forerun
        from forerun import np, npx

        def resident() -> int:
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

        large = [np.ones((4 << 20,)) for _ in range(6)]
        small = [np.ones((4000,)) for _ in range(2000)]
        npx.waitall()
        del large, small
        npx.waitall()
        full, cached = resident(), forerun.memory_stats()["cached"]
        assert cached >= 100 << 20, cached
        forerun.empty_cache()
        assert forerun.memory_stats()["cached"] <= 16 << 20, forerun.memory_stats()
        assert full - resident() >= 100 << 20, (full, resident())
        assert (np.ones((1000, 1000)) + 1).mean().item() == 2.0
        """
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="moves pages, and reads /proc")
@pytest.mark.usefixtures("once")
def test_a_network_needs_little_more_than_its_arrays() -> None:
    """What arrays of one size free serves those of all others, and the scratch memory of kernels on every thread."""
    result = run(
        """
        import forerun
        from forerun import autograd, gluon, np, npx
        from forerun.gluon import nn

        def resident(field):
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith(field)) << 10

        net = nn.HybridSequential()
        for channels, strides in [(48, 1), (72, 1), (96, 2), (144, 1), (192, 2), (288, 1), (384, 2), (448, 1)]:
            net.add(nn.Conv2D(channels, 3, padding=1, strides=strides), nn.BatchNorm(), nn.Activation("relu"))
        net.add(nn.GlobalAvgPool2D(), nn.Dense(10))
        net.initialize()
        x = np.random.normal(size=(8, 3, 44, 44))
        y = np.zeros((8,), dtype="int64")
        loss = gluon.loss.SoftmaxCrossEntropyLoss()
        net(x)
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        npx.waitall()
        forerun.empty_cache()
        before, live = resident("VmRSS"), forerun.memory_stats()["live"]
        forerun.reset_peak()
        for _ in range(5):
            with autograd.record():
                out = loss(net(x), y).mean()
            out.backward()
            trainer.step(1)
            out.item()
            npx.waitall()
        print(resident("VmHWM") - before, forerun.memory_stats()["peak"] - live)
        """,
        FORERUN_NUM_THREADS="4",
        GLIBC_TUNABLES="",
    )
    assert result.returncode == 0, result.stderr
    grown, arrays = map(int, result.stdout.split())
    assert grown < 2 * arrays + (16 << 20), (grown >> 20, arrays >> 20)


def test_a_memory_error_names_who_holds_the_most() -> None:
    kept = np.ones((2048, 4096))
    line = here() - 1
    kept.wait_to_read()
    with pytest.raises(MemoryError) as raised:
        np.zeros((1 << 44,)).wait_to_read()
    text = str(raised.value)
    assert text.startswith("full: cannot allocate 70368744177664 bytes; of ")
    assert f"{32 * MIB} are held by 1 array of full at {__file__}:{line}" in text
    assert kept.shape == (2048, 4096)


GROWTH = """
import forerun
from forerun import autograd, np, npx
base = np.ones((520, 520))
line = np.ones((120_001,))
def resident():
    npx.waitall()
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    # The memory cached by the pool depends on the sizes of arrays, and has its own limit.
    return (pages * 4096 - forerun.memory_stats()["cached"]) / 2**20
def trained(m, n):
    x = np.ones((m, n))
    x.attach_grad()
    with autograd.record():
        y = (x * 2)[1:].sum()
    y.backward()
for i in range({steps}):
    m, n = 1 + i // 250, 1 + i % 250
    {line}
    if i == {steps} // 6:
        before = resident()
print(resident() - before)
"""

LONG = os.environ.get("FORERUN_TEST_LONG") == "1"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    ("line", "steps"),
    [
        ("base[:m, :n]", 120_000),
        ("line[:i + 1] + 1", 60_000),
        ("np.ones((m, n))", 120_000),
        ("np.ones((m, n)) + 1", 60_000),
        ("(base[:m, :n] * 2).sum(axis=0)", 24_000),
        ("np.ones((m, n)).reshape(n, m) @ base[:m, :4]", 24_000),
        ("np.concatenate([base[:m, :n], base[:m, :n]])", 24_000),
        ("np.sort(np.ones((m, n)) + 1)", 18_000),
        ("np.take(base[:m, :n], np.zeros(m, dtype='int64'), axis=0)", 60_000),
        ("trained(m, n)", 12_000),
        ("exec(compile(f'y = base[0, :4] + {i}', '<string>', 'exec'))", 36_000),
        ("exec(compile(f'y = base[0, :4] + {i}', f'<file {i}>', 'exec'))", 120_000),
        ("eval(compile(f'lambda x: x + {i}', f'<file {i}>', 'eval'))(base[0, :4])", 36_000),
    ],
)
@pytest.mark.usefixtures("once")
def test_what_a_program_saw_once_is_forgotten(line: str, steps: int) -> None:
    """Shapes and code objects that are no longer used leave almost no memory behind."""
    done = run(GROWTH.format(line=line, steps=120_000 if LONG else steps), timeout=1200 if LONG else 120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 20, f"{line}: {done.stdout} MiB more"


@pytest.mark.usefixtures("once")
def test_metas_of_arrays_that_are_kept_stay() -> None:
    """Collecting interned entries keeps those that a view refers to."""
    done = run(
        """
        from forerun import np
        kept = []
        for i in range(15_000):
            kept.append(np.ones(i % 5000 + 1)[:])
            kept = kept[-100:]
        assert all((x + 1).shape == x.shape for x in kept)
        assert float(sum(kept[3])) == kept[3].shape[0]
        """
    )
    assert done.returncode == 0, done.stderr


def test_a_line_is_named_after_its_code_object_is_gone() -> None:
    names = []
    for i in range(200):
        space = {"np": np}
        exec(compile(f"{chr(10) * i}y = np.take(np.arange(3), np.array([7]))", f"<cell {i}>", "exec"), space)
        with pytest.raises(IndexError) as caught:
            numpy.asarray(space["y"])
        names.append(f"<cell {i}>:{i + 1}" in str(caught.value))
    assert all(names), names
