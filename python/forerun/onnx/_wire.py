"""ONNX messages in protobuf's wire format, which only needs numbers and bytes with a length.

Each function returns the bytes of one message. Field numbers are those of ``onnx.proto``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

# A dimension: its extent, or the name of an extent that is known when the model runs; the name may be empty.
Dimension: TypeAlias = "int | str"
# The value of an attribute; bytes are a message, a tensor or a graph.
Attribute: TypeAlias = "int | float | str | Sequence[int] | Tensor | Graph"

# The numbers of element types.
DTYPES = {
    "float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
    "float64": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16,
}  # fmt: skip
_VARINT, _BYTES, _FIXED32 = 0, 2, 5
# The types of attributes.
_FLOAT, _INT, _STRING, _TENSOR, _GRAPH, _INTS = 1, 2, 3, 4, 5, 7


class Tensor(bytes):
    """The bytes of a tensor."""


class Graph(bytes):
    """The bytes of a graph."""


def _varint(value: int) -> bytes:
    # Negative numbers are written as 64-bit two's complement.
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _int(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _data(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return b"".join((_varint(field << 3 | _BYTES), _varint(len(data)), data))


def tensor(name: str, dtype: str, shape: Sequence[int], raw: bytes) -> Tensor:
    """Return a tensor with its elements in little-endian row-major order."""
    parts = [_int(1, extent) for extent in shape]
    parts += [_int(2, DTYPES[dtype]), _data(8, name), _data(9, raw)]
    return Tensor(b"".join(parts))


def value(name: str, dtype: str, shape: Iterable[Dimension]) -> bytes:
    """Return the description of an input or output."""
    extents = [_data(1, _int(1, one) if isinstance(one, int) else one and _data(2, one)) for one in shape]
    kind = _int(1, DTYPES[dtype]) + _data(2, b"".join(extents))
    return _data(1, name) + _data(2, _data(1, kind))


def _attribute(name: str, given: Attribute) -> bytes:
    if isinstance(given, Tensor):
        kind, body = _TENSOR, _data(5, given)
    elif isinstance(given, Graph):
        kind, body = _GRAPH, _data(6, given)
    elif isinstance(given, int):
        kind, body = _INT, _int(3, given)
    elif isinstance(given, float):
        kind, body = _FLOAT, _varint(2 << 3 | _FIXED32) + struct.pack("<f", given)
    elif isinstance(given, str):
        kind, body = _STRING, _data(4, given)
    else:
        kind, body = _INTS, b"".join(_int(8, one) for one in given)
    return _data(1, name) + body + _int(20, kind)


def node(
    op: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, Attribute],
    note: str = "",
) -> bytes:
    """Return a node. The note becomes its documentation."""
    parts = [_data(1, name) for name in inputs]
    parts += [_data(2, name) for name in outputs]
    parts += [_data(3, outputs[0]), _data(4, op)]
    parts += [_data(5, _attribute(name, given)) for name, given in attributes.items()]
    if note:
        parts.append(_data(6, note))
    return b"".join(parts)


def graph(
    name: str,
    nodes: Iterable[bytes],
    tensors: Iterable[bytes],
    inputs: Iterable[bytes],
    outputs: Iterable[bytes],
) -> Graph:
    """Return a graph."""
    parts = [_data(1, one) for one in nodes]
    parts.append(_data(2, name))
    parts += [_data(5, one) for one in tensors]
    parts += [_data(11, one) for one in inputs]
    parts += [_data(12, one) for one in outputs]
    return Graph(b"".join(parts))


def model(content: bytes, ir_version: int, opset: int, producer: str, version: str) -> bytes:
    """Return a model."""
    opsets = _data(8, _data(1, "") + _int(2, opset))
    head = _int(1, ir_version) + _data(2, producer) + _data(3, version)
    return b"".join((head, _data(7, content), opsets))
