"""Functions whose arguments or results differ between MXNet and NumPy."""

from __future__ import annotations

from typing import Any

from forerun import np as _np
from forerun._convert import to_array
from forerun._device import asked
from forerun._forerun import Device, ndarray

__all__ = [
    "argmax",
    "argmin",
    "logspace",
    "percentile",
    "quantile",
    "round_",
    "squeeze",
    "unique",
    "unique_all",
    "unique_inverse",
]


def logspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: Any = None,
    axis: int = 0,
    device: Device | None = None,
    ctx: Device | None = None,
) -> ndarray:
    """Return numbers evenly spaced on a log scale.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.logspace(0, 2, 3)
    array([  1.,  10., 100.])
    """
    return _np.logspace(start, stop, num, endpoint, base, dtype, device=asked("logspace", ctx, device))


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: ndarray | None = None,
    overwrite_input: Any = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> ndarray:
    """Return quantiles.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.quantile(mx.np.arange(4), 0.5, interpolation="lower")
    array(1.)
    """
    return _written(_np.quantile(a, q, axis, interpolation, keepdims=keepdims), out)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: ndarray | None = None,
    overwrite_input: Any = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> ndarray:
    """Return percentiles.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.percentile(mx.np.arange(4), 50, interpolation="higher")
    array(2.)
    """
    return _written(_np.percentile(a, q, axis, interpolation, keepdims=keepdims), out)


def _written(made: ndarray, out: ndarray | None) -> ndarray:
    if out is None:
        return made
    out[...] = made
    return out


def round_(x: Any, decimals: int = 0, out: ndarray | None = None) -> ndarray:
    """Round to a number of decimals.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.round_(mx.np.array([1.26]), 1)
    array([1.3])
    """
    return _written(_np.round(x, decimals), out)


def squeeze(x: Any, axis: Any = None) -> ndarray:
    """Remove dimensions of extent 1. Axis 0 and -1 of an array without dimensions may be given.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.squeeze(mx.np.ones((1, 2))).shape
    (2,)
    """
    array = to_array(x)
    return _np.squeeze(array, None if array.ndim == 0 and axis in (0, -1, (0,), (-1,)) else axis)


def argmax(a: Any, axis: int | None = None, out: ndarray | None = None, keepdims: bool = False) -> ndarray:
    """Return the indices of the largest elements.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.argmax(mx.np.array([1, 3, 2]))
    array(1)
    """
    array = to_array(a)
    return _written(_np.argmax(array, _own_axis(array, axis), keepdims=keepdims), out)


def argmin(a: Any, axis: int | None = None, out: ndarray | None = None, keepdims: bool = False) -> ndarray:
    """Return the indices of the smallest elements.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.argmin(mx.np.array([3, 1, 2]))
    array(1)
    """
    array = to_array(a)
    return _written(_np.argmin(array, _own_axis(array, axis), keepdims=keepdims), out)


def _own_axis(array: ndarray, axis: int | None) -> int | None:
    """Replace the axis of an array without dimensions by None."""
    return None if array.ndim == 0 and axis in (0, -1) else axis


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None
) -> Any:
    """Return the different elements in order; the inverse has one dimension. Waits.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.unique(mx.np.array([[2, 1], [2, 1]]), return_inverse=True)
    (array([1., 2.]), array([1, 0, 1, 0]))
    """
    made = _np.unique(ar, return_index, return_inverse, return_counts, axis)
    if not isinstance(made, tuple) or not return_inverse:
        return made
    parts = list(made)
    place = 1 + return_index
    parts[place] = parts[place].reshape(-1)
    return tuple(parts)


def unique_all(x: Any) -> Any:
    """Return the different elements, where they are first, the inverse in one dimension, and counts. Waits.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.unique_all(mx.np.array([[2, 1], [2, 1]])).inverse_indices
    array([1, 0, 1, 0])
    """
    made = _np.unique_all(x)
    return made._replace(inverse_indices=made.inverse_indices.reshape(-1), indices=made.indices.reshape(-1))


def unique_inverse(x: Any) -> Any:
    """Return the different elements, and the inverse in one dimension. Waits.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.unique_inverse(mx.np.array([[2, 1], [2, 1]])).inverse_indices
    array([1, 0, 1, 0])
    """
    made = _np.unique_inverse(x)
    return made._replace(inverse_indices=made.inverse_indices.reshape(-1))
