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
    for one in message(kind[2][0]).get(1, []):
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
    kernel, strides = attributes["kernel_shape"], attributes["strides"]
    dilations = attributes.get("dilations", [1] * rank)
    before, after = attributes["pads"][:rank], attributes["pads"][rank:]
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


def _conv(attributes: Any, _: Any, x: Array, weight: Array) -> Array:
    groups, inputs = attributes["group"], weight.shape[1]
    total: Any = 0
    for window, place in _windows(x, attributes, 0.0):
        parts = [
            numpy.einsum("nc...,fc->nf...", window[:, g * inputs : (g + 1) * inputs], filters[(..., *place)])
            for g, filters in enumerate(numpy.split(weight, groups))
        ]
        total = total + numpy.concatenate(parts, axis=1)
    return numpy.asarray(total)


def _average(attributes: Any, _: Any, x: Array) -> Array:
    ones = numpy.ones_like(x)
    total = sum(window for window, _ in _windows(x, attributes, 0.0))
    count: Any = math.prod(attributes["kernel_shape"])
    if not attributes["count_include_pad"]:
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
    states, steps = list(given[:-1]), given[-1]
    names = list(body.inputs)
    outputs: list[list[Array]] = [[] for _ in states]
    backward = attributes["scan_input_directions"][0]
    for step in steps[::-1] if backward else steps:
        made = body.run({**values, **dict(zip(names, [*states, step], strict=True))})
        states, results = made[: len(states)], made[len(states) :]
        for kept, result in zip(outputs, results, strict=True):
            kept.insert(0, result) if backward else kept.append(result)
    return [*states, *[numpy.stack(kept) for kept in outputs]]


def _scatter(attributes: Any, _: Any, base: Array, indices: Array, updates: Array) -> Array:
    made = base.copy()
    numpy.put_along_axis(made, indices, updates, attributes["axis"])
    return made


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda attributes, values, *given: function(*given)


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda attributes, _, x, axes: function(x, axis=tuple(axes), keepdims=bool(attributes["keepdims"]))


_erf = numpy.vectorize(math.erf, otypes=["f4"])
OPS: dict[str, Callable[..., Any]] = {
    "Add": _plain(numpy.add),
    "AveragePool": _average,
    "BatchNormalization": _batch_norm,
    "Cast": lambda attributes, _, x: x.astype(DTYPES[attributes["to"]]),
    "Concat": lambda attributes, _, *given: numpy.concatenate(given, attributes["axis"]),
    "Conv": _conv,
    "Div": _plain(lambda x, y: x // y if x.dtype.kind == "i" else x / y),
    "Erf": _plain(_erf),
    "Exp": _plain(numpy.exp),
    "Expand": _plain(lambda x, shape: x * numpy.ones(shape, x.dtype)),
    "Gather": lambda attributes, _, x, places: numpy.take(x, places, attributes["axis"]),
    "Greater": _plain(numpy.greater),
    "Identity": _plain(lambda x: x),
    "LayerNormalization": _layer_norm,
    "MatMul": _plain(numpy.matmul),
    "Max": _plain(numpy.maximum),
    "MaxPool": _most,
    "Min": _plain(numpy.minimum),
    "Mul": _plain(numpy.multiply),
    "Neg": _plain(numpy.negative),
    "Range": _plain(numpy.arange),
    "Reciprocal": _plain(numpy.reciprocal),
    "ReduceMax": _reduced(numpy.max),
    "ReduceSum": _reduced(numpy.sum),
    "Relu": _plain(lambda x: numpy.maximum(x, 0)),
    "Reshape": _plain(lambda x, shape: x.reshape(shape)),
    "Scan": _scan,
    "ScatterElements": _scatter,
    "Shape": lambda attributes, _, x: numpy.array(x.shape[attributes["start"] : attributes["end"]]),
    "Sigmoid": _plain(lambda x: 1 / (1 + numpy.exp(-x))),
    "Slice": _slice,
    "Softmax": _softmax,
    "Sqrt": _plain(numpy.sqrt),
    "Sub": _plain(numpy.subtract),
    "Tanh": _plain(numpy.tanh),
    "Transpose": lambda attributes, _, x: x.transpose(attributes["perm"]),
    "Where": _plain(numpy.where),
}
