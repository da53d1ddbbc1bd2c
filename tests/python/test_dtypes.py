"""Every dtype: promotion, ranges, rounding of half floats, import and export."""

from __future__ import annotations

import itertools
import operator
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import pytest

from forerun import _forerun, autograd, np, npx

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
HALVES = ["float16", "bfloat16"]
FLOATS = [*HALVES, "float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS]


def halves(dtype: str) -> numpy.ndarray:
    """Return every half float except NaNs with payloads."""
    every = numpy.arange(2**16, dtype="uint16").view(dtype)
    return every[~numpy.isnan(every.astype("float32"))]


def same_bits(got: np.ndarray, want: numpy.ndarray) -> None:
    """Compare bit for bit; all NaNs are equal."""
    read = got.asnumpy()
    assert read.dtype == want.dtype
    nan = numpy.isnan(want.astype("float64"))
    assert (numpy.isnan(read.astype("float64")) == nan).all()
    bits = f"uint{8 * want.dtype.itemsize}"
    numpy.testing.assert_array_equal(read.view(bits)[~nan], want.view(bits)[~nan])


@pytest.mark.parametrize(("a", "b"), itertools.product(DTYPES, DTYPES))
def test_promotion_is_that_of_numpy_but_for_mixed_kinds(a: str, b: str) -> None:
    got = np.result_type(a, b)
    assert got == np.result_type(b, a) == (np.zeros((1,), a) + np.zeros((1,), b)).dtype
    floats = [name for name in (a, b) if name in FLOATS]
    if len(floats) == 1:
        assert got == floats[0]
    elif set(floats) == set(HALVES):
        assert got == "float32"
    else:
        assert got == numpy.promote_types(a, b).name
    assert np.can_cast(a, b) == (got == b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_the_program_have_no_width(dtype: str) -> None:
    x = np.ones((2,), dtype)
    assert (x & True if dtype not in FLOATS else x + True).dtype == dtype
    assert (x + 1).dtype == ("int64" if dtype == "bool" else dtype)
    assert (x + 1.5).dtype == (dtype if dtype in FLOATS else "float32")
    assert np.result_type(x, 1.5) == (x + 1.5).dtype
    assert (x / 2).dtype == (dtype if dtype in FLOATS else "float32")
    assert np.sqrt(x).dtype == (dtype if dtype in FLOATS else "float32")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_keep_their_range(dtype: str) -> None:
    limits = np.iinfo(dtype)
    theirs = numpy.iinfo(dtype)
    assert (limits.min, limits.max, limits.bits) == (theirs.min, theirs.max, theirs.bits)
    assert np.full((), limits.max, dtype).item() == limits.max
    assert np.array([limits.min, limits.max], dtype).tolist() == [limits.min, limits.max]
    x = np.zeros((3,), dtype)
    for number in (limits.min - 1, limits.max + 1):
        for make in (operator.add, lambda x, n: np.full((2,), n, x.dtype), lambda x, n: np.array([n], x.dtype)):
            with pytest.raises(OverflowError):
                make(x, number)
        # A comparison with a number out of range still has a result, if 64 bits hold the number.
        if not -(2**63) <= number < 2**64:
            continue
        assert (x < number).tolist() == [number > 0] * 3
        assert (x == number).tolist() == [False] * 3
        assert (number >= x).tolist() == [number > 0] * 3
    x[1:] = limits.max
    assert x.tolist() == [0, limits.max, limits.max]


INTEGER_OPS: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_, operator.or_,
    operator.xor, operator.lt, operator.le, operator.eq, operator.ne,
]  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_as_those_of_numpy(dtype: str) -> None:
    info = numpy.iinfo(dtype)
    edges = [info.min, info.min + 1, info.max, info.max - 1, info.max // 2, 0, 1, 2, 3, 7, 11, 100]
    edges += [-1, -2, -7, -100] if dtype in SIGNED else [200]
    x, y = (part.ravel() for part in numpy.meshgrid(*[numpy.array(edges, dtype)] * 2))
    with numpy.errstate(all="ignore"):
        for op in INTEGER_OPS:
            same = op(np.array(x), np.array(y)).asnumpy()
            want = op(x, y)
            assert same.dtype == want.dtype
            numpy.testing.assert_array_equal(same, want, str(op))
        for name in ("negative", "abs", "invert", "square", "sign", "maximum", "minimum"):
            args = (x, y) if name in ("maximum", "minimum") else (x,)
            got = getattr(np, name)(*map(np.array, args))
            numpy.testing.assert_array_equal(got.asnumpy(), getattr(numpy, name)(*args))
        small = np.array(x) ** np.array(y % 9)
        numpy.testing.assert_array_equal(small.asnumpy(), x ** (y % 9))


@pytest.mark.parametrize("dtype", HALVES)
def test_half_floats_round_as_those_of_numpy(dtype: str) -> None:
    every = halves(dtype)
    x = np.array(every)
    shuffled = numpy.random.default_rng(1).permutation(every)
    with numpy.errstate(all="ignore"):
        for op in (operator.add, operator.sub, operator.mul, operator.truediv):
            same_bits(op(x, np.array(shuffled)), op(every, shuffled))
        same_bits(np.sqrt(x), numpy.sqrt(every.astype("float32")).astype(dtype))
        same_bits(-x, -every)
        same_bits(x.astype("float32"), every.astype("float32"))
        # Fused ops round after every op too.
        same_bits((x * x + x) / 3, ((every * every + every) / every.dtype.type(3)))


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "expm1", "log1p"])
def test_functions_of_half_floats_are_off_by_one_place_at_the_most(dtype: str, name: str) -> None:
    every = halves(dtype)
    with numpy.errstate(all="ignore"):
        want = getattr(numpy, name)(every.astype("float64"))
        got = getattr(np, name)(np.array(every)).asnumpy().astype("float64")
        unit = numpy.spacing(numpy.abs(want.astype(dtype)))
        near = numpy.abs(got - want) <= unit.astype("float64")
    rounded = want.astype(dtype).astype("float64")
    assert (near | (got == rounded) | (numpy.isnan(got) & numpy.isnan(want))).all()


@pytest.mark.parametrize("dtype", HALVES)
def test_floats_narrow_by_one_rounding(dtype: str) -> None:
    generator = numpy.random.default_rng(2)
    for source in ("float32", "float64"):
        bits = generator.integers(0, 2**64, 100_000, "uint64")
        numbers = bits.astype("uint32").view("float32") if source == "float32" else bits.view("float64")
        near = generator.standard_normal(100_000).astype(source)
        for values in (numbers, near, near * float(np.finfo(dtype).smallest_normal)):
            # The package rounds doubles twice on the way to bfloat16.
            if source == "float32" or dtype == "float16":
                with numpy.errstate(all="ignore"):
                    same_bits(np.array(values).astype(dtype), values.astype(dtype))
    tie = numpy.array([1 + 2**-8 + 2**-40], "float64")
    assert np.array(tie).astype("bfloat16").astype("float64").item() == 1 + 2**-7


@pytest.mark.parametrize("dtype", HALVES)
def test_sums_of_half_floats_are_rounded_once(dtype: str) -> None:
    x = np.full((5000,), 0.1, dtype)
    exact = 5000 * float(x[0].astype("float64").item())
    for got in (x.sum(), x.reshape(50, 100).sum(1).astype("float32").sum()):
        assert abs(got.item() - exact) <= float(np.finfo(dtype).eps) * exact
    # The sum does not fit into half precision, but the mean does.
    many = np.full((1000,), 1000, dtype)
    assert many.mean().item() == 1000 and many.mean().dtype == dtype
    assert many.var().item() == 0 and many.std().dtype == dtype
    assert (many.sum().item() == numpy.inf) == (dtype == "float16")


def test_dtypes_of_reductions() -> None:
    for dtype in DTYPES:
        x = np.ones((2, 3), dtype)
        total = {"b": "int64", "i": "int64", "u": "uint64"}.get(numpy.dtype(dtype).kind, dtype)
        assert x.sum().dtype == x.prod(0).dtype == total
        assert x.max(0).dtype == x.min().dtype == dtype
        assert x.argmax(0).dtype == np.int64
        assert x.mean().dtype == (dtype if dtype in FLOATS else "float64")
    big = np.full((3,), 2**63, "uint64")
    assert big.max().item() == 2**63 and np.array([1, 2**63, 5], "uint64").argmax().item() == 1
    assert np.array([200, 100], "uint8").sum().item() == 300


@pytest.mark.parametrize("dtype", [*INTEGERS, *HALVES])
def test_products(dtype: str) -> None:
    generator = numpy.random.default_rng(3)
    for m, n, k in [(3, 4, 5), (1, 70, 600), (65, 33, 130), (2, 3, 0)]:
        a, b = (generator.integers(-4, 5, size).astype("int8").astype(dtype) for size in [(m, k), (k, n)])
        got = np.array(a) @ np.array(b)
        assert got.dtype == dtype
        want = a.astype("float64") @ b.astype("float64")
        if dtype in INTEGERS:
            numpy.testing.assert_array_equal(got.asnumpy(), a @ b)
        else:
            same_bits(got, want.astype(dtype))


@pytest.mark.parametrize(("a", "b"), itertools.product(DTYPES, DTYPES))
def test_casts(a: str, b: str) -> None:
    numbers = numpy.array([0, 1, 2, 3, 100, 0, 1], "int64").astype(a)
    for values in (numbers, numbers[::-2]):
        got = np.array(values).astype(b)
        assert got.dtype == b
        numpy.testing.assert_array_equal(got.asnumpy().astype("float64"), values.astype(b).astype("float64"))
    # Into a view, with a cast.
    base = np.zeros((2, 7), b)
    base[:, ::2] = np.array(numbers[:4])
    assert base[1, ::2].astype("float64").tolist() == numbers[:4].astype(b).astype("float64").tolist()


def test_floats_beyond_the_range_of_integers_are_clamped() -> None:
    x = np.array([-1e30, -1.9, 0.9, 300.7, 1e30, numpy.nan, numpy.inf])
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        middle = [int(numpy.clip(number, info.min, info.max)) for number in (-1, 0, 300)]
        assert x.astype(dtype).tolist() == [info.min, *middle, info.max, 0, info.max]


@pytest.mark.parametrize("dtype", DTYPES)
def test_everything_that_moves_elements(dtype: str) -> None:
    plain = numpy.arange(24).reshape(2, 3, 4).astype(dtype)
    x = np.array(plain)
    same = [
        (x.T, plain.T),
        (x[:, ::-1, 1:], plain[:, ::-1, 1:]),
        (np.concatenate([x, x], 1), numpy.concatenate([plain, plain], 1)),
        (np.stack([x, x]), numpy.stack([plain, plain])),
        (np.take(x, np.array([2, 0, 1], dtype="uint8"), 1), numpy.take(plain, [2, 0, 1], 1)),
        (np.where(x > 5, x, x[:, :, ::-1]), numpy.where(plain > 5, plain, plain[:, :, ::-1])),
        (np.repeat(x, 2, 0), numpy.repeat(plain, 2, 0)),
        (np.broadcast_to(x[0, 0], (5, 4)).copy(), numpy.broadcast_to(plain[0, 0], (5, 4))),
        (x.copy(), plain),
        (np.full((2, 2), 1, dtype), numpy.full((2, 2), 1, dtype)),
        (np.eye(3, k=1, dtype=dtype), numpy.eye(3, k=1).astype(dtype)),
        (np.arange(2, 9, 3).astype(dtype), numpy.arange(2, 9, 3).astype(dtype)),
        (np.zeros((0, 3), dtype), numpy.zeros((0, 3), dtype)),
    ]
    for got, want in same:
        assert got.dtype == dtype
        numpy.testing.assert_array_equal(got.asnumpy().astype("float64"), want.astype("float64"))
    x[1:, 0] = 1
    assert x[1, 0].astype("float64").tolist() == [1.0] * 4


@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back(dtype: str, tmp_path: pathlib.Path) -> None:
    plain = numpy.arange(6).reshape(2, 3).astype(dtype)
    for values in (plain, plain.T, plain[:, ::-1], plain[0, 0]):
        x = np.array(values)
        assert x.dtype == dtype == x.asnumpy().dtype and x.nbytes == values.nbytes
        assert x.asnumpy().tobytes() == values.tobytes()
        assert x.tolist() == values.tolist()
    npx.save(str(tmp_path / "x"), {"x": np.array(plain)})
    back = npx.load(str(tmp_path / "x"))["x"]  # type: ignore[call-overload]
    assert back.dtype == dtype and back.tolist() == plain.tolist()
    assert repr(np.array(plain)).endswith(("])", f"dtype={dtype})"))
    assert np.dtype(dtype) == dtype == plain.dtype and np.dtype(plain.dtype).name == dtype
    assert np.array(plain[0].tolist(), dtype=dtype).dtype == dtype
    assert np.array(1, dtype=dtype).item() == 1


def test_bfloat16_without_the_package_is_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([1.5, -0.1, numpy.inf], dtype="bfloat16")
    assert x.asnumpy().dtype == ml_dtypes.bfloat16
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    read = x.asnumpy()
    assert read.dtype == numpy.float32 and not read.flags.writeable
    numpy.testing.assert_array_equal(read, x.astype("float32").asnumpy())
    with pytest.raises(TypeError, match="NumPy has no bfloat16 without the package ml_dtypes"):
        numpy.zeros(2, np.bfloat16)


def test_half_floats_print_few_digits() -> None:
    assert str(np.array([0.1, 2.5], dtype="float16")) == "[0.1 2.5]"
    assert repr(np.array([0.1, 2.5], dtype="bfloat16")) == "array([0.1001, 2.5   ], dtype=bfloat16)"
    assert str(np.array([0.1, 2.5], dtype="bfloat16")) == "[0.1001 2.5   ]"


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_of_half_floats(dtype: str) -> None:
    x = np.array([0.5, -1.25, 2.0], dtype=dtype)
    x.attach_grad()
    with autograd.record():
        loss = (np.tanh(x) * x).sum() + (x @ x) + x.mean()
    loss.backward()
    assert x.grad.dtype == dtype and loss.dtype == dtype
    plain = x.astype("float64").asnumpy()
    want = numpy.tanh(plain) + plain / numpy.cosh(plain) ** 2 + 2 * plain + 1 / 3
    numpy.testing.assert_allclose(x.grad.astype("float64").asnumpy(), want, rtol=8 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("dtype", HALVES)
def test_random_half_floats(dtype: str) -> None:
    npx.seed(3)
    drawn = np.random.uniform(-1, 3, (20_000,), dtype=dtype).astype("float64").asnumpy()
    assert drawn.min() >= -1 and drawn.max() < 3 and abs(drawn.mean() - 1) < 0.05
    assert np.random.uniform(size=(100_000,), dtype=dtype).max().item() < 1
    normal = np.random.normal(2.0, 0.5, (20_000,), dtype=dtype)
    assert normal.dtype == dtype and abs(normal.astype("float32").mean().item() - 2) < 0.05
    with pytest.raises(TypeError, match="needs a float dtype, not uint8"):
        np.random.normal(size=(2,), dtype="uint8")


def test_limits_of_floats() -> None:
    for name in FLOATS:
        ours, theirs = np.finfo(name), ml_dtypes.finfo(name)
        for field in ("bits", "eps", "max", "min", "smallest_normal", "smallest_subnormal", "tiny"):
            assert float(getattr(ours, field)) == float(getattr(theirs, field)), (name, field)
    assert np.finfo(np.ones((2,), "float16")).dtype == np.float16
    assert repr(np.finfo("float16")) == "finfo(min=-65504.0, max=65504.0, dtype=float16)"
    with pytest.raises(ValueError, match="finfo: int8 is not a float dtype"):
        np.finfo("int8")
    with pytest.raises(ValueError, match="iinfo: float32 is not an integer dtype"):
        np.iinfo(np.float32)


def test_kinds() -> None:
    for name in DTYPES:
        assert np.isdtype(name, "signed integer") == (name in SIGNED)
        assert np.isdtype(name, "unsigned integer") == (name in UNSIGNED)
        assert np.isdtype(np.dtype(name), ("integral", "bool")) == (name not in FLOATS)
        assert np.isdtype(name, "real floating") == (name in FLOATS)
        assert np.isdtype(name, "numeric") == (name != "bool")
        assert np.isdtype(name, np.dtype(name)) and np.isdtype(name, name)
    with pytest.raises(TypeError, match="dtype wonderful is not supported"):
        np.isdtype("int8", "wonderful")
    with pytest.raises(ValueError, match="at least one"):
        np.result_type()


COMPLEX = ["complex64", "complex128"]


def points(dtype: str) -> numpy.ndarray:
    """Return complex numbers of all quadrants and magnitudes, and on the axes."""
    generator = numpy.random.default_rng(5)
    sizes = numpy.exp(generator.uniform(-6, 3, 400))
    numbers = sizes * numpy.exp(1j * generator.uniform(-numpy.pi, numpy.pi, 400))
    axes = [1, -1, 1j, -1j, 2.5, -0.5, 3j, -0.25j, 1 + 1j, -1 - 1j]
    return numpy.concatenate([numbers, axes]).astype(dtype)


def near(got: np.ndarray, want: numpy.ndarray, dtype: str, places: float) -> None:
    """Compare within a number of ulp of the magnitude."""
    read = got.asnumpy()
    assert read.dtype == dtype and read.shape == want.shape
    eps = float(np.finfo(dtype).eps)
    assert (numpy.abs(read - want) <= places * eps * numpy.maximum(numpy.abs(want), 1e-300)).all()


@pytest.mark.parametrize("dtype", COMPLEX)
def test_arithmetic_of_complex_numbers(dtype: str) -> None:
    x = points(dtype)
    y = numpy.roll(x, 7)
    a, b = np.array(x), np.array(y)
    wide, other = x.astype("complex128"), y.astype("complex128")
    near(a + b, wide + other, dtype, 4)
    near(a - b, wide - other, dtype, 4)
    near(a * b, wide * other, dtype, 8)
    near(a / b, wide / other, dtype, 12)
    near(-a, -wide, dtype, 0)
    near(np.square(a), wide * wide, dtype, 8)
    near(np.reciprocal(a), 1 / wide, dtype, 12)
    near(a * 2 + 1j, wide * 2 + 1j, dtype, 8)
    near(np.sqrt(a), numpy.sqrt(wide), dtype, 8)
    near(a * np.array(numpy.float32(2)), wide * 2, dtype, 4)
    assert ((a == b).asnumpy() == (x == y)).all() and ((a != a).asnumpy() == (x != x)).all()
    size = np.abs(a)
    assert size.dtype == ("float32" if dtype == "complex64" else "float64")
    numpy.testing.assert_allclose(size.asnumpy(), numpy.abs(wide), rtol=4 * float(np.finfo(dtype).eps))
    numpy.testing.assert_array_equal(a.real.asnumpy(), x.real)
    numpy.testing.assert_array_equal(np.imag(a).asnumpy(), x.imag)
    numpy.testing.assert_array_equal(np.conj(a).asnumpy(), numpy.conj(x))
    numpy.testing.assert_array_equal(np.where(a.real > 0, a, b).asnumpy(), numpy.where(x.real > 0, x, y))


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", ["exp", "log", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh"])
def test_functions_of_complex_numbers(dtype: str, name: str) -> None:
    x = points(dtype)
    near(getattr(np, name)(np.array(x)), getattr(numpy, name)(x.astype("complex128")), dtype, 64)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_powers_of_complex_numbers(dtype: str) -> None:
    x = points(dtype)
    y = numpy.roll(x, 3) / 8
    near(np.array(x) ** np.array(y), x.astype("complex128") ** y.astype("complex128"), dtype, 300)
    near(np.array(x) ** 2, x.astype("complex128") ** 2, dtype, 64)
    zero = np.array([0j, 0j], dtype) ** np.array([0j, 2j], dtype)
    assert zero.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", COMPLEX)
def test_sums_and_products_of_complex_numbers(dtype: str) -> None:
    x = points(dtype)[:120].reshape(4, 5, 6)
    wide = x.astype("complex128")
    for axis in (None, 0, -1, (0, 2)):
        near(np.array(x).sum(axis), numpy.asarray(wide.sum(axis)), dtype, 200)
        near(np.array(x).mean(axis), numpy.asarray(wide.mean(axis)), dtype, 200)
        unit = (x / numpy.abs(x)).astype(dtype)
        near(np.array(unit).prod(axis), numpy.asarray(unit.astype("complex128").prod(axis)), dtype, 400)
    a, b = x[0], numpy.ascontiguousarray(x[1].T)
    near(np.array(a) @ np.array(b), a.astype("complex128") @ b.astype("complex128"), dtype, 400)


def test_complex_numbers_have_no_order() -> None:
    z = np.array([1 + 2j, 3])
    for refused in (
        lambda: z < z, z.max, z.argmin, lambda: np.maximum(z, z), lambda: z // z, lambda: z % z,
        lambda: np.floor(z), lambda: z & z, lambda: np.arange(1j, 2, 1), lambda: float(z[0]), lambda: int(z[0]),
        lambda: z.astype("float32"), lambda: z.astype("int64"),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            refused()
    real = np.zeros((2,))
    with pytest.raises(TypeError, match="imaginary part"):
        real[:] = z
    with pytest.raises(TypeError, match="imaginary part"):
        real[0] = 1j
    with pytest.raises(TypeError, match="cannot write a result of complex64"):
        real += 1j


def test_complex_numbers_in_and_out() -> None:
    assert np.array([1 + 2j, 3]).dtype == np.array(1j).dtype == "complex64"
    assert np.dtype(complex) == "complex128"
    assert np.array(numpy.array([1j])).dtype == "complex128"
    assert np.array([1, 2], dtype="complex128").dtype == "complex128"
    for dtype in COMPLEX:
        z = np.array([[1 + 2j, 3 - 1j]], dtype)
        assert z.asnumpy().dtype == dtype and z.tolist() == [[1 + 2j, 3 - 1j]]
        assert z[0, 1].item() == complex(z[0, 1]) == 3 - 1j
        assert z.T[::-1].tolist() == [[3 - 1j], [1 + 2j]]
        assert str(z) == "[[1.+2.j 3.-1.j]]" and repr(z) == f"array([[1.+2.j, 3.-1.j]], dtype={dtype})"
        full = np.full((2, 2), 0.5 - 1j, dtype)
        assert full.tolist() == [[0.5 - 1j] * 2] * 2 and full.dtype == dtype
        z[0, 0] = 7j
        z += 1j
        assert z.tolist() == [[8j, 3 + 0j]]
        assert bool(z.all()) and z.astype("bool").tolist() == [[True, True]]
        assert np.zeros((2,), dtype).astype("bool").tolist() == [False, False]
        assert (np.ones((2,), dtype) + 2j).dtype == dtype and (np.ones((2,), dtype) * 2.5).dtype == dtype
    for dtype, want in (
        ("int8", "complex64"),
        ("float16", "complex64"),
        ("float32", "complex64"),
        ("float64", "complex128"),
    ):
        assert (np.ones((2,), dtype) + 1j).dtype == want == np.result_type(dtype, 1j)
    assert (
        np.result_type("float64", "complex64") == "complex128" and np.result_type("int64", "complex64") == "complex64"
    )
    assert np.finfo("complex64").bits == 32 and np.isdtype("complex128", "complex floating")
    assert np.iscomplexobj(1j) and np.isrealobj(1.0) and np.isreal([1j, 1]).tolist() == [False, True]
    assert np.iscomplex([1j, 1]).tolist() == [True, False] and np.imag([1, 2]).tolist() == [0, 0]
    assert np.isnan(np.array([complex("nan"), 1j])).tolist() == [True, False]
    assert np.isinf(np.array([complex(0, numpy.inf), 1j])).tolist() == [True, False]
    assert abs(np.array([complex(numpy.inf, numpy.nan), 3 + 4j])).tolist() == [numpy.inf, 5]


def test_complex_programs_do_not_show_how_they_are_planned() -> None:
    for dtype in COMPLEX:
        results = []
        for fuse, tiny in ((True, 0), (False, 0), (True, 1 << 20)):
            former = _forerun.set_fuse(fuse), _forerun.set_tiny_limit(tiny)
            z = np.array(points(dtype))
            w = np.exp(z / 3) * np.conj(z) + np.sqrt(z) / (z * 1.5 - 2j) - abs(z)
            results.append((w.asnumpy().tobytes(), w.sum().item()))
            _forerun.set_fuse(former[0])
            _forerun.set_tiny_limit(former[1])
        assert results[0] == results[1] == results[2]
