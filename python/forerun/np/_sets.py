"""Set functions: sorted distinct elements.

The size of a result depends on values. These functions therefore wait once, for that size, and for nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import int64, ndarray
from forerun._pointwise import equal, logical_and, logical_not, minimum
from forerun._types import ArrayLike
from forerun.np._common import alike, on_host, one_axis

__all__ = [
    "in1d",
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAll(NamedTuple):
    """Distinct elements, first indices, inverse indices and counts."""

    values: ndarray
    indices: ndarray
    inverse_indices: ndarray
    counts: ndarray


class UniqueCounts(NamedTuple):
    """Distinct elements and counts."""

    values: ndarray
    counts: ndarray


class UniqueInverse(NamedTuple):
    """Distinct elements and inverse indices."""

    values: ndarray
    inverse_indices: ndarray


class _Groups:
    """Sorted elements in groups of equal ones; the number of groups is known."""

    def __init__(self, x: ndarray, equal_nan: bool, places: bool) -> None:
        rows = x.ndim > 1
        self.size = x.shape[0]
        self.order: ndarray | None = None
        if rows:
            self.order = _forerun.routine("row_order", [x])
        elif places:
            self.order = _forerun.routine("argsort", [x], axis=0)
        ordered = _forerun.routine("sort", [x], axis=0) if self.order is None else _forerun.take(x, self.order, 0)
        self.groups = _forerun.routine("groups", [ordered], equal_nan=equal_nan)
        count = int(self.groups[-1]) + 1 if self.size else 0
        self.starts = _forerun.routine("group_starts", [self.groups], count=count)
        self.values = _forerun.take(ordered, self.starts, 0)

    def indices(self) -> ndarray:
        """Return the first index of each distinct element."""
        assert self.order is not None
        return _forerun.take(self.order, self.starts, 0)

    def inverse(self) -> ndarray:
        """Return the inverse indices."""
        assert self.order is not None
        none = _forerun.full((self.size,), 0, int64, self.groups.device)
        return _forerun.routine("put_along_axis", [none, self.order, self.groups], axis=0)

    def counts(self) -> ndarray:
        """Return the counts."""
        end = _forerun.full((1,), self.size, int64, self.groups.device)
        return _forerun.concatenate([self.starts, end], 0)[1:] - self.starts


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: SupportsIndex | None = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """Return the sorted distinct elements. Waits for their number.

    Parameters
    ----------
    ar
        The elements.
    return_index, return_inverse, return_counts
        Whether to return the first indices, the inverse indices and the counts too.
    axis
        Compare slices along this axis instead of elements.
    equal_nan
        Whether NaN equals NaN.

    Examples
    --------
    >>> from forerun import np
    >>> values, counts = np.unique(np.array([3, 1, 3]), return_counts=True)
    >>> values
    array([1, 3])
    >>> counts
    array([1, 2])
    """
    x = to_array(ar)
    if axis is None:
        groups = _Groups(x.reshape(-1), equal_nan, return_index or return_inverse)
        values = groups.values
    else:
        place = one_axis("unique", axis, x.ndim)
        moved = x.swapaxes(0, place) if x.ndim > 1 else x.reshape(-1, 1)
        rest = moved.shape[1:]
        width = x.size // x.shape[place] if x.shape[place] else 0
        groups = _Groups(moved.reshape(x.shape[place], width), equal_nan, True)
        values = groups.values.reshape(groups.values.shape[0], *rest)
        values = values.swapaxes(0, place) if x.ndim > 1 else values.reshape(-1)
    made = [values]
    if return_index:
        made.append(groups.indices())
    if return_inverse:
        inverse = groups.inverse()
        made.append(inverse.reshape(*x.shape) if axis is None else inverse)
    if return_counts:
        made.append(groups.counts())
    return made[0] if len(made) == 1 else tuple(made)


def unique_all(x: ArrayLike, /) -> UniqueAll:
    """Return distinct elements, first and inverse indices, and counts. Waits for their number; NaN differs from NaN.

    Examples
    --------
    >>> from forerun import np
    >>> np.unique_all(np.array([3, 1, 3])).inverse_indices
    array([1, 0, 1])
    """
    x = to_array(x)
    groups = _Groups(x.reshape(-1), False, True)
    return UniqueAll(groups.values, groups.indices(), groups.inverse().reshape(*x.shape), groups.counts())


def unique_counts(x: ArrayLike, /) -> UniqueCounts:
    """Return distinct elements and counts. Waits for their number; NaN differs from NaN.

    Examples
    --------
    >>> from forerun import np
    >>> np.unique_counts(np.array([3, 1, 3])).counts
    array([1, 2])
    """
    groups = _Groups(to_array(x).reshape(-1), False, False)
    return UniqueCounts(groups.values, groups.counts())


def unique_inverse(x: ArrayLike, /) -> UniqueInverse:
    """Return distinct elements and inverse indices. NaN differs from NaN.

    Waits for their number.

    Examples
    --------
    >>> from forerun import np
    >>> np.unique_inverse(np.array([3, 1, 3])).values
    array([1, 3])
    """
    x = to_array(x)
    groups = _Groups(x.reshape(-1), False, True)
    return UniqueInverse(groups.values, groups.inverse().reshape(*x.shape))


def unique_values(x: ArrayLike, /) -> ndarray:
    """Return the distinct elements. Waits for their number; NaN differs from NaN.

    Examples
    --------
    >>> from forerun import np
    >>> np.unique_values(np.array([3, 1, 3]))
    array([1, 3])
    """
    return _Groups(to_array(x).reshape(-1), False, False).values


def _ordered(x: ndarray) -> ndarray:
    return _forerun.routine("sort", [x.reshape(-1)], axis=0)


def _firsts(ordered: ndarray) -> ndarray:
    """Return for sorted elements whether each is the first of its group. NaN equals NaN."""
    if ordered.size == 0:
        return _forerun.full((0,), False, "bool", ordered.device)
    groups = _forerun.routine("groups", [ordered], equal_nan=True)
    first = _forerun.full((1,), True, "bool", ordered.device)
    return _forerun.concatenate([first, groups[1:] > groups[:-1]], 0)


def chosen(x: ndarray, mask: ndarray) -> ndarray:
    """Return the elements that a mask selects. Waits for their number."""
    if x.size == 0:
        return x
    numbers = _forerun.routine("cumsum", [mask.astype(int64)], axis=0) - 1
    return _forerun.take(x, _forerun.routine("group_starts", [numbers], count=int(numbers[-1]) + 1), 0)


def _is_among(x: ndarray, ordered: ndarray) -> ndarray:
    """Return for each element whether it is in a sorted array."""
    if ordered.size == 0:
        return _forerun.full(x.shape, False, "bool", x.device)
    places = minimum(_forerun.routine("searchsorted", [ordered, x]), ordered.size - 1)
    return equal(_forerun.take(ordered, places, 0), x)


def _is_in(x: ndarray, others: ndarray) -> ndarray:
    """Return for each element whether it is in another array."""
    if on_host(x):
        return _forerun.routine("among", [others if others.ndim == 1 else others.reshape(-1), x])
    return _is_among(x, _ordered(others))


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> ndarray:
    """Return for each element whether it is in another array.

    Parameters
    ----------
    element
        The elements.
    test_elements
        The array to search.
    assume_unique, kind
        Ignored.
    invert
        Whether to negate the result.

    Examples
    --------
    >>> from forerun import np
    >>> np.isin(np.array([1, 2, 3]), np.array([3, 1]))
    array([ True, False,  True])
    """
    x, others = alike(element, test_elements)
    found = _is_in(x, others)
    return logical_not(found) if invert else found


def in1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, invert: bool = False) -> ndarray:
    """Return for each element of the flattened array whether it is in another array.

    Examples
    --------
    >>> from forerun import np
    >>> np.in1d(np.array([1, 2, 3]), np.array([3, 1]))
    array([ True, False,  True])
    """
    return isin(to_array(ar1).reshape(-1), ar2, assume_unique, invert)


def union1d(ar1: ArrayLike, ar2: ArrayLike) -> ndarray:
    """Return the sorted distinct elements of two arrays. Waits for their number.

    Examples
    --------
    >>> from forerun import np
    >>> np.union1d(np.array([3, 1]), np.array([2, 3]))
    array([1, 2, 3])
    """
    a, b = alike(ar1, ar2)
    made: ndarray = unique(_forerun.concatenate([a.reshape(-1), b.reshape(-1)], 0))
    return made


def intersect1d(
    ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False
) -> ndarray | tuple[ndarray, ndarray, ndarray]:
    """Return the sorted distinct elements that two arrays share. Waits for their number.

    Parameters
    ----------
    ar1, ar2
        The arrays.
    assume_unique
        Ignored.
    return_indices
        Whether to return the first indices in both arrays too.

    Examples
    --------
    >>> from forerun import np
    >>> np.intersect1d(np.array([3, 1, 3]), np.array([2, 3]))
    array([3])
    """
    a, b = (x.reshape(-1) for x in alike(ar1, ar2))
    ordered, others = _ordered(a), _ordered(b)
    shared = chosen(ordered, logical_and(_firsts(ordered), _is_among(ordered, others)))
    if not return_indices:
        return shared

    def first(x: ndarray, ordered: ndarray) -> ndarray:
        places = _forerun.routine("searchsorted", [ordered, shared])
        return _forerun.take(_forerun.routine("argsort", [x], axis=0), places, 0)

    return shared, first(a, ordered), first(b, others)


def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> ndarray:
    """Return the distinct elements of the first array that are not in the second. Waits for their number.

    Examples
    --------
    >>> from forerun import np
    >>> np.setdiff1d(np.array([3, 1, 3]), np.array([2, 3]))
    array([1])
    """
    a, b = alike(ar1, ar2)
    ordered = _ordered(a)
    return chosen(ordered, logical_and(_firsts(ordered), logical_not(_is_in(ordered, b))))


def setxor1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> ndarray:
    """Return the distinct elements that are in exactly one of two arrays. Waits for their number.

    Examples
    --------
    >>> from forerun import np
    >>> np.setxor1d(np.array([3, 1, 3]), np.array([2, 3]))
    array([1, 2])
    """
    a, b = (_ordered(x) for x in alike(ar1, ar2))
    masks = [logical_and(_firsts(x), logical_not(_is_among(x, y))) for x, y in ((a, b), (b, a))]
    return _ordered(chosen(_forerun.concatenate([a, b], 0), _forerun.concatenate(masks, 0)))
