"""Fourier transforms along several axes."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from forerun._forerun import ndarray
from forerun._types import ArrayLike
from forerun.np.fft._lines import axis_of, backward, complete, forward, scale, to_complex, to_real

__all__ = ["fft2", "fftn", "ifft2", "ifftn", "irfft2", "irfftn", "rfft2", "rfftn"]

_Points = Sequence[SupportsIndex | None]
_Axes = Sequence[SupportsIndex]


def _steps(op: str, x: ndarray, s: _Points | None, axes: _Axes | None) -> list[tuple[int, int | None]]:
    """List the axes and the requested number of points of each; -1 keeps the extent."""
    if axes is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise ValueError(f"{op}: {count} axes of an array of dimension {x.ndim}")
        axes = range(x.ndim - count, x.ndim)
    chosen = [axis_of(op, x, axis) for axis in axes]
    if s is None:
        return [(axis, None) for axis in chosen]
    if len(s) != len(chosen):
        raise ValueError(f"{op}: {len(s)} numbers of points for {len(chosen)} axes")
    points = [None if n is None else index(n) for n in s]
    return [(axis, x.shape[axis] if n == -1 else n) for axis, n in zip(chosen, points, strict=True)]


def _complete(op: str, a: ArrayLike, s: _Points | None, axes: _Axes | None, norm: str | None, back: bool) -> ndarray:
    x = to_complex(a)
    scale(op, norm, back)
    for axis, points in reversed(_steps(op, x, s, axes)):
        x = complete(op, x, points, axis, norm, back=back)
    return x


def _forward(op: str, a: ArrayLike, s: _Points | None, axes: _Axes | None, norm: str | None) -> ndarray:
    x = to_real(op, a)
    steps = _steps(op, x, s, axes)
    if not steps:
        raise ValueError(f"{op}: needs at least one axis")
    *rest, (axis, points) = steps
    x = forward(op, x, points, axis, scale(op, norm, False))
    for axis, points in reversed(rest):
        x = complete(op, x, points, axis, norm, back=False)
    return x


def _backward(op: str, a: ArrayLike, s: _Points | None, axes: _Axes | None, norm: str | None) -> ndarray:
    x = to_complex(a)
    steps = _steps(op, x, s, axes)
    if not steps:
        raise ValueError(f"{op}: needs at least one axis")
    *rest, (last, count) = steps
    for axis, points in rest:
        x = complete(op, x, points, axis, norm, back=True)
    return backward(op, x, count, last, scale(op, norm, True))


def fft2(a: ArrayLike, s: _Points | None = None, axes: _Axes = (-2, -1), norm: str | None = None) -> ndarray:
    """Compute the Fourier transform along two axes.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.fft2(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[10.+0.j, -2.+0.j],
           [-4.+0.j,  0.+0.j]], dtype=complex64)
    """
    return _complete("fft2", a, s, axes, norm, False)


def ifft2(a: ArrayLike, s: _Points | None = None, axes: _Axes = (-2, -1), norm: str | None = None) -> ndarray:
    """Compute the inverse Fourier transform along two axes.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.ifft2(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[1.+0.j, 1.+0.j],
           [1.+0.j, 1.+0.j]], dtype=complex64)
    """
    return _complete("ifft2", a, s, axes, norm, True)


def fftn(a: ArrayLike, s: _Points | None = None, axes: _Axes | None = None, norm: str | None = None) -> ndarray:
    """Compute the Fourier transform along axes, or along all; ``s`` gives the number of points of each.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.fftn(np.ones((2, 2, 2)))[0, 0]
    array([8.+0.j, 0.+0.j], dtype=complex64)
    """
    return _complete("fftn", a, s, axes, norm, False)


def ifftn(a: ArrayLike, s: _Points | None = None, axes: _Axes | None = None, norm: str | None = None) -> ndarray:
    """Compute the inverse Fourier transform along axes, or along all.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.ifftn(np.ones((2, 2)))
    array([[1.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _complete("ifftn", a, s, axes, norm, True)


def rfft2(a: ArrayLike, s: _Points | None = None, axes: _Axes = (-2, -1), norm: str | None = None) -> ndarray:
    """Compute the Fourier transform of real numbers along two axes; the last one is halved.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.rfft2(np.ones((2, 4))).shape
    (2, 3)
    """
    return _forward("rfft2", a, s, axes, norm)


def irfft2(a: ArrayLike, s: _Points | None = None, axes: _Axes = (-2, -1), norm: str | None = None) -> ndarray:
    """Compute the inverse of :func:`rfft2`.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.irfft2(np.fft.rfft2(np.array([[1.0, 2.0], [3.0, 4.0]])))
    array([[1., 2.],
           [3., 4.]])
    """
    return _backward("irfft2", a, s, axes, norm)


def rfftn(a: ArrayLike, s: _Points | None = None, axes: _Axes | None = None, norm: str | None = None) -> ndarray:
    """Compute the Fourier transform of real numbers along axes, or along all; the last one is halved.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.rfftn(np.ones((2, 2, 4))).shape
    (2, 2, 3)
    """
    return _forward("rfftn", a, s, axes, norm)


def irfftn(a: ArrayLike, s: _Points | None = None, axes: _Axes | None = None, norm: str | None = None) -> ndarray:
    """Compute the inverse of :func:`rfftn`.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.irfftn(np.fft.rfftn(np.ones((2, 3, 4)))).shape
    (2, 3, 4)
    """
    return _backward("irfftn", a, s, axes, norm)
