"""Pickling: an array is its elements, their dtype and shape, and the device it lives on.

With protocol 5 the bytes are an out-of-band buffer, so they can be transferred without a copy.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

from forerun import _forerun
from forerun._elements import from_elements, has_numpy
from forerun._forerun import Device, ndarray


def reduce(array: ndarray, protocol: int) -> tuple[Any, ...]:
    """Return how to rebuild the array. Waits for its value; a view is pickled as the elements it shows."""
    place = (array.device.device_type, array.device.device_id)
    return rebuild, (_elements(array, protocol), array.dtype.name, array.shape, place)


def rebuild(data: Any, dtype: str, shape: tuple[int, ...], place: tuple[str, int]) -> ndarray:
    """Rebuild an array from the result of :func:`reduce`."""
    return from_elements(data, dtype, shape, device=_home(place))


def _elements(array: ndarray, protocol: int) -> Any:
    """Return the bytes of the elements, in row-major order."""
    # bfloat16 has no buffer format.
    if protocol < 5 or not has_numpy(array.dtype.name):
        return array.tobytes()
    view = memoryview(array)
    return pickle.PickleBuffer(view if view.c_contiguous else memoryview(array.copy()))


def _home(place: tuple[str, int]) -> Device:
    """Return the device that an array was pickled on, or the host if that device is absent."""
    device = Device(*place)
    try:
        _forerun.require_device(device)
    except RuntimeError as error:
        warnings.warn(f"an array of {device} was unpickled on the host: {error}", RuntimeWarning, stacklevel=4)
        return Device("cpu")
    return device
