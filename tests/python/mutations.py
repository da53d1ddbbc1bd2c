"""Ways to damage a file: bytes anywhere, numbers of headers, and parts of a format with correct lengths and checksums.

A mutation is a function of the files that are valid and of a source of random numbers; it returns a damaged file.
"""

from __future__ import annotations

import io
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence

Mutation = Callable[[Sequence[bytes], random.Random], bytes]

NUMBERS = [b"0", b"-1", b"1e9", b"18446744073709551615", b"9223372036854775807", b"4294967296", b"1" * 70]
WORDS = [b"null", b"true", b"[]", b"{}", b"[" * 40, b'"F32"', b'"BOOL"', b'"I8"', b'"__metadata__"', b'"data_offsets"']
TOKENS = [*NUMBERS, *WORDS, b'"shape"', b"\x00", b"\xff", b",", b'"', b"NaN", b"Infinity", b'{"batch": 3}', b'"x"']
# Numbers that are written over extents and lengths.
EXTENTS = [0, 1, 2, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x3FFF3FFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 20, 1 << 40, (1 << 64) - 1]
_DIGIT = re.compile(rb"\d")


def anywhere(files: Sequence[bytes], dice: random.Random) -> bytes:
    """Change a file in one to four ways: bits, truncations, deletions, copies, tokens, numbers in text, lengths."""
    data = bytearray(dice.choice(files))
    for _ in range(dice.randint(1, 4)):
        at = dice.randint(0, len(data))
        end = min(len(data), at + dice.randint(0, 24))
        kind = dice.randrange(8)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << dice.randrange(8)
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            del data[at:end]
        elif kind == 3:
            to = dice.randint(0, len(data))
            data[to:to] = data[at:end]
        elif kind == 4:
            data[at:end] = dice.choice(TOKENS)
        elif kind == 5:
            number = _DIGIT.search(data, at) or _DIGIT.search(data)
            if number is not None:
                data[number.start() : number.end()] = dice.choice(NUMBERS)
        elif kind == 6 and len(data) >= 8:
            data[:8] = struct.pack("<Q", dice.choice([0, 1, 7, len(data), 2**64 - 1, 1 << 40, 100_000_001]))
        else:
            data += bytes(range(end - at))
    return bytes(data)


def words(files: Sequence[bytes], dice: random.Random) -> bytes:
    """Write one to three numbers in either byte order, mostly near the start, where headers are."""
    data = bytearray(dice.choice(files))
    for _ in range(dice.randint(1, 3)):
        form = dice.choice(["<H", ">H", "<I", ">I", "B", "<Q"])
        size = struct.calcsize(form)
        word = dice.choice(EXTENTS) & (1 << 8 * size) - 1
        at = min(int(len(data) * dice.random() ** dice.choice([1, 3])), len(data) - size)
        # Most formats align their numbers.
        at = at // size * size if dice.random() < 0.5 else at
        if at >= 0:
            struct.pack_into(form, data, at, word)
    return bytes(data)


def spliced(files: Sequence[bytes], dice: random.Random) -> bytes:
    """Join the start of one file and the end of another, or of the same."""
    first, second = dice.choice(files), dice.choice(files)
    at = dice.randint(0, len(first))
    other = dice.randint(0, len(second)) if dice.random() < 0.5 else min(at, len(second))
    return first[:at] + second[other:]


def shuffled(parts: list[bytes], dice: random.Random, bodies: Mutation = anywhere) -> list[bytes]:
    """Delete, repeat or exchange parts of a file, or damage one."""
    parts = list(parts)
    for _ in range(dice.randint(1, 2)):
        at, other = dice.randrange(len(parts)), dice.randrange(len(parts))
        kind = dice.randrange(5)
        if kind == 0 and len(parts) > 1:
            del parts[at]
        elif kind == 1:
            parts.insert(other, parts[at])
        elif kind == 2:
            parts[at], parts[other] = parts[other], parts[at]
        else:
            parts[at] = (words if kind == 3 else bodies)([parts[at]], dice) if parts[at] else b"\x00"
    return parts


def png(files: Sequence[bytes], dice: random.Random) -> bytes:
    """Change the chunks of a PNG; lengths and checksums are correct."""
    data = dice.choice(files)
    parts, at = [], 8
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        parts.append(data[at + 4 : at + 8 + length])
        at += 12 + length
    made = data[:8]
    for part in shuffled(parts, dice):
        # A chunk has at least a name.
        part += bytes(max(4 - len(part), 0))
        made += struct.pack(">I", len(part) - 4) + part + struct.pack(">I", zlib.crc32(part))
    return made


def jpeg(files: Sequence[bytes], dice: random.Random) -> bytes:
    """Change the segments of a JPEG; their lengths are correct."""
    data = dice.choice(files)
    parts, at = [], 2
    while at + 4 <= len(data) and data[at] == 0xFF and data[at + 1] not in (0xD9, 0xDA):
        (length,) = struct.unpack_from(">H", data, at + 2)
        parts.append(data[at + 1 : at + 2] + data[at + 4 : at + 2 + length])
        at += 2 + length
    made = data[:2]
    for part in shuffled(parts, dice):
        made += b"\xff" + part[:1] + struct.pack(">H", (len(part) + 1) & 0xFFFF) + part[1:]
    rest = data[at:]
    return made + (words([rest], dice) if dice.random() < 0.3 else rest)


def riff(files: Sequence[bytes], dice: random.Random) -> bytes:
    """Change the chunks of a WebP; their lengths are correct."""
    data = dice.choice(files)
    parts, at = [], 12
    while at + 8 <= len(data):
        (length,) = struct.unpack_from("<I", data, at + 4)
        parts.append(data[at : at + 4] + data[at + 8 : at + 8 + length])
        at += 8 + length + length % 2
    body = b"WEBP"
    for part in shuffled(parts, dice):
        part += bytes(max(4 - len(part), 0))
        body += part[:4] + struct.pack("<I", len(part) - 4) + part[4:] + bytes(len(part) % 2)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def safetensors(files: Sequence[bytes], dice: random.Random) -> bytes:
    """Change the text of the header; its length is correct."""
    data = dice.choice(files)
    (length,) = struct.unpack_from("<Q", data)
    text = anywhere([data[8 : 8 + length]], dice)
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


def npy(files: Sequence[bytes], dice: random.Random) -> bytes:
    """Change the text of a header; its length is correct."""
    data = dice.choice(files)
    (length,) = struct.unpack_from("<H", data, 8)
    text = anywhere([data[10 : 10 + length]], dice)
    return data[:8] + struct.pack("<H", min(len(text), 0xFFFF)) + text + data[10 + length :]


def archive(files: Sequence[bytes], dice: random.Random) -> bytes:
    """Change an entry of an archive; offsets, lengths and checksums are correct."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(dice.choice(files))) as old, zipfile.ZipFile(made, "w") as new:
        entries = old.infolist()
        victim = dice.randrange(len(entries))
        for number, entry in enumerate(entries):
            content = old.read(entry)
            if number == victim:
                content = dice.choice([npy, anywhere, words])([content], dice)
            new.writestr(entry, content, entry.compress_type)
    return made.getvalue()


def records(files: Sequence[bytes], dice: random.Random) -> bytes:
    """Change the parts of a record file; magic numbers are correct."""
    data = dice.choice(files)
    magic = data[:4]
    return magic + magic.join(shuffled(data.split(magic)[1:], dice))


# The fields of an ONNX file that are messages, by the kind of the message.
_MESSAGES: dict[str, dict[int, str]] = {
    "model": {7: "graph", 8: "opset"},
    "graph": {1: "node", 5: "tensor", 11: "value", 12: "value"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph"},
    "value": {2: "type"},
    "type": {1: "array"},
    "array": {2: "shape"},
    "shape": {1: "extent"},
}
# A field: its number, its wire type, and an integer, bytes, or the fields of a message.
_Field = tuple[int, int, "int | bytes | list[_Field]"]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def _written(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _fields(data: bytes, kind: str) -> list[_Field]:
    found: list[_Field] = []
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            found.append((number, wire, value))
            continue
        size = {1: 8, 5: 4}.get(wire, 0)
        if wire == 2:
            size, at = _varint(data, at)
        below = _MESSAGES.get(kind, {}).get(number) if wire == 2 else None
        part = data[at : at + size]
        found.append((number, wire, part if below is None else _fields(part, below)))
        at += size
    return found


def _serialised(fields: list[_Field]) -> bytes:
    parts = []
    for number, wire, value in fields:
        parts.append(_written(number << 3 | wire))
        if isinstance(value, int):
            parts.append(_written(value))
            continue
        body = _serialised(value) if isinstance(value, list) else value
        if wire == 2:
            parts.append(_written(len(body)))
        parts.append(body)
    return b"".join(parts)


class Onnx:
    """Changes fields of ONNX files at any depth; the lengths of messages are correct."""

    def __init__(self, files: Sequence[bytes]) -> None:
        self._trees = [_fields(file, "model") for file in files]
        assert all(_serialised(tree) == file for tree, file in zip(self._trees, files, strict=True))

    def __call__(self, _: Sequence[bytes], dice: random.Random) -> bytes:
        """Return a changed file."""
        tree = dice.choice(self._trees)
        for _ in range(dice.randint(1, 3)):
            tree = self._changed(tree, dice, "model")
        return _serialised(tree)

    def _changed(self, fields: list[_Field], dice: random.Random, message: str) -> list[_Field]:
        """Return a copy with one change, which shares all other messages."""
        if not fields:
            return [(dice.randint(1, 20), 0, dice.choice(EXTENTS))]
        at = dice.randrange(len(fields))
        number, wire, value = fields[at]
        # Most fields are deep, so the way down is more likely.
        if isinstance(value, list) and dice.random() < 0.85:
            below = _MESSAGES.get(message, {}).get(number, "")
            return [*fields[:at], (number, wire, self._changed(value, dice, below)), *fields[at + 1 :]]
        kind = dice.randrange(8)
        other = fields[dice.randrange(len(fields))]
        new: list[_Field]
        if kind == 0:
            new = []
        elif kind == 1:
            new = [fields[at], other]
        elif kind == 2:
            new = [(dice.randint(1, 20), wire, value)]
        elif kind == 3:
            new = [(number, *other[1:])]
        elif kind == 4 and isinstance(value, list):
            # A node in the graph of a node, or a message within itself.
            for _ in range(dice.choice([1, 3, 20, 100])):
                if (message, number) == ("graph", 1):
                    graph: list[_Field] = [(1, 2, value)]
                    branch: list[_Field] = [(1, 2, b"then_branch"), (6, 2, graph), (20, 0, 5)]
                    value = [(4, 2, b"If"), (5, 2, branch)]
                else:
                    value = [(number, wire, value)]
            new = [(number, wire, value)]
        elif isinstance(value, int):
            new = [(number, wire, dice.choice([*EXTENTS, value + 1, max(value - 1, 0), dice.randrange(20)]))]
        elif isinstance(value, bytes) and value and wire == 2:
            new = [(number, wire, anywhere([value], dice) if kind < 6 else words([value], dice))]
        else:
            new = [fields[at], fields[at]]
        return [*fields[:at], *new, *fields[at + 1 :]]
