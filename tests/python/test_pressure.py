"""Out-of-memory conditions and small stacks. Tests of failing allocations need a build with fail points."""

from __future__ import annotations

import builtins
import contextlib
import re
import sys
from typing import TYPE_CHECKING

import numpy
import pytest

import forerun
from forerun import _forerun, autograd, engine, gluon, np, npx

if TYPE_CHECKING:
    from conftest import Run

BATCH = 32


class Step:
    """A network, its trainer, and the result of one step."""

    def __init__(self) -> None:
        npx.seed(3)
        self.net = gluon.nn.Sequential()
        self.net.add(gluon.nn.Dense(64, activation="relu"), gluon.nn.Dense(10))
        self.net.initialize()
        self.data = numpy.random.default_rng(0).normal(size=(BATCH, 50)).astype("float32")
        self.classes = numpy.arange(BATCH, dtype="int32") % 10
        self.measure = gluon.loss.SoftmaxCrossEntropyLoss()
        self.net(np.array(self.data))
        self.start = self.weights()
        self.reset()

    def weights(self) -> list[numpy.ndarray]:
        return [parameter.data().asnumpy().copy() for parameter in self.net.collect_params().values()]

    def reset(self) -> None:
        for parameter, value in zip(self.net.collect_params().values(), self.start, strict=True):
            parameter.set_data(np.array(value))
        self.trainer = gluon.Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})

    def take(self) -> list[numpy.ndarray]:
        x, y = np.array(self.data), np.array(self.classes)
        with autograd.record():
            loss = self.measure(self.net(x), y).sum()
        loss.backward()
        self.trainer.step(BATCH)
        return [loss.asnumpy().copy(), *self.weights()]


def same(a: list[numpy.ndarray], b: list[numpy.ndarray]) -> bool:
    return all(numpy.array_equal(x, y) for x, y in zip(a, b, strict=True))


def unread() -> None:
    """Finish everything; ignore failures that were not read."""
    with contextlib.suppress(MemoryError, RuntimeError, builtins.ExceptionGroup):
        npx.waitall()


@pytest.mark.skipif(not hasattr(_forerun, "fail_arm"), reason="built without fail points")
def test_every_allocation_of_a_step_fails_in_turn(long: bool) -> None:
    earlier = np.ones((100_000,))
    earlier.wait_to_read()
    step = Step()
    expected = step.take()
    step.reset()
    npx.waitall()
    level = forerun.memory_stats()["live"]
    nth, done, seen = 1, 0, 0
    while done < (1000 if long else 100):
        _forerun.fail_arm("pool.block", nth, "no_memory")
        try:
            found = step.take()
        except MemoryError as error:
            seen += 1
            assert re.search(r"cannot allocate \d+ bytes; of \d+ live bytes, ", str(error)), error
            assert re.search(r"are held by 1 array of full at .*test_pressure.py:\d+", str(error)), error
            assert re.search(r"submitted at .*test_pressure.py:\d+", str(error)), error
        else:
            assert same(found, expected), "a step that does not fail is right"
        if _forerun.fail_disarm():
            nth = 1
            step.reset()
            continue
        nth, done = nth + 1, done + 1
        unread()
        assert (np.ones((1000,)) + 1).sum().item() == 2000, "what fits works"
        assert (earlier.asnumpy() == 1).all()
        step.trainer.restore()
        for number, weight in enumerate(step.weights()):
            after = numpy.array_equal(weight, expected[number + 1])
            assert after or numpy.array_equal(weight, step.start[number]), "a weight is as before or as after"
        step.reset()
    assert seen > done // 2
    assert same(step.take(), expected)
    step.reset()
    npx.waitall()
    assert forerun.memory_stats()["live"] <= level


def test_the_budget_can_be_set() -> None:
    before = forerun.memory_stats()["budget"]
    with engine.set_budget(1 << 20) as former:
        assert former.old == before
        assert forerun.memory_stats()["budget"] == 1 << 20
        # Smaller than the need of one op: slower, but correct.
        x = np.ones((1000, 1000))
        for _ in range(5):
            x = x * 1.5 + 1
        assert x.sum().item() == pytest.approx(1e6 * (1.5**5 + sum(1.5**k for k in range(5))), rel=1e-5)
    assert forerun.memory_stats()["budget"] == before
    with pytest.raises(ValueError, match="set_budget: the budget must be positive, got 0"):
        engine.set_budget(0)


def test_the_budget_of_the_environment(run: Run) -> None:
    program = "import forerun\nprint(forerun.memory_stats()['budget'])"
    assert run(program, FORERUN_BUDGET="12345678").stdout == "12345678\n"


# Calls that need scratch memory, with arrays of about a million elements.
SCRATCH = {
    "matmul": "a @ a",
    "transposed": "a @ a.T",
    "half": "a.astype('float16') @ a.astype('float16')",
    "einsum": "np.einsum('ij,jk->ik', a, a)",
    "backward": "backward()",
    "sort": "np.sort(v)",
    "argsort": "np.argsort(v)",
    "sort rows": "np.sort(a, axis=0)",
    "unique": "np.unique(v)",
    "median": "np.median(v)",
    "searchsorted": "np.searchsorted(np.sort(v), v)",
    "histogram": "np.histogram(v)[0]",
    "permutation": "np.random.permutation(v)",
    "choice": "np.random.choice(100000, 1000, replace=False)",
    "inv": "np.linalg.inv(a + b)",
    "complex inv": "np.linalg.inv((a + b).astype('complex64'))",
    "solve": "np.linalg.solve(a + b, a)",
    "cholesky": "np.linalg.cholesky(b)",
    "qr": "np.linalg.qr(a)[0]",
    "eigh": "np.linalg.eigh(b)[0]",
    "svd": "np.linalg.svd(a[:200])[0]",
    "fft": "np.fft.fft(v)",
    "fft of a prime": "np.fft.fft(v[:99991])",
    "rfft": "np.fft.rfft(v)",
    "cumsum": "np.cumsum(v)",
    "sum": "a.sum(axis=0)",
    "mask": "v[v > 0.5]",
    "convolve": "np.convolve(v[:20000], v[:300])",
}

SHORT_OF_MEMORY = """
import resource, sys, threading
import numpy
from forerun import autograd, np, npx
random = numpy.random.default_rng(0)
a = np.array(random.random((600, 600)).astype("float32"))
b = np.eye(600) * 700
v = np.array(random.random(1000000).astype("float32"))
def backward():
    x = a.copy()
    x.attach_grad()
    with autograd.record():
        y = (x @ x).sum()
    y.backward()
    return x.grad
(a[:4] + 1).wait_to_read()
npx.waitall()
# On a thread, whose stack is fully mapped: the main stack grows, and the limit would kill the process.
started, work_now = threading.Event(), threading.Event()
def wait_and_work():
    started.set()
    work_now.wait()
    work()
threading.stack_size(8 << 20)
thread = threading.Thread(target=wait_and_work)
thread.start()
started.wait()
with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * 4096
limit = now + int(float(sys.argv[1]) * 2**20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
def work():
    for name, call in CALLS.items():
        try:
            eval(call).wait_to_read()
            print(name, "ok")
        except MemoryError as error:
            assert "program.py" in str(error) or "<string>" in str(error) or not str(error), str(error)
            print(name, "MemoryError")
    small = np.ones(5) + 1
    print("alive", small.tolist())
work_now.set()
thread.join()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("room", [0, 1, 5, 20, 40, 70, 150])
def test_scratch_memory_that_cannot_be_had_is_a_memory_error(run: Run, room: int) -> None:
    """With any amount of memory left, a call returns its result or raises MemoryError; the process survives."""
    program = SHORT_OF_MEMORY.replace("CALLS", repr(SCRATCH))
    result = run(program, str(room), timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert lines[-1] == "alive [2.0, 2.0, 2.0, 2.0, 2.0]"
    assert len(lines) == 1 + len(SCRATCH)


@pytest.mark.parametrize("transform", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_a_transform_of_no_lines_may_have_any_length(transform: str) -> None:
    call = getattr(np.fft, transform, None)
    if call is None:
        pytest.skip("not there")
    made = call(np.ones((0, 3)), 2**40)
    made.wait_to_read()
    assert made.shape[0] == 0


SMALL_STACK = """
import sys, threading
threading.stack_size(int(sys.argv[1]))
from forerun import np, npx
x = np.ones((200, 200))
def work():
    y = np.zeros((5, 5))
    y.wait_to_read()
    y[1, 2] = 3
    y[1] += 4
    for result in (
        x.sum(axis=0), np.ones((2, 2)).sum(axis=0), np.convolve(x[0], x[1]), np.exp(x - x.max(axis=1, keepdims=True)),
        x @ x, np.linalg.svd(x)[0], np.sort(x, axis=0), np.fft.fft(x), x.argmax(axis=1), np.std(x), npx.softmax(x), y,
    ):
        result.wait_to_read()
    x.sum(axis=0)
    npx.waitall()
    done.append(y[1].tolist())
done = []
for _ in range(5):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print(done)
"""


@pytest.mark.parametrize("engine_mode", ["async", "sync"])
@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("kib", [192, 256, 512])
def test_a_waiter_with_a_small_stack(run: Run, kib: int, threads: str, engine_mode: str) -> None:
    result = run(SMALL_STACK, str(kib * 1024), FORERUN_ENGINE=engine_mode, FORERUN_NUM_THREADS=threads)
    assert (result.returncode, result.stdout) == (0, f"{[[4.0, 4.0, 7.0, 4.0, 4.0]] * 5}\n"), result.stderr


def test_all_failures_that_nobody_read_are_counted(run: Run) -> None:
    program = """
    from forerun import np, npx
    x, at = np.arange(3), np.array([7])
    lost = [np.take(x, at + i) for i in range(3000)]
    try:
        npx.waitall()
    except Exception as error:
        print(str(error).splitlines()[0])
    npx.waitall()
    """
    result = run(program)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("3000 operations failed, of which 1000 are listed"), result.stdout
