"""Layers compared with NumPy in double precision, and their gradients with finite differences."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, init, np, npx
from forerun.gluon import nn

RANDOM = numpy.random.default_rng(5)


def drawn(*shape: int) -> numpy.ndarray:
    return RANDOM.normal(size=shape).astype("float32")


def near(x: np.ndarray, expected: Any) -> None:
    numpy.testing.assert_allclose(x.asnumpy(), expected, rtol=2e-5, atol=2e-6)


def check_gradient(layer: gluon.Block, given: numpy.ndarray) -> None:
    """Compare the gradient with respect to the input with finite differences, in double precision."""
    layer.cast("float64")
    weights = RANDOM.normal(size=layer(np.array(given.astype("float64"))).shape)
    x = np.array(given.astype("float64"))
    x.attach_grad()
    with autograd.record(train_mode=False):
        y = (layer(x) * np.array(weights)).sum()
    y.backward()
    assert x.grad is not None
    found = x.grad.asnumpy()
    for place in list(numpy.ndindex(given.shape))[:12]:
        step = numpy.zeros(given.shape)
        step[place] = 1e-5
        up, down = (layer(np.array(given + side * step)).asnumpy() for side in (1, -1))
        numpy.testing.assert_allclose(found[place], ((up - down) * weights).sum() / 2e-5, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("flatten", [True, False])
@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("activation", [None, "relu", "tanh"])
def test_dense(flatten: bool, use_bias: bool, activation: str | None) -> None:
    layer = nn.Dense(4, activation=activation, use_bias=use_bias, flatten=flatten, bias_initializer=init.Normal(1))
    layer.initialize(init.Normal(0.5))
    given = drawn(3, 2, 5)
    y = layer(np.array(given))
    weight = layer.weight.data().asnumpy().astype("float64")
    expected = (given.reshape(3, 10) if flatten else given) @ weight.T
    if layer.bias is not None:
        expected = expected + layer.bias.data().asnumpy()
    if activation is not None:
        expected = numpy.maximum(expected, 0) if activation == "relu" else numpy.tanh(expected)
    near(y, expected)
    check_gradient(layer, given)


def test_dense_says_what_does_not_fit() -> None:
    layer = nn.Dense(4, in_units=3)
    layer.initialize()
    with pytest.raises(ValueError, match=r"\(2, 5\)"):
        layer(np.ones((2, 5)))


SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772
FUNCTIONS: dict[str, tuple[Callable[[], gluon.Block], Callable[[numpy.ndarray], numpy.ndarray]]] = {
    "relu": (lambda: nn.Activation("relu"), lambda x: numpy.maximum(x, 0)),
    "sigmoid": (lambda: nn.Activation("sigmoid"), lambda x: 1 / (1 + numpy.exp(-x))),
    "tanh": (lambda: nn.Activation("tanh"), numpy.tanh),
    "softrelu": (lambda: nn.Activation("softrelu"), lambda x: numpy.log1p(numpy.exp(x))),
    "softsign": (lambda: nn.Activation("softsign"), lambda x: x / (1 + numpy.abs(x))),
    "leaky": (lambda: nn.LeakyReLU(0.2), lambda x: numpy.where(x > 0, x, 0.2 * x)),
    "elu": (lambda: nn.ELU(0.5), lambda x: numpy.where(x > 0, x, 0.5 * numpy.expm1(x))),
    "selu": (lambda: nn.SELU(), lambda x: SCALE * numpy.where(x > 0, x, ALPHA * numpy.expm1(x))),
    "gelu": (lambda: nn.GELU(), lambda x: 0.5 * x * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2)))),
    "gelu by tanh": (
        lambda: nn.GELU(approximation="tanh"),
        lambda x: 0.5 * x * (1 + numpy.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "silu": (lambda: nn.SiLU(), lambda x: x / (1 + numpy.exp(-x))),
    "swish": (lambda: nn.Swish(2.0), lambda x: x / (1 + numpy.exp(-2 * x))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_activations(name: str) -> None:
    make, reference = FUNCTIONS[name]
    given = drawn(4, 5) * 2
    near(make()(np.array(given)), reference(given.astype("float64")))
    check_gradient(make(), given)


def test_layer_norm() -> None:
    for axis in (-1, 1):
        layer = nn.LayerNorm(axis=axis, gamma_initializer=init.Normal(1), beta_initializer=init.Normal(1))
        layer.initialize()
        given = drawn(3, 4, 5)
        y = layer(np.array(given))
        x = given.astype("float64")
        normed = (x - x.mean(axis, keepdims=True)) / numpy.sqrt(x.var(axis, keepdims=True) + 1e-5)
        shape = [1, 1, 1]
        shape[axis] = -1
        gamma, beta = (p.data().asnumpy().reshape(shape) for p in (layer.gamma, layer.beta))
        near(y, normed * gamma + beta)
        check_gradient(layer, given)


def test_group_instance_and_rms_norm() -> None:
    given = drawn(3, 4, 5) * 2 + 1
    x = given.astype("float64")

    def normed(axes: tuple[int, ...], parts: numpy.ndarray) -> Any:
        return (parts - parts.mean(axes, keepdims=True)) / numpy.sqrt(parts.var(axes, keepdims=True) + 1e-5)

    grouped = normed((2, 3), x.reshape(3, 2, 2, 5)).reshape(3, 4, 5)
    start = {"gamma_initializer": init.Normal(1)}
    for layer, expected, axis in (
        (nn.GroupNorm(2, beta_initializer=init.Normal(1), **start), grouped, 1),
        (nn.InstanceNorm(scale=True, beta_initializer=init.Normal(1), **start), normed((2,), x), 1),
        (nn.InstanceNorm(axis=2, scale=True, beta_initializer=init.Normal(1), **start), normed((1,), x), 2),
        (nn.RMSNorm(axis=1, **start), x / numpy.sqrt((x * x).mean(1, keepdims=True) + 1e-5), 1),
    ):
        layer.initialize()
        y = layer(np.array(given))
        shape = [1, 1, 1]
        shape[axis] = -1
        gamma = layer.gamma.data().asnumpy().reshape(shape)
        beta = layer.beta.data().asnumpy().reshape(shape) if hasattr(layer, "beta") else 0
        near(y, expected * gamma + beta)
        check_gradient(layer, given)
    assert nn.InstanceNorm().gamma.grad_req == "null"
    with pytest.raises(ValueError, match=r"group_norm: 3 groups do not divide the channels of \(2, 4\)"):
        npx.group_norm(np.ones((2, 4)), np.ones((4,)), np.ones((4,)), 3)
    with pytest.raises(ValueError, match="instance_norm: needs samples, channels and further axes"):
        npx.instance_norm(np.ones((2, 4)), np.ones((4,)), np.ones((4,)))


def test_prelu() -> None:
    given = drawn(3, 4, 5)
    for channels in (1, 4):
        layer = nn.PReLU(init.Uniform(0.5), in_channels=channels)
        layer.initialize()
        y = layer(np.array(given))
        slope = layer.alpha.data().asnumpy().reshape(-1, 1)
        near(y, numpy.where(given > 0, given, given * slope))
        check_gradient(layer, given)
    with pytest.raises(ValueError, match=r"prelu: slope of shape \(3,\) does not fit axis 1 of \(2, 4\)"):
        npx.leaky_relu(np.ones((2, 4)), np.ones((3,)), act_type="prelu")


def test_batch_norm() -> None:
    layer = nn.BatchNorm(momentum=0.8, gamma_initializer=init.Normal(1), beta_initializer=init.Normal(1))
    layer.initialize()
    given = drawn(6, 3, 4) * 2 + 1
    x = given.astype("float64")
    mean, var = x.mean((0, 2)), x.var((0, 2))
    with autograd.record():
        y = layer(np.array(given))
    gamma, beta = (p.data().asnumpy().reshape(1, 3, 1) for p in (layer.gamma, layer.beta))

    def normed(mean: numpy.ndarray, var: numpy.ndarray) -> Any:
        return (x - mean.reshape(1, 3, 1)) / numpy.sqrt(var.reshape(1, 3, 1) + 1e-5) * gamma + beta

    near(y, normed(mean, var))
    near(layer.running_mean.data(), 0.2 * mean)
    near(layer.running_var.data(), 0.8 + 0.2 * var)
    # Now with the running statistics.
    near(layer(np.array(given)), normed(0.2 * mean, 0.8 + 0.2 * var))
    near(layer.running_mean.data(), 0.2 * mean)
    assert layer.running_mean.grad_req == "null"


def test_batch_norm_with_fixed_gamma_and_global_statistics() -> None:
    layer = nn.BatchNorm(scale=False, use_global_stats=True, gamma_initializer=init.Constant(9))
    layer.initialize()
    given = drawn(6, 3)
    with autograd.record():
        y = layer(np.array(given))
    near(y, given / numpy.sqrt(1 + 1e-5))
    assert layer.running_mean.data().tolist() == [0.0] * 3


def test_embedding() -> None:
    layer = nn.Embedding(5, 3)
    layer.initialize(init.Normal(1))
    indices = np.array([[0, 4, 0], [2, 2, 2]])
    with autograd.record():
        y = layer(indices)
    numpy.testing.assert_array_equal(y.asnumpy(), layer.weight.data().asnumpy()[indices.asnumpy()])
    y.backward()
    assert layer.weight.grad().asnumpy()[:, 0].tolist() == [2.0, 0.0, 3.0, 0.0, 1.0]


def test_dropout() -> None:
    layer = nn.Dropout(0.25)
    x = np.ones((4000,))
    x.attach_grad()
    with autograd.record():
        y = layer(x)
    kept = y.asnumpy()
    near(np.array(kept[kept != 0]), 1 / 0.75)
    assert 0.2 < float((kept == 0).mean()) < 0.3
    y.backward()
    assert x.grad is not None
    numpy.testing.assert_array_equal(x.grad.asnumpy(), kept)
    numpy.testing.assert_array_equal(layer(x).asnumpy(), x.asnumpy())
    with pytest.raises(ValueError, match="Dropout: rate must be at least 0 and below 1, got 1"):
        nn.Dropout(1)


def test_flatten_of_nothing() -> None:
    assert nn.Flatten()(np.zeros((0, 3, 2))).shape == (0, 6)


@pytest.mark.parametrize("kind", [nn.Sequential, nn.HybridSequential])
def test_sequences(kind: type[nn.Sequential]) -> None:
    net = kind()
    layers = [nn.Dense(4), nn.Activation("relu"), nn.Dense(2)]
    net.add(*layers)
    assert len(net) == 3
    assert list(net) == layers
    assert net[-1] is layers[2]
    part = net[1:]
    assert type(part) is kind
    assert list(part) == layers[1:]
    with pytest.raises(IndexError):
        net[3]
    net.initialize()
    x = np.ones((2, 3))
    numpy.testing.assert_array_equal(net(x).asnumpy(), layers[2](layers[1](layers[0](x))).asnumpy())


@pytest.mark.parametrize("kind", [nn.Concatenate, nn.HybridConcatenate])
def test_concatenate(kind: type[nn.Concatenate]) -> None:
    both = kind(axis=0)
    both.add(nn.Identity(), nn.Lambda(lambda x: x * 2))
    both.hybridize()
    for _ in range(2):
        assert both(np.ones((2,))).tolist() == [1.0, 1.0, 2.0, 2.0]
    assert both[1:].axis == 0


def test_lambdas() -> None:
    assert nn.Lambda("relu")(np.array([-1.0, 1.0])).tolist() == [0.0, 1.0]
    assert nn.HybridLambda("square")(np.array([3.0])).tolist() == [9.0]
    assert repr(nn.Lambda("relu")) == "Lambda(relu)"
    with pytest.raises(ValueError, match="no function 'rlu' in np or npx"):
        nn.Lambda("rlu")


def test_printed_as_mxnet_does() -> None:
    assert repr(nn.Dropout(0.5)) == "Dropout(p = 0.5, axes=())"
    assert repr(nn.Embedding(3, 4)) == "Embedding(3 -> 4, float32)"
    assert repr(nn.LeakyReLU(0.1)) == "LeakyReLU(0.1)"
    assert repr(nn.BatchNorm(in_channels=3)) == (
        "BatchNorm(axis=1, eps=1e-05, momentum=0.9, fix_gamma=False, use_global_stats=False, in_channels=3)"
    )
