"""Selection of elements by conditions and positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, SupportsIndex, overload

from forerun import _forerun, _pointwise
from forerun._convert import to_array, to_arrays
from forerun._forerun import ndarray
from forerun._types import ArrayLike, Number
from forerun.np._common import broadcast

__all__ = ["argwhere", "choose", "compress", "extract", "flatnonzero", "ix_", "nonzero", "piecewise", "select", "where"]

_BOOL = _forerun.bool


def _mask(x: ndarray) -> ndarray:
    return x if x.dtype == "bool" else x != 0


def nonzero(a: ArrayLike) -> tuple[ndarray, ...]:
    """Return the indices of nonzero elements, one array per dimension. Waits for their number.

    Examples
    --------
    >>> from forerun import np
    >>> rows, columns = np.nonzero(np.array([[0, 3], [4, 0]]))
    >>> rows, columns
    (array([0, 1]), array([1, 0]))
    """
    x = a if type(a) is ndarray else to_array(a)
    if x.ndim == 0:
        raise ValueError("nonzero: an array without dimensions has no positions; use np.atleast_1d first")
    found = _forerun.nonzero(x if x.dtype is _BOOL else _mask(x))
    return (found[0],) if x.ndim == 1 else tuple(found)


def flatnonzero(a: ArrayLike) -> ndarray:
    """Return the indices of nonzero elements in the flattened array. Waits for their number.

    Examples
    --------
    >>> from forerun import np
    >>> np.flatnonzero(np.array([[0, 3], [4, 0]]))
    array([1, 2])
    """
    return nonzero(to_array(a).ravel())[0]


def argwhere(a: ArrayLike) -> ndarray:
    """Return the indices of nonzero elements, one per row. Waits for their number.

    Examples
    --------
    >>> from forerun import np
    >>> np.argwhere(np.array([[0, 3], [4, 0]]))
    array([[0, 1],
           [1, 0]])
    """
    return _forerun.nonzero(_mask(to_array(a))).T


@overload
def where(condition: ArrayLike, /) -> tuple[ndarray, ...]: ...


@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike, /) -> ndarray: ...


def where(
    condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None, /
) -> ndarray | tuple[ndarray, ...]:
    """Choose element by element: from ``x`` where the condition holds, else from ``y``.

    With a condition alone, return the indices where it holds, like ``nonzero``; this waits for their number.

    Examples
    --------
    >>> from forerun import np
    >>> np.where(np.array([True, False]), np.array([1, 2]), 0)
    array([1, 0])
    >>> np.where(np.array([5, 0, 6]))
    (array([0, 2]),)
    """
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("where: takes a condition alone, or with both x and y")
    return _pointwise.where(condition, x, y)


def compress(condition: ArrayLike, a: ArrayLike, axis: SupportsIndex | None = None) -> ndarray:
    """Return the rows along an axis for which a condition holds; without an axis, elements of the flattened array.

    The condition may be shorter than the axis. Waits for the size of the result.

    Examples
    --------
    >>> from forerun import np
    >>> np.compress([False, True], np.array([[1, 2], [3, 4]]), axis=0)
    array([[3, 4]])
    """
    x, chosen = to_arrays(a, condition)
    if chosen.ndim != 1:
        raise ValueError(f"compress: the condition must have one dimension, not {chosen.ndim}")
    along = 0 if axis is None else index(axis)
    x = x.ravel() if axis is None else x
    if not -x.ndim <= along < x.ndim:
        raise IndexError(f"compress: axis {along} is out of bounds for array of dimension {x.ndim}")
    before = (slice(None),) * (along % x.ndim)
    extent = x.shape[along]
    kept: ndarray = nonzero(chosen)[0] if chosen.size != extent else _mask(chosen)
    at: tuple[slice | ndarray, ...] = (*before, kept)
    return x[at]


def extract(condition: ArrayLike, arr: ArrayLike) -> ndarray:
    """Return the elements, in one dimension, for which a condition holds. Waits for their number.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.arange(6).reshape(2, 3)
    >>> np.extract(x % 2 == 0, x)
    array([0, 2, 4])
    """
    x, chosen = to_arrays(arr, condition)
    return compress(chosen.ravel(), x)


def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0) -> ndarray:
    """Take each element from the choice of the first condition that holds, or else from a default.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.arange(6)
    >>> np.select([x < 2, x > 3], [x, x * 10], -1)
    array([ 0,  1, -1, -1, 40, 50])
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"select: {len(condlist)} conditions for {len(choicelist)} choices")
    if not condlist:
        raise ValueError("select: needs at least one condition")
    conditions = to_arrays(*condlist)
    for condition in conditions:
        if condition.dtype != "bool":
            raise TypeError(f"select: conditions must be boolean, not {condition.dtype}")
    found: ArrayLike = default
    for condition, choice in zip(reversed(conditions), reversed(choicelist), strict=True):
        found = _pointwise.where(condition, choice, found)
    return to_array(found)


def piecewise(
    x: ArrayLike, condlist: ArrayLike, funclist: Sequence[Callable[..., ArrayLike] | Number], *args: Any, **kw: Any
) -> ndarray:
    """Evaluate each element with the function of the last condition that holds.

    An additional function applies where no condition holds; the default is 0. Every function is called with all of
    ``x``, so that nothing waits; it must be elementwise. The result has the dtype of ``x``.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.array([-2.0, -1.0, 1.0])
    >>> np.piecewise(x, [x < 0, x >= 0], [lambda x: -x, 7])
    array([2., 1., 7.])
    """
    a = to_array(x)
    listed = isinstance(condlist, (list, tuple)) and len(condlist) > 0
    if listed and not (isinstance(condlist[0], (bool, int)) and a.ndim > 0):  # type: ignore[index]
        conditions = to_arrays(*condlist)  # type: ignore[misc]
    else:
        (alone,) = to_arrays(condlist)
        conditions = list(alone) if alone.ndim > 1 else [alone]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        count = len(conditions)
        raise ValueError(f"piecewise: with {count} conditions, {count} or {count + 1} functions are expected")

    def value(function: Callable[..., ArrayLike] | Number) -> ArrayLike:
        return function(a, *args, **kw) if callable(function) else function

    found: ArrayLike = value(funclist[-1]) if len(funclist) > len(conditions) else 0
    for condition, function in zip(conditions, funclist, strict=False):
        found = _pointwise.where(_mask(condition), value(function), found)
    made = _forerun.full(a.shape, 0, a.dtype, a.device)
    made[...] = found
    return made


def choose(a: ArrayLike, choices: ArrayLike | Sequence[ArrayLike], mode: str = "raise") -> ndarray:
    """Take each element from the choice given by an array of integers.

    An index out of bounds raises when the result is read, or is clipped or wrapped according to ``mode``.

    Examples
    --------
    >>> from forerun import np
    >>> np.choose(np.array([1, 0, 2]), [np.array([1, 2, 3]), 20, 30])
    array([20,  2, 30])
    """
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"mode must be 'raise', 'clip' or 'wrap', not '{mode}'")
    named, *parts = to_arrays(a, *(choices if isinstance(choices, (list, tuple)) else to_array(choices)))
    count = len(parts)
    if count == 0:
        raise ValueError("choose: needs at least one choice")
    if mode == "wrap":
        named = named % count
    elif mode == "clip":
        named = named.clip(0, count - 1)
    else:
        # Negative numbers are not positions from the end here, so make them invalid.
        named = _pointwise.where(named < 0, count, named)
    shape = broadcast("choose", named.shape, *(part.shape for part in parts))
    # Stack the choices along a new first dimension, where the number is an index.
    apart = [_forerun.broadcast_to(part, shape) for part in parts]
    whole = _forerun.stack(apart, 0)
    places = _forerun.broadcast_to(named, shape).reshape(1, *shape)
    return _forerun.routine("take_along_axis", [whole, places], axis=0)[0]


def ix_(*args: ArrayLike) -> tuple[ndarray, ...]:
    """Return index arrays that select a grid, each along its own dimension.

    An array of booleans stands for the indices where it is true; this waits for their number.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.arange(9).reshape(3, 3)
    >>> x[np.ix_([0, 2], [1])]
    array([[1],
           [7]])
    """
    grid = []
    for place, arg in enumerate(args):
        x = to_array(arg)
        if x.ndim != 1:
            raise ValueError(f"ix_: each array must have one dimension, not {x.ndim}")
        if x.size == 0:
            x = x.astype("int64", copy=False)
        if x.dtype == "bool":
            (x,) = nonzero(x)
        grid.append(x.reshape((1,) * place + (-1,) + (1,) * (len(args) - place - 1)))
    return tuple(grid)
