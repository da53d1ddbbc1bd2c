"""``mxnet.base``: the error class, and helpers that programs import from it."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy

from forerun._forerun import LinAlgError

__all__ = ["MXNetError", "data_dir", "integer_types", "mx_real_t", "numeric_types", "py_str", "string_types"]

string_types = (str,)
numeric_types = (float, int, numpy.generic)
integer_types = (int, numbers.Integral, numpy.integer)
mx_real_t = numpy.float32


class MXNetError(RuntimeError):
    """The error of a failed operation.

    After ``forerun.mxnet.install()`` the engine raises it. A failure for which NumPy has a class of its own is an
    instance of that class too.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.install()
    >>> try:
    ...     mx.np.ones((2, 3)) @ mx.np.ones((2, 3))
    ... except mx.MXNetError as error:
    ...     print(isinstance(error, ValueError))
    True
    >>> mx.uninstall()
    """


class MXNetValueError(MXNetError, ValueError):
    """A wrong value or shape."""


class MXNetTypeError(MXNetError, TypeError):
    """A wrong type or dtype."""


class MXNetIndexError(MXNetError, IndexError):
    """An index out of bounds."""


class MXNetOverflowError(MXNetError, OverflowError):
    """A number that a dtype cannot represent."""


class MXNetFloatingPointError(MXNetError, FloatingPointError):
    """A NaN or an infinity that ``detect_nonfinite`` found."""


class MXNetLinAlgError(MXNetError, LinAlgError):
    """A matrix that an op cannot take."""


class MXNetMemoryError(MXNetError, MemoryError):
    """Memory that cannot be allocated."""


# The class that the engine raises instead of each built-in one.
CLASSES: dict[type[BaseException], type[BaseException]] = {
    ValueError: MXNetValueError,
    TypeError: MXNetTypeError,
    IndexError: MXNetIndexError,
    OverflowError: MXNetOverflowError,
    FloatingPointError: MXNetFloatingPointError,
    LinAlgError: MXNetLinAlgError,
    MemoryError: MXNetMemoryError,
    RuntimeError: MXNetError,
}


def data_dir() -> str:
    """Return the folder of data sets: the environment variable ``MXNET_HOME``, by default ``~/.mxnet``.

    Examples
    --------
    >>> from forerun.mxnet import base, test_utils
    >>> with test_utils.environment("MXNET_HOME", "data"):
    ...     base.data_dir()
    'data'
    """
    return os.environ.get("MXNET_HOME") or os.path.join(os.path.expanduser("~"), ".mxnet")


def py_str(text: bytes) -> str:
    """Decode bytes.

    Examples
    --------
    >>> from forerun.mxnet import base
    >>> base.py_str(b"net")
    'net'
    """
    return text.decode("utf-8")


def _as_list(object: Any) -> list[Any]:
    """Return a list or tuple as a list, anything else as a list of one."""
    return list(object) if isinstance(object, (list, tuple)) else [object]
