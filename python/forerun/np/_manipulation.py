"""Reshaping, joining, splitting and casting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import Device, ndarray
from forerun._reducing import written
from forerun._types import ArrayLike, AxisLike, DTypeLike, Out, ShapeLike
from forerun.np._common import Order, check_order
from forerun.np._sizes import refuse_impossible

__all__ = [
    "astype",
    "broadcast_to",
    "concat",
    "concatenate",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "ravel",
    "repeat",
    "reshape",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "take",
    "tile",
    "transpose",
]

if TYPE_CHECKING:
    import numpy

# The approximate size of a view and its entry in a list, in bytes.
BYTES_OF_A_VIEW = 100
# The maximum number of dimensions.
_MOST_DIMENSIONS = 32


def reshape(a: ArrayLike, shape: ShapeLike, order: Order = "C", *, copy: bool | None = None) -> ndarray:
    """Return an array with another shape; one dimension may be -1.

    Parameters
    ----------
    a
        The array.
    shape
        The new shape.
    order
        "F" reads and writes elements in column-major order; all others in row-major order.
    copy
        Whether to copy; by default only if necessary. False raises if a copy is necessary.

    Examples
    --------
    >>> from forerun import np
    >>> np.reshape(np.arange(4), (2, -1))
    array([[0, 1],
           [2, 3]])
    """
    x = to_array(a)
    made = x.reshape(shape, order=check_order("reshape", order))
    is_view = _forerun.shares_cell(x, made)
    if copy is False and not is_view:
        raise ValueError(f"reshape: {x.shape} to {made.shape} requires a copy")
    return made.copy() if copy and is_view else made


def ravel(a: ArrayLike, order: Order = "C") -> ndarray:
    """Return the flattened array; with order "F" in column-major order.

    Examples
    --------
    >>> from forerun import np
    >>> np.ravel(np.eye(2))
    array([1., 0., 0., 1.])
    """
    return to_array(a).ravel(check_order("ravel", order))


def transpose(a: ArrayLike, axes: Sequence[SupportsIndex] | None = None) -> ndarray:
    """Return a view with permuted dimensions; reversed by default.

    Examples
    --------
    >>> from forerun import np
    >>> np.transpose(np.zeros((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    return to_array(a).transpose(axes)


def axis_of(axis: SupportsIndex, ndim: int) -> int:
    """Normalise an axis to a non-negative number."""
    number = index(axis)
    if not -ndim <= number < ndim:
        raise IndexError(f"axis {number} is out of bounds for array of dimension {ndim}")
    return number % ndim


def swapaxes(a: ArrayLike, axis1: SupportsIndex, axis2: SupportsIndex) -> ndarray:
    """Return a view with two dimensions swapped.

    Examples
    --------
    >>> from forerun import np
    >>> np.swapaxes(np.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return _forerun.swapaxes(a, axis1, axis2)


def moveaxis(a: ArrayLike, source: ShapeLike, destination: ShapeLike) -> ndarray:
    """Return a view with dimensions moved to other positions.

    Examples
    --------
    >>> from forerun import np
    >>> np.moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = to_array(a)
    sources = [axis_of(axis, x.ndim) for axis in (source if isinstance(source, Sequence) else [source])]
    places = [axis_of(axis, x.ndim) for axis in (destination if isinstance(destination, Sequence) else [destination])]
    if len(set(sources)) != len(sources) or len(set(places)) != len(places) or len(sources) != len(places):
        raise ValueError(f"moveaxis: cannot move axes {source} to {destination}")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return x.transpose(order)


def expand_dims(a: ArrayLike, axis: SupportsIndex | Sequence[SupportsIndex]) -> ndarray:
    """Return a view with one or more new dimensions of extent 1, at positions of the result.

    Examples
    --------
    >>> from forerun import np
    >>> np.expand_dims(np.zeros((2, 3)), 1).shape
    (2, 1, 3)
    >>> np.expand_dims(np.zeros(3), (0, 2)).shape
    (1, 3, 1)
    """
    x = to_array(a)
    if not isinstance(axis, Sequence):
        return _forerun.expand_dims(x, axis)
    ndim = x.ndim + len(axis)
    places = sorted({axis_of(each, ndim) for each in axis})
    if len(places) < len(axis):
        raise ValueError(f"expand_dims: an axis is given twice: {tuple(axis)}")
    for place in places:
        x = _forerun.expand_dims(x, place)
    return x


def squeeze(a: ArrayLike, axis: AxisLike = None) -> ndarray:
    """Return a view without dimensions of extent 1.

    Examples
    --------
    >>> from forerun import np
    >>> np.squeeze(np.zeros((2, 1, 3))).shape
    (2, 3)
    """
    return to_array(a).squeeze(axis)


def broadcast_to(array: ArrayLike, shape: ShapeLike) -> ndarray:
    """Return a view that broadcasts an array to a larger shape.

    Examples
    --------
    >>> from forerun import np
    >>> np.broadcast_to(np.arange(2), (3, 2))
    array([[0, 1],
           [0, 1],
           [0, 1]])
    """
    return _forerun.broadcast_to(to_array(array), shape)


def concatenate(
    arrays: Sequence[ArrayLike],
    axis: SupportsIndex | None = 0,
    out: Out = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> ndarray:
    """Concatenate arrays along an axis; flattened if the axis is None.

    Examples
    --------
    >>> from forerun import np
    >>> np.concatenate([np.ones((2,)), np.zeros((1,))])
    array([1., 1., 0.])
    """
    if axis is None:
        made = _forerun.concatenate([to_array(array).ravel() for array in arrays], 0)
    else:
        made = _forerun.concatenate(arrays, axis)
    if dtype is not None:
        made = made.astype(dtype, copy=False, casting=casting)
    return made if out is None else written("concatenate", made, out, casting=casting)


def stack(
    arrays: Sequence[ArrayLike],
    axis: SupportsIndex = 0,
    out: Out = None,
    *,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> ndarray:
    """Stack arrays along a new axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.stack([np.ones((2,)), np.zeros((2,))])
    array([[1., 1.],
           [0., 0.]])
    """
    made = _forerun.stack(arrays, axis)
    if dtype is not None:
        made = made.astype(dtype, copy=False, casting=casting)
    return made if out is None else written("stack", made, out, casting=casting)


def split(ary: ArrayLike, indices_or_sections: ShapeLike, axis: SupportsIndex = 0) -> list[ndarray]:
    """Split into views along an axis: into equal parts, or at given positions.

    Examples
    --------
    >>> from forerun import np
    >>> np.split(np.arange(6), 3)
    [array([0, 1]), array([2, 3]), array([4, 5])]
    >>> np.split(np.arange(6), [1, 4])
    [array([0]), array([1, 2, 3]), array([4, 5])]
    """
    x = to_array(ary)
    along = axis_of(axis, x.ndim)
    extent = x.shape[along]
    if isinstance(indices_or_sections, Sequence):
        cuts = [index(cut) for cut in indices_or_sections]
    else:
        sections = index(indices_or_sections)
        if sections <= 0 or extent % sections:
            raise ValueError(f"split: {extent} elements along axis {along} do not make {sections} equal parts")
        refuse_impossible("split", sections, BYTES_OF_A_VIEW, held=True)
        cuts = [extent // sections * part for part in range(1, sections)]
    return [part_of(x, along, slice(*ends)) for ends in zip([0, *cuts], [*cuts, extent], strict=True)]


def part_of(x: ndarray, axis: int, part: slice) -> ndarray:
    """Return a view of a part along an axis."""
    whole = (slice(None),) * axis
    key = (*whole, part)
    return x[key]


def repeat(a: ArrayLike, repeats: ArrayLike, axis: SupportsIndex | None = None) -> ndarray:
    """Repeat each element along an axis, or of the flattened array.

    Counts are a single number or one per element. An array of counts is waited for.

    Examples
    --------
    >>> from forerun import np
    >>> np.repeat(np.array([1, 2]), 2)
    array([1, 1, 2, 2])
    >>> np.repeat(np.array([1, 2]), [1, 3])
    array([1, 2, 2, 2])
    """
    if (quick := _forerun.repeat(a, repeats, axis)) is not None:
        return quick
    x = to_array(a)
    if axis is None:
        x, axis = x.ravel(), 0
    along = axis_of(axis, x.ndim)
    extent = x.shape[along]
    counts = _counts(repeats)
    if len(counts) not in (1, extent):
        raise ValueError(f"repeat: {len(counts)} counts for {extent} elements along axis {along}")
    least = int(counts.min()) if len(counts) else 0
    if least < 0:
        raise ValueError(f"repeat: a count must not be negative, got {least}")
    before, after = x.shape[: along + 1], x.shape[along + 1 :]
    # If the sum of integers might overflow, a float sum is accurate enough to reject it.
    total = extent * int(counts[0]) if len(counts) == 1 else int(counts.sum(dtype=float))
    refuse_impossible("repeat", math.prod((*before[:-1], total, *after)), x.dtype.itemsize)
    if len(counts) != 1:
        import numpy

        refuse_impossible("repeat", total, 8, held=True)
        return x.take(to_array(numpy.repeat(numpy.arange(extent), counts), None, x.device), along)
    wide = _forerun.broadcast_to(_forerun.expand_dims(x, along + 1), (*before, int(counts[0]), *after))
    # Copy first: if each element occurs once, reshaping alone would return a view.
    return wide.copy().reshape(*before[:-1], total, *after)


def _counts(repeats: ArrayLike) -> numpy.ndarray:
    """Return the counts; a single one applies to all elements."""
    import numpy

    if isinstance(repeats, SupportsIndex) and getattr(repeats, "ndim", 0) == 0:
        # An object array, because the count may be of any size; the size of the result is checked later.
        return numpy.array([index(repeats)], object)
    counts = numpy.asarray(repeats)
    if counts.ndim > 1:
        raise ValueError(f"repeat: counts must have at most one dimension, got {counts.shape}")
    if counts.size == 0 and isinstance(repeats, Sequence):
        counts = counts.astype(numpy.int64)
    if counts.dtype.kind not in "biu":
        raise TypeError(f"repeat: counts must be integers, not {counts.dtype}")
    return counts.reshape(-1).astype(numpy.int64)


def tile(a: ArrayLike, reps: ShapeLike) -> ndarray:
    """Repeat an array ``reps`` times along each axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.tile(np.array([1, 2]), (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    if (quick := _forerun.tile(a, reps)) is not None:
        return quick
    x = to_array(a)
    counts = [index(count) for count in reps] if isinstance(reps, Sequence) else [index(reps)]
    if any(count < 0 for count in counts):
        raise ValueError(f"tile: a count must not be negative, got {reps}")
    counts = [1] * (x.ndim - len(counts)) + counts
    x = x.reshape((1,) * (len(counts) - x.ndim) + x.shape)
    shape = tuple(extent * count for extent, count in zip(x.shape, counts, strict=True))
    refuse_impossible("tile", math.prod(shape), x.dtype.itemsize)
    if 0 in shape:
        return _forerun.full(shape, 0, x.dtype, x.device)
    # Insert an axis of copies before each axis that is repeated.
    narrow: list[int] = []
    wide: list[int] = []
    for extent, count in zip(x.shape, counts, strict=True):
        narrow += [extent] if count == 1 else [1, extent]
        wide += [extent] if count == 1 else [count, extent]
    if len(wide) <= _MOST_DIMENSIONS:
        return _forerun.broadcast_to(x.reshape(*narrow), wide).copy().reshape(shape)
    for axis, count in enumerate(counts):
        if count > 1:
            before, after = x.shape[:axis], x.shape[axis:]
            rows = x.reshape(math.prod(before), 1, math.prod(after))
            rows = _forerun.broadcast_to(rows, (math.prod(before), count, math.prod(after)))
            x = rows.copy().reshape(*before, after[0] * count, *after[1:])
    return x


def flip(m: ArrayLike, axis: AxisLike = None) -> ndarray:
    """Return a view with the elements along axes reversed.

    Examples
    --------
    >>> from forerun import np
    >>> np.flip(np.arange(3))
    array([2, 1, 0])
    """
    return _forerun.flip(m, axis)


def take(
    a: ArrayLike, indices: ArrayLike, axis: SupportsIndex | None = None, out: Out = None, mode: str = "raise"
) -> ndarray:
    """Take elements along an axis by indices; without an axis, from the flattened array.

    An index out of bounds raises when the result is read, or is clipped or wrapped according to ``mode``.

    Examples
    --------
    >>> from forerun import np
    >>> np.take(np.array([[1, 2], [3, 4], [5, 6]]), np.array([2, 0]), axis=0)
    array([[5, 6],
           [1, 2]])
    """
    made = _forerun.take(a, indices, axis, mode)
    return made if out is None else written("take", made, out)


def astype(x: ArrayLike, dtype: DTypeLike, *, copy: bool = True, device: Device | str | None = None) -> ndarray:
    """Convert to another dtype, and copy to another device if one is given.

    Examples
    --------
    >>> from forerun import np
    >>> np.astype(np.ones((2,)), np.int32)
    array([1, 1], dtype=int32)
    """
    made = to_array(x).astype(dtype, copy=copy)
    return made if device is None else made.to_device(device)


# NumPy's other names.
concat = concatenate
permute_dims = transpose
