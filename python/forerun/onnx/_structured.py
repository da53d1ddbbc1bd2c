"""Reductions, products, selections, creations and orderings as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from forerun.onnx import _wire
from forerun.onnx._builder import Builder, Linear, Shape, Unmapped, Value, View

# A node of the graph file: its attributes, and the shape and dtype of its result.
Op = Callable[[Builder, Sequence[Value], "dict[str, Any]", Shape, str], Value]
_REDUCTIONS = {"sum": "ReduceSum", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin"}


def scalar_of(tree: dict[str, Any]) -> Any:
    """Return the number that a graph file describes: a Python number, or a linear integer."""
    (kind, number), *_ = tree.items()
    if isinstance(number, dict):
        return Linear.of(number)
    if kind == "complex":
        return complex(*map(float, number))
    return float(number) if kind == "float" else number


def number(b: Builder, tree: dict[str, Any], dtype: str) -> str:
    """Return the name of a number without dimensions."""
    found = scalar_of(tree)
    if isinstance(found, Linear):
        return b.cast(b.scalar(found), "int64", dtype)
    return b.number(found, dtype)


def _axes(b: Builder, axes: Sequence[int]) -> str:
    return b.tensor(numpy.array(axes, "int64"))


def reduce(b: Builder, op: str, x: Value, attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
    """Add a reduction."""
    axes, keep = attributes["axis"], int(attributes["keepdims"])
    if op in ("argmax", "argmin"):
        node = {"argmax": "ArgMax", "argmin": "ArgMin"}[op]
        x = x._replace(name=b.cast(x.name, x.dtype, "int32")) if x.dtype == "bool" else x
        if len(axes) == 1:
            return Value(b.add(node, x.name, axis=axes[0], keepdims=keep), dtype, shape)
        first = Value(b.add(node, b.flat(x).name, axis=0, keepdims=0), dtype, ())
        return b.reshape(first, shape)
    if op not in _REDUCTIONS:
        raise Unmapped("ONNX has no such reduction")
    name = b.cast(x.name, x.dtype, dtype)
    if not axes:
        return Value(name, dtype, shape)
    return Value(b.add(_REDUCTIONS[op], name, _axes(b, axes), keepdims=keep), dtype, shape)


def _matmul(b: Builder, given: Sequence[Value], _: dict[str, Any], shape: Shape, dtype: str) -> Value:
    return Value(b.add("MatMul", *[b.cast(x.name, x.dtype, dtype) for x in given]), dtype, shape)


def _concatenate(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
    return Value(b.add("Concat", *[x.name for x in given], axis=attributes["axis"]), dtype, shape)


def _indices(b: Builder, indices: Value, extent: Linear, mode: str) -> str:
    """Return indices as ONNX takes them: 64-bit integers from minus the extent on."""
    name = b.cast(indices.name, indices.dtype, "int64")
    if mode == "clip":
        last = b.scalar(Linear(extent.per_batch, extent.plus - 1))
        return b.add("Max", b.add("Min", name, last), b.number(0, "int64"))
    if mode == "wrap":
        return b.add("Mod", name, b.scalar(extent), fmod=0)
    return name


def _take(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
    x, indices = given
    axis = attributes["axis"] % len(x.shape)
    places = _indices(b, indices, x.shape[axis], attributes["mode"])
    return Value(b.add("Gather", x.name, places, axis=axis), dtype, shape)


def _scatter_add(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
    base, indices, updates = given
    if attributes["axis"] % len(base.shape):
        raise Unmapped("only rows along the first axis can be added to")
    places = b.add("Unsqueeze", _indices(b, indices, base.shape[0], attributes["mode"]), _axes(b, [-1]))
    return Value(b.add("ScatterND", base.name, places, updates.name, reduction="add"), dtype, shape)


def update(b: Builder, base: Value, value: Value, region: View) -> Value:
    """Return an array with a region overwritten."""
    name = b.cast(value.name, value.dtype, base.dtype)
    written = b.expand(Value(name, base.dtype, value.shape), region.shape)
    count = b.size(base.shape)
    places = b.view(b.reshape(b.range(count), base.shape), region)
    parts = [b.flat(base).name, b.flat(places).name, b.flat(written).name]
    made = Value(b.add("ScatterElements", *parts, axis=0), base.dtype, (count,))
    return b.reshape(made, base.shape)


def _full(b: Builder, _: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
    return b.expand(Value(number(b, attributes["value"], dtype), dtype, ()), shape)


def _arange(b: Builder, _: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
    counted = b.cast(b.range(shape[0]).name, "int64", dtype)
    steps = b.add("Mul", counted, number(b, attributes["step"], dtype))
    return Value(b.add("Add", steps, number(b, attributes["start"], dtype)), dtype, shape)


def _eye(b: Builder, _: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
    diagonal = Linear.of(attributes["diagonal"])
    if not diagonal.fixed:
        raise Unmapped("the diagonal depends on the batch size")
    like = b.full(shape, 0, "int32").name
    return Value(b.add("EyeLike", like, dtype=_wire.DTYPES[dtype], k=diagonal.plus), dtype, shape)


def _random(node: str) -> Op:
    def op(b: Builder, _: Sequence[Value], __: dict[str, Any], shape: Shape, dtype: str) -> Value:
        return Value(b.add(node, b.full(shape, 0, dtype).name), dtype, shape)

    return op


def _cumsum(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
    name = b.cast(given[0].name, given[0].dtype, dtype)
    return Value(b.add("CumSum", name, b.number(attributes["axis"], "int64")), dtype, shape)


def _along(b: Builder, x: Value, indices: Value, axis: int) -> tuple[str, int]:
    """Return indices with the extents of an array on all other axes, and the axis."""
    axis %= len(x.shape)
    name = b.cast(indices.name, indices.dtype, "int64")
    shape = tuple(
        mine if number == axis else other
        for number, (mine, other) in enumerate(zip(indices.shape, x.shape, strict=True))
    )
    return b.expand(Value(name, "int64", indices.shape), shape).name, axis


def _take_along_axis(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
    indices, axis = _along(b, given[0], given[1], attributes["axis"])
    return Value(b.add("GatherElements", given[0].name, indices, axis=axis), dtype, shape)


def _write_along_axis(reduction: str) -> Op:
    def op(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
        base, indices, updates = given
        places, axis = _along(b, base, indices, attributes["axis"])
        wide = tuple(indices.shape[axis] if number == axis else extent for number, extent in enumerate(base.shape))
        values = b.expand(updates, wide).name
        made = b.add("ScatterElements", base.name, places, values, axis=axis, reduction=reduction)
        return Value(made, dtype, shape)

    return op


def _ordered(output: int) -> Op:
    """Return the elements (0) or indices (1) that sorting an axis gives, the first of them if there is a count."""

    def op(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
        (x,) = given
        axis = attributes["axis"] % len(x.shape)
        options = {"axis": axis, "largest": int(attributes["descending"]), "sorted": 1}
        names = b.add_all("TopK", [x.name, b.ints([shape[axis]])], 2, options)
        return Value(names[output], dtype, shape)

    return op


OPS: dict[str, Op] = {
    "add_along_axis": _write_along_axis("add"),
    "arange": _arange,
    "argsort": _ordered(1),
    "argtop": _ordered(1),
    "concatenate": _concatenate,
    "cumsum": _cumsum,
    "eye": _eye,
    "full": _full,
    "matmul": _matmul,
    "normal": _random("RandomNormalLike"),
    "put_along_axis": _write_along_axis("none"),
    "scatter_add": _scatter_add,
    "sort": _ordered(0),
    "take": _take,
    "take_along_axis": _take_along_axis,
    "uniform": _random("RandomUniformLike"),
}
