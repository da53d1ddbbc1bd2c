"""Corrupted files: for any bytes, reading succeeds or raises a ValueError that names the file."""

from __future__ import annotations

import pathlib
import random
import struct
import tracemalloc
from collections.abc import Callable

import pytest

from forerun import autograd, gluon, init, np, npx

NUMBERS = [b"0", b"-1", b"1e9", b"18446744073709551615", b"9223372036854775807", b"4294967296", b"1" * 70]
WORDS = [b"null", b"true", b"[]", b"{}", b"[" * 40, b'"F32"', b'"BOOL"', b'"I8"', b'"__metadata__"', b'"data_offsets"']
TOKENS = [*NUMBERS, *WORDS, b'"shape"', b"\x00", b"\xff", b",", b'"', b"NaN", b"Infinity"]
# Memory that reading may use in addition to the size of the file.
SLACK = 256 << 10


def mutate(file: bytes, dice: random.Random) -> bytes:
    """Change a file in one to four ways."""
    data = bytearray(file)
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
            digits = [place for place, byte in enumerate(data) if 48 <= byte <= 57]
            if digits:
                place = dice.choice(digits)
                data[place : place + 1] = dice.choice(NUMBERS)
        elif kind == 6 and len(data) >= 8:
            data[:8] = struct.pack("<Q", dice.choice([0, 1, 7, len(data), 2**64 - 1, 1 << 40, 100_000_001]))
        else:
            data += bytes(range(end - at))
    return bytes(data)


def network() -> gluon.nn.Sequential:
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(3, in_units=2), gluon.nn.Dense(2, in_units=3))
    net.initialize(init.Normal(1))
    return net


def trainer(net: gluon.nn.Sequential) -> gluon.Trainer:
    made = gluon.Trainer(net.collect_params(), "adam")
    with autograd.record():
        loss = net(np.ones((1, 2))).sum()
    loss.backward()
    made.step(1)
    return made


def arrays(path: pathlib.Path) -> Callable[[], object]:
    mask = np.array([True, False])
    npx.save(str(path), {"x": np.ones((3, 2)), "empty": np.zeros((0, 4)), "mask": mask, "n": np.arange(5)})
    return lambda: npx.load(str(path))


def listed(path: pathlib.Path) -> Callable[[], object]:
    npx.save(str(path), [np.ones((3,)), np.zeros((2, 2))])
    return lambda: npx.load(str(path))


def parameters(path: pathlib.Path) -> Callable[[], object]:
    net = network()
    net.save_parameters(str(path))
    return lambda: net.load_parameters(str(path))


def states(path: pathlib.Path) -> Callable[[], object]:
    made = trainer(network())
    made.save_states(str(path))
    return lambda: made.load_states(str(path))


def npy(path: pathlib.Path) -> Callable[[], object]:
    with open(path, "wb") as file:
        np.save(file, np.arange(12).reshape(3, 4).T)
    return lambda: np.load(path)


def archived(save: Callable[..., None]) -> Callable[[pathlib.Path], Callable[[], object]]:
    def reader(path: pathlib.Path) -> Callable[[], object]:
        with open(path, "wb") as file:
            save(file, np.ones((3, 2)), empty=np.zeros((0, 4)), mask=np.array([True, False]))

        def load() -> object:
            with np.load(path) as found:
                return dict(found)

        return load

    reader.__name__ = save.__name__
    return reader


def params(path: pathlib.Path) -> Callable[[], object]:
    """Return an MXNet file: a float32 matrix and an int32 vector, with names."""
    data = struct.pack("<QQQ", 0x112, 0, 2)
    data += struct.pack("<Iiiqqiii6f", 0xF993FAC9, 0, 2, 2, 3, 1, 0, 0, *range(6))
    data += struct.pack("<Iiiqiii3i", 0xF993FACA, 0, 1, 3, 1, 0, 4, *range(3))
    data += struct.pack("<QQ4sQ4s", 2, 4, b"0.w_", 4, b"0.b_")
    path.write_bytes(data)
    return lambda: npx.load(path)


READERS = [arrays, listed, parameters, states, npy, archived(np.savez), archived(np.savez_compressed), params]


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_whatever_the_bytes(
    reader: Callable[[pathlib.Path], Callable[[], object]], tmp_path: pathlib.Path, long: bool
) -> None:
    path = tmp_path / "file"
    load = reader(path)
    valid = path.read_bytes()
    # Imports at the first file are not counted.
    load()
    dice = random.Random(11)
    loaded = refused = 0
    rounds = 250_000 if long else 2_500
    for number in range(rounds):
        data = mutate(valid, dice)
        path.write_bytes(data)
        watched = number % 25 == 0
        if watched:
            tracemalloc.start()
        try:
            load()
            loaded += 1
        except ValueError as error:
            refused += 1
            assert str(path) in str(error), (number, error)
        if watched:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak <= 16 * len(data) + SLACK, (number, peak)
    assert loaded > rounds / 200 and refused > rounds / 2, (loaded, refused)
    path.write_bytes(valid)
    load()
