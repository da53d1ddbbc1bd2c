"""Grids of numbers and indices, and window functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import to_array, to_arrays
from forerun._device import asked
from forerun._forerun import Device, default_float, float64, ndarray
from forerun._pointwise import (
    cos,
    floor_divide,
    greater_equal,
    i0,
    less,
    less_equal,
    logical_or,
    power,
    remainder,
    sqrt,
    where,
)
from forerun._types import ArrayLike, DTypeLike, ShapeLike
from forerun.np._common import Order, check_order
from forerun.np._creation import eye, linspace
from forerun.np._manipulation import broadcast_to, stack
from forerun.np._sizes import refuse_impossible

__all__ = [
    "bartlett",
    "blackman",
    "diag_indices",
    "diag_indices_from",
    "geomspace",
    "hamming",
    "hanning",
    "identity",
    "indices",
    "kaiser",
    "logspace",
    "meshgrid",
    "ravel_multi_index",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
    "vander",
]


def _counted(count: int, device: Device | None = None) -> ndarray:
    return _forerun.arange(0, count, 1, "int64", device)


def identity(
    n: SupportsIndex, dtype: DTypeLike | None = None, *, ctx: Device | None = None, device: Device | None = None
) -> ndarray:
    """Make a square matrix with ones on the diagonal.

    Examples
    --------
    >>> from forerun import np
    >>> np.identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=dtype, device=asked("identity", ctx, device))


def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Return powers of a base with evenly spaced exponents.

    Examples
    --------
    >>> from forerun import np
    >>> np.logspace(0, 2, 3)
    array([  1.,  10., 100.])
    """
    exponents = linspace(start, stop, num, endpoint, dtype=float64, device=asked("logspace", ctx, device))
    return power(float(base), exponents).astype(default_float() if dtype is None else dtype, copy=False)


def geomspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Return numbers in geometric progression from ``start`` to ``stop``.

    Examples
    --------
    >>> from forerun import np
    >>> np.geomspace(1, 8, 4)
    array([1., 2., 4., 8.])
    """
    if start == 0 or stop == 0 or (start < 0) != (stop < 0):
        raise ValueError(f"geomspace: needs two numbers of one sign, not zero, got {start} and {stop}")
    sign = math.copysign(1.0, start)
    ends = math.log10(abs(start)), math.log10(abs(stop))
    made = logspace(*ends, num, endpoint, 10.0, float64, device=asked("geomspace", ctx, device)) * sign
    if num > 0:
        made[0] = start
    if num > 1 and endpoint:
        made[-1] = stop
    return made.astype(default_float() if dtype is None else dtype, copy=False)


def indices(
    dimensions: Sequence[SupportsIndex], dtype: DTypeLike = "int64", sparse: bool = False
) -> ndarray | tuple[ndarray, ...]:
    """Return the indices of a grid, one array per axis; with ``sparse`` they only broadcast to the grid.

    Examples
    --------
    >>> from forerun import np
    >>> np.indices((2, 2))
    array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]])
    """
    shape = tuple(map(index, dimensions))
    lines = [
        _forerun.arange(0, extent, 1, dtype).reshape((1,) * axis + (extent,) + (1,) * (len(shape) - axis - 1))
        for axis, extent in enumerate(shape)
    ]
    if sparse:
        return tuple(lines)
    if not lines:
        return _forerun.full((0,), 0, dtype)
    return stack([broadcast_to(line, shape) for line in lines])


def meshgrid(*xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[ndarray, ...]:
    """Return the coordinates of a grid from those of its axes; with ``sparse`` they only broadcast to the grid.

    Examples
    --------
    >>> from forerun import np
    >>> np.meshgrid(np.array([1, 2]), np.array([3, 4, 5]))[0]
    array([[1, 2],
           [1, 2],
           [1, 2]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    lines = [x.ravel() for x in to_arrays(*xi)]
    axes = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        axes[:2] = [1, 0]
    laid = [
        x.reshape([-1 if place == axis else 1 for place in range(len(lines))])
        for x, axis in zip(lines, axes, strict=True)
    ]
    if not sparse:
        shape = tuple(lines[axes.index(place)].size for place in range(len(lines)))
        laid = [broadcast_to(x, shape) for x in laid]
    return tuple(x.copy() for x in laid) if copy else tuple(laid)


def _below(shape: tuple[int, ...], k: int, device: Device | None = None) -> ndarray:
    """Return for each element of a matrix whether it lies on or below a diagonal."""
    row, column = _counted(shape[-2], device).reshape(-1, 1), _counted(shape[-1], device)
    return less_equal(column, row + _within(k, shape[-2], shape[-1]))


def tri(
    N: SupportsIndex,
    M: SupportsIndex | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Make a matrix with ones on and below the ``k``-th diagonal and zeros above.

    Examples
    --------
    >>> from forerun import np
    >>> np.tri(2, 3)
    array([[1., 0., 0.],
           [1., 1., 0.]])
    """
    return _below((index(N), index(N if M is None else M)), k, asked("tri", ctx, device)).astype(
        default_float() if dtype is None else dtype
    )


def tril(m: ArrayLike, k: int = 0) -> ndarray:
    """Return a copy of matrices with zeros above the ``k``-th diagonal.

    Examples
    --------
    >>> from forerun import np
    >>> np.tril(np.ones((2, 2)))
    array([[1., 0.],
           [1., 1.]])
    """
    x = _matrices("tril", m)
    return where(_below(x.shape, k, x.device), x, _zero(x))


def triu(m: ArrayLike, k: int = 0) -> ndarray:
    """Return a copy of matrices with zeros below the ``k``-th diagonal.

    Examples
    --------
    >>> from forerun import np
    >>> np.triu(np.ones((2, 2)))
    array([[1., 1.],
           [0., 1.]])
    """
    x = _matrices("triu", m)
    return where(_below(x.shape, k - 1, x.device), _zero(x), x)


def _matrices(name: str, m: ArrayLike) -> ndarray:
    x = to_array(m)
    if x.ndim == 1:
        return broadcast_to(x, (x.size, x.size))
    if x.ndim == 0:
        raise ValueError(f"{name}: needs at least one dimension")
    return x


def _zero(x: ndarray) -> ndarray:
    return _forerun.full((), 0, x.dtype, x.device)


def _places(op: str, rows: int, columns: int, k: int, above: bool) -> tuple[ndarray, ndarray]:
    """Return the indices on and below the ``k``-th diagonal of a matrix, or the others."""
    import numpy

    k = _within(k, rows, columns)
    # Rows before the first have no elements, and rows from the second on are full.
    first, second = min(max(-k, 0), rows), min(max(columns - k - 1, 0), rows)
    below = sum((first + k + 1, second + k)) * (second - first) // 2 if second > first else 0
    below += (rows - max(first, second)) * columns
    total = rows * columns - below if above else below
    refuse_impossible(op, total, 2 * 8, held=True)
    if total == 0:
        return _counted(0), _counted(0)
    ends = numpy.clip(numpy.arange(rows) + (k + 1), 0, columns)
    counts = columns - ends if above else ends
    # The running count minus the start of a row gives the columns.
    before = counts.cumsum() - counts - (ends if above else 0)
    return (
        to_array(numpy.repeat(numpy.arange(rows), counts)),
        to_array(numpy.arange(total) - numpy.repeat(before, counts)),
    )


def _extents(op: str, n: SupportsIndex, m: SupportsIndex | None) -> tuple[int, int]:
    rows, columns = index(n), index(n if m is None else m)
    if min(rows, columns) < 0:
        raise ValueError(f"{op}: an extent must not be negative, got {rows} and {columns}")
    return rows, columns


def _within(k: int, rows: int, columns: int) -> int:
    """Clamp the number of a diagonal to the range that intersects the matrix or just misses it."""
    return max(-rows, min(index(k), columns))


def tril_indices(n: SupportsIndex, k: int = 0, m: SupportsIndex | None = None) -> tuple[ndarray, ndarray]:
    """Return the indices of the elements on and below the ``k``-th diagonal.

    Examples
    --------
    >>> from forerun import np
    >>> np.tril_indices(2)
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    return _places("tril_indices", *_extents("tril_indices", n, m), k, above=False)


def triu_indices(n: SupportsIndex, k: int = 0, m: SupportsIndex | None = None) -> tuple[ndarray, ndarray]:
    """Return the indices of the elements on and above the ``k``-th diagonal.

    Examples
    --------
    >>> from forerun import np
    >>> np.triu_indices(2)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    return _places("triu_indices", *_extents("triu_indices", n, m), k - 1, above=True)


def tril_indices_from(arr: ndarray, k: int = 0) -> tuple[ndarray, ndarray]:
    """Return the indices of a matrix's elements on and below the ``k``-th diagonal.

    Examples
    --------
    >>> from forerun import np
    >>> np.tril_indices_from(np.zeros((2, 2)))
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    if arr.ndim != 2:
        raise ValueError(f"tril_indices_from: needs a matrix, got {arr.shape}")
    return tril_indices(arr.shape[0], k, arr.shape[1])


def triu_indices_from(arr: ndarray, k: int = 0) -> tuple[ndarray, ndarray]:
    """Return the indices of a matrix's elements on and above the ``k``-th diagonal.

    Examples
    --------
    >>> from forerun import np
    >>> np.triu_indices_from(np.zeros((2, 2)))
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    if arr.ndim != 2:
        raise ValueError(f"triu_indices_from: needs a matrix, got {arr.shape}")
    return triu_indices(arr.shape[0], k, arr.shape[1])


def diag_indices(n: SupportsIndex, ndim: int = 2) -> tuple[ndarray, ...]:
    """Return the indices of the main diagonal of an array of equal extents.

    Examples
    --------
    >>> from forerun import np
    >>> np.diag_indices(2)
    (array([0, 1]), array([0, 1]))
    """
    return (_counted(index(n)),) * ndim


def diag_indices_from(arr: ndarray) -> tuple[ndarray, ...]:
    """Return the indices of the main diagonal of an array.

    Examples
    --------
    >>> from forerun import np
    >>> np.diag_indices_from(np.zeros((2, 2)))
    (array([0, 1]), array([0, 1]))
    """
    if arr.ndim < 2 or len(set(arr.shape)) > 1:
        raise ValueError(f"diag_indices_from: needs at least two equal dimensions, got {arr.shape}")
    return diag_indices(arr.shape[0], arr.ndim)


def unravel_index(indices: ArrayLike, shape: ShapeLike, order: Order = "C") -> tuple[ndarray, ...]:
    """Return the indices of each axis that belong to positions in the flattened array.

    A position out of bounds raises ``ValueError``; if the positions are a Forerun array, ``IndexError`` when the result
    is read. With order "F" positions are in column-major order.

    Examples
    --------
    >>> from forerun import np
    >>> np.unravel_index(np.array([1, 5]), (2, 3))
    (array([0, 1]), array([1, 2]))
    """
    left, made = to_array(indices), []
    if "int" not in left.dtype.name:
        raise TypeError(f"unravel_index: indices must be integers, not {left.dtype.name}")
    extents = list(map(index, shape)) if isinstance(shape, Sequence) else [index(shape)]
    if check_order("unravel_index", order) == "F":
        return unravel_index(indices, extents[::-1])[::-1]
    left = _inside(left, math.prod(extents), indices)
    for extent in reversed(extents[1:]):
        made.append(remainder(left, extent))
        left = floor_divide(left, extent)
    return tuple(reversed([*made, left] if extents else []))


def _inside(positions: ndarray, size: int, given: ArrayLike) -> ndarray:
    """Check positions: now if their values are known, otherwise when they are read."""
    if not isinstance(given, ndarray):
        import numpy

        read = numpy.asarray(given).reshape(-1)
        wrong = read[(read < 0) | (read >= size)]
        if wrong.size:
            raise ValueError(f"unravel_index: index {wrong[0]} is out of bounds for array of size {size}")
        return positions.copy()
    if size == 0:
        return positions.copy()
    positions = positions.astype("int64", copy=False)
    # `take` from a list of one: every index but 0 fails, and the error names it.
    beyond = where(logical_or(less(positions, 0), greater_equal(positions, size)), positions, 0)
    return positions + _forerun.full((1,), 0, "int64", positions.device).take(beyond, mode="refuse")


def ravel_multi_index(multi_index: Sequence[ArrayLike], dims: ShapeLike, mode: str = "raise") -> ndarray:
    """Return the positions in the flattened array that belong to indices of each axis.

    An index out of bounds raises when the result is read, or is clipped or wrapped according to ``mode``.

    Examples
    --------
    >>> from forerun import np
    >>> np.ravel_multi_index((np.array([0, 1]), np.array([1, 2])), (2, 3))
    array([1, 5])
    """
    extents = list(map(index, dims)) if isinstance(dims, Sequence) else [index(dims)]
    lines = to_arrays(*multi_index)
    if len(lines) != len(extents) or not lines:
        raise ValueError(f"ravel_multi_index: {len(lines)} indices for {len(extents)} dimensions")
    # Looking each index up along its axis handles out-of-bounds indices.
    found = [_counted(extent, x.device).take(x, mode=mode) for x, extent in zip(lines, extents, strict=True)]
    position = found[0]
    for x, extent in zip(found[1:], extents[1:], strict=True):
        position = position * extent + x
    return position


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> ndarray:
    """Return the Vandermonde matrix of a vector, with the highest power first unless ``increasing``.

    Examples
    --------
    >>> from forerun import np
    >>> np.vander(np.array([1, 2, 3]))
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]])
    """
    vector = to_array(x)
    if vector.ndim != 1:
        raise ValueError(f"vander: needs one dimension, got {vector.shape}")
    if N is not None and N < 0:
        raise ValueError(f"vander: negative dimensions are not allowed, got {N} columns")
    exponents = _counted(vector.size if N is None else N, vector.device)
    exponents = exponents if increasing else exponents[::-1]
    return power(vector.reshape(-1, 1), exponents)


def _window(M: int, weights: Sequence[float]) -> ndarray:
    """Return a sum of cosines over a window, in double precision and rounded once."""
    if M < 2:
        return _forerun.full((max(M, 0),), 1.0)
    angle = _forerun.arange(0, M, 1, float64) * (2 * math.pi / (M - 1))
    made = _forerun.full((), weights[0], float64)
    for order, weight in enumerate(weights[1:], 1):
        made = made + cos(angle * order) * weight
    return made.astype(default_float())


def hanning(M: int) -> ndarray:
    """Return the Hann window.

    Examples
    --------
    >>> from forerun import np
    >>> np.hanning(3)
    array([0., 1., 0.])
    """
    return _window(M, [0.5, -0.5])


def hamming(M: int) -> ndarray:
    """Return the Hamming window.

    Examples
    --------
    >>> from forerun import np
    >>> np.hamming(3)
    array([0.08, 1.  , 0.08])
    """
    return _window(M, [0.54, -0.46])


def blackman(M: int) -> ndarray:
    """Return the Blackman window.

    Examples
    --------
    >>> from forerun import np
    >>> np.blackman(5).shape
    (5,)
    """
    return _window(M, [0.42, -0.5, 0.08])


def bartlett(M: int) -> ndarray:
    """Return the Bartlett window, a triangle.

    Examples
    --------
    >>> from forerun import np
    >>> np.bartlett(5)
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    if M < 2:
        return _window(M, [])
    places = _forerun.arange(0, M, 1, float64) * (2 / (M - 1))
    return where(less_equal(places, 1.0), places, 2.0 - places).astype(default_float())


def kaiser(M: int, beta: float) -> ndarray:
    """Return the Kaiser window; a larger ``beta`` makes it narrower.

    Examples
    --------
    >>> from forerun import np
    >>> np.kaiser(3, 0.0)
    array([1., 1., 1.])
    """
    if M < 2:
        return _window(M, [])
    places = _forerun.arange(0, M, 1, float64) * (2 / (M - 1)) - 1.0
    return (i0(sqrt(1.0 - places * places) * beta) / i0(to_array(beta, float64))).astype(default_float())
