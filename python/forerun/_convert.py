"""Conversion from and to NumPy arrays and Python lists.

NumPy is imported at the first conversion, not with the package.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from forerun._forerun import bfloat16, default_float, dtype, float32, from_numpy, from_python, full, ndarray

if TYPE_CHECKING:
    import numpy

    from forerun._forerun import Device
    from forerun._types import ArrayLike, DTypeLike


# The dtypes of Python floats and complex numbers if the default float is float32.
_NARROWED = {"float64": "float32", "complex128": "complex64"}


def to_array(value: ArrayLike, target: DTypeLike | None = None, device: Device | None = None) -> ndarray:
    """Make an array of anything that NumPy can read, on a device.

    Python's own floats become the default float; NumPy arrays keep their dtype. Without a device an array stays where
    it is, and anything else goes to the current one.
    """
    if isinstance(value, ndarray):
        made = value if target is None else value.astype(target, copy=False)
        return made if device is None else made.as_in_ctx(device)
    # numpy.float64 is a subclass of float, but has a dtype.
    if isinstance(value, (bool, int, float, complex)) and type(value) in (bool, int, float, complex):
        return full((), value, target, device)
    if (quick := from_python(value, target, device)) is not None:
        return quick
    import numpy

    if target is not None:
        wanted = dtype(target)
        if wanted == bfloat16:
            return from_numpy(numpy.asarray(value), device).astype(wanted, copy=False)
        return from_numpy(numpy.asarray(value, wanted.name), device)
    read = numpy.asarray(value)
    # NumPy reads Python floats as float64; only values that came from NumPy keep their dtype.
    if read.dtype.name in _NARROWED and default_float() == float32 and not _has_width(value):
        read = read.astype(_NARROWED[read.dtype.name])
    return from_numpy(read, device)


def to_arrays(*values: ArrayLike) -> list[ndarray]:
    """Convert operands to arrays, on the device of the first that is an array already."""
    for value in values:
        if not isinstance(value, ndarray):
            break
    else:
        return [*values]  # type: ignore[list-item]
    home = next((value.device for value in values if isinstance(value, ndarray)), None)
    return [value if isinstance(value, ndarray) else to_array(value, None, home) for value in values]


def floating(x: ndarray) -> ndarray:
    """Return an array of floats: the array itself, or converted to the default float."""
    return x.astype(default_float()) if x.dtype.kind in "biu" else x


def averaging(x: ndarray) -> ndarray:
    """Return an array that can be averaged: the array itself; integers as float64, since float32 may be too narrow."""
    return x.astype("float64") if x.dtype.kind in "biu" else x


def _has_width(value: Any) -> bool:
    """Return whether a value, or anything in a nested list, comes from an array library and so has a dtype."""
    if isinstance(value, (list, tuple)):
        return any(_has_width(item) for item in value)
    return hasattr(value, "__array__")


def operand(value: Any) -> ndarray | bool | int | float | complex | None:
    """Convert the other operand of an expression with an array: to an array or a number."""
    import numpy

    if isinstance(value, numpy.generic):
        number = value.item()
        return number if isinstance(number, (bool, int, float, complex)) else None
    return to_array(value)


def to_numpy(snapshot: numpy.ndarray, target: Any, copy: bool | None) -> numpy.ndarray:
    """Finish ``__array__``: convert a snapshot to a dtype; copy it if requested or needed."""
    import numpy

    if target is not None and numpy.dtype(target) != snapshot.dtype:
        if copy is False:
            raise ValueError(f"cannot convert {snapshot.dtype} to {numpy.dtype(target)} without a copy")
        return snapshot.astype(target)
    return snapshot.copy() if copy else snapshot


def places(value: Any) -> ndarray | bool:
    """Convert an index to an array of integers or booleans; a single boolean is returned as it is."""
    import numpy

    try:
        read = numpy.asarray(value)
    except ValueError:
        raise IndexError(f"only integers, slices, None, Ellipsis and arrays are valid indices, got {value!r}") from None
    if isinstance(value, (list, tuple)) and read.size == 0:
        read = read.astype(numpy.int64)
    if read.dtype.kind == "b":
        return bool(read) if read.ndim == 0 else from_numpy(read, None)
    if read.dtype.kind not in "iu":
        if read.ndim == 0 and not hasattr(value, "__array__"):
            raise IndexError(
                f"only integers, slices, None, Ellipsis and arrays are valid indices, got {type(value).__name__}"
            )
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return from_numpy(read.astype(numpy.int64, copy=False), None)


def brain_dtype() -> numpy.dtype:
    """Return the bfloat16 dtype of the package ``ml_dtypes``; raise ``TypeError`` without the package."""
    import numpy

    try:
        import ml_dtypes
    except ImportError:
        raise TypeError("NumPy has no bfloat16 without the package ml_dtypes") from None
    found: numpy.dtype = numpy.dtype(ml_dtypes.bfloat16)
    return found


def brain_floats(elements: numpy.ndarray) -> numpy.ndarray:
    """Return the elements of a bfloat16 array as a NumPy array; without ``ml_dtypes`` widened to float32."""
    import numpy

    try:
        return elements.view(brain_dtype())
    except TypeError:
        # An array even for one element: NumPy would return a scalar for arithmetic on a 0-d array.
        wide = numpy.array(elements.view(numpy.uint16).astype(numpy.uint32) << 16)
        wide.flags.writeable = False
        return wide.view(numpy.float32)


def truncated(value: ArrayLike, device: Device | None = None) -> ndarray:
    """Return labels, lengths or numbers of things as int64; floats are truncated.

    What is no number becomes the largest integer, which every check of a range refuses; a plain cast gives 0.
    """
    from forerun._pointwise import isnan, where

    x = to_array(value, None, device)
    if x.dtype.kind == "f":
        x = where(isnan(x), math.inf, x)
    return x.astype("int64", copy=False)
