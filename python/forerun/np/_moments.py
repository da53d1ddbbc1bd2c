"""Means, variances and extremes, with and without NaN, and functions applied along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from operator import index
from typing import Any, Literal, SupportsIndex, overload

from forerun import _forerun
from forerun._convert import averaging, to_array, to_arrays
from forerun._forerun import count_nonzero, ndarray
from forerun._pointwise import divide, isnan, logical_not, sqrt, where
from forerun._types import ArrayLike, AxisLike, DTypeLike
from forerun.np._common import without_nan
from forerun.np._complex import compose, conj, imag, iscomplexobj, real
from forerun.np._manipulation import axis_of, concatenate, moveaxis, stack

__all__ = [
    "apply_along_axis",
    "apply_over_axes",
    "average",
    "corrcoef",
    "count_nonzero",
    "cov",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "ptp",
]


def ptp(a: ArrayLike, axis: AxisLike = None, *, keepdims: bool = False) -> ndarray:
    """Return the range (maximum minus minimum) over axes.

    Examples
    --------
    >>> from forerun import np
    >>> np.ptp(np.array([3, 9, 5]))
    array(6)
    """
    x = to_array(a)
    return x.max(axis, keepdims=keepdims) - x.min(axis, keepdims=keepdims)


@overload
def average(
    a: ArrayLike,
    axis: AxisLike = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    *,
    keepdims: bool = False,
) -> ndarray: ...
@overload
def average(
    a: ArrayLike,
    axis: AxisLike = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[ndarray, ndarray]: ...
def average(
    a: ArrayLike,
    axis: AxisLike = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> ndarray | tuple[ndarray, ndarray]:
    """Compute the mean over axes, with weights; optionally also return the sum of the weights.

    Examples
    --------
    >>> from forerun import np
    >>> np.average(np.array([1.0, 5.0]), weights=np.array([3.0, 1.0]))
    array(2.)
    """
    if weights is None:
        x = averaging(to_array(a))
        mean = x.mean(axis, keepdims=keepdims)
        count = x.size // max(mean.size, 1)
        return (mean, _forerun.full(mean.shape, count, mean.dtype, x.device)) if returned else mean
    x, weight = to_arrays(a, weights)
    if x.shape != weight.shape:
        axes = [axis] if isinstance(axis, SupportsIndex) else list(axis or [])
        along = [axis_of(one, x.ndim) for one in axes]
        if not along or weight.shape != tuple(x.shape[one] for one in along):
            raise ValueError(f"average: weights of shape {weight.shape} do not fit axis {axis} of {x.shape}")
        order = sorted(range(len(along)), key=along.__getitem__)
        weight = weight.transpose(order).reshape([x.shape[place] if place in along else 1 for place in range(x.ndim)])
    if x.dtype.kind in "biu":
        x, weight = averaging(x), averaging(weight)
    products = x * weight
    total = (
        (weight + products * 0).sum(axis, keepdims=keepdims)
        if weight.shape != x.shape
        else weight.sum(axis, keepdims=keepdims)
    )
    mean = products.sum(axis, keepdims=keepdims) / total
    return (mean, total) if returned else mean


def nansum(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, *, keepdims: bool = False) -> ndarray:
    """Sum over axes, treating NaN as zero.

    Examples
    --------
    >>> from forerun import np
    >>> np.nansum(np.array([1.0, np.nan]))
    array(1.)
    """
    return without_nan(a, 0.0).sum(axis, dtype, keepdims=keepdims)


def nanprod(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, *, keepdims: bool = False) -> ndarray:
    """Multiply over axes, treating NaN as one.

    Examples
    --------
    >>> from forerun import np
    >>> np.nanprod(np.array([3.0, np.nan]))
    array(3.)
    """
    return without_nan(a, 1.0).prod(axis, dtype, keepdims=keepdims)


def _counted(x: ndarray, missing: ndarray, axis: AxisLike, keepdims: bool) -> ndarray:
    return logical_not(missing).sum(axis, keepdims=keepdims).astype(x.dtype)


def nanmean(a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, *, keepdims: bool = False) -> ndarray:
    """Compute the mean over axes, ignoring NaN.

    Examples
    --------
    >>> from forerun import np
    >>> np.nanmean(np.array([1.0, np.nan, 3.0]))
    array(2.)
    """
    x = averaging(to_array(a, dtype))
    missing = isnan(x)
    return divide(where(missing, 0.0, x).sum(axis, keepdims=keepdims), _counted(x, missing, axis, keepdims))


def nanvar(
    a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, ddof: float = 0, *, keepdims: bool = False
) -> ndarray:
    """Compute the variance over axes, ignoring NaN, with divisor ``n - ddof``.

    Examples
    --------
    >>> from forerun import np
    >>> np.nanvar(np.array([1.0, np.nan, 3.0]))
    array(1.)
    """
    x = averaging(to_array(a, dtype))
    missing = isnan(x)
    off = where(missing, 0.0, x - nanmean(x, axis, keepdims=True))
    left = _counted(x, missing, axis, keepdims) - ddof
    # Without degrees of freedom there is no variance.
    return where(left <= 0, float("nan"), divide((off * off).sum(axis, keepdims=keepdims), left))


def nanstd(
    a: ArrayLike, axis: AxisLike = None, dtype: DTypeLike | None = None, ddof: float = 0, *, keepdims: bool = False
) -> ndarray:
    """Compute the standard deviation over axes, ignoring NaN, with divisor ``n - ddof``.

    Examples
    --------
    >>> from forerun import np
    >>> np.nanstd(np.array([1.0, np.nan, 3.0]))
    array(1.)
    """
    return sqrt(nanvar(a, axis, dtype, ddof, keepdims=keepdims))


def nanmax(a: ArrayLike, axis: AxisLike = None, *, keepdims: bool = False) -> ndarray:
    """Return the maximum over axes, ignoring NaN; NaN if all are.

    Examples
    --------
    >>> from forerun import np
    >>> np.nanmax(np.array([1.0, np.nan]))
    array(1.)
    """
    return _forerun.reduction("nanmax", to_array(a), axis, keepdims)


def nanmin(a: ArrayLike, axis: AxisLike = None, *, keepdims: bool = False) -> ndarray:
    """Return the minimum over axes, ignoring NaN; NaN if all are.

    Examples
    --------
    >>> from forerun import np
    >>> np.nanmin(np.array([1.0, np.nan]))
    array(1.)
    """
    return _forerun.reduction("nanmin", to_array(a), axis, keepdims)


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
) -> ndarray:
    """Estimate the covariance matrix of variables.

    Parameters
    ----------
    m, y
        The variables, one per row; or, without ``rowvar``, one per column.
    rowvar
        Whether rows are variables.
    bias, ddof
        The divisor is ``n - 1``, with ``bias`` ``n``, or ``n - ddof``.
    fweights, aweights
        Integer frequencies and weights of the observations.

    Examples
    --------
    >>> from forerun import np
    >>> np.cov(np.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    x = _variables(m, rowvar)
    if y is not None:
        x = concatenate([x, _variables(y, rowvar).astype(x.dtype)])
    off = (0 if bias else 1) if ddof is None else ddof
    weight: ndarray | None = None
    for given in (fweights, aweights):
        if given is not None:
            one = to_array(given, x.dtype, x.device)
            if one.ndim != 1 or one.size != x.shape[1]:
                raise ValueError(f"cov: weights of shape {one.shape} do not fit {x.shape[1]} observations")
            weight = one if weight is None else weight * one
    if weight is None:
        left: ndarray | float = float(x.shape[1] - off)
        centred = x - x.mean(1, keepdims=True)
        other = centred
    else:
        total = weight.sum()
        centred = x - (x * weight).sum(1, keepdims=True) / total
        other = centred * weight
        left = total - off
        if off and aweights is not None:
            counted = to_array(aweights, x.dtype, x.device)
            left = total - (weight * counted).sum() * off / total
    return (_forerun.matmul(centred, conj(other.T)) / left).squeeze()


def _variables(m: ArrayLike, rowvar: bool) -> ndarray:
    x = averaging(to_array(m))
    if x.ndim > 2:
        raise ValueError(f"cov: needs at most two dimensions, got {x.shape}")
    if x.ndim < 2:
        return x.reshape(1, -1)
    return x if rowvar or x.shape[0] == 1 else x.T


def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True) -> ndarray:
    """Estimate the correlation matrix of variables.

    Examples
    --------
    >>> from forerun import np
    >>> np.corrcoef(np.array([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    together = cov(x, y, rowvar)
    if together.ndim == 0:
        return together / together
    spread = sqrt(real(together.reshape(-1)[:: together.shape[0] + 1]))
    made = together / spread.reshape(-1, 1) / spread
    return compose(real(made).clip(-1, 1), imag(made).clip(-1, 1)) if iscomplexobj(made) else made.clip(-1, 1)


def apply_along_axis(
    func1d: Callable[..., ArrayLike], axis: SupportsIndex, arr: ArrayLike, *args: Any, **kwargs: Any
) -> ndarray:
    """Apply a function to each vector along an axis.

    Examples
    --------
    >>> from forerun import np
    >>> np.apply_along_axis(np.sum, 0, np.array([[1, 2], [3, 4]]))
    array([4, 6])
    """
    x = to_array(arr)
    along = axis_of(axis, x.ndim)
    moved = moveaxis(x, along, -1)
    others = moved.shape[:-1]
    if 0 in others:
        raise ValueError(f"apply_along_axis: there is no vector along axis {along} of {x.shape}")
    made = [to_array(func1d(moved[place], *args, **kwargs)) for place in product(*map(range, others))]
    together = stack(made).reshape(*others, *made[0].shape)
    places = range(len(others), together.ndim)
    return moveaxis(together, list(places), [along + step for step in range(len(places))])


def apply_over_axes(
    func: Callable[[ndarray, int], ArrayLike], a: ArrayLike, axes: SupportsIndex | Sequence[SupportsIndex]
) -> ndarray:
    """Apply a function over several axes in turn, keeping reduced dimensions.

    Examples
    --------
    >>> from forerun import np
    >>> np.apply_over_axes(np.sum, np.ones((2, 3)), [0, 1])
    array([[6.]])
    """
    x = to_array(a)
    ndim = x.ndim
    for one in axes if isinstance(axes, Sequence) else [axes]:
        axis = axis_of(index(one), ndim)
        made = to_array(func(x, axis))
        x = made if made.ndim == ndim else _forerun.expand_dims(made, axis)
        if x.ndim != ndim:
            raise ValueError(f"apply_over_axes: the function gives {made.shape} for axis {axis}")
    return x
