"""Conversion of a graph file to an ONNX model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from forerun import np
from forerun._forerun import __version__, ndarray
from forerun.onnx import _fused, _layers, _pointwise, _structured, _wire
from forerun.onnx._builder import Builder, Linear, Shape, Unmapped, Value, View, shape_of

# Version 18 of the operators has reductions over axes that are inputs, and version 8 of the format belongs to it.
OPSET, _IR_VERSION = 18, 8
# Protobuf's limit of a message.
_MOST_BYTES = 2**31 - 1


def convert(text: str, arrays: Mapping[str, ndarray], batch: int | None = None) -> bytes:
    """Return the ONNX model of a graph file and its parameters, for any batch size or for one."""
    return _Conversion(json.loads(text), arrays, batch).model()


class _Packed(tuple[Value, ...]):
    """Arrays one after another, of which views read one."""


class _Conversion:
    """A graph whose nodes are converted one by one."""

    def __init__(self, tree: dict[str, Any], arrays: Mapping[str, ndarray], batch: int | None) -> None:
        if batch is not None:
            tree = _with_batch(tree, batch)
        inputs, parameters = tree["inputs"], tree["parameters"]
        outputs = len(tree["outputs"])
        self._names = ["output"] if outputs == 1 else [f"output{number}" for number in range(outputs)]
        taken = [one["name"] for one in inputs + parameters] + self._names
        if len(set(taken)) < len(taken):
            raise ValueError(f"export: an input or parameter has the name of an output: {', '.join(self._names)}")
        self._builder = Builder(tree["batch"] is not None, taken)
        self._tree = tree
        self._given = [Value(one["name"], one["dtype"], shape_of(one["shape"])) for one in inputs]
        self._arrays: list[Value | _Packed] = [*self._given]
        for value in self._given:
            self._builder.learn_batch(value.name, value.shape)
        for one in parameters:
            name, dtype = one["name"], one["dtype"]
            if dtype not in _wire.DTYPES:
                raise ValueError(f"export: {name}: there is no {dtype} in ONNX")
            self._builder.tensors.append(_wire.tensor(name, dtype, one["shape"], arrays[name].tobytes()))
            self._arrays.append(Value(name, dtype, shape_of(one["shape"])))

    def model(self) -> bytes:
        """Return the model."""
        builder = self._builder
        norms = _fused.batch_norms(self._tree)
        inner = {number for norm in norms.values() for number in norm.nodes}
        for number, node in enumerate(self._tree["nodes"]):
            if number in inner:
                # Nothing reads it.
                self._arrays.append(_Packed())
                continue
            builder.note = node.get("line", "")
            where = f"export: {node['op']}, from {builder.note}" if builder.note else f"export: {node['op']}"
            try:
                made = self._batch_norm(node, norms[number]) if number in norms else self._converted(node)
            except Unmapped as error:
                raise ValueError(f"{where}: {error}") from None
            self._arrays.append(made)
        builder.note = ""
        outputs = []
        for name, reference in zip(self._names, self._tree["outputs"], strict=True):
            try:
                value = self._read(reference)
            except Unmapped as error:
                raise ValueError(f"export: {name}: {error}") from None
            builder.nodes.append(_wire.node("Identity", [value.name], [name], {}))
            outputs.append(_described(value._replace(name=name)))
        inputs = [_described(value) for value in self._given]
        graph = _wire.graph("forerun", builder.nodes, builder.tensors, inputs, outputs)
        model = _wire.model(graph, _IR_VERSION, OPSET, "forerun", __version__)
        if len(model) > _MOST_BYTES:
            raise ValueError(f"export: the model needs {len(model)} bytes, an ONNX file has at most {_MOST_BYTES}")
        return model

    def _read(self, reference: dict[str, Any]) -> Value:
        """Return the array that a node reads."""
        found = self._arrays[reference["array"]]
        view = View.of(reference["view"]) if "view" in reference else None
        if isinstance(found, _Packed):
            if view is None:
                raise Unmapped("a packed result is read as a whole")
            found, view = self._part(found, view)
        return found if view is None else self._builder.view(found, view)

    def _part(self, packed: _Packed, view: View) -> tuple[Value, View]:
        """Return the part of a packed array that a view reads, and the view of it."""
        start = Linear(0, 0)
        for value in packed:
            size = self._builder.size(value.shape)
            end = Linear(start.per_batch + size.per_batch, start.plus + size.plus)
            if all(_within(view, start.at(batch), end.at(batch), batch) for batch in self._builder.batches):
                offset = Linear(view.offset.per_batch - start.per_batch, view.offset.plus - start.plus)
                return value, view._replace(offset=offset)
            start = end
        raise Unmapped("values are read that only gradients need")

    def _converted(self, node: dict[str, Any]) -> Value | _Packed:
        op, dtype, shape = node["op"], node["dtype"], shape_of(node["shape"])
        attributes = node.get("attributes", {})
        given = [self._read(one) if "array" in one else one for one in node["inputs"]]
        kinds = [dtype, *(one.dtype for one in given if isinstance(one, Value))]
        if any(kind.startswith("complex") for kind in kinds):
            raise Unmapped("ONNX has no complex numbers")
        if op in _layers.PACKED:
            return _Packed(_layers.PACKED[op](self._builder, given, attributes, shape, dtype))
        if op in _layers.OPS:
            return _layers.OPS[op](self._builder, given, attributes, shape, dtype)
        if op in _structured.OPS:
            return _structured.OPS[op](self._builder, given, attributes, shape, dtype)
        if op == "update":
            base, value = given
            if not isinstance(value, Value):
                value = Value(_structured.number(self._builder, value, base.dtype), base.dtype, ())
            return _structured.update(self._builder, base, value, View.of(attributes["region"]))
        if "axis" in attributes and "keepdims" in attributes:
            return _structured.reduce(self._builder, op, given[0], attributes, shape, dtype)
        if attributes:
            raise Unmapped("ONNX has no such op")
        return self._pointwise(op, given, dtype, shape)

    def _batch_norm(self, node: dict[str, Any], norm: _fused.BatchNorm) -> Value:
        x, beta, mean, variance = (self._read(one) for one in (norm.x, norm.beta, norm.mean, norm.variance))
        gamma = self._builder.full(beta.shape, 1, x.dtype) if norm.gamma is None else self._read(norm.gamma)
        names = [one.name for one in (x, gamma, beta, mean, variance)]
        name = self._builder.add("BatchNormalization", *names, epsilon=norm.epsilon)
        return Value(name, node["dtype"], x.shape)

    def _pointwise(self, op: str, given: list[Any], dtype: str, shape: Shape) -> Value:
        if op == "cast":
            return Value(self._operand(given[0], dtype), dtype, shape)
        if op == "where":
            names = [self._operand(given[0], "bool"), *(self._operand(one, dtype) for one in given[1:])]
            return Value(self._builder.add("Where", *names), dtype, shape)
        wanted = dtype
        if op.startswith("logical_"):
            wanted = "bool"
        elif op in _pointwise.TESTS:
            wanted = _common(given)
            if op not in _pointwise.COMPARISONS and op != "not_equal" and "float" not in wanted:
                wanted = "float32"
        names = [self._operand(one, wanted) for one in given]
        return Value(_pointwise.made(self._builder, op, names, wanted), dtype, shape)

    def _operand(self, given: Any, dtype: str) -> str:
        if isinstance(given, Value):
            return self._builder.cast(given.name, given.dtype, dtype)
        return _structured.number(self._builder, given, dtype)


def _common(given: list[Any]) -> str:
    """Return the dtype in which operands are compared."""
    arrays = [np.dtype(one.dtype) for one in given if isinstance(one, Value)]
    numbers = [_structured.scalar_of(one) for one in given if not isinstance(one, Value)]
    samples = [0 if isinstance(number, Linear) else number for number in numbers]
    return np.result_type(*arrays, *samples).name


def _within(view: View, start: int, end: int, batch: int) -> bool:
    """Whether a view of a packed array lies between two positions."""
    low = high = view.offset.at(batch)
    for extent, stride in zip(view.shape, view.strides, strict=True):
        reach = (extent.at(batch) - 1) * stride.at(batch)
        low, high = low + min(reach, 0), high + max(reach, 0)
    return start <= low and high < end


def _described(value: Value) -> bytes:
    """Return the description of an input or output; extents that are linear in the batch size have names."""
    extents: list[_wire.Dimension] = []
    for extent in value.shape:
        if extent.fixed:
            extents.append(extent.plus)
        else:
            factor = "batch" if extent.per_batch == 1 else f"{extent.per_batch}*batch"
            extents.append(f"{factor}{extent.plus:+}" if extent.plus else factor)
    return _wire.value(value.name, value.dtype, extents)


def _with_batch(tree: Any, batch: int) -> Any:
    """Return a graph file with all integers for one batch size."""
    if isinstance(tree, list):
        return [_with_batch(one, batch) for one in tree]
    if not isinstance(tree, dict):
        return tree
    if "batch" in tree and "format" not in tree:
        return Linear.of(tree).at(batch)
    made = {name: _with_batch(one, batch) for name, one in tree.items()}
    return {**made, "batch": None} if "format" in tree else made
