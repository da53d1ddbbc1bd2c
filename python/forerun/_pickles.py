"""Pickling: an array is its elements, their dtype and shape, and the device it lives on.

With protocol 5 the bytes are handed over as a buffer, so that whoever moves pickles can move them without a copy.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

from forerun import _forerun
from forerun._elements import from_elements, has_numpy
from forerun._forerun import Device, ndarray


def reduce(array: ndarray, protocol: int) -> tuple[Any, ...]:
    """Say how to make the array again. Waits for its value; a view is pickled as what it shows."""
    place = (array.device.device_type, array.device.device_id)
    return rebuild, (_elements(array, protocol), array.dtype.name, array.shape, place)


def rebuild(data: Any, dtype: str, shape: tuple[int, ...], place: tuple[str, int]) -> ndarray:
    """Make an array of what :func:`reduce` gave."""
    return from_elements(data, dtype, shape, device=_home(place))


def _elements(array: ndarray, protocol: int) -> Any:
    """Give the bytes of the elements, in row-major order."""
    # Not every dtype has a buffer.
    if protocol < 5 or not has_numpy(array.dtype.name):
        return array.tobytes()
    view = memoryview(array)
    return pickle.PickleBuffer(view if view.c_contiguous else memoryview(array.copy()))


def _home(place: tuple[str, int]) -> Device:
    """Give the device that an array was pickled on, or the host where that is absent."""
    device = Device(*place)
    try:
        _forerun.require_device(device)
    except RuntimeError as error:
        warnings.warn(f"an array of {device} was unpickled on the host: {error}", RuntimeWarning, stacklevel=4)
        return Device("cpu")
    return device
