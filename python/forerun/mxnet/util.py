"""``mxnet.util``: NumPy semantics are always on, so these functions change nothing."""

from __future__ import annotations

from typing import TypeVar

from forerun.npx import reset_np, set_np

__all__ = ["is_np_array", "is_np_shape", "reset_np", "set_np", "use_np"]

_T = TypeVar("_T")


def use_np(target: _T) -> _T:
    """Return a function or a class unchanged: NumPy semantics are always on.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> @mx.util.use_np
    ... def double(x):
    ...     return x * 2
    >>> double(mx.np.ones((1,)))
    array([2.])
    """
    return target


def is_np_array() -> bool:
    """Return True: arrays follow NumPy.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.is_np_array()
    True
    """
    return True


def is_np_shape() -> bool:
    """Return True: shapes follow NumPy.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.is_np_shape()
    True
    """
    return True
