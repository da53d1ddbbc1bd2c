"""Captured blocks behave like plain ones, and blocks that cannot be captured stay plain."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, init, np
from forerun.gluon import nn


def mlp(kind: type[nn.Sequential] = nn.Sequential) -> nn.Sequential:
    net = kind()
    net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    return net


def counted(net: gluon.Block) -> list[int]:
    """Count the plain calls of a block, by a counter in its forward method."""
    calls = [0]
    plain = net.forward

    def forward(*inputs: Any) -> Any:
        calls[0] += 1
        return plain(*inputs)

    net.forward = forward  # type: ignore[method-assign]
    return calls


def test_captured_calls_give_the_same() -> None:
    net = mlp(nn.HybridSequential)
    net.initialize(init.Normal(0.5))
    x = np.random.normal(size=(8, 5))
    plain = net(x).asnumpy()
    calls = counted(net)
    net.hybridize(static_alloc=True)
    for _ in range(3):
        numpy.testing.assert_array_equal(net(x).asnumpy(), plain)
    assert calls == [1]
    assert net(np.ones((2, 5))).shape == (2, 2)
    assert calls == [2]
    net.hybridize(False)
    numpy.testing.assert_array_equal(net(x).asnumpy(), plain)
    assert calls == [3]


def test_a_capture_after_shapes_are_known() -> None:
    net = mlp(nn.HybridSequential)
    net.initialize(init.Normal(0.5))
    net.hybridize()
    x = np.ones((2, 5))
    first = net(x).asnumpy()
    weight = net[0].weight.data().asnumpy()
    for _ in range(3):
        numpy.testing.assert_array_equal(net(x).asnumpy(), first)
    numpy.testing.assert_array_equal(net[0].weight.data().asnumpy(), weight)


def test_captured_training_equals_plain_training() -> None:
    def trained(hybrid: bool) -> list[numpy.ndarray]:
        np.random.seed(3)
        net = mlp(nn.HybridSequential)
        net.initialize(init.Normal(0.5))
        x, y = np.random.normal(size=(8, 5)), np.random.normal(size=(8, 2))
        net(x)
        loss = gluon.loss.L2Loss()
        if hybrid:
            net.hybridize()
            loss.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
        for _ in range(5):
            with autograd.record():
                objective = loss(net(x), y)
            objective.backward()
            trainer.step(8)
        return [parameter.data().asnumpy() for parameter in net.collect_params().values()]

    for plain, captured in zip(trained(False), trained(True), strict=True):
        numpy.testing.assert_allclose(plain, captured, rtol=1e-6, atol=1e-7)


def test_captured_dropout_draws_anew() -> None:
    net = nn.HybridSequential()
    net.add(nn.Dropout(0.5))
    net.hybridize()
    x = np.ones((1000,))
    with autograd.train_mode():
        draws = [net(x).asnumpy() for _ in range(3)]
    assert not numpy.array_equal(draws[0], draws[1])
    assert not numpy.array_equal(draws[1], draws[2])
    numpy.testing.assert_array_equal(net(x).asnumpy(), x.asnumpy())


def test_captured_batch_norm_moves_its_statistics() -> None:
    def moved(hybrid: bool) -> numpy.ndarray:
        net = nn.HybridSequential()
        net.add(nn.BatchNorm(in_channels=2))
        net.initialize()
        if hybrid:
            net.hybridize()
        for step in range(3):
            with autograd.train_mode():
                net(np.array([[1.0, 2.0], [3.0, 5.0]]) * (step + 1))
        return net[0].running_mean.data().asnumpy()

    numpy.testing.assert_allclose(moved(True), moved(False), rtol=1e-6)


def test_captures_see_new_parameters() -> None:
    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize("ones")
    net.hybridize()
    x = np.ones((1, 2))
    assert [net(x).item() for _ in range(2)] == [2.0, 2.0]
    net.weight.set_data(np.array([[3.0, 4.0]]))
    assert net(x).item() == 7.0
    net.initialize("zeros", force_reinit=True)
    assert net(x).item() == 0.0
    net.weight = gluon.Parameter("weight", shape=(1, 2), init="ones")
    net.weight.initialize()
    assert net(x).item() == 2.0
    net.cast("float64")
    assert net(np.ones((1, 2), dtype="float64")).dtype == np.float64


class Nested(gluon.HybridBlock):
    """Takes and returns lists, and a number."""

    def forward(self, x: np.ndarray, states: list[np.ndarray], factor: float = 1.0) -> tuple[np.ndarray, Any]:
        return x * factor, [states[0] + x, (states[1] - x, None)]


def test_nested_arguments_and_results() -> None:
    net = Nested()
    net.hybridize()
    calls = counted(net)
    for factor in (2.0, 2.0, 3.0):
        y, (first, (second, nothing)) = net(np.ones((2,)), [np.ones((2,)), np.zeros((2,))], factor)
        assert (y.tolist(), first.tolist(), second.tolist(), nothing) == ([factor] * 2, [2.0, 2.0], [-1.0, -1.0], None)
    assert calls == [2]


class Peeking(gluon.HybridBlock):
    """Branches on the values of its input."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        return x * 2 if x.sum() > 0 else x - 1


def test_a_block_that_reads_a_value_stays_plain() -> None:
    net = Peeking()
    net.hybridize()
    with pytest.warns(UserWarning, match="Peeking is not captured: it reads a value"):
        assert net(np.ones((1,))).tolist() == [2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert net(-np.ones((1,))).tolist() == [-2.0]
        assert net(np.ones((1,))).tolist() == [2.0]


class Counting(gluon.HybridBlock):
    """Writes to its input."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        x += 1
        return x * 2


@pytest.mark.parametrize("step", [1, 2])
def test_a_block_that_writes_into_its_input_stays_plain(step: int) -> None:
    net = Counting()
    net.hybridize()
    base = np.zeros((4,))
    with pytest.warns(UserWarning, match="Counting is not captured: .* writes into its inputs"):
        net(base[::step])
    assert net(base[::step]).tolist() == [4.0] * (4 // step)
    assert base.tolist() == ([2.0] * 4 if step == 1 else [2.0, 0.0, 2.0, 0.0])


@pytest.mark.filterwarnings("ignore:Dense is not captured")
def test_a_block_with_hooks_stays_plain() -> None:
    net = mlp(nn.HybridSequential)
    net.initialize()
    x = np.ones((1, 3))
    net(x)
    net.hybridize()
    seen: list[int] = []
    handle = net[1].register_forward_hook(lambda *_: seen.append(1))
    with pytest.warns(UserWarning, match="HybridSequential is not captured: Dense has hooks"):
        net(x)
    net(x)
    assert seen == [1, 1]
    handle.detach()
    calls = counted(net)
    for _ in range(3):
        net(x)
    assert calls == [1]


class Inverted(autograd.Function):
    """A gradient that differs from that of the replayed ops."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        return x * 1

    def backward(self, dy: np.ndarray) -> np.ndarray:
        return -dy


class Reversed(gluon.HybridBlock):
    """Reverses gradients."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        y: np.ndarray = Inverted()(x)
        return y


class Switched(gluon.HybridBlock):
    """Stops the gradient of a part, in the simplest way."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        recording = autograd.set_recording(False)
        factor = x * 10
        autograd.set_recording(recording)
        return x * factor


class Stopped(gluon.HybridBlock):
    """Stops the gradient of a part."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        with autograd.pause():
            factor = x * 10
        return x * factor


@pytest.mark.filterwarnings("ignore:.* is not captured")
@pytest.mark.parametrize(("kind", "gradient"), [(Reversed, -1.0), (Stopped, 20.0), (Switched, 20.0)])
def test_gradients_of_ones_own_survive_capture(kind: type[gluon.HybridBlock], gradient: float) -> None:
    net = kind()
    net.hybridize()
    x = np.array([2.0])
    x.attach_grad()
    for _ in range(3):
        with autograd.record():
            y = net(x)
        y.backward()
        assert x.grad is not None
        assert x.grad.item() == gradient


def test_writing_into_a_result_leaves_the_next_alone() -> None:
    net = nn.HybridLambda(lambda F, x: x + 1)
    net.hybridize()
    x = np.zeros((2,))
    for _ in range(3):
        y = net(x)
        y += 5
        assert y.tolist() == [6.0, 6.0]
    assert x.tolist() == [0.0, 0.0]


class Free(gluon.HybridBlock):
    """Computes a given function with one parameter."""

    def __init__(self, function: Callable[[np.ndarray, np.ndarray], Any]) -> None:
        super().__init__()
        self.function = function
        self.weight = gluon.Parameter("weight", shape=(3,), init=init.Constant(2))

    def forward(self, x: np.ndarray) -> Any:
        return self.function(x, self.weight.data())


def write_between(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    y = x * 2
    y += w
    y[1:] = y[:-1] * 3
    return y


def several_views(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    y = x + w
    return y, y, y[1:], y.reshape(1, 3)


def unrolled(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    h = np.zeros((3,))
    for _ in range(4):
        h = np.tanh(h * w + x)
    return h


PROGRAMS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "writes between": write_between,
    "several views of one": several_views,
    "a loop": unrolled,
    "the parameter and the input": lambda x, w: (w, x),
    "slices": lambda x, w: np.concatenate([x[::-1], x[:2] * w[1:]]),
    "a detached factor": lambda x, w: x * (x * 2).detach() * w,
    "other dtypes": lambda x, w: (x.astype("float64") * 2).astype("float32") * w,
    "constants": lambda x, w: x * np.array([1.0, 2.0, 3.0]) + np.arange(3),
    "nothing": lambda x, w: [],
}


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_and_their_gradients(name: str, view: bool) -> None:
    def run(hybrid: bool) -> list[Any]:
        net = Free(PROGRAMS[name])
        net.initialize()
        if hybrid:
            net.hybridize()
        seen: list[Any] = []
        for start in range(3):
            base = np.array(numpy.arange(start, start + 6, dtype="float32"))
            base.attach_grad()
            with autograd.record():
                given = net(base[::2] if view else base[:3] * 1)
                outputs = list(given) if isinstance(given, (list, tuple)) else [given]
                total = (base * 0).sum()
                for output in outputs:
                    total = total + (output * output).sum()
            total.backward()
            assert base.grad is not None
            seen += [output.tolist() for output in outputs]
            seen += [base.grad.tolist(), net.weight.grad().tolist()]
        return seen

    assert run(True) == run(False)
