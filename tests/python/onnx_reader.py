"""A reader of ONNX files and an evaluator of their nodes in NumPy, written apart from the exporter.

It follows the published message and operator definitions. It computes what the exporter's tests need, slowly.
"""

from __future__ import annotations

import itertools
import math
import pathlib
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

Array = numpy.ndarray[Any, Any]
# NumPy's dtypes by the number of an element type.
DTYPES = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8", 12: "u4", 13: "u8"}


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message: their numbers, and an integer or bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
            yield key >> 3, value - (1 << 64) if value >> 63 else value
            continue
        assert key & 7 in (2, 5), f"wire type {key & 7}"
        size = 4 if key & 7 == 5 else varint()
        assert at + size <= len(data), "a field reaches beyond its message"
        yield key >> 3, data[at : at + size]
        at += size


def message(data: Any) -> dict[int, list[Any]]:
    """Return the fields of a message by number."""
    found: dict[int, list[Any]] = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def text(values: list[bytes]) -> list[str]:
    """Decode strings."""
    return [value.decode() for value in values]


class Node(NamedTuple):
    """A node."""

    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    line: str


class Graph(NamedTuple):
    """A graph: nodes, constants, and the names and extents of inputs and outputs."""

    nodes: list[Node]
    constants: dict[str, Array]
    inputs: dict[str, list[int | str]]
    outputs: dict[str, list[int | str]]

    def run(self, given: dict[str, Array]) -> list[Array]:
        """Compute the outputs."""
        values = {"": numpy.zeros(0), **self.constants, **given}
        for node in self.nodes:
            results = OPS[node.op](node.attributes, values, *[values[name] for name in node.inputs])
            results = results if isinstance(results, list) else [results]
            assert len(results) >= len(node.outputs)
            for name, result in zip(node.outputs, results, strict=False):
                assert name not in values, f"{name} is computed twice"
                values[name] = numpy.asarray(result)
        return [values[name] for name in self.outputs]


class Model(NamedTuple):
    """A model."""

    version: int
    opset: int
    producer: str
    graph: Graph


def read(path: str | pathlib.Path) -> Model:
    """Read a file."""
    parts = message(pathlib.Path(path).read_bytes())
    opset = message(parts[8][0])
    return Model(parts[1][0], opset[2][0], text(parts[2])[0], graph(parts[7][0]))


def graph(data: bytes) -> Graph:
    """Read a graph."""
    parts = message(data)
    constants = dict(tensor(one) for one in parts.get(5, []))
    inputs, outputs = (dict(described(one) for one in parts.get(number, [])) for number in (11, 12))
    return Graph([node(one) for one in parts.get(1, [])], constants, inputs, outputs)


def node(data: bytes) -> Node:
    """Read a node."""
    parts = message(data)
    names = [text(parts.get(number, [])) for number in (1, 2)]
    line = text(parts.get(6, [b""]))[0]
    return Node(text(parts[4])[0], *names, dict(attribute(one) for one in parts.get(5, [])), line)


def attribute(data: bytes) -> tuple[str, Any]:
    """Read an attribute."""
    parts = message(data)
    kinds: dict[int, Callable[[], Any]] = {
        1: lambda: struct.unpack("<f", parts[2][0])[0],
        2: lambda: parts[3][0],
        3: lambda: parts[4][0].decode(),
        5: lambda: graph(parts[6][0]),
        7: lambda: parts.get(8, []),
    }
    return text(parts[1])[0], kinds[parts[20][0]]()


def tensor(data: bytes) -> tuple[str, Array]:
    """Read a constant."""
    parts = message(data)
    array = numpy.frombuffer(parts[9][0], numpy.dtype(DTYPES[parts[2][0]]).newbyteorder("<"))
    return text(parts[8])[0], array.reshape(parts.get(1, []))


def described(data: bytes) -> tuple[str, list[int | str]]:
    """Read the name and the extents of an input or output."""
    parts = message(data)
    kind = message(message(parts[2][0])[1][0])
    assert kind[1][0] in DTYPES
    extents: list[int | str] = []
    for one in message(kind.get(2, [b""])[0]).get(1, []):
        known = message(one)
        extents.append(known[1][0] if 1 in known else text(known.get(2, [b""]))[0])
    return text(parts[1])[0], extents


def _slice(_: Any, __: Any, x: Array, begins: Array, ends: Array, axes: Array, steps: Any = None) -> Array:
    steps = numpy.ones(len(axes), int) if steps is None else steps
    chosen = [slice(None)] * x.ndim
    for begin, end, axis, step in zip(begins, ends, axes, steps, strict=True):
        # An end below minus the extent means that the first element belongs to the slice.
        chosen[axis] = slice(begin, None if end < -x.shape[axis] else end, step)
    return x[tuple(chosen)]


def _windows(x: Array, attributes: Any, fill: float) -> Iterator[tuple[Array, tuple[int, ...]]]:
    """Yield each element of the kernel: its values in all windows, and its position."""
    rank = x.ndim - 2
    kernel, strides = attributes["kernel_shape"], attributes.get("strides", [1] * rank)
    dilations = attributes.get("dilations", [1] * rank)
    before, after = _padding(attributes, x.shape[2:], kernel, strides, dilations)
    padded = numpy.pad(x, [(0, 0), (0, 0), *zip(before, after, strict=True)], constant_values=fill)
    counts = [
        (size - d * (k - 1) - 1) // s + 1
        for size, d, k, s in zip(padded.shape[2:], dilations, kernel, strides, strict=True)
    ]
    for place in itertools.product(*map(range, kernel)):
        chosen = [
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(place, dilations, counts, strides, strict=True)
        ]
        yield padded[(slice(None), slice(None), *chosen)], place


def _padding(attributes: Any, extents: Any, kernel: Any, strides: Any, dilations: Any) -> tuple[list[int], list[int]]:
    """Return the padding before and after each axis; the number of windows of SAME is that of the strides."""
    rank, mode = len(extents), attributes.get("auto_pad", "NOTSET")
    if not mode.startswith("SAME"):
        pads = attributes.get("pads", [0] * 2 * rank)
        return pads[:rank], pads[rank:]
    ends: tuple[list[int], list[int]] = ([], [])
    for extent, size, stride, step in zip(extents, kernel, strides, dilations, strict=True):
        windows = -(-extent // stride)
        missing = max((windows - 1) * stride + (size - 1) * step + 1 - extent, 0)
        small, large = missing // 2, -(-missing // 2)
        ends[0].append(small if mode == "SAME_UPPER" else large)
        ends[1].append(large if mode == "SAME_UPPER" else small)
    return ends


def _conv_transpose(attributes: Any, _: Any, x: Array, weight: Array, bias: Array) -> Array:
    """Add the kernel, times an element of the input, to the output wherever the element is."""
    rank = x.ndim - 2
    kernel, strides = weight.shape[2:], attributes.get("strides", [1] * rank)
    extra = attributes.get("output_padding", [0] * rank)
    whole = [(n - 1) * s + k + e for n, s, k, e in zip(x.shape[2:], strides, kernel, extra, strict=True)]
    y = numpy.zeros((x.shape[0], weight.shape[1], *whole))
    for place in itertools.product(*map(range, x.shape[2:])):
        region = tuple(slice(p * s, p * s + k) for p, s, k in zip(place, strides, kernel, strict=True))
        y[(slice(None), slice(None), *region)] += numpy.einsum("nc,cf...->nf...", x[(..., *place)], weight)
    pads = attributes.get("pads", [0] * 2 * rank)
    wanted = attributes.get("output_shape")
    if attributes.get("auto_pad", "NOTSET") != "NOTSET":
        wanted = [n * s for n, s in zip(x.shape[2:], strides, strict=True)]
    if wanted:
        totals = [have - want for have, want in zip(whole, wanted, strict=True)]
        upper = attributes.get("auto_pad") == "SAME_UPPER"
        first = [t // 2 if upper else t - t // 2 for t in totals]
        pads = [*first, *(t - f for t, f in zip(totals, first, strict=True))]
    inner = tuple(slice(b, n - e) for b, e, n in zip(pads[:rank], pads[rank:], whole, strict=True))
    return (y[(..., *inner)] + bias.reshape(-1, *[1] * rank)).astype(x.dtype)


def _conv(attributes: Any, _: Any, x: Array, weight: Array, bias: Any = None) -> Array:
    groups, inputs = attributes.get("group", 1), weight.shape[1]
    total: Any = 0
    for window, place in _windows(x, attributes, 0.0):
        parts = [
            numpy.einsum("nc...,fc->nf...", window[:, g * inputs : (g + 1) * inputs], filters[(..., *place)])
            for g, filters in enumerate(numpy.split(weight, groups))
        ]
        total = total + numpy.concatenate(parts, axis=1)
    return numpy.asarray(total if bias is None else total + bias.reshape(-1, *[1] * (x.ndim - 2)))


def _average(attributes: Any, _: Any, x: Array) -> Array:
    ones = numpy.ones_like(x)
    total = sum(window for window, _ in _windows(x, attributes, 0.0))
    count: Any = math.prod(attributes["kernel_shape"])
    if not attributes.get("count_include_pad", 0):
        count = sum(window for window, _ in _windows(ones, attributes, 0.0))
    return numpy.asarray(total / count).astype(x.dtype)


def _most(attributes: Any, _: Any, x: Array) -> Array:
    return numpy.maximum.reduce([window for window, _ in _windows(x, attributes, -math.inf)])


def _softmax(attributes: Any, _: Any, x: Array) -> Array:
    e = numpy.exp(x - x.max(attributes["axis"], keepdims=True))
    return e / e.sum(attributes["axis"], keepdims=True)


def _layer_norm(attributes: Any, _: Any, x: Array, gamma: Array, beta: Array) -> Array:
    apart = x - x.mean(-1, keepdims=True)
    return apart / numpy.sqrt((apart**2).mean(-1, keepdims=True) + attributes["epsilon"]) * gamma + beta


def _batch_norm(attributes: Any, _: Any, x: Array, *channels: Array) -> Array:
    gamma, beta, mean, variance = (one.reshape(-1, *[1] * (x.ndim - 2)) for one in channels)
    return (x - mean) / numpy.sqrt(variance + attributes["epsilon"]) * gamma + beta


def _scan(attributes: Any, values: dict[str, Array], *given: Array) -> list[Array]:
    body: Graph = attributes["body"]
    states, steps = list(given[:-1]), numpy.moveaxis(given[-1], attributes.get("scan_input_axes", [0])[0], 0)
    names = list(body.inputs)
    outputs: list[list[Array]] = [[] for _ in states]
    for step in steps[::-1] if attributes["scan_input_directions"][0] else steps:
        made = body.run({**values, **dict(zip(names, [*states, step], strict=True))})
        states, results = made[: len(states)], made[len(states) :]
        for kept, result in zip(outputs, results, strict=True):
            kept.append(result)
    if attributes.get("scan_output_directions", [0])[0]:
        outputs = [kept[::-1] for kept in outputs]
    axes = attributes.get("scan_output_axes", [0] * len(outputs))
    return [*states, *[numpy.stack(kept, axis) for kept, axis in zip(outputs, axes, strict=True)]]


def _loop(attributes: Any, values: dict[str, Array], count: Array, going: Array, *states: Array) -> list[Array]:
    body: Graph = attributes["body"]
    now, rows = list(states), []
    # A missing count is an empty array.
    for number in itertools.count() if count.size == 0 else range(int(count)):
        if not going:
            break
        given = [numpy.array(number), going, *now]
        going, *made = body.run({**values, **dict(zip(body.inputs, given, strict=True))})
        now = made[: len(now)]
        rows.append(made[len(now) :])
    return [*now, *[numpy.stack(kept) for kept in zip(*rows, strict=True)]]


def _if(attributes: Any, values: dict[str, Array], condition: Array) -> list[Array]:
    branch: Graph = attributes["then_branch" if condition else "else_branch"]
    return branch.run(values)


def _sigmoid(x: Array) -> Array:
    return numpy.asarray(1 / (1 + numpy.exp(-x)))


def _recurrent(step: Callable[..., list[Array]]) -> Callable[..., Any]:
    """Return a recurrent node: one sequence after another, from its own start to its own end."""

    def op(
        attributes: Any, _: Any, x: Array, w: Array, r: Array, b: Array, lengths: Array, *states: Array
    ) -> list[Array]:
        steps, batch = x.shape[:2]
        outputs = numpy.zeros((steps, len(w), batch, r.shape[2]), "f4")
        last = [state.copy() for state in states]
        for way, sequence in itertools.product(range(len(w)), range(batch)):
            length = int(lengths[sequence]) if lengths.size else steps
            backward = way == 1 or attributes["direction"] == "reverse"
            now = [state[way, sequence] for state in states]
            for at in range(length)[::-1] if backward else range(length):
                now = step(attributes, x[at, sequence], now, w[way], r[way], *numpy.split(b[way], 2))
                outputs[at, way, sequence] = now[0]
            for kept, state in zip(last, now, strict=True):
                kept[way, sequence] = state
        return [outputs, *last]

    return op


def _rnn(attributes: Any, x: Array, state: list[Array], w: Array, r: Array, wb: Array, rb: Array) -> list[Array]:
    limit = attributes.get("clip", math.inf)
    return [numpy.tanh(numpy.clip(w @ x + r @ state[0] + wb + rb, -limit, limit))]


def _gru(attributes: Any, x: Array, state: list[Array], w: Array, r: Array, wb: Array, rb: Array) -> list[Array]:
    (h,) = state
    (wz, wr, wh), (rz, rr, rh) = numpy.split(w, 3), numpy.split(r, 3)
    (bz, br, bh), (cz, cr, ch) = numpy.split(wb, 3), numpy.split(rb, 3)
    update, reset = _sigmoid(wz @ x + rz @ h + bz + cz), _sigmoid(wr @ x + rr @ h + br + cr)
    kept = reset * (rh @ h + ch) if attributes.get("linear_before_reset", 0) else rh @ (reset * h) + ch
    return [(1 - update) * numpy.tanh(wh @ x + kept + bh) + update * h]


def _lstm(_: Any, x: Array, state: list[Array], w: Array, r: Array, wb: Array, rb: Array) -> list[Array]:
    h, c = state
    enter, leave, forget, new = numpy.split(w @ x + r @ h + wb + rb, 4)
    c = _sigmoid(forget) * c + _sigmoid(enter) * numpy.tanh(new)
    return [_sigmoid(leave) * numpy.tanh(c), c]


def _top(attributes: Any, _: Any, x: Array, count: Array) -> list[Array]:
    axis = attributes["axis"]
    order = numpy.argsort(-x if attributes.get("largest", 1) else x, axis, kind="stable")
    order = numpy.take(order, range(int(count[0])), axis)
    return [numpy.take_along_axis(x, order, axis), order]


def _scatter(attributes: Any, _: Any, base: Array, indices: Array, updates: Array) -> Array:
    made = base.copy()
    numpy.put_along_axis(made, indices, updates, attributes["axis"])
    return made


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda attributes, values, *given: function(*given)


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda attributes, _, x, axes=None: function(
        x, axis=None if axes is None else tuple(axes), keepdims=bool(attributes["keepdims"])
    )


def _reshaped(x: Array, shape: Array) -> Array:
    # Files of the exporter have no extents of 0 in shapes; in others they mean that of the input.
    return x.reshape([x.shape[axis] if extent == 0 else extent for axis, extent in enumerate(shape)])


_erf = numpy.vectorize(math.erf, otypes=["f4"])
OPS: dict[str, Callable[..., Any]] = {
    "Add": _plain(numpy.add),
    "AveragePool": _average,
    "BatchNormalization": _batch_norm,
    "Cast": lambda attributes, _, x: x.astype(DTYPES[attributes["to"]]),
    "Concat": lambda attributes, _, *given: numpy.concatenate(given, attributes["axis"]),
    "ConstantOfShape": _plain(lambda shape: numpy.zeros(shape, "f4")),
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Div": _plain(lambda x, y: x // y if x.dtype.kind == "i" else x / y),
    "Erf": _plain(_erf),
    "Exp": _plain(numpy.exp),
    "Expand": _plain(lambda x, shape: x * numpy.ones(shape, x.dtype)),
    "GRU": _recurrent(_gru),
    "Gather": lambda attributes, _, x, places: numpy.take(x, places, attributes["axis"]),
    "Greater": _plain(numpy.greater),
    "Identity": _plain(lambda x: x),
    "LSTM": _recurrent(_lstm),
    "LayerNormalization": _layer_norm,
    "If": _if,
    "Less": _plain(numpy.less),
    "Loop": _loop,
    "MatMul": _plain(numpy.matmul),
    "Max": _plain(numpy.maximum),
    "MaxPool": _most,
    "Min": _plain(numpy.minimum),
    "Mul": _plain(numpy.multiply),
    "Neg": _plain(numpy.negative),
    "RNN": _recurrent(_rnn),
    "Range": _plain(numpy.arange),
    "Reciprocal": _plain(numpy.reciprocal),
    "ReduceMax": _reduced(numpy.max),
    "ReduceSum": _reduced(numpy.sum),
    "Relu": _plain(lambda x: numpy.maximum(x, 0)),
    "Reshape": _plain(_reshaped),
    "Scan": _scan,
    "ScatterElements": _scatter,
    "Shape": lambda attributes, _, x: numpy.array(x.shape[attributes.get("start", 0) : attributes.get("end")]),
    "Sigmoid": _plain(_sigmoid),
    "Slice": _slice,
    "Softmax": _softmax,
    "Sqrt": _plain(numpy.sqrt),
    "Sub": _plain(numpy.subtract),
    "Tanh": _plain(numpy.tanh),
    "TopK": _top,
    "Transpose": lambda attributes, _, x: x.transpose(attributes["perm"]),
    "Unsqueeze": _plain(lambda x, axes: numpy.expand_dims(x, tuple(axes))),
    "Where": _plain(numpy.where),
}
