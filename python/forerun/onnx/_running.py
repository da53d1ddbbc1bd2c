"""ONNX nodes as calls of the package's functions.

Shapes and other small integers are NumPy arrays on the host, so that a graph that computes a shape from a shape never
waits. A function that gets host arrays only computes on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from forerun import np, npx
from forerun.onnx._reading import Tensor
from forerun.onnx._wire import DTYPES

_DTYPES = {number: name for name, number in DTYPES.items()}
# A node: its attributes, and its inputs; None stands for one that is missing. The result is one array or several.
Call = Callable[..., Any]


def _library(*given: Any) -> Any:
    """Return NumPy if there are host arrays only, else `np`."""
    return numpy if all(isinstance(x, (numpy.ndarray, numpy.generic)) for x in given) else np


def host(x: Any, what: str) -> Any:
    """Return an array that must be known without computing."""
    if not isinstance(x, (numpy.ndarray, numpy.generic)):
        raise ValueError(f"{what} depends on values")
    return x


def ints(x: Any, what: str) -> list[int]:
    """Return integers that must be known without computing."""
    return [int(one) for one in numpy.ravel(host(x, what))]


def placed(x: Any) -> Any:
    """Return an array of the engine."""
    return np.array(x, dtype=x.dtype.name) if isinstance(x, (numpy.ndarray, numpy.generic)) else x


def _pointwise(name: str) -> Call:
    return lambda _, *given: getattr(_library(*given), name)(*given)


def _folded(name: str) -> Call:
    def call(_: Any, first: Any, *others: Any) -> Any:
        for other in others:
            first = getattr(_library(first, other), name)(first, other)
        return first

    return call


def _divide(_: Any, x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        # Division of integers rounds towards zero.
        xp = _library(x, y)
        return xp.sign(x) * xp.sign(y) * (abs(x) // abs(y))
    return x / y


def _clip(attributes: Any, x: Any, low: Any = None, high: Any = None) -> Any:
    low, high = attributes.get("min", low), attributes.get("max", high)
    x = x if low is None else _library(x).maximum(x, low)
    return x if high is None else _library(x).minimum(x, high)


def _axes(attributes: Any, axes: Any) -> tuple[int, ...] | None:
    if axes is not None:
        return tuple(ints(axes, "axes"))
    return tuple(attributes["axes"]) if "axes" in attributes else None


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
    return _library(x).squeeze(x, _axes(attributes, axes))


def _unsqueeze(attributes: Any, x: Any, axes: Any = None) -> Any:
    return _library(x).expand_dims(x, _axes(attributes, axes) or ())


def _slice(attributes: Any, x: Any, begins: Any = None, ends: Any = None, axes: Any = None, steps: Any = None) -> Any:
    starts = attributes["starts"] if begins is None else ints(begins, "the start")
    stops = attributes["ends"] if ends is None else ints(ends, "the end")
    along = _axes(attributes, axes) or range(len(starts))
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
    return list(_library(x).split(x, places, axis))


def _expand(_: Any, x: Any, shape: Any) -> Any:
    wanted = numpy.broadcast_shapes(x.shape, tuple(ints(shape, "the shape")))
    return _library(x).broadcast_to(x, wanted)


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
    return _library(x, places).take(x, places, axis=attributes.get("axis", 0))


def _cast(attributes: Any, x: Any) -> Any:
    return x.astype(_DTYPES[attributes["to"]])


def _constant(attributes: Any) -> Any:
    for name, dtype in (("value_int", "int64"), ("value_ints", "int64"), ("value_float", "f4"), ("value_floats", "f4")):
        if name in attributes:
            return numpy.array(attributes[name], dtype)
    tensor: Tensor = attributes["value"]
    return tensor.host()


def _constant_of_shape(attributes: Any, shape: Any) -> Any:
    value = attributes["value"].host().reshape(()) if "value" in attributes else numpy.float32(0)
    return np.full(tuple(ints(shape, "the shape")), value.item(), dtype=value.dtype.name)


def _range(_: Any, start: Any, stop: Any, step: Any) -> Any:
    return numpy.arange(*[host(x, "the range").item() for x in (start, stop, step)], dtype=start.dtype)


def _reduction(name: str) -> Call:
    def call(attributes: Any, x: Any, axes: Any = None) -> Any:
        along = _axes(attributes, axes)
        if not along and attributes.get("noop_with_empty_axes", 0):
            return x
        return getattr(_library(x), name)(x, axis=along or None, keepdims=bool(attributes.get("keepdims", 1)))

    return call


def _arg(name: str) -> Call:
    def call(attributes: Any, x: Any) -> Any:
        axis = attributes.get("axis", 0)
        return getattr(np, name)(x, axis=axis, keepdims=bool(attributes.get("keepdims", 1)))

    return call


def _windows(attributes: Any, x: Any, fill: float) -> tuple[Any, dict[str, Any], bool]:
    """Return images, padded if the padding differs at the ends, the arguments of a window, and whether they were."""
    count = x.ndim - 2
    if attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise ValueError(f"auto_pad {attributes['auto_pad']} is not supported")
    pads = attributes.get("pads", [0] * 2 * count)
    before, after = pads[:count], pads[count:]
    uneven = before != after
    if uneven:
        x = np.pad(x, [(0, 0), (0, 0), *zip(before, after, strict=True)], constant_values=fill)
        before = [0] * count
    return x, {"stride": tuple(attributes.get("strides", [1] * count)), "pad": tuple(before)}, uneven


def _convolution(attributes: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    x, window, _ = _windows(attributes, x, 0.0)
    return npx.convolution(
        x,
        weight,
        bias,
        kernel=tuple(weight.shape[2:]),
        dilate=tuple(attributes.get("dilations", [1] * (x.ndim - 2))),
        num_filter=weight.shape[0],
        num_group=attributes.get("group", 1),
        no_bias=bias is None,
        **window,
    )


def _pooling(kind: str) -> Call:
    def call(attributes: Any, x: Any) -> Any:
        if any(one != 1 for one in attributes.get("dilations", [])):
            raise ValueError("dilated windows are not supported")
        included = bool(attributes.get("count_include_pad", 0))
        x, window, uneven = _windows(attributes, x, -numpy.inf if kind == "max" else 0.0)
        if uneven and kind == "avg" and not included:
            raise ValueError("means without padding that differs at the ends are not supported")
        ceil = "full" if attributes.get("ceil_mode", 0) else "valid"
        kernel = tuple(attributes["kernel_shape"])
        options: dict[str, Any] = {"pool_type": kind, "pooling_convention": ceil, "count_include_pad": included}
        return npx.pooling(x, kernel=kernel, **options, **window)

    return call


def _global(name: str) -> Call:
    return lambda _, x: getattr(np, name)(x, axis=tuple(range(2, x.ndim)), keepdims=True)


def _batch_norm(attributes: Any, x: Any, gamma: Any, beta: Any, mean: Any, variance: Any) -> Any:
    if attributes.get("training_mode", 0):
        raise ValueError("training mode is not supported")
    epsilon = attributes.get("epsilon", 1e-5)
    return npx.batch_norm(x, gamma, beta, mean, variance, eps=epsilon, fix_gamma=False, use_global_stats=True)


def _layer_norm(attributes: Any, x: Any, scale: Any, bias: Any = None) -> Any:
    axes = tuple(range(attributes.get("axis", -1) % x.ndim, x.ndim))
    apart = x - x.mean(axis=axes, keepdims=True)
    y = apart / np.sqrt((apart * apart).mean(axis=axes, keepdims=True) + attributes.get("epsilon", 1e-5)) * scale
    return y if bias is None else y + bias


def _gemm(attributes: Any, x: Any, y: Any, z: Any = None) -> Any:
    x = x.T if attributes.get("transA", 0) else x
    y = y.T if attributes.get("transB", 0) else y
    alpha, beta = attributes.get("alpha", 1.0), attributes.get("beta", 1.0)
    made = x @ y if alpha == 1.0 else x @ y * alpha
    return made if z is None else made + (z if beta == 1.0 else z * beta)


def _softmax(name: str) -> Call:
    return lambda attributes, x: getattr(npx, name)(x, axis=attributes.get("axis", -1))


def _shape(attributes: Any, x: Any) -> Any:
    return numpy.array(x.shape[attributes.get("start", 0) : attributes.get("end")], "int64")


def _leaky(attributes: Any, x: Any) -> Any:
    return npx.leaky_relu(x, act_type="leaky", slope=attributes.get("alpha", 0.01))


def _elu(attributes: Any, x: Any) -> Any:
    return npx.leaky_relu(x, act_type="elu", slope=attributes.get("alpha", 1.0))


def _prelu(_: Any, x: Any, slope: Any) -> Any:
    return np.where(x > 0, x, x * slope)


def _transpose(attributes: Any, x: Any) -> Any:
    return x.transpose(attributes.get("perm", list(range(x.ndim))[::-1]))


OPS: dict[str, Call] = {
    **{
        op: _pointwise(name)
        for op, name in {
            "Abs": "abs", "Acos": "arccos", "Acosh": "arccosh", "Asin": "arcsin", "Asinh": "arcsinh", "Atan": "arctan",
            "Atanh": "arctanh", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Equal": "equal", "Exp": "exp",
            "Floor": "floor", "Greater": "greater", "GreaterOrEqual": "greater_equal", "IsNaN": "isnan", "Less": "less",
            "LessOrEqual": "less_equal", "Log": "log", "MatMul": "matmul", "Neg": "negative", "Not": "logical_not",
            "Pow": "power", "Round": "rint", "Sign": "sign", "Sin": "sin", "Sinh": "sinh", "Sqrt": "sqrt",
            "Sub": "subtract", "Tan": "tan", "Tanh": "tanh", "Where": "where", "Xor": "logical_xor",
        }.items()
    },
    **{op: _folded(name) for op, name in {
        "Add": "add", "And": "logical_and", "Max": "maximum", "Min": "minimum", "Mul": "multiply", "Or": "logical_or",
    }.items()},
    "ArgMax": _arg("argmax"),
    "ArgMin": _arg("argmin"),
    "AveragePool": _pooling("avg"),
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": lambda attributes, *given: _library(*given).concatenate(given, axis=attributes["axis"]),
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Conv": _convolution,
    "Div": _divide,
    "Dropout": lambda _, x, *__: x,
    "Einsum": lambda attributes, *given: np.einsum(attributes["equation"], *given),
    "Elu": _elu,
    "Erf": lambda _, x: npx.erf(x),
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Gemm": _gemm,
    "GlobalAveragePool": _global("mean"),
    "GlobalMaxPool": _global("max"),
    "Identity": lambda _, x: x,
    "LayerNormalization": _layer_norm,
    "LeakyRelu": _leaky,
    "LogSoftmax": _softmax("log_softmax"),
    "MaxPool": _pooling("max"),
    "PRelu": _prelu,
    "Pad": _pad,
    "Range": _range,
    "Reciprocal": lambda _, x: 1 / x,
    "ReduceMax": _reduction("max"),
    "ReduceMean": _reduction("mean"),
    "ReduceMin": _reduction("min"),
    "ReduceProd": _reduction("prod"),
    "ReduceSum": _reduction("sum"),
    "Relu": lambda _, x: npx.relu(x),
    "Reshape": _reshape,
    "Shape": _shape,
    "Sigmoid": lambda _, x: npx.sigmoid(x),
    "Slice": _slice,
    "Softmax": _softmax("softmax"),
    "Split": _split,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}  # fmt: skip
# Ops that take host arrays as they are; others get arrays of the engine if any of their inputs is one.
ON_HOST = {"Expand", "Pad", "Reshape", "Slice", "Split", "Squeeze", "Unsqueeze", "ReduceMax", "ReduceMean", "ReduceMin",
           "ReduceProd", "ReduceSum", "Range", "ConstantOfShape", "Constant"}  # fmt: skip


def run(op: str, attributes: dict[str, Any], given: Sequence[Any]) -> list[Any]:
    """Compute a node."""
    if op not in ON_HOST and _library(*[x for x in given if x is not None]) is np:
        given = [x if x is None else placed(x) for x in given]
    made = OPS[op](attributes, *given)
    return made if isinstance(made, list) else [made]
