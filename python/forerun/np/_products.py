"""Products of vectors, matrices and whole arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import to_arrays
from forerun._forerun import dot, inner, ndarray, vdot
from forerun._types import ArrayLike, ShapeLike
from forerun.np._complex import conj
from forerun.np._manipulation import axis_of, moveaxis, stack

__all__ = ["cross", "dot", "inner", "kron", "outer", "tensordot", "vdot", "vecdot"]


def outer(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Return the outer product of two arrays, both flattened.

    Examples
    --------
    >>> from forerun import np
    >>> np.outer(np.array([1, 2]), np.array([3, 4]))
    array([[3, 4],
           [6, 8]])
    """
    x, y = to_arrays(a, b)
    return x.reshape(-1, 1) * (y if y.ndim == 1 else y.ravel())


def vdot_of_any(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Return the dot product of any arrays, like :func:`vdot`."""
    x, y = to_arrays(a, b)
    if x.size != y.size:
        raise ValueError(f"vdot: sizes differ: {x.shape} x {y.shape}")
    x, y = (one if one.ndim == 1 else one.ravel() for one in (x, y))
    return _forerun.matmul(conj(x) if x.dtype.kind == "c" else x, y)


def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: SupportsIndex = -1) -> ndarray:
    """Return the dot product of vectors along an axis; the first operand is conjugated.

    The other dimensions are broadcast together.

    Examples
    --------
    >>> from forerun import np
    >>> np.vecdot(np.array([[1, 2], [3, 4]]), np.array([1, 1]))
    array([3, 7])
    """
    x, y = to_arrays(x1, x2)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError(f"vecdot: needs at least one dimension: {x.shape} x {y.shape}")
    x, y = moveaxis(x, index(axis), -1), moveaxis(y, index(axis), -1)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"vecdot: extents of the axis differ: {x.shape} x {y.shape}")
    products = conj(x) * y
    # Sums of small integers are wider, but a product of arrays keeps its dtype.
    return products.sum(-1).astype(products.dtype, copy=False)


def inner_of_any(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Return the inner product of any arrays, like :func:`inner`."""
    x, y = to_arrays(a, b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"inner: last dimensions differ: {x.shape} x {y.shape}")
    if y.ndim == 1:
        return _forerun.matmul(x, y)
    return tensordot(x, y, ([-1], [-1]))


def tensordot(a: ArrayLike, b: ArrayLike, axes: SupportsIndex | tuple[ShapeLike, ShapeLike] = 2) -> ndarray:
    """Contract two arrays over axes: a number of last and first axes, or explicit lists.

    Examples
    --------
    >>> from forerun import np
    >>> np.tensordot(np.ones((2, 3, 4)), np.ones((4, 3, 5)), ([1, 2], [1, 0])).shape
    (2, 5)
    """
    x, y = to_arrays(a, b)
    if axes == 1 and x.ndim == 2 and y.ndim == 2 and x.shape[1] == y.shape[0]:
        return _forerun.matmul(x, y)
    if isinstance(axes, Sequence):
        first, second = ([index(axis) for axis in (one if isinstance(one, Sequence) else [one])] for one in axes)
    else:
        count = index(axes)
        first, second = list(range(x.ndim - count, x.ndim)), list(range(count))
    out_of_bounds = not all(0 <= axis < x.ndim for axis in first) if not isinstance(axes, Sequence) else False
    if out_of_bounds or len(first) != len(second):
        raise ValueError(f"tensordot: axes {axes} do not fit {x.shape} x {y.shape}")
    first, second = [axis_of(axis, x.ndim) for axis in first], [axis_of(axis, y.ndim) for axis in second]
    if [x.shape[axis] for axis in first] != [y.shape[axis] for axis in second]:
        raise ValueError(f"tensordot: extents of the axes {axes} differ: {x.shape} x {y.shape}")
    rest = [axis for axis in range(x.ndim) if axis not in first]
    last = [axis for axis in range(y.ndim) if axis not in second]
    summed = prod(x.shape[axis] for axis in first)
    shape = [*(x.shape[axis] for axis in rest), *(y.shape[axis] for axis in last)]
    rows, columns = prod(x.shape[axis] for axis in rest), prod(y.shape[axis] for axis in last)
    left, right = _matrix(x, [*rest, *first], (rows, summed)), _matrix(y, [*second, *last], (summed, columns))
    made = _forerun.matmul(left, right)
    return made if made.shape == tuple(shape) else made.reshape(shape)


def _matrix(x: ndarray, order: list[int], shape: tuple[int, int]) -> ndarray:
    """Return a matrix view with the axes in the given order."""
    x = x if order == [*range(x.ndim)] else x.transpose(order)
    return x if x.shape == shape else x.reshape(shape)


def kron(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Return the Kronecker product of two arrays.

    Examples
    --------
    >>> from forerun import np
    >>> np.kron(np.array([1, 10]), np.array([[1, 2]]))
    array([[ 1,  2, 10, 20]])
    """
    x, y = to_arrays(a, b)
    ndim = max(x.ndim, y.ndim)
    first, second = ((1,) * (ndim - one.ndim) + one.shape for one in (x, y))
    # Interleave the dimensions of both arrays.
    x = x.reshape([extent for one in first for extent in (one, 1)])
    y = y.reshape([extent for one in second for extent in (1, one)])
    return (x * y).reshape([one * other for one, other in zip(first, second, strict=True)])


def cross(
    a: ArrayLike,
    b: ArrayLike,
    axisa: SupportsIndex = -1,
    axisb: SupportsIndex = -1,
    axisc: SupportsIndex = -1,
    axis: SupportsIndex | None = None,
) -> ndarray:
    """Return the cross product of 3-d or 2-d vectors along axes.

    Examples
    --------
    >>> from forerun import np
    >>> np.cross(np.array([1, 0, 0]), np.array([0, 1, 0]))
    array([0, 0, 1])
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = to_arrays(a, b)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError(f"cross: needs at least one dimension: {x.shape} x {y.shape}")
    x, y = moveaxis(x, index(axisa), -1), moveaxis(y, index(axisb), -1)
    if not {x.shape[-1], y.shape[-1]} <= {2, 3}:
        raise ValueError(f"cross: vectors must have 2 or 3 elements: {x.shape} x {y.shape}")
    x0, x1, y0, y1 = x[..., 0], x[..., 1], y[..., 0], y[..., 1]
    upright = x0 * y1 - x1 * y0
    if x.shape[-1] == y.shape[-1] == 2:
        return upright
    # A 2-d vector has a third component of 0.
    x2 = x[..., 2] if x.shape[-1] == 3 else x0 * 0
    y2 = y[..., 2] if y.shape[-1] == 3 else y0 * 0
    return moveaxis(stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, upright], -1), -1, index(axisc))
