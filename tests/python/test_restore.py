"""A bad batch that the program catches does not destroy the trained state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, np, npx

WORDS, CLASSES, BATCH = 20, 4, 6


def bad(n: int) -> np.ndarray:
    """Return numbers that fail when they are read."""
    return np.take(np.arange(float(n)), np.arange(n) + 1)


@pytest.mark.parametrize("n", [3, 300, 100_000])
def test_a_failed_write_is_taken_back(n: int) -> None:
    x = np.arange(float(n))
    x += bad(n)
    x *= 2
    with pytest.raises(
        IndexError, match=r"take: index .*\n.*submitted at .*test_restore.py:.*\n.*read at .*test_restore"
    ):
        x.wait_to_read()
    assert x.restore() == 2
    numpy.testing.assert_array_equal(x.asnumpy(), numpy.arange(float(n), dtype="float32"))
    assert x.restore() == 0
    x[1:] = bad(n - 1)
    assert x[:1].restore() == 1
    numpy.testing.assert_array_equal(x.asnumpy(), numpy.arange(float(n), dtype="float32"))


def test_what_has_no_value_before_it_stays_failed() -> None:
    x = np.ones((3,))
    x[:] = bad(3)
    for _ in range(2):
        with pytest.raises(
            IndexError, match=r"restore: no value from before the failed write is available: take: index(.|\n)*read at"
        ):
            x.restore()
    x[:] = 4
    assert x.restore() == 0


def test_a_recorded_variable_is_not_restored_behind_the_tape() -> None:
    x = np.ones((3,))
    x.attach_grad()
    x += bad(3)
    with autograd.record(), pytest.raises(ValueError, match="restore: a variable with a gradient cannot be written"):
        x.restore()
    assert x.restore() == 1
    with autograd.record():
        y = (x * 2).sum()
    y.backward()
    assert x.grad.tolist() == [2, 2, 2]


class Net(gluon.nn.HybridSequential):
    """An embedding, a layer with running statistics, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.add(gluon.nn.Embedding(WORDS, 8), gluon.nn.Flatten())
        self.add(gluon.nn.Dense(16, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(CLASSES))


def batches(count: int) -> list[tuple[numpy.ndarray, numpy.ndarray]]:
    generator = numpy.random.default_rng(3)
    draw = generator.integers
    return [(draw(0, WORDS, (BATCH, 3)).astype("int32"), draw(0, CLASSES, BATCH).astype("int32")) for _ in range(count)]


def train(
    data: list[tuple[numpy.ndarray, numpy.ndarray]],
    optimiser: tuple[str, dict[str, Any]],
    rescue: Callable[[gluon.Trainer, np.ndarray], None] | None = None,
    req: str = "write",
    hybrid: bool = False,
) -> tuple[list[numpy.ndarray], list[int]]:
    """Train on batches; return the parameters and the update counts."""
    npx.seed(1)
    net = Net()
    net.initialize()
    if hybrid:
        net.hybridize()
    net(np.array(data[0][0]))
    net.setattr("grad_req", req)
    trainer = gluon.Trainer(net.collect_params(), *optimiser)
    measure = gluon.loss.SoftmaxCrossEntropyLoss()
    for words, classes in data:
        with autograd.record():
            loss = measure(net(np.array(words)), np.array(classes)).sum()
        loss.backward()
        if rescue is None:
            trainer.step(BATCH)
        else:
            rescue(trainer, loss)
        if req == "add":
            net.zero_grad()
    npx.waitall()
    learnt = [p.data().asnumpy() for p in net.collect_params().values()]
    states = [s.asnumpy() for index in sorted(trainer._states) for all in trainer._states[index].values() for s in all]
    return learnt + states, [trainer.optimizer.num_update, *trainer.optimizer.counts.values()]


OPTIMISERS: list[tuple[str, dict[str, Any]]] = [
    ("sgd", {"learning_rate": 0.1}),
    ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}),
    ("adam", {"learning_rate": 0.01}),
    ("adamw", {"learning_rate": 0.01, "wd": 0.1}),
]


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_training_goes_on_as_if_the_batch_had_been_skipped(optimiser: tuple[str, dict[str, Any]], hybrid: bool) -> None:
    good = batches(8)
    broken = [*good[:3], (numpy.full((BATCH, 3), WORDS + 5, "int32"), good[0][1]), *good[3:]]
    caught = []

    def rescue(trainer: gluon.Trainer, loss: np.ndarray) -> None:
        trainer.step(BATCH)
        try:
            loss.item()
        except IndexError as error:
            caught.append(error)
            assert trainer.restore() == 1

    found, found_counts = train(broken, optimiser, rescue, hybrid=hybrid)
    expected, counts = train(good, optimiser, hybrid=hybrid)
    assert len(caught) == 1 and "test_restore.py" in str(caught[0])
    assert found_counts == counts
    for ours, theirs in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("req", ["write", "add"])
def test_a_skipped_update_is_enough_where_the_failure_is_seen_in_time(req: str) -> None:
    good = batches(6)
    broken = [*good[:2], (numpy.full((BATCH, 3), WORDS, "int32"), good[0][1]), *good[2:]]

    def rescue(trainer: gluon.Trainer, loss: np.ndarray) -> None:
        try:
            loss.item()
        except IndexError:
            # The forward pass only affects running statistics, in parameters that no step updates.
            parameters = gluon.ParameterDict({str(i): p for i, p in enumerate(trainer._params)})
            assert parameters.restore() == 2
            return
        trainer.step(BATCH)

    optimiser = ("adam", {"learning_rate": 0.01})
    found, counts = train(broken, optimiser, rescue, req)
    expected, expected_counts = train(good, optimiser, req=req)
    assert counts == expected_counts
    for ours, theirs in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(ours, theirs)


def test_steps_after_the_bad_one_are_taken_back_together() -> None:
    good = batches(9)
    bad_batch = (numpy.full((BATCH, 3), -WORDS - 1, "int32"), good[0][1])
    seen = []

    def rescue(trainer: gluon.Trainer, loss: np.ndarray) -> None:
        trainer.step(BATCH)
        seen.append(loss)
        # Two more batches are submitted before the error is read.
        if len(seen) == 6:
            with pytest.raises(IndexError):
                loss.item()
            assert trainer.restore() == 3

    optimiser = ("adam", {"learning_rate": 0.01})
    found, counts = train([*good[:3], bad_batch, *good[3:]], optimiser, rescue)
    # The bad batch and the two after it have no effect.
    expected, expected_counts = train([*good[:3], *good[5:]], optimiser)
    assert counts == expected_counts
    for ours, theirs in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(ours, theirs)
