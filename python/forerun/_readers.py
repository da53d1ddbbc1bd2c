"""Code that file readers share: checked byte counts and shapes.

Invariant: no more memory is allocated than the file has bytes, whatever its headers claim.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, BinaryIO

from forerun import _fail, _forerun
from forerun._elements import from_elements
from forerun._forerun import dtype as _dtype
from forerun._forerun import ndarray
from forerun._refused import refused

# The limits of arrays: the number of dimensions, and the address space, which also applies to empty arrays.
MOST_DIMENSIONS = 32
_MOST_BYTES = 2**63 - 1
# The number of bytes to read at a time if the size of the file is unknown.
_PIECE = 1 << 20


class Source:
    """An open file, its name for messages, and the number of bytes left, if known."""

    def __init__(self, file: BinaryIO, where: str, left: int | None) -> None:
        self.file = file
        self.where = where
        self.left = left

    def refused(self, text: str) -> ValueError:
        """Make the error for an invalid file."""
        return refused(f"{self.where}: {text}")

    def expect(self, count: int, what: str) -> None:
        """Raise unless this many bytes are left, if the number is known."""
        if self.left is not None and count > self.left:
            raise self.refused(f"{what} needs {count} bytes, {self.left} are left")

    def take(self, count: int, what: str) -> bytearray:
        """Read this many bytes."""
        self.expect(count, what)
        data = bytearray()
        while len(data) < count:
            piece = self.file.read(min(count - len(data), _PIECE))
            if not piece:
                raise self.refused(f"{what} needs {count} bytes, the file ended after {len(data)}")
            data += piece
        self._passed(count)
        return data

    def skip(self, count: int, what: str) -> None:
        """Skip this many bytes of a file whose length is known."""
        self.expect(count, what)
        self.file.seek(count, os.SEEK_CUR)
        self._passed(count)

    def _passed(self, count: int) -> None:
        if self.left is not None:
            self.left -= count


def remaining(file: BinaryIO) -> int | None:
    """Return the number of remaining bytes of a file, if known."""
    try:
        here = file.tell()
        end = file.seek(0, os.SEEK_END)
        file.seek(here)
    except (OSError, ValueError, AttributeError):
        return None
    return max(end - here, 0)


def bytes_needed(source: Source, what: str, dtype: str, shape: Sequence[int]) -> int:
    """Return the size of an array in bytes; raise for an impossible dtype or shape."""
    if not is_known(dtype):
        raise source.refused(f"{what}: dtype {dtype} is not supported")
    if len(shape) > MOST_DIMENSIONS:
        raise source.refused(f"{what}: {len(shape)} dimensions, the limit is {MOST_DIMENSIONS}")
    size = _dtype(dtype).itemsize
    # An empty array has no bytes, so check its other dimensions.
    if math.prod(extent for extent in shape if extent) * size > _MOST_BYTES:
        raise source.refused(f"{what}: no array of {dtype} can have the shape {tuple(shape)}")
    return math.prod(shape) * size


def is_known(dtype: str) -> bool:
    """Return whether arrays can have a dtype that a file names."""
    return isinstance(getattr(_forerun, dtype, None), _dtype)


def are_counts(numbers: Any) -> bool:
    """Return whether a value is a list or tuple of counts."""
    return isinstance(numbers, (list, tuple)) and all(type(number) is int and number >= 0 for number in numbers)


def to_array(
    source: Source, what: str, raw: bytes | bytearray, dtype: str, shape: Sequence[int], order: str = "<C"
) -> ndarray:
    """Make an array from bytes; for their order see :func:`from_elements`."""
    _fail.point("file.read")
    # Only 0 and 1 are valid booleans.
    if dtype == "bool" and raw and max(raw) > 1:
        raise source.refused(f"{what}: a bool is neither 0 nor 1")
    return from_elements(raw, dtype, shape, order)
