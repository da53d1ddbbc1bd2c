"""Reductions, products, comparisons of whole arrays, and clipping."""

from __future__ import annotations

import builtins
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import averaging, to_array, to_arrays
from forerun._forerun import ndarray
from forerun._pointwise import (
    abs,
    add,
    divide,
    equal,
    isnan,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    sqrt,
    subtract,
)
from forerun._reducing import reduced, written
from forerun._types import ArrayLike, AxisLike, DTypeLike, Out

__all__ = [
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "array_equal",
    "array_equiv",
    "clip",
    "isclose",
    "matmul",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def sum(
    a: ArrayLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> ndarray:
    """Sum elements over axes.

    Parameters
    ----------
    a
        The elements. Booleans and narrow integers are summed as int64 or uint64.
    axis
        The axes; all if not given.
    dtype
        The dtype to compute in.
    out
        An array to write the result into.
    keepdims
        Whether to keep the reduced axes with extent 1.
    initial
        The initial value.
    where
        Which elements to include.

    Examples
    --------
    >>> from forerun import np
    >>> np.sum(np.ones((2, 3)), axis=1)
    array([3., 3.])
    >>> np.sum(np.array([1, 2, 3]), initial=10, where=np.array([True, False, True]))
    array(14)
    """
    x = to_array(a)
    if out is None and initial is None and where is True:
        return x.sum(axis, dtype, keepdims=keepdims)
    return reduced(add, x, axis, dtype, out, keepdims, initial, where)


def prod(
    a: ArrayLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> ndarray:
    """Multiply elements over axes; for the arguments see :func:`sum`.

    Examples
    --------
    >>> from forerun import np
    >>> np.prod(np.array([2.0, 3.0]))
    array(6.)
    """
    x = to_array(a)
    if out is None and initial is None and where is True:
        return x.prod(axis, dtype, keepdims=keepdims)
    return reduced(multiply, x, axis, dtype, out, keepdims, initial, where)


def mean(
    a: ArrayLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
) -> ndarray:
    """Compute the mean over axes. The mean of integers is float64.

    Parameters
    ----------
    a, axis, dtype, out, keepdims, where
        As for :func:`sum`.

    Examples
    --------
    >>> from forerun import np
    >>> np.mean(np.array([1.0, 2.0]))
    array(1.5)
    """
    x = to_array(a)
    if where is True:
        made = x.mean(axis, dtype, keepdims=keepdims)
    else:
        x = averaging(x) if dtype is None else x.astype(dtype, copy=False)
        made = _mean(x, axis, keepdims, to_array(where, "bool", x.device))
    return made if out is None else written("mean", made, out)


def _mean(x: ndarray, axis: AxisLike, keepdims: bool, mask: ndarray) -> ndarray:
    total = reduced(add, x, axis, None, None, keepdims, None, mask)
    return divide(total, _counted(x, axis, keepdims, mask)).astype(x.dtype, copy=False)


def _counted(x: ndarray, axis: AxisLike, keepdims: bool, mask: ndarray) -> ndarray:
    """Count the included elements."""
    return _forerun.broadcast_to(mask, x.shape).sum(axis, keepdims=keepdims)


def var(
    a: ArrayLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    correction: float | None = None,
) -> ndarray:
    """Compute the variance over axes, with divisor ``n - ddof``.

    Parameters
    ----------
    a, axis, dtype, out, keepdims, where
        As for :func:`mean`.
    ddof, correction
        Two names of the correction to the divisor ``n``.

    Examples
    --------
    >>> from forerun import np
    >>> np.var(np.array([1.0, 3.0]))
    array(1.)
    """
    off = _correction("var", ddof, correction)
    if where is True:
        made = to_array(a).var(axis, dtype, ddof=off, keepdims=keepdims)
    else:
        made = _var(to_array(a), axis, dtype, off, keepdims, where)
    return made if out is None else written("var", made, out)


def _var(x: ndarray, axis: AxisLike, dtype: DTypeLike | None, ddof: float, keepdims: bool, where: ArrayLike) -> ndarray:
    x = averaging(x) if dtype is None else x.astype(dtype, copy=False)
    mask = to_array(where, "bool", x.device)
    centred = abs(subtract(x, _mean(x, axis, True, mask)))
    total = reduced(add, multiply(centred, centred), axis, None, None, keepdims, None, mask)
    count = maximum(subtract(_counted(x, axis, keepdims, mask), ddof), 0)
    return divide(total, count).astype(centred.dtype, copy=False)


def std(
    a: ArrayLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    out: Out = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    correction: float | None = None,
) -> ndarray:
    """Compute the standard deviation over axes; for the arguments see :func:`var`.

    Examples
    --------
    >>> from forerun import np
    >>> np.std(np.array([1.0, 5.0]))
    array(2.)
    """
    off = _correction("std", ddof, correction)
    if where is True:
        made = to_array(a).std(axis, dtype, ddof=off, keepdims=keepdims)
    else:
        made = sqrt(_var(to_array(a), axis, dtype, off, keepdims, where))
    return made if out is None else written("std", made, out)


def _correction(name: str, ddof: float, correction: float | None) -> float:
    if correction is not None and ddof:
        raise ValueError(f"{name}: ddof and correction are the same argument: give one")
    return ddof if correction is None else correction


def clip(
    a: ArrayLike,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    out: Out = None,
    *,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
) -> ndarray:
    """Limit elements to the interval from ``min`` to ``max``; ``a_min`` and ``a_max`` are aliases.

    Examples
    --------
    >>> from forerun import np
    >>> np.clip(np.arange(5), 1, 3)
    array([1, 1, 2, 3, 3])
    """
    for one, other, name in ((min, a_min, "min"), (max, a_max, "max")):
        if one is not None and other is not None:
            raise ValueError(f"clip: {name} and a_{name} are the same bound, give one")
    made = to_array(a).clip(a_min if min is None else min, a_max if max is None else max)
    return made if out is None else written("clip", made, out)


def max(
    a: ArrayLike,
    axis: AxisLike = None,
    out: Out = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> ndarray:
    """Return the maximum over axes; NaN if any is. For the arguments see :func:`sum`.

    Examples
    --------
    >>> from forerun import np
    >>> np.max(np.array([[1, 5], [3, 2]]), axis=0)
    array([3, 5])
    """
    x = to_array(a)
    if out is None and initial is None and where is True:
        return x.max(axis, keepdims=keepdims)
    return reduced(maximum, x, axis, None, out, keepdims, initial, where)


def min(
    a: ArrayLike,
    axis: AxisLike = None,
    out: Out = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike = True,
) -> ndarray:
    """Return the minimum over axes; NaN if any is. For the arguments see :func:`sum`.

    Examples
    --------
    >>> from forerun import np
    >>> np.min(np.array([[1, 5], [3, 2]]), axis=0)
    array([1, 2])
    """
    x = to_array(a)
    if out is None and initial is None and where is True:
        return x.min(axis, keepdims=keepdims)
    return reduced(minimum, x, axis, None, out, keepdims, initial, where)


def argmax(a: ArrayLike, axis: SupportsIndex | None = None, out: Out = None, *, keepdims: bool = False) -> ndarray:
    """Return the index of the first maximum along an axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.argmax(np.array([1, 5, 5]))
    array(1)
    """
    made = to_array(a).argmax(axis, keepdims=keepdims)
    return made if out is None else written("argmax", made, out)


def argmin(a: ArrayLike, axis: SupportsIndex | None = None, out: Out = None, *, keepdims: bool = False) -> ndarray:
    """Return the index of the first minimum along an axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.argmin(np.array([1, 5, 1]))
    array(0)
    """
    made = to_array(a).argmin(axis, keepdims=keepdims)
    return made if out is None else written("argmin", made, out)


def all(
    a: ArrayLike, axis: AxisLike = None, out: Out = None, keepdims: bool = False, *, where: ArrayLike = True
) -> ndarray:
    """Return whether all elements over axes are true; ``where`` selects elements.

    Examples
    --------
    >>> from forerun import np
    >>> np.all(np.array([True, False]))
    array(False)
    """
    x = to_array(a)
    if where is not True:
        x = logical_or(x, logical_not(to_array(where, "bool", x.device)))
    made = x.all(axis, keepdims=keepdims)
    return made if out is None else written("all", made, out)


def any(
    a: ArrayLike, axis: AxisLike = None, out: Out = None, keepdims: bool = False, *, where: ArrayLike = True
) -> ndarray:
    """Return whether any element over axes is true; ``where`` selects elements.

    Examples
    --------
    >>> from forerun import np
    >>> np.any(np.array([True, False]))
    array(True)
    """
    x = to_array(a)
    if where is not True:
        x = logical_and(x, to_array(where, "bool", x.device))
    made = x.any(axis, keepdims=keepdims)
    return made if out is None else written("any", made, out)


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """Return whether two arrays have the same shape and elements. Waits for both.

    Examples
    --------
    >>> from forerun import np
    >>> np.array_equal(np.ones((2,)), np.array([1, 1]))
    True
    """
    first, second = to_arrays(a1, a2)
    return first.shape == second.shape and bool(all(_same(first, second, equal_nan)))


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """Return whether two arrays have the same elements when they are broadcast together. Waits for both.

    Examples
    --------
    >>> from forerun import np
    >>> np.array_equiv(np.ones((2, 2)), np.array([1, 1]))
    True
    """
    first, second = to_arrays(a1, a2)
    shapes = zip(reversed(first.shape), reversed(second.shape), strict=False)
    fit = builtins.all(one == other or 1 in (one, other) for one, other in shapes)
    return fit and bool(all(equal(first, second)))


def _same(first: ndarray, second: ndarray, equal_nan: bool) -> ndarray:
    same = equal(first, second)
    return logical_or(same, logical_and(isnan(first), isnan(second))) if equal_nan else same


def isclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> ndarray:
    """Return for each element whether two arrays agree up to a tolerance, which is relative to the second.

    Examples
    --------
    >>> from forerun import np
    >>> np.isclose(np.array([1.0, 2.0]), np.array([1.000001, 2.1]))
    array([ True, False])
    """
    first, second = to_arrays(a, b)
    bound = multiply(abs(second), rtol) + atol
    # The difference of equal infinities is NaN; an infinite tolerance allows only equality.
    near = logical_and(less_equal(abs(subtract(first, second)), bound), abs(second) < float("inf"))
    return logical_or(_same(first, second, equal_nan), near)


def allclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether two arrays agree up to a tolerance. Waits for both.

    Examples
    --------
    >>> from forerun import np
    >>> np.allclose(np.array([1.0]), np.array([1.000001]))
    True
    """
    return bool(all(isclose(a, b, rtol, atol, equal_nan)))


def matmul(x1: ArrayLike, x2: ArrayLike, /, out: Out = None, *, dtype: DTypeLike | None = None) -> ndarray:
    """Multiply two matrices, or stacks of them.

    Examples
    --------
    >>> from forerun import np
    >>> np.matmul(np.ones((5, 2, 3)), np.ones((3, 4))).shape
    (5, 2, 4)
    """
    if dtype is not None:
        x1, x2 = (each.astype(dtype, copy=False) for each in to_arrays(x1, x2))
    made = _forerun.matmul(x1, x2)
    return made if out is None else written("matmul", made, out)


# NumPy's other names.
amax = max
amin = min
