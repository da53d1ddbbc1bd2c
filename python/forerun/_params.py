"""MXNet's ``.params`` files: a magic number, arrays one after another, their names.

Dense arrays of every version that MXNet wrote are read. The whole file is validated before memory is
allocated.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from forerun._forerun import ndarray
from forerun._readers import Source, bytes_needed, to_array

# The magic number of a list of arrays, and eight reserved bytes.
MAGIC = struct.pack("<QQ", 0x112, 0)
# Versions of an array: with 64-bit extents, with a storage type, with NumPy shapes. Older files store the rank in place
# of the version.
_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_DTYPES = (
    "float32", "float64", "float16", "uint8", "int32", "int8", "int64", "bool", "int16", "uint16", "uint32", "uint64",
    "bfloat16",
)  # fmt: skip


class _Entry(NamedTuple):
    """The location of an array: dtype, shape, first byte and number of bytes."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    bytes: int


def load(source: Source) -> list[ndarray] | dict[str, ndarray]:
    """Read a file from its start: a dict if its arrays have names, else a list."""
    source.skip(len(MAGIC), "the magic number")
    entries = [_entry(source, f"array {number}") for number in range(_count(source, "the number of arrays", 4))]
    names = [_name(source, number) for number in range(_count(source, "the number of names", 8))]
    if names and len(names) != len(entries):
        raise source.refused(f"{len(names)} names for {len(entries)} arrays")
    if len(set(names)) != len(names):
        raise source.refused("two arrays have the same name")
    if source.left:
        raise source.refused(f"{source.left} bytes at the end are unexpected")
    arrays = []
    for number, entry in enumerate(entries):
        source.file.seek(entry.begin)
        what = f"array {number}"
        again = Source(source.file, source.where, entry.bytes)
        arrays.append(to_array(again, what, again.take(entry.bytes, what), entry.dtype, entry.shape))
    return dict(zip(names, arrays, strict=True)) if names else arrays


def _entry(source: Source, what: str) -> _Entry:
    """Read the header of an array and skip its bytes."""
    (version,) = _numbers(source, what, "<I")
    if version in (_V2, _V3):
        (storage,) = _numbers(source, what, "<i")
        if storage != 0:
            raise source.refused(f"{what} is sparse (storage {storage}); only dense ones are read")
    if version in (_V1, _V2, _V3):
        (rank,) = _numbers(source, what, "<i")
        form = "q"
    else:
        rank, form = version, "I"
    # Only NumPy shapes allow 0-d arrays; otherwise rank 0 means that the array was never initialised.
    if rank < 0 or (rank == 0 and version != _V3):
        raise source.refused(f"{what} was saved before it had elements")
    source.expect(rank * struct.calcsize(form), f"the shape of {what}")
    shape = _numbers(source, what, f"<{rank}{form}")
    if any(extent < 0 for extent in shape):
        raise source.refused(f"{what}: shape {shape} has a negative extent")
    _, _, flag = _numbers(source, what, "<iii")
    if not 0 <= flag < len(_DTYPES):
        raise source.refused(f"{what}: dtype number {flag} is not known")
    count = bytes_needed(source, what, _DTYPES[flag], shape)
    begin = source.file.tell()
    source.skip(count, what)
    return _Entry(_DTYPES[flag], shape, begin, count)


def _name(source: Source, number: int) -> str:
    what = f"the name of array {number}"
    (length,) = _numbers(source, what, "<Q")
    try:
        return source.take(length, what).decode()
    except UnicodeDecodeError as error:
        raise source.refused(f"{what} is not valid text") from error


def _count(source: Source, what: str, least: int) -> int:
    """Read a count of items, each of at least a given number of bytes."""
    (count,) = _numbers(source, what, "<Q")
    source.expect(count * least, what)
    return int(count)


def _numbers(source: Source, what: str, form: str) -> tuple[int, ...]:
    return struct.unpack(form, source.take(struct.calcsize(form), what))
