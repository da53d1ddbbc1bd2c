"""Cumulative sums and products."""

from __future__ import annotations

from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import int64, ndarray
from forerun._reducing import written
from forerun._types import ArrayLike, DTypeLike, Out
from forerun.np._common import one_axis, without_nan

__all__ = ["cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "nancumprod", "nancumsum"]


def cumsum(a: ArrayLike, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out = None) -> ndarray:
    """Return the cumulative sum along an axis.

    Parameters
    ----------
    a
        The elements. Booleans and narrow integers are summed as int64.
    axis
        The axis; the flattened array if not given.
    dtype
        The dtype of the sum.
    out
        An array to write the result into.

    Examples
    --------
    >>> from forerun import np
    >>> np.cumsum(np.array([1.0, 2.0, 3.0]))
    array([1., 3., 6.])
    """
    made = _scan("cumsum", a, axis, dtype)
    return made if out is None else written("cumsum", made, out)


def cumprod(
    a: ArrayLike, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None, out: Out = None
) -> ndarray:
    """Return the cumulative product along an axis.

    Parameters
    ----------
    a
        The elements. Booleans and narrow integers are multiplied as int64.
    axis
        The axis; the flattened array if not given.
    dtype
        The dtype of the product.
    out
        An array to write the result into.

    Examples
    --------
    >>> from forerun import np
    >>> np.cumprod(np.array([1.0, 2.0, 3.0]))
    array([1., 2., 6.])
    """
    made = _scan("cumprod", a, axis, dtype)
    return made if out is None else written("cumprod", made, out)


def _scan(op: str, a: ArrayLike, axis: SupportsIndex | None, dtype: DTypeLike | None) -> ndarray:
    x = to_array(a)
    if dtype is not None:
        x = x.astype(dtype, copy=False)
    elif (kind := x.dtype.kind) in "biu" and x.itemsize < 8:
        x = x.astype("uint64" if kind == "u" else int64)
    if axis is None:
        return _forerun.routine(op, [x if x.ndim == 1 else x.reshape(-1)], axis=0)
    return _forerun.routine(op, [x], axis=axis.__index__())


def cumulative_sum(
    x: ArrayLike,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> ndarray:
    """Return the cumulative sum along an axis, optionally starting with 0.

    Parameters
    ----------
    x
        The elements.
    axis
        The axis; may be omitted for 1-d arrays.
    dtype
        The dtype of the sum.
    include_initial
        Whether the result starts with 0.

    Examples
    --------
    >>> from forerun import np
    >>> np.cumulative_sum(np.array([1.0, 2.0, 3.0]), include_initial=True)
    array([0., 1., 3., 6.])
    """
    return _from_nothing("cumulative_sum", x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(
    x: ArrayLike,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> ndarray:
    """Return the cumulative product along an axis, optionally starting with 1.

    Parameters
    ----------
    x
        The elements.
    axis
        The axis; may be omitted for 1-d arrays.
    dtype
        The dtype of the product.
    include_initial
        Whether the result starts with 1.

    Examples
    --------
    >>> from forerun import np
    >>> np.cumulative_prod(np.array([2.0, 3.0]), include_initial=True)
    array([1., 2., 6.])
    """
    return _from_nothing("cumulative_prod", x, axis, dtype, 1 if include_initial else None)


def _from_nothing(
    op: str, x: ArrayLike, axis: SupportsIndex | None, dtype: DTypeLike | None, initial: int | None
) -> ndarray:
    x = to_array(x)
    if x.ndim == 0 or (axis is None and x.ndim > 1):
        raise ValueError(f"{op}: axis is required for shape {x.shape}")
    place = one_axis(op, -1 if axis is None else axis, x.ndim)
    made = _scan("cumsum" if op == "cumulative_sum" else "cumprod", x, place, dtype)
    if initial is None:
        return made
    first = [1 if d == place else extent for d, extent in enumerate(x.shape)]
    return _forerun.concatenate([_forerun.full(first, initial, made.dtype, made.device), made], place)


def nancumsum(a: ArrayLike, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None) -> ndarray:
    """Return the cumulative sum along an axis, treating NaN as 0.

    Examples
    --------
    >>> from forerun import np
    >>> np.nancumsum(np.array([1.0, np.nan, 3.0]))
    array([1., 1., 4.])
    """
    return cumsum(without_nan(a, 0), axis, dtype)


def nancumprod(a: ArrayLike, axis: SupportsIndex | None = None, dtype: DTypeLike | None = None) -> ndarray:
    """Return the cumulative product along an axis, treating NaN as 1.

    Examples
    --------
    >>> from forerun import np
    >>> np.nancumprod(np.array([2.0, np.nan, 3.0]))
    array([2., 2., 6.])
    """
    return cumprod(without_nan(a, 1), axis, dtype)
