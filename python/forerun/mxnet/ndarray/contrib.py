"""``mxnet.nd.contrib``."""

from __future__ import annotations

from typing import Any

from forerun import np
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun.npx import (
    arange_like,
    box_decode,
    box_encode,
    box_iou,
    box_nms,
    cond,
    foreach,
    while_loop,
)
from forerun.npx import index_add as _index_add

__all__ = [
    "allclose",
    "arange_like",
    "boolean_mask",
    "box_decode",
    "box_encode",
    "box_iou",
    "box_nms",
    "cond",
    "foreach",
    "index_copy",
    "isfinite",
    "isinf",
    "isnan",
    "while_loop",
]


def isnan(data: Any) -> ndarray:
    """Return 1 where an element is NaN, and 0 elsewhere.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.contrib.isnan(mx.nd.array([1, float("nan")]))
    array([0., 1.])
    """
    return np.isnan(to_array(data)).astype("float32")


def isinf(data: Any) -> ndarray:
    """Return 1 where an element is infinite, and 0 elsewhere.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.contrib.isinf(mx.nd.array([1, float("inf")]))
    array([0., 1.])
    """
    return np.isinf(to_array(data)).astype("float32")


def isfinite(data: Any) -> ndarray:
    """Return 1 where an element is finite, and 0 elsewhere.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.contrib.isfinite(mx.nd.array([1, float("inf")]))
    array([1., 0.])
    """
    return np.isfinite(to_array(data)).astype("float32")


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = True) -> ndarray:
    """Return 1 if two arrays are equal within tolerances, else 0.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.contrib.allclose(mx.nd.ones((2,)), mx.nd.ones((2,)))
    array([1.])
    """
    return np.isclose(a, b, rtol, atol, equal_nan).all().astype("float32").reshape(1)


def boolean_mask(data: Any, index: Any, axis: int = 0) -> ndarray:
    """Return the entries along an axis where a mask is not 0. Waits for the mask.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.contrib.boolean_mask(mx.nd.arange(3), mx.nd.array([1, 0, 1]))
    array([0., 2.])
    """
    return np.compress(to_array(index) != 0, data, axis=axis)


def index_copy(old_tensor: Any, index_vector: Any, new_tensor: Any) -> ndarray:
    """Return a copy of an array with new values in some rows.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.contrib.index_copy(mx.nd.zeros((2, 1)), mx.nd.array([1]), mx.nd.ones((1, 1)))
    array([[0.],
           [1.]])
    """
    old, rows = to_array(old_tensor), to_array(index_vector).astype("int64").reshape(1, -1)
    return _index_add(old, rows, to_array(new_tensor) - np.take(old, rows[0], axis=0))
