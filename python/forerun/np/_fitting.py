"""Polynomials fitted to points."""

from __future__ import annotations

from operator import index
from typing import Any, Literal, SupportsIndex, overload

from forerun import _forerun
from forerun._convert import averaging, to_array, to_arrays
from forerun._forerun import ndarray
from forerun._pointwise import multiply, sqrt
from forerun._types import ArrayLike
from forerun.np.linalg import inv, lstsq
from forerun.np.linalg._stack import eps, to_floats

__all__ = ["polyfit"]


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: SupportsIndex,
    rcond: float | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    cov: Literal[False] = False,
) -> ndarray: ...
@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: SupportsIndex,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any: ...
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: SupportsIndex,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Any:
    """Fit a polynomial to points, by least squares; coefficients come with the highest power first.

    ``w`` holds weights of the points. With ``full`` the residuals, rank, singular values and ``rcond`` are returned
    too, with ``cov`` the covariance of the coefficients. ``cov="unscaled"`` assumes that the weights are inverse
    standard deviations.

    Examples
    --------
    >>> from forerun import np
    >>> fit = np.polyfit(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), 1)
    >>> np.allclose(fit, np.array([2.0, 1.0]), atol=1e-5)
    True
    """
    at, values = to_floats(*(averaging(each) for each in to_arrays(x, y)))
    degree = index(deg)
    if degree < 0:
        raise ValueError(f"polyfit: deg must not be negative: {degree}")
    if at.ndim != 1 or at.size == 0:
        raise TypeError(f"polyfit: x must be a vector with elements: {at.shape}")
    if values.ndim not in (1, 2) or values.shape[0] != at.shape[0]:
        raise TypeError(f"polyfit: x and y do not fit: {at.shape} and {values.shape}")
    columns = [_forerun.full(at.shape, 1, at.dtype, at.device)]
    for _ in range(degree):
        columns.append(multiply(columns[-1], at))
    left, right = _forerun.stack(columns[::-1], 1), values
    if w is not None:
        weights = to_array(w, at.dtype, at.device)
        if weights.shape != at.shape:
            raise TypeError(f"polyfit: w and y do not fit: {weights.shape} and {values.shape}")
        left = multiply(left, weights[:, None])
        right = multiply(right, weights[:, None] if right.ndim == 2 else weights)
    # Scale the columns to equal length, because their powers differ by orders of magnitude.
    lengths = sqrt(multiply(left, left).sum(0))
    left = left / lengths
    share = at.shape[0] * eps(at) if rcond is None else rcond
    found = lstsq(left, right, share)
    coefficients = found.x / (lengths[:, None] if right.ndim == 2 else lengths)
    if full:
        return coefficients, found.residuals, found.rank, found.singular_values, share
    if not cov:
        return coefficients
    base = inv(_forerun.matmul(left.T, left)) / multiply(lengths[:, None], lengths)
    if cov == "unscaled":
        factor: Any = 1.0
    else:
        free = at.shape[0] - (degree + 1)
        if free <= 0:
            raise ValueError(f"polyfit: a covariance needs more than {degree + 1} points: {at.shape[0]}")
        factor = found.residuals / free
    if right.ndim == 2:
        return coefficients, multiply(base[:, :, None], factor)
    return coefficients, multiply(base, factor)
