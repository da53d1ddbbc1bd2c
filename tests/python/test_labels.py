"""Invalid class labels fail when they are read, with both lines, and affect only their dependents."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, np, npx, paddle, torch

SCORES = [[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]


def entropy(rows: list[int], classes: list[int]) -> numpy.ndarray:
    scores = numpy.array(SCORES)[rows]
    logs = scores - numpy.log(numpy.exp(scores).sum(1, keepdims=True))
    picked: numpy.ndarray = -logs[numpy.arange(len(rows)), classes]
    return picked


LOSSES: dict[str, Callable[[Any], Any]] = {
    "torch": lambda t: torch.nn.functional.cross_entropy(torch.tensor(SCORES), torch.tensor(t)),
    "torch module": lambda t: torch.nn.CrossEntropyLoss(reduction="sum")(torch.tensor(SCORES), torch.tensor(t)),
    "paddle": lambda t: paddle.nn.functional.cross_entropy(paddle.to_tensor(SCORES), paddle.to_tensor(t)),
    "gluon": lambda t: gluon.loss.SoftmaxCrossEntropyLoss()(np.array(SCORES), np.array(t)),
    "gluon floats": lambda t: gluon.loss.SoftmaxCrossEntropyLoss()(np.array(SCORES), np.array(t, "float32")),
    "pick": lambda t: npx.pick(np.array(SCORES), np.array(t), mode="raise"),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("wrong", [3, 7, -1, -4])
def test_what_is_no_class_fails_when_it_is_read(name: str, wrong: int) -> None:
    loss = LOSSES[name]([0, wrong])
    other = LOSSES[name]([0, 2])
    dependent = loss * 2 + 1
    for read in (loss, dependent):
        with pytest.raises(IndexError, match=rf"index {wrong} is out of bounds.* with size 3") as caught:
            read.tolist()
        lines = re.findall(rf"(submitted|read) at {re.escape(__file__)}:\d+", str(caught.value))
        assert lines == ["submitted", "read"], str(caught.value)
    assert numpy.isfinite(numpy.array(other.tolist())).all()


@pytest.mark.parametrize("name", ["torch", "torch module", "paddle"])
def test_classes_are_integers(name: str) -> None:
    with pytest.raises(TypeError, match="classes must be integers, not float32"):
        LOSSES[name]([0.7, 1.0])


def test_the_class_to_ignore() -> None:
    scores = torch.tensor(SCORES, requires_grad=True)
    loss = torch.nn.functional.cross_entropy(scores, torch.tensor([-100, 2]))
    assert loss.item() == pytest.approx(entropy([1], [2])[0])
    loss.backward()
    gradient = scores.grad.numpy()
    assert (gradient[0] == 0).all() and (gradient[1] != 0).all()
    none = torch.nn.functional.cross_entropy(torch.tensor(SCORES), torch.tensor([-100, 2]), reduction="none")
    numpy.testing.assert_allclose(none.numpy(), [0, entropy([1], [2])[0]], rtol=1e-6)
    total = torch.nn.CrossEntropyLoss(ignore_index=0, reduction="sum")(torch.tensor(SCORES), torch.tensor([0, 1]))
    assert total.item() == pytest.approx(entropy([1], [1])[0])
    assert numpy.isnan(torch.nn.CrossEntropyLoss()(torch.tensor(SCORES), torch.tensor([-100, -100])).item())
    half = paddle.nn.CrossEntropyLoss(ignore_index=1)(paddle.to_tensor(SCORES), paddle.to_tensor([1, 2]))
    assert half.item() == pytest.approx(entropy([1], [2])[0])


def test_whole_floats_are_classes_for_gluon() -> None:
    loss = gluon.loss.SoftmaxCrossEntropyLoss()(np.array(SCORES), np.array([2.0, 0.0]))
    numpy.testing.assert_allclose(loss.asnumpy(), entropy([0, 1], [2, 0]), rtol=1e-6)
    # As in MXNet, `pick` clips indices unless the caller chooses otherwise.
    assert npx.pick(np.array(SCORES), np.array([7, -1])).tolist() == [3.0, 0.5]


def test_a_bad_label_leaves_no_trace_in_training() -> None:
    net = gluon.nn.Dense(3, in_units=2)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    before = net.weight.data().asnumpy().copy()
    with autograd.record():
        value = loss(net(np.ones((2, 2))), np.array([0, 3]))
    value.backward()
    trainer.step(2)
    with pytest.raises(IndexError, match="index 3"):
        value.wait_to_read()
    with pytest.raises(IndexError, match="index 3"):
        net.weight.data().wait_to_read()
    trainer.restore()
    numpy.testing.assert_array_equal(net.weight.data().asnumpy(), before)
