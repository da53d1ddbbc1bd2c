"""Arrays out of what other libraries, buffers, iterators and functions give."""

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

# The newest version of DLPack whose capsules are understood.
_VERSION = (1, 1)
# How DLPack numbers CUDA's devices.
_CUDA = 2


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> ndarray:
    """Make an array of another library's, by the DLPack protocol.

    Parameters
    ----------
    x
        An object with ``__dlpack__`` and ``__dlpack_device__``.
    device
        Where the array shall live; without one, where the elements are: on the host, or on an NVIDIA device.
    copy
        The elements are copied, so ``False`` is refused for anything but an array of forerun.

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
            raise ValueError(f"from_dlpack: the elements cannot be brought from {x.device} to {place} without a copy")
        return moved.copy() if copy and moved is x else moved
    if copy is False:
        raise ValueError("from_dlpack: the elements of another library's array are always copied")
    on_cuda = x.__dlpack_device__()[0] == _CUDA
    # What its maker has under way on the GPU is ordered before the default stream, which is then waited for.
    stream = {"stream": 1} if on_cuda else {}
    try:
        capsule = x.__dlpack__(max_version=_VERSION, **stream)
    except TypeError:
        # A library of before DLPack 1.0 does not know the argument.
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
    """Make a one-dimensional array of the bytes of a buffer. They are copied.

    Parameters
    ----------
    buffer
        Anything with a buffer: bytes, a memoryview, an ``array.array``.
    dtype
        What the bytes are elements of; the default float without one.
    count
        How many elements to read; all of them if it is negative.
    offset
        The byte to start from.
    device
        Where the array shall live.

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
    """Make a one-dimensional array of what an iterator gives.

    Parameters
    ----------
    iter
        What to go through.
    dtype
        The dtype of the elements.
    count
        How many elements to take; all of them if it is negative.
    device
        Where the array shall live.

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
    """Call a function with the coordinates of every element, one array an axis, and give what it returns.

    Parameters
    ----------
    function
        Called once, with an array of coordinates for each axis, and ``kwargs``.
    shape
        The shape of those arrays.
    dtype
        Their dtype; the default float without one.
    device
        Where they live.

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
