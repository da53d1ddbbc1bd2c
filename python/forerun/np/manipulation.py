"""Other shapes of the same elements, arrays joined, other dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._types import ArrayLike, AxisLike, DTypeLike, ShapeLike


def reshape(a: ArrayLike, shape: ShapeLike) -> ndarray:
    """Give the elements another shape; one dimension may be -1.

    Examples
    --------
    >>> from forerun import np
    >>> np.reshape(np.arange(4), (2, -1))
    array([[0, 1],
           [2, 3]])
    """
    return to_array(a).reshape(shape)


def ravel(a: ArrayLike) -> ndarray:
    """Give the elements in one dimension.

    Examples
    --------
    >>> from forerun import np
    >>> np.ravel(np.eye(2))
    array([1., 0., 0., 1.])
    """
    return to_array(a).ravel()


def transpose(a: ArrayLike, axes: Sequence[SupportsIndex] | None = None) -> ndarray:
    """Give a view with the dimensions in another order; without an order, reversed.

    Examples
    --------
    >>> from forerun import np
    >>> np.transpose(np.zeros((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    return to_array(a).transpose(axes)


def _axis(axis: SupportsIndex, ndim: int) -> int:
    number = index(axis)
    if not -ndim <= number < ndim:
        raise IndexError(f"axis {number} is out of bounds for array of dimension {ndim}")
    return number % ndim


def swapaxes(a: ArrayLike, axis1: SupportsIndex, axis2: SupportsIndex) -> ndarray:
    """Give a view with two dimensions exchanged.

    Examples
    --------
    >>> from forerun import np
    >>> np.swapaxes(np.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    x = to_array(a)
    first, second = _axis(axis1, x.ndim), _axis(axis2, x.ndim)
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return x.transpose(order)


def moveaxis(a: ArrayLike, source: ShapeLike, destination: ShapeLike) -> ndarray:
    """Give a view with dimensions moved to other places.

    Examples
    --------
    >>> from forerun import np
    >>> np.moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = to_array(a)
    sources = [_axis(axis, x.ndim) for axis in (source if isinstance(source, Sequence) else [source])]
    places = [_axis(axis, x.ndim) for axis in (destination if isinstance(destination, Sequence) else [destination])]
    if len(set(sources)) != len(sources) or len(set(places)) != len(places) or len(sources) != len(places):
        raise ValueError(f"moveaxis: cannot move axes {source} to {destination}")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return x.transpose(order)


def expand_dims(a: ArrayLike, axis: SupportsIndex) -> ndarray:
    """Give a view with one more dimension, of extent 1.

    Examples
    --------
    >>> from forerun import np
    >>> np.expand_dims(np.zeros((2, 3)), 1).shape
    (2, 1, 3)
    """
    return _forerun.expand_dims(to_array(a), axis)


def squeeze(a: ArrayLike, axis: AxisLike = None) -> ndarray:
    """Give a view without dimensions of extent 1.

    Examples
    --------
    >>> from forerun import np
    >>> np.squeeze(np.zeros((2, 1, 3))).shape
    (2, 3)
    """
    return to_array(a).squeeze(axis)


def broadcast_to(array: ArrayLike, shape: ShapeLike) -> ndarray:
    """Give a view that repeats an array to a larger shape.

    Examples
    --------
    >>> from forerun import np
    >>> np.broadcast_to(np.arange(2), (3, 2))
    array([[0, 1],
           [0, 1],
           [0, 1]])
    """
    return _forerun.broadcast_to(to_array(array), shape)


def concatenate(arrays: Sequence[ArrayLike], axis: SupportsIndex | None = 0) -> ndarray:
    """Join arrays along an axis; without one, flattened.

    Examples
    --------
    >>> from forerun import np
    >>> np.concatenate([np.ones((2,)), np.zeros((1,))])
    array([1., 1., 0.])
    """
    if axis is None:
        return _forerun.concatenate([to_array(array).ravel() for array in arrays], 0)
    return _forerun.concatenate(arrays, axis)


def stack(arrays: Sequence[ArrayLike], axis: SupportsIndex = 0) -> ndarray:
    """Join arrays along a new axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.stack([np.ones((2,)), np.zeros((2,))])
    array([[1., 1.],
           [0., 0.]])
    """
    return _forerun.stack(arrays, axis)


def astype(x: ArrayLike, dtype: DTypeLike, *, copy: bool = True) -> ndarray:
    """Give the elements in another dtype.

    Examples
    --------
    >>> from forerun import np
    >>> np.astype(np.ones((2,)), np.int32)
    array([1, 1], dtype=int32)
    """
    return to_array(x).astype(dtype, copy=copy)
