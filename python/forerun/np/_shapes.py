"""Rearranging, joining, splitting and resizing; views where possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import SupportsIndex, overload

from forerun import _forerun
from forerun._convert import to_array, to_arrays
from forerun._forerun import ndarray
from forerun._types import ArrayLike, AxisLike, ShapeLike
from forerun.np._common import broadcast
from forerun.np._manipulation import BYTES_OF_A_VIEW, axis_of, broadcast_to, concatenate, part_of, split, swapaxes, tile
from forerun.np._sizes import refuse_impossible

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "column_stack",
    "delete",
    "dsplit",
    "dstack",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "insert",
    "matrix_transpose",
    "resize",
    "roll",
    "rollaxis",
    "rot90",
    "row_stack",
    "unstack",
    "vsplit",
    "vstack",
]


def matrix_transpose(x: ArrayLike, /) -> ndarray:
    """Return a view with the last two dimensions swapped.

    Examples
    --------
    >>> from forerun import np
    >>> np.matrix_transpose(np.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    array = to_array(x)
    if array.ndim < 2:
        raise ValueError(f"matrix_transpose: needs at least two dimensions, got {array.shape}")
    return swapaxes(array, -1, -2)


def broadcast_shapes(*args: ShapeLike) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to.

    Examples
    --------
    >>> from forerun import np
    >>> np.broadcast_shapes((3, 1), (4,), 5 - 4)
    (3, 4)
    """
    shapes = [tuple(map(index, shape)) if isinstance(shape, Sequence) else (index(shape),) for shape in args]
    return broadcast("broadcast_shapes", *shapes)


def broadcast_arrays(*args: ArrayLike) -> tuple[ndarray, ...]:
    """Return views of arrays, broadcast to one shape.

    Examples
    --------
    >>> from forerun import np
    >>> [x.shape for x in np.broadcast_arrays(np.zeros((3, 1)), np.zeros((4,)))]
    [(3, 4), (3, 4)]
    """
    arrays = to_arrays(*args)
    shape = broadcast_shapes(*(array.shape for array in arrays))
    return tuple(broadcast_to(array, shape) for array in arrays)


def unstack(x: ArrayLike, /, *, axis: SupportsIndex = 0) -> tuple[ndarray, ...]:
    """Return views of the parts along an axis, without it.

    Examples
    --------
    >>> from forerun import np
    >>> np.unstack(np.array([[1, 2], [3, 4]]), axis=1)
    (array([1, 3]), array([2, 4]))
    """
    array = to_array(x)
    along = axis_of(axis, array.ndim)
    parts = (part_of(array, along, slice(place, place + 1)) for place in range(array.shape[along]))
    return tuple(part.squeeze(along) for part in parts)


def roll(a: ArrayLike, shift: ShapeLike, axis: AxisLike = None) -> ndarray:
    """Roll elements along axes; without an axis, in the flattened array.

    Examples
    --------
    >>> from forerun import np
    >>> np.roll(np.arange(5), 2)
    array([3, 4, 0, 1, 2])
    """
    if (quick := _forerun.roll(a, shift, axis)) is not None:
        return quick
    x = to_array(a)
    if axis is None:
        return roll(x.ravel(), _total(shift), 0).reshape(x.shape)
    axes = [axis_of(one, x.ndim) for one in (axis if isinstance(axis, Sequence) else [axis])]
    shifts = [index(one) for one in (shift if isinstance(shift, Sequence) else [shift])]
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ValueError(f"roll: {len(shifts)} shifts do not fit {len(axes)} axes")
    count = max(len(axes), len(shifts))
    for along, by in zip(axes * (count // len(axes)), shifts * (count // len(shifts)), strict=True):
        by %= max(x.shape[along], 1)
        if by:
            x = concatenate([part_of(x, along, slice(-by, None)), part_of(x, along, slice(None, -by))], along)
    return x.copy() if x is a else x


def _total(shift: ShapeLike) -> int:
    return sum(map(index, shift)) if isinstance(shift, Sequence) else index(shift)


def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> ndarray:
    """Return a view rotated by 90 degrees in the plane of two axes, from the first towards the second.

    Examples
    --------
    >>> from forerun import np
    >>> np.rot90(np.array([[1, 2], [3, 4]]))
    array([[2, 4],
           [1, 3]])
    """
    x = to_array(m)
    if len(axes) != 2 or axis_of(axes[0], x.ndim) == axis_of(axes[1], x.ndim):
        raise ValueError(f"rot90: needs two different axes, got {axes}")
    first, second = axis_of(axes[0], x.ndim), axis_of(axes[1], x.ndim)
    backwards = slice(None, None, -1)
    match k % 4:
        case 0:
            return x[...]
        case 1:
            return swapaxes(part_of(x, second, backwards), first, second)
        case 2:
            return part_of(part_of(x, first, backwards), second, backwards)
        case _:
            return part_of(swapaxes(x, first, second), second, backwards)


def flipud(m: ArrayLike) -> ndarray:
    """Return a view with the rows reversed.

    Examples
    --------
    >>> from forerun import np
    >>> np.flipud(np.array([[1, 2], [3, 4]]))
    array([[3, 4],
           [1, 2]])
    """
    x = to_array(m)
    if x.ndim < 1:
        raise ValueError("flipud: needs at least one dimension")
    return x[::-1]


def fliplr(m: ArrayLike) -> ndarray:
    """Return a view with the columns reversed.

    Examples
    --------
    >>> from forerun import np
    >>> np.fliplr(np.array([[1, 2], [3, 4]]))
    array([[2, 1],
           [4, 3]])
    """
    x = to_array(m)
    if x.ndim < 2:
        raise ValueError(f"fliplr: needs at least two dimensions, got {x.shape}")
    return x[:, ::-1]


def rollaxis(a: ArrayLike, axis: SupportsIndex, start: int = 0) -> ndarray:
    """Return a view with an axis moved before another; prefer :func:`moveaxis`.

    Examples
    --------
    >>> from forerun import np
    >>> np.rollaxis(np.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = to_array(a)
    moved, place = axis_of(axis, x.ndim), index(start)
    if not -x.ndim <= place <= x.ndim:
        raise IndexError(f"rollaxis: start {place} is out of bounds for array of dimension {x.ndim}")
    place = place + x.ndim if place < 0 else place
    order = [one for one in range(x.ndim) if one != moved]
    order.insert(place - (moved < place), moved)
    return x.transpose(order)


def _at_least(least: int, x: ndarray) -> ndarray:
    if x.ndim >= least:
        return x
    match least, x.ndim:
        case 3, 2:
            return x.reshape(*x.shape, 1)
        case 3, 1:
            return x.reshape(1, -1, 1)
        case _:
            return x.reshape((1,) * (least - x.ndim) + x.shape)


def _each(least: int, arrays: tuple[ArrayLike, ...]) -> ndarray | tuple[ndarray, ...]:
    made = tuple(_at_least(least, to_array(array)) for array in arrays)
    return made[0] if len(made) == 1 else made


@overload
def atleast_1d(array: ArrayLike, /) -> ndarray: ...
@overload
def atleast_1d(*arys: ArrayLike) -> ndarray | tuple[ndarray, ...]: ...
def atleast_1d(*arys: ArrayLike) -> ndarray | tuple[ndarray, ...]:
    """Return arrays with at least one dimension.

    Examples
    --------
    >>> from forerun import np
    >>> np.atleast_1d(np.array(3))
    array([3])
    """
    return _each(1, arys)


@overload
def atleast_2d(array: ArrayLike, /) -> ndarray: ...
@overload
def atleast_2d(*arys: ArrayLike) -> ndarray | tuple[ndarray, ...]: ...
def atleast_2d(*arys: ArrayLike) -> ndarray | tuple[ndarray, ...]:
    """Return arrays with at least two dimensions; new ones come first.

    Examples
    --------
    >>> from forerun import np
    >>> np.atleast_2d(np.array([3, 4]))
    array([[3, 4]])
    """
    return _each(2, arys)


@overload
def atleast_3d(array: ArrayLike, /) -> ndarray: ...
@overload
def atleast_3d(*arys: ArrayLike) -> ndarray | tuple[ndarray, ...]: ...
def atleast_3d(*arys: ArrayLike) -> ndarray | tuple[ndarray, ...]:
    """Return arrays with at least three dimensions: a vector is placed in the second, a matrix in the first two.

    Examples
    --------
    >>> from forerun import np
    >>> np.atleast_3d(np.array([3, 4])).shape
    (1, 2, 1)
    """
    return _each(3, arys)


def hstack(tup: Sequence[ArrayLike]) -> ndarray:
    """Join arrays along the second axis; 1-d arrays along their only axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.hstack([np.array([1, 2]), np.array([3])])
    array([1, 2, 3])
    """
    return _forerun.join(tup, 1, 1)


def vstack(tup: Sequence[ArrayLike]) -> ndarray:
    """Join arrays along the first axis; 1-d arrays as rows.

    Examples
    --------
    >>> from forerun import np
    >>> np.vstack([np.array([1, 2]), np.array([3, 4])])
    array([[1, 2],
           [3, 4]])
    """
    return _forerun.join(tup, 2, 0)


def dstack(tup: Sequence[ArrayLike]) -> ndarray:
    """Join arrays along the third axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.dstack([np.array([1, 2]), np.array([3, 4])])
    array([[[1, 3],
            [2, 4]]])
    """
    return _forerun.join(tup, 3, 2)


def column_stack(tup: Sequence[ArrayLike]) -> ndarray:
    """Join arrays along the second axis; 1-d arrays as columns.

    Examples
    --------
    >>> from forerun import np
    >>> np.column_stack([np.array([1, 2]), np.array([3, 4])])
    array([[1, 3],
           [2, 4]])
    """
    return concatenate([x if x.ndim > 1 else x.reshape(-1, 1) for x in to_arrays(*tup)], 1)


def append(arr: ArrayLike, values: ArrayLike, axis: SupportsIndex | None = None) -> ndarray:
    """Return a copy with values appended along an axis, or to the flattened array.

    Examples
    --------
    >>> from forerun import np
    >>> np.append(np.array([1, 2]), [3, 4])
    array([1, 2, 3, 4])
    """
    if axis is not None or (isinstance(arr, ndarray) and isinstance(values, ndarray) and arr.ndim == values.ndim == 1):
        return _forerun.concatenate((arr, values), 0 if axis is None else axis)
    return concatenate(to_arrays(arr, values), axis)


def _places(obj: SupportsIndex | slice | Sequence[SupportsIndex], extent: int, ends: int) -> list[int]:
    """List the positions that an argument refers to on an axis; with ``ends``, one past the last is valid."""
    if isinstance(obj, slice):
        return list(range(*obj.indices(extent)))
    places = []
    for one in obj if isinstance(obj, Sequence) else [obj]:
        place = index(one)
        if not -extent <= place < ends:
            raise IndexError(f"index {place} is out of bounds for axis with size {extent}")
        places.append(place + extent if place < 0 else place)
    return places


#: Up to this many ranges are concatenated as views; more use one gather.
_FEW_RUNS = 16


def _of_runs(x: ndarray, runs: list[range], along: int) -> ndarray:
    """Concatenate ranges of positions along an axis into a new array."""
    runs = [run for run in runs if run]
    if 0 < len(runs) <= _FEW_RUNS:
        return concatenate([part_of(x, along, slice(run.start, run.stop)) for run in runs], along)
    import numpy

    picked = numpy.concatenate([numpy.arange(run.start, run.stop) for run in runs] or [numpy.empty(0, "int64")])
    return x.take(to_array(picked, "int64", x.device), along)


def insert(
    arr: ArrayLike,
    obj: SupportsIndex | slice | Sequence[SupportsIndex],
    values: ArrayLike,
    axis: SupportsIndex | None = None,
) -> ndarray:
    """Return a copy with values inserted before positions of an axis, or of the flattened array.

    Examples
    --------
    >>> from forerun import np
    >>> np.insert(np.array([1, 2, 3]), 1, 9)
    array([1, 9, 2, 3])
    >>> np.insert(np.array([1, 2, 3]), [0, 2], [7, 8])
    array([7, 1, 2, 8, 3])
    """
    x, new = to_arrays(arr, values)
    if axis is None:
        x, axis = x.ravel(), 0
    along = axis_of(axis, x.ndim)
    extent, new = x.shape[along], new.astype(x.dtype, copy=False)
    places = _places(obj, extent, extent + 1)
    new = new.reshape((1,) * (x.ndim - new.ndim) + new.shape)
    one = isinstance(obj, SupportsIndex)
    if one:
        # With a single position, the values lie along the first axis.
        order = list(range(1, x.ndim))
        order.insert(along, 0)
        new = new.transpose(order)
        places = places * new.shape[along]
    shape = (*x.shape[:along], len(places), *x.shape[along + 1 :])
    both = concatenate([x, broadcast_to(new, shape)], along)
    # Alternate ranges of old and new elements; equal positions keep their order.
    order, taken = sorted(range(len(places)), key=places.__getitem__), 0
    runs: list[range] = []
    for which in order:
        runs += [range(taken, places[which]), range(extent + which, extent + which + 1)]
        taken = places[which]
    return _of_runs(both, [*runs, range(taken, extent)], along)


def delete(
    arr: ArrayLike, obj: SupportsIndex | slice | Sequence[SupportsIndex], axis: SupportsIndex | None = None
) -> ndarray:
    """Return a copy without some positions of an axis, or of the flattened array.

    Examples
    --------
    >>> from forerun import np
    >>> np.delete(np.array([1, 2, 3, 4]), [0, 2])
    array([2, 4])
    """
    if (quick := _forerun.without(arr, obj, axis)) is not None:
        return quick
    x = to_array(arr)
    if axis is None:
        x, axis = x.ravel(), 0
    along = axis_of(axis, x.ndim)
    extent = x.shape[along]
    runs, taken = [], 0
    for place in sorted({*_places(obj, extent, extent)}):
        runs.append(range(taken, place))
        taken = place + 1
    return _of_runs(x, [*runs, range(taken, extent)], along)


def array_split(ary: ArrayLike, indices_or_sections: ShapeLike, axis: SupportsIndex = 0) -> list[ndarray]:
    """Split into views along an axis; the first parts may have one element more.

    Examples
    --------
    >>> from forerun import np
    >>> np.array_split(np.arange(5), 2)
    [array([0, 1, 2]), array([3, 4])]
    """
    if isinstance(indices_or_sections, Sequence):
        return split(ary, indices_or_sections, axis)
    x, sections = to_array(ary), index(indices_or_sections)
    if sections <= 0:
        raise ValueError(f"array_split: needs at least one part, got {sections}")
    refuse_impossible("array_split", sections, BYTES_OF_A_VIEW, held=True)
    small, more = divmod(x.shape[axis_of(axis, x.ndim)], sections)
    return split(x, [part * small + min(part, more) for part in range(1, sections)], axis)


def hsplit(ary: ArrayLike, indices_or_sections: ShapeLike) -> list[ndarray]:
    """Split into views along the second axis, or the only one.

    Examples
    --------
    >>> from forerun import np
    >>> np.hsplit(np.arange(4), 2)
    [array([0, 1]), array([2, 3])]
    """
    x = to_array(ary)
    if x.ndim < 1:
        raise ValueError("hsplit: needs at least one dimension")
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def vsplit(ary: ArrayLike, indices_or_sections: ShapeLike) -> list[ndarray]:
    """Split into views along the first axis.

    Examples
    --------
    >>> from forerun import np
    >>> [x.shape for x in np.vsplit(np.zeros((4, 3)), 2)]
    [(2, 3), (2, 3)]
    """
    x = to_array(ary)
    if x.ndim < 2:
        raise ValueError(f"vsplit: needs at least two dimensions, got {x.shape}")
    return split(x, indices_or_sections, 0)


def dsplit(ary: ArrayLike, indices_or_sections: ShapeLike) -> list[ndarray]:
    """Split into views along the third axis.

    Examples
    --------
    >>> from forerun import np
    >>> [x.shape for x in np.dsplit(np.zeros((2, 3, 4)), 2)]
    [(2, 3, 2), (2, 3, 2)]
    """
    x = to_array(ary)
    if x.ndim < 3:
        raise ValueError(f"dsplit: needs at least three dimensions, got {x.shape}")
    return split(x, indices_or_sections, 2)


def resize(a: ArrayLike, new_shape: ShapeLike) -> ndarray:
    """Return a copy with another size: truncated, or repeated from the start.

    Examples
    --------
    >>> from forerun import np
    >>> np.resize(np.array([1, 2, 3]), (2, 2))
    array([[1, 2],
           [3, 1]])
    """
    x = to_array(a)
    shape = tuple(map(index, new_shape)) if isinstance(new_shape, Sequence) else (index(new_shape),)
    if any(extent < 0 for extent in shape):
        raise ValueError(f"resize: an extent must not be negative, got {shape}")
    wanted = math.prod(shape)
    refuse_impossible("resize", wanted, x.dtype.itemsize)
    if x.size == 0 or wanted == 0:
        return _forerun.full(shape, 0, x.dtype, x.device)
    if wanted <= x.size:
        return x.ravel()[:wanted].copy().reshape(shape)
    return tile(x.ravel(), -(-wanted // x.size))[:wanted].reshape(shape)


row_stack = vstack
