"""Exported blocks: the files give the same results, with other batch sizes too, and damaged files are refused."""

from __future__ import annotations

import copy
import json
import os
import pathlib
import pickle
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, init, np, npx
from forerun.gluon import HybridBlock, SymbolBlock, nn, rnn


def lenet() -> HybridBlock:
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(3, kernel_size=3, padding=1, activation="sigmoid"),
        nn.AvgPool2D(pool_size=2, strides=2),
        nn.Conv2D(4, kernel_size=3, activation="relu"),
        nn.MaxPool2D(pool_size=2, strides=2),
        nn.Flatten(),
        nn.Dense(6, activation="tanh"),
        nn.Dense(3),
    )
    return net


def mlp() -> HybridBlock:
    net = nn.HybridSequential()
    net.add(nn.Dense(8, activation="relu"), nn.Dropout(0.5), nn.Dense(3))
    return net


def normed() -> HybridBlock:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, kernel_size=3), nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())
    net.add(nn.LayerNorm(), nn.Dense(3))
    return net


class Words(HybridBlock):
    """Embedding, mean over time, softmax."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.dense = nn.Dense(3)

    def forward(self, x: Any) -> Any:
        return npx.softmax(self.dense(self.embedding(x).mean(axis=1)))


class Mixed(HybridBlock):
    """Views, slices, transposes, concatenation, writes in place, constants, reductions over the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = gluon.Parameter("scale", shape=(3,), init=init.Normal(1))
        self.table = gluon.Constant([[1.0, 2.0, 3.0]])

    def forward(self, x: Any) -> Any:
        rows = len(x)
        y = np.concatenate([x[:, ::-1], x.T.reshape(3, rows).T * self.scale.data()], axis=1)
        y[:, 1] = 7.0
        y[1:, 2:4] += x[1:, :2]
        middle = y - y.mean(axis=0)
        half = np.array([0.5, 0.25, 0.125])
        z = middle[:, 1:4] * half + self.table.data() + np.arange(3) + np.full((rows, 1), 2.0)
        return np.where(z > 0, z, np.exp(z)).max(axis=1, keepdims=True), np.argmax(z, axis=1), z.swapaxes(0, 1)


class Regions(HybridBlock):
    """Samples, windows and regions of images, and a deformed convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.rois = gluon.Constant([[0, 0.3, 1.0, 4.2, 5.0], [0, 2.0, 0.0, 5.0, 3.0], [-1, 0, 0, 1, 1]])
        self.deformed = nn.DeformableConvolution(2, 3, padding=1, in_channels=1)

    def forward(self, x: Any) -> Any:
        rois = self.rois.data()
        means = [npx.roi_align(x, rois, (2, 3), 0.9, ratio) for ratio in (2, -1)]
        places = npx.activation(x[:, 0, :, :4], "tanh").reshape(-1, 4, 4, 2)
        sampled = npx.grid_sample(x, places, padding_mode="border")
        warped = npx.spatial_transformer(x, x[:, 0, 0, :6], (3, 4))
        summed = npx.col2im(npx.im2col(x, (3, 2), (2, 1)), (8, 8), (3, 2), (2, 1))
        resized = npx.bilinear_resize(x, height=5, width=11)
        return [*means, npx.roi_pooling(x, rois, (2, 2), 0.7), sampled, warped, summed, resized, self.deformed(x)]


class Anchors(HybridBlock):
    """Boxes, anchors and their labels."""

    def forward(self, x: Any) -> Any:
        left, top = x[..., 2:3] % 1, x[..., 3:4] % 1
        boxes = np.concatenate([left, top, left + 0.1 + x[..., 4:5] ** 2, top + 0.2 + x[..., 5:6] ** 2], -1)
        scored = np.concatenate([np.floor(x[..., :1] * 2), npx.sigmoid(x[..., 1:2]), boxes], -1)
        kept = npx.box_nms(scored, 0.4, 0.1, id_index=0)
        shares = npx.box_iou(boxes, boxes[0])
        pairs = npx.bipartite_matching(shares, 0.1)
        anchors = npx.multibox_prior(x.reshape(len(x), 1, 6, 6), (0.4, 0.7))[:, :6]
        moves = x.reshape(len(x), 36)[:, :24] * 0.1
        chances = npx.softmax(x[:, :3], 1)
        found = npx.multibox_detection(chances, moves, anchors)
        labels = np.concatenate([npx.relu(np.floor(x[:, :2, :1])), boxes[:, :2]], -1)
        targets = npx.multibox_target(anchors, labels, chances, 0.3, negative_mining_ratio=2.0)
        return [kept, shares, *pairs, found, *targets, npx.box_decode(moves.reshape(-1, 6, 4), anchors)]


def rows(count: int) -> Any:
    return np.random.normal(size=(count, 3))


def images(count: int) -> Any:
    return np.random.normal(size=(count, 1, 8, 8))


NETWORKS: dict[str, tuple[Callable[[], HybridBlock], Callable[[int], Any]]] = {
    "lenet": (lenet, images),
    "mlp": (mlp, rows),
    "normed": (normed, images),
    "words": (Words, lambda count: np.random.randint(0, 10, size=(count, 5))),
    "mixed": (Mixed, rows),
    "regions": (Regions, images),
    "anchors": (Anchors, lambda count: np.random.normal(size=(count, 6, 6))),
}


def flat(result: Any) -> list[numpy.ndarray]:
    if isinstance(result, (list, tuple)):
        return [array for one in result for array in flat(one)]
    return [result.asnumpy()]


def assert_same(one: Any, other: Any) -> None:
    ours, theirs = flat(one), flat(other)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        numpy.testing.assert_array_equal(x, y, strict=True)


def made(name: str, tmp_path: pathlib.Path) -> tuple[HybridBlock, SymbolBlock, Callable[[int], Any]]:
    """Return a trained-looking network, what its export gives, and inputs."""
    build, inputs = NETWORKS[name]
    np.random.seed(5)
    net = build()
    net.initialize(init.Normal(0.7))
    with autograd.train_mode():
        net(inputs(6))
    net.hybridize()
    net(inputs(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        symbol, params = net.export(tmp_path / "net", epoch=3)
    assert (os.path.basename(symbol), os.path.basename(params)) == ("net-symbol.json", "net-0003.params")
    net.hybridize(False)
    return net, SymbolBlock.imports(symbol, ["data"], params), inputs


@pytest.mark.parametrize("name", NETWORKS)
def test_the_import_gives_the_bits_of_the_block(name: str, tmp_path: pathlib.Path) -> None:
    net, again, inputs = made(name, tmp_path)
    for count in [4, 1, 7, 2]:
        x = inputs(count)
        assert_same(again(x), net(x))
        with autograd.train_mode():
            expected = again(x)
        assert_same(expected, net(x))
    again.hybridize()
    for count in [4, 3, 4, 3]:
        x = inputs(count)
        assert_same(again(x), net(x))


@pytest.mark.parametrize("name", ["lenet", "mlp", "normed", "words"])
def test_gradients_are_those_of_the_block(name: str, tmp_path: pathlib.Path) -> None:
    net, again, inputs = made(name, tmp_path)
    x = inputs(5)
    grads = []
    for block in [net, again]:
        with autograd.record(train_mode=False):
            loss = (block(x) ** 2).sum()
        loss.backward()
        parameters = block.collect_params()
        grads.append({n: p.grad().asnumpy() for n, p in parameters.items() if p.grad_req != "null"})
    assert grads[0].keys() == grads[1].keys()
    for key, grad in grads[0].items():
        numpy.testing.assert_array_equal(grad, grads[1][key])


def test_parameters_keep_names_and_roles(tmp_path: pathlib.Path) -> None:
    net, again, inputs = made("normed", tmp_path)
    assert list(again.collect_params()) == list(net.collect_params())
    kinds = {name: parameter.grad_req for name, parameter in again.collect_params().items()}
    assert kinds["1.running_mean"] == "null" and kinds["1.gamma"] == "write"
    again.save_parameters(tmp_path / "more")
    other = normed()
    other.load_parameters(tmp_path / "more")
    x = inputs(3)
    assert_same(other(x), net(x))


def test_an_import_can_be_trained_and_exported_again(tmp_path: pathlib.Path) -> None:
    _, again, inputs = made("mlp", tmp_path)
    x = inputs(16)
    target = x.sum(axis=1, keepdims=True) * np.ones((1, 3))
    trainer = gluon.Trainer(again.collect_params(), "sgd", {"learning_rate": 0.05})
    loss = gluon.loss.L2Loss()
    again.hybridize()
    losses = []
    for _ in range(40):
        with autograd.record():
            value = loss(again(x), target)
        value.backward()
        trainer.step(16)
        losses.append(float(value.mean()))
    assert losses[-1] < 0.3 * losses[0]
    files = again.export(tmp_path / "second")
    third = SymbolBlock.imports(files[0], "data", files[1])
    for twin in [third, copy.deepcopy(again), pickle.loads(pickle.dumps(again))]:
        assert_same(twin(x), again(x))


class Pair(HybridBlock):
    """Two inputs, two outputs."""

    def forward(self, x: Any, y: Any) -> Any:
        return x @ y, x.sum(axis=0)


def test_several_inputs(tmp_path: pathlib.Path) -> None:
    x, y = np.random.normal(size=(4, 3)), np.random.normal(size=(3, 2))
    files = Pair().export(tmp_path / "pair", inputs=[x, y])
    swapped = SymbolBlock.imports(files[0], ["data1", "data0"], files[1])
    assert_same(swapped(y, x), Pair()(x, y))
    assert_same(swapped(y, x[:2]), Pair()(x[:2], y))
    with pytest.raises(ValueError, match=r"graph: input 'data1' is float32 of shape \(3, 3\), the graph needs float32"):
        swapped(np.ones((3, 3)), x)
    with pytest.raises(ValueError, match="takes 2 arrays, not 1"):
        swapped(x)
    with pytest.raises(ValueError, match=r"has the inputs \['data0', 'data1'\]"):
        SymbolBlock.imports(files[0], ["data0"], files[1])


def test_a_recurrent_network_with_its_batch_in_the_second_axis(tmp_path: pathlib.Path) -> None:
    net = rnn.LSTM(4, num_layers=2)
    net.initialize(init.Normal(0.5))
    x = np.random.normal(size=(5, 3, 2))
    states = net.begin_state(3)
    net(x, states)
    files = net.export(tmp_path / "lstm", inputs=[x, states], batch_axis=1)
    again = SymbolBlock.imports(files[0], ["data0", "data1", "data2"], files[1])
    for count in [3, 1, 4]:
        x = np.random.normal(size=(5, count, 2))
        states = net.begin_state(count)
        assert_same(again(x, states), net(x, states))


class Averaged(HybridBlock):
    """Not linear in the batch size."""

    def forward(self, x: Any) -> Any:
        return x * (1.0 / len(x))


def test_a_graph_that_depends_on_the_batch_size_is_fixed(tmp_path: pathlib.Path) -> None:
    x = np.ones((4, 3))
    with pytest.warns(UserWarning, match=r"(?s)Averaged runs only with the shapes of its example.*test_export\.py:\d+"):
        files = Averaged().export(tmp_path / "fixed", inputs=[x])
    again = SymbolBlock.imports(files[0], "data", files[1])
    assert_same(again(x), x * 0.25)
    with pytest.raises(ValueError, match=r"is float32 of shape \(5, 3\), the graph needs float32 of shape \(4, 3\)"):
        again(np.ones((5, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Averaged().export(tmp_path / "fixed", inputs=[x], batch_axis=None)


class Noisy(HybridBlock):
    """Draws random numbers in prediction mode too."""

    def forward(self, x: Any) -> Any:
        return x + np.random.normal(size=x.shape)


def test_random_numbers_are_drawn_anew(tmp_path: pathlib.Path) -> None:
    files = Noisy().export(tmp_path / "noisy", inputs=[np.zeros((4, 3))])
    again = SymbolBlock.imports(files[0], "data", files[1])
    x = np.zeros((8, 3))
    np.random.seed(9)
    first, second = again(x).asnumpy(), again(x).asnumpy()
    assert (first != second).all()
    np.random.seed(9)
    numpy.testing.assert_array_equal(Noisy()(x).asnumpy(), first)


class Reads(HybridBlock):
    """Its graph depends on a value."""

    def forward(self, x: Any) -> Any:
        return x if float(x.sum()) > 0 else -x


class Writes(HybridBlock):
    """Writes an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.seen = np.zeros((3,))

    def forward(self, x: Any) -> Any:
        self.seen[:] = x[0]
        return x * 2


class Scatters(HybridBlock):
    """Uses an op that files do not contain."""

    def forward(self, x: Any) -> Any:
        y = x * 1
        y[np.array([0, 1]), np.array([1, 2])] = 0
        return y


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (Reads, "Reads cannot be exported: it reads a value"),
        (Writes, r"(?s)forward writes to an array that existed before the call.*test_export\.py"),
        (Scatters, r"(?s)graph files cannot contain this op.*test_export\.py"),
    ],
)
def test_what_cannot_be_exported(block: type[HybridBlock], message: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=message):
        block().export(tmp_path / "net", inputs=[np.ones((4, 3))])
    assert not list(tmp_path.iterdir())


def test_a_block_must_be_called_before() -> None:
    with pytest.raises(RuntimeError, match="call hybridize"):
        mlp().export("nowhere")


def test_half_floats(tmp_path: pathlib.Path) -> None:
    net = mlp()
    net.initialize(init.Normal(0.5))
    net.cast("float16")
    x = np.random.normal(size=(4, 3)).astype("float16")
    expected = net(x)
    files = net.export(tmp_path / "half", inputs=[x])
    again = SymbolBlock.imports(files[0], "data", files[1])
    assert again.collect_params()["0.weight"].dtype == "float16"
    assert_same(again(x), expected)


def change(path: str, where: list[Any], value: Any) -> None:
    """Change one value of a JSON file."""
    tree = json.loads(pathlib.Path(path).read_text())
    inside = tree
    for key in where[:-1]:
        inside = inside[key]
    if value is None:
        del inside[where[-1]]
    else:
        inside[where[-1]] = value
    pathlib.Path(path).write_text(json.dumps(tree))


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (["format"], "other", "the format is 'other', not 'forerun-graph'"),
        (["version"], 2, "version 2 of the format is unknown"),
        (["version"], None, "the file has no 'version'"),
        (["more"], 1, "the file has an unknown field 'more'"),
        (["batch"], 0, "'batch' is an integer, not null or a positive integer"),
        (["nodes", 0, "op"], "eval", "'eval' is not an op of this version"),
        (["nodes", 0, "op"], "transfer", "'transfer' is not an op of this version"),
        (["nodes", 0, "inputs", 0, "array"], 99, "reads array 99, but only arrays 0 to 4 come before it"),
        (["nodes", 0, "inputs", 0, "array"], -1, "reads array -1"),
        (["nodes", 0, "inputs", 0, "array"], 5, "reads array 5"),
        (["nodes", 0, "inputs"], [], "takes 2 inputs, not 0"),
        (["nodes", 0, "dtype"], "float8", "unknown dtype 'float8'"),
        (["nodes", 0, "shape"], [4, 9], "the result is float32 of shape"),
        (["nodes", 0, "shape"], [1 << 40, 1 << 40], "has too many elements"),
        (["nodes", 0, "shape"], [-4, 8], "extent -4 is negative"),
        (["nodes", 0, "shape"], [1] * 40, "has 40 items, at most 32 are allowed"),
        (["nodes", 0, "shape"], [{"batch": 1 << 62}, 8], "overflows"),
        (["nodes", 0, "attributes"], {"axis": 1}, "unknown field 'axis'"),
        (["outputs"], [], "the graph is empty"),
        (["parameters", 1, "name"], "0.weight", "two inputs or parameters are named '0.weight'"),
        (["parameters", 0, "role"], "boss", "unknown role 'boss'"),
        (["parameters", 0, "shape"], [1 << 40, 1 << 40], "has too many elements"),
        (["inputs", 0, "name"], "x" * 2000, "has 2000 bytes, at most 1024 are allowed"),
    ],
)
def test_invalid_graphs_are_refused(where: list[Any], value: Any, message: str, tmp_path: pathlib.Path) -> None:
    made("mlp", tmp_path)
    symbol = str(tmp_path / "net-symbol.json")
    change(symbol, where, value)
    with pytest.raises(ValueError, match=r"load: .*net-symbol\.json: ") as caught:
        SymbolBlock.imports(symbol, "data")
    assert message in str(caught.value)


def test_a_view_beyond_its_array_is_refused(tmp_path: pathlib.Path) -> None:
    made("mlp", tmp_path)
    symbol = str(tmp_path / "net-symbol.json")
    view = {"shape": [8, 3], "strides": [3, 1], "offset": 1}
    change(symbol, ["nodes", 0, "inputs", 1, "view"], view)
    with pytest.raises(ValueError, match="reaches beyond an array of shape"):
        SymbolBlock.imports(symbol, "data")


def test_parameters_must_fit(tmp_path: pathlib.Path) -> None:
    made("mlp", tmp_path)
    npx.save(str(tmp_path / "wrong"), {"0.weight": np.ones((2, 2))})
    with pytest.raises(ValueError, match=r"no tensor for '0\.bias'"):
        SymbolBlock.imports(tmp_path / "net-symbol.json", "data", tmp_path / "wrong")
    empty = SymbolBlock.imports(tmp_path / "net-symbol.json", "data")
    with pytest.raises(RuntimeError, match="is not initialised"):
        empty(np.ones((4, 3)))
    empty.initialize()
    assert empty(np.ones((4, 3))).shape == (4, 3)
    with pytest.raises(FileNotFoundError):
        SymbolBlock.imports(tmp_path / "absent", "data")


@pytest.mark.parametrize("name", ["mlp", "mixed", "regions", "anchors"])
def test_mutated_graphs_are_read_or_refused(name: str, tmp_path: pathlib.Path) -> None:
    made(name, tmp_path)
    path = tmp_path / "net-symbol.json"
    valid, dice = path.read_text(), random.Random(3)
    tokens = [
        "0",
        "-1",
        "1e9",
        "9223372036854775807",
        "18446744073709551615",
        "null",
        "[]",
        "{}",
        '"x"',
        "true",
        '{"batch": 3}',
    ]
    outcomes = set()
    for _ in range(3000 if os.environ.get("FORERUN_TEST_LONG") == "1" else 300):
        text = list(valid)
        for _ in range(dice.randint(1, 3)):
            numbers = [place for place, letter in enumerate(text) if letter.isdigit()]
            text[dice.choice(numbers)] = dice.choice(tokens)
        path.write_text("".join(text))
        try:
            SymbolBlock.imports(path, "data")
            outcomes.add("read")
        except ValueError as error:
            assert str(error).startswith(f"load: {path}: ") or "SymbolBlock" in str(error)
            outcomes.add("refused")
    assert outcomes == {"read", "refused"} or outcomes == {"refused"}


def test_one_call_that_infers_shapes_is_enough(tmp_path: pathlib.Path) -> None:
    net = nn.Dense(2)
    net.initialize()
    net.hybridize()
    out = net(np.ones((4, 3)))
    symbol, params = net.export(str(tmp_path / "net"))
    again = SymbolBlock.imports(symbol, ["data"], params)
    numpy.testing.assert_array_equal(again(np.ones((4, 3))).asnumpy(), out.asnumpy())
