"""Arrays from other libraries, buffers, iterators and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index
from typing import Any, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array
from forerun._device import asked
from forerun._forerun import Device, default_float, from_capsule, from_numpy, ndarray
from forerun._forerun import dtype as _dtype
from forerun._types import DTypeLike, ShapeLike

__all__ = ["from_dlpack", "frombuffer", "fromfunction", "fromiter"]

# The newest supported version of DLPack.
_VERSION = (1, 1)
# DLPack's device type of CUDA.
_CUDA = 2


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> ndarray:
    """Create an array from another library's array, with the DLPack protocol.

    Parameters
    ----------
    x
        An object with ``__dlpack__`` and ``__dlpack_device__``.
    device
        The device of the result; by default the device of the elements: the host or an NVIDIA device.
    copy
        Elements are always copied; ``False`` raises for anything but a Forerun array.

    Examples
    --------
    >>> import numpy
    >>> from forerun import np
    >>> np.from_dlpack(numpy.arange(3))
    array([0, 1, 2])
    """
    place = asked("from_dlpack", None, device)
    if isinstance(x, ndarray):
        moved = x if place is None else x.as_in_ctx(place)
        if copy is False and moved is not x:
            raise ValueError(f"from_dlpack: cannot move the elements from {x.device} to {place} without a copy")
        return moved.copy() if copy and moved is x else moved
    if copy is False:
        raise ValueError("from_dlpack: the elements of another library's array are always copied")
    on_cuda = x.__dlpack_device__()[0] == _CUDA
    # The producer orders its pending GPU work before the default stream, which is then synchronized.
    stream = {"stream": 1} if on_cuda else {}
    try:
        capsule = x.__dlpack__(max_version=_VERSION, **stream)
    except TypeError:
        # Libraries before DLPack 1.0 do not accept the argument.
        capsule = x.__dlpack__(**stream)
    return from_capsule(capsule, Device("cpu") if place is None and not on_cuda else place)


def frombuffer(
    buffer: Any,
    dtype: DTypeLike | None = None,
    count: int = -1,
    offset: int = 0,
    *,
    device: Device | None = None,
) -> ndarray:
    """Create a 1-d array from a copy of the bytes of a buffer.

    Parameters
    ----------
    buffer
        An object with the buffer protocol: bytes, a memoryview, an ``array.array``.
    dtype
        The dtype of the elements; the default float if not given.
    count
        The number of elements to read; all if negative.
    offset
        The offset of the first byte.
    device
        The device of the result.

    Examples
    --------
    >>> from forerun import np
    >>> np.frombuffer(bytes(8), dtype="int32")
    array([0, 0], dtype=int32)
    """
    import numpy

    read = numpy.frombuffer(buffer, (default_float() if dtype is None else _dtype(dtype)).name, count, offset)
    return from_numpy(read, asked("frombuffer", None, device))


def fromiter(iter: Iterable[Any], dtype: DTypeLike, count: int = -1, *, device: Device | None = None) -> ndarray:
    """Create a 1-d array from an iterator.

    Parameters
    ----------
    iter
        The iterable.
    dtype
        The dtype of the elements.
    count
        The number of elements to take; all if negative.
    device
        The device of the result.

    Examples
    --------
    >>> from forerun import np
    >>> np.fromiter((i * i for i in range(4)), dtype="int64")
    array([0, 1, 4, 9])
    """
    import numpy

    return from_numpy(numpy.fromiter(iter, _dtype(dtype).name, count), asked("fromiter", None, device))


def fromfunction(
    function: Callable[..., Any],
    shape: ShapeLike,
    *,
    dtype: DTypeLike | None = None,
    device: Device | None = None,
    **kwargs: Any,
) -> ndarray:
    """Call a function with arrays of coordinates, one per axis, and return its result.

    Parameters
    ----------
    function
        Called once, with an array of coordinates for each axis, and ``kwargs``.
    shape
        The shape of those arrays.
    dtype
        Their dtype; the default float if not given.
    device
        Their device.

    Examples
    --------
    >>> from forerun import np
    >>> np.fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype="int64")
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    place = asked("fromfunction", None, device)
    extents = [index(extent) for extent in ([shape] if isinstance(shape, SupportsIndex) else shape)]
    coordinates = []
    for axis, extent in enumerate(extents):
        along = _forerun.arange(0, extent, 1, default_float() if dtype is None else dtype, place)
        spread = along.reshape(*(-1 if other == axis else 1 for other in range(len(extents))))
        coordinates.append(spread.broadcast_to(extents))
    return to_array(function(*coordinates, **kwargs), None, place)
