"""Fourier transforms compared with NumPy."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays
from hypothesis.strategies import complex_numbers, sampled_from

from forerun import autograd, np

DTYPES = ["complex64", "complex128"]
PARTS = {"complex64": "float32", "complex128": "float64"}
LENGTHS = [1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 33, 60, 97, 128]
NORMS: list[Any] = [None, "backward", "ortho", "forward"]


def drawn(*shape: int) -> numpy.ndarray:
    generator = numpy.random.default_rng(len(shape) + sum(shape))
    made: numpy.ndarray = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return made


def close(got: Any, want: numpy.ndarray, dtype: str) -> None:
    """Compare with NumPy's transform in double precision."""
    found = got.asnumpy()
    assert (found.shape, found.dtype.name) == (want.shape, dtype)
    points = max(want.size, 1)
    bound = 8 * float(numpy.finfo(found.dtype).eps) * numpy.sqrt(points) * float(abs(want).max(initial=1.0))
    numpy.testing.assert_allclose(found, want, rtol=0, atol=bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", LENGTHS)
def test_transforms_of_every_length(n: int, dtype: str) -> None:
    for shape, axis in [((n,), 0), ((3, n), 1), ((n, 3), 0), ((2, n, 3), 1)]:
        x = drawn(*shape)
        given = np.array(x.astype(dtype))
        close(np.fft.fft(given, axis=axis), numpy.fft.fft(x, axis=axis), dtype)
        close(np.fft.ifft(given, axis=axis), numpy.fft.ifft(x, axis=axis), dtype)
        real = np.array(x.real.astype(PARTS[dtype]))
        half = np.fft.rfft(real, axis=axis)
        close(half, numpy.fft.rfft(x.real, axis=axis), dtype)
        close(np.fft.irfft(half, n, axis), x.real, PARTS[dtype])


ONE: list[Any] = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("norm", NORMS)
def test_one_axis(name: str, norm: Any) -> None:
    x = drawn(4, 5)
    x = x.real if name in ("rfft", "ihfft") else x
    ours, theirs = getattr(np.fft, name), getattr(numpy.fft, name)
    want = "float64" if name in ("irfft", "hfft") else "complex128"
    for n in (None, 1, 2, 3, 5, 6, 9):
        for axis in (0, 1, -1, -2):
            close(ours(np.array(x), n, axis, norm), theirs(x, n, axis, norm), want)
            close(ours(np.array(x), n=n, axis=axis, norm=norm), theirs(x, n, axis, norm), want)


MANY: list[Any] = [
    ({}),
    ({"s": (3, 6)}),
    ({"s": (2, -1), "axes": (0, 1)}),
    ({"axes": (0,)}),
    ({"axes": (-1, 0)}),
    ({"s": (5, 2), "axes": (1, 2)}),
]


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
@pytest.mark.parametrize("norm", NORMS)
def test_several_axes(name: str, norm: Any) -> None:
    x = drawn(3, 4, 5)
    x = x.real if name == "rfft" else x
    want = "float64" if name == "irfft" else "complex128"
    for args in MANY:
        # NumPy requires axes together with points.
        theirs = {**args, "axes": args.get("axes", range(-len(args["s"]), 0) if "s" in args else None)}
        for many in ("2", "n"):
            if many == "2" and len(args.get("axes", (0, 1))) != 2:
                continue
            kept = {key: value for key, value in theirs.items() if many == "n" or key in args}
            ours = getattr(np.fft, name + many)(np.array(x), norm=norm, **args)
            close(ours, getattr(numpy.fft, name + many)(x, norm=norm, **kept), want)


def test_no_axes() -> None:
    x = drawn(3)
    close(np.fft.fftn(np.array(x), axes=()), x, "complex128")
    close(np.fft.fftn(np.array(2.0)), numpy.array(2.0), "complex64")
    for call in (np.fft.rfftn, np.fft.irfftn):
        with pytest.raises(ValueError, match=f"{call.__name__}: needs at least one axis"):
            call(np.ones((2,)), axes=())


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint16", "float16", "bfloat16", "float32", "float64"])
def test_dtypes(dtype: str) -> None:
    x = np.array([1, 0, 1, 1]).astype(dtype)
    wide = "complex128" if dtype == "float64" else "complex64"
    plain = numpy.array([1.0, 0.0, 1.0, 1.0])
    close(np.fft.fft(x), numpy.fft.fft(plain), wide)
    close(np.fft.rfft(x), numpy.fft.rfft(plain), wide)
    close(np.fft.irfft(x), numpy.fft.irfft(plain), PARTS[wide])
    close(np.fft.hfft(x), numpy.fft.hfft(plain), PARTS[wide])


def test_views_lists_and_empty_stacks() -> None:
    x = drawn(6, 4)
    close(np.fft.fft(np.array(x).T[::2]), numpy.fft.fft(x.T[::2]), "complex128")
    close(np.fft.irfft(np.array(x)[::-1, 1:], axis=0), numpy.fft.irfft(x[::-1, 1:], axis=0), "float64")
    close(np.fft.fft([1.0, 2.0, 3.0]), numpy.fft.fft([1.0, 2.0, 3.0]), "complex64")
    close(np.fft.fft(np.zeros((0, 3))), numpy.zeros((0, 3)), "complex64")
    close(np.fft.rfft(np.zeros((0, 4))), numpy.zeros((0, 3)), "complex64")
    close(np.fft.fft(np.zeros((0,)), 4), numpy.zeros(4), "complex64")


def test_parts_that_no_mirror_has_are_left_out() -> None:
    x = drawn(5)
    for n in (8, 9):
        close(np.fft.irfft(np.array(x), n), numpy.fft.irfft(x, n), "float64")


def test_what_is_refused() -> None:
    x = np.ones((2, 3))
    for name in ONE:
        call = getattr(np.fft, name)
        with pytest.raises(ValueError, match=f"{name}: cannot transform 0 points"):
            call(x, 0)
        with pytest.raises(IndexError, match=f"{name}: axis 2 is out of bounds for array of dimension 2"):
            call(x, axis=2)
        with pytest.raises(ValueError, match=f"{name}: norm must be backward, ortho or forward, got 'other'"):
            call(x, norm="other")
        with pytest.raises(IndexError, match=f"{name}: axis -1 is out of bounds for array of dimension 0"):
            call(np.array(1.0))
    for name in ("rfft", "ihfft", "rfft2", "rfftn"):
        with pytest.raises(TypeError, match=f"{name}: not defined for complex64: take the real part"):
            getattr(np.fft, name)(np.ones((2, 2), dtype="complex64"))
    with pytest.raises(ValueError, match="irfft: cannot transform 0 points"):
        np.fft.irfft(np.ones((1,)))
    with pytest.raises(ValueError, match="fftn: 3 axes of an array of dimension 2"):
        np.fft.fftn(x, (1, 2, 3))
    with pytest.raises(ValueError, match="fftn: 1 numbers of points for 2 axes"):
        np.fft.fftn(x, (1,), (0, 1))


def test_a_filter_has_gradients() -> None:
    x = np.array(drawn(8).real)
    mask = np.array([1.0, 1.0, 0.5, 0.0, 0.0], dtype="float64")
    x.attach_grad()
    with autograd.record():
        kept = np.fft.irfft(np.fft.rfft(x) * mask)
        loss = (kept * kept).sum()
    loss.backward()
    # The filter is symmetric, so the gradient is filtered twice.
    twice = numpy.fft.irfft(numpy.fft.rfft(x.asnumpy()) * mask.asnumpy() ** 2)
    numpy.testing.assert_allclose(x.grad.asnumpy(), 2 * twice, atol=1e-12)


@given(
    arrays(
        numpy.complex128,
        array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6),
        elements=complex_numbers(max_magnitude=100),
    ),
    sampled_from(["fftn", "ifftn", "irfftn"]),
)
def test_any_array(x: numpy.ndarray, name: str) -> None:
    if name == "irfftn" and x.shape[-1] == 1:
        return
    want = getattr(numpy.fft, name)(x)
    found = getattr(np.fft, name)(np.array(x)).asnumpy()
    numpy.testing.assert_allclose(found, want, rtol=0, atol=1e-11 * (1 + abs(x).sum()))


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_frequencies(n: int) -> None:
    numpy.testing.assert_allclose(np.fft.fftfreq(n, 0.5).asnumpy(), numpy.fft.fftfreq(n, 0.5), rtol=1e-6)
    numpy.testing.assert_allclose(np.fft.rfftfreq(n, 0.1).asnumpy(), numpy.fft.rfftfreq(n, 0.1), rtol=1e-6)
    assert np.fft.fftfreq(n).dtype == np.float32 and np.fft.rfftfreq(n, dtype="float64").dtype == np.float64


def test_no_frequencies() -> None:
    for call, name in ((np.fft.fftfreq, "fftfreq"), (np.fft.rfftfreq, "rfftfreq")):
        with pytest.raises(ValueError, match=f"{name}: the number of points must be positive, got 0"):
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
