"""ONNX nodes as calls of the package's functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from forerun import np, npx
from forerun.onnx import _resizing, _selecting, _windowed
from forerun.onnx._activations import NODES as _ACTIVATIONS
from forerun.onnx._activations import activation
from forerun.onnx._cells import cell
from forerun.onnx._reading import MOST_DIMENSIONS as _MOST_DIMENSIONS
from forerun.onnx._reading import Tensor
from forerun.onnx._values import NAMES, Call, axes_of, host, ints, library, placed


def _pointwise(name: str) -> Call:
    return lambda _, *given: getattr(library(*given), name)(*given)


def _folded(name: str) -> Call:
    def call(_: Any, first: Any, *others: Any) -> Any:
        for other in others:
            first = getattr(library(first, other), name)(first, other)
        return first

    return call


def _divide(_: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        # Division of integers rounds towards zero.
        xp = library(x, y)
        return xp.sign(x) * xp.sign(y) * (abs(x) // abs(y))
    return x / y


def _clip(attributes: Any, x: Any, low: Any = None, high: Any = None) -> Any:
    low, high = attributes.get("min", low), attributes.get("max", high)
    x = x if low is None else library(x).maximum(x, low)
    return x if high is None else library(x).minimum(x, high)


def _reshape(attributes: Any, x: Any, shape: Any) -> Any:
    wanted = ints(shape, "the shape")
    if not attributes.get("allowzero", 0):
        wanted = [x.shape[axis] if extent == 0 else extent for axis, extent in enumerate(wanted)]
    return x.reshape(tuple(wanted))


def _flatten(attributes: Any, x: Any) -> Any:
    axis = attributes.get("axis", 1)
    axis += x.ndim if axis < 0 else 0
    rows = int(numpy.prod(x.shape[:axis]))
    return x.reshape(rows, int(numpy.prod(x.shape[axis:])))


def _squeeze(attributes: Any, x: Any, axes: Any = None) -> Any:
    return library(x).squeeze(x, axes_of(attributes, axes))


def _unsqueeze(attributes: Any, x: Any, axes: Any = None) -> Any:
    return library(x).expand_dims(x, axes_of(attributes, axes) or ())


def _slice(attributes: Any, x: Any, begins: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> Any:
    starts = attributes["starts"] if begins is None else ints(begins, "the start")
    stops = attributes["ends"] if ends is None else ints(ends, "the end")
    along = axes_of(attributes, axes) or range(len(starts))
    by = [1] * len(starts) if steps is None else ints(steps, "the steps")
    chosen = [slice(None)] * x.ndim
    for start, stop, axis, step in zip(starts, stops, along, by, strict=True):
        extent = x.shape[axis]
        # Unlike in Python, an end below minus the extent includes the first element of a reversed axis.
        chosen[axis] = slice(start, None if step < 0 and stop < -extent else stop, step)
    return x[tuple(chosen)]


def _split(attributes: Any, x: Any, sizes: Any = None) -> Any:
    axis = attributes.get("axis", 0)
    counts = attributes.get("split") if sizes is None else ints(sizes, "the sizes")
    if counts is None:
        number = attributes["num_outputs"]
        each = -(-x.shape[axis] // number)
        counts = [each] * (number - 1) + [x.shape[axis] - each * (number - 1)]
    places = numpy.cumsum(counts)[:-1].tolist()
    return list(library(x).split(x, places, axis))


def _expand(_: Any, x: Any, shape: Any) -> Any:
    wanted = numpy.broadcast_shapes(x.shape, tuple(ints(shape, "the shape")))
    return library(x).broadcast_to(x, wanted)


def _pad(attributes: Any, x: Any, pads: Any = None, value: Any = None, axes: Any = None) -> Any:
    widths = attributes["pads"] if pads is None else ints(pads, "the padding")
    along = range(x.ndim) if axes is None else [axis % x.ndim for axis in ints(axes, "axes")]
    both = [(0, 0)] * x.ndim
    for axis, before, after in zip(along, widths[: len(widths) // 2], widths[len(widths) // 2 :], strict=True):
        both[axis] = (before, after)
    mode = attributes.get("mode", "constant")
    if mode != "constant":
        return np.pad(x, both, mode=mode)
    fill = attributes.get("value", 0.0) if value is None else float(host(value, "the padding"))
    return np.pad(x, both, constant_values=fill)


def _gather(attributes: Any, x: Any, places: Any) -> Any:
    return library(x, places).take(x, places, axis=attributes.get("axis", 0))


def _cast(attributes: Any, x: Any) -> Any:
    return x.astype(NAMES[attributes["to"]])


def _constant(attributes: Any) -> Any:
    for name, dtype in (("value_int", "int64"), ("value_ints", "int64"), ("value_float", "f4"), ("value_floats", "f4")):
        if name in attributes:
            return numpy.array(attributes[name], dtype)
    tensor: Tensor = attributes["value"]
    return tensor.host()


def _constant_of_shape(attributes: Any, shape: Any) -> Any:
    value = attributes["value"].host().reshape(()) if "value" in attributes else numpy.float32(0)
    extents = tuple(ints(shape, "the shape"))
    if value.dtype.kind in "iub" and math.prod(extents) <= _MOST_DIMENSIONS:
        # Part of the computation of a shape.
        return numpy.full(extents, value)
    return np.full(extents, value.item(), dtype=value.dtype.name)


def _range(_: Any, start: Any, stop: Any, step: Any) -> Any:
    return numpy.arange(*[host(x, "the range").item() for x in (start, stop, step)], dtype=start.dtype)


def _reduction(name: str) -> Call:
    def call(attributes: Any, x: Any, axes: Any = None) -> Any:
        along = axes_of(attributes, axes)
        if not along and attributes.get("noop_with_empty_axes", 0):
            return x
        return getattr(library(x), name)(x, axis=along or None, keepdims=bool(attributes.get("keepdims", 1)))

    return call


def _arg(name: str) -> Call:
    def call(attributes: Any, x: Any) -> Any:
        axis, last = attributes.get("axis", 0), attributes.get("select_last_index", 0)
        made = getattr(np, name)(
            np.flip(x, axis) if last else x, axis=axis, keepdims=bool(attributes.get("keepdims", 1))
        )
        return x.shape[axis] - 1 - made if last else made

    return call


def _reduced(before: Callable[[Any], Any] | None, name: str, after: Callable[[Any], Any] | None) -> Call:
    """Return a reduction of a function of the elements, and a function of the result."""
    reduction = _reduction(name)

    def call(attributes: Any, x: Any, axes: Any = None) -> Any:
        if not axes_of(attributes, axes) and attributes.get("noop_with_empty_axes", 0):
            return x
        made = reduction(attributes, x if before is None else before(x), axes)
        return made if after is None else after(made)

    return call


def _log_sum_exp(attributes: Any, x: Any, axes: Any = None) -> Any:
    along = axes_of(attributes, axes)
    if not along and attributes.get("noop_with_empty_axes", 0):
        return x
    return npx.logsumexp(x, along or tuple(range(x.ndim)), keepdims=bool(attributes.get("keepdims", 1)))


def _global(name: str) -> Call:
    return lambda _, x: getattr(np, name)(x, axis=tuple(range(2, x.ndim)), keepdims=True)


def _global_power(attributes: Any, x: Any) -> Any:
    power = attributes.get("p", 2)
    return (abs(x) ** power).sum(axis=tuple(range(2, x.ndim)), keepdims=True) ** (1 / power)


def _local_response(attributes: Any, x: Any) -> Any:
    size = attributes["size"]
    before, after = (size - 1) // 2, size // 2
    squares = np.pad(x * x, [(0, 0), (before, after), *[(0, 0)] * (x.ndim - 2)])
    # Differences of cumulative sums would lose digits.
    total = npx.pooling(
        squares.reshape(x.shape[0], 1, squares.shape[1], -1), kernel=(size, 1), stride=(1, 1), pool_type="sum"
    ).reshape(x.shape)
    factor = attributes.get("alpha", 1e-4) / size
    return x / (attributes.get("bias", 1.0) + factor * total) ** attributes.get("beta", 0.75)


def _batch_norm(attributes: Any, x: Any, gamma: Any, beta: Any, mean: Any, variance: Any) -> Any:
    if attributes.get("training_mode", 0):
        raise ValueError("training mode is not supported")
    epsilon = attributes.get("epsilon", 1e-5)
    return npx.batch_norm(x, gamma, beta, mean, variance, eps=epsilon, fix_gamma=False, use_global_stats=True)


def _layer_norm(attributes: Any, x: Any, scale: Any, bias: Any = None) -> list[Any]:
    axes = tuple(range(attributes.get("axis", -1) % x.ndim, x.ndim))
    mean = x.mean(axis=axes, keepdims=True)
    apart = x - mean
    factor = 1 / np.sqrt((apart * apart).mean(axis=axes, keepdims=True) + attributes.get("epsilon", 1e-5))
    y = apart * factor * scale
    return [y if bias is None else y + bias, mean, factor]


def _standard(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    apart = x - x.mean(axis=axes, keepdims=True)
    return apart / np.sqrt((apart * apart).mean(axis=axes, keepdims=True) + epsilon)


def _instance_norm(attributes: Any, x: Any, scale: Any, bias: Any) -> Any:
    return npx.instance_norm(x, scale, bias, eps=attributes.get("epsilon", 1e-5))


def _group_norm(attributes: Any, x: Any, scale: Any, bias: Any) -> Any:
    groups, epsilon = attributes["num_groups"], attributes.get("epsilon", 1e-5)
    rows = x.reshape(x.shape[0], groups, -1)
    shape = (-1, *[1] * (x.ndim - 2))
    made = _standard(rows, (2,), epsilon)
    if scale.shape != (x.shape[1],):
        # Before version 21 there is one number for each group.
        scale, bias = (np.repeat(one, x.shape[1] // groups) for one in (scale, bias))
    return made.reshape(x.shape) * scale.reshape(shape) + bias.reshape(shape)


def _rms_norm(attributes: Any, x: Any, scale: Any) -> Any:
    axes = tuple(range(attributes.get("axis", -1) % x.ndim, x.ndim))
    return x / np.sqrt((x * x).mean(axis=axes, keepdims=True) + attributes.get("epsilon", 1e-5)) * scale


def _mean_variance(attributes: Any, x: Any) -> Any:
    return _standard(x, tuple(attributes.get("axes", [0, 2, 3])), 1e-9)


def _lp_norm(attributes: Any, x: Any) -> Any:
    axis, power = attributes.get("axis", -1), attributes.get("p", 2)
    size = abs(x).sum(axis=axis, keepdims=True) if power == 1 else np.sqrt((x * x).sum(axis=axis, keepdims=True))
    return x / np.where(size == 0, 1, size)


def _modulo(attributes: Any, x: Any, y: Any) -> Any:
    return (library(x, y).fmod if attributes.get("fmod", 0) else library(x, y).mod)(x, y)


def _shifted(attributes: Any, x: Any, y: Any) -> Any:
    return np.left_shift(x, y) if attributes["direction"] == "LEFT" else np.right_shift(x, y)


def _is_infinite(attributes: Any, x: Any) -> Any:
    positive, negative = attributes.get("detect_positive", 1), attributes.get("detect_negative", 1)
    return np.isinf(x) & ((x > 0) & bool(positive) | (x < 0) & bool(negative))


def _gemm(attributes: Any, x: Any, y: Any, z: Any = None) -> Any:
    x = x.T if attributes.get("transA", 0) else x
    y = y.T if attributes.get("transB", 0) else y
    alpha, beta = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
    made = x @ y if alpha == 1.0 else x @ y * alpha
    return made if z is None else made + (z if beta == 1.0 else z * beta)


def _along(function: Callable[..., Any]) -> Call:
    """Return a function along an axis; in older files it is a function of rows of all axes from one on."""

    def call(attributes: Any, x: Any) -> Any:
        axis = attributes.get("axis", -1)
        if attributes.get("flatten"):
            rows = x.reshape(*x.shape[:axis], -1) if axis % x.ndim else x.reshape(-1)
            return function(rows, axis=-1).reshape(x.shape)
        return function(x, axis=axis)

    return call


def _hardmax(x: Any, axis: int) -> Any:
    first = np.expand_dims(np.argmax(x, axis=axis), axis)
    places = numpy.arange(x.shape[axis]).reshape(-1, *[1] * (x.ndim - 1 - axis % x.ndim))
    return (first == np.array(places, dtype="int64")).astype(x.dtype)


def _shape(attributes: Any, x: Any) -> Any:
    return numpy.array(x.shape[attributes.get("start", 0) : attributes.get("end")], "int64")


def _transpose(attributes: Any, x: Any) -> Any:
    return x.transpose(attributes.get("perm", list(range(x.ndim))[::-1]))


OPS: dict[str, Call] = {
    **{
        op: _pointwise(name)
        for op, name in {
            "Abs": "abs", "Acos": "arccos", "Acosh": "arccosh", "Asin": "arcsin", "Asinh": "arcsinh", "Atan": "arctan",
            "Atanh": "arctanh", "BitwiseAnd": "bitwise_and", "BitwiseNot": "invert", "BitwiseOr": "bitwise_or",
            "BitwiseXor": "bitwise_xor", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Equal": "equal", "Exp": "exp",
            "Floor": "floor", "Greater": "greater", "GreaterOrEqual": "greater_equal", "IsNaN": "isnan", "Less": "less",
            "LessOrEqual": "less_equal", "Log": "log", "MatMul": "matmul", "Neg": "negative", "Not": "logical_not",
            "Round": "rint", "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Sqrt": "sqrt",
            "Sub": "subtract", "Tan": "tan", "Where": "where", "Xor": "logical_xor",
        }.items()
    },
    **{op: _folded(name) for op, name in {
        "Add": "add", "And": "logical_and", "Max": "maximum", "Min": "minimum", "Mul": "multiply", "Or": "logical_or",
    }.items()},
    **_ACTIVATIONS,
    **{op: cell(op, activation) for op in ("GRU", "LSTM", "RNN")},
    "ArgMax": _arg("argmax"),
    "ArgMin": _arg("argmin"),
    "AveragePool": _windowed.pooling("avg"),
    "BatchNormalization": _batch_norm,
    "Bernoulli": _selecting.bernoulli,
    "BitShift": _shifted,
    "Cast": _cast,
    "CastLike": lambda _, x, like: x.astype(like.dtype),
    "Clip": _clip,
    "Compress": _selecting.compress,
    "Concat": lambda attributes, *given: library(*given).concatenate(given, axis=attributes["axis"]),
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Conv": _windowed.convolution,
    "ConvTranspose": _windowed.transposed,
    "CumProd": _selecting.cumulative_product,
    "CumSum": _selecting.cumulative_sum,
    "DepthToSpace": _selecting.depth_to_space,
    "Det": lambda _, x: np.linalg.det(x),
    "Div": _divide,
    "Dropout": lambda _, x, *__: [x, np.ones(x.shape, dtype="bool")],
    "Einsum": lambda attributes, *given: np.einsum(attributes["equation"], *given),
    "Erf": lambda _, x: npx.erf(x),
    "Expand": _expand,
    "EyeLike": _selecting.eye_like,
    "Flatten": _flatten,
    "Gather": _gather,
    "GatherElements": _selecting.gather_elements,
    "GatherND": _selecting.gather_nd,
    "Gemm": _gemm,
    "GlobalAveragePool": _global("mean"),
    "GlobalLpPool": _global_power,
    "GlobalMaxPool": _global("max"),
    "GroupNormalization": _group_norm,
    "Hardmax": _along(_hardmax),
    "Identity": lambda _, x: x,
    "InstanceNormalization": _instance_norm,
    "IsInf": _is_infinite,
    "LayerNormalization": _layer_norm,
    "LRN": _local_response,
    "LpNormalization": _lp_norm,
    "LpPool": _windowed.pooling("lp"),
    "LogSoftmax": _along(npx.log_softmax),
    "Mean": lambda _, *given: sum(given[1:], given[0]) / len(given),
    "MeanVarianceNormalization": _mean_variance,
    "Mod": _modulo,
    "OneHot": _selecting.one_hot,
    "MaxPool": _windowed.pooling("max"),
    "Pad": _pad,
    "Pow": lambda _, x, y: library(x, y).power(x, y).astype(x.dtype),
    "RMSNormalization": _rms_norm,
    "RandomNormal": _selecting.drawn("normal"),
    "RandomNormalLike": _selecting.drawn("normal"),
    "RandomUniform": _selecting.drawn("uniform"),
    "RandomUniformLike": _selecting.drawn("uniform"),
    "Range": _range,
    "Reciprocal": lambda _, x: 1 / x,
    "ReduceL1": _reduced(abs, "sum", None),
    "ReduceL2": _reduced(lambda x: x * x, "sum", np.sqrt),
    "ReduceLogSum": _reduced(None, "sum", np.log),
    "ReduceLogSumExp": _log_sum_exp,
    "ReduceSumSquare": _reduced(lambda x: x * x, "sum", None),
    "ReduceMax": _reduction("max"),
    "ReduceMean": _reduction("mean"),
    "ReduceMin": _reduction("min"),
    "ReduceProd": _reduction("prod"),
    "ReduceSum": _reduction("sum"),
    "Reshape": _reshape,
    "Resize": _resizing.resize,
    "ReverseSequence": _selecting.reverse_sequence,
    "Scatter": _selecting.scatter_elements,
    "ScatterElements": _selecting.scatter_elements,
    "ScatterND": _selecting.scatter_nd,
    "Shape": _shape,
    "Size": lambda _, x: numpy.array(x.size, "int64"),
    "Slice": _slice,
    "SpaceToDepth": _selecting.space_to_depth,
    "Softmax": _along(npx.softmax),
    "Split": _split,
    "Squeeze": _squeeze,
    "Sum": _folded("add"),
    "Tile": _selecting.tile,
    "TopK": _selecting.top,
    "Trilu": _selecting.trilu,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Upsample": _resizing.upsample,
}  # fmt: skip
# Ops that take host arrays as they are; others get arrays of the engine if any of their inputs is one.
ON_HOST = {
    "Compress", "Constant", "ConstantOfShape", "CumProd", "CumSum", "Expand", "OneHot", "Pad", "Range", "ReduceL1",
    "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    "ReduceSumSquare", "Reshape", "Resize", "Shape", "Size", "Slice", "Split", "Squeeze", "Tile", "TopK", "Trilu",
    "Unsqueeze", "Upsample",
}  # fmt: skip


def run(op: str, attributes: dict[str, Any], given: Sequence[Any]) -> list[Any]:
    """Compute a node."""
    if op not in ON_HOST and library(*[x for x in given if x is not None]) is np:
        given = [x if x is None else placed(x) for x in given]
    made = OPS[op](attributes, *given)
    return made if isinstance(made, list) else [made]
