"""Blocks: children, parameters, names, initialisation, hooks, sharing, and capture."""

from __future__ import annotations

import copy
import inspect
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, init, np, npx
from forerun.gluon import nn


def mlp(kind: type[nn.Sequential] = nn.Sequential) -> nn.Sequential:
    net = kind()
    net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    return net


def test_arrays_by_name_replace_the_initialiser_of_a_bias() -> None:
    """``init.Load`` is asked for every parameter, also for those with their own initialiser."""
    net = nn.Dense(2, in_units=1)
    net.initialize(init.Load({"arg:weight": np.ones((2, 1)), "bias": np.array([3.0, 4.0])}))
    assert net.bias.data().tolist() == [3, 4]
    assert net.weight.data().tolist() == [[1], [1]]


def test_names_follow_the_structure() -> None:
    class Net(gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            self.body = mlp()
            self.head = nn.Dense(1, use_bias=False)
            self.scale = gluon.Parameter("scale", shape=(1,))

        def forward(self, x: np.ndarray) -> np.ndarray:
            return self.head(self.body(x)) * self.scale.data()

    net = Net()
    assert list(net.collect_params()) == [
        "scale",
        "body.0.weight",
        "body.0.bias",
        "body.1.weight",
        "body.1.bias",
        "head.weight",
    ]
    assert list(net.collect_params(".*weight")) == ["body.0.weight", "body.1.weight", "head.weight"]
    assert list(net.params) == ["scale"]
    net.initialize()
    assert net(np.ones((3, 5))).shape == (3, 1)


def test_printed_as_mxnet_does() -> None:
    net = mlp()
    assert repr(net) == "Sequential(\n  (0): Dense(-1 -> 4, Activation(relu))\n  (1): Dense(-1 -> 2, linear)\n)"
    outer = nn.HybridSequential()
    outer.add(net, nn.Dropout(0.5))
    assert repr(outer).splitlines()[2:4] == [
        "    (0): Dense(-1 -> 4, Activation(relu))",
        "    (1): Dense(-1 -> 2, linear)",
    ]
    assert repr(gluon.Parameter("weight", shape=(3, 0))) == "Parameter weight (shape=(3, -1), dtype=float32)"


def test_shapes_are_seen_at_the_first_call() -> None:
    net = mlp()
    net.initialize()
    weight = net[0].weight
    assert weight.shape == (4, -1)
    with pytest.raises(gluon.DeferredInitializationError, match=r"parameter 0.weight has the unknown shape \(4, -1\)"):
        weight.data()
    net(np.ones((3, 2, 5)))
    assert weight.shape == (4, 10)
    assert weight.data().shape == (4, 10)
    assert weight.grad().shape == (4, 10)


def test_use_before_initialisation_says_so() -> None:
    net = nn.Dense(2, in_units=3)
    with pytest.raises(RuntimeError, match=r"parameter weight is not initialised: call initialize\(\)"):
        net(np.ones((1, 3)))


def test_a_block_that_does_not_say_its_shapes() -> None:
    class Free(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.weight = gluon.Parameter("weight", shape=(2, 0), allow_deferred_init=True)

    net = Free()
    net.initialize()
    with pytest.raises(gluon.DeferredInitializationError, match=r"Free does not determine the shape of weight"):
        net(np.ones((1, 2)))


def test_initialisers_of_parameters_come_first() -> None:
    net = nn.Dense(2, in_units=3, bias_initializer=init.Constant(5))
    net.initialize(init.One())
    assert net.weight.data().tolist() == [[1.0] * 3] * 2
    assert net.bias is not None
    assert net.bias.data().tolist() == [5.0, 5.0]


@pytest.mark.filterwarnings("ignore:parameter bias is initialised already")
def test_initialising_twice_warns_unless_forced() -> None:
    net = nn.Dense(1, in_units=1)
    net.initialize("ones")
    with pytest.warns(UserWarning, match="parameter weight is initialised already"):
        net.initialize("zeros")
    assert net.weight.data().item() == 1.0
    net.initialize("zeros", force_reinit=True)
    assert net.weight.data().item() == 0.0


def test_an_initialiser_of_ones_own() -> None:
    seen = []

    class Marked(init.Initializer):
        def _init_weight(self, name: str, data: np.ndarray) -> None:
            seen.append((name, data.shape))
            data[:] = np.random.uniform(-10, 10, data.shape)
            data *= np.abs(data) >= 5

    net = mlp()
    net.initialize(Marked())
    net(np.ones((1, 3)))
    assert seen == [("0.weight", (4, 3)), ("1.weight", (2, 4))]
    value = net[0].weight.data().asnumpy()
    assert numpy.all((value == 0) | (numpy.abs(value) >= 5))


def test_initialisers_draw_what_they_say() -> None:
    x = np.zeros((300, 200))
    init.Normal(0.5)("weight", x)
    assert abs(float(x.asnumpy().std()) - 0.5) < 0.01
    init.Uniform(2)("weight", x)
    assert 1.99 < float(numpy.abs(x.asnumpy()).max()) <= 2
    init.Xavier(factor_type="in", magnitude=6)("weight", x)
    assert 0.99 < float(numpy.abs(x.asnumpy()).max()) / (6 / 200) ** 0.5 <= 1
    init.MSRAPrelu("out", 0.0)("weight", x)
    assert abs(float(x.asnumpy().std()) / (2 / 300) ** 0.5 - 1) < 0.02
    init.Constant([7.0] * 200)("weight", x)
    assert (x.asnumpy() == 7).all()
    with pytest.raises(ValueError, match=r"xavier: `w` of shape \(3,\) has fewer than 2 dimensions"):
        init.Xavier()("w", np.zeros((3,)))
    with pytest.raises(ValueError, match="unknown initialiser 'nothing'"):
        init.create("nothing")


BAD_OPTIONS: dict[str, Callable[[], init.Initializer]] = {
    "Xavier: rnd_type must be 'uniform' or 'gaussian' or 'normal', not 'flat'": lambda: init.Xavier("flat"),
    "Xavier: factor_type must be 'avg' or 'in' or 'out', not 'both'": lambda: init.Xavier(factor_type="both"),
    "Xavier: magnitude must not be negative, got -1.0": lambda: init.Xavier(magnitude=-1),
    "MSRAPrelu: factor_type must be": lambda: init.MSRAPrelu("both"),
    "Orthogonal: rand_type must be": lambda: init.Orthogonal(rand_type="flat"),
    "Uniform: scale must not be negative, got -0.1": lambda: init.Uniform(-0.1),
    "Normal: sigma must not be negative, got -1": lambda: init.Normal(-1),
    "Mixed: 2 patterns need as many initializers, got 1": lambda: init.Mixed(["a", "b"], [init.Zero()]),
    "RNNFused: mode must be": lambda: init.RNNFused("rnn", 1, 2),
    "RNNFused: state_size must be at least 1, got 0": lambda: init.RNNFused("gru", 1, 0),
    "RNNFused: projection_size needs the mode 'lstm', not 'gru'": lambda: init.RNNFused("gru", 1, 2, False, 3),
    "Normal(sigma=0.01) already exists": lambda: init.create(init.Normal(), sigma=1),
}


@pytest.mark.parametrize("text", BAD_OPTIONS)
def test_options_of_initialisers_are_checked_at_once(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        BAD_OPTIONS[text]()


def test_names_with_attributes() -> None:
    x = np.zeros((2, 3))
    own = init.InitDesc("dense_bias", {"__init__": init.Constant(3).dumps()}, init.Normal())
    assert own == "dense_bias" and isinstance(own.global_init, init.Normal)
    init.Normal()(own, x)
    assert (x == 3).all()
    init.One()(init.InitDesc("dense_weight"), x)
    assert (x == 1).all()


@pytest.mark.parametrize("projection", [None, 2])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_parameters_are_initialised_by_part(bidirectional: bool, projection: int | None) -> None:
    hidden, inputs, layers = 3, 4, 2
    directions, state = 2 if bidirectional else 1, projection or hidden
    shapes: list[tuple[float, int]] = []
    for layer in range(layers):
        given = state * directions if layer else inputs
        own = [(1.0, 12 * given), (2.0, 12 * state)] + ([(5.0, hidden * state)] if projection else [])
        shapes += own * directions
    shapes += [(3.0, 12), (4.0, 12)] * (layers * directions)
    expected = [number for number, count in shapes for _ in range(count)]
    parts = [init.Constant(number) for number in (1.0, 2.0, 3.0, 4.0, 5.0)]
    fused = init.RNNFused("lstm", layers, hidden, bidirectional, projection, *parts)
    packed = gluon.Parameter("packed", shape=(len(expected),), init=fused)
    packed.initialize()
    assert packed.data().tolist() == expected
    init.RNNFused("lstm", layers, hidden, bidirectional, projection, init.Xavier())._init_weight("x", packed.data())
    with pytest.raises(ValueError, match=r"RNNFused: 'x' of shape \(5,\) does not hold"):
        fused("x", np.zeros((5,)))


def test_sparse_storage_is_dense_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="Parameter: grad_stype='row_sparse' is stored densely"):
        weight = gluon.Parameter("weight", shape=(2, 3), grad_stype="row_sparse")
    weight.initialize("ones")
    assert weight.data().tolist() == [[1.0] * 3] * 2
    with pytest.raises(RuntimeError, match="parameter weight is dense, because there are no sparse arrays"):
        weight.row_sparse_data(np.array([0]))
    with pytest.warns(UserWarning, match="Embedding: sparse_grad=True is stored densely"):
        nn.Embedding(3, 2, sparse_grad=True)
    with pytest.warns(UserWarning, match="embedding: sparse_grad=True is stored densely"):
        npx.embedding(np.array([0]), np.ones((2, 3)), sparse_grad=True)
    with pytest.raises(ValueError, match="embedding: the weight is float32, not float64"):
        npx.embedding(np.array([0]), np.ones((2, 3), "float32"), 2, 3, "float64")


def test_setting_data_keeps_the_array() -> None:
    weight = gluon.Parameter("weight", shape=(2,))
    weight.initialize()
    array = weight.data()
    weight.set_data(numpy.array([1.0, 2.0], "float32"))
    assert array is weight.data()
    assert array.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"parameter weight has shape \(2,\), not \(3,\)"):
        weight.set_data(np.ones((3,)))


def test_grad_req() -> None:
    net = nn.Dense(1, in_units=1, use_bias=False)
    net.initialize("ones")
    net.setattr("grad_req", "add")
    x = np.ones((1, 1))
    for _ in range(2):
        with autograd.record():
            y = net(x)
        y.backward()
    assert net.weight.grad().item() == 2.0
    net.zero_grad()
    assert net.weight.grad().item() == 0.0
    net.setattr("grad_req", "null")
    with pytest.raises(RuntimeError, match="parameter weight has no gradient"):
        net.weight.grad()
    with pytest.raises(ValueError, match="grad_req must be 'write', 'add' or 'null', not 'often'"):
        net.weight.grad_req = "often"


def test_cast() -> None:
    net = mlp()
    net.initialize()
    net(np.ones((1, 3)))
    net.cast("float64")
    assert net[0].weight.grad().dtype == np.float64
    assert net(np.ones((1, 3), dtype="float64")).dtype == np.float64


def test_devices_by_both_names() -> None:
    net = nn.Dense(1, in_units=1)
    net.initialize(ctx=npx.cpu())
    assert net.weight.list_ctx() == net.weight.list_device() == [npx.cpu()]
    net.reset_ctx([npx.cpu()])
    net.reset_device(device=npx.cpu())
    assert net.weight.data(npx.cpu()) is net.weight.data(device=npx.cpu())
    net.initialize(device=[npx.cpu()], force_reinit=True)
    with pytest.raises(TypeError, match="initialize: ctx and device are the same argument"):
        net.initialize(ctx=npx.cpu(), device=npx.cpu(), force_reinit=True)


def test_constants() -> None:
    class Shifted(gluon.Block):
        def __init__(self) -> None:
            super().__init__()
            self.shift = gluon.Constant("shift", [1.0, 2.0])

        def forward(self, x: np.ndarray) -> np.ndarray:
            return x + self.shift.data()

    net = Shifted()
    net.initialize()
    assert net(np.zeros((2,))).tolist() == [1.0, 2.0]
    assert net.shift.grad_req == "null"


def test_apply_goes_to_children_first() -> None:
    seen: list[str] = []
    net = mlp()
    assert net.apply(lambda block: seen.append(type(block).__name__)) is net
    assert seen == ["Activation", "Dense", "Dense", "Sequential"]


def test_hooks_and_their_handles() -> None:
    net = mlp()
    net.initialize()
    seen: list[Any] = []
    before = net[0].register_forward_pre_hook(lambda block, inputs: seen.append(inputs[0].shape))
    with net[1].register_forward_hook(lambda block, inputs, output: seen.append(output.shape)):
        net(np.ones((3, 5)))
    net(np.ones((3, 5)))
    before.detach()
    before.detach()
    net(np.ones((3, 5)))
    assert seen == [(3, 5), (3, 2), (3, 5)]


def test_shared_parameters() -> None:
    first, second = nn.Dense(2, in_units=2), nn.Dense(2, in_units=2)
    second.share_parameters(first.collect_params())
    assert second.weight is first.weight
    with pytest.warns(UserWarning, match="no parameter other in Dense"):
        second.share_parameters({"other": first.weight})
    third = nn.Dense(2, in_units=2, params=first.params)
    assert third.weight is first.weight
    net = nn.Sequential()
    net.add(first, first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.initialize()
    assert net.collect_params()["0.weight"] is net.collect_params()["1.weight"]


def test_the_older_ways_of_a_layer() -> None:
    class Old(gluon.HybridBlock):
        def __init__(self, units: int, **arguments: Any) -> None:
            super().__init__(**arguments)
            with self.name_scope():
                self.weight = self.params.get("weight", shape=(units, 3), init="ones")
                self.offset = self.params.get("bias", shape=(units,), init="zeros")

        def hybrid_forward(self, F: Any, x: Any, weight: Any, offset: Any) -> Any:
            y = F.FullyConnected(x, weight, offset, num_hidden=2)
            return F.concat(F.relu(y), F.np.exp(F.zeros_like(y)), dim=1)

    net = Old(2, prefix="old_")
    assert net.name == "old"
    assert list(net.collect_params()) == ["weight", "offset"]
    net.collect_params().initialize()
    assert net(np.ones((1, 3))).tolist() == [[3.0, 3.0, 1.0, 1.0]]


def test_what_f_lacks_names_the_nearest() -> None:
    from forerun.gluon.functions import F

    with pytest.raises(AttributeError, match="F has no attribute 'FullyConnect'; did you mean 'FullyConnected'"):
        _ = F.FullyConnect


def test_mistakes_in_a_block() -> None:
    class Late(gluon.Block):
        def __init__(self) -> None:
            self.dense = nn.Dense(1)

    with pytest.raises(RuntimeError, match=r"Late: call super\(\).__init__\(\) before"):
        Late()


def test_attributes_that_change() -> None:
    net = gluon.Block()
    net.first, net.second = nn.Dense(1), nn.Dense(2)
    net.first = nn.Dense(3)
    assert list(net.collect_params()) == ["first.weight", "first.bias", "second.weight", "second.bias"]
    net.first = None
    assert list(net.collect_params()) == ["second.weight", "second.bias"]
    del net.second
    assert list(net.collect_params()) == []


def test_copies_have_arrays_of_their_own() -> None:
    net = mlp(nn.HybridSequential)
    net.initialize(init.Normal(1))
    net.hybridize()
    x = np.ones((1, 3))
    before = [net(x).tolist() for _ in range(3)]
    twin = copy.deepcopy(net)
    twin[1].weight.set_data(np.zeros((2, 4)))
    assert twin(x).tolist() == twin(x).tolist() == [[0.0, 0.0]]
    assert net(x).tolist() == before[0]
    with autograd.record():
        y = twin(x)
    y.backward()
    assert twin[1].bias.grad().tolist() == [1.0, 1.0]
    assert net[1].bias.grad().tolist() == [0.0, 0.0]


def test_networks_are_imported_when_asked_for() -> None:
    program = """
import sys, forerun
assert not any(name.startswith("forerun.gluon") for name in sys.modules)
assert {"gluon", "autograd"} <= set(dir(forerun))
assert forerun.gluon.nn.Dense(1)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_failures_name_the_users_line() -> None:
    net = nn.HybridSequential()
    net.add(nn.Embedding(3, 2), nn.Dense(1, in_units=2))
    net.initialize()
    here = inspect.currentframe()
    assert here is not None
    y, line = net(np.array([5])), here.f_lineno
    with pytest.raises(IndexError, match="index 5 is out of bounds") as raised:
        y.wait_to_read()
    assert f"submitted at {__file__}:{line}" in str(raised.value)


def test_summary(capsys: pytest.CaptureFixture[str]) -> None:
    net = mlp()
    net.initialize()
    net.summary(np.ones((3, 5)))
    printed = capsys.readouterr().out
    assert "Dense-2" in printed
    assert "(3, 4)" in printed
    assert "Total params: 34" in printed
    assert not net[0]._forward_hooks


class Affine(gluon.HybridBlock):
    """Takes inputs in every possible way."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = gluon.Parameter("weight", shape=(1,), init="ones")

    def hybrid_forward(
        self, F: Any, x: np.ndarray, y: float = 0.0, z: float = 0.0, *, weight: np.ndarray, sign: float = 1.0
    ) -> np.ndarray:
        return sign * (x * weight + y + 10 * z)


@pytest.mark.parametrize("hybrid", [False, True])
def test_inputs_by_name(hybrid: bool) -> None:
    dense = nn.Dense(2)
    dense.initialize("ones")
    affine = Affine()
    affine.initialize()
    if hybrid:
        dense.hybridize()
        affine.hybridize()
    x = np.ones((1, 3))
    for _ in range(2):
        assert dense(x=x).tolist() == [[3.0, 3.0]]
        assert affine(x=x, sign=-1.0).tolist() == [[-1.0, -1.0, -1.0]]
        assert affine(x, z=2).tolist() == [[21.0, 21.0, 21.0]]
    assert nn.Lambda(np.sum)(x, axis=1).tolist() == [3.0]
    with pytest.raises(TypeError, match="Dense: got an unexpected keyword argument 'z'"):
        dense(x, z=x)
    with pytest.raises(TypeError, match="Affine: missing a required argument: 'x'"):
        affine(sign=1.0)
