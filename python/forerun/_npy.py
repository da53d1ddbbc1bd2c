"""NumPy's ``.npy`` format: a magic word, a version, a header that is a Python literal, bytes.

Python objects raise an error: nothing is ever unpickled.
"""

from __future__ import annotations

import ast
import re
import struct
from typing import NamedTuple

from forerun._forerun import ndarray
from forerun._readers import Source, are_counts, bytes_needed, to_array

MAGIC = b"\x93NUMPY"
# NumPy's own bound on the header.
_LONGEST_HEADER = 10_000
_FAMILIES = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_DESCRIBED = re.compile(r"([<>|=])([biufc])(\d{1,2})")


class Header(NamedTuple):
    """The content of a header: dtype, shape, byte order, and the number of bytes that follow."""

    dtype: str
    shape: tuple[int, ...]
    order: str
    bytes: int


def read(source: Source, what: str = "the array") -> ndarray:
    """Read an array with its header."""
    header = read_header(source, what)
    source.expect(header.bytes, what)
    return to_array(source, what, source.take(header.bytes, what), header.dtype, header.shape, header.order)


def read_header(source: Source, what: str) -> Header:
    """Read and check everything before the bytes of the array."""
    head = source.take(len(MAGIC) + 2, "the magic word")
    if not head.startswith(MAGIC):
        raise source.refused(f"{what} is not a .npy file")
    version = (head[-2], head[-1])
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise source.refused(f"{what} has the unknown version {version[0]}.{version[1]}")
    form = "<H" if version == (1, 0) else "<I"
    (length,) = struct.unpack(form, source.take(struct.calcsize(form), "the length of the header"))
    if length > _LONGEST_HEADER:
        raise source.refused(f"{what}: a header of {length} bytes, the limit is {_LONGEST_HEADER}")
    raw = source.take(length, "the header")
    try:
        found = ast.literal_eval(raw.decode("utf-8" if version == (3, 0) else "latin-1").strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise source.refused(f"{what}: the header is not a Python literal") from error
    if not isinstance(found, dict) or found.keys() != {"descr", "fortran_order", "shape"}:
        raise source.refused(f"{what}: the header must have descr, fortran_order and shape")
    described, columns, shape = found["descr"], found["fortran_order"], found["shape"]
    if type(columns) is not bool or not isinstance(shape, tuple) or not are_counts(shape):
        raise source.refused(f"{what}: fortran_order {columns!r} or shape {shape!r} is invalid")
    dtype, order = _dtype(source, what, described)
    return Header(dtype, shape, order + "CF"[columns], bytes_needed(source, what, dtype, shape))


def _dtype(source: Source, what: str, described: object) -> tuple[str, str]:
    """Return the dtype that a header describes, and the order of its bytes."""
    if isinstance(described, str) and "O" in described:
        raise source.refused(f"{what} holds Python objects, which are never unpickled")
    found = _DESCRIBED.fullmatch(described) if isinstance(described, str) else None
    if found is None:
        raise source.refused(f"{what}: dtype {described!r} is not supported")
    order, family, size = found[1], _FAMILIES[found[2]], int(found[3])
    if family == "bool" and size != 1:
        raise source.refused(f"{what}: dtype {described!r} is not supported")
    return family if family == "bool" else f"{family}{8 * size}", ">" if order == ">" else "<"
