"""Features of blocks: op hooks, inference of shapes and dtypes, casts, devices, sharing, saving, tables."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy
import pytest

import forerun
from forerun import autograd, gluon, init, np, npx
from forerun.gluon import nn


def mlp() -> nn.HybridSequential:
    net = nn.HybridSequential(prefix="net_")
    net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    return net


def ready() -> nn.HybridSequential:
    net = mlp()
    net.initialize(init.Normal(0.5))
    net(np.ones((1, 3)))
    return net


def test_op_hooks_see_every_op() -> None:
    net = ready()
    x = np.random.normal(size=(5, 3))
    expected = net(x).asnumpy()
    seen: list[tuple[str, str]] = []
    arrays: list[Any] = []

    def note(name: str, op: str, array: Any) -> None:
        seen.append((name, op))
        arrays.append(array * 1)

    with forerun.no_sync("error"), net.register_op_hook(note):
        y = net(x)
    names = [name for name, _ in seen]
    assert names[0].startswith("net.0.matmul0_output") and names[-1].startswith("net.1.")
    assert {op for _, op in seen} >= {"matmul", "add"} and len(set(names)) == len(names)
    numpy.testing.assert_array_equal(y.asnumpy(), expected)
    numpy.testing.assert_array_equal(arrays[-1].asnumpy(), expected)
    count = len(seen)
    net(x)
    assert len(seen) == count


def test_op_hooks_report_inputs_and_their_exceptions() -> None:
    net = ready()
    names: list[str] = []
    with net.register_op_hook(lambda name, op, array: names.append(name), monitor_all=True):
        net(np.ones((2, 3)))
        assert names[:3] == ["net.0.matmul0_input0", "net.0.matmul0_input1", "net.0.matmul0_output"]
        del names[:]
        net[0](np.ones((2, 3)))
        assert names == []
    net.hybridize()
    hook = net.register_op_hook(lambda name, op, array: 1 / 0)
    with pytest.warns(UserWarning, match="has hooks"), pytest.raises(ZeroDivisionError):
        net(np.ones((2, 3)))
    hook.detach()
    assert net(np.ones((2, 3))).shape == (2, 2)
    net.hybridize(False)
    with autograd.record(), net.register_op_hook(lambda name, op, array: names.append(op)):
        y = net(np.ones((2, 3)))
    y.backward()
    assert float(abs(net[0].weight.grad()).sum()) > 0


def test_shapes_are_inferred_without_initialising() -> None:
    for prepared in [False, True]:
        net = nn.HybridSequential()
        net.add(nn.Conv2D(4, kernel_size=3), nn.BatchNorm(), nn.Flatten(), nn.Dense(2))
        if prepared:
            net.initialize(init.Normal(1))
        net.infer_shape(np.ones((2, 3, 5, 5)))
        shapes = {name: parameter.shape for name, parameter in net.collect_params().items()}
        assert shapes["0.weight"] == (4, 3, 3, 3) and shapes["1.gamma"] == (4,) and shapes["3.weight"] == (2, 36)
        if not prepared:
            with pytest.raises(RuntimeError, match="is not initialised"):
                net[0].weight.data()
            net.initialize(init.Normal(1))
        y = net(np.ones((2, 3, 5, 5)))
        assert y.shape == (2, 2) and float(abs(net[3].weight.data()).sum()) > 0


class Own(gluon.HybridBlock):
    """A parameter whose shape nobody determines."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = gluon.Parameter("weight", shape=(-1,), allow_deferred_init=True)

    def forward(self, x: Any) -> Any:
        return x * self.weight.data()


def test_an_undetermined_shape_raises() -> None:
    with pytest.raises(gluon.DeferredInitializationError, match="does not determine the shape of weight"):
        Own().infer_shape(np.ones((2,)))


def test_infer_type_and_optimize_for() -> None:
    net = mlp()
    net.infer_type(np.ones((2, 3), "float64"))
    assert {p.dtype.name for p in net.collect_params().values()} == {"float64"}
    with pytest.raises(ValueError, match="got no float array"):
        net.infer_type(np.ones((2, 3), "int32"))
    net = ready()
    x = np.random.normal(size=(4, 3))
    expected = net(x).asnumpy()
    numpy.testing.assert_array_equal(net.optimize_for(x).asnumpy(), expected)
    assert net._active and net._traces
    with pytest.raises(ValueError, match="there is no backend 'oneDNN'"):
        net.optimize_for(x, backend="oneDNN")


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float64"])
def test_cast_networks_train(kind: str) -> None:
    np.random.seed(2)
    net = ready()
    with autograd.record():
        net(np.ones((1, 3))).sum().backward()
    net.cast(kind)
    for parameter in net.collect_params().values():
        assert parameter.data().dtype == kind and parameter.grad().dtype == kind
    x = np.random.normal(size=(16, 3)).astype(kind)
    target = x[:, :2] * 0.5
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.25})
    loss = gluon.loss.L2Loss()
    losses = []
    for _ in range(60):
        with autograd.record():
            value = loss(net(x), target)
        value.backward()
        trainer.step(16)
        losses.append(float(value.mean()))
    assert net[0].weight.data().dtype == kind
    assert losses[-1] < 0.3 * losses[0]


def test_parameters_move_to_other_devices() -> None:
    net = ready()
    x = np.ones((2, 3))
    expected = net(x).asnumpy()
    both = [npx.cpu(1), npx.cpu(2)]
    net.reset_device(both)
    weight = net[0].weight
    assert weight.list_device() == both and weight.list_ctx() == both
    assert [array.device for array in weight.list_data()] == both
    assert [array.device for array in weight.list_grad()] == both
    for place in both:
        numpy.testing.assert_array_equal(net(x.as_in_ctx(place)).asnumpy(), expected)
    weight.reset_device(npx.cpu(0))
    assert weight.list_device() == [npx.cpu(0)]
    assert net.collect_params().list_device() == [npx.cpu(0), *both]


def test_shared_parameters_share_gradients() -> None:
    first, second = ready(), ready()
    second.share_parameters(first.collect_params())
    assert second[1].weight is first[1].weight
    x = np.ones((2, 3))
    numpy.testing.assert_array_equal(first(x).asnumpy(), second(x).asnumpy())
    with autograd.record():
        (first(x) + second(x)).sum().backward()
    numpy.testing.assert_array_equal(first[1].bias.grad().asnumpy(), [4, 4])
    with pytest.warns(UserWarning, match="no parameter other"):
        second.share_parameters({"other": first[0].weight})


def test_blocks_are_saved_with_their_structure(tmp_path: pathlib.Path) -> None:
    net, other = ready(), mlp()
    net.save(tmp_path / "net")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net-model.json", "net-model.params"]
    other.load(tmp_path / "net")
    x = np.ones((2, 3))
    numpy.testing.assert_array_equal(other(x).asnumpy(), net(x).asnumpy())
    longer = mlp()
    longer.add(nn.Dense(1))
    with pytest.raises(ValueError, match=r"the children of HybridSequential: \['0', '1'\], here \['0', '1', '2'\]"):
        longer.load(tmp_path / "net")
    dropped = nn.HybridSequential()
    dropped.add(nn.Dense(4, activation="relu"), nn.Dropout(0.5))
    with pytest.raises(ValueError, match=r"the class of HybridSequential\.1: 'Dense', here 'Dropout'"):
        dropped.load(tmp_path / "net")
    path = tmp_path / "net-model.json"
    for text in ["", "[" * 100_000, "{}", "[]", "null", '{"format": "forerun-block", "version": 2}', "\xff"]:
        path.write_text(text, encoding="latin-1")
        with pytest.raises(ValueError, match=r"load: .*net-model\.json: "):
            other.load(tmp_path / "net")
    path.write_text(json.dumps({"format": "forerun-block", "version": 1, "block": {"class": "X", "children": []}}))
    with pytest.raises(ValueError, match="is not described"):
        other.load(tmp_path / "net")


class Nested(gluon.HybridBlock):
    """Calls one layer twice, and another that shares its parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(nn.Dense(3, in_units=3), nn.BatchNorm())
        self.tied = nn.Dense(3, in_units=3).share_parameters(self.body[0].params)

    def forward(self, x: Any) -> Any:
        return self.tied(self.body(self.body(x)))


@pytest.mark.filterwarnings("error")
def test_the_summary_of_a_hybridized_block_is_quiet_and_leaves_it_captured(capsys: pytest.CaptureFixture[str]) -> None:
    net = ready()
    net.hybridize()
    x = np.ones((3, 3))
    net.summary(x)
    assert "Dense-2" in capsys.readouterr().out
    assert numpy.array_equal(net(x).asnumpy(), net(x).asnumpy())
    assert net._traces


def test_the_summary_has_the_form_of_gluon(capsys: pytest.CaptureFixture[str]) -> None:
    net = Nested()
    net.initialize()
    net.summary(np.ones((2, 3)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "-" * 80 == lines[-1] and lines[2] == "=" * 80
    assert lines[1].split() == ["Layer", "(type)", "Output", "Shape", "Param", "#"]
    end = lines.index("=" * 80, 3)
    rows = [line.split(None, 1)[0] for line in lines[3:end]]
    assert rows[:4] == ["Input", "Dense-1", "BatchNorm-2", "HybridSequential-3"]
    assert rows[-2:] == ["Dense-7", "Nested-8"]
    # Dense: 12 parameters, called three times; batch norm: 12, 6 of them trained, called twice.
    text = "\n".join(lines)
    assert "Total params: 60\n   Trainable params: 48\n   Non-trainable params: 12\n" in text
    assert "Shared params in forward computation graph: 36\nUnique parameters in model: 24\n" in text


class Scaled(gluon.Block):
    """A block with a constant that it made by name."""

    def __init__(self) -> None:
        super().__init__()
        self.factors = self.params.get_constant("factors", [1.0, 2.0])

    def forward(self, x: np.ndarray) -> np.ndarray:
        return x * self.factors.data()


def test_constants_are_made_by_name_and_not_trained() -> None:
    net = Scaled()
    net.initialize("zeros")
    assert net.params.get_constant("factors") is net.factors
    assert list(net.collect_params()) == ["factors"]
    x = np.ones((2,))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    x.attach_grad()
    with autograd.record():
        y = net(x)
    y.backward()
    trainer.step(1)
    assert (y.tolist(), x.grad.tolist(), net.factors.data().tolist()) == ([1, 2], [1, 2], [1, 2])


def test_a_name_without_a_constant_is_an_error() -> None:
    parameters = gluon.ParameterDict(weight=gluon.Parameter("weight", shape=(2,)))
    with pytest.raises(KeyError, match="no constant is named 'factors': give its value"):
        parameters.get_constant("factors")
    with pytest.raises(TypeError, match="'weight' is a parameter, not a constant"):
        parameters.get_constant("weight", [1.0])


def test_parameter_dict_is_found_where_mxnet_has_it() -> None:
    net = gluon.nn.Dense(1)
    assert isinstance(net.collect_params(), gluon.parameter.ParameterDict)
    with pytest.raises(AttributeError, match="has no attribute 'Parameters'"):
        gluon.parameter.Parameters  # noqa: B018  (raising is its purpose)
