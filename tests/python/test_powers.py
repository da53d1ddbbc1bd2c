"""Powers, integer division, casts and angles: NumPy's values, and the same bits for every size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import autograd, np

LARGE = 70_001  # enough elements for machine code
EXPONENTS = [2, 2.0, 0.5, -1, -1.0, 1, 1.0, 0, 3, 4, -2, 2.5, -0.5]


def same_in_parts(f: Callable[[Any], Any], x: numpy.ndarray) -> numpy.ndarray:
    """Return the values of `f`, which must have the same bits for a large array and for parts of it."""
    whole = numpy.asarray(f(np.array(x, dtype=x.dtype.name)).asnumpy())
    step = 997
    pieces = [f(np.array(x[i : i + step], dtype=x.dtype.name)).asnumpy() for i in range(0, len(x), step)]
    joined = numpy.concatenate(pieces)
    numpy.testing.assert_array_equal(whole.view(f"u{whole.itemsize}"), joined.view(f"u{joined.itemsize}"))
    return whole


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_by_a_number(dtype: str, exponent: float) -> None:
    x = numpy.random.default_rng(0).normal(size=LARGE).astype(dtype) * 3
    x[:8] = [0.0, -0.0, 1.0, -1.0, numpy.inf, -numpy.inf, numpy.nan, 1e-38]
    with numpy.errstate(all="ignore"):
        want = x**exponent
    got = same_in_parts(lambda a: a**exponent, x)
    numpy.testing.assert_allclose(got, want, rtol=4e-7 if dtype == "float32" else 1e-15)
    assert (numpy.signbit(got) == numpy.signbit(want))[~numpy.isnan(want)].all()
    named = np.power(np.array(x, dtype=dtype), exponent).asnumpy()
    numpy.testing.assert_array_equal(named, got)


def test_powers_of_arrays_and_of_numbers() -> None:
    rng = numpy.random.default_rng(1)
    x = rng.uniform(0.01, 20, LARGE).astype("float32")
    y = rng.normal(size=LARGE).astype("float32") * 9
    got = (np.array(x) ** np.array(y)).asnumpy()
    with numpy.errstate(over="ignore"):
        numpy.testing.assert_allclose(got, (x.astype("float64") ** y).astype("float32"), rtol=2.4e-7, atol=3e-45)
    for base in (2, 1.7):
        got = same_in_parts(lambda a, base=base: base**a, y)
        numpy.testing.assert_allclose(got, numpy.float64(numpy.float32(base)) ** y, rtol=2.4e-7)


def test_special_cases_of_powers_are_those_of_c() -> None:
    inf, nan = numpy.inf, numpy.nan
    edges = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, inf, -inf, nan, 1e-45, 3e38, 16777215.0, 2.5]
    a, b = (v.ravel() for v in numpy.meshgrid(numpy.float32(edges), numpy.float32(edges)))
    with numpy.errstate(all="ignore"):
        want = numpy.array([numpy.float32(numpy.float64(x) ** numpy.float64(y)) for x, y in zip(a, b, strict=True)])
    for repeat in (1, 300):
        got = (np.array(numpy.tile(a, repeat)) ** np.array(numpy.tile(b, repeat))).asnumpy()[-len(a) :]
        numpy.testing.assert_allclose(got, want, rtol=2.4e-7)
        assert (numpy.signbit(got) == numpy.signbit(want))[~numpy.isnan(want)].all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_powers_of_integers(dtype: str) -> None:
    x = numpy.random.default_rng(2).integers(0, 100, 4099).astype(dtype)
    for exponent in (0, 1, 2, 3, 7):
        got = np.array(x, dtype=dtype) ** exponent
        assert got.dtype == dtype
        numpy.testing.assert_array_equal(got.asnumpy(), x**exponent)
    many = (x % 5).astype(dtype)
    got = np.array(x, dtype=dtype) ** np.array(many, dtype=dtype)
    numpy.testing.assert_array_equal(got.asnumpy(), x**many)
    with pytest.raises(ValueError, match="negative integer powers"):
        (np.array([2], dtype="int32") ** -1).wait_to_read()


def test_powers_in_place_and_of_views() -> None:
    for exponent in (2, 0.5, -1, 1, 3):
        x = numpy.linspace(0.5, 4, 24, dtype="float32").reshape(4, 6)
        a = np.array(x)
        a **= exponent
        numpy.testing.assert_allclose(a.asnumpy(), x**exponent, rtol=3e-7)
        a = np.array(x)
        a[1:, ::2] **= exponent
        a[0, 0] **= exponent
        x[1:, ::2] **= exponent
        x[0, 0] **= exponent
        numpy.testing.assert_allclose(a.asnumpy(), x, rtol=3e-7)
    a = np.array([3, 4], dtype="int32")
    a **= 2
    numpy.testing.assert_array_equal(a.asnumpy(), [9, 16])
    with pytest.raises(TypeError):
        a **= 0.5


@pytest.mark.parametrize("exponent", [2, 0.5, -1, 3, 2.5])
def test_slopes_of_powers(exponent: float) -> None:
    x = np.array([0.5, 1.5, 2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        y = x**exponent
        (slope,) = autograd.grad(y.sum(), [x], create_graph=True, retain_graph=True)
        total = (slope * slope).sum()
    total.backward()
    v = numpy.array([0.5, 1.5, 2.0, 3.0])
    n = exponent
    first = n * v ** (n - 1.0)
    second = n * (n - 1) * v ** (n - 2.0)
    numpy.testing.assert_allclose(slope.asnumpy(), first, rtol=1e-5)
    numpy.testing.assert_allclose(x.grad.asnumpy(), 2 * first * second, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("exponent", [0, 1])
def test_slopes_that_are_constant(exponent: int) -> None:
    x = np.array([0.0, 1.5, -2.0])
    x.attach_grad()
    with autograd.record():
        y = (x**exponent).sum()
    y.backward()
    numpy.testing.assert_array_equal(x.grad.asnumpy(), numpy.full(3, exponent, "float32"))


def test_slope_of_a_power_of_two() -> None:
    x = np.array([0.5, -1.5, 2.0])
    x.attach_grad()
    with autograd.record():
        y = (2**x).sum()
    y.backward()
    numpy.testing.assert_allclose(x.grad.asnumpy(), 2.0 ** x.asnumpy() * numpy.log(2), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_quotients_of_integers(dtype: str) -> None:
    info = numpy.iinfo(dtype)
    rng = numpy.random.default_rng(3)
    a = numpy.concatenate([rng.integers(info.min, info.max, 3000), rng.integers(-1000, 1000, 3000)]).astype(dtype)
    b = numpy.concatenate([rng.integers(-90, 90, 3000), rng.integers(info.min, info.max, 3000)]).astype(dtype)
    a[:6] = [info.min, info.max, info.min, 0, 7, -7]
    b[:6] = [3, -3, info.min, 5, info.max, info.min]
    b[b == 0] = 11
    x, y = np.array(a, dtype=dtype), np.array(b, dtype=dtype)
    numpy.testing.assert_array_equal((x // y).asnumpy(), a // b)
    numpy.testing.assert_array_equal((x % y).asnumpy(), a % b)
    numpy.testing.assert_array_equal(np.fmod(x, y).asnumpy(), numpy.fmod(a, b))
    for divisor in (1, -1, 2, 3, -7, 1000, int(info.max), int(info.min) + 1):
        if divisor != -1:
            numpy.testing.assert_array_equal((x // divisor).asnumpy(), a // divisor)
        numpy.testing.assert_array_equal((x % divisor).asnumpy(), a % divisor)
    x //= 3
    numpy.testing.assert_array_equal(x.asnumpy(), a // 3)
    zero = np.array([0, 3], dtype=dtype)
    numpy.testing.assert_array_equal((np.array([5, 5], dtype=dtype) // zero).asnumpy(), [0, 1])


@pytest.mark.parametrize("to", ["int8", "uint8", "int16", "uint16", "int32", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_to_integers_are_cut_off_and_clamped(dtype: str, to: str) -> None:
    info = numpy.iinfo(to)
    x = (numpy.random.default_rng(4).normal(size=LARGE) * 100).astype(dtype)
    x[:9] = [numpy.nan, numpy.inf, -numpy.inf, 1e30, -1e30, 0.99, -0.99, -0.0, float(info.max)]
    got = same_in_parts(lambda a: a.astype(to), x)
    inside = numpy.clip(numpy.nan_to_num(numpy.trunc(x.astype("float64")), nan=0.0), float(info.min), float(info.max))
    want = numpy.array([min(max(int(v), info.min), info.max) for v in inside.tolist()], dtype=to)
    numpy.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32"])
def test_casts_of_narrow_integers(dtype: str) -> None:
    info = numpy.iinfo(dtype)
    x = numpy.random.default_rng(5).integers(info.min, info.max, 5003, endpoint=True).astype(dtype)
    a = np.array(x, dtype=dtype)
    for to in ("bool", "int32", "int64", "float32", "float64"):
        numpy.testing.assert_array_equal(a.astype(to).asnumpy(), x.astype(to))
        back = np.array(x.astype("int64"), dtype="int64").astype(dtype).asnumpy()
        numpy.testing.assert_array_equal(back, x)
    numpy.testing.assert_array_equal((a + a).asnumpy(), x + x)
    numpy.testing.assert_array_equal((a * 3).asnumpy(), x * numpy.array(3, dtype=dtype))


def test_truth_values_of_any_length() -> None:
    rng = numpy.random.default_rng(6)
    for n in (0, 1, 15, 63, 64, 65, 700, LARGE):
        a, b = rng.random(n) > 0.5, rng.random(n) > 0.3
        x, y = np.array(a, dtype="bool"), np.array(b, dtype="bool")
        for got, want in (
            (x & y, a & b),
            (x | y, a | b),
            (x ^ y, a ^ b),
            (~x, ~a),
            (x & True, a),
            (x == y, a == b),
            (np.where(x, y, x), numpy.where(a, b, a)),
            (~(x & y) | (x ^ y), ~(a & b) | (a ^ b)),
        ):
            numpy.testing.assert_array_equal(got.asnumpy(), want)


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_near_and_far(name: str) -> None:
    rng = numpy.random.default_rng(7)
    x = (rng.normal(size=LARGE) * 10.0 ** rng.integers(-3, 12, LARGE)).astype("float32")
    x[:7] = [32768.0, -32768.0, 32769.0, 1048576.0, 1048577.0, 0.0, -0.0]
    got = same_in_parts(getattr(np, name), x)
    want = getattr(numpy, name)(x.astype("float64"))
    numpy.testing.assert_allclose(got, want, rtol=2.4e-7, atol=0)
    assert numpy.isnan(getattr(np, name)(np.array([numpy.inf, -numpy.inf, numpy.nan])).asnumpy()).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", [3, 3.0])
def test_cubes_of_whole_numbers_are_exact(dtype: str, exponent: float) -> None:
    whole = numpy.arange(-250, 251)
    x = np.array(whole, dtype=dtype)
    numpy.testing.assert_array_equal((x**exponent).asnumpy(), whole**3)
    x **= exponent
    numpy.testing.assert_array_equal(x.asnumpy(), whole**3)
