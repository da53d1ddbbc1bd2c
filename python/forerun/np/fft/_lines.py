"""Fourier transforms along one axis."""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import complex64, complex128, default_float, float32, float64, ndarray
from forerun._types import ArrayLike
from forerun.np._complex import conj

__all__ = ["fft", "hfft", "ifft", "ihfft", "irfft", "rfft"]

# The divisor of the forward and the inverse transform: 1, the number of points, or its square root.
_SCALES = {"backward": (0, 1), "forward": (1, 0), "ortho": (2, 2)}


def scale(op: str, norm: str | None, back: bool) -> int:
    """Return the integer attribute for a norm."""
    try:
        return _SCALES["backward" if norm is None else norm][back]
    except KeyError:
        raise ValueError(f"{op}: norm must be backward, ortho or forward, got {norm!r}") from None


def to_complex(value: ArrayLike) -> ndarray:
    """Convert to a complex array of the same precision."""
    x = to_array(value)
    if x.dtype in (complex64, complex128):
        return x
    wide = x.dtype == float64 or (x.dtype.kind in "biu" and default_float() == float64)
    return x.astype(complex128 if wide else complex64)


def to_real(op: str, value: ArrayLike) -> ndarray:
    """Convert to a float array that transforms accept; raise for complex numbers."""
    x = to_array(value)
    if x.dtype in (complex64, complex128):
        raise TypeError(f"{op}: not defined for {x.dtype}: take the real part")
    if x.dtype in (float32, float64):
        return x
    return x.astype(default_float() if x.dtype.kind in "biu" else float32)


def axis_of(op: str, x: ndarray, axis: SupportsIndex) -> int:
    """Normalise an axis to a non-negative number; raise if it is out of bounds."""
    at = index(axis)
    if not -x.ndim <= at < x.ndim:
        raise IndexError(f"{op}: axis {at} is out of bounds for array of dimension {x.ndim}")
    return at % x.ndim


def fitted(x: ndarray, points: int, axis: int) -> ndarray:
    """Crop an axis to a number of points, or pad it with zeros."""
    extent = x.shape[axis]
    if points <= extent:
        return x if points == extent else x[(slice(None),) * axis + (slice(0, points),)]
    shape = (*x.shape[:axis], points - extent, *x.shape[axis + 1 :])
    return _forerun.concatenate([x, _forerun.full(shape, 0, x.dtype, x.device)], axis)


def points_of(op: str, n: SupportsIndex | None, given: int) -> int:
    """Return the requested number of points, or the extent of the axis."""
    points = given if n is None else index(n)
    if points < 1:
        raise ValueError(f"{op}: cannot transform {points} points")
    return points


def complete(
    op: str, x: ndarray, n: SupportsIndex | None, axis: SupportsIndex, norm: str | None, *, back: bool
) -> ndarray:
    """Transform complex numbers, forward or inverse."""
    at = axis_of(op, x, axis)
    x = fitted(x, points_of(op, n, x.shape[at]), at)
    return _forerun.routine("fft", [x], axis=at, back=back, scale=scale(op, norm, back))


def forward(op: str, x: ndarray, n: SupportsIndex | None, axis: SupportsIndex, word: int) -> ndarray:
    """Transform floats to the first half of their Hermitian-symmetric transform."""
    at = axis_of(op, x, axis)
    return _forerun.routine("rfft", [fitted(x, points_of(op, n, x.shape[at]), at)], axis=at, scale=word)


def backward(op: str, x: ndarray, n: SupportsIndex | None, axis: SupportsIndex, word: int) -> ndarray:
    """Transform the first half of a Hermitian-symmetric array to floats."""
    at = axis_of(op, x, axis)
    points = points_of(op, n, 2 * (x.shape[at] - 1))
    return _forerun.routine("irfft", [fitted(x, points // 2 + 1, at)], axis=at, n=points, scale=word)


def fft(a: ArrayLike, n: SupportsIndex | None = None, axis: SupportsIndex = -1, norm: str | None = None) -> ndarray:
    """Compute the Fourier transform along an axis.

    The axis is cropped to ``n`` points, or padded with zeros. ``norm="backward"``, the default, divides the inverse
    transform by the number of points, ``"forward"`` the forward transform, and ``"ortho"`` both by its square root.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.fft(np.array([1.0, 0.0, -1.0, 0.0]))
    array([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j], dtype=complex64)
    """
    return complete("fft", to_complex(a), n, axis, norm, back=False)


def ifft(a: ArrayLike, n: SupportsIndex | None = None, axis: SupportsIndex = -1, norm: str | None = None) -> ndarray:
    """Compute the inverse Fourier transform along an axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.ifft(np.array([4.0, 0.0, 0.0, 0.0]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return complete("ifft", to_complex(a), n, axis, norm, back=True)


def rfft(a: ArrayLike, n: SupportsIndex | None = None, axis: SupportsIndex = -1, norm: str | None = None) -> ndarray:
    """Compute the first half of the Fourier transform of real numbers along an axis; the rest is symmetric.

    Examples
    --------
    >>> from forerun import np
    >>> np.abs(np.fft.rfft(np.array([1.0, 1.0, 1.0, 1.0])))
    array([4., 0., 0.])
    """
    return forward("rfft", to_real("rfft", a), n, axis, scale("rfft", norm, False))


def irfft(a: ArrayLike, n: SupportsIndex | None = None, axis: SupportsIndex = -1, norm: str | None = None) -> ndarray:
    """Compute the inverse of :func:`rfft`: ``n`` real numbers.

    The default of ``n`` is ``2 * (m - 1)`` for an axis of extent ``m``. The imaginary part of the first point, and of
    the last point if ``n`` is even, is ignored.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.irfft(np.array([0.0, 2.0, 0.0]))
    array([ 1.,  0., -1.,  0.])
    """
    return backward("irfft", to_complex(a), n, axis, scale("irfft", norm, True))


def hfft(a: ArrayLike, n: SupportsIndex | None = None, axis: SupportsIndex = -1, norm: str | None = None) -> ndarray:
    """Compute the real Fourier transform of a Hermitian-symmetric signal, given its first half.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.hfft(np.array([1.0, 2.0, 1.0]))
    array([ 6.,  0., -2.,  0.])
    """
    return backward("hfft", conj(to_complex(a)), n, axis, scale("hfft", norm, False))


def ihfft(a: ArrayLike, n: SupportsIndex | None = None, axis: SupportsIndex = -1, norm: str | None = None) -> ndarray:
    """Compute the inverse of :func:`hfft`.

    Examples
    --------
    >>> from forerun import np
    >>> np.real(np.fft.ihfft(np.array([6.0, 0.0, -2.0, 0.0])))
    array([1., 2., 1.])
    """
    return conj(forward("ihfft", to_real("ihfft", a), n, axis, scale("ihfft", norm, True)))
