"""MXNet's dialect: tutorials train, their first steps equal NumPy's, and unchanged programs run after ``install``."""

from __future__ import annotations

import importlib
import pathlib
import subprocess
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from forerun.mxnet.gluon import nn

import forerun
from forerun import mxnet as mx
from forerun.mxnet import autograd, gluon, np, npx

RNG = numpy.random.default_rng(11)


@pytest.fixture
def installed() -> Iterator[None]:
    """Replace ``mxnet`` during a test."""
    mx.install()
    yield
    mx.uninstall()


def test_linear_regression_by_hand() -> None:
    mx.random.seed(3)
    true_w, true_b = np.array([2, -3.4]), 4.2
    X = np.random.normal(0, 1, (200, 2))
    y = np.dot(X, true_w) + true_b
    w, b = np.random.normal(0, 0.01, (2, 1)), np.zeros(1)
    w.attach_grad()
    b.attach_grad()
    x64, y64 = X.asnumpy().astype("float64"), y.asnumpy().astype("float64")
    w64, b64 = w.asnumpy().astype("float64"), numpy.zeros(1)
    losses = []
    for step in range(60):
        with autograd.record():
            loss = ((np.dot(X, w) + b - y.reshape(-1, 1)) ** 2 / 2).mean()
        loss.backward()
        for parameter in (w, b):
            parameter[:] = parameter - 0.2 * parameter.grad
        losses.append(loss.item())
        if step < 5:
            apart = (x64 @ w64 + b64).reshape(-1) - y64
            w64 = w64 - 0.2 * (x64.T @ apart / len(y64)).reshape(-1, 1)
            b64 = b64 - 0.2 * apart.mean()
            numpy.testing.assert_allclose(w.asnumpy(), w64, rtol=1e-4)
            numpy.testing.assert_allclose(b.asnumpy(), b64, rtol=1e-4)
    assert losses[-1] < losses[0] / 1000
    numpy.testing.assert_allclose(w.asnumpy().reshape(-1), true_w.asnumpy(), atol=1e-3)


def test_a_network_takes_numpys_steps(reference: Any) -> None:
    net = nn.Sequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dense(2))
    net.initialize(mx.init.Normal(sigma=0.3))
    x, y = RNG.normal(size=(16, 3)), RNG.normal(size=(16, 2))
    X, Y = np.array(x, dtype="float32"), np.array(y, dtype="float32")
    net(X)
    parameters = list(net.collect_params().values())
    expected = reference([parameter.data().asnumpy().T for parameter in parameters])
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    loss = gluon.loss.L2Loss()
    velocities = [numpy.zeros_like(weight) for weight in expected.weights]
    values = []
    for _ in range(30):
        with autograd.record():
            value = loss(net(X), Y)
        value.backward()
        trainer.step(len(X))
        values.append(value.mean().item())
        # MXNet halves the squared error.
        square, gradients = expected.squares(x, y)
        for weight, gradient, velocity in zip(expected.weights, gradients, velocities, strict=True):
            velocity *= 0.9
            velocity += gradient / 2
            weight -= 0.1 * velocity
        if len(values) <= 5:
            assert values[-1] == pytest.approx(square / 2, rel=1e-4)
            for parameter, weight in zip(parameters, expected.weights, strict=True):
                numpy.testing.assert_allclose(parameter.data().asnumpy().T, weight, rtol=2e-4, atol=2e-6)
    assert values[-1] < 0.8 * values[0]


def test_a_classifier_learns() -> None:
    mx.random.seed(5)
    labels = numpy.arange(300) % 3
    centres = numpy.array([[2.0, 0.0], [-2.0, 1.0], [0.0, -2.0]])
    points = (centres[labels] + RNG.normal(size=(300, 2)) * 0.4).astype("float32")
    batches = gluon.data.DataLoader(gluon.data.ArrayDataset(points, labels), batch_size=50, shuffle=True)
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="relu"), nn.Dense(3))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    epochs = []
    for _ in range(8):
        total = 0.0
        for X, y in batches:
            with autograd.record():
                value = loss(net(X), y)
            value.backward()
            trainer.step(len(X))
            total += value.mean().item()
        epochs.append(total / len(batches))
    assert epochs[-1] < epochs[0] / 4
    predicted = net(np.array(points)).argmax(axis=1).asnumpy()
    assert (predicted == labels).mean() > 0.95


def test_defaults_are_mxnets() -> None:
    assert np.array([1, 2]).dtype == "float32"
    assert np.array([1, 2], dtype="int32").dtype == "int32"
    assert np.array(numpy.array([1, 2])).dtype == "int64"
    assert np.arange(3).dtype == "float32"
    assert np.full((2,), 7).dtype == "float32"
    assert np.full((2,), True).dtype == "bool"
    assert np.ones((2, 3), ctx=mx.cpu()).shape == np.zeros((2, 3), device=mx.cpu()).shape == (2, 3)
    assert np.random.normal(size=(2,), ctx=npx.cpu()).shape == (2,)
    # Forerun's own functions keep NumPy's defaults.
    assert forerun.np.array([1, 2]).dtype == forerun.np.arange(3).dtype == "int64"


def test_devices() -> None:
    assert mx.cpu() == mx.Context("cpu", 0) == mx.current_context() == mx.device.current_device()
    assert mx.context is mx.device
    assert mx.num_gpus() == npx.num_gpus()
    # MXNet only names a device; forerun.npx looks for it.
    assert mx.gpu(99) == npx.gpu(99) == mx.Device("gpu", 99)
    with pytest.raises(RuntimeError, match="no device gpu"):
        forerun.npx.gpu(99)


def test_importing_changes_nothing_for_others() -> None:
    script = """
import sys
import forerun.mxnet
from forerun import np
print(np.ones(1).asnumpy().flags.writeable, "mxnet" in sys.modules, np.arange(2).dtype)
"""
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "False", "int64"]


def test_long_names_find_the_one_module_there_is() -> None:
    for name in ("gluon", "gluon.nn", "gluon.data.batchify", "autograd", "optimizer"):
        assert importlib.import_module(f"forerun.mxnet.{name}") is importlib.import_module(f"forerun.{name}")
    assert importlib.import_module("forerun.mxnet.context") is mx.device


@pytest.mark.usefixtures("installed")
def test_unchanged_imports() -> None:
    namespace: dict[str, Any] = {}
    program = """
import mxnet as mx
import mxnet.gluon.nn
import mxnet.numpy as long_np
from mxnet import autograd, gluon, init, np, npx
from mxnet.gluon import loss as gloss, nn
from mxnet.gluon.data import DataLoader
from mxnet import numpy_extension, context, optimizer, lr_scheduler
"""
    exec(program, namespace)
    assert namespace["np"] is namespace["long_np"] is np
    assert namespace["npx"] is namespace["numpy_extension"] is npx
    assert namespace["mx"].gluon.nn is namespace["nn"] is nn
    assert importlib.import_module("mxnet.gluon.data.batchify") is importlib.import_module(
        "forerun.gluon.data.batchify"
    )
    assert namespace["mx"].__version__ == forerun.__version__


def test_what_is_written_to_numpy_is_a_copy_while_installed() -> None:
    x = np.zeros((2,))
    with pytest.raises(ValueError, match="read-only"):
        x.asnumpy()[0] = 1
    mx.install()
    mx.install()
    try:
        for array in (x.asnumpy(), numpy.asarray(x), x.reshape(2, 1).T.asnumpy()):
            array[...] = 1
        numpy.testing.assert_array_equal(x.asnumpy(), [0, 0])
    finally:
        mx.uninstall()
    assert not x.asnumpy().flags.writeable
    mx.uninstall()
    assert "mxnet" not in sys.modules
    assert "mxnet.gluon.nn" not in sys.modules
    assert "forerun.mxnet" in sys.modules


def test_another_mxnet_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    other = types.ModuleType("mxnet")
    other.__file__ = "elsewhere/mxnet.py"
    monkeypatch.setitem(sys.modules, "mxnet", other)
    with pytest.raises(RuntimeError, match=r"another mxnet is imported already, from elsewhere/mxnet\.py"):
        mx.install()
    assert sys.modules["mxnet"] is other
    mx.uninstall()
    assert sys.modules["mxnet"] is other


def test_another_d2l_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    other = types.ModuleType("d2l")
    monkeypatch.setitem(sys.modules, "d2l", other)
    mx.install()
    assert sys.modules["d2l"] is other
    mx.uninstall()
    assert sys.modules["d2l"] is other


@pytest.mark.parametrize(("name", "advice"), [("kvstore", "one process"), ("gluonn", "'gluon'")])
def test_what_lacks_names_the_nearest(name: str, advice: str) -> None:
    with pytest.raises(AttributeError, match=advice):
        getattr(mx, name)
    with pytest.raises(AttributeError, match="'zeros'"):
        np.zeroes  # noqa: B018  (raising is its purpose)


def test_iterators_over_arrays() -> None:
    from forerun.mxnet import io

    data = {"x": np.arange(5.0), "y": np.arange(10.0).reshape(5, 2)}

    def batches(iterator: io.NDArrayIter) -> list[list[float]]:
        return [batch.data[0].tolist() for batch in iterator]

    padded = io.NDArrayIter(data, np.arange(5), batch_size=2)
    assert batches(padded) == [[0, 1], [2, 3], [4, 0]] and batches(padded) == []
    padded.reset()
    assert [batch.pad for batch in padded] == [0, 0, 1]
    assert [(each.name, each.shape) for each in padded.provide_data] == [("x", (2,)), ("y", (2, 2))]
    assert padded.provide_label[0].name == "softmax_label"
    assert batches(io.NDArrayIter(data, batch_size=2, last_batch_handle="discard")) == [[0, 1], [2, 3]]
    rolling = io.NDArrayIter(data, batch_size=2, last_batch_handle="roll_over")
    assert batches(rolling) == [[0, 1], [2, 3]]
    rolling.reset()
    assert batches(rolling) == [[4, 0], [1, 2], [3, 4]]
    shuffled = io.NDArrayIter(np.arange(6.0), np.arange(6.0), batch_size=3, shuffle=True)
    for batch in shuffled:
        assert batch.label is not None and batch.data[0].tolist() == batch.label[0].tolist()
    with pytest.raises(ValueError, match="same number of samples"):
        io.NDArrayIter(np.ones(3), np.ones(2))
    with pytest.raises(ValueError, match="less than a batch"):
        io.NDArrayIter(np.ones(3), batch_size=4)


def test_loops_take_one_variable_and_no_outputs() -> None:
    from forerun import npx

    outputs, last = npx.while_loop(lambda n: n.sum() < 6, lambda n: (None, n + 1), np.array([0.0, 1.0]), 5, name="loop")
    assert outputs == [] and last.tolist() == [3.0, 4.0]
    outputs, last = npx.while_loop(lambda n: n < 2, lambda n: (n, n + 1), np.array(0.0), 3)
    assert outputs.tolist() == [0.0, 1.0, 0.0] and last.tolist() == 2.0
    assert npx.cond(np.array(1), lambda: 2, lambda: 3, name="branch") == 2


def test_rates_are_multiplied_step_by_step() -> None:
    from forerun import lr_scheduler

    schedule, rate = lr_scheduler.FactorScheduler(1, factor=0.1, base_lr=1), 1.0
    for update in range(1, 8):
        assert schedule(update) == rate
        rate *= 0.1
    assert lr_scheduler.FactorScheduler(1, 0.5, stop_factor_lr=0.2, base_lr=1)(9) == 0.2


def test_packed_parameters_are_split_by_name() -> None:
    from forerun.gluon.utils import split_rnn_params

    size = 2 * (3 * 2 + 3 * 3) + 2 * (3 * 6 + 3 * 3) + 4 * 2 * 3
    found = split_rnn_params(np.arange(float(size)), "rnn_relu", 2, 2, 3, bidirectional=True)
    own = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")
    assert [*found] == [f"{place}_{name}" for place in ("l0", "r0", "l1", "r1") for name in own]
    assert found["r1_i2h_weight"].shape == (3, 6) and found["l0_i2h_weight"][0].tolist() == [0.0, 1.0]
    assert found["r1_h2h_bias"].tolist() == [size - 3.0, size - 2.0, size - 1.0]


def test_cells_infer_shapes_from_the_layer_and_the_inputs() -> None:
    rnn = gluon.rnn
    stack = rnn.SequentialRNNCell()
    stack.add(rnn.BidirectionalCell(rnn.LSTMCell(3), rnn.LSTMCell(3)))
    stack.add(rnn.BidirectionalCell(rnn.GRUCell(3), rnn.GRUCell(3)))
    stack.infer_shape(0, np.ones((2, 5)), False)
    shapes = {name: parameter.shape for name, parameter in stack.collect_params().items() if "i2h_weight" in name}
    assert [*shapes.values()] == [(12, 5), (12, 5), (9, 6), (9, 6)]
    cell = rnn.RNNCell(4)
    rnn.ResidualCell(cell).infer_shape(0, np.ones((2, 4)), False)
    assert cell.i2h_weight.shape == (4, 4)


def test_datasets_of_image_files_are_found_where_mxnet_has_them() -> None:
    vision = forerun.gluon.data.vision
    for name in ("ImageFolderDataset", "ImageListDataset", "ImageRecordDataset"):
        assert getattr(vision.datasets, name) is getattr(vision, name)


def test_labels_of_digits_are_arrays(tmp_path: pathlib.Path) -> None:
    header = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1])
    for part in ("train", "t10k"):
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(header + bytes([5, 6]))
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 3, 4]))
    images, labels = forerun.gluon.data.vision.MNIST(root=tmp_path)[:]
    assert images.asnumpy().shape == (2, 1, 1, 1)
    assert (labels.asnumpy().tolist(), str(labels.dtype)) == ([3, 4], "int32")
