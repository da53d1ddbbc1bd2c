"""Diagonals."""

from __future__ import annotations

from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._pointwise import equal, floor_divide, less, logical_and, remainder, where
from forerun._types import ArrayLike, DTypeLike
from forerun.np._manipulation import concatenate

__all__ = ["diag", "diagflat", "diagonal", "fill_diagonal", "trace"]


def diagonal(a: ArrayLike, offset: int = 0, axis1: SupportsIndex = 0, axis2: SupportsIndex = 1) -> ndarray:
    """Return a view of a diagonal over two axes, as the last axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.diagonal(np.array([[1, 2], [3, 4]]))
    array([1, 4])
    """
    return _forerun.diagonal(a, offset, axis1, axis2)


def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: SupportsIndex = 0,
    axis2: SupportsIndex = 1,
    dtype: DTypeLike | None = None,
) -> ndarray:
    """Sum a diagonal over two axes.

    Examples
    --------
    >>> from forerun import np
    >>> np.trace(np.array([[1, 2], [3, 4]]))
    array(5)
    """
    return _forerun.diagonal(a, offset, axis1, axis2).sum(-1, dtype)


def diag(v: ArrayLike, k: int = 0) -> ndarray:
    """Return the ``k``-th diagonal of a matrix, or a matrix with a vector on that diagonal and zeros elsewhere.

    Examples
    --------
    >>> from forerun import np
    >>> np.diag(np.array([1, 2]))
    array([[1, 0],
           [0, 2]])
    >>> np.diag(np.array([[1, 2], [3, 4]]), 1)
    array([2])
    """
    x = to_array(v)
    if x.ndim == 2:
        return _forerun.diagonal(x, k)
    if x.ndim != 1:
        raise ValueError(f"diag: needs one or two dimensions, got {x.shape}")
    extent = x.size + abs(k)
    # The vector is placed along the columns of the diagonal. `where` instead of a product, because 0 * NaN is NaN.
    margin = _forerun.full((abs(k),), 0, x.dtype, x.device)
    row = concatenate([margin, x] if k >= 0 else [x, margin])
    return where(_forerun.eye(extent, extent, k, "bool", x.device), row, _forerun.full((), 0, x.dtype, x.device))


def diagflat(v: ArrayLike, k: int = 0) -> ndarray:
    """Return a matrix with the elements of an array on its ``k``-th diagonal.

    Examples
    --------
    >>> from forerun import np
    >>> np.diagflat(np.array([[1], [2]]))
    array([[1, 0],
           [0, 2]])
    """
    return diag(to_array(v).ravel(), k)


def fill_diagonal(a: ndarray, val: ArrayLike, wrap: bool = False) -> None:
    """Fill the main diagonal of an array in place with a value, or repeatedly with values.

    With ``wrap`` the diagonal of a tall matrix restarts after the last column.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.zeros((2, 2))
    >>> np.fill_diagonal(x, 3)
    >>> x
    array([[3., 0.],
           [0., 3.]])
    """
    if a.ndim < 2 or (a.ndim > 2 and len(set(a.shape)) > 1):
        raise ValueError(f"fill_diagonal: needs two dimensions or equal ones, got {a.shape}")
    step, block = 1, 1
    for extent in reversed(a.shape[1:]):
        block *= extent
        step += block
    flat = _forerun.arange(0, a.size, 1, "int64", a.device).reshape(a.shape)
    there = equal(remainder(flat, step), 0)
    if a.ndim == 2 and not wrap:
        there = logical_and(there, less(flat, a.shape[1] * a.shape[1]))
    values = to_array(val, a.dtype, a.device).ravel()
    if values.size != 1:
        values = values.take(floor_divide(flat, step), mode="wrap")
    a[...] = where(there, values, a)
