"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import to_array, to_arrays
from forerun._forerun import ndarray
from forerun._types import ArrayLike, DTypeLike
from forerun.np import _diagonals, _products

__all__ = ["cross", "diagonal", "matmul", "multi_dot", "outer", "trace"]


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> ndarray:
    """Multiply matrices, stacked in the dimensions before the last two.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.matmul(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]]))
    array([[11.]])
    """
    return _forerun.matmul(*to_arrays(x1, x2))


def _cheapest(sizes: list[int]) -> list[list[int]]:
    """Return the split point of each range of matrices that minimises the number of multiplications.

    The i-th matrix has ``sizes[i]`` rows and ``sizes[i + 1]`` columns.
    """
    count = len(sizes) - 1
    cost = [[0] * count for _ in range(count)]
    last = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for first in range(count - length):
            end = first + length
            outside = sizes[first] * sizes[end + 1]
            tried = [(cost[first][at] + cost[at + 1][end] + outside * sizes[at + 1], at) for at in range(first, end)]
            cost[first][end], last[first][end] = min(tried)
    return last


def multi_dot(arrays: Sequence[ArrayLike]) -> ndarray:
    """Multiply several matrices in the order that takes the fewest multiplications.

    The first and the last may be vectors.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.multi_dot([np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 1))])
    array([[12.],
           [12.]])
    """
    given = to_arrays(*arrays)
    if len(given) < 2:
        raise ValueError("multi_dot: needs at least two arrays")
    ends = (given[0].ndim == 1, given[-1].ndim == 1)
    if ends[0]:
        given[0] = given[0][None, :]
    if ends[1]:
        given[-1] = given[-1][:, None]
    for x in given:
        if x.ndim != 2:
            raise ValueError(f"multi_dot: not a matrix: {x.shape}")
    last = _cheapest([given[0].shape[0], *(x.shape[1] for x in given)])

    def product(first: int, end: int) -> ndarray:
        if first == end:
            return given[first]
        at = last[first][end]
        return _forerun.matmul(product(first, at), product(at + 1, end))

    found = product(0, len(given) - 1)
    if ends[0] and ends[1]:
        return found[0, 0]
    return found[0] if ends[0] else found[:, 0] if ends[1] else found


def outer(x1: ArrayLike, x2: ArrayLike, /) -> ndarray:
    """Return the outer product of two vectors.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.outer(np.array([1, 2]), np.array([3, 4]))
    array([[3, 4],
           [6, 8]])
    """
    a, b = to_arrays(x1, x2)
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"outer: needs one dimension each: {a.shape} x {b.shape}")
    return _products.outer(a, b)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: SupportsIndex = -1) -> ndarray:
    """Return the cross product of 3-d vectors along an axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.cross(np.array([1, 0, 0]), np.array([0, 1, 0]))
    array([0, 0, 1])
    """
    a, b = to_arrays(x1, x2)
    made = _products.cross(a, b, axis=axis)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(f"cross: vectors must have 3 elements: {a.shape} x {b.shape}")
    return made


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> ndarray:
    """Return a diagonal of matrices, as the last axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.diagonal(np.array([[1, 2], [3, 4]]))
    array([1, 4])
    """
    return _diagonals.diagonal(x, offset, -2, -1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> ndarray:
    """Sum a diagonal of matrices.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.trace(np.array([[1, 2], [3, 4]]))
    array(5)
    """
    return _diagonals.trace(to_array(x), offset, -2, -1, dtype)
