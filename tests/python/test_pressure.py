"""Every allocation of a training step fails in turn. Runs against a build with fail points; any other skips it."""

from __future__ import annotations

import builtins
import contextlib
import re
from typing import TYPE_CHECKING

import numpy
import pytest

import forerun
from forerun import _forerun, autograd, engine, gluon, np, npx

if TYPE_CHECKING:
    from conftest import Run

BATCH = 32


class Step:
    """A network, its trainer, and what one step of it gives."""

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
    """Finish everything; what failed beside what was read is no news."""
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
        # Smaller than what one op needs: slower, never wrong.
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
