"""What backward computes again: checkpoints, and pointwise functions of values that are kept anyway.

Gradients have the same bits, and less memory is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import autograd, gluon, init, np, npx
from forerun.gluon import nn


def block(seed: int) -> nn.HybridSequential:
    np.random.seed(seed)
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="relu"), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(8, activation="tanh"))
    net.initialize(init.Normal(0.5))
    net(np.ones((2, 8)))
    return net


def run(checkpointed: bool, hybrid: bool) -> list[numpy.ndarray]:
    """Train a step, and return the loss, all gradients and the running statistics."""
    nets = [block(seed) for seed in range(3)]
    np.random.seed(7)
    x = np.random.normal(size=(6, 8))
    x.attach_grad()
    for net in nets:
        net.hybridize(hybrid)
    for _ in range(2):
        with autograd.record():
            y = x
            for net in nets:
                y = gluon.checkpoint(net, y) if checkpointed else net(y)
            loss = (y * y).sum()
        loss.backward()
    after = np.random.normal(size=(3,))
    found = [loss, x.grad, after]
    for net in nets:
        for parameter in net.collect_params().values():
            found.append(parameter.data())
            if parameter.grad_req != "null":
                found.append(parameter.grad())
    return [array.asnumpy() for array in found]


@pytest.mark.parametrize("hybrid", [False, True])
def test_gradients_random_numbers_and_statistics_are_the_same(hybrid: bool) -> None:
    for plain, again in zip(run(False, hybrid), run(True, hybrid), strict=True):
        numpy.testing.assert_array_equal(plain, again)


def test_functions_with_several_arrays_and_other_arguments() -> None:
    scale = np.array([2.0, 3.0])
    scale.attach_grad()

    def function(x: Any, power: int, y: Any, index: Any) -> Any:
        return [(x * scale) ** power, y + x], np.take(y, index)[0]

    def pair(x: Any, power: int, y: Any, index: Any) -> tuple[Any, Any]:
        (first, second), third = function(x, power, y, index)
        return first + third, second

    x, y, index = np.array([1.0, 2.0]), np.array([4.0, 5.0]), np.array([1, 0])
    x.attach_grad()
    y.attach_grad()
    found = []
    for call in [lambda: pair(x, 2, y, index), lambda: gluon.checkpoint(pair, x, 2, y, index)]:
        with autograd.record():
            first, second = call()
            loss = (first * 2 + second).sum()
        loss.backward()
        found.append([array.grad.asnumpy() for array in (x, y, scale)])
        assert isinstance(call(), tuple)
    for plain, again in zip(*found, strict=True):
        numpy.testing.assert_array_equal(plain, again)


def test_arrays_of_the_enclosing_tape() -> None:
    x = np.array([1.0, 2.0, 3.0])
    x.attach_grad()

    def around(call: Callable[..., Any]) -> Any:
        outside = x * 3

        def inside(z: Any) -> Any:
            return z * outside + x

        return call(inside, x * 2)

    grads = []
    for call in [lambda function, z: function(z), gluon.checkpoint]:
        with autograd.record():
            y = around(call)
        y.backward()
        grads.append(x.grad.asnumpy())
    numpy.testing.assert_array_equal(grads[0], grads[1])
    numpy.testing.assert_array_equal(grads[1], 12 * x.asnumpy() + 1)


def test_nested_checkpoints_and_views() -> None:
    x = np.random.normal(size=(4, 6))
    x.attach_grad()
    inner = lambda z: np.tanh(z) * z  # noqa: E731
    outer = lambda z: gluon.checkpoint(inner, z.T).sum(axis=0)  # noqa: E731
    grads = []
    for call in [lambda z: inner(z.T).sum(axis=0), lambda z: gluon.checkpoint(outer, z)]:
        with autograd.record():
            y = call(x[1:, ::2])
        y.backward()
        grads.append(x.grad.asnumpy())
    numpy.testing.assert_array_equal(grads[0], grads[1])


def test_errors() -> None:
    x = np.ones((2,))
    x.attach_grad()
    with autograd.record(), pytest.raises(TypeError, match="the function returned int"):
        gluon.checkpoint(lambda z: 3, x)
    with autograd.record(), pytest.raises(ZeroDivisionError):
        gluon.checkpoint(lambda z: 1 / 0, x)
    calls = []

    def changing(z: Any) -> Any:
        calls.append(1)
        return [z] * len(calls)

    with autograd.record():
        (y,) = gluon.checkpoint(changing, x)
    with pytest.raises(ValueError, match="the function returned 2 arrays, and 1 before"):
        y.backward()
    with autograd.record():
        y = gluon.checkpoint(lambda z: z * z, x)
        with pytest.raises(ValueError, match="no second derivative"):
            autograd.grad(y, x, create_graph=True)
    assert gluon.checkpoint(lambda z: z + 1, x).asnumpy().tolist() == [2, 2]


def test_nothing_waits() -> None:
    net = block(1)
    x = np.ones((4, 8))
    with forerun.no_sync("error"):
        with autograd.record():
            y = gluon.checkpoint(net, x)
        y.backward()


def peak(checkpointed: bool) -> int:
    np.random.seed(1)
    layers = [nn.Dense(64, in_units=64, activation="tanh") for _ in range(64)]
    for layer in layers:
        layer.initialize(init.Normal(0.05))
    x = np.random.normal(size=(2048, 64))
    place = x.device if x.device.device_type == "gpu" else None
    segments = [layers[start : start + 8] for start in range(0, 64, 8)]

    def through(segment: list[Any]) -> Any:
        def call(y: Any) -> Any:
            for layer in segment:
                y = layer(y)
            return y

        return call

    for measured in [False, True]:
        npx.waitall()
        if measured:
            forerun.reset_peak(place)
        before = forerun.memory_stats(device=place)["live"]
        with autograd.record():
            y = x
            for segment in segments:
                y = gluon.checkpoint(through(segment), y) if checkpointed else through(segment)(y)
            loss = y.sum()
        npx.waitall()
        loss.backward()
        npx.waitall()
        del y, loss
    return forerun.memory_stats(device=place)["peak"] - before


def test_the_memory_peak_falls() -> None:
    plain, checkpointed = peak(False), peak(True)
    # 64 results of half a mebibyte, or the inputs of eight segments and the results of one.
    assert plain > 30 << 20
    assert checkpointed < 0.6 * plain


# Functions that save values which pointwise ops computed from their argument.
POINTWISE: dict[str, Callable[[Any], Any]] = {
    "silu": lambda x: npx.activation(x, "silu"),
    "swish": nn.Swish(1.5),
    "gelu": nn.GELU(),
    "gelu by tanh": nn.GELU("tanh"),
    "softplus": lambda x: npx.activation(x, "softrelu"),
    "the argument is saved last": lambda x: np.tanh(x * 3) + np.exp(-x) + x * x,
    "in another shape": lambda x: (npx.sigmoid(x.reshape(-1)).reshape(x.shape) + np.sin(x)) * x,
}


def live(x: Any) -> int:
    return forerun.memory_stats(device=x.device if x.device.device_type == "gpu" else None)["live"]


@pytest.mark.parametrize("name", POINTWISE)
def test_of_pointwise_functions_only_the_argument_is_kept(name: str) -> None:
    x = np.random.normal(size=(256, 1024))
    x.attach_grad()
    npx.waitall()
    before = live(x)
    with autograd.record():
        y = POINTWISE[name](x * 2)
    npx.waitall()
    # The argument and the result.
    assert live(x) - before < 2.1 * x.nbytes
    y.backward()
    del y
    npx.waitall()
    assert live(x) - before < 0.1 * x.nbytes


def gradients(function: Callable[[Any], Any], values: numpy.ndarray) -> list[numpy.ndarray]:
    """Return the gradient, the gradient of a second walk over the same tape, and that of its own square."""
    x = np.array(values)
    x.attach_grad()
    found = []
    with autograd.record():
        y = function(x * 2)
    for retain in (True, False):
        y.backward(retain_graph=retain)
        found.append(x.grad.asnumpy())
    with autograd.record():
        (first,) = autograd.grad([function(x * 2)], [x], create_graph=True)
        y = first * first
    y.backward()
    return [*found, x.grad.asnumpy()]


# Softplus is too long to be computed again from the argument: it is kept, and its hyperbolic tangent is computed again.
POINTWISE_TOO_LONG: dict[str, Callable[[Any], Any]] = {
    "mish": lambda x: x * np.tanh(npx.activation(x, "softrelu")),
}


@pytest.mark.parametrize("name", [*POINTWISE, *POINTWISE_TOO_LONG])
def test_pointwise_functions_have_the_same_bits(name: str) -> None:
    values = numpy.random.default_rng(3).standard_normal((16, 4096)).astype("float32")
    function = {**POINTWISE, **POINTWISE_TOO_LONG}[name]
    whole = gradients(function, values)
    # Everything that is as small as a row is kept.
    rows = [gradients(function, row) for row in values]
    for found, wanted in zip(whole, zip(*rows, strict=True), strict=True):
        numpy.testing.assert_array_equal(found, numpy.stack(wanted))
    numpy.testing.assert_array_equal(whole[0], whole[1])


def test_a_root_that_is_written_in_place() -> None:
    values = numpy.random.default_rng(4).standard_normal((64, 1024)).astype("float32")
    found = []
    for write in (False, True):
        x = np.array(values)
        x.attach_grad()
        with autograd.record():
            y = x * 2
            z = npx.sigmoid(y) * y
            if write:
                y += 1
                y[:3] = 5
        z.backward()
        found.append(x.grad.asnumpy())
    numpy.testing.assert_array_equal(found[0], found[1])


def test_what_a_product_saves_is_not_computed_again() -> None:
    x = np.random.normal(size=(256, 1024))
    x.attach_grad()
    weight = np.random.normal(size=(1024, 4))
    weight.attach_grad()
    npx.waitall()
    before = live(x)
    with autograd.record():
        loss = (npx.relu(x * 2) @ weight).sum()
    npx.waitall()
    assert live(x) - before < 1.1 * x.nbytes
    loss.backward()
    assert x.grad.shape == x.shape
