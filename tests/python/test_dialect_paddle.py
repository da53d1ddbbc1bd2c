"""Paddle's dialect: tutorials train, their first steps equal NumPy's, and tensors behave as expected."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from forerun import paddle
from forerun.paddle import nn

RNG = numpy.random.default_rng(13)


def mlp(inputs: int, hidden: int, outputs: int) -> Any:
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def same(tensors: Any, arrays: Any) -> None:
    for tensor, array in zip(tensors, arrays, strict=True):
        numpy.testing.assert_allclose(tensor.numpy(), array, rtol=2e-4, atol=2e-6)


def test_linear_regression_by_hand() -> None:
    paddle.seed(3)
    true_w, true_b = paddle.to_tensor([2.0, -3.4]), 4.2
    X = paddle.randn(shape=(200, 2))
    y = paddle.mm(X, true_w.reshape([-1, 1])) + true_b
    w = paddle.normal(0, 0.01, shape=(2, 1))
    b = paddle.zeros(shape=[1])
    w.stop_gradient = False
    b.stop_gradient = False
    x64, y64 = X.numpy().astype("float64"), y.numpy().astype("float64")
    w64, b64 = w.numpy().astype("float64"), numpy.zeros(1)
    losses = []
    for step in range(60):
        loss = (paddle.matmul(X, w) + b - y).square().mean()
        loss.backward()
        with paddle.no_grad():
            for parameter in (w, b):
                parameter.set_value(parameter - 0.1 * parameter.grad)
                parameter.clear_grad()
        losses.append(loss.item())
        if step < 5:
            apart = x64 @ w64 + b64 - y64
            w64 = w64 - 0.1 * 2 * x64.T @ apart / len(y64)
            b64 = b64 - 0.1 * 2 * apart.mean()
            same([w, b], [w64, b64])
    assert losses[-1] < losses[0] / 1000
    numpy.testing.assert_allclose(w.numpy().reshape(-1), true_w.numpy(), atol=1e-3)


def test_momentum_takes_numpys_steps(reference: Any) -> None:
    net = mlp(3, 8, 2)
    expected = reference([parameter.numpy() for parameter in net.parameters()])
    optimizer = paddle.optimizer.Momentum(0.1, 0.9, parameters=net.parameters(), weight_decay=0.01)
    x, y = RNG.normal(size=(16, 3)), RNG.normal(size=(16, 2))
    X, Y = paddle.to_tensor(x, dtype="float32"), paddle.to_tensor(y, dtype="float32")
    velocities = [numpy.zeros_like(weight) for weight in expected.weights]
    for step in range(6):
        rate = 0.1 if step < 3 else 0.02
        optimizer.set_lr(rate)
        value = nn.MSELoss()(net(X), Y)
        value.backward()
        square, gradients = expected.squares(x, y)
        assert value.item() == pytest.approx(square, rel=1e-4)
        same([parameter.grad for parameter in net.parameters()], gradients)
        optimizer.step()
        optimizer.clear_grad()
        for weight, gradient, velocity in zip(expected.weights, gradients, velocities, strict=True):
            velocity *= 0.9
            velocity += gradient + 0.01 * weight
            weight -= rate * velocity
        same(net.parameters(), expected.weights)
    assert optimizer.get_lr() == 0.02


def test_adam_takes_numpys_steps(reference: Any) -> None:
    net = mlp(3, 8, 4)
    expected = reference([parameter.numpy() for parameter in net.parameters()])
    optimizer = paddle.optimizer.Adam(learning_rate=0.01, parameters=net.parameters())
    x, classes = RNG.normal(size=(16, 3)), RNG.integers(0, 4, size=16)
    X, Y = paddle.to_tensor(x, dtype="float32"), paddle.to_tensor(classes.reshape(-1, 1))
    moments = [(numpy.zeros_like(weight), numpy.zeros_like(weight)) for weight in expected.weights]
    for step in range(1, 6):
        value = nn.CrossEntropyLoss()(net(X), Y)
        value.backward()
        optimizer.step()
        optimizer.clear_grad()
        entropy, gradients = expected.entropy(x, classes)
        assert value.item() == pytest.approx(entropy, rel=1e-4)
        for weight, gradient, (mean, square) in zip(expected.weights, gradients, moments, strict=True):
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient**2 - square)
            weight -= 0.01 * (mean / (1 - 0.9**step)) / (numpy.sqrt(square / (1 - 0.999**step)) + 1e-8)
        same(net.parameters(), expected.weights)


def test_a_classifier_learns() -> None:
    paddle.seed(5)
    labels = numpy.arange(300) % 3
    centres = numpy.array([[2.0, 0.0], [-2.0, 1.0], [0.0, -2.0]])
    points = paddle.to_tensor(centres[labels] + RNG.normal(size=(300, 2)) * 0.4, dtype="float32")
    classes = paddle.to_tensor(labels)
    net = mlp(2, 16, 3)
    optimizer = paddle.optimizer.Adam(learning_rate=0.02, parameters=net.parameters())
    losses = []
    for _ in range(60):
        loss = nn.functional.cross_entropy(net(points), classes)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4
    assert (net(points).argmax(axis=1) == classes).astype("float32").mean().item() > 0.95


def test_where_gradients_stop() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    assert paddle.ones([2]).stop_gradient
    assert not (x * 2).stop_gradient
    assert (x * 2).detach().stop_gradient
    assert x.grad is None
    # The gradient of a tensor with several elements is that of its sum.
    (x * x).backward()
    (x * x).backward()
    numpy.testing.assert_array_equal(x.grad.numpy(), [4, 8])
    x.clear_grad(set_to_zero=True)
    numpy.testing.assert_array_equal(x.grad.numpy(), [0, 0])
    x.clear_grad()
    assert x.grad is None
    with paddle.no_grad():
        assert (x * 2).stop_gradient

    @paddle.no_grad()
    def double(t: Any) -> Any:
        return t * 2

    assert double(x).stop_gradient
    with pytest.raises(RuntimeError, match="requires gradients"):
        paddle.ones([1]).backward()


def test_shapes_and_types() -> None:
    x = paddle.arange(6).reshape([2, 3])
    assert (x.shape, x.size, x.ndim, len(x)) == ([2, 3], 6, 2, 2)
    assert x.astype("float32").dtype == paddle.float32
    assert x.transpose([1, 0]).shape == x.t().shape == x.T.shape == [3, 2]
    assert x.unsqueeze(0).squeeze(0).flatten().shape == [6]
    assert (x.max().item(), x.max(axis=1).tolist(), x.argmax(axis=1).tolist()) == (5, [2, 5], [2, 2])
    assert x.sum(axis=0, keepdim=True).shape == [1, 3]
    assert x[1, 1:].tolist() == [4, 5]
    assert paddle.full([2], 7).dtype == paddle.float32
    assert x.place == paddle.CPUPlace()
    array = x.numpy()
    array[0, 0] = 100
    assert x[0, 0].item() == 0


def test_layers_hold_parameters_and_state() -> None:
    class Net(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(2, 3)
            self.drop = nn.Dropout(0.5)

        def forward(self, x: Any) -> Any:
            return self.drop(self.first(x))

    net, other = Net(), Net()
    assert [tuple(parameter.shape) for parameter in net.parameters()] == [(2, 3), (3,)]
    assert other.set_state_dict(net.state_dict()) == ([], [])
    net.eval()
    other.eval()
    x = paddle.ones((4, 2))
    numpy.testing.assert_array_equal(net(x).numpy(), other(x).numpy())
    assert [type(layer).__name__ for layer in net.sublayers()] == ["Linear", "Dropout"]
    net.train()
    assert 0.4 < (net(paddle.ones((1000, 2))) == 0).astype("float32").mean().item() < 0.6


def test_devices() -> None:
    assert paddle.set_device("cpu") == paddle.get_device() == paddle.device.get_device() == "cpu"
    assert paddle.is_compiled_with_cuda() == (paddle.device.cuda.device_count() > 0)
    a = paddle.randn(shape=(300, 300))
    for _ in range(5):
        a = paddle.mm(a, a) / 300
    paddle.device.cuda.synchronize()
    paddle.device.cuda.synchronize("gpu:7")
    with pytest.raises(RuntimeError, match="no device gpu"):
        paddle.set_device("gpu:99")
    with pytest.raises(ValueError, match="'tpu'"):
        paddle.set_device("tpu")


@pytest.mark.parametrize(
    ("owner", "name", "advice"),
    [
        (paddle, "zeroes", "'zeros'"),
        (paddle, "tensor", "to_tensor"),
        (paddle.device.cuda, "synchronise", "'synchronize'"),
        (nn, "Module", "Layer"),
        (paddle.optimizer, "Adamm", "'Adam'"),
        (paddle.ones([1]), "requires_grad", "stop_gradient"),
    ],
)
def test_what_lacks_names_the_nearest(owner: Any, name: str, advice: str) -> None:
    with pytest.raises(AttributeError, match=advice):
        getattr(owner, name)
