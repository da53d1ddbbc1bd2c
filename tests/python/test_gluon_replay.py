"""Which calls replay a capture: only those that agree with the captured one in everything that matters."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from forerun import autograd, gluon, np
from forerun.gluon import nn


class Apart(gluon.HybridBlock):
    """Distinguishes its inputs."""

    def forward(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x * 10 + y


def test_inputs_that_are_the_same_array_are_a_case_of_their_own() -> None:
    net = Apart()
    net.hybridize()
    calls = plain_calls(net)
    a, b = np.array([1.0]), np.array([2.0])
    for _ in range(2):
        assert [net(a, a).item(), net(a, b).item(), net(b, a).item(), net(b, b).item()] == [11.0, 12.0, 21.0, 22.0]
    assert len(calls) == 2


@pytest.mark.parametrize("same", [lambda x: x.detach(), lambda x: x.reshape(2), lambda x: x[:]])
def test_inputs_that_share_elements(same: Callable[[np.ndarray], np.ndarray]) -> None:
    net = Apart()
    net.hybridize()
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    for _ in range(2):
        assert net(a, same(a)).tolist() == [11.0, 22.0]
        assert net(a, same(b)).tolist() == [13.0, 24.0]


def test_slices_of_one_array_are_captured() -> None:
    net = Apart()
    net.hybridize()
    calls = plain_calls(net)
    a = np.array([1.0, 2.0, 3.0])
    for _ in range(3):
        assert net(a[:-1], a[1:]).tolist() == [12.0, 23.0]
    assert len(calls) == 1


class Halted(gluon.HybridBlock):
    """Lets a gradient through one of two branches."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        return x.detach() * 10 + x


@pytest.mark.parametrize("order", [(True, False), (False, True)])
def test_detached_inputs(order: tuple[bool, bool]) -> None:
    net = Halted()
    net.hybridize()
    x = np.array([2.0])
    x.attach_grad()
    for detached in order * 2:
        with autograd.record():
            y = net(x.detach() if detached else x) + x * 100
        y.backward()
        assert x.grad is not None
        assert x.grad.item() == (100.0 if detached else 101.0)


class Scaled(gluon.HybridBlock):
    """A product with a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = gluon.Parameter("factor", shape=(1,), init="ones")

    def forward(self, x: np.ndarray) -> np.ndarray:
        return x * self.factor.data()


def test_an_input_that_is_a_parameter_is_not_captured() -> None:
    net = Scaled()
    net.initialize()
    net.factor.set_data([3.0])
    net.hybridize()
    assert net(net.factor.data()).item() == 9.0
    assert [net(np.array([5.0])).item() for _ in range(2)] == [15.0, 15.0]
    assert net(net.factor.data()).item() == 9.0


class Shifted(gluon.HybridBlock):
    """Adds an array that is a plain attribute; keeps its result."""

    def __init__(self) -> None:
        super().__init__()
        self.shift = np.array([1.0])

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.last = x + self.shift
        return self.last * 1


def test_arrays_as_attributes_are_noticed() -> None:
    net = nn.HybridSequential()
    net.add(Shifted())
    net.hybridize()
    x = np.array([1.0])
    assert [net(x).item() for _ in range(2)] == [2.0, 2.0]
    net[0].shift = np.array([10.0])
    assert [net(x).item() for _ in range(2)] == [11.0, 11.0]
    assert net(net[0].shift).item() == 20.0
    assert net(x).item() == 11.0


def plain_calls(net: gluon.Block) -> list[Any]:
    """Record the inputs of the plain calls of a block."""
    calls: list[Any] = []
    plain = net.forward

    @functools.wraps(plain)
    def forward(*inputs: Any) -> Any:
        calls.append(inputs)
        return plain(*inputs)

    net.forward = forward  # type: ignore[method-assign]
    return calls


def test_what_forward_keeps_does_not_undo_the_capture() -> None:
    net = Shifted()
    net.hybridize()
    calls = plain_calls(net)
    for _ in range(4):
        net(np.array([1.0]))
    assert len(calls) == 1
    other = Shifted()
    other.hybridize()
    calls = plain_calls(other)
    net.hybridize(False)
    for value in range(4):
        net(np.array([value]))
        other(np.array([1.0]))
        assert net.last.item() == value + 1
    assert len(calls) == 1


def test_traces_are_bounded_and_the_used_ones_stay() -> None:
    net = nn.HybridLambda(lambda F, x: x + 1)
    net.hybridize()
    calls = plain_calls(net)
    for size in range(1, 200):
        assert net(np.ones((size,))).shape == (size,)
        assert net(np.ones((1000,))).shape == (1000,)
    assert len(net._traces) == 64
    assert sum(inputs[0].shape == (1000,) for inputs in calls) == 1
    net(np.ones((199,)))
    assert len(calls) == 200
    net(np.ones((1,)))
    assert len(calls) == 201


class Gradient(gluon.HybridBlock):
    """Returns the gradient of a square, in one of several ways."""

    def __init__(self, way: str) -> None:
        super().__init__()
        self.way = way

    def forward(self, x: np.ndarray) -> np.ndarray:
        x = x.detach() * 1
        if self.way == "mark":
            place = np.zeros((1,))
            autograd.mark_variables(x, place)
            y = x * x
            autograd.backward(y)
            return place * 1
        x.attach_grad()
        y = x * x
        if self.way == "grad":
            return autograd.grad(y, x)[0]
        if self.way == "method":
            y.backward()
        else:
            autograd.backward(y)
        assert x.grad is not None
        return x.grad * 1


class Marking(gluon.HybridBlock):
    """Makes its result a variable with a gradient."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.middle = x * 2
        self.middle.attach_grad()
        return self.middle * self.middle


def test_a_block_that_attaches_gradients_stays_plain() -> None:
    net = Marking()
    net.hybridize()
    for value in (1.0, 3.0):
        x = np.array([value])
        x.attach_grad()
        with warnings.catch_warnings(record=True), autograd.record():
            y = net(x)
        y.backward()
        assert net.middle.grad is not None
        assert (net.middle.grad.item(), y.item()) == (4 * value, 4 * value * value)


@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("mark", "it marks variables"),
        ("grad", "it computes gradients"),
        ("backward", "it computes gradients"),
        ("method", ".* computes gradients"),
    ],
)
def test_a_block_that_computes_gradients_stays_plain(way: str, why: str) -> None:
    net = Gradient(way)
    net.hybridize()
    calls = plain_calls(net)
    with pytest.warns(UserWarning, match=f"Gradient is not captured: {why}"), autograd.record():
        net(np.array([1.0]))
    for value in (3.0, 5.0):
        with autograd.record():
            assert net(np.array([value])).item() == 2 * value
    assert len(calls) == 3


def test_inputs_by_name_are_captured_by_position() -> None:
    net = Apart()
    net.hybridize()
    calls = plain_calls(net)
    a, b = np.array([1.0]), np.array([2.0])
    assert [net(a, y=b).item(), net(y=b, x=a).item(), net(a, b).item()] == [12.0, 12.0, 12.0]
    assert len(calls) == 1
