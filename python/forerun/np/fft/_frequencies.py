"""Frequencies, and shifts of the zero frequency."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import Device, default_float, ndarray
from forerun._types import ArrayLike, AxisLike, DTypeLike

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def _points(op: str, n: SupportsIndex) -> int:
    count = index(n)
    if count < 1:
        raise ValueError(f"{op}: the number of points must be positive, got {count}")
    return count


def fftfreq(
    n: SupportsIndex, d: float = 1.0, *, dtype: DTypeLike | None = None, device: Device | None = None
) -> ndarray:
    """Return the frequencies of a transform of ``n`` points with spacing ``d``: zero, positive, then negative.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.fftfreq(4, 0.5)
    array([ 0. ,  0.5, -1. , -0.5])
    """
    count = _points("fftfreq", n)
    kind = default_float() if dtype is None else dtype
    above = _forerun.arange(0, (count + 1) // 2, 1, kind, device)
    below = _forerun.arange(-(count // 2), 0, 1, kind, device)
    return _forerun.concatenate([above, below], 0) / (count * d)


def rfftfreq(
    n: SupportsIndex, d: float = 1.0, *, dtype: DTypeLike | None = None, device: Device | None = None
) -> ndarray:
    """Return the frequencies of a real transform of ``n`` points with spacing ``d``.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.rfftfreq(4, 0.5)
    array([0. , 0.5, 1. ])
    """
    count = _points("rfftfreq", n)
    kind = default_float() if dtype is None else dtype
    return _forerun.arange(0, count // 2 + 1, 1, kind, device) / (count * d)


def _shifted(op: str, x: ArrayLike, axes: AxisLike, back: bool) -> ndarray:
    made = to_array(x)
    chosen = range(made.ndim) if axes is None else axes if isinstance(axes, Sequence) else [axes]
    for axis in chosen:
        at = index(axis)
        if not -made.ndim <= at < made.ndim:
            raise IndexError(f"{op}: axis {at} is out of bounds for array of dimension {made.ndim}")
        at %= made.ndim
        extent = made.shape[at]
        cut = extent // 2 if back else (extent + 1) // 2
        halves = [(slice(None),) * at + (part,) for part in (slice(cut, None), slice(None, cut))]
        made = _forerun.concatenate([made[half] for half in halves], at)
    return made


def fftshift(x: ArrayLike, axes: AxisLike = None) -> ndarray:
    """Shift the zero frequency to the centre of axes.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.fftshift(np.fft.fftfreq(4, 0.25))
    array([-2., -1.,  0.,  1.])
    """
    return _shifted("fftshift", x, axes, False)


def ifftshift(x: ArrayLike, axes: AxisLike = None) -> ndarray:
    """Undo :func:`fftshift`.

    Examples
    --------
    >>> from forerun import np
    >>> np.fft.ifftshift(np.array([-2.0, -1.0, 0.0, 1.0]))
    array([ 0.,  1., -2., -1.])
    """
    return _shifted("ifftshift", x, axes, True)
