"""Every pointwise op compared with NumPy: all dtypes, edge cases, scalars on either side, broadcasting."""

from __future__ import annotations

import decimal
import itertools
import json
import math
import operator
import pathlib
import warnings
from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy
import pytest

from forerun import np, npx

DTYPES = ["bool", "int32", "int64", "float32", "float64"]
ORDER = {name: rank for rank, name in enumerate(DTYPES)}
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, 3.0, 1e-3, 88.0, -88.0, 1e30, -1e30, 1e-40]
FLOATS += [numpy.inf, -numpy.inf, numpy.nan]
INTEGERS = [0, 1, -1, 2, -7, 7, 100, -100]

CATALOGUE = pathlib.Path(__file__).parents[2] / "docs/catalogue.json"
ROWS: list[dict[str, Any]] = [op for op in json.loads(CATALOGUE.read_text()) if op["tier"] == "pointwise"]


def of_class(*classes: str) -> set[str]:
    return {row["name"] for row in ROWS if row["class"] in classes}


# The dtype that each class of ops computes in, for the dtype that its operands promote to.
FLOAT_ONLY = of_class("Float", "Predicate")
NOT_BOOL = of_class("Number", "Whole")
NOT_FLOAT = of_class("Bits", "Whole")
BEYOND_NUMPY: dict[str, Callable[..., Any]] = {
    "relu": lambda x: numpy.maximum(x, numpy.zeros((), x.dtype)),
    "erf": numpy.vectorize(math.erf, otypes="d"),
    "sigmoid": lambda x: numpy.exp(-numpy.logaddexp(0.0, -x)),
}
# The sign of the larger or smaller of two zeros is unspecified.
ANY_ZERO = {"maximum", "minimum", "fmax", "fmin", "relu"}
# The tolerance of inexact ops in ulp; all other ops are exact.
LAST_PLACES = {row["name"]: row["ulp"] for row in ROWS if row["ulp"]}

# The samples have references for these, because NumPy is less accurate: its `sinc` rounds the angle before the
# reduction, its `i0` of infinity is NaN, and its `ldexp` accepts only integers.
SAMPLED = {"i0", "ldexp", "sinc"}
NAMED = [row for row in ROWS if len(row["inputs"]) < 3 and (row["python"] == "np" or row["name"] in BEYOND_NUMPY)]
NAMED = [row for row in NAMED if row["name"] not in SAMPLED]
UNARY = [row["name"] for row in NAMED if len(row["inputs"]) == 1]
BINARY = [row["name"] for row in NAMED if len(row["inputs"]) == 2]


def ours(name: str) -> Callable[..., np.ndarray]:
    function: Callable[..., np.ndarray] = getattr(npx if name in BEYOND_NUMPY else np, name)
    return function


def edges(dtype: str) -> numpy.ndarray:
    if dtype == "bool":
        return numpy.array([False, True])
    values = INTEGERS if dtype.startswith("int") else FLOATS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return numpy.array(values).astype(dtype)


def computed_in(name: str, *dtypes: str) -> str:
    widest = max(dtypes, key=ORDER.__getitem__)
    return "float32" if name in FLOAT_ONLY and not widest.startswith("float") else widest


def reference(name: str, dtype: str, *operands: numpy.ndarray) -> numpy.ndarray:
    function = BEYOND_NUMPY.get(name) or getattr(numpy, name)
    # Inexact ops are compared with double precision, exact ones with NumPy in the same dtype.
    wide = "float64" if name in LAST_PLACES and dtype == "float32" else dtype
    with numpy.errstate(all="ignore"):
        result: numpy.ndarray = function(*(operand.astype(dtype).astype(wide) for operand in operands))
    return result


def check(name: str, dtype: str, result: np.ndarray, expected: numpy.ndarray) -> None:
    got = result.asnumpy()
    assert got.shape == expected.shape
    if name not in LAST_PLACES or not dtype.startswith("float"):
        numpy.testing.assert_array_equal(got, expected)
        if expected.dtype.kind == "f" and name not in ANY_ZERO:
            numbers = ~numpy.isnan(expected)
            numpy.testing.assert_array_equal(numpy.signbit(got[numbers]), numpy.signbit(expected[numbers]))
        return
    with numpy.errstate(all="ignore"):
        rounded = expected.astype(dtype)
        finite = numpy.isfinite(rounded) & numpy.isfinite(got)
        unit = numpy.spacing(numpy.abs(rounded[finite])).astype("float64")
        # Near the largest number, one ulp may overflow.
        limit = numpy.finfo(dtype).max
    off = numpy.abs(got[finite].astype("float64") - expected[finite].astype("float64")) / unit
    assert (off <= LAST_PLACES[name] + 0.5).all(), off.max()
    same = (got == rounded) | (numpy.isnan(got) & numpy.isnan(rounded)) | (numpy.abs(expected) > 0.9999 * limit)
    assert same[~finite].all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: str) -> None:
    x = edges(dtype)
    if (dtype == "bool" and name in NOT_BOOL) or (dtype.startswith("float") and name in NOT_FLOAT):
        with pytest.raises(TypeError, match=f"{name}: not defined for {dtype}"):
            ours(name)(np.array(x))
        return
    compute = computed_in(name, dtype)
    check(name, compute, ours(name)(np.array(x)), reference(name, compute, x))


@pytest.mark.parametrize(("left", "right"), list(itertools.product(DTYPES, DTYPES)))
@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str, left: str, right: str) -> None:
    a, b = edges(left)[:, None], edges(right)[None, :]
    widest = max(left, right, key=ORDER.__getitem__)
    if (widest == "bool" and name in NOT_BOOL) or (widest.startswith("float") and name in NOT_FLOAT):
        with pytest.raises(TypeError, match=f"{name}: not defined for {widest}"):
            ours(name)(np.array(a), np.array(b))
        return
    if name == "power" and not widest.startswith("float"):
        b = numpy.abs(b)  # a negative power of an integer is no integer
    compute = computed_in(name, left, right)
    result = ours(name)(np.array(a), np.array(b))
    if name in {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"} or name.startswith("logical"):
        assert result.dtype == "bool"
    else:
        assert result.dtype == compute
    if name.startswith("logical"):
        with numpy.errstate(all="ignore"):
            numpy.testing.assert_array_equal(result.asnumpy(), getattr(numpy, name)(a, b))
        return
    check(name, compute, result, reference(name, compute, a, b))


@pytest.mark.parametrize("dtype", DTYPES)
def test_where(dtype: str) -> None:
    x = edges(dtype)
    condition = numpy.arange(x.size) % 2 == 0
    result = np.where(np.array(condition), np.array(x), np.array(x[::-1]))
    numpy.testing.assert_array_equal(result.asnumpy(), numpy.where(condition, x, x[::-1]))
    assert result.dtype == dtype


OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


@pytest.mark.parametrize("scalar", [2, 2.5, True, -3])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_with_scalars(name: str, dtype: str, scalar: Any) -> None:
    x = numpy.array([1, 2, 5]).astype(dtype)
    if name == "power" and dtype.startswith("int") and scalar == -3:
        return  # a negative power of an integer is no integer
    # A scalar has no width: only its kind can change the dtype.
    compute = dtype if dtype.startswith("float") or not isinstance(scalar, float) else "float32"
    compute = computed_in(name, compute)
    function = OPERATORS[name]
    for flip in [False, True]:
        if flip and name == "power":
            continue
        operands = (numpy.array(scalar), x) if flip else (x, numpy.array(scalar))
        result = function(scalar, np.array(x)) if flip else function(np.array(x), scalar)
        check(name, compute, result, reference(name, compute, *operands))


def test_unary_and_bitwise_operators() -> None:
    x, y = np.array([1, -2, 3]), np.array([3, 3, 1])
    a, b = x.asnumpy(), y.asnumpy()
    for got, expected in [
        (-x, -a),
        (+x, +a),
        (abs(x), abs(a)),
        (~x, ~a),
        (x & y, a & b),
        (x | y, a | b),
        (x ^ y, a ^ b),
        (6 & x, 6 & a),
        (divmod(x, y)[0], divmod(a, b)[0]),
        (divmod(x, y)[1], divmod(a, b)[1]),
    ]:
        numpy.testing.assert_array_equal(got.asnumpy(), expected)


def test_in_place_operators() -> None:
    x = np.array([4.0, 9.0])
    before = x
    x += 1
    x -= 0.5
    x *= np.array([2.0, 2.0])
    x /= 3
    x **= 2
    x //= 1
    x %= 7
    assert x is before
    expected = ((numpy.array([4.0, 9.0], "float32") + 1 - 0.5) * 2 / 3) ** 2 // 1 % 7
    numpy.testing.assert_array_equal(x.asnumpy(), expected)
    bits = np.array([6, 5])
    bits &= 3
    bits |= 8
    bits ^= 1
    assert bits.tolist() == [(6 & 3 | 8) ^ 1, (5 & 3 | 8) ^ 1]


def test_operands_of_numpy_and_lists() -> None:
    x = np.array([1.0, 2.0])
    others: list[Any] = [numpy.array([1.0, 2.0], "float32"), [1.0, 2.0], (1.0, 2.0)]
    for other in others:
        result = x + other
        assert isinstance(result, np.ndarray)
        assert result.dtype == np.float32
        assert result.tolist() == [2.0, 4.0]
        assert (other + x).tolist() == [2.0, 4.0]
    for result in [x * numpy.float64(2), numpy.float64(2) * x, x * numpy.float32(2), numpy.int64(2) * x]:
        assert isinstance(result, np.ndarray)
        assert result.dtype == np.float32, "a NumPy scalar is a number and has no say in the width"
        assert result.tolist() == [2.0, 4.0]


def test_operands_that_are_none() -> None:
    x = np.ones((2,))
    with pytest.raises(TypeError):
        x + "text"
    with pytest.raises(TypeError):
        object() + x  # type: ignore[operator]
    nothing: Any = x == None  # noqa: E711
    assert nothing is False
    with pytest.raises(OverflowError):
        np.array([1]) + 10**30
    assert (x * 10**20).tolist() == [numpy.float32(1e20)] * 2


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(ValueError, match=r"add: operands could not be broadcast together with shapes \(2, 3\) \(2,\)"):
        np.ones((2, 3)) + np.ones((2,))


SHAPES = arrays.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4, min_side=0)
SMALL = st.integers(-100, 100).map(float)


@hypothesis.given(SHAPES, st.sampled_from(["float32", "int64"]), st.data())
def test_broadcasting(shapes: arrays.BroadcastableShapes, dtype: str, data: st.DataObject) -> None:
    a, b = (data.draw(arrays.arrays(dtype, shape, elements=SMALL.map(int))) for shape in shapes.input_shapes)
    result = np.array(a) + np.array(b)
    assert result.shape == shapes.result_shape
    numpy.testing.assert_array_equal(result.asnumpy(), a + b)


def exact_digamma(x: float) -> decimal.Decimal:
    """Return the digamma function to forty digits: the recurrence, then a fast series."""
    bernoulli = [(1, 12), (-1, 120), (1, 252), (-1, 240), (1, 132), (-691, 32760), (1, 12), (-3617, 8160)]
    with decimal.localcontext(decimal.Context(prec=50)):
        y, steps = decimal.Decimal(x), decimal.Decimal(0)
        while y < 60:
            steps += 1 / y
            y += 1
        series = sum(decimal.Decimal(a) / b / y ** (2 * n) for n, (a, b) in enumerate(bernoulli, 1))
        return y.ln() - 1 / (2 * y) - series - steps


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [1, 100])
def test_digamma_keeps_its_digits_around_its_root(dtype: str, count: int) -> None:
    """The error is relative to the result, however small. Few and many elements use different kernels."""
    root = numpy.dtype(dtype).type(1.4616321449683623)
    near = root + numpy.arange(-8, 9, dtype=dtype) * numpy.spacing(root)
    wide = numpy.array([1, 1.1, 1.25, 1.4, 1.46, 1.4616, 1.463, 1.5, 1.6, 1.75, 1.9, 2], dtype=dtype)
    x = numpy.concatenate([near, wide])
    y = npx.digamma(np.array(numpy.tile(x, count))).asnumpy()
    for element, result in zip(x, y, strict=False):
        exact = exact_digamma(float(element))
        off = abs(decimal.Decimal(float(result)) / exact - 1) / decimal.Decimal(float(numpy.finfo(dtype).eps))
        assert off < 4, f"digamma({element!r}) = {result!r} is off by {off:.1f} ulp"
    assert y.tobytes() == numpy.tile(y[: x.size], count).tobytes()
