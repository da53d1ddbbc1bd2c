"""Reductions, scans and statistics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from forerun import np, npx
from forerun._forerun import ndarray
from forerun.torch._pointwise import into
from forerun.torch._tensor import Extremes, Tensor

__all__ = [
    "all", "allclose", "amax", "amin", "aminmax", "any", "argmax", "argmin", "bincount", "corrcoef",
    "count_nonzero", "cov", "cummax", "cummin", "cumprod", "cumsum", "diff", "equal", "histc", "logcumsumexp",
    "logsumexp", "max", "mean", "median", "min", "nanmean", "nansum", "norm", "prod", "quantile", "std", "std_mean",
    "sum", "trapezoid", "trapz", "var", "var_mean",
]  # fmt: skip


def _over(function: Callable[..., Any], input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    axes = tuple(dim) if isinstance(dim, list) else dim
    # PyTorch reduces over all dimensions if none is listed.
    axes = None if axes == () else axes

    def reduced(x: ndarray) -> ndarray:
        made: ndarray = function(x, axis=axes, keepdims=keepdim)
        return made

    reduced.__qualname__ = function.__name__
    return Tensor._run(reduced, input)


def sum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Sum all elements, or those along dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.sum(torch.ones(2, 3), dim=1)
    tensor([3., 3.])
    """
    return into(_over(np.sum, input.to(dtype=dtype), dim, keepdim), out)


def nansum(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Sum all elements that are not NaN, or those along dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nansum(torch.tensor([1.0, float("nan")]))
    tensor(1.)
    """
    return _over(np.nansum, input, dim, keepdim)


def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Multiply all elements, or those along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.prod(torch.tensor([2, 3, 4]))
    tensor(24)
    """
    return _over(np.prod, input.to(dtype=dtype), dim, keepdim)


def _floats(name: str, input: Tensor) -> None:
    if input.dtype.kind not in "fcV" and input.dtype.name != "bfloat16":
        raise RuntimeError(
            f"{name}: the elements must be floats or complex numbers, not {input.dtype.name}: use float()"
        )


def mean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """Return the mean of all elements, or of those along dimensions; the elements must be floats.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.mean(torch.tensor([1.0, 3.0]))
    tensor(2.)
    """
    given = input.to(dtype=dtype)
    _floats("mean", given)
    return into(_over(np.mean, given, dim, keepdim), out)


def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the mean of all elements that are not NaN, or of those along dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nanmean(torch.tensor([1.0, float("nan"), 3.0]))
    tensor(2.)
    """
    return _over(np.nanmean, input, dim, keepdim)


def _spread(function: Callable[..., Any], input: Tensor, dim: Any, correction: Any, keepdim: Any) -> Tensor:
    # The second argument may be PyTorch's older ``unbiased``: a truth value where a dimension is expected.
    if isinstance(dim, bool):
        dim, correction = None, int(dim)
    _floats(function.__name__, input)
    return _over(lambda x, axis, keepdims: function(x, axis, ddof=correction, keepdims=keepdims), input, dim, keepdim)


def var(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: int | None = None
) -> Tensor:
    """Return the variance of all elements, or of those along dimensions.

    The sum of squares is divided by the number of elements minus ``correction``, which is 1 by default and 0 with
    ``unbiased=False``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.var(torch.tensor([1.0, 3.0]))
    tensor(2.)
    """
    return _spread(np.var, input, dim, int(unbiased) if correction is None else correction, keepdim)


def std(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: int | None = None
) -> Tensor:
    """Return the standard deviation of all elements, or of those along dimensions; see :func:`var`.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.std(torch.tensor([1.0, 3.0]), correction=0)
    tensor(1.)
    """
    return _spread(np.std, input, dim, int(unbiased) if correction is None else correction, keepdim)


def var_mean(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return the variance and the mean.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.var_mean(torch.tensor([1.0, 3.0]))
    (tensor(2.), tensor(2.))
    """
    variance = var(input, dim, unbiased, keepdim, correction=correction)
    return variance, mean(input, None if isinstance(dim, bool) else dim, keepdim)


def std_mean(
    input: Tensor, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *, correction: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return the standard deviation and the mean.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.std_mean(torch.tensor([1.0, 3.0]), correction=0)
    (tensor(1.), tensor(2.))
    """
    deviation = std(input, dim, unbiased, keepdim, correction=correction)
    return deviation, mean(input, None if isinstance(dim, bool) else dim, keepdim)


def _extremes(value: Any, place: Any, input: Tensor, dim: Any, keepdim: bool) -> Any:
    if dim is None:
        return _over(value, input, None, False)
    return Extremes(_over(value, input, dim, keepdim), _over(place, input, dim, keepdim))


def max(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the maximum; along a dimension, values and indices; of two tensors, the elementwise maximum.

    Examples
    --------
    >>> from forerun import torch
    >>> values, indices = torch.max(torch.tensor([[1, 5], [7, 2]]), dim=1)
    >>> values, indices
    (tensor([5, 7]), tensor([1, 0]))
    """
    if isinstance(dim, Tensor):
        return Tensor._run(np.maximum, input, dim)
    return _extremes(np.max, np.argmax, input, dim, keepdim)


def min(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the minimum; along a dimension, values and indices; of two tensors, the elementwise minimum.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.min(torch.tensor([4.0, 3.0]))
    tensor(3.)
    """
    if isinstance(dim, Tensor):
        return Tensor._run(np.minimum, input, dim)
    return _extremes(np.min, np.argmin, input, dim, keepdim)


def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Return the maximum of all elements, or of those along dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.amax(torch.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=0)
    tensor([7., 5.])
    """
    return _over(np.max, input, dim, keepdim)


def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Return the minimum of all elements, or of those along dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.amin(torch.tensor([[1.0, 5.0], [7.0, 2.0]]), dim=0)
    tensor([1., 2.])
    """
    return _over(np.min, input, dim, keepdim)


class MinMax(NamedTuple):
    """The smallest and the largest elements."""

    min: Tensor
    max: Tensor


def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> MinMax:
    """Return the minimum and the maximum.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.aminmax(torch.tensor([3.0, 1.0])).max
    tensor(3.)
    """
    return MinMax(_over(np.min, input, dim, keepdim), _over(np.max, input, dim, keepdim))


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the index of the largest element.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.argmax(torch.tensor([1.0, 3.0]))
    tensor(1)
    """
    return _over(np.argmax, input, dim, keepdim)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the index of the smallest element.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.argmin(torch.tensor([1.0, 3.0]))
    tensor(0)
    """
    return _over(np.argmin, input, dim, keepdim)


def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return whether all elements are nonzero.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.all(torch.tensor([1.0, 0.0]))
    tensor(False)
    """
    return _over(np.all, input, dim, keepdim)


def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return whether any element is nonzero.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.any(torch.tensor([1.0, 0.0]))
    tensor(True)
    """
    return _over(np.any, input, dim, keepdim)


def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """Count the nonzero elements.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.count_nonzero(torch.tensor([1.0, 0.0, 2.0]))
    tensor(2)
    """
    return _over(np.count_nonzero, input, dim, False)


def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """Return the logarithm of the sum of exponentials along dimensions, without overflow.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.logsumexp(torch.zeros(3), 0)
    tensor(1.0986)
    """
    return _over(npx.logsumexp, input, dim, keepdim)


def norm(input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """Return the norm of all elements, or of those along dimensions: a vector norm, whatever the number of dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.norm(torch.tensor([[3.0], [4.0]]))
    tensor(5.)
    """
    order = 2 if p in ("fro", None) else p
    if p == "nuc":
        return Tensor._run(
            lambda x: np.linalg.norm(x, "nuc", tuple(dim) if dim is not None else None, keepdim), input.to(dtype=dtype)
        )
    return _over(lambda x, axis, keepdims: _vector_norm(x, order, axis, keepdims), input.to(dtype=dtype), dim, keepdim)


def _vector_norm(x: ndarray, order: float, axis: Any, keepdims: bool) -> ndarray:
    if order == 2:
        # The gradient at zero is zero, as in PyTorch, and not NaN.
        squares = np.sum(x * x if x.dtype.kind != "c" else np.abs(x) ** 2, axis=axis, keepdims=keepdims)
        return np.where(squares > 0, np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0).astype(squares.dtype)
    sizes = np.abs(x)
    if order == math.inf:
        return np.max(sizes, axis=axis, keepdims=keepdims)
    if order == -math.inf:
        return np.min(sizes, axis=axis, keepdims=keepdims)
    if order == 0:
        return np.sum(np.not_equal(x, 0), axis=axis, keepdims=keepdims).astype(x.dtype)
    if order == 1:
        return np.sum(sizes, axis=axis, keepdims=keepdims)
    return np.sum(sizes**order, axis=axis, keepdims=keepdims) ** (1.0 / order)


def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Return the median, the lower of two; along a dimension, values and indices.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.median(torch.tensor([4.0, 1.0, 3.0, 2.0]))
    tensor(2.)
    """
    if dim is None:
        flat = input.reshape(-1)
        return Tensor._run(lambda x: np.sort(x)[(x.size - 1) // 2], flat)
    axis = dim % input.dim()
    middle = (input.shape[axis] - 1) // 2
    place = np.take(np.argsort(input._array, axis), np.array([middle]), axis)
    values = Tensor._run(lambda x: np.take_along_axis(x, place, axis), input)
    found = Extremes(values, Tensor._of(place))
    return found if keepdim else Extremes(found.values.squeeze(axis), found.indices.squeeze(axis))


def quantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return quantiles, interpolated linearly.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.quantile(torch.tensor([0.0, 1.0, 2.0]), 0.25)
    tensor(0.5000)
    """
    return Tensor._run(lambda x, share: np.quantile(x, share, axis=dim, keepdims=keepdim), input, q)


def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the running sum along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cumsum(torch.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    return Tensor._run(lambda x: np.cumsum(x, dim), input.to(dtype=dtype))


def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Return the running product along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cumprod(torch.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
    return Tensor._run(lambda x: np.cumprod(x, dim), input.to(dtype=dtype))


def _running(input: Tensor, dim: int, less: Callable[[Any], Any]) -> Extremes:
    values = Tensor._run(less, input)
    axis = dim % input.dim()
    # The index of the last element that equals the running extreme.
    steps = np.arange(input.shape[axis]).reshape([-1 if d == axis else 1 for d in range(input.dim())])
    reached = np.where(np.equal(input._array, values._array), steps, 0)
    return Extremes(values, Tensor._of(npx.cummax(reached, axis)))


def cummax(input: Tensor, dim: int) -> Extremes:
    """Return the running maximum along a dimension, and its indices.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cummax(torch.tensor([1.0, 3.0, 2.0]), 0).indices
    tensor([0, 1, 1])
    """
    return _running(input, dim, lambda x: npx.cummax(x, dim))


def cummin(input: Tensor, dim: int) -> Extremes:
    """Return the running minimum along a dimension, and its indices.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cummin(torch.tensor([3.0, 1.0, 2.0]), 0).values
    tensor([3., 1., 1.])
    """
    return _running(input, dim, lambda x: npx.cummin(x, dim))


def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """Return the logarithm of the running sum of exponentials.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.logcumsumexp(torch.zeros(2), 0)
    tensor([0.0000, 0.6931])
    """
    top = np.max(input._array, axis=dim, keepdims=True)
    return Tensor._run(lambda x: np.log(np.cumsum(np.exp(x - top), dim)) + top, input)


def diff(input: Tensor, n: int = 1, dim: int = -1) -> Tensor:
    """Return the differences of neighbours along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.diff(torch.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    return Tensor._run(lambda x: np.diff(x, n, dim), input)


def trapezoid(y: Tensor, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Tensor:
    """Integrate by the trapezoidal rule.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    return Tensor._run(lambda values, places: np.trapezoid(values, places, dx, dim), y, x)


trapz = trapezoid


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count how often each nonnegative integer occurs. Waits for the largest.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.bincount(torch.tensor([0, 2, 2]))
    tensor([1, 0, 2])
    """
    return Tensor._run(
        lambda x, w: np.bincount(x, w, minlength) if w is None else np.bincount(x, w, minlength).astype(w.dtype),
        input,
        weights,
    )


def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Count the elements in intervals of equal width; between the smallest and largest if the limits are equal.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.histc(torch.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    tensor([0., 2., 1., 0.])
    """
    limits = None if min == max else (min, max)
    return Tensor._of(np.histogram(input._array, bins, limits)[0].astype(input.dtype))


def cov(input: Tensor, *, correction: int = 1) -> Tensor:
    """Return the covariances of rows.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cov(torch.tensor([[0.0, 2.0], [2.0, 0.0]]))
    tensor([[ 2., -2.],
            [-2.,  2.]])
    """
    return Tensor._run(lambda x: np.cov(x, ddof=correction), input)


def corrcoef(input: Tensor) -> Tensor:
    """Return the correlations of rows.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.corrcoef(torch.tensor([[0.0, 2.0], [2.0, 0.0]])).shape
    torch.Size([2, 2])
    """
    return Tensor._run(np.corrcoef, input)


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether two tensors agree up to a tolerance. Waits for both.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.allclose(torch.ones(2), torch.ones(2))
    True
    """
    return np.allclose(input._array, other._array, rtol, atol, equal_nan)


def equal(input: Tensor, other: Tensor) -> Any:
    """Return whether two tensors have the same shape and elements. Waits for both.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.equal(torch.ones(2), torch.ones(2)), torch.equal(torch.ones(2), torch.ones(3))
    (True, False)
    """
    return np.array_equal(input._array, other._array)
