"""Fourier transforms against NumPy."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest

from forerun import _forerun, np

DTYPES = ["float32", "float64"]
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 33, 60, 97, 128]


def pairs(x: numpy.ndarray, dtype: str) -> numpy.ndarray:
    return numpy.stack([x.real, x.imag], -1).astype(dtype)


def drawn(*shape: int) -> numpy.ndarray:
    generator = numpy.random.default_rng(len(shape) + sum(shape))
    made: numpy.ndarray = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return made


def close(got: Any, want: numpy.ndarray, points: int) -> None:
    found = got.asnumpy()
    assert found.shape == want.shape
    bound = 8 * float(numpy.finfo(found.dtype).eps) * numpy.sqrt(points) * float(abs(want).max(initial=1.0))
    numpy.testing.assert_allclose(found, want, rtol=0, atol=bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_transforms_of_every_length(n: int, dtype: str) -> None:
    for shape, axis in [((n,), 0), ((3, n), 1), ((n, 3), 0), ((2, n, 3), 1)]:
        x = drawn(*shape)
        given = np.array(pairs(x, dtype))
        close(_forerun.routine("fft", [given], [axis, 0, 0]), pairs(numpy.fft.fft(x, axis=axis), dtype), n)
        close(_forerun.routine("fft", [given], [axis, 1, 1]), pairs(numpy.fft.ifft(x, axis=axis), dtype), n)
        real = np.array(x.real.astype(dtype))
        half = numpy.fft.rfft(x.real, axis=axis)
        close(_forerun.routine("rfft", [real], [axis, 0]), pairs(half, dtype), n)
        back = _forerun.routine("irfft", [np.array(pairs(half, dtype))], [axis, n, 1])
        close(back, numpy.fft.irfft(half, n, axis), n)
        close(back, x.real, n)


def test_parts_that_no_mirror_has_are_left_out() -> None:
    x = drawn(5)
    for n in (8, 9):
        close(_forerun.routine("irfft", [np.array(pairs(x, "float64"))], [0, n, 1]), numpy.fft.irfft(x, n), n)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_frequencies(n: int) -> None:
    numpy.testing.assert_allclose(np.fft.fftfreq(n, 0.5).asnumpy(), numpy.fft.fftfreq(n, 0.5), rtol=1e-6)
    numpy.testing.assert_allclose(np.fft.rfftfreq(n, 0.1).asnumpy(), numpy.fft.rfftfreq(n, 0.1), rtol=1e-6)
    assert np.fft.fftfreq(n).dtype == np.float32 and np.fft.rfftfreq(n, dtype="float64").dtype == np.float64


def test_no_frequencies() -> None:
    for call, name in ((np.fft.fftfreq, "fftfreq"), (np.fft.rfftfreq, "rfftfreq")):
        with pytest.raises(ValueError, match=f"{name}: no frequencies of 0 points"):
            call(0)


@pytest.mark.parametrize("shape", [(4,), (5,), (3, 4), (0, 3), (2, 3, 5)])
def test_shifts(shape: tuple[int, ...]) -> None:
    x = numpy.arange(numpy.prod(shape)).reshape(shape)
    every: list[Any] = [None, 0, -1, [0], (0, -1)] if len(shape) > 1 else [None, 0]
    for axes in every:
        assert (np.fft.fftshift(np.array(x), axes).asnumpy() == numpy.fft.fftshift(x, axes)).all()
        assert (np.fft.ifftshift(np.array(x), axes).asnumpy() == numpy.fft.ifftshift(x, axes)).all()
    with pytest.raises(IndexError, match=re.escape("fftshift: axis 3 is out of bounds")):
        np.fft.fftshift(np.array(x), 3)
