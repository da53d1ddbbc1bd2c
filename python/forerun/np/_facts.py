"""Properties of arrays that need no values: shapes, and whether arrays share elements."""

from __future__ import annotations

from typing import Any

from forerun._convert import to_array
from forerun._forerun import ndarray, placement, shares_cell
from forerun._types import ArrayLike

__all__ = ["may_share_memory", "ndim", "shape", "shares_memory", "size"]


def shape(a: ArrayLike) -> tuple[int, ...]:
    """Return the number of elements of each dimension.

    Examples
    --------
    >>> from forerun import np
    >>> np.shape([[1, 2, 3]])
    (1, 3)
    """
    return to_array(a).shape


def ndim(a: ArrayLike) -> int:
    """Return the number of dimensions.

    Examples
    --------
    >>> from forerun import np
    >>> np.ndim(np.ones((2, 3)))
    2
    """
    return to_array(a).ndim


def size(a: ArrayLike, axis: int | None = None) -> int:
    """Return the number of elements, altogether or along an axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.size(np.ones((2, 3))), np.size(np.ones((2, 3)), 1)
    (6, 3)
    """
    array = to_array(a)
    return array.size if axis is None else array.shape[axis]


def shares_memory(a: Any, b: Any) -> bool:
    """Return whether two arrays share elements, so that a write to one changes the other.

    Arrays never share elements with other libraries: exports are read-only, imports are copied.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.arange(6)
    >>> np.shares_memory(x[:4], x[3:]), np.shares_memory(x[::2], x[1::2])
    (True, False)
    """
    import numpy

    return _over_one_array(numpy.shares_memory, a, b)


def may_share_memory(a: Any, b: Any) -> bool:
    """Return whether two arrays may share elements: they view overlapping ranges of one array.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.arange(6)
    >>> np.may_share_memory(x[::2], x[1::2]), np.may_share_memory(x, x.copy())
    (True, False)
    """
    import numpy

    return _over_one_array(numpy.may_share_memory, a, b)


def _over_one_array(ask: Any, a: Any, b: Any) -> bool:
    """Ask NumPy, with byte arrays of the same layouts."""
    import numpy

    if not (isinstance(a, ndarray) and isinstance(b, ndarray) and shares_cell(a, b)):
        return False
    base, views = None, []
    for array in (a, b):
        count, offset, strides = placement(array)
        base = numpy.empty(count, numpy.uint8) if base is None else base
        views.append(numpy.ndarray(array.shape, numpy.uint8, base, offset, strides) if array.size else base[:0])
    return bool(ask(*views))
