"""Networks on one device and on several: parameters, trainers, captures, files."""

from __future__ import annotations

import copy
import pathlib
from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, init, np, npx
from forerun.gluon import nn

GPUS = [npx.gpu(0), npx.gpu(1)]
THREE = [npx.gpu(1), npx.cpu(1), npx.gpu(0)]
RANDOM = numpy.random.default_rng(3)
X = RANDOM.normal(size=(24, 6)).astype("float32")
Y = RANDOM.normal(size=(24, 2)).astype("float32")


def network(norm: bool = False) -> nn.HybridSequential:
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="tanh"))
    if norm:
        net.add(nn.BatchNorm())
    net.add(nn.Dense(2))
    return net


def train(
    devices: list[npx.Device],
    optimizer: str = "sgd",
    hybrid: bool = False,
    steps: int = 6,
    norm: bool = False,
    **options: Any,
) -> tuple[nn.HybridSequential, gluon.Trainer]:
    """Train on a fixed batch, split over the devices."""
    npx.seed(11)
    net = network(norm)
    net.initialize(init.Xavier(), ctx=devices)
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.05, **options})
    for _ in range(steps):
        step(net, trainer, devices)
    return net, trainer


def step(net: gluon.Block, trainer: gluon.Trainer, devices: list[npx.Device]) -> None:
    loss = gluon.loss.L2Loss()
    with autograd.record():
        parts = zip(gluon.utils.split_and_load(X, devices), gluon.utils.split_and_load(Y, devices), strict=True)
        losses = [loss(net(x), y) for x, y in parts]
    autograd.backward(losses)
    trainer.step(len(X))


def values(net: gluon.Block) -> list[list[numpy.ndarray]]:
    """Return the values of every parameter on each of its devices."""
    return [[array.asnumpy() for array in parameter.list_data()] for parameter in net.collect_params().values()]


def bits(net: gluon.Block) -> list[list[bytes]]:
    return [[array.tobytes() for array in arrays] for arrays in values(net)]


def test_parameters_on_several_devices() -> None:
    weight = gluon.Parameter("weight", shape=(3, 4), init=init.Normal(1.0))
    weight.initialize(ctx=THREE)
    assert weight.list_ctx() == weight.list_device() == THREE
    assert [x.device for x in weight.list_data()] == [g.device for g in weight.list_grad()] == THREE
    assert len({x.asnumpy().tobytes() for x in weight.list_data()}) == 1
    for device in THREE:
        assert weight.data(device) is weight.data(device=device)
        assert weight.data(device).device == weight.grad(device).device == device
        with device:
            assert weight.data() is weight.data(device)
    with pytest.raises(RuntimeError, match=r"weight lives on gpu\(1\), cpu\(1\), gpu\(0\), not on cpu\(0\)"):
        weight.data()
    weight.set_data(numpy.full((3, 4), 2.5))
    weight.set_data(np.full((3, 4), 3.5, ctx=GPUS[1]))
    assert [x.tolist() for x in weight.list_data()] == [[[3.5] * 4] * 3] * 3
    weight.grad(GPUS[0])[:] = 7
    weight.zero_grad()
    assert [g.sum().item() for g in weight.list_grad()] == [0.0] * 3
    weight.cast("float64")
    assert {x.dtype.name for x in weight.list_data()} == {"float64"} and weight.list_ctx() == THREE
    twin = copy.deepcopy(weight)
    twin.set_data(np.zeros((3, 4), "float64"))
    assert twin.list_ctx() == THREE and weight.data(GPUS[0]).sum().item() == 42.0
    weight.reset_ctx(GPUS[1])
    assert weight.list_ctx() == [GPUS[1]] and weight.data().sum().item() == 42.0
    weight.reset_device(device=GPUS)
    assert weight.list_ctx() == GPUS and weight.grad(GPUS[1]).device == GPUS[1]
    constant = gluon.Constant([1.0, 2.0])
    constant.initialize(ctx=GPUS)
    assert [x.tolist() for x in constant.list_data()] == [[1.0, 2.0]] * 2
    with pytest.raises(ValueError, match="initialize: no devices are given"):
        gluon.Parameter("weight", shape=(2,)).initialize(ctx=[])
    with pytest.raises(TypeError, match="initialize: ctx and device are the same argument"):
        gluon.Parameter("weight", shape=(2,)).initialize(ctx=GPUS, device=GPUS)


def test_shapes_that_the_data_decide() -> None:
    npx.seed(4)
    net = network()
    net.initialize(ctx=GPUS)
    assert net[0].weight.list_ctx() == GPUS
    net(np.ones((2, 6), ctx=GPUS[1]))
    there = bits(net)
    assert all(first == second for first, second in there)
    npx.seed(4)
    net.initialize(force_reinit=True)
    net(np.ones((2, 6)))
    assert [[first] for first, _ in there] == bits(net), "the device changes no number"


def test_a_block_computes_where_its_input_is() -> None:
    class Shifted(gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            self.scale = gluon.Parameter("scale", shape=(3,), init="ones")

        def forward(self, x: np.ndarray, by: float = 1.0) -> np.ndarray:
            return x * self.scale.data() + np.full((3,), by)

    net = Shifted()
    net.initialize(ctx=THREE)
    for device in THREE:
        y = net(np.ones((2, 3), ctx=device), by=2.0)
        assert (y.device, y.tolist()) == (device, [[3.0] * 3] * 2)
    assert npx.current_device() == npx.cpu()
    with pytest.raises(RuntimeError, match=r"scale lives on .* not on cpu\(0\)"):
        net(np.ones((2, 3)))
    with pytest.raises(RuntimeError, match=r"scale lives on .* not on cpu\(0\)"):
        net(np.ones((2, 3)))


def test_captures_are_the_devices() -> None:
    net, plain = network(norm=True), network(norm=True)
    for each in (net, plain):
        npx.seed(6)
        each.initialize(ctx=GPUS)
        each(np.ones((2, 6), ctx=GPUS[0]))
    net.hybridize()
    for round in range(4):
        for device in GPUS:
            x = np.array(X[round : round + 8], ctx=device)
            with autograd.record():
                replayed, called = net(x), plain(x)
            assert replayed.device == device
            assert replayed.asnumpy().tobytes() == called.asnumpy().tobytes()
    assert len(net._traces) == 2
    assert bits(net) == bits(plain)


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
def test_training_on_a_device_gives_the_same_bits(optimizer: str, hybrid: bool) -> None:
    assert bits(train([npx.cpu()], optimizer, hybrid)[0]) == bits(train([npx.gpu(0)], optimizer, hybrid)[0])


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize(
    ("optimizer", "options"),
    [("sgd", {}), ("sgd", {"momentum": 0.9, "wd": 0.01}), ("adam", {}), ("adamw", {"wd": 0.1, "clip_gradient": 0.05})],
)
@pytest.mark.parametrize("devices", [GPUS, THREE], ids=["two", "three"])
def test_devices_together_train_as_one(
    devices: list[npx.Device], optimizer: str, options: dict[str, float], hybrid: bool
) -> None:
    net, _ = train(devices, optimizer, hybrid, **options)
    for arrays in bits(net):
        assert len(set(arrays)) == 1, "every device has the same weights"
    assert bits(train(devices, optimizer, hybrid, **options)[0]) == bits(net), "whichever device is done first"
    whole, _ = train([npx.cpu()], optimizer, hybrid, **options)
    for (one,), arrays in zip(values(whole), values(net), strict=True):
        numpy.testing.assert_allclose(arrays[0], one, rtol=2e-4, atol=2e-5)


def test_gradients_between_summing_and_updating() -> None:
    net, trainer = train(GPUS, steps=1)
    loss = gluon.loss.L2Loss()
    with autograd.record():
        losses = [loss(net(np.array(X[:8], ctx=device)), np.array(Y[:8], ctx=device)) for device in GPUS]
    autograd.backward(losses)
    weight = net[1].weight
    before = [grad.asnumpy() for grad in weight.list_grad()]
    trainer.allreduce_grads()
    for grad in weight.list_grad():
        numpy.testing.assert_array_equal(grad.asnumpy(), before[0] + before[1])
    every = [grad for parameter in net.collect_params().values() for grad in parameter.list_grad()]
    norm = gluon.utils.clip_global_norm(every, 1e-3)
    assert norm == pytest.approx(
        sum(float((grad.asnumpy() ** 2).sum()) for grad in every) ** 0.5 * norm / 1e-3, rel=1e-3
    )
    trainer.update(16)
    assert all(len(set(arrays)) == 1 for arrays in bits(net))


def test_a_device_without_samples() -> None:
    net, trainer = train(GPUS, steps=1)
    loss = gluon.loss.L2Loss()
    with autograd.record():
        one = loss(net(np.array(X, ctx=GPUS[1])), np.array(Y, ctx=GPUS[1]))
    one.backward()
    with pytest.raises(UserWarning, match=r"got no gradient from backward on gpu\(0\) since the last step"):
        trainer.step(24)
    trainer.step(24, ignore_stale_grad=True)
    assert all(len(set(arrays)) == 1 for arrays in bits(net))
    alone, other = train([npx.cpu()], steps=1)
    step(alone, other, [npx.cpu()])
    for (expected,), arrays in zip(values(alone), values(net), strict=True):
        numpy.testing.assert_allclose(arrays[0], expected, rtol=2e-4, atol=2e-5)
    trainer.step(24, ignore_stale_grad=True)


def test_files_know_no_devices(tmp_path: pathlib.Path) -> None:
    net, trainer = train(GPUS, "adam", norm=True)
    net.save_parameters(tmp_path / "net")
    trainer.save_states(tmp_path / "states")
    for devices in ([npx.cpu()], [npx.gpu(1)], THREE, GPUS):
        other = network(norm=True)
        other.load_parameters(tmp_path / "net", ctx=devices)
        assert other[0].weight.list_ctx() == devices
        for here, there in zip(values(net), values(other), strict=True):
            assert len({array.tobytes() for array in there}) == 1
            numpy.testing.assert_allclose(there[0], (here[0] + here[1]) / 2, rtol=1e-6, atol=1e-7)
    again = gluon.Trainer(other.collect_params(), "adam", {"learning_rate": 0.05})
    again.load_states(tmp_path / "states")
    learnt = [parameter.grad_req != "null" for parameter in net.collect_params().values()]
    for _ in range(2):
        for kept, here, there in zip(learnt, bits(net), bits(other), strict=True):
            assert not kept or here == there, "what is equal everywhere is written as it is"
        step(other, again, GPUS)
        step(net, trainer, GPUS)


def test_states_follow_their_parameters() -> None:
    net, trainer = train(GPUS, "sgd", momentum=0.9, steps=2)
    for devices in ([npx.cpu()], THREE, GPUS, [npx.gpu(0)]):
        net.reset_ctx(devices)
        step(net, trainer, devices)
    straight, _ = train([npx.cpu()], "sgd", momentum=0.9, steps=6)
    for (expected,), arrays in zip(values(straight), values(net), strict=True):
        numpy.testing.assert_allclose(arrays[0], expected, rtol=2e-4, atol=2e-5)


def test_batches_of_a_loader_are_moved() -> None:
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(X, Y), batch_size=8, shuffle=True)
    there = gluon.data.DataLoader(
        gluon.data.ArrayDataset(np.array(X, ctx=GPUS[0]), np.array(Y, ctx=GPUS[0])), batch_size=8, shuffle=True
    )
    for loader in (data, there):
        net = network()
        net.initialize(ctx=GPUS[0])
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
        loss = gluon.loss.L2Loss()
        sums = []
        for _ in range(20):
            total = np.zeros((), ctx=GPUS[0])
            for x, y in loader:
                x, y = x.as_in_ctx(GPUS[0]), y.as_in_ctx(GPUS[0])
                with autograd.record():
                    objective = loss(net(x), y)
                objective.backward()
                trainer.step(len(x))
                total += objective.sum()
            sums.append(total)
        assert sums[-1].item() < sums[0].item()
        assert sums[-1].device == GPUS[0]
