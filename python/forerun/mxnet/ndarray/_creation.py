"""New arrays and files, with the arguments of MXNet 1."""

from __future__ import annotations

import os

from typing import Any

import numpy

from forerun import _files, np
from forerun._device import asked
from forerun._forerun import Device, ndarray
from forerun.npx import save

__all__ = ["arange", "array", "empty", "eye", "from_numpy", "full", "linspace", "load", "load_frombuffer", "ones"]
__all__ += ["save", "zeros"]


def array(source_array: Any, ctx: Device | None = None, dtype: Any = None, device: Device | None = None) -> ndarray:
    """Copy numbers, lists or arrays into a new array: float32 unless a dtype is given or the source is an array here.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.array([[1, 2]])
    array([[1., 2.]])
    """
    if dtype is None and not isinstance(source_array, ndarray):
        dtype = "float32"
    if not isinstance(source_array, (ndarray, numpy.ndarray)):
        try:
            source_array = np.array(source_array, dtype=dtype)
        except (TypeError, ValueError) as error:
            raise TypeError("array: source_array must be numbers, or an array") from error
    return np.array(source_array, dtype=dtype, device=asked("array", ctx, device))


def zeros(shape: Any, ctx: Device | None = None, dtype: Any = None, stype: str | None = None, **named: Any) -> ndarray:
    """Make an array of zeros, in float32 unless a dtype is given.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.zeros((2,))
    array([0., 0.])
    """
    return full(shape, 0, ctx, dtype, stype=stype, **named)


def ones(shape: Any, ctx: Device | None = None, dtype: Any = None, **named: Any) -> ndarray:
    """Make an array of ones, in float32 unless a dtype is given.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.ones((2,))
    array([1., 1.])
    """
    return full(shape, 1, ctx, dtype, **named)


def full(
    shape: Any,
    val: Any,
    ctx: Device | None = None,
    dtype: Any = None,
    out: ndarray | None = None,
    stype: str | None = None,
    device: Device | None = None,
) -> ndarray:
    """Make an array of one number, in float32 unless a dtype is given.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.full((2,), 7)
    array([7., 7.])
    """
    if stype not in (None, "default"):
        raise ValueError(f"there are no sparse arrays, stype is {stype!r}")
    if out is not None:
        out[...] = val
        return out
    return np.full(shape, val, "float32" if dtype is None else dtype, device=asked("full", ctx, device))


def empty(shape: Any, ctx: Device | None = None, dtype: Any = None, stype: str | None = None) -> ndarray:
    """Make an array whose elements are not specified, in float32 unless a dtype is given.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.empty((2,)).shape
    (2,)
    """
    return full(shape, 0, ctx, dtype, stype=stype)


def eye(N: int, M: int = 0, k: int = 0, ctx: Device | None = None, dtype: Any = None) -> ndarray:
    """Make a matrix with ones on a diagonal, of N rows and M columns, or as many as rows.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.eye(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return np.eye(N, M or None, k, dtype="float32" if dtype is None else dtype, device=asked("eye", ctx, None))


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool | None = None,
    ctx: Device | None = None,
    dtype: Any = "float32",
) -> ndarray:
    """Return numbers from ``start`` up to, excluding, ``stop``, each ``repeat`` times.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.arange(2, repeat=2)
    array([0., 0., 1., 1.])
    """
    numbers = np.arange(start, stop, step, dtype, device=asked("arange", ctx, None))
    return numbers if repeat == 1 else np.repeat(numbers, repeat)


def linspace(
    start: float, stop: float, num: int, endpoint: bool = True, ctx: Device | None = None, dtype: Any = "float32"
) -> ndarray:
    """Return evenly spaced numbers.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.linspace(0, 1, 3)
    array([0. , 0.5, 1. ])
    """
    return np.linspace(start, stop, num, endpoint, dtype=dtype, device=asked("linspace", ctx, None))


def from_numpy(ndarray: Any, zero_copy: bool = True) -> Any:
    """Copy a NumPy array; the copy does not share memory, and the original stays writable.

    Examples
    --------
    >>> import numpy
    >>> from forerun import mxnet as mx
    >>> mx.nd.from_numpy(numpy.ones(2))
    array([1., 1.], dtype=float64)
    """
    return np.array(ndarray)


def load(fname: str | os.PathLike[str]) -> list[ndarray] | dict[str, ndarray]:
    """Read arrays from a file, as ``npx.load`` does.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import mxnet as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mx.nd.save(os.path.join(folder, "x"), [mx.nd.ones((2,))])
    ...     mx.nd.load(os.path.join(folder, "x"))
    [array([1., 1.])]
    """
    if not isinstance(fname, (str, os.PathLike)):
        raise TypeError(f"load: fname must be a path, not {type(fname).__name__}")
    return _files.load(fname)


def load_frombuffer(buf: bytes) -> list[ndarray] | dict[str, ndarray]:
    """Read arrays from the bytes of a file.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import mxnet as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mx.nd.save(os.path.join(folder, "x"), {"w": mx.nd.ones((2,))})
    ...     with open(os.path.join(folder, "x"), "rb") as file:
    ...         mx.nd.load_frombuffer(file.read())
    {'w': array([1., 1.])}
    """
    import tempfile

    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise TypeError(f"load_frombuffer: buf must be bytes, not {type(buf).__name__}")
    with tempfile.NamedTemporaryFile() as file:
        file.write(buf)
        file.flush()
        return _files.load(file.name)
