"""Record files: the format byte for byte, both readers, processes and threads that share one, and errors."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import pickle
import random
import struct
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import np, recordio

MAGIC = struct.pack("<I", 0xCED7230A)


def part(kind: int, data: bytes) -> bytes:
    return MAGIC + struct.pack("<I", kind << 29 | len(data)) + data + bytes(-len(data) % 4)


def written(path: pathlib.Path, records: list[bytes]) -> bytes:
    record = recordio.MXRecordIO(path, "w")
    for each in records:
        record.write(each)
    record.close()
    return path.read_bytes()


def read(path: pathlib.Path) -> list[bytes]:
    record = recordio.MXRecordIO(path, "r")
    found = []
    while (each := record.read()) is not None:
        found.append(each)
    record.close()
    return found


def test_the_format(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.rec"
    records = [b"", b"a", b"abcd", b"abcde"]
    assert written(path, records) == b"".join(part(0, each) for each in records)
    assert read(path) == records
    # A magic number at a multiple of four begins a new part; elsewhere it is data.
    assert written(path, [MAGIC]) == part(1, b"") + part(3, b"")
    assert written(path, [b"abcd" + MAGIC + MAGIC + b"ef"]) == part(1, b"abcd") + part(2, b"") + part(3, b"ef")
    assert written(path, [b"ab" + MAGIC]) == part(0, b"ab" + MAGIC)
    assert written(path, [b"a" * 3 + MAGIC * 2]) == part(0, b"a" * 3 + MAGIC * 2)


def test_what_is_written_is_read(tmp_path: pathlib.Path) -> None:
    dice = random.Random(3)
    pieces = [MAGIC, b"abcd", b"x", b"", bytes(7)]
    records = [b"".join(dice.choices(pieces, k=dice.randrange(6))) for _ in range(500)]
    path = tmp_path / "x.rec"
    written(path, records)
    assert read(path) == records


def test_reset_and_flags(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.rec"
    written(path, [b"one", b"two"])
    record = recordio.MXRecordIO(str(path), "r")
    assert (record.read(), record.is_open, record.writable, record.uri) == (b"one", True, False, str(path))
    record.reset()
    assert [record.read(), record.read(), record.read(), record.read()] == [b"one", b"two", None, None]
    with pytest.raises(ValueError, match=r"write: .* was opened with flag 'r'"):
        record.write(b"")
    record.close()
    record.close()
    with pytest.raises(ValueError, match=r"read: .* is closed"):
        record.read()
    writer = recordio.MXRecordIO(path, "w")
    with pytest.raises(ValueError, match=r"read: .* was opened with flag 'w'"):
        writer.read()
    with pytest.raises(TypeError):
        writer.write("text")  # type: ignore[arg-type]
    writer.write(memoryview(b"view"))
    writer.write(bytearray(b"array"))
    writer.close()
    assert read(path) == [b"view", b"array"]
    with pytest.raises(ValueError, match="flag must be 'r' or 'w', not 'a'"):
        recordio.MXRecordIO(path, "a")
    with pytest.raises(FileNotFoundError):
        recordio.MXRecordIO(tmp_path / "missing", "r")


def indexed(folder: pathlib.Path, count: int = 20) -> recordio.MXIndexedRecordIO:
    paths = folder / "x.idx", folder / "x.rec"
    writer = recordio.MXIndexedRecordIO(*paths, "w")
    for number in range(count):
        assert writer.tell() == paths[1].stat().st_size
        writer.write_idx(number, b"%d" % number * (number + 1))
    writer.close()
    return recordio.MXIndexedRecordIO(*paths, "r")


def test_an_index(tmp_path: pathlib.Path) -> None:
    record = indexed(tmp_path)
    assert record.keys == list(range(20))
    assert (tmp_path / "x.idx").read_text().splitlines()[:3] == ["0\t0", "1\t12", "2\t24"]
    for number in random.Random(1).sample(range(20), 20):
        assert record.read_idx(number) == b"%d" % number * (number + 1)
    record.seek(7)
    assert record.read() == b"7" * 8 and record.read() == b"8" * 9
    with pytest.raises(KeyError, match="no key 20"):
        record.read_idx(20)
    record.close()
    named = recordio.MXIndexedRecordIO(tmp_path / "n.idx", tmp_path / "n.rec", "w", key_type=str)
    named.write_idx("cat", b"meow")
    named.close()
    assert recordio.MXIndexedRecordIO(tmp_path / "n.idx", tmp_path / "n.rec", "r", str).read_idx("cat") == b"meow"


def _child(record: recordio.MXIndexedRecordIO, numbers: list[int], queue: Any) -> None:
    queue.put([record.read_idx(number) for number in numbers])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_share_a_reader(tmp_path: pathlib.Path, method: str) -> None:
    record = indexed(tmp_path)
    record.seek(3)
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    children = [context.Process(target=_child, args=(record, [5, 1, 9], queue)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert queue.get() == [b"5" * 6, b"1" * 2, b"9" * 10]
    # The position of the parent has not moved.
    assert record.read() == b"3" * 4


def test_processes_do_not_share_a_writer(tmp_path: pathlib.Path) -> None:
    writer = recordio.MXRecordIO(tmp_path / "x.rec", "w")
    writer.write(b"one")
    with pytest.raises(RuntimeError, match="another process cannot write"):
        pickle.dumps(writer)
    child = os.fork()
    if child == 0:
        try:
            writer.write(b"two")
        except RuntimeError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    writer.close()
    assert read(tmp_path / "x.rec") == [b"one"]


def test_threads_share_a_reader(tmp_path: pathlib.Path) -> None:
    record = indexed(tmp_path)
    wrong = []

    def check(seed: int) -> None:
        for number in random.Random(seed).choices(range(20), k=300):
            if record.read_idx(number) != b"%d" % number * (number + 1):
                wrong.append(number)

    threads = [threading.Thread(target=check, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


CORRUPTED: list[tuple[bytes, str]] = [
    (b"abcd" + part(0, b"x")[4:], "the magic number is missing"),
    (MAGIC[:3], "the magic number needs 4 bytes, 3 are left"),
    (part(0, b"abcdefgh")[:6], "the length needs 4 bytes, 2 are left"),
    (part(0, b"abcdefgh")[:-1], "the record needs 8 bytes, 7 are left"),
    (MAGIC + struct.pack("<I", (1 << 29) - 1) + b"abcd", "the record needs 536870911 bytes, 4 are left"),
    (part(2, b"abcd"), "a part with flag 2 begins the record"),
    (part(3, b"abcd"), "a part with flag 3 begins the record"),
    (part(5, b"abcd"), "a part with flag 5 begins the record"),
    (part(1, b"abcd") + part(0, b""), "a part with flag 0 follows the record"),
    (part(1, b"abcd"), "the magic number needs 4 bytes, 0 are left"),
]


@pytest.mark.parametrize(("data", "text"), CORRUPTED)
def test_corrupted_files_are_named(tmp_path: pathlib.Path, data: bytes, text: str) -> None:
    path = tmp_path / "x.rec"
    path.write_bytes(part(0, b"good") + data)
    record = recordio.MXRecordIO(path, "r")
    assert record.read() == b"good"
    with pytest.raises(ValueError, match=rf"(?s)read: {path}: the record at byte 12: {text}.*test_recordio.py"):
        record.read()


def test_a_corrupted_index_is_named(tmp_path: pathlib.Path) -> None:
    indexed(tmp_path).close()
    index = tmp_path / "x.idx"
    for data in (b"1 2\n", b"1\tx\n", b"a\t1\n", b"\xff\xfe\n"):
        index.write_bytes(data)
        with pytest.raises(ValueError, match=rf"open: {index}: an index has"):
            recordio.MXIndexedRecordIO(index, tmp_path / "x.rec", "r")
    index.write_text("1\t9999999\n2\t-4\n")
    record = recordio.MXIndexedRecordIO(index, tmp_path / "x.rec", "r")
    for key in (1, 2):
        with pytest.raises(ValueError, match=r"byte .* of .* in"):
            record.read_idx(key)


def test_headers() -> None:
    header = recordio.IRHeader(0, 4, 2574, 1)
    packed = recordio.pack(header, b"abc")
    assert packed == struct.pack("<IfQQ", 0, 4.0, 2574, 1) + b"abc"
    assert recordio.unpack(packed) == (recordio.IRHeader(0, 4.0, 2574, 1), b"abc")
    for labels in ([1, 2, 3], numpy.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])):
        packed = recordio.pack((9, labels, 7, 0), b"abc")
        assert packed == struct.pack("<IfQQ3f", 3, 0.0, 7, 0, 1, 2, 3) + b"abc"
        found, rest = recordio.unpack(packed)
        assert (found.flag, found.label.tolist(), found.id, rest) == (3, [1, 2, 3], 7, b"abc")


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: recordio.unpack(b"abc"), "a record of 3 bytes has no header of 24 bytes"),
    (lambda: recordio.unpack(struct.pack("<IfQQ", 2**32 - 1, 0, 0, 0)), "4294967295 labels need 17179869180 bytes"),
    (lambda: recordio.unpack_img(struct.pack("<IfQQ", 0, 0, 0, 0) + b"abc"), "neither JPEG nor PNG nor WebP"),
    (lambda: recordio.pack_img((0, 1, 2, 3), np.zeros((2, 2, 3))), "pack_img: needs uint8 pixels"),
    (lambda: recordio.pack_img((0, 1, 2, 3), numpy.zeros((2, 2), "uint8"), img_fmt=".bmp"), "must be one of"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call()


def test_images_keep_opencv_order_of_channels() -> None:
    x = numpy.random.default_rng(0).integers(0, 256, (6, 5, 3)).astype("uint8")
    for given in (x, np.array(x)):
        packed = recordio.pack_img(recordio.IRHeader(0, 3.0, 1, 0), given, 9, ".png")
        header, made = recordio.unpack_img(packed)
        assert header.label == 3.0 and isinstance(made, numpy.ndarray)
        numpy.testing.assert_array_equal(made, x)
        made[0] = 0
    from forerun import image

    numpy.testing.assert_array_equal(image.imdecode(recordio.unpack(packed)[1]).asnumpy(), x[:, :, ::-1])
    gray = recordio.pack_img(recordio.IRHeader(0, 3.0, 1, 0), x[:, :, 0], 95, ".png")
    assert recordio.unpack_img(gray)[1].shape == (6, 5)
    assert recordio.unpack_img(packed, iscolor=0)[1].shape == (6, 5)
    assert recordio.unpack_img(gray, iscolor=1)[1].shape == (6, 5, 3)
    jpeg = recordio.pack_img(recordio.IRHeader(0, 3.0, 1, 0), numpy.full((8, 8, 3), (10, 100, 200), "uint8"))
    assert numpy.abs(recordio.unpack_img(jpeg)[1].astype(int) - (10, 100, 200)).max() <= 3
