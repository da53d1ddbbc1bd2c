"""The default float: values without a dtype take it, others keep theirs; averages of integers are float64."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy
import pytest

from forerun import np, npx


@pytest.fixture
def double() -> Iterator[None]:
    npx.set_np(dtype=True)
    yield
    npx.reset_np()


# Expressions without a dtype.
IMPLICIT: dict[str, Callable[[], np.ndarray]] = {
    "ones": lambda: np.ones(3),
    "zeros": lambda: np.zeros((2, 2)),
    "empty": lambda: np.empty(3),
    "full": lambda: np.full(3, 1.5),
    "eye": lambda: np.eye(2),
    "identity": lambda: np.identity(2),
    "tri": lambda: np.tri(2),
    "array": lambda: np.array([1.5]),
    "nested": lambda: np.array([[1, 2.5], [3, 4]]),
    "number": lambda: np.array(1.5),
    "asarray": lambda: np.asarray([1.5]),
    "mixed": lambda: np.array([[1.5], [numpy.bool_(True)]][:1]),
    "arange": lambda: np.arange(3.0),
    "linspace": lambda: np.linspace(0, 1, 3),
    "logspace": lambda: np.logspace(0, 1, 3),
    "geomspace": lambda: np.geomspace(1, 8, 4),
    "hanning": lambda: np.hanning(4),
    "normal": lambda: np.random.normal(size=3),
    "uniform": lambda: np.random.uniform(size=3),
    "gamma": lambda: np.random.gamma(2.0, size=3),
    "quotient": lambda: np.array([1, 2]) / np.array([3, 4]),
    "times": lambda: np.array([1, 2]) * 1.5,
    "exp": lambda: np.exp(np.array([1, 2])),
    "number alone": lambda: np.sqrt(2),
    "fftfreq": lambda: np.fft.fftfreq(4),
    "inv": lambda: np.linalg.inv(np.array([[1, 2], [3, 4]])),
    "frombuffer": lambda: np.frombuffer(bytes(16)),
    "fromfunction": lambda: np.fromfunction(lambda i: i, (3,)),
    "loadtxt": lambda: np.loadtxt(["1 2"]),
    "isclose bound": lambda: np.abs(np.array([1.5]) - 1),
}


@pytest.mark.parametrize("name", IMPLICIT)
def test_floats_without_a_width_take_the_default(name: str) -> None:
    assert IMPLICIT[name]().dtype == np.float32


@pytest.mark.parametrize("name", IMPLICIT)
def test_floats_without_a_width_take_numpys_default(name: str, double: None) -> None:
    assert IMPLICIT[name]().dtype == np.float64


def test_complex_numbers_follow_the_default(double: None) -> None:
    assert np.array([1j]).dtype == np.complex128
    assert np.array(1j).dtype == np.complex128
    assert np.fft.fft(np.array([1, 2])).dtype == np.complex128
    assert (np.array([1, 2]) * 1j).dtype == np.complex64 or (np.array([1, 2]) * 1j).dtype == np.complex128


def test_the_default_is_left_and_taken_up_again() -> None:
    x = np.array([1, 2])
    # The same op on the same shapes before, during and after: no cache keeps the other default.
    assert (x / 2).dtype == np.float32
    npx.set_np(dtype=True)
    try:
        assert npx.is_np_default_dtype()
        assert (x / 2).dtype == np.float64
        npx.set_np()
        assert (x / 2).dtype == np.float64
        assert "dtype" not in repr(x / 2)
        assert "dtype=float32" in repr(np.ones(1, "float32"))
    finally:
        npx.reset_np()
    assert not npx.is_np_default_dtype()
    assert (x / 2).dtype == np.float32


@pytest.mark.parametrize("asked", [float, "float", "float64", "f8", "d", numpy.float64, numpy.dtype("f8"), np.double])
def test_an_explicit_double_stays_one(asked: object) -> None:
    made = [
        np.zeros(2, asked), np.ones(2, asked), np.full(2, 1, asked), np.array([1.5], asked), np.arange(3, dtype=asked),
        np.linspace(0, 1, 3, dtype=asked), np.eye(2, dtype=asked), np.ones(2).astype(asked),
        np.random.normal(size=2, dtype=asked), np.array([1, 2]).mean(dtype=asked),
    ]  # fmt: skip
    assert [x.dtype.name for x in made] == ["float64"] * len(made)
    assert np.zeros(2, complex).dtype == np.complex128


def test_what_has_a_width_keeps_it() -> None:
    wide = numpy.float64(1.5)
    made = [
        np.array(wide), np.array([wide]), np.array(numpy.ones(2)), np.full(2, wide), np.arange(wide),
        np.linspace(numpy.float64(0), 1, 3), np.sqrt(wide), np.add(wide, 1), np.add(1, wide), np.asarray(numpy.ones(2)),
    ]  # fmt: skip
    assert [x.dtype.name for x in made] == ["float64"] * len(made)
    assert np.sqrt(numpy.float16(4)).dtype == np.float16
    assert np.full(2, numpy.int8(3)).dtype == np.int8
    # Next to an array, NumPy scalars do not affect the dtype.
    assert (np.ones(2) * wide).dtype == np.float32


LARGE = numpy.array([[1700000001, 1700000003, 1700000009], [5, 2**40 + 1, 7]])
AVERAGES: dict[str, Callable[..., object]] = {
    "mean": lambda m, x: m.mean(x),
    "mean of rows": lambda m, x: m.mean(x, axis=1),
    "method": lambda m, x: x.mean(0),
    "var": lambda m, x: m.var(x, axis=1),
    "std": lambda m, x: m.std(x),
    "average": lambda m, x: m.average(x, axis=0),
    "weights": lambda m, x: m.average(x, axis=1, weights=m.array([1, 2, 3])),
    "float weights": lambda m, x: m.average(x, axis=1, weights=m.array([1.0, 2.0, 3.0], "float32")),
    "median": lambda m, x: m.median(x, axis=1),
    "percentile": lambda m, x: m.percentile(x, 30),
    "quantile": lambda m, x: m.quantile(x, [0.25, 0.5], axis=1),
    "nanmean": lambda m, x: m.nanmean(x),
    "nanvar": lambda m, x: m.nanvar(x, axis=0),
    "nanmedian": lambda m, x: m.nanmedian(x),
    "cov": lambda m, x: m.cov(x),
    "norm": lambda m, x: m.linalg.norm(x),
    "vector norm": lambda m, x: m.linalg.vector_norm(x, axis=1),
    "gradient": lambda m, x: m.gradient(x, axis=1),
    "trapezoid": lambda m, x: m.trapezoid(x),
    "interp": lambda m, x: m.interp(x[0], x[0], x[1]),
    "polyfit": lambda m, x: m.polyfit(m.array([0, 1, 2]), x[0], 1),
    "histogram edges": lambda m, x: m.histogram(x[0], 4)[1],
}


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_of_integers_are_numpys(name: str) -> None:
    ours, theirs = AVERAGES[name](np, np.array(LARGE)), AVERAGES[name](numpy, LARGE)
    assert isinstance(ours, np.ndarray)
    assert ours.dtype == np.float64
    numpy.testing.assert_allclose(ours.asnumpy(), theirs, rtol=1e-13 if name != "polyfit" else 1e-6)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint64"])
def test_averages_of_every_integer_dtype(dtype: str) -> None:
    values = numpy.arange(7).astype(dtype)
    for name in ("mean", "var", "std", "median"):
        ours = getattr(np, name)(np.array(values))
        assert ours.dtype == np.float64
        numpy.testing.assert_allclose(ours.item(), getattr(numpy, name)(values.astype("int64")), rtol=1e-15)


def test_sums_of_integers_stay_integers() -> None:
    x = np.array(LARGE)
    for made, wanted in (
        (x.sum(), LARGE.sum()), (x.cumsum(), LARGE.cumsum()), (np.trace(x), numpy.trace(LARGE)),
        (np.cumsum(x, 1), LARGE.cumsum(1)), (np.array([3], "int8").sum(), 3), (x.prod(1), LARGE.prod(1)),
    ):  # fmt: skip
        assert made.dtype == np.int64
        numpy.testing.assert_array_equal(made.asnumpy(), wanted)


def test_integers_do_not_widen_floats() -> None:
    x = np.linspace(0, 1, 4)
    assert np.interp(x, np.array([0, 1]), x[:2]).dtype == np.float32
    assert x.mean().dtype == np.float32
    assert (x + np.array([1, 2, 3, 4])).dtype == np.float32


def test_the_environment_names_the_default() -> None:
    def told(value: str) -> tuple[str, str]:
        command = [sys.executable, "-c", "from forerun import np; print(np.ones(2).dtype, np.array([1.5]).dtype)"]
        env = {**os.environ, "FORERUN_DEFAULT_DTYPE": value}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip(), done.stderr

    assert told("float64") == ("float64 float64", "")
    assert told("float32") == ("float32 float32", "")
    assert told("") == ("float32 float32", "")
    out, error = told("half")
    assert out == "float32 float32"
    assert "FORERUN_DEFAULT_DTYPE=half is ignored: it must be float32 or float64" in error
