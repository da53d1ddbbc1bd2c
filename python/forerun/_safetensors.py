"""Files of named arrays in the safetensors format: a length, a JSON header, bytes.

Reading never runs code: lengths, offsets, dtypes and sizes are validated against the file before memory is allocated.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from forerun import _fail
from forerun._elements import from_held, held_in
from forerun._forerun import dtype, ndarray
from forerun._refused import refused
from forerun._replacing import replacing

if TYPE_CHECKING:
    import numpy

# What the format calls our dtypes.
_CODES = {
    "bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
    "uint32": "U32", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64",
}  # fmt: skip
_NAMES = {code: name for name, code in _CODES.items()}
_SIZES = {name: dtype(name).itemsize for name in _CODES}

# The format's own bound on the header.
_LONGEST_HEADER = 100_000_000
# The name under which a header keeps metadata.
_NOTES = "__metadata__"

# What arrays can be: their dimensions, and what a machine can address, however empty they are.
_MOST_DIMENSIONS = 32
_MOST_BYTES = 2**63 - 1
# No number of a header needs nearly as many digits; longer ones are not even read.
_MOST_DIGITS = 64


class _Entry(NamedTuple):
    """The location of an array: dtype, shape, and its first and last byte after the header."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def save(
    filename: str | os.PathLike[str], arrays: Mapping[str, ndarray], metadata: Mapping[str, str] | None = None
) -> None:
    """Write named arrays to a file. The file is replaced atomically."""
    header: dict[str, Any] = {}
    if metadata:
        header[_NOTES] = dict(metadata)
    begin = 0
    for name, array in arrays.items():
        if name == _NOTES:
            raise refused(f"save: the file format reserves the name {_NOTES!r}: rename the array")
        code = _CODES.get(array.dtype.name)
        if code is None:
            raise TypeError(f"save: {name!r} has dtype {array.dtype.name}, which the file format does not know")
        end = begin + array.nbytes
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header, separators=(",", ":")).encode()
    # The bytes of the arrays start at a multiple of eight.
    text += b" " * (-len(text) % 8)
    with replacing(os.fspath(filename)) as file:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for array in arrays.values():
            _fail.point("file.write")
            file.write(array.tobytes())


def load(filename: str | os.PathLike[str]) -> tuple[dict[str, ndarray], dict[str, str]]:
    """Read a file: the named arrays and the metadata."""
    path = os.fspath(filename)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        entries, metadata, start = _read_header(file, size, path)
        arrays = {
            name: from_held(_read_array(file, start, name, entry, path), entry.dtype) for name, entry in entries.items()
        }
    return arrays, metadata


def _read_header(file: BinaryIO, size: int, path: str) -> tuple[dict[str, _Entry], dict[str, str], int]:
    """Read and validate the header; return it and the offset of the data."""
    if size < 8:
        raise refused(f"load: {path}: {size} bytes are too few for a header")
    (length,) = struct.unpack("<Q", file.read(8))
    if length > min(size - 8, _LONGEST_HEADER):
        raise refused(f"load: {path}: the header claims {length} bytes, the file has {size - 8} after its length")
    try:
        header = json.loads(
            file.read(length).decode(),
            object_pairs_hook=lambda pairs: _unique(pairs, path),
            parse_int=lambda digits: _number(digits, path),
        )
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise refused(f"load: {path}: the header is not JSON: {error}") from error
    if not isinstance(header, dict):
        raise refused(f"load: {path}: the header is not an object")
    metadata = header.pop(_NOTES, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise refused(f"load: {path}: the metadata is not a mapping of strings")
    start = 8 + length
    entries = {name: _read_entry(name, entry, size - start, path) for name, entry in header.items()}
    _check_cover(entries, size - start, path)
    return entries, metadata, start


def _unique(pairs: list[tuple[str, Any]], path: str) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise refused(f"load: {path}: the header names something twice")
    return made


def _number(digits: str, path: str) -> int:
    if len(digits.removeprefix("-")) > _MOST_DIGITS:
        raise refused(f"load: {path}: the header has a number of {len(digits)} digits")
    return int(digits)


def _read_entry(name: str, entry: Any, size: int, path: str) -> _Entry:
    """Check one array's entry against the number of bytes after the header."""
    where = f"load: {path}: tensor {name!r}"
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise refused(f"{where}: the entry must have dtype, shape and data_offsets")
    dtype = _NAMES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        raise refused(f"{where}: dtype {entry['dtype']!r} is not one of {', '.join(_NAMES)}")
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not _are_counts(shape):
        raise refused(f"{where}: shape {shape!r} is not a list of counts")
    if len(shape) > _MOST_DIMENSIONS:
        raise refused(f"{where}: {len(shape)} dimensions, the most are {_MOST_DIMENSIONS}")
    if not _are_counts(offsets) or len(offsets) != 2:
        raise refused(f"{where}: data_offsets {offsets!r} are not two counts")
    begin, end = offsets
    if not begin <= end <= size:
        raise refused(f"{where}: data_offsets {offsets} lie outside the {size} bytes of data")
    needed = math.prod(shape) * _SIZES[dtype]
    if end - begin != needed:
        raise refused(f"{where}: {end - begin} bytes for {dtype} of shape {tuple(shape)}, which needs {needed}")
    # An empty array has no bytes to be compared with, whatever its other dimensions are.
    if math.prod(count for count in shape if count) * _SIZES[dtype] > _MOST_BYTES:
        raise refused(f"{where}: no array of {dtype} can have the shape {tuple(shape)}")
    return _Entry(dtype, tuple(shape), begin, end)


def _are_counts(numbers: Any) -> bool:
    return isinstance(numbers, list) and all(type(number) is int and number >= 0 for number in numbers)


def _check_cover(entries: dict[str, _Entry], size: int, path: str) -> None:
    """Check that the arrays lie one after the other, without overlaps or gaps, to the end of the file."""
    reached, last = 0, ""
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].begin, item[1].end)):
        if entry.begin < reached:
            raise refused(f"load: {path}: tensors {last!r} and {name!r} overlap")
        if entry.begin > reached:
            raise refused(f"load: {path}: {entry.begin - reached} bytes before tensor {name!r} belong to none")
        reached, last = entry.end, name
    if reached != size:
        raise refused(f"load: {path}: {size - reached} bytes at the end belong to no tensor")


def _read_array(file: BinaryIO, start: int, name: str, entry: _Entry, path: str) -> numpy.ndarray:
    import numpy

    _fail.point("file.read")
    file.seek(start + entry.begin)
    # Read as bytes first: only zero and one are truth values.
    raw = numpy.fromfile(file, numpy.uint8, entry.end - entry.begin)
    if raw.size != entry.end - entry.begin:
        raise refused(f"load: {path}: tensor {name!r}: the file ended after {raw.size} bytes")
    if entry.dtype == "bool" and raw.size and raw.max() > 1:
        raise refused(f"load: {path}: tensor {name!r}: a bool is neither 0 nor 1")
    kind = held_in(entry.dtype).newbyteorder("<")
    value: numpy.ndarray = raw.view(kind).astype(kind.newbyteorder("="), copy=False).reshape(entry.shape)
    return value
