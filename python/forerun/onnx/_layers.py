"""Convolution, pooling, normalisation, softmax and attention as ONNX nodes.

Results that the engine packs one after another are listed as parts, each an array that views of the packed array read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from forerun.onnx._builder import Builder, Linear, Shape, Unmapped, Value, fixed
from forerun.onnx._recurrent import recurrent
from forerun.onnx._structured import Op


def _channels_first(b: Builder, x: Value) -> Value:
    rank = len(x.shape)
    return b.transpose(x, [0, rank - 1, *range(1, rank - 1)])


def _channels_last(b: Builder, x: Value) -> Value:
    return b.transpose(x, [0, *range(2, len(x.shape)), 1])


def _images(op: Callable[[Builder, Sequence[Value], dict[str, Any], Shape, str], str]) -> Op:
    """Return an op on images with their channels first or last."""

    def either(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
        if not attributes["channels_last"]:
            return Value(op(b, given, attributes, shape, dtype), dtype, shape)
        moved = [_channels_first(b, x) for x in given]
        first = (shape[0], shape[-1], *shape[1:-1])
        return _channels_last(b, Value(op(b, moved, attributes, first, dtype), dtype, first))

    return either


def _spatial(value: Shape, what: str) -> list[int]:
    return Value("", "", value[2:]).extents(what)


def _window(attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        "strides": attributes["stride"],
        "pads": attributes["padding"] * 2,
        "dilations": attributes["dilation"],
        "group": attributes["groups"],
    }


def _convolution(b: Builder, given: Sequence[Value], attributes: dict[str, Any], _: Shape, __: str) -> str:
    kernel = _spatial(given[1].shape, "the kernel")
    return b.add("Conv", given[0].name, given[1].name, kernel_shape=kernel, **_window(attributes))


def _transposed(b: Builder, given: Sequence[Value], attributes: dict[str, Any], _: Shape, __: str) -> str:
    window = _window(attributes)
    kernel = _spatial(given[1].shape, "the kernel")
    parts = zip(
        _spatial(given[0].shape, "the extent of images"),
        attributes["extents"],
        attributes["stride"],
        attributes["padding"],
        attributes["dilation"],
        kernel,
        strict=True,
    )
    more = [out - ((size - 1) * s - 2 * p + d * (k - 1) + 1) for size, out, s, p, d, k in parts]
    return b.add("ConvTranspose", given[0].name, given[1].name, kernel_shape=kernel, output_padding=more, **window)


class _Pool:
    """The windows of a pooling layer, as ONNX describes them: with padding at each end instead of rounding up."""

    def __init__(self, x: Shape, shape: Shape, attributes: dict[str, Any]) -> None:
        inputs, outputs = _spatial(x, "the extent of images"), _spatial(shape, "the extent of images")
        self.kernel, self.stride, padding = attributes["kernel"], attributes["stride"], attributes["padding"]
        if attributes["adaptive"]:
            if any(size % count for size, count in zip(inputs, outputs, strict=True)):
                raise Unmapped(f"windows of images of extents {inputs} have different sizes for a result of {outputs}")
            self.kernel = self.stride = [size // count for size, count in zip(inputs, outputs, strict=True)]
            padding = [0] * len(inputs)
        reach = [
            (count - 1) * s + k - size - p
            for count, s, k, size, p in zip(outputs, self.stride, self.kernel, inputs, padding, strict=True)
        ]
        after = [max(more, 0) for more in reach]
        self.attributes = {"kernel_shape": self.kernel, "strides": self.stride, "pads": [*padding, *after]}
        # The number of elements of each window, where what lies beyond the padding does not count.
        self.counts = [
            [min(i * s + k, size + 2 * p) - i * s for i in range(count)]
            for count, s, k, size, p in zip(outputs, self.stride, self.kernel, inputs, padding, strict=True)
        ]


def _max_pool(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, _: str) -> str:
    x, keys = given
    if x.name != keys.name:
        raise Unmapped("the keys are another array")
    return b.add("MaxPool", x.name, **_Pool(x.shape, shape, attributes).attributes)


def _average_pool(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> str:
    pool = _Pool(given[0].shape, shape, attributes)
    divisor = attributes["divisor"]
    mean = b.add("AveragePool", given[0].name, count_include_pad=int(divisor != 2), **pool.attributes)
    size = math.prod(pool.kernel)
    if divisor == 0:
        return b.add("Mul", mean, b.number(size, dtype))
    if divisor == 1 and any(count != k for line, k in zip(pool.counts, pool.kernel, strict=True) for count in line):
        counts = numpy.array(1.0)
        for line in pool.counts:
            counts = numpy.multiply.outer(counts, line)
        return b.add("Mul", mean, b.tensor((size / counts).astype(dtype)))
    return mean


def _softmax(node: str) -> Op:
    def op(b: Builder, given: Sequence[Value], _: dict[str, Any], shape: Shape, dtype: str) -> Value:
        return Value(b.add(node, given[0].name, axis=-1), dtype, shape)

    return op


def _layer_norm(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
    names = [x.name for x in given]
    return Value(b.add("LayerNormalization", *names, axis=-1, epsilon=float(attributes["epsilon"])), dtype, shape)


def _batch_moments(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
    (x,) = given
    axis = attributes["axis"] % len(x.shape)
    others = b.tensor(numpy.array([number for number in range(len(x.shape)) if number != axis], "int64"))
    apart = b.add("Sub", x.name, b.add("ReduceMean", x.name, others, keepdims=1))
    variance = b.add("ReduceMean", b.add("Mul", apart, apart), others, keepdims=0)
    rows = [
        b.reshape(Value(name, dtype, shape[1:]), (Linear(0, 1), *shape[1:])).name
        for name in (b.add("ReduceMean", x.name, others, keepdims=0), variance)
    ]
    return Value(b.add("Concat", *rows, axis=0), dtype, shape)


def _batch_norm(b: Builder, given: Sequence[Value], attributes: dict[str, Any], shape: Shape, dtype: str) -> Value:
    x, gamma, beta, moments = given
    axis = attributes["axis"] % len(x.shape)
    along = tuple(extent if number == axis else Linear(0, 1) for number, extent in enumerate(x.shape))

    def channels(value: Value) -> str:
        return b.reshape(value, along).name

    def row(number: int) -> str:
        name = b.add("Gather", moments.name, b.number(number, "int64"), axis=0)
        return channels(Value(name, dtype, moments.shape[1:]))

    deviation = b.add("Sqrt", b.add("Add", row(1), b.number(attributes["epsilon"], dtype)))
    y = b.add("Div", b.add("Sub", x.name, row(0)), deviation)
    if not attributes["fix_gamma"]:
        y = b.add("Mul", y, channels(gamma))
    return Value(b.add("Add", y, channels(beta)), dtype, shape)


def _attention(b: Builder, given: Sequence[Value], attributes: dict[str, Any], _: Shape, dtype: str) -> list[Value]:
    q, k, v, mask = given
    (stack, queries), keys = q.shape[:2], k.shape[1]
    scaled = b.add("Mul", q.name, b.number(attributes["scale"], dtype))
    scores = Value(b.add("MatMul", scaled, b.transpose(k, [0, 2, 1]).name), dtype, (stack, queries, keys))
    if Linear(0, 0) not in mask.shape:
        scores = _masked(b, scores, mask)
    if attributes["causal"]:
        rows = b.reshape(b.range(queries), (queries, Linear(0, 1))).name
        seen = b.add("GreaterOrEqual", rows, b.range(keys).name)
        scores = scores._replace(name=b.add("Where", seen, scores.name, b.number(-math.inf, dtype)))
    weights = b.add("Softmax", scores.name, axis=-1)
    # Only gradients read the logarithms of sums, which follow.
    return [Value(b.add("MatMul", weights, v.name), dtype, (stack, queries, v.shape[2]))]


def _masked(b: Builder, scores: Value, mask: Value) -> Value:
    """Add a mask, of which each matrix belongs to several consecutive matrices of scores."""
    stack, queries, keys = scores.shape
    masks, rows, _ = mask.shape
    if masks not in (stack, Linear(0, 1)):
        shared = _ratio(stack, masks)
        scores = b.reshape(scores, (masks, shared, queries, keys))
        mask = b.reshape(mask, (masks, *fixed([1]), rows, keys))
    name = b.add("Add", scores.name, mask.name)
    return b.reshape(scores._replace(name=name), (stack, queries, keys))


def _ratio(whole: Linear, part: Linear) -> Linear:
    """Return the quotient of two extents."""
    if part.fixed and whole.per_batch % part.plus == whole.plus % part.plus == 0:
        return Linear(whole.per_batch // part.plus, whole.plus // part.plus)
    ratio = whole.per_batch // part.per_batch if part.per_batch else 0
    if Linear(part.per_batch * ratio, part.plus * ratio) != whole:
        raise Unmapped("the number of masks does not divide the number of matrices")
    return Linear(0, ratio)


OPS: dict[str, Op] = {
    "average_pool": _images(_average_pool),
    "batch_moments": _batch_moments,
    "batch_norm_apply": _batch_norm,
    "convolution": _images(_convolution),
    "convolution_transpose": _images(_transposed),
    "layer_norm_rows": _layer_norm,
    "log_softmax_rows": _softmax("LogSoftmax"),
    "max_pool": _images(_max_pool),
    "softmax_rows": _softmax("Softmax"),
}
# Ops whose result is packed; they return its first parts.
PACKED: dict[str, Callable[[Builder, Sequence[Value], dict[str, Any], Shape, str], list[Value]]] = {
    "attention": _attention,
    "recurrent_scan": recurrent,
}
