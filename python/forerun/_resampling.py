"""Resizing of images along one axis at a time: which pixels a new pixel is made of, and their shares.

The methods, their numbers and their conventions are OpenCV's.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, TypeAlias

from forerun import _forerun
from forerun._convert import floating
from forerun._forerun import int64, ndarray

NEAREST, LINEAR, CUBIC, AREA, LANCZOS = range(5)

# Of NumPy, or of Forerun if extents are random numbers that nobody has waited for.
_Array: TypeAlias = Any


def taps(
    xp: Any, method: int, extent: int, begin: _Array, length: _Array, most: int, **options: Any
) -> tuple[_Array, _Array | None]:
    """Return the pixels of an axis that each of ``extent`` new pixels is made of, and their shares.

    Parameters
    ----------
    xp
        The module of array functions: NumPy or ``forerun.np``.
    method
        One of the numbers above.
    extent
        The number of new pixels.
    begin, length
        The part of the axis that is resized: numbers, or arrays without axes.
    most
        The largest possible length.
    **options
        Passed on to ``xp.arange``.

    Returns
    -------
    tuple
        Indices and shares, both of shape (taps, extent). Shares are ``None`` if there is one tap.
    """
    scale = length / extent
    steps = xp.arange(extent, dtype="float64", **options)
    if method == NEAREST:
        return (begin + xp.minimum(xp.floor(steps * scale), length - 1)).reshape(1, extent), None
    if method == AREA:
        low = steps * scale
        # A rounding error must not make a pixel with an empty share.
        first = xp.floor(low + 1e-9)
        offsets = xp.arange(math.ceil(max(most / extent, 1)) + 1, dtype="float64", **options).reshape(-1, 1)
        places = first + offsets
        shares = xp.maximum(xp.minimum(low + scale, places + 1) - xp.maximum(low, places), 0) / scale
    else:
        middle = (steps + 0.5) * scale - 0.5
        if method == LINEAR:
            middle = xp.minimum(xp.maximum(middle, 0), length - 1)
        first = xp.floor(middle)
        reach = {LINEAR: 1, CUBIC: 2, LANCZOS: 4}[method]
        offsets = xp.arange(1 - reach, reach + 1, dtype="float64", **options).reshape(-1, 1)
        places = first + offsets
        shares = _SHARES[method](xp, xp.abs(middle - places))
        shares = shares / shares.sum(0, keepdims=True)
    return begin + xp.minimum(xp.maximum(places, 0), length - 1), shares


def _linear(xp: Any, distance: _Array) -> _Array:
    return xp.maximum(1 - distance, 0)


def _cubic(xp: Any, distance: _Array) -> _Array:
    slope = -0.75
    near = ((slope + 2) * distance - (slope + 3)) * distance * distance + 1
    far = (((distance - 5) * distance + 8) * distance - 4) * slope
    return xp.where(distance <= 1, near, far)


def _lanczos(xp: Any, distance: _Array) -> _Array:
    return xp.where(distance < 4, xp.sinc(distance) * xp.sinc(distance / 4), 0)


_SHARES = {LINEAR: _linear, CUBIC: _cubic, LANCZOS: _lanczos}


@lru_cache(maxsize=64)
def _known(method: int, extent: int, old: int) -> tuple[Any, Any]:
    """Return the taps for known extents, as NumPy arrays."""
    import numpy

    indices, shares = taps(numpy, method, extent, 0, old, old)
    return indices.astype("int64"), None if shares is None else shares.astype("float32")


def resampled(x: ndarray, axis: int, indices: _Array, shares: _Array | None) -> ndarray:
    """Make each new pixel of an axis of its taps."""
    count, extent = indices.shape
    places = _forerun.from_numpy(indices, x.device) if not isinstance(indices, ndarray) else indices.astype(int64)
    taken = _forerun.take(x, places.reshape(-1), axis)
    if shares is None:
        return taken
    made = floating(taken).reshape(*x.shape[:axis], count, extent, *x.shape[axis + 1 :])
    weights = shares if isinstance(shares, ndarray) else _forerun.from_numpy(shares, x.device)
    return (made * weights.astype(made.dtype).reshape(count, extent, *(1,) * (x.ndim - 1 - axis))).sum(axis)


def resized(x: ndarray, height: int, width: int, method: int) -> ndarray:
    """Resize images with channels last; all methods but the nearest pixel give floats."""
    for axis, extent in ((x.ndim - 3, height), (x.ndim - 2, width)):
        if x.shape[axis] != extent:
            x = resampled(x, axis, *_known(method, extent, x.shape[axis]))
    return x
