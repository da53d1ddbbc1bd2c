"""ONNX files as graphs. A file may come from anybody: everything is checked, and nothing is executed.

Invariant: reading takes memory in proportion to the file, whatever its numbers claim.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

from forerun.onnx._wire import DTYPES

# The limits of graph files also apply here.
_MOST_NODES, MOST_DIMENSIONS, _LONGEST_NAME = 1 << 20, 32, 1024
# Graphs within graphs.
_DEEPEST = 16
_NAMES = {number: name for name, number in DTYPES.items()}
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
Host = numpy.ndarray[Any, Any]


class Malformed(ValueError):
    """A file that is no valid model; the message gets the name of the file."""


class Tensor(NamedTuple):
    """A constant: its dtype, shape and bytes in little-endian row-major order."""

    dtype: str
    shape: tuple[int, ...]
    raw: bytes

    def host(self) -> Host:
        """Return it as a NumPy array."""
        if self.dtype == "bfloat16":
            raise Malformed("constants of bfloat16 are supported as parameters only")
        return numpy.frombuffer(self.raw, numpy.dtype(self.dtype).newbyteorder("<")).reshape(self.shape)


class Node(NamedTuple):
    """A node."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


class Graph(NamedTuple):
    """A graph: nodes in the order of execution, the names of inputs and outputs, and its constants.

    A graph may be the attribute of a node and reads the arrays around it. The model keeps the constants of all graphs;
    here are the names under which it does.
    """

    nodes: list[Node]
    inputs: list[str]
    outputs: list[str]
    constants: dict[str, str]

    def each_node(self) -> Iterator[tuple[Node, dict[str, str]]]:
        """Return the nodes, also those of graphs in attributes, with the constants of their graph."""
        for node in self.nodes:
            yield node, self.constants
            for value in node.attributes.values():
                if isinstance(value, Graph):
                    yield from value.each_node()


class Model(NamedTuple):
    """A model: its graph, and the constants of all graphs by name."""

    graph: Graph
    constants: dict[str, Tensor]


class _Message:
    """The fields of a message that the caller knows; others are skipped."""

    def __init__(self, data: memoryview, what: str, known: set[int]) -> None:
        self._what = what
        self._fields: dict[int, list[int | memoryview]] = {}
        for number, value in self._read(data, known):
            self._fields.setdefault(number, []).append(value)

    def _read(self, data: memoryview, known: set[int]) -> Iterator[tuple[int, int | memoryview]]:
        at = 0
        while at < len(data):
            key, at = _varint(data, at, self._what)
            number, kind = key >> 3, key & 7
            value: int | memoryview
            if kind == _VARINT:
                value, at = _varint(data, at, self._what)
            elif kind in (_FIXED64, _FIXED32, _BYTES):
                size = 8 if kind == _FIXED64 else 4
                if kind == _BYTES:
                    size, at = _varint(data, at, self._what)
                if size > len(data) - at:
                    raise Malformed(f"{self._what} ends within field {number}")
                value, at = data[at : at + size], at + size
            else:
                raise Malformed(f"{self._what} has a field of the unknown wire type {kind}")
            if number in known:
                yield number, value

    def messages(self, number: int) -> list[memoryview]:
        """Return the values of a field that are bytes."""
        values = self._fields.get(number, [])
        found = [value for value in values if isinstance(value, memoryview)]
        if len(found) < len(values):
            raise Malformed(f"{self._what}: field {number} is a number")
        return found

    def message(self, number: int) -> memoryview | None:
        """Return the last value of a field, if it has one."""
        found = self.messages(number)
        return found[-1] if found else None

    def texts(self, number: int) -> list[str]:
        """Return the values of a field that are text."""
        found = []
        for value in self.messages(number):
            if len(value) > _LONGEST_NAME:
                raise Malformed(f"{self._what} has a name of {len(value)} bytes, at most {_LONGEST_NAME} are allowed")
            try:
                found.append(bytes(value).decode())
            except UnicodeDecodeError:
                raise Malformed(f"{self._what}: a name is not valid text") from None
        return found

    def text(self, number: int) -> str:
        """Return a text, which may be missing."""
        return (self.texts(number) or [""])[-1]

    def ints(self, number: int) -> list[int]:
        """Return integers, which may be packed."""
        found: list[int] = []
        for value in self._fields.get(number, []):
            if isinstance(value, int):
                found.append(_signed(value))
                continue
            at = 0
            while at < len(value):
                one, at = _varint(value, at, self._what)
                found.append(_signed(one))
        return found

    def integer(self, number: int) -> int:
        """Return an integer, 0 if it is missing."""
        return (self.ints(number) or [0])[-1]

    def floats(self, number: int, form: str) -> list[float]:
        """Return floats, which may be packed."""
        data = b"".join(bytes(value) for value in self.messages(number))
        if len(data) % struct.calcsize(form):
            raise Malformed(f"{self._what}: floats end within a number")
        return [one for (one,) in struct.iter_unpack(f"<{form}", data)]


def _varint(data: memoryview, at: int, what: str) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at == len(data):
            raise Malformed(f"{what} ends within a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
    raise Malformed(f"{what} has a number of more than 64 bits")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def read(data: bytes) -> Model:
    """Read a model."""
    model = _Message(memoryview(data), "the model", {7, 8})
    content = model.message(7)
    if content is None:
        raise Malformed("the file contains no graph")
    opsets = [_Message(one, "an operator set", {1, 2}) for one in model.messages(8)]
    versions = [one.integer(2) for one in opsets if one.text(1) in ("", "ai.onnx")]
    if not versions or not 7 <= versions[-1] <= 26:
        raise Malformed(f"operators of version {versions[-1] if versions else 'none'}: versions 7 to 26 are read")
    return _Reader(versions[-1]).model(content)


class _Reader:
    """Reads the graphs of a model. Constants are collected under names of their own."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._constants: dict[str, Tensor] = {}
        self._copies: dict[str, int] = {}
        self._depth = 0

    def model(self, content: memoryview) -> Model:
        graph = self._graph(content)
        _check(graph, [])
        return Model(graph, self._constants)

    def _graph(self, content: memoryview) -> Graph:
        if self._depth > _DEEPEST:
            raise Malformed(f"graphs within graphs are nested more than {_DEEPEST} deep")
        self._depth += 1
        parts = _Message(content, "the graph", {1, 5, 11, 12, 15})
        if parts.messages(15):
            raise Malformed("sparse constants are not supported")
        constants: dict[str, str] = {}
        for one in parts.messages(5):
            name, tensor = _tensor(one)
            if name in constants:
                raise Malformed(f"two constants are named {name!r}")
            # Names of the outermost graph stay, because they become the names of parameters.
            kept = name
            while kept in self._constants:
                self._copies[name] = self._copies.get(name, 1) + 1
                kept = f"{name}.{self._copies[name]}"
            constants[name] = kept
            self._constants[kept] = tensor
        messages = parts.messages(1)
        if len(messages) > _MOST_NODES:
            raise Malformed(f"the graph has {len(messages)} nodes, at most {_MOST_NODES} are allowed")
        nodes = [self._node(one, number) for number, one in enumerate(messages)]
        inputs, outputs = ([_Message(one, "an input", {1}).text(1) for one in parts.messages(n)] for n in (11, 12))
        self._depth -= 1
        return Graph(nodes, [name for name in inputs if name not in constants], outputs, constants)

    def _node(self, data: memoryview, number: int) -> Node:
        what = f"node {number}"
        parts = _Message(data, what, {1, 2, 4, 5, 7})
        op, domain = parts.text(4), parts.text(7)
        if domain not in ("", "ai.onnx"):
            op = f"{domain}.{op}"
        attributes = dict(self._attribute(one, f"{what} ({op})") for one in parts.messages(5))
        if self._version < 13 and op in ("Softmax", "LogSoftmax", "Hardmax"):
            attributes = {"axis": 1, **attributes, "flatten": True}
        outputs = tuple(parts.texts(2))
        if op == "Split":
            attributes.setdefault("num_outputs", len(outputs))
        # Files of version 10 give scales alone.
        op = "Upsample" if op == "Resize" and self._version < 11 else op
        op = "Scan-8" if op == "Scan" and self._version < 9 else op
        return Node(op, tuple(parts.texts(1)), outputs, attributes)

    def _attribute(self, data: memoryview, what: str) -> tuple[str, Any]:
        parts = _Message(data, f"an attribute of {what}", {1, 2, 3, 4, 5, 6, 7, 8, 9, 20})
        nothing = memoryview(b"")
        kinds: dict[int, Callable[[], Any]] = {
            1: lambda: (parts.floats(2, "f") or [0.0])[-1],
            2: lambda: parts.integer(3),
            3: lambda: parts.text(4),
            4: lambda: _tensor(parts.message(5) or nothing)[1],
            5: lambda: self._graph(parts.message(6) or nothing),
            6: lambda: parts.floats(7, "f"),
            7: lambda: parts.ints(8),
            8: lambda: parts.texts(9),
        }
        kind = parts.integer(20)
        name = parts.text(1)
        # Other kinds are lists of graphs and sparse tensors; the ops that take them are not supported.
        return name, kinds[kind]() if kind in kinds else None


def _check(graph: Graph, around: list[set[str]]) -> None:
    """Raise unless every array is computed once, before it is read. ``around`` has the names of the graphs around."""
    if not graph.outputs and not around:
        raise Malformed("the graph has no outputs")
    known = {"", *graph.constants}
    scopes = [*around, known]
    for name in graph.inputs:
        if name in known:
            raise Malformed(f"two inputs are named {name!r}")
        known.add(name)
    for number, node in enumerate(graph.nodes):
        for name in node.inputs:
            if not any(name in scope for scope in scopes):
                raise Malformed(f"node {number} ({node.op}) reads {name!r}, which no node before it computes")
        for value in node.attributes.values():
            if isinstance(value, Graph):
                _check(value, scopes)
        for name in node.outputs:
            if name and name in known:
                raise Malformed(f"node {number} ({node.op}) computes {name!r} a second time")
            known.add(name)
    for name in graph.outputs:
        if not name or not any(name in scope for scope in scopes):
            raise Malformed(f"no node computes the output {name!r}")


def _tensor(data: memoryview) -> tuple[str, Tensor]:
    parts = _Message(data, "a constant", {1, 2, 4, 5, 7, 8, 9, 10, 11, 14})
    name, number = parts.text(8), parts.integer(2)
    what = f"the constant {name!r}"
    if parts.integer(14):
        raise Malformed(f"{what} lies in another file, which is not supported")
    dtype = _NAMES.get(number)
    if dtype is None:
        raise Malformed(f"{what} has elements of the unsupported type {number}")
    shape = tuple(parts.ints(1))
    if len(shape) > MOST_DIMENSIONS or any(extent < 0 for extent in shape):
        raise Malformed(f"{what} has the impossible shape {shape[:MOST_DIMENSIONS]}")
    size = 2 if dtype == "bfloat16" else numpy.dtype(dtype).itemsize
    raw = parts.message(9)
    elements = bytes(raw) if raw is not None else _listed(parts, dtype, what)
    if len(elements) != math.prod(shape) * size or math.prod(extent for extent in shape if extent) > 1 << 58:
        raise Malformed(f"{what} of {dtype} and shape {shape} has {len(elements)} bytes")
    if dtype == "bool" and elements and max(elements) > 1:
        raise Malformed(f"{what}: a bool is neither 0 nor 1")
    return name, Tensor(dtype, shape, elements)


def _listed(parts: _Message, dtype: str, what: str) -> bytes:
    """Return elements that are listed one by one instead of as bytes."""
    if dtype in ("float32", "complex64"):
        return numpy.array(parts.floats(4, "f"), "<f4").tobytes()
    if dtype in ("float64", "complex128"):
        return numpy.array(parts.floats(10, "d"), "<f8").tobytes()
    # Half floats are listed as the integers of their bits.
    bits = {"float16": "uint16", "bfloat16": "uint16", "bool": "uint8"}.get(dtype, dtype)
    number = 7 if dtype == "int64" else 11 if dtype in ("uint32", "uint64") else 5
    values, limits = parts.ints(number), numpy.iinfo(bits)
    values = [value & (1 << 64) - 1 for value in values] if bits == "uint64" else values
    if any(not limits.min <= value <= limits.max for value in values):
        raise Malformed(f"{what} has numbers that are not {dtype}")
    return numpy.array(values, numpy.dtype(bits).newbyteorder("<")).tobytes()
