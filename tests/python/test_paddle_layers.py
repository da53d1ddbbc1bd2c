"""Paddle's quick start, and the layers, losses, optimisers and loaders that Paddle's dialect borrows."""

from __future__ import annotations

import gzip
import pathlib
import pickle
import struct
from typing import Any

import numpy
import pytest

from forerun import paddle
from forerun.paddle import nn

F = nn.functional
RNG = numpy.random.default_rng(5)


def draw(*shape: int) -> Any:
    return RNG.normal(size=shape).astype("float32")


def idx(path: pathlib.Path, array: Any) -> None:
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(header + array.astype(numpy.uint8).tobytes()))


def test_the_quick_start_trains_lenet(tmp_path: pathlib.Path) -> None:
    patterns = RNG.integers(0, 256, (10, 28, 28))
    for part, count in (("train", 512), ("t10k", 128)):
        labels = RNG.integers(0, 10, count)
        noisy = numpy.clip(patterns[labels] + RNG.integers(-40, 40, (count, 28, 28)), 0, 255)
        idx(tmp_path / f"{part}-images-idx3-ubyte.gz", noisy)
        idx(tmp_path / f"{part}-labels-idx1-ubyte.gz", labels)
    transform = paddle.vision.transforms.Compose(
        [paddle.vision.transforms.Normalize(mean=[127.5], std=[127.5], data_format="CHW")]
    )
    path = str(tmp_path / "train-images-idx3-ubyte.gz")
    train = paddle.vision.datasets.MNIST(image_path=path, mode="train", transform=transform)
    test = paddle.vision.datasets.MNIST(image_path=path, mode="test", transform=transform)
    assert len(train) == 512 and train[0][0].shape == (1, 28, 28) and train[0][1].shape == (1,)
    paddle.seed(1)
    model = paddle.vision.models.LeNet()
    rate = paddle.optimizer.lr.StepDecay(learning_rate=0.002, step_size=2, gamma=0.5)
    optimizer = paddle.optimizer.Adam(learning_rate=rate, parameters=model.parameters())
    loss_fn = nn.CrossEntropyLoss()
    losses = []
    model.train()
    for _ in range(3):
        for x, y in paddle.io.DataLoader(train, batch_size=32, shuffle=True, num_workers=2):
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(loss.item())
        rate.step()
    assert losses[-1] < losses[0] / 4 and optimizer.get_lr() == 0.001
    model.eval()
    metric = paddle.metric.Accuracy()
    with paddle.no_grad():
        for x, y in paddle.io.DataLoader(test, batch_size=64):
            metric.update(metric.compute(model(x), y))
    assert metric.accumulate() > 0.9
    paddle.save(model.state_dict(), str(tmp_path / "lenet.pdparams"))
    paddle.save(optimizer.state_dict(), str(tmp_path / "adam.pdopt"))
    again = paddle.vision.models.LeNet()
    again.set_state_dict(paddle.load(str(tmp_path / "lenet.pdparams")))
    optimizer.set_state_dict(paddle.load(str(tmp_path / "adam.pdopt")))
    x = paddle.to_tensor(test[0][0]).unsqueeze(0)
    numpy.testing.assert_array_equal(again.eval()(x).numpy(), model(x).numpy())


def test_borrowed_functions_have_gradients_and_paddles_arguments() -> None:
    x = paddle.to_tensor(draw(2, 3), stop_gradient=False)
    y = paddle.to_tensor(draw(2, 3))
    made = paddle.multiply(paddle.maximum(x, y), y).sum(axis=1)
    made.sum().backward()
    expected = numpy.where(x.numpy() > y.numpy(), y.numpy(), 0)
    numpy.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6)
    values, indices = paddle.topk(x, k=2, axis=1)
    assert isinstance(values, paddle.Tensor) and indices.shape == [2, 2]
    assert paddle.split(x, 3, axis=1)[1].shape == [2, 1] and paddle.squeeze(x.unsqueeze(0), 0).shape == [2, 3]
    assert paddle.gather(x, paddle.to_tensor([1])).shape == [1, 3] and x.transpose([1, 0]).shape == [3, 2]
    numpy.testing.assert_allclose(paddle.std(x).item(), x.numpy().std(ddof=1), rtol=1e-5)
    assert paddle.grad((x * x).sum(), x)[0].shape == [2, 3]
    with pytest.raises(TypeError, match="not 'dim'"):
        paddle.topk(x, k=2, dim=1)


def test_layers_compute_what_numpy_does() -> None:
    conv = nn.Conv2D(2, 3, 3, padding=1)
    x = draw(1, 2, 4, 4)
    padded = numpy.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    weight, bias = conv.weight.numpy(), conv.bias.numpy()
    corner = numpy.einsum("chw,fchw->f", padded[0, :, :3, :3], weight) + bias
    numpy.testing.assert_allclose(conv(paddle.to_tensor(x)).numpy()[0, :, 0, 0], corner, rtol=1e-4, atol=1e-5)
    norm = nn.BatchNorm1D(3, momentum=0.75)
    rows = draw(8, 3)
    norm(paddle.to_tensor(rows))
    numpy.testing.assert_allclose(norm._mean.numpy(), 0.25 * rows.mean(0), rtol=1e-4, atol=1e-6)
    assert list(norm.state_dict()) == ["weight", "bias", "_mean", "_variance"]
    pool = nn.AvgPool2D(2, padding=1)
    ones = pool(paddle.ones([1, 1, 2, 2]))
    assert ones.numpy().min() == 1.0
    out, (h, c) = nn.LSTM(3, 4, num_layers=2, direction="bidirect")(paddle.to_tensor(draw(2, 5, 3)))
    assert out.shape == [2, 5, 8] and h.shape == c.shape == [4, 2, 4]
    rnn = nn.GRU(3, 4)
    rnn(paddle.to_tensor(draw(2, 5, 3)))[0].sum().backward()
    assert all(parameter.grad is not None for parameter in rnn.parameters())


def test_losses_and_clipping() -> None:
    logit, label = draw(3, 2), numpy.array([[0, 1], [1, 1], [0, 0]], "float32")
    made = nn.BCEWithLogitsLoss()(paddle.to_tensor(logit), paddle.to_tensor(label))
    chance = 1 / (1 + numpy.exp(-logit))
    expected = -(label * numpy.log(chance) + (1 - label) * numpy.log(1 - chance)).mean()
    assert made.item() == pytest.approx(expected, rel=1e-5)
    w = paddle.to_tensor([3.0, 4.0], stop_gradient=False)
    clip = nn.ClipGradByGlobalNorm(1.0)
    optimizer = paddle.optimizer.SGD(learning_rate=1.0, parameters=[w], grad_clip=clip)
    (w * w / 2).sum().backward()
    optimizer.step()
    numpy.testing.assert_allclose(w.numpy(), [2.4, 3.2], rtol=1e-5)


def test_initialisers_write_paddles_shapes() -> None:
    layer = nn.Linear(100, 50)
    nn.initializer.XavierUniform()(layer.weight)
    assert abs(layer.weight.numpy()).max() <= (6 / 150) ** 0.5 + 1e-6
    nn.initializer.Constant(2.0)(layer.bias)
    assert (layer.bias.numpy() == 2).all() and not layer.bias.stop_gradient
    nn.initializer.KaimingNormal()(layer.weight)
    assert layer.weight.numpy().std() == pytest.approx((2 / 100) ** 0.5, rel=0.1)


def test_schedules_of_rates() -> None:
    lr = paddle.optimizer.lr

    def rates(schedule: Any, count: int) -> list[float]:
        found = []
        for _ in range(count):
            found.append(schedule())
            schedule.step()
        return found

    assert rates(lr.PiecewiseDecay([1, 3], [1.0, 0.5, 0.1]), 4) == [1.0, 0.5, 0.5, 0.1]
    assert rates(lr.MultiStepDecay(1.0, [1, 2], 0.5), 4) == [1.0, 0.5, 0.25, 0.25]
    assert rates(lr.LinearWarmup(lr.ExponentialDecay(1.0, 0.5), 2, 0.0, 1.0), 5) == [0.0, 0.5, 1.0, 0.5, 0.25]
    assert rates(lr.PolynomialDecay(1.0, 2, end_lr=0.0), 4) == [1.0, 0.5, 0.0, 0.0]


def test_containers_and_pickles() -> None:
    net = nn.LayerList([nn.Linear(2, 2), nn.ReLU()])
    net.append(nn.Embedding(3, 2))
    assert len(net) == 3 and len(net.parameters()) == 3
    back = pickle.loads(pickle.dumps(nn.Sequential(nn.Conv2D(1, 2, 3), nn.ReLU(), nn.MaxPool2D(2))))
    assert back(paddle.zeros([1, 1, 4, 4])).shape == [1, 2, 1, 1]


def test_files_that_paddle_pickled_are_not_read(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.pdparams").write_bytes(pickle.dumps({"x": numpy.ones(2)}, 2))
    with pytest.raises(RuntimeError, match="pickled"):
        paddle.load(str(tmp_path / "a.pdparams"))
