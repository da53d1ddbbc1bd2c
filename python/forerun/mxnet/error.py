"""``mxnet.error``: the error classes."""

from __future__ import annotations

from forerun.mxnet.base import (
    MXNetError,
    MXNetFloatingPointError,
    MXNetIndexError,
    MXNetLinAlgError,
    MXNetMemoryError,
    MXNetOverflowError,
    MXNetTypeError,
    MXNetValueError,
)

__all__ = [
    "InternalError",
    "MXNetError",
    "MXNetFloatingPointError",
    "MXNetIndexError",
    "MXNetLinAlgError",
    "MXNetMemoryError",
    "MXNetOverflowError",
    "MXNetTypeError",
    "MXNetValueError",
]


class InternalError(MXNetError):
    """A failure inside the library.

    Examples
    --------
    >>> from forerun.mxnet import error
    >>> issubclass(error.InternalError, error.MXNetError)
    True
    """
