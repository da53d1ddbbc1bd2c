"""Norms, condition numbers and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import index

from forerun import _forerun
from forerun._convert import averaging, to_array
from forerun._forerun import float32, float64, ndarray
from forerun._pointwise import (
    abs,
    divide,
    greater,
    isnan,
    logical_and,
    logical_not,
    multiply,
    not_equal,
    power,
    sqrt,
    where,
)
from forerun._types import ArrayLike, AxisLike
from forerun.np._complex import real
from forerun.np.linalg._routines import svdvals
from forerun.np.linalg._stack import eps, matrices, squares, to_float

__all__ = ["cond", "matrix_norm", "matrix_rank", "norm", "vector_norm"]

#: Dtypes that are summed without conversion.
_DIRECT = (float32, float64)


def _of_vectors(x: ndarray, order: float, axis: AxisLike, keepdims: bool) -> ndarray:
    if isinstance(order, str):
        raise ValueError(f"norm: no order {order!r} for vectors")
    if order == inf:
        return abs(x).max(axis, keepdims=keepdims)
    if order == -inf:
        return abs(x).min(axis, keepdims=keepdims)
    if order == 0:
        return not_equal(x, 0).astype(real(x).dtype).sum(axis, keepdims=keepdims)
    if order == 1:
        return abs(x).sum(axis, keepdims=keepdims)
    if order == 2:
        return sqrt(squares(x).sum(axis, keepdims=keepdims))
    return power(power(abs(x), order).sum(axis, keepdims=keepdims), 1 / order)


def _of_matrices(x: ndarray, order: float | str | None, axes: tuple[int, int], keepdims: bool) -> ndarray:
    rows, columns = axes
    if order is None or order == "fro":
        return sqrt(squares(x).sum(axes, keepdims=keepdims))
    if order in (1, -1, inf, -inf):
        within, over = (rows, columns) if order in (1, -1) else (columns, rows)
        sums = abs(x).sum(within, keepdims=True)
        found = sums.max(over, keepdims=True) if order in (1, inf) else sums.min(over, keepdims=True)
    elif order in (2, -2, "nuc"):
        others = [axis for axis in range(x.ndim) if axis not in axes]
        s = svdvals(x.transpose([*others, rows, columns]))
        found = s.sum(-1) if order == "nuc" else s.max(-1) if order == 2 else s.min(-1)
        for axis in sorted(axes):
            found = _forerun.expand_dims(found, axis)
    else:
        raise ValueError(f"norm: no order {order!r} for matrices")
    return found if keepdims else found.squeeze(axes)


def norm(x: ArrayLike, ord: float | str | None = None, axis: AxisLike = None, keepdims: bool = False) -> ndarray:
    """Return norms of vectors along an axis, or of matrices over two axes.

    Without an axis a 1-d array is a vector and a 2-d array a matrix. The default order is the square root of the sum of
    squares.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.norm(np.array([3.0, 4.0]))
    array(5.)
    >>> np.linalg.norm(np.array([[1.0, -2.0], [3.0, 4.0]]), 1)
    array(6.)
    """
    if ord is None and isinstance(x, ndarray) and x.dtype in _DIRECT and (axis is None or isinstance(axis, int)):
        return _forerun.reduction("norm", x, axis, keepdims)
    a = to_float(averaging(to_array(x)))
    if axis is None:
        if ord is None:
            return _of_vectors(a, 2, None, keepdims)
        axes = list(range(a.ndim))
    else:
        axes = [index(each) for each in (axis if isinstance(axis, Sequence) else [axis])]
    for each in axes:
        if not -a.ndim <= each < a.ndim:
            raise IndexError(f"norm: axis {each} is out of bounds for array of dimension {a.ndim}")
    axes = [each % a.ndim for each in axes]
    if len(axes) == 1:
        return _of_vectors(a, 2 if ord is None else ord, axes[0], keepdims)  # type: ignore[arg-type]
    if len(axes) == 2 and axes[0] != axes[1]:
        return _of_matrices(a, ord, (axes[0], axes[1]), keepdims)
    raise ValueError(f"norm: needs one axis or two: {tuple(axes)} of {a.shape}")


def vector_norm(x: ArrayLike, /, *, axis: AxisLike = None, keepdims: bool = False, ord: float = 2) -> ndarray:
    """Return norms of vectors over axes, or of all elements.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.vector_norm(np.array([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    array([ 5., 10.])
    """
    return _of_vectors(to_float(averaging(to_array(x))), ord, axis, keepdims)


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> ndarray:
    """Return norms of matrices in the last two dimensions.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.matrix_norm(np.array([[1.0, -2.0], [3.0, 4.0]]), ord=np.inf)
    array(7.)
    """
    a = matrices("matrix_norm", averaging(to_array(x)))
    return _of_matrices(a, ord, (a.ndim - 2, a.ndim - 1), keepdims)


def cond(x: ArrayLike, p: float | str | None = None) -> ndarray:
    """Return condition numbers: the norm of a matrix times that of its inverse; infinity for a singular one.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.cond(np.array([[4.0, 0.0], [0.0, 2.0]]))
    array(2.)
    """
    a = matrices("cond", x)
    if 0 in a.shape:
        raise ValueError(f"cond: no elements: {a.shape}")
    if p is None or p in (2, -2):
        s = svdvals(a)
        found = divide(s[..., -1], s[..., 0]) if p == -2 else divide(s[..., 0], s[..., -1])
    else:
        a = matrices("cond", a, square=True)
        # With ``lenient``, the inverse of a singular matrix is NaN instead of an error.
        inverse = _forerun.routine("inv", [a], lenient=True)
        found = multiply(matrix_norm(a, ord=p), matrix_norm(inverse, ord=p))
    known = logical_not(not_equal(isnan(a).astype("int32").sum((-2, -1)), 0))
    return where(logical_and(isnan(found), known), inf, found)


def matrix_rank(
    A: ArrayLike,
    tol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rtol: ArrayLike | None = None,
) -> ndarray:
    """Count singular values above ``tol``, or above ``rtol`` times the largest.

    The default of ``rtol`` is the larger extent of the matrix times the machine epsilon. ``hermitian`` has no effect.

    Examples
    --------
    >>> from forerun import np
    >>> np.linalg.matrix_rank(np.array([[1.0, 2.0], [2.0, 4.0]]))
    array(1)
    """
    a = to_float(A)
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: tol and rtol cannot both be given")
    if a.ndim < 2:
        return not_equal(not_equal(a, 0).astype("int64").sum(), 0).astype("int64")
    s = svdvals(a)
    if tol is not None:
        bound = to_array(tol, s.dtype, s.device)
        bound = bound[..., None] if bound.ndim else bound
    else:
        share = max(a.shape[-2:]) * eps(a) if rtol is None else rtol
        shares = to_array(share, s.dtype, s.device)
        largest = s.max(-1, keepdims=True) if s.shape[-1] else s
        bound = multiply(largest, shares[..., None] if shares.ndim else shares)
    return greater(s, bound).astype("int64").sum(-1)
