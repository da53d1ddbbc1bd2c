"""``mxnet.util``: NumPy's semantics are the only ones, so that asking for them changes nothing."""

from __future__ import annotations

from typing import TypeVar

from forerun.npx import reset_np, set_np

__all__ = ["is_np_array", "is_np_shape", "reset_np", "set_np", "use_np"]

_T = TypeVar("_T")


def use_np(target: _T) -> _T:
    """Return a function or a class as it is: it has NumPy's semantics already.

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
    """Say that arrays are NumPy's.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.is_np_array()
    True
    """
    return True


def is_np_shape() -> bool:
    """Say that shapes are NumPy's.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.is_np_shape()
    True
    """
    return True
