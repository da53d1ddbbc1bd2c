"""Arrays made from the bytes of their elements, including bfloat16, for which NumPy has no dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from forerun._forerun import Device, from_numpy, ndarray

if TYPE_CHECKING:
    import numpy

# The NumPy dtype that stores the elements of a dtype that NumPy lacks.
_HELD_IN = {"bfloat16": "uint16"}


def has_numpy(dtype: str) -> bool:
    """Return whether NumPy has a dtype of that name."""
    return dtype not in _HELD_IN


def held_in(dtype: str) -> numpy.dtype:
    """Return the NumPy dtype that stores the elements."""
    import numpy

    return numpy.dtype(_HELD_IN.get(dtype, dtype))


def from_held(values: numpy.ndarray, dtype: str, device: Device | None = None) -> ndarray:
    """Make an array from the NumPy array that stores its elements."""
    import numpy

    if has_numpy(dtype):
        return from_numpy(values, device)
    return from_numpy((values.astype(numpy.uint32) << 16).view(numpy.float32), device).astype(dtype)


def from_elements(
    data: Any, dtype: str, shape: Sequence[int], order: str = "<C", device: Device | None = None
) -> ndarray:
    """Make an array from bytes: ``<`` or ``>`` is the byte order, ``C`` or ``F`` the order of the elements."""
    import numpy

    kind = held_in(dtype).newbyteorder("<" if order[0] == "<" else ">")
    values: numpy.ndarray = numpy.frombuffer(data, kind)
    values = values.reshape(shape, order=order[1])  # type: ignore[call-overload]
    return from_held(values.astype(kind.newbyteorder("="), copy=False), dtype, device)
