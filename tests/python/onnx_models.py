"""Small ONNX files with inputs, for what Forerun reads but does not write, and for damaged files."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from forerun import init, np, onnx
from forerun.gluon import nn, rnn
from forerun.onnx import _wire

Array = numpy.ndarray[Any, Any]
Case = tuple[bytes, list[Any]]
_dice = numpy.random.default_rng(7)


def normal(*shape: int) -> Array:
    """Draw numbers."""
    return _dice.normal(size=shape).astype("float32")


def described(name: str) -> bytes:
    """Describe an array: ``name:dtype``, float32 if not given, or ``name:dtype:dimensions``."""
    name, dtype, dimensions = (*name.split(":"), "", "")[:3]
    if dimensions:
        return _wire.value(name, dtype, ("",) * int(dimensions))
    kind = _wire._int(1, _wire.DTYPES[dtype or "float32"])
    return _wire._data(1, name) + _wire._data(2, _wire._data(1, kind))


def graph(nodes: Sequence[bytes], inputs: str, outputs: str, constants: dict[str, Array] | None = None) -> _wire.Graph:
    """Return a graph."""
    arrays = {name: numpy.asarray(one) for name, one in (constants or {}).items()}
    tensors = [_wire.tensor(name, str(one.dtype), one.shape, one.tobytes()) for name, one in arrays.items()]
    ends = [[described(name) for name in names.split()] for names in (inputs, outputs)]
    return _wire.graph("graph", nodes, tensors, *ends)


def model(nodes: Sequence[bytes], x: Array, outputs: str = "y", constants: dict[str, Array] | None = None) -> Case:
    """Return a file and its input ``x``."""
    return _wire.model(graph(nodes, "x", outputs, constants), 8, 18, "tests", "1"), [np.array(x)]


def node(op: str, inputs: str, outputs: str = "y", **attributes: Any) -> bytes:
    """Return a node; names are separated by spaces, and ``-`` stands for a missing input."""
    named = ["" if name == "-" else name for name in inputs.split()]
    return _wire.node(op, named, outputs.split(), attributes)


def _convolution(op: str, shape: tuple[int, ...], weight: tuple[int, ...], **attributes: Any) -> Case:
    constants = {"w": normal(*weight), "b": normal(weight[0] if op == "Conv" else weight[1])}
    return model([node(op, "x w b", kernel_shape=weight[2:], **attributes)], normal(*shape), constants=constants)


def _pool(op: str, shape: tuple[int, ...], **attributes: Any) -> Case:
    return model([node(op, "x", **attributes)], normal(*shape))


def _recurrent(op: str, gates: int, direction: str, lengths: bool = False, **attributes: Any) -> Case:
    count, hidden = (2 if direction == "bidirectional" else 1), 3
    constants = {"w": normal(count, gates * hidden, 2), "r": normal(count, gates * hidden, hidden)}
    constants |= {"b": normal(count, 2 * gates * hidden), "h": normal(count, 4, hidden)}
    if lengths:
        constants["l"] = numpy.array([5, 2, 3, 1], "int32")
    names = f"x w r b {'l' if lengths else '-'} h"
    outputs = "y last cells" if op == "LSTM" else "y last"
    if op == "LSTM":
        constants["c"] = normal(count, 4, hidden)
        names += " c"
    options = {"hidden_size": hidden, "direction": direction, **attributes}
    return model([node(op, names, outputs, **options)], normal(5, 4, 2), outputs, constants)


def _exported() -> Case:
    """Return an LSTM as PyTorch's exporter writes it: the begin states have the batch size of the input."""
    ints = {"one": numpy.array(1), "zeroth": numpy.array([0]), "ends": numpy.array([2]), "size": numpy.array([3])}
    constants = {
        "w": normal(2, 12, 2),
        "r": normal(2, 12, 3),
        "b": normal(2, 24),
        "flat": numpy.array([0, 0, -1]),
        **ints,
    }
    nodes = [
        node("Shape", "x", "shape"),
        node("Gather", "shape one", "batch", axis=0),
        node("Unsqueeze", "batch zeroth", "count"),
        node("Concat", "ends count size", "states", axis=0),
        node("ConstantOfShape", "states", "begin"),
        node("LSTM", "x w r b - begin begin", "steps last cells", hidden_size=3, direction="bidirectional"),
        node("Transpose", "steps", "turned", perm=[0, 2, 1, 3]),
        node("Reshape", "turned flat", "y"),
    ]
    return model(nodes, normal(5, 4, 2), "y last cells", constants)


def _scan() -> Case:
    steps = [node("Add", "s x", "sum"), node("Mul", "sum scale", "t"), node("Identity", "t", "out")]
    options = {"num_scan_inputs": 1, "scan_input_axes": [1], "scan_output_axes": [1], "scan_input_directions": [1]}
    outer = node("Scan", "start x", "last all", body=graph(steps, "s x", "t:float32:1 out:float32:1"), **options)
    return model([outer], normal(2, 4), "last all", {"start": normal(2), "scale": normal(1)})


def _loop(known: bool) -> Case:
    # Doubles a known number of times, or while the sum is less than 100. Adds the number of the iteration.
    steps = [
        node("Add", "s s", "t"),
        node("Cast", "i", "f", to=1),
        node("Add", "t f", "u"),
        node("Identity", "u", "out"),
    ]
    if known:
        steps += [node("Identity", "going", "next")]
    else:
        steps += [node("ReduceSum", "u", "total", keepdims=0), node("Less", "total bound", "next")]
    body = graph(steps, "i:int64:0 going:bool:0 s", "next:bool:0 u out", {"bound": numpy.array(100, "float32")})
    outer = node("Loop", f"{'count' if known else '-'} true x", "last all", body=body)
    constants = {"count": numpy.array(4, "int64"), "true": numpy.array(True)}
    return model([outer], abs(normal(3)) + 1, "last all", constants)


def _branch(known: bool) -> Case:
    then, other = (graph([node(op, "x w", "z")], "", "z", {"w": normal(3)}) for op in ("Mul", "Sub"))
    nodes = [node("ReduceSum", "x", "total", keepdims=0), node("Less", "total zero", "computed")]
    nodes += [node("If", "known" if known else "computed", "y", then_branch=then, else_branch=other)]
    return model(nodes, normal(2, 3), "y", {"zero": numpy.array(0, "float32"), "known": numpy.array(True)})


def _top(**attributes: Any) -> Case:
    x = _dice.permutation(24).reshape(2, 4, 3).astype("float32")
    nodes = [node("TopK", "x k", "y i", axis=1, **attributes)]
    return model(nodes, x, "y i:int64", {"k": numpy.array([3], "int64")})


# Files by name; the tests compute each with an evaluator of their own.
CASES: dict[str, Callable[[], Case]] = {
    "conv same upper": lambda: _convolution("Conv", (1, 2, 6, 5), (3, 2, 3, 2), auto_pad="SAME_UPPER", strides=[2, 1]),
    "conv same lower": lambda: _convolution("Conv", (1, 2, 6, 5), (3, 2, 2, 3), auto_pad="SAME_LOWER", strides=[1, 2]),
    "conv valid": lambda: _convolution("Conv", (1, 2, 6, 5), (3, 2, 3, 2), auto_pad="VALID", dilations=[2, 1]),
    "average same": lambda: _pool(
        "AveragePool", (1, 2, 6, 5), kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_UPPER"
    ),
    "average uneven": lambda: _pool("AveragePool", (1, 2, 6, 5), kernel_shape=[3, 2], pads=[0, 1, 2, 0]),
    "maximum same": lambda: _pool("MaxPool", (1, 2, 6, 5), kernel_shape=[2, 2], strides=[1, 2], auto_pad="SAME_LOWER"),
    "maximum dilated": lambda: _pool("MaxPool", (1, 2, 6, 5), kernel_shape=[2, 2], dilations=[2, 3]),
    "transposed": lambda: _convolution(
        "ConvTranspose", (1, 2, 3, 4), (2, 3, 3, 2), strides=[2, 3], pads=[1, 0, 1, 0], output_padding=[1, 0]
    ),
    "transposed uneven": lambda: _convolution(
        "ConvTranspose", (1, 2, 3, 4), (2, 3, 3, 2), strides=[2, 1], pads=[0, 1, 2, 0]
    ),
    "transposed same": lambda: _convolution(
        "ConvTranspose", (1, 2, 3, 4), (2, 3, 3, 3), strides=[2, 1], auto_pad="SAME_UPPER"
    ),
    "transposed to a shape": lambda: _convolution(
        "ConvTranspose", (1, 2, 3, 4), (2, 3, 3, 3), strides=[2, 2], output_shape=[6, 8]
    ),
    "lstm": lambda: _recurrent("LSTM", 4, "bidirectional"),
    "lstm of pytorch": _exported,
    "lstm reverse": lambda: _recurrent("LSTM", 4, "reverse", lengths=True),
    "gru": lambda: _recurrent("GRU", 3, "bidirectional", linear_before_reset=1),
    "gru after": lambda: _recurrent("GRU", 3, "forward", lengths=True),
    "rnn": lambda: _recurrent("RNN", 1, "reverse"),
    "rnn clipped": lambda: _recurrent("RNN", 1, "forward", clip=0.5),
    "scan": _scan,
    "loop": lambda: _loop(True),
    "loop of a condition": lambda: _loop(False),
    "if": lambda: _branch(True),
    "if computed": lambda: _branch(False),
    "top": _top,
    "bottom": lambda: _top(largest=0),
}


class Words(nn.HybridBlock):
    """Embedding and mean over time."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(5, 3)

    def forward(self, x: Any) -> Any:
        return self.embedding(x).mean(axis=1)


def small() -> dict[str, Case]:
    """Return files for mutations: the ones above, and exported networks."""
    made = {name: case() for name, case in CASES.items()}
    layer = rnn.LSTM(2)
    image = nn.HybridSequential()
    image.add(nn.Conv2D(2, kernel_size=3), nn.BatchNorm(), nn.MaxPool2D(), nn.Dense(2), nn.LayerNorm())
    nets: dict[str, tuple[nn.HybridBlock, list[Any], Any]] = {
        "dense": (nn.Dense(2), [np.ones((3, 2))], 0),
        "image": (image, [np.ones((1, 1, 6, 6))], 0),
        "words": (Words(), [np.zeros((2, 3), dtype="int64")], 0),
        "steps": (layer, [np.ones((2, 3, 2))], 1),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, (net, inputs, axis) in nets.items():
            net.initialize(init.Normal(0.5))
            net(*inputs)
            path = onnx.export(net, pathlib.Path(folder) / "net.onnx", inputs, batch_axis=axis)
            made[name] = (pathlib.Path(path).read_bytes(), inputs)
    return made
