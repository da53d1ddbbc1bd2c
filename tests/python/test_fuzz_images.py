"""Chosen kinds of corrupted images; ``test_fuzz_files.py`` mutates images at random."""

from __future__ import annotations

import base64
import json
import pathlib
import resource
import struct
from collections.abc import Callable
from typing import Any

import pytest

from forerun import np
from forerun.image import imdecode, imencode

PICTURES: dict[str, Any] = json.loads(pathlib.Path(__file__).with_name("pictures.json").read_text(encoding="utf-8"))


def with_checksums(file: bytes) -> bytes:
    """Correct the checksums of a PNG, so that its other checks are reached."""
    import zlib

    made, rest = file[:8], file[8:]
    while len(rest) >= 12:
        (length,) = struct.unpack(">I", rest[:4])
        if length > len(rest) - 12:
            return made + rest
        named = rest[4 : 8 + length]
        made += rest[:4] + named + struct.pack(">I", zlib.crc32(named))
        rest = rest[12 + length :]
    return made + rest


def test_a_header_cannot_ask_for_much_memory() -> None:
    """Files of a few hundred bytes that announce the largest extents raise before anything is allocated."""
    jpeg = bytearray(base64.b64decode(PICTURES["baseline.jpg"]["file"]))
    at = jpeg.index(b"\xff\xc0")
    jpeg[at + 5 : at + 9] = b"\xff\xff\xff\xff"
    progressive = bytearray(base64.b64decode(PICTURES["progressive.jpg"]["file"]))
    at = progressive.index(b"\xff\xc2")
    progressive[at + 5 : at + 9] = b"\xff\xff\xff\xff"
    png = bytearray(base64.b64decode(PICTURES["rgb.png"]["file"]))
    png[16:24] = struct.pack(">II", 1 << 30, 1 << 30)
    lossless = bytearray(base64.b64decode(PICTURES["lossless.webp"]["file"]))
    lossless[21:25] = struct.pack("<I", 0x3FFE | 0x3FFE << 14)
    lossy = bytearray(base64.b64decode(PICTURES["lossy.webp"]["file"]))
    at = lossy.index(b"\x9d\x01\x2a")
    lossy[at + 3 : at + 7] = struct.pack("<HH", 0x3FFF, 0x3FFF)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for data in (jpeg, progressive, with_checksums(bytes(png)), lossless, lossy):
        with pytest.raises(ValueError, match=r"the header announces .* pixels in .* bytes"):
            imdecode(bytes(data))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20 << 10


def test_images_of_one_colour_are_within_the_limits() -> None:
    for size in ((1, 1), (1500, 2000)):
        for suffix in (".png", ".jpg"):
            x = np.full((*size, 3), 200, dtype="uint8")
            assert imdecode(imencode(suffix, x)).shape == x.shape


def read_whole(call: Callable[[], Any]) -> bool:
    try:
        call()
    except ValueError:
        return False
    return True


def test_every_prefix_of_a_picture_is_refused() -> None:
    """A truncated file raises, even if only its last rows are missing."""
    for name in ("baseline.jpg", "progressive.jpg", "gray.jpg", "rgb.png", "interlaced.png", "lossless.webp"):
        file = base64.b64decode(PICTURES[name]["file"])
        # A PNG ends with 12 bytes that say nothing, a WebP with bits that fill up a byte.
        end = len(file) - (12 if name.endswith("png") else 2)
        readable = [length for length in range(end) if read_whole(lambda: imdecode(file[:length]))]  # noqa: B023
        assert not readable, (name, readable[:5], len(file))
