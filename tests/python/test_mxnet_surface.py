"""MXNet's modules around the arrays: profiler, mixed precision, expressions, operators, test utilities, older names."""

from __future__ import annotations

import json
import pathlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from forerun import mxnet as mx
from forerun.mxnet import amp, autograd, gluon, nd, np, npx, profiler, test_utils


@pytest.fixture
def installed() -> Iterator[None]:
    """Replace ``mxnet`` during a test."""
    mx.install()
    yield
    mx.uninstall()


@pytest.mark.usefixtures("installed")
def test_errors_are_mxnets_and_numpys() -> None:
    for kind, call in [
        (ValueError, lambda: np.ones((2, 3)) @ np.ones((2, 3))),
        (IndexError, lambda: np.take(np.ones(2), np.array([5], dtype="int32")).wait_to_read()),
        (np.linalg.LinAlgError, lambda: np.linalg.inv(np.zeros((2, 2))).wait_to_read()),
        (TypeError, lambda: np.ones(2) << np.ones(2)),
    ]:
        with pytest.raises(mx.base.MXNetError) as caught:
            call()
        assert isinstance(caught.value, kind)
    assert issubclass(mx.MXNetError, RuntimeError) and mx.error.MXNetError is mx.MXNetError


def test_errors_are_numpys_otherwise() -> None:
    mx.install()
    mx.uninstall()
    with pytest.raises(ValueError, match="inner dimensions") as caught:
        np.ones((2, 3)) @ np.ones((2, 3))
    assert type(caught.value) is ValueError


@pytest.mark.usefixtures("installed")
def test_integers_have_gradients() -> None:
    x = np.array([1, 2, 3], dtype="int32")
    x.attach_grad()
    with autograd.record():
        y = np.sum(x, dtype="float32") * 2
    y.backward()
    assert x.grad.dtype == "int32" and x.grad.tolist() == [2, 2, 2]


def test_integers_have_no_gradients_otherwise() -> None:
    with pytest.raises(TypeError, match="only float and complex arrays have gradients"):
        np.array([1, 2], dtype="int32").attach_grad()


@pytest.mark.usefixtures("installed")
def test_methods_of_older_arrays() -> None:
    x = nd.array([[1.0, 4.0]])
    assert x.as_np_ndarray() is x.as_nd_ndarray() is x
    assert x.sqrt().tolist() == [[1, 2]] and x.slice_axis(1, 0, 1).asscalar() == 1
    assert x.stype == "default" and x.tostype("default") is x
    with pytest.raises(ValueError, match="no sparse arrays"):
        x.tostype("csr")
    x.slice_assign(nd.array([[7.0]]), (0, 1), (1, 2), None)
    assert x.tolist() == [[1, 7]]
    mx.uninstall()
    assert not hasattr(x, "asscalar")
    mx.install()


def test_names_of_mxnet_1() -> None:
    x = nd.arange(6).reshape((2, 3))
    assert nd.array(numpy.arange(2)).dtype == "float32" and nd.zeros((2,), dtype="int32").dtype == "int32"
    assert nd.concat(x, x).shape == (2, 6) and nd.concat(x, x, dim=0).shape == (4, 3)
    assert nd.dot(x, x, transpose_b=True).tolist() == [[5, 14], [14, 50]]
    assert nd.reshape(nd.ones((2, 3, 4)), (0, -4, -1, 3, -2)).shape == (2, 1, 3, 4)
    assert nd.reshape(nd.ones((2, 3, 4)), (-1, 0), reverse=True).shape == (6, 4)
    assert nd.sum(x, axis=0, exclude=True).tolist() == [3, 12] and nd.mean(x, axis=1).tolist() == [1, 4]
    assert nd.broadcast_lesser(x, nd.array([[1], [4]])).tolist() == [[1, 0, 0], [1, 0, 0]]
    assert nd.lesser(x, 1).dtype == "float32"
    assert nd.argmax(x, axis=1).dtype == "float32" and nd.topk(x, k=1).tolist() == [[2], [2]]
    assert nd.sort(x, is_ascend=False).tolist() == [[2, 1, 0], [5, 4, 3]]
    assert nd.FullyConnected(x, nd.ones((2, 3)), nd.zeros((2,)), num_hidden=2).tolist() == [[3, 3], [12, 12]]
    assert [part.shape for part in nd.SliceChannel(x, 3, squeeze_axis=True)] == [(2,)] * 3
    numpy.testing.assert_allclose(nd.L2Normalization(x).asnumpy()[1], numpy.array([3, 4, 5]) / 50**0.5, rtol=1e-6)
    assert nd.op.relu(nd.array([-1, 1])).tolist() == [0, 1] and nd.NDArray is np.ndarray
    with pytest.raises(AttributeError, match="no sparse arrays"):
        nd.sparse  # noqa: B018  (raising is its purpose)
    with pytest.raises(AttributeError, match="did you mean 'concat'"):
        nd.concatt  # noqa: B018


def test_samplers_of_mxnet_1() -> None:
    mx.random.seed(3)
    assert nd.random.uniform(nd.array([0, 10]), nd.array([1, 11]), shape=4).shape == (2, 4)
    drawn = nd.random.normal(nd.array([0, 100]), nd.array([1, 1]), shape=50).mean(axis=1)
    assert abs(drawn[0].item()) < 1 and abs(drawn[1].item() - 100) < 1
    out = nd.zeros((3,))
    assert nd.random.gamma(2, 3, out=out) is out and out.min().item() > 0
    chances = nd.array([[0.0, 0.25, 0.75]])
    found, logs = nd.random.categorical(chances, shape=4000, get_prob=True)
    counts = numpy.bincount(found.asnumpy().reshape(-1), minlength=3)
    assert counts[0] == 0 and abs(counts[1] / 4000 - 0.25) < 0.05
    numpy.testing.assert_allclose(logs.asnumpy(), numpy.log(chances.asnumpy()[0][found.asnumpy()]), rtol=1e-6)
    assert mx.random.randint(0, 5, shape=(2,)).dtype == "int32"


def test_mxnets_arguments_of_numpys_functions() -> None:
    with pytest.raises(NotImplementedError, match=r"forerun\.np\.exp has it"):
        np.exp(np.ones(2), where=False)
    with pytest.raises(TypeError, match="casting='mxnet' is not known"):
        np.add(np.ones(2), 1, casting="mxnet")
    assert np.add(np.ones(2), 1, dtype=None, order="K").tolist() == [2, 2]
    assert np.unique(np.array([[2, 1], [2, 1]]), return_inverse=True)[1].shape == (4,)
    assert np.squeeze(np.array(1.0), axis=0).shape == () and np.argmax(np.array(1.0), axis=-1).item() == 0
    assert np.quantile(np.arange(4), 0.5, interpolation="lower").item() == 1
    assert np.full((2, 2), np.array([1, 2])).tolist() == [[1, 2], [1, 2]]
    assert np.linalg.norm(np.array([3, -4]), ord="inf").item() == 4
    assert [part.shape for part in np.linalg.svd(np.ones((2, 3)))] == [(2, 2), (2,), (2, 3)]
    with pytest.raises(ValueError, match="tuple of two axes"):
        np.linalg.matrix_norm(np.ones((2, 2)), axis=0)
    with mx.util.np_default_dtype():
        assert (np.arange(2).dtype, np.array([1]).dtype, np.ones(1).dtype) == ("int64", "int64", "float64")
    assert npx.activation(np.array([1.0]), "mish").item() == pytest.approx(0.8650983, rel=1e-5)
    assert npx.activation(np.array([1.0]), "log_sigmoid").item() == pytest.approx(-0.3132617, rel=1e-5)


def test_saved_arrays_are_numpys(tmp_path: pathlib.Path) -> None:
    npx.save(tmp_path / "one", np.arange(3))
    npx.save(tmp_path / "named", {"w": np.ones((2,))})
    assert numpy.load(tmp_path / "one").tolist() == [0, 1, 2] and npx.load(tmp_path / "one")[0].tolist() == [0, 1, 2]
    with numpy.load(tmp_path / "named") as file:
        assert file["w"].tolist() == [1, 1]
    npx.save(tmp_path / "several", [np.zeros(1), np.ones(1)])
    assert [array.tolist() for array in npx.load(tmp_path / "several")] == [[0], [1]]
    nd.save(str(tmp_path / "list"), [np.ones((1,))])
    assert nd.load_frombuffer((tmp_path / "list").read_bytes())[0].tolist() == [1]
    with pytest.raises(TypeError, match="buf must be bytes"):
        nd.load_frombuffer("text")  # type: ignore[arg-type]


def _rows(path: pathlib.Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    return rows


def test_profiles_contain_ops_and_marks(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "profile.json"
    profiler.set_config(filename=str(path), profile_all=True, aggregate_stats=True)
    profiler.dumps(reset=True)
    domain = profiler.Domain("training")
    profiler.set_state("run")
    try:
        with profiler.scope("forward"):
            (np.ones((300, 300)) @ np.ones((300, 300))).wait_to_read()
        task, counter = domain.new_task("epoch"), domain.new_counter("samples", 2)
        task.start()
        counter += 3
        domain.new_marker("here").mark("process")
        task.stop()
        profiler.pause()
        np.exp(np.ones((300, 300))).wait_to_read()
        profiler.Event("hidden").start()
        profiler.resume()
        profiler.dump(finished=False)
        (np.ones((300, 300)) + 1).wait_to_read()
    finally:
        profiler.dump()
    rows = _rows(path)
    names = [row["name"] for row in rows]
    assert {"forward", "epoch", "samples", "here"} <= set(names) and not any(name == "exp" for name in names)
    assert any("matmul" in name for name in names) and any("add" in name for name in names)
    assert [row["args"]["samples"] for row in rows if row["ph"] == "C" and row["name"] == "samples"] == [2, 5]
    statistics = json.loads(profiler.dumps(format="json", sort_by="count", ascending=True))
    counts = [row["Count"] for row in statistics["Time"]["operator"].values()]
    assert counts == sorted(counts) and statistics["Time"]["scope"]["forward"]["Total"] > 0
    assert "matmul" in statistics["Memory"]["results"] and "epoch" in profiler.dumps()
    assert profiler.dumps(reset=True) and json.loads(profiler.dumps(format="json"))["Time"] == {}
    profiler.set_config(filename="profile.json")
    for wrong in (
        lambda: profiler.set_config(file="x"),
        lambda: profiler.set_state("go"),
        lambda: profiler.dumps(format="xml"),
        lambda: profiler.dumps(sort_by="name"),
        lambda: domain.new_marker("x").mark("nowhere"),
    ):
        with pytest.raises(ValueError):
            wrong()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mixed_precision_learns(dtype: str) -> None:
    mx.random.seed(1)
    amp.init(dtype)
    try:
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(8, activation="relu"), gluon.nn.Dense(1))
        net.initialize()
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
        amp.init_trainer(trainer)
        loss = gluon.loss.L2Loss()
        x = np.random.normal(size=(64, 4))
        y = x.sum(axis=1)
        values = []
        for _ in range(60):
            with autograd.record():
                made = net(x)
                value = loss(made, y)
                with amp.scale_loss(value, trainer) as scaled:
                    autograd.backward(scaled)
            trainer.step(64)
            values.append(value.mean().item())
        assert made.dtype == dtype and value.dtype == "float32"
        assert values[-1] < values[0] / 5
        assert net[0].weight.data().dtype == "float32"
    finally:
        amp.reset()
    assert net(x).dtype == "float32"


def test_overflows_are_skipped_and_scales_adapt() -> None:
    amp.init("float16")
    try:
        weight = gluon.Parameter("weight", shape=(2,), init="ones")
        weight.initialize()
        trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 1.0})
        with pytest.raises(RuntimeError, match="init_trainer"), amp.scale_loss(np.ones(1), trainer):
            pass
        amp.init_trainer(trainer)
        scale = trainer._loss_scaler.loss_scale
        for factor, expected in ((float("inf"), [1, 1]), (0.25, [0.75, 0.75])):
            with autograd.record():
                value = (weight.data() * factor).sum()
                with amp.scale_loss(value, trainer) as scaled:
                    scaled.backward()
            trainer.step(1)
            assert weight.data().tolist() == expected
        assert trainer._loss_scaler.loss_scale == scale / 2
        with autograd.record():
            value = (weight.data() * 0.25).sum()
            with amp.scale_loss(value, trainer) as scaled:
                scaled.backward()
        amp.unscale(trainer)
        assert weight.grad().tolist() == [0.25, 0.25]
        trainer.step(1)
        assert weight.data().tolist() == [0.5, 0.5]
        with pytest.raises(TypeError, match="Trainer"):
            amp.init_trainer("sgd")
        with pytest.raises(ValueError, match="float16 or bfloat16"):
            amp.init("float32")
    finally:
        amp.reset()


def test_converted_blocks() -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(2, 3), gluon.nn.BatchNorm(), gluon.nn.Flatten(), gluon.nn.Dense(3))
    net.initialize()
    x = np.random.normal(size=(2, 1, 5, 5))
    expected = net(x).asnumpy()
    try:
        half = amp.convert_hybrid_block(net, x, "bfloat16", cast_params_offline=True)
        assert half(x).dtype == "bfloat16" and net(x).dtype == "float32"
        numpy.testing.assert_allclose(half(x).astype("float32").asnumpy(), expected, rtol=0.1, atol=0.05)
        assert half.block[3].weight.data().dtype == "bfloat16" and half.block[1].gamma.data().dtype == "float32"
    finally:
        amp.reset()
    with pytest.raises(ValueError, match="not a function of np or npx"):
        amp.init(target_precision_ops=["npx.nothing"])
    amp.reset()


def test_expressions() -> None:
    a, b = mx.sym.Variable("a"), mx.sym.var("b")
    c = mx.sym.np.dot(a, b) + 2 * mx.sym.npx.relu(a).sum()
    assert c.list_arguments() == ["a", "b"] and c.infer_shape(a=(2,), b=(2,))[1] == [()]
    values = {"a": np.array([1.0, -2.0]), "b": np.array([3.0, 4.0])}
    assert c.eval(**values)[0].item() == -3
    bound = c.bind(args=values, args_grad={"a": np.zeros(2), "b": np.zeros(2)}, grad_req={"a": "write", "b": "add"})
    for _ in range(2):
        bound.forward(is_train=True)
        bound.backward()
    assert bound.grad_dict["a"].tolist() == [5, 4] and bound.grad_dict["b"].tolist() == [2, -4]
    assert [each.item() for each in mx.sym.Group([c, c * 2]).eval(**values)] == [-3, -6]
    assert mx.sym.concat(a, b, dim=0).eval(**values)[0].shape == (4,)
    with pytest.raises(ValueError, match="'b' of the expression is given no array"):
        c.eval(a=np.ones(2))
    with pytest.raises(ValueError, match="no arrays are given for b"):
        c.bind(args={"a": np.ones(2)})
    with pytest.raises(AttributeError):
        mx.sym.nothing  # noqa: B018  (raising is its purpose)


def test_operators_in_python() -> None:
    class Power(mx.operator.CustomOp):
        def __init__(self, exponent: float) -> None:
            self.exponent = exponent

        def forward(self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0] ** self.exponent)
            self.assign(out_data[1], req[1], in_data[0] * 0 + float(is_train))
            aux[0][:] = aux[0] + 1

        def backward(self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
            made = out_grad[0] * self.exponent * in_data[0] ** (self.exponent - 1)
            self.assign(in_grad[0], req[0], made)

    @mx.operator.register("power_of")
    class PowerProp(mx.operator.CustomOpProp):
        def __init__(self, exponent: str) -> None:
            super().__init__(need_top_grad=True)
            self.exponent = float(exponent)

        def list_outputs(self) -> list[str]:
            return ["output", "training"]

        def list_auxiliary_states(self) -> list[str]:
            return ["calls"]

        def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Power:
            return Power(self.exponent)

    x, calls = np.array([1.0, 2.0]), np.zeros((1,))
    x.attach_grad()
    with autograd.record():
        y, training = nd.Custom(x, calls, op_type="power_of", exponent=3)
    y.backward()
    assert y.tolist() == [1, 8] and x.grad.tolist() == [3, 12] and training.tolist() == [1, 1]
    assert npx.Custom(data=x, calls=calls, op_type="power_of", exponent=2)[0].tolist() == [1, 4]
    assert calls.item() == 2 and "power_of" in mx.operator.get_all_registered_operators()
    with pytest.raises(ValueError, match="no operator 'unregistered' is registered"):
        nd.Custom(x, op_type="unregistered")
    with pytest.raises(ValueError, match="needs 2 arrays, got 1"):
        nd.Custom(x, op_type="power_of", exponent=1)


def test_comparisons_list_the_worst() -> None:
    test_utils.assert_almost_equal(np.ones((2,)), [1, 1.0005])
    with pytest.raises(AssertionError, match=r"2 of 3 elements differ .*\n  \(2,\): a = 1.0, b = 9, .*\n  \(1,\)"):
        test_utils.assert_almost_equal(np.ones((3,)), [1, 2, 9])
    with pytest.raises(AssertionError, match="shapes differ"):
        test_utils.assert_almost_equal(np.ones((2,)), 1, use_broadcast=False)
    with pytest.raises(AssertionError):
        test_utils.assert_almost_equal(np.array([float("nan")]), [float("nan")])
    test_utils.assert_almost_equal(np.array([float("nan")]), [float("nan")], equal_nan=True)
    test_utils.assert_almost_equal_ignore_nan(np.array([float("nan"), 1]), [1, 1])
    test_utils.assert_almost_equal_with_err(np.array([1, 1]), [1, 2], etol=0.5)
    assert test_utils.same(np.ones(2), numpy.ones(2)) and not test_utils.almost_equal(1.0, 1.1)
    x = np.zeros((4,))
    assert test_utils.same_array(x, x.reshape(2, 2).reshape(-1)) and not test_utils.same_array(x, x.copy())
    test_utils.assert_exception(lambda: np.ones(2) @ np.ones(3), ValueError)
    with pytest.raises(AssertionError, match="did not raise"):
        test_utils.assert_exception(lambda: np.ones(2), ValueError)


def test_numeric_gradients_find_wrong_ones() -> None:
    class Wrong(autograd.Function):
        def forward(self, x: Any) -> Any:
            return x * x

        def backward(self, dy: Any) -> Any:
            return dy

    x = np.array([2.0, 3.0])
    test_utils.check_numeric_gradient(lambda x: x * x, [x], rtol=1e-2)
    test_utils.check_numeric_gradient(mx.sym.np.sum(mx.sym.Variable("x") ** 2), {"x": x}, rtol=1e-2)
    with pytest.raises(AssertionError, match="numeric gradient of 0"):
        test_utils.check_numeric_gradient(lambda x: Wrong()(x), [x], rtol=1e-2)
    net = gluon.nn.Dense(2, in_units=3)
    test_utils.check_gluon_hybridize_consistency(lambda: gluon.nn.Dense(2, in_units=3), [np.ones((2, 3))])
    net.initialize()
    test_utils.check_numeric_gradient(net, [np.ones((1, 3))], rtol=1e-2)


def test_samplers_are_checked() -> None:
    buckets, chances = test_utils.gen_buckets_probs_with_ppf(lambda p: p, 5)
    good = lambda count: np.random.uniform(size=count)  # noqa: E731
    assert test_utils.mean_check(good, 0.5, 12**-0.5, 20000) and test_utils.var_check(good, 12**-0.5, 20000)
    pytest.importorskip("scipy")
    test_utils.verify_generator(good, buckets, chances, nsamples=20000)
    with pytest.raises(AssertionError, match="do not follow the distribution"):
        test_utils.verify_generator(lambda count: good(count) ** 2, buckets, chances, nsamples=20000)


def test_settings_and_scopes() -> None:
    assert mx.engine.set_bulk_size(7) == 15
    with mx.engine.bulk(3):
        assert mx.engine.set_bulk_size(3) == 3
    assert mx.engine.set_bulk_size(15) == 7
    with test_utils.environment({"FORERUN_EXAMPLE": "1"}):
        assert mx.util.getenv("FORERUN_EXAMPLE") == "1"
    assert mx.util.getenv("FORERUN_EXAMPLE") is None and mx.is_np_array() and mx.is_np_shape()
    with mx.AttrScope(a="1"), mx.AttrScope(b="2") as inner:
        assert inner.get({"c": "3"}) == {"a": "1", "b": "2", "c": "3"}
        seen: list[Any] = []
        thread = threading.Thread(target=lambda: seen.append(mx.attribute.current().get(None)))
        thread.start()
        thread.join()
        assert seen == [{}]
    with mx.name.NameManager(), mx.name.Prefix("p_"):
        assert mx.name.current().get(None, "dense") == "p_dense0"
    features = mx.runtime.Features()
    assert features.is_enabled("cuda") == (mx.num_gpus() > 0) and len(features) > 20
    with pytest.raises(RuntimeError, match="is not known"):
        features.is_enabled("nothing")
    assert repr(mx.gpu(3)) == "gpu(3)"
    with pytest.raises(RuntimeError, match="no device gpu"):
        np.ones((1,), ctx=mx.gpu(99)).wait_to_read()


@pytest.mark.usefixtures("installed")
def test_modules_are_found_by_mxnets_names() -> None:
    namespace: dict[str, Any] = {}
    exec(
        """
import mxnet as mx
import mxnet.ndarray.numpy._internal as _npi
from mxnet import nd, profiler, runtime
from mxnet.amp.amp import bfloat16
from mxnet.base import MXNetError, integer_types, numeric_types, py_str
from mxnet.gluon.rnn.rnn_cell import LSTMCell
from mxnet.ndarray.ndarray import NDArray, py_slice
from mxnet.numpy.utils import floating_dtypes
from mxnet.numpy_op_signature import _get_builtin_op
from mxnet.test_utils import *
""",
        namespace,
    )
    assert namespace["nd"] is nd and namespace["mx"].nd.NDArray is np.ndarray and "assert_almost_equal" in namespace
    assert namespace["_get_builtin_op"]("_npx_relu") is npx.relu
    x = np.array([1.0, 2.0])
    made = namespace["_npi"].boolean_mask_assign_scalar(x, np.array([True, False]), 5, out=x)
    assert made is x and x.tolist() == [5, 2]
