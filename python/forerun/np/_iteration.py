"""Iteration over elements, as 0-d arrays, so that iterating does not wait."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from operator import index
from typing import Any, SupportsIndex

from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._types import ArrayLike, ShapeLike
from forerun.np._placing import put

__all__ = ["flatiter", "ndenumerate", "ndindex"]


class flatiter:
    """The type of ``x.flat``: a 1-d view of an array for iterating, reading and writing.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.arange(6).reshape(2, 3)
    >>> x.flat[4]
    array(4)
    >>> x.flat[::2] = 0
    >>> x
    array([[0, 1, 0],
           [3, 0, 5]])
    """

    def __init__(self, base: ndarray) -> None:
        self.base = base
        self._next = 0

    def __len__(self) -> int:
        """Return the number of elements."""
        return self.base.size

    def __iter__(self) -> flatiter:
        """Start from the first element."""
        self._next = 0
        return self

    def __next__(self) -> ndarray:
        """Return the next element, a view."""
        if self._next >= self.base.size:
            raise StopIteration
        left, place = self._next, []
        self._next += 1
        for extent in reversed(self.base.shape):
            left, at = divmod(left, extent)
            place.append(at)
        return self.base[tuple(reversed(place))]

    def __getitem__(self, key: Any) -> ndarray:
        """Return a copy of the elements that an index selects."""
        if isinstance(key, tuple) and len(key) > 1:
            raise IndexError("unsupported iterator index: the elements have one dimension")
        return self.base.reshape(-1)[key].copy()

    def __setitem__(self, key: Any, value: ArrayLike) -> None:
        """Write the elements that an index selects."""
        if isinstance(key, tuple) and len(key) > 1:
            raise IndexError("unsupported iterator index: the elements have one dimension")
        from forerun.np._creation import arange

        places = arange(self.base.size, device=self.base.device)[key]
        put(self.base, places, value)

    def copy(self) -> ndarray:
        """Return a copy of the elements in one dimension."""
        return self.base.flatten()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the elements as a NumPy array. Waits."""
        return self.base.reshape(-1).__array__(dtype, copy)


class ndenumerate:
    """Iterate over positions and elements.

    Examples
    --------
    >>> from forerun import np
    >>> for place, element in np.ndenumerate(np.array([[1, 2], [3, 4]])):
    ...     print(place, element)
    (0, 0) 1
    (0, 1) 2
    (1, 0) 3
    (1, 1) 4
    """

    def __init__(self, arr: ArrayLike) -> None:
        self._array = to_array(arr)
        self._places = ndindex(self._array.shape)

    def __iter__(self) -> ndenumerate:
        """Continue from the next element."""
        return self

    def __next__(self) -> tuple[tuple[int, ...], ndarray]:
        """Return the next position and its element, a view."""
        place = next(self._places)
        return place, self._array[place]


class ndindex:
    """Iterate over the positions of an array of a shape.

    Examples
    --------
    >>> from forerun import np
    >>> list(np.ndindex(2, 2))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """

    def __init__(self, *shape: SupportsIndex | ShapeLike) -> None:
        extents = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        dims = [index(extent) for extent in extents]  # type: ignore[arg-type]
        if any(extent < 0 for extent in dims):
            raise ValueError("negative dimensions are not allowed")
        self._places: Iterator[tuple[int, ...]] = itertools.product(*map(range, dims))

    def __iter__(self) -> ndindex:
        """Continue from the next position."""
        return self

    def __next__(self) -> tuple[int, ...]:
        """Return the next position."""
        return next(self._places)
