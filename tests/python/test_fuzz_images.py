"""Corrupted images and record files: decoding succeeds or raises a ValueError, and allocates no more than it should."""

from __future__ import annotations

import base64
import json
import pathlib
import random
import resource
import struct
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from test_fuzz_files import mutate

from forerun import np, recordio
from forerun.image import imdecode, imencode

PICTURES: dict[str, Any] = json.loads(pathlib.Path(__file__).with_name("pictures.json").read_text(encoding="utf-8"))
# Numbers that a mutation writes over extents and lengths.
WORDS = [0, 1, 2, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x3FFF3FFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 20]


def changed(file: bytes, dice: random.Random) -> bytes:
    """Change a file as text readers are tested, or write a number in either byte order."""
    if dice.random() < 0.5:
        return mutate(file, dice)
    data = bytearray(file)
    form = dice.choice(["<H", ">H", "<I", ">I", "B"])
    word = dice.choice(WORDS) & (1 << 8 * struct.calcsize(form)) - 1
    # Headers are at the start.
    at = min(int(len(data) * dice.random() ** 3), len(data) - struct.calcsize(form))
    struct.pack_into(form, data, at, word)
    return bytes(data)


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


@pytest.mark.parametrize("kind", ["jpg", "png", "webp"])
def test_whatever_the_bytes(kind: str, long: bool) -> None:
    files = [base64.b64decode(entry["file"]) for name, entry in PICTURES.items() if name.endswith(kind)]
    dice = random.Random(13)
    decoded = refused = 0
    rounds = 120_000 if long else 600
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(rounds):
        data = changed(dice.choice(files), dice)
        if kind == "png" and dice.random() < 0.8:
            data = with_checksums(data)
        try:
            made = imdecode(data, dice.choice([1, 0, -1]))
            decoded += 1
            assert made.ndim == 3
        except ValueError as error:
            refused += 1
            assert "imdecode: " in str(error) and "panicked" not in str(error), (number, error)
    assert decoded > rounds / 100 and refused > rounds / 10, (decoded, refused)
    # The limits of small files: WebP's least number of pixels, with seven bytes for each, and their copy.
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    assert grown <= 150 << 20, grown


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


def test_record_files(tmp_path: pathlib.Path, long: bool) -> None:
    path, index = tmp_path / "x.rec", tmp_path / "x.idx"
    writer = recordio.MXIndexedRecordIO(index, path, "w")
    magic = struct.pack("<I", 0xCED7230A)
    for number, text in enumerate((b"abcdefg", magic * 2 + b"xy", b"", bytes(40))):
        label = [1.0, 2.0] if number % 2 else 3.0
        writer.write_idx(number, recordio.pack(recordio.IRHeader(0, label, number, 0), text))
    writer.close()
    valid, places = path.read_bytes(), index.read_bytes()
    dice = random.Random(17)
    found = refused = 0
    rounds = 120_000 if long else 600
    for number in range(rounds):
        change_index = dice.random() < 0.3
        path.write_bytes(valid if change_index else changed(valid, dice))
        index.write_bytes(mutate(places, dice) if change_index else places)
        watched = number % 25 == 0
        if watched:
            tracemalloc.start()
        try:
            record = recordio.MXIndexedRecordIO(index, path, "r")
            for key in record.keys:
                recordio.unpack(record.read_idx(key))
            record.reset()
            while (each := record.read()) is not None:
                recordio.unpack(each)
            found += 1
        except ValueError as error:
            refused += 1
            assert str(path) in str(error) or str(index) in str(error) or "unpack: " in str(error), (number, error)
        if watched:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak <= 16 * len(valid) + (256 << 10), (number, peak)
    assert found > rounds / 200 and refused > rounds / 3, (found, refused)


def test_the_label_of_a_record(long: bool) -> None:
    packed = recordio.pack_img(recordio.IRHeader(0, [1, 2, 3], 7, 0), numpy.zeros((4, 4, 3), "uint8"), 5, ".png")
    dice = random.Random(19)
    for _ in range(20_000 if long else 300):
        try:
            recordio.unpack_img(changed(packed, dice))
        except ValueError as error:
            assert "unpack: " in str(error) or "imdecode: " in str(error)


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
