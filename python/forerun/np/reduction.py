"""Reductions, products, comparisons of whole arrays, and what is bounded by others."""

from __future__ import annotations

import builtins
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import to_array, to_arrays
from forerun._forerun import ndarray
from forerun._pointwise import abs, equal, isnan, less_equal, logical_and, logical_or, multiply, not_equal, subtract
from forerun._types import ArrayLike, AxisLike, DTypeLike


def sum(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, *, keepdims: bool = False) -> ndarray:
    """Add up over axes.

    Examples
    --------
    >>> from forerun import np
    >>> np.sum(np.ones((2, 3)), axis=1)
    array([3., 3.])
    """
    return to_array(a).sum(axis, dtype, keepdims=keepdims)


def prod(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, *, keepdims: bool = False) -> ndarray:
    """Multiply over axes.

    Examples
    --------
    >>> from forerun import np
    >>> np.prod(np.array([2.0, 3.0]))
    array(6.)
    """
    return to_array(a).prod(axis, dtype, keepdims=keepdims)


def mean(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, *, keepdims: bool = False) -> ndarray:
    """Take the mean over axes.

    Examples
    --------
    >>> from forerun import np
    >>> np.mean(np.array([1.0, 2.0]))
    array(1.5)
    """
    return to_array(a).mean(axis, dtype, keepdims=keepdims)


def var(
    a: ArrayLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    ddof: float = 0,
    *,
    keepdims: bool = False,
    correction: float | None = None,
) -> ndarray:
    """Take the variance over axes; ``ddof``, or ``correction``, is taken off the number of elements.

    Examples
    --------
    >>> from forerun import np
    >>> np.var(np.array([1.0, 3.0]))
    array(1.)
    """
    return to_array(a).var(axis, dtype, _correction("var", ddof, correction), keepdims=keepdims)


def std(
    a: ArrayLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    ddof: float = 0,
    *,
    keepdims: bool = False,
    correction: float | None = None,
) -> ndarray:
    """Take the standard deviation over axes; ``ddof``, or ``correction``, is taken off the number of elements.

    Examples
    --------
    >>> from forerun import np
    >>> np.std(np.array([1.0, 5.0]))
    array(2.)
    """
    return to_array(a).std(axis, dtype, _correction("std", ddof, correction), keepdims=keepdims)


def _correction(name: str, ddof: float, correction: float | None) -> float:
    if correction is not None and ddof:
        raise ValueError(f"{name}: ddof and correction are two names of one argument")
    return ddof if correction is None else correction


def clip(
    a: ArrayLike,
    min: ArrayLike | None = None,
    max: ArrayLike | None = None,
    *,
    a_min: ArrayLike | None = None,
    a_max: ArrayLike | None = None,
) -> ndarray:
    """Raise what is below ``min`` to it, and lower what is above ``max``; ``a_min`` and ``a_max`` name the same.

    Examples
    --------
    >>> from forerun import np
    >>> np.clip(np.arange(5), 1, 3)
    array([1, 1, 2, 3, 3])
    """
    for one, other, name in ((min, a_min, "min"), (max, a_max, "max")):
        if one is not None and other is not None:
            raise ValueError(f"clip: {name} and a_{name} are the same bound, give one")
    return to_array(a).clip(a_min if min is None else min, a_max if max is None else max)


def max(a: ArrayLike, axis: AxisLike = None, *, keepdims: bool = False) -> ndarray:
    """Take the largest element over axes; NaN if any is.

    Examples
    --------
    >>> from forerun import np
    >>> np.max(np.array([[1, 5], [3, 2]]), axis=0)
    array([3, 5])
    """
    return to_array(a).max(axis, keepdims=keepdims)


def min(a: ArrayLike, axis: AxisLike = None, *, keepdims: bool = False) -> ndarray:
    """Take the smallest element over axes; NaN if any is.

    Examples
    --------
    >>> from forerun import np
    >>> np.min(np.array([[1, 5], [3, 2]]), axis=0)
    array([1, 2])
    """
    return to_array(a).min(axis, keepdims=keepdims)


def argmax(a: ArrayLike, axis: SupportsIndex | None = None, *, keepdims: bool = False) -> ndarray:
    """Find the first largest element along an axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.argmax(np.array([1, 5, 5]))
    array(1)
    """
    return to_array(a).argmax(axis, keepdims=keepdims)


def argmin(a: ArrayLike, axis: SupportsIndex | None = None, *, keepdims: bool = False) -> ndarray:
    """Find the first smallest element along an axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.argmin(np.array([1, 5, 1]))
    array(0)
    """
    return to_array(a).argmin(axis, keepdims=keepdims)


def all(a: ArrayLike, axis: AxisLike = None, *, keepdims: bool = False) -> ndarray:
    """Tell whether every element is true.

    Examples
    --------
    >>> from forerun import np
    >>> np.all(np.array([True, False]))
    array(False)
    """
    x = _truth(a)
    if x.size == 0:
        # A product of no truth values is true.
        return not_equal(x.prod(axis, keepdims=keepdims), 0)
    return x.min(axis, keepdims=keepdims)


def any(a: ArrayLike, axis: AxisLike = None, *, keepdims: bool = False) -> ndarray:
    """Tell whether some element is true.

    Examples
    --------
    >>> from forerun import np
    >>> np.any(np.array([True, False]))
    array(True)
    """
    x = _truth(a)
    if x.size == 0:
        return not_equal(x.sum(axis, keepdims=keepdims), 0)
    return x.max(axis, keepdims=keepdims)


def _truth(a: ArrayLike) -> ndarray:
    """Give what counts as true. The smallest truth value of a scan that ends early is ``all``, the largest ``any``."""
    x = to_array(a)
    return x if x.dtype.name == "bool" else not_equal(x, 0)


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """Tell whether two arrays have the same shape and elements. Waits for both.

    Examples
    --------
    >>> from forerun import np
    >>> np.array_equal(np.ones((2,)), np.array([1, 1]))
    True
    """
    first, second = to_arrays(a1, a2)
    return first.shape == second.shape and bool(all(_same(first, second, equal_nan)))


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """Tell whether two arrays have the same elements when they are broadcast together. Waits for both.

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
    """Tell for each element whether two arrays agree up to a tolerance, which is relative to the second.

    Examples
    --------
    >>> from forerun import np
    >>> np.isclose(np.array([1.0, 2.0]), np.array([1.000001, 2.1]))
    array([ True, False])
    """
    first, second = to_arrays(a, b)
    bound = multiply(abs(second), rtol) + atol
    # The difference of equal infinities is NaN, and an infinite bound allows nothing but equality.
    near = logical_and(less_equal(abs(subtract(first, second)), bound), abs(second) < float("inf"))
    return logical_or(_same(first, second, equal_nan), near)


def allclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Tell whether two arrays agree up to a tolerance. Waits for both.

    Examples
    --------
    >>> from forerun import np
    >>> np.allclose(np.array([1.0]), np.array([1.000001]))
    True
    """
    return bool(all(isclose(a, b, rtol, atol, equal_nan)))


def dot(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Multiply two arrays as NumPy's dot: inner product, matrix product or scaling, by the dimensions.

    Examples
    --------
    >>> from forerun import np
    >>> np.dot(np.ones((2, 3)), np.ones((3, 2)))
    array([[3., 3.],
           [3., 3.]])
    """
    return _forerun.dot(a, b)


def matmul(x1: ArrayLike, x2: ArrayLike, /) -> ndarray:
    """Multiply two matrices, or stacks of them.

    Examples
    --------
    >>> from forerun import np
    >>> np.matmul(np.ones((5, 2, 3)), np.ones((3, 4))).shape
    (5, 2, 4)
    """
    return _forerun.matmul(x1, x2)
