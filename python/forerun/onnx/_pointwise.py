"""Pointwise ops as ONNX nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from forerun.onnx._builder import Builder, Unmapped

# Ops with a node of their own; operands have the dtype of the result.
_NODES = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "add": "Add", "asin": "Asin", "asinh": "Asinh", "atan": "Atan",
    "atanh": "Atanh", "bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor",
    "ceil": "Ceil", "copy": "Identity", "cos": "Cos", "cosh": "Cosh", "divide": "Div", "erf": "Erf", "exp": "Exp",
    "fabs": "Abs", "float_power": "Pow", "floor": "Floor", "invert": "BitwiseNot", "log": "Log", "maximum": "Max",
    "minimum": "Min", "multiply": "Mul", "negative": "Neg", "positive": "Identity", "power": "Pow",
    "reciprocal": "Reciprocal", "relu": "Relu", "rint": "Round", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin",
    "sinh": "Sinh", "softsign": "Softsign", "sqrt": "Sqrt", "subtract": "Sub", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip
# The nodes of these ops on booleans.
_BOOLEAN = {
    "add": "Or", "bitwise_and": "And", "bitwise_or": "Or", "bitwise_xor": "Xor", "copy": "Identity", "invert": "Not",
    "maximum": "Or", "minimum": "And", "multiply": "And", "positive": "Identity",
}  # fmt: skip
# Ops whose result is a boolean; operands have their common dtype.
COMPARISONS = {
    "equal": "Equal", "greater": "Greater", "greater_equal": "GreaterOrEqual", "less": "Less",
    "less_equal": "LessOrEqual", "logical_and": "And", "logical_not": "Not", "logical_or": "Or", "logical_xor": "Xor",
}  # fmt: skip
# Rounding changes no integer.
_ROUNDING = {"ceil", "floor", "rint", "trunc"}


def made(b: Builder, op: str, given: Sequence[str], dtype: str) -> str:
    """Add a pointwise op whose operands have one dtype, that of the result unless it is a boolean; return its name."""
    if dtype == "bool" and op in _BOOLEAN:
        return b.add(_BOOLEAN[op], *given)
    if op in _ROUNDING and "int" in dtype:
        return b.add("Identity", *given)
    if op in _NODES:
        return b.add(_NODES[op], *given)
    if op in COMPARISONS:
        return b.add(COMPARISONS[op], *given)
    if op in _COMPOSED:
        return _COMPOSED[op](b, given, dtype)
    raise Unmapped("ONNX has no such op")


def _not_equal(b: Builder, given: Sequence[str], _: str) -> str:
    return b.add("Not", b.add("Equal", *given))


def _square(b: Builder, given: Sequence[str], _: str) -> str:
    return b.add("Mul", given[0], given[0])


def _multiply_add(b: Builder, given: Sequence[str], _: str) -> str:
    return b.add("Add", b.add("Mul", given[0], given[1]), given[2])


def _scaled(factor: float, first: str = "") -> Callable[[Builder, Sequence[str], str], str]:
    """Return an op that multiplies, after another node if there is one."""

    def op(b: Builder, given: Sequence[str], dtype: str) -> str:
        return b.add("Mul", b.add(first, given[0]) if first else given[0], b.number(factor, dtype))

    return op


def _exp2(b: Builder, given: Sequence[str], dtype: str) -> str:
    return b.add("Pow", b.number(2, dtype), given[0])


def _expm1(b: Builder, given: Sequence[str], dtype: str) -> str:
    # tanh(x / 2) * (exp(x) + 1) is accurate near 0; for large numbers its factors overflow no earlier.
    x = given[0]
    half = b.add("Tanh", b.add("Mul", x, b.number(0.5, dtype)))
    return b.add("Mul", half, b.add("Add", b.add("Exp", x), b.number(1, dtype)))


def _log1p(b: Builder, given: Sequence[str], dtype: str) -> str:
    # 2 * atanh(x / (2 + x)) is accurate near 0, but not for large numbers.
    x = given[0]
    quotient = b.add("Div", x, b.add("Add", x, b.number(2, dtype)))
    near = b.add("Mul", b.number(2, dtype), b.add("Atanh", quotient))
    far = b.add("Log", b.add("Add", x, b.number(1, dtype)))
    return b.add("Where", b.add("Less", b.add("Abs", x), b.number(0.5, dtype)), near, far)


def _logaddexp(b: Builder, given: Sequence[str], dtype: str) -> str:
    distance = b.add("Neg", b.add("Abs", b.add("Sub", *given)))
    return b.add("Add", b.add("Max", *given), _log1p(b, [b.add("Exp", distance)], dtype))


def _trunc(b: Builder, given: Sequence[str], _: str) -> str:
    return b.add("Mul", b.add("Sign", given[0]), b.add("Floor", b.add("Abs", given[0])))


def _floor_divide(b: Builder, given: Sequence[str], dtype: str) -> str:
    if "int" in dtype:
        # Division of integers rounds towards zero.
        return b.add("Div", b.add("Sub", given[0], b.add("Mod", *given, fmod=0)), given[1])
    return b.add("Floor", b.add("Div", *given))


def _remainder(b: Builder, given: Sequence[str], dtype: str) -> str:
    if "int" in dtype:
        return b.add("Mod", *given, fmod=0)
    return b.add("Sub", given[0], b.add("Mul", _floor_divide(b, given, dtype), given[1]))


def _fmod(b: Builder, given: Sequence[str], _: str) -> str:
    return b.add("Mod", *given, fmod=1)


def _hypot(b: Builder, given: Sequence[str], _: str) -> str:
    return b.add("Sqrt", b.add("Add", *[b.add("Mul", x, x) for x in given]))


def _cbrt(b: Builder, given: Sequence[str], dtype: str) -> str:
    root = b.add("Pow", b.add("Abs", given[0]), b.number(1 / 3, dtype))
    return b.add("Mul", b.add("Sign", given[0]), root)


def _is(**attributes: int) -> Callable[[Builder, Sequence[str], str], str]:
    """Return a test for infinities."""

    def op(b: Builder, given: Sequence[str], _: str) -> str:
        return b.add("IsInf", given[0], **attributes)

    return op


def _isnan(b: Builder, given: Sequence[str], _: str) -> str:
    return b.add("IsNaN", given[0])


def _isfinite(b: Builder, given: Sequence[str], _: str) -> str:
    return b.add("Not", b.add("Or", b.add("IsNaN", given[0]), b.add("IsInf", given[0])))


def _ignoring_nan(node: str) -> Callable[[Builder, Sequence[str], str], str]:
    def op(b: Builder, given: Sequence[str], _: str) -> str:
        x, y = given
        rest = b.add("Where", b.add("IsNaN", y), x, b.add(node, x, y))
        return b.add("Where", b.add("IsNaN", x), y, rest)

    return op


_COMPOSED: dict[str, Callable[[Builder, Sequence[str], str], str]] = {
    "cbrt": _cbrt,
    "degrees": _scaled(180 / math.pi),
    "exp2": _exp2,
    "expm1": _expm1,
    "floor_divide": _floor_divide,
    "fmax": _ignoring_nan("Max"),
    "fmin": _ignoring_nan("Min"),
    "fmod": _fmod,
    "hypot": _hypot,
    "isfinite": _isfinite,
    "isinf": _is(),
    "isnan": _isnan,
    "isneginf": _is(detect_positive=0),
    "isposinf": _is(detect_negative=0),
    "log10": _scaled(1 / math.log(10), "Log"),
    "log1p": _log1p,
    "log2": _scaled(1 / math.log(2), "Log"),
    "logaddexp": _logaddexp,
    "multiply_add": _multiply_add,
    "not_equal": _not_equal,
    "radians": _scaled(math.pi / 180),
    "remainder": _remainder,
    "square": _square,
    "trunc": _trunc,
}
# Ops whose result is a boolean although their operands are not.
TESTS = {*COMPARISONS, "isfinite", "isinf", "isnan", "isneginf", "isposinf", "not_equal"}
