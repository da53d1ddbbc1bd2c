"""ONNX files: a reader written apart computes the results of the block, for other batch sizes too."""

from __future__ import annotations

import pathlib
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import onnx_models
import onnx_reader
import pytest

from forerun import autograd, gluon, init, np, npx, onnx
from forerun.gluon import HybridBlock, nn, rnn

Inputs = Callable[[int], list[Any]]


def sequence(*layers: HybridBlock) -> HybridBlock:
    net = nn.HybridSequential()
    net.add(*layers)
    return net


class Function(HybridBlock):
    """A function of arrays."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


class Words(HybridBlock):
    """Embedding, mean over time, softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.dense = nn.Dense(3)

    def forward(self, x: Any) -> Any:
        return npx.softmax(self.dense(self.embedding(x).mean(axis=1)))


def views(x: Any) -> Any:
    """Slices, reversals, transposes, reshapes, and rows selected by distance, along the batch axis too."""
    joined = np.concatenate([x[:, ::-1], x.swapaxes(1, 2)[:, :, :4]], axis=2)
    rows = x.transpose(2, 0, 1).reshape(4, -1)
    return joined, rows * 2, x[1:] - x[:-1], x[:, ::2, 1:3] + 0, x[::-1] + 0, np.repeat(x, 2, axis=1)


def writes(x: Any) -> Any:
    y = x * 1
    y[:, 1] = 7.0
    y[1:, 2:, ::2] += x[1:, :2, ::2]
    return y


def normal(*extents: int | None) -> Inputs:
    """Return a function that makes an input; ``None`` stands for the batch size."""

    def inputs(batch: int) -> list[Any]:
        return [np.random.normal(size=tuple(batch if extent is None else extent for extent in extents))]

    return inputs


def recurrent(layer: Any) -> tuple[HybridBlock, Inputs, Any]:
    return layer, lambda batch: [np.random.normal(size=(4, batch, 3)), layer.begin_state(batch)], 1


LAYERS: dict[str, Callable[[], tuple[HybridBlock, Inputs, Any]]] = {
    "mlp": lambda: (sequence(nn.Dense(8, activation="relu"), nn.Dropout(0.5), nn.Dense(3)), normal(None, 5), 0),
    "lenet": lambda: (
        sequence(
            nn.Conv2D(3, kernel_size=3, padding=1, activation="sigmoid"),
            nn.AvgPool2D(pool_size=2, strides=2),
            nn.Conv2D(4, kernel_size=3, activation="relu"),
            nn.MaxPool2D(pool_size=3, strides=2, ceil_mode=True),
            nn.Dense(6, activation="tanh"),
            nn.Dense(3),
        ),
        normal(None, 1, 10, 10),
        0,
    ),
    "normed": lambda: (
        sequence(
            nn.Conv2D(4, kernel_size=3, use_bias=False, groups=2, strides=2),
            nn.BatchNorm(),
            nn.GlobalAvgPool2D(),
            nn.Flatten(),
            nn.LayerNorm(),
            nn.BatchNorm(scale=False),
        ),
        normal(None, 2, 9, 9),
        0,
    ),
    "pools": lambda: (
        sequence(
            nn.AvgPool2D(3, 2, 1, ceil_mode=True, layout="NHWC"),
            nn.AvgPool2D(3, 2, 1, ceil_mode=True, count_include_pad=False, layout="NHWC"),
        ),
        normal(None, 8, 8, 2),
        0,
    ),
    "words": lambda: (Words(), lambda batch: [np.random.randint(0, 10, size=(batch, 5))], 0),
    "transformer": lambda: (nn.TransformerEncoderLayer(8, 16, 2), normal(None, 5, 8), 0),
    "views": lambda: (Function(views), normal(None, 4, 4), 0),
    "writes": lambda: (Function(writes), normal(None, 4, 4), 0),
    "lstm": lambda: recurrent(rnn.LSTM(4, bidirectional=True)),
    "gru": lambda: recurrent(rnn.GRU(4, num_layers=2)),
    "projected": lambda: recurrent(rnn.LSTM(4, projection_size=2)),
}


def flat(result: Any) -> list[numpy.ndarray]:
    if isinstance(result, (list, tuple)):
        return [array for one in result for array in flat(one)]
    return [result.asnumpy()]


def spread(given: Any) -> list[Any]:
    """Return the arrays of nested lists."""
    return [array for one in given for array in spread(one)] if isinstance(given, list) else [given]


def exported(name: str, folder: pathlib.Path) -> tuple[HybridBlock, Inputs, str]:
    """Export a network whose running statistics are not those of the beginning."""
    np.random.seed(3)
    net, inputs, axis = LAYERS[name]()
    net.initialize(init.Normal(0.5))
    with autograd.train_mode():
        net(*inputs(5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = onnx.export(net, folder / "net.onnx", inputs(3), batch_axis=axis)
    return net, inputs, path


def assert_near(net: HybridBlock, given: list[Any], results: list[Any]) -> None:
    expected = flat(net(*given))
    assert len(expected) == len(results)
    for ours, theirs in zip(expected, results, strict=True):
        assert ours.dtype == theirs.dtype
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", LAYERS)
def test_a_reader_computes_the_results_of_the_block(name: str, tmp_path: pathlib.Path) -> None:
    net, inputs, path = exported(name, tmp_path)
    graph = onnx_reader.read(path).graph
    for batch in [3, 1, 6]:
        given = inputs(batch)
        assert_near(net, given, graph.run(dict(zip(graph.inputs, flat(given), strict=True))))


@pytest.mark.parametrize("name", LAYERS)
def test_onnxruntime_computes_the_results_of_the_block(name: str, tmp_path: pathlib.Path) -> None:
    # ONNX Runtime takes 60 MB and has no wheels for some platforms, so it is no requirement of the tests.
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed; the reader above always runs")
    net, inputs, path = exported(name, tmp_path)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for batch in [3, 1, 6]:
        given = inputs(batch)
        names = [one.name for one in session.get_inputs()]
        assert_near(net, given, session.run(None, dict(zip(names, flat(given), strict=True))))


def test_the_file_describes_itself(tmp_path: pathlib.Path) -> None:
    net, _, path = exported("mlp", tmp_path)
    model = onnx_reader.read(path)
    assert (model.version, model.opset, model.producer) == (8, 18, "forerun")
    assert model.graph.inputs == {"data": ["batch", 5]}
    assert model.graph.outputs == {"output": ["batch", 3]}
    for name, parameter in net.collect_params().items():
        numpy.testing.assert_array_equal(model.graph.constants[name], parameter.data().asnumpy())
    lines = {node.line for node in model.graph.nodes if node.op == "MatMul"}
    assert all(line.startswith("test_onnx.py:") for line in lines)


def test_batch_normalisation_is_one_node(tmp_path: pathlib.Path) -> None:
    _, _, path = exported("normed", tmp_path)
    ops = [node.op for node in onnx_reader.read(path).graph.nodes]
    assert ops.count("BatchNormalization") == 2
    assert not {"Sqrt", "Reciprocal", "Sub"}.intersection(ops)


def test_several_inputs_and_outputs(tmp_path: pathlib.Path) -> None:
    net = Function(lambda x, y: (x @ y, x.sum(axis=0)))
    given = [np.random.normal(size=(4, 3)), np.random.normal(size=(3, 2))]
    graph = onnx_reader.read(onnx.export(net, tmp_path / "net.onnx", given)).graph
    assert graph.inputs == {"data0": ["batch", 3], "data1": [3, 2]}
    assert graph.outputs == {"output0": ["batch", 2], "output1": [3]}
    assert_near(net, given, graph.run(dict(zip(graph.inputs, flat(given), strict=True))))


def test_shapes_stand_for_inputs(tmp_path: pathlib.Path) -> None:
    net = nn.Dense(2)
    net.initialize()
    path = onnx.export(net, tmp_path / "net.onnx", [(4, 3)], batch_axis=None)
    assert onnx_reader.read(path).graph.inputs == {"data": [4, 3]}
    assert [one.name for one in tmp_path.iterdir()] == ["net.onnx"]


def test_what_onnx_cannot_express_is_named(tmp_path: pathlib.Path) -> None:
    for function, message in [
        (lambda x: np.linalg.inv(x + np.eye(3)), r"export: inv, from test_onnx\.py:\d+: ONNX has no such op"),
        (lambda x: np.arctan2(x, x), r"export: atan2, from test_onnx\.py:\d+: ONNX has no such op"),
        (lambda x: np.nanmax(x, axis=1), r"export: nanmax, from test_onnx\.py:\d+: ONNX has no such reduction"),
        (lambda x: np.fft.rfft(x).real, r"export: rfft, from test_onnx\.py:\d+: ONNX has no complex numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            onnx.export(Function(function), tmp_path / "net.onnx", [np.ones((3, 3))], batch_axis=None)
    pooling = Function(lambda x: npx.adaptive_avg_pool2d(x, 3))
    with pytest.raises(ValueError, match=r"average_pool, from .*have different sizes"):
        onnx.export(pooling, tmp_path / "net.onnx", [(1, 1, 5, 5)])
    assert not list(tmp_path.iterdir())


def test_only_hybrid_blocks(tmp_path: pathlib.Path) -> None:
    with pytest.raises(TypeError, match="needs a HybridBlock, not Sequential"):
        onnx.export(nn.Sequential(), tmp_path / "net.onnx", [(1, 1)])  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="call hybridize"):
        onnx.export(nn.Dense(2), tmp_path / "net.onnx")


def test_files_of_networks_are_converted(tmp_path: pathlib.Path) -> None:
    net, inputs, _ = exported("mlp", tmp_path)
    files = net.export(tmp_path / "net", inputs=inputs(3))
    target = tmp_path / "model.onnx"
    for shapes, dynamic, extent in [(None, False, "batch"), ([(7, 5)], False, 7), ([(7, 5)], True, "batch")]:
        path = onnx.export_model(*files, shapes, onnx_file_path=target, dynamic=dynamic)
        graph = onnx_reader.read(path).graph
        assert graph.inputs == {"data": [extent, 5]}
        given = inputs(7)
        assert_near(net, given, graph.run({"data": flat(given)[0]}))
    arrays = gluon.SymbolBlock.imports(files[0], "data", files[1]).collect_params()
    onnx.export_model(files[0], {name: one.data() for name, one in arrays.items()}, onnx_file_path=target)
    with pytest.raises(ValueError, match=r"input 'data' of shape \(7, 6\) does not fit"):
        onnx.export_model(*files, [(7, 6)], onnx_file_path=target)
    with pytest.raises(ValueError, match=r"no array for the parameter '0\.weight'"):
        onnx.export_model(files[0], {}, onnx_file_path=target)
    with pytest.raises(ValueError, match=r"'0\.weight' is float32 of shape \(2,\)"):
        onnx.export_model(files[0], {"0.weight": np.ones((2,))}, onnx_file_path=target)
    with pytest.raises(ValueError, match="large_model"):
        onnx.export_model(*files, large_model=True)


# Writes compute positions from the batch size, which fixes it.
@pytest.mark.filterwarnings(
    "ignore:export. OnnxBlock runs only with the shapes of its example. export. an array of shape"
)
@pytest.mark.parametrize("name", LAYERS)
def test_an_import_computes_the_results_of_the_block(name: str, tmp_path: pathlib.Path) -> None:
    net, inputs, path = exported(name, tmp_path)
    axis = LAYERS[name]()[2]
    again = onnx.import_model(path)
    for batch in [3, 1, 6]:
        given = inputs(batch)
        assert_near(net, given, flat(again(*spread(given))))
    again.hybridize()
    for _ in range(3):
        given = inputs(4)
        assert_near(net, given, flat(again(*spread(given))))
    second = onnx.export(again, tmp_path / "second.onnx", spread(given), batch_axis=axis)
    graph = onnx_reader.read(second).graph
    assert_near(net, given, graph.run(dict(zip(graph.inputs, flat(given), strict=True))))


@pytest.fixture
def case(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> tuple[str, list[Any]]:
    """Return a file that Forerun would not write, and its inputs."""
    data, given = onnx_models.CASES[request.param]()
    (tmp_path / "case.onnx").write_bytes(data)
    return str(tmp_path / "case.onnx"), given


@pytest.mark.parametrize("case", onnx_models.CASES, indirect=True)
def test_an_import_computes_what_the_nodes_say(case: tuple[str, list[Any]]) -> None:
    path, given = case
    net = onnx.import_model(path)
    graph = onnx_reader.read(path).graph
    assert_near(net, given, graph.run(dict(zip(graph.inputs, flat(given), strict=True))))
    weights = [one for one in net.collect_params().values() if one.grad_req != "null"]
    with autograd.record():
        made = net(*given)
        loss = (made[0] if isinstance(made, list) else made).sum()
    if weights:
        loss.backward()
        assert all(np.isfinite(one.grad()).all() for one in weights)


@pytest.mark.parametrize("case", onnx_models.CASES, indirect=True)
def test_onnxruntime_computes_what_the_import_computes(case: tuple[str, list[Any]]) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed; the reader above always runs")
    path, given = case
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    assert_near(onnx.import_model(path), given, session.run(None, dict(zip(names, flat(given), strict=True))))


def test_what_a_loop_does_is_bounded(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from forerun.onnx import _import

    monkeypatch.setattr(_import, "MOST_STEPS", 1000)
    body = onnx_models.graph([onnx_models.node("Add", "s s", "t")], "i:int64:0 going:bool:0 s", "going:bool:0 t")
    data, given = onnx_models.model([onnx_models.node("Loop", "- true x", body=body)], onnx_models.normal(3), "y", TRUE)
    path = tmp_path / "endless.onnx"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"OnnxBlock: node 0 \(Loop\): a call computes at most 1000 nodes"):
        onnx.import_model(path)(*given)
    for _ in range(17):
        body = onnx_models.graph(
            [onnx_models.node("Loop", "- true x", "t", body=body)], "i:int64:0 going:bool:0 s", "t"
        )
    path.write_bytes(onnx_models.model([onnx_models.node("Loop", "- true x", body=body)], given[0].asnumpy())[0])
    with pytest.raises(ValueError, match="graphs within graphs are nested more than 16 deep"):
        onnx.import_model(path)


TRUE: dict[str, Any] = {"true": numpy.array(True)}


@pytest.mark.parametrize(
    ("op", "shape", "attributes", "message"),
    [
        ("ConvTranspose", (1, 2, 3), {"strides": [1 << 40]}, "strides .* are not from 1 to 65536"),
        ("Conv", (2, 1, 3), {"dilations": [1 << 40]}, "dilations .* are not from 1 to 65536"),
        ("Conv", (2, 1, 3), {"pads": [1 << 40, 1 << 40]}, "pads .* are not supported"),
    ],
)
def test_windows_of_a_file_ask_for_little_memory(
    op: str, shape: tuple[int, ...], attributes: dict[str, Any], message: str, tmp_path: pathlib.Path
) -> None:
    nodes = [onnx_models.node(op, "x w", **attributes)]
    data, given = onnx_models.model(nodes, onnx_models.normal(1, 1, 5), "y", {"w": onnx_models.normal(*shape)})
    (tmp_path / "net.onnx").write_bytes(data)
    with pytest.raises(ValueError, match=message):
        onnx.import_model(tmp_path / "net.onnx")(*given)


def test_a_missing_input_is_named(tmp_path: pathlib.Path) -> None:
    data, given = onnx_models.model([onnx_models.node("Identity", "-")], onnx_models.normal(3))
    (tmp_path / "net.onnx").write_bytes(data)
    with pytest.raises(ValueError, match=r"OnnxBlock: node 0 \(Identity\): an input is missing"):
        onnx.import_model(tmp_path / "net.onnx")(*given)


def test_graphs_in_nodes_have_parameters_of_their_own(tmp_path: pathlib.Path) -> None:
    data, given = onnx_models.CASES["if"]()
    (tmp_path / "if.onnx").write_bytes(data)
    net = onnx.import_model(tmp_path / "if.onnx")
    assert sorted(net.collect_params()) == ["w", "w.2"]
    net.collect_params()["w"].set_data(np.zeros((3,)))
    assert net(*given).asnumpy().tolist() == np.zeros((2, 3)).asnumpy().tolist()


def test_an_import_can_be_trained(tmp_path: pathlib.Path) -> None:
    _, inputs, path = exported("normed", tmp_path)
    again = onnx.import_model(path)
    kinds = {name: one.grad_req for name, one in again.collect_params().items()}
    assert kinds["0.weight"] == "write" and kinds["1.running_mean"] == "null"
    trainer = gluon.Trainer(again.collect_params(), "sgd", {"learning_rate": 0.05})
    (x,) = inputs(8)
    losses = []
    for _ in range(20):
        with autograd.record():
            loss = ((again(x) - 1) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss))
    assert losses[-1] < 0.7 * losses[0]


def test_the_page_lists_what_is_read_and_what_is_not(root: pathlib.Path) -> None:
    from forerun.onnx._loops import CONTROL
    from forerun.onnx._running import OPS
    from forerun.onnx._unsupported import REASONS

    page = (root / "docs/onnx.md").read_text(encoding="utf-8").split("## Reading")[1]
    rows = [line.split("|")[1:3] for line in page.splitlines() if line.startswith("| ")]
    read = {name for _, names in rows[:14] for name in re.findall("`([A-Z][A-Za-z0-9]*)`", names)}
    assert read == {*OPS, *CONTROL}
    refused = {name: reason.strip() for names, reason in rows[14:] for name in re.findall("`([A-Za-z0-9]+)`", names)}
    assert {name.replace("Scan-8", "Scan"): reason for name, reason in REASONS.items()} == refused
    assert not (OPS.keys() | CONTROL.keys()) & REASONS.keys()


def test_what_cannot_be_read_is_named(tmp_path: pathlib.Path) -> None:
    data, _ = onnx_models.model([onnx_models.node("NonZero", "x"), onnx_models.node("Foo", "x", "z")], numpy.ones(3))
    (tmp_path / "net.onnx").write_bytes(data)
    message = r"the ops Foo, NonZero \(the shape of its result depends on values\) are not supported"
    with pytest.raises(ValueError, match=message):
        onnx.import_model(tmp_path / "net.onnx")
    _, inputs, path = exported("mlp", tmp_path)
    data = pathlib.Path(path).read_bytes()
    broken = tmp_path / "broken.onnx"
    for changed, message in [
        (b"", "the file contains no graph"),
        (data[:-40], "ends within field 7"),
        (data.replace(b"MatMul", b"Matmul"), "the ops Matmul are not supported"),
        (data.replace(b"0.weight", b"1.weight", 1), r"reads '[01]\.weight', which no node before it computes"),
        (data.replace(b"\x0a\x04data", b"\x0a\x04dato", 1), "which no node before it computes"),
    ]:
        broken.write_bytes(changed)
        with pytest.raises(ValueError, match=rf"import_model: .*broken\.onnx: .*{message}"):
            onnx.import_model(broken)
    with pytest.raises(ValueError, match=r"takes 1 arrays \(data\), not 2"):
        onnx.import_model(path)(*inputs(2), *inputs(2))
    with pytest.raises(ValueError, match=r"OnnxBlock: node \d+ \(MatMul\): matmul: inner dimensions differ"):
        onnx.import_model(path)(np.ones((2, 9)))
    with pytest.raises(FileNotFoundError):
        onnx.import_model(tmp_path / "absent.onnx")
