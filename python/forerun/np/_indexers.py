"""Objects used with brackets: ``mgrid``, ``ogrid``, ``r_``, ``c_``, ``s_``."""

from __future__ import annotations

from typing import Any

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._types import ArrayLike
from forerun.np._creation import arange, linspace
from forerun.np._manipulation import broadcast_to, concatenate, stack

__all__ = ["c_", "index_exp", "mgrid", "ogrid", "r_", "s_"]


def _numbers(part: slice) -> ndarray:
    """Return the numbers of a slice; an imaginary step is the number of points, including both ends."""
    start = 0 if part.start is None else part.start
    step = 1 if part.step is None else part.step
    if isinstance(step, complex):
        return linspace(start, part.stop, int(abs(step)))
    return arange(start, part.stop, step)


class _Grid:
    """Grids of coordinates from slices."""

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __getitem__(self, key: slice | tuple[slice, ...]) -> Any:
        """Return the coordinates of a grid, one array per axis."""
        if isinstance(key, slice):
            return _numbers(key)
        lines = [_numbers(part) for part in key]
        kind = _forerun.result_type(*(line.dtype for line in lines))
        shape = tuple(line.size for line in lines)
        open_ones = tuple(
            line.astype(kind, copy=False).reshape([-1 if axis == other else 1 for other in range(len(lines))])
            for axis, line in enumerate(lines)
        )
        return open_ones if self._sparse else stack([broadcast_to(line, shape) for line in open_ones])


class _Joined:
    """Arrays, numbers and slices joined along an axis."""

    def __init__(self, axis: int, ndmin: int, trans1d: int) -> None:
        self._axis, self._ndmin, self._trans1d = axis, ndmin, trans1d

    def __getitem__(self, key: Any) -> ndarray:
        """Concatenate the items; a leading string of integers gives the axis and the number of dimensions."""
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, ndmin, trans1d = self._axis, self._ndmin, self._trans1d
        if parts and isinstance(parts[0], str):
            text = parts.pop(0)
            if text in ("r", "c"):
                raise ValueError(f"r_: there are no matrices, got {text!r}")
            words = [int(word) for word in text.split(",")]
            axis, ndmin, trans1d = (words + [axis, ndmin, trans1d][len(words) :])[:3]
        made = [_at_least(part, ndmin, trans1d) for part in parts]
        return concatenate(made, axis)


def _at_least(part: slice | ArrayLike, ndmin: int, trans1d: int) -> ndarray:
    made = _numbers(part) if isinstance(part, slice) else to_array(part)
    if made.ndim >= ndmin:
        return made if made.ndim else made.reshape(1)
    lack = ndmin - made.ndim
    if trans1d < 0 or made.ndim == 0:
        return made.reshape((1,) * lack + made.shape)
    # The dimensions of the item start at that position.
    return made.reshape((1,) * trans1d + made.shape + (1,) * (lack - trans1d))


class _Expression:
    """Index expressions."""

    def __init__(self, always_tuple: bool) -> None:
        self._always_tuple = always_tuple

    def __getitem__(self, key: Any) -> Any:
        """Return the index."""
        return (key,) if self._always_tuple and not isinstance(key, tuple) else key


#: Dense grids: ``np.mgrid[0:2, 0:3]`` has shape (2, 2, 3); an imaginary step counts points.
mgrid = _Grid(sparse=False)
#: Open grids, which broadcast to dense ones.
ogrid = _Grid(sparse=True)
#: Joins along the first axis: ``np.r_[1:4, 0, np.array([7, 8])]``.
r_ = _Joined(0, 1, -1)
#: Joins as columns: ``np.c_[np.array([1, 2]), np.array([3, 4])]``.
c_ = _Joined(-1, 2, 0)
#: Returns an index expression unchanged: ``np.s_[2::2]``.
s_ = _Expression(always_tuple=False)
#: The same, always as a tuple.
index_exp = _Expression(always_tuple=True)
