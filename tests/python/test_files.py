"""NumPy's and MXNet's files: reading, writing, and errors that name the file."""

from __future__ import annotations

import gzip
import io
import pathlib
import struct
import zipfile
from typing import Any

import numpy
import pytest

import forerun
from forerun import gluon, np, npx

DTYPES = [*np.__array_namespace_info__().dtypes(), "float16"]


def samples(dtype: str) -> list[numpy.ndarray]:
    whole = numpy.arange(24).reshape(2, 3, 4).astype(dtype)
    return [whole, whole.T, whole[:, ::-2, 1:], whole[1, 2, 3, ...], whole[:0], numpy.asfortranarray(whole)]


def same(ours: Any, expected: numpy.ndarray) -> None:
    assert isinstance(ours, np.ndarray)
    assert ours.dtype == expected.dtype.newbyteorder("=") and ours.shape == expected.shape
    numpy.testing.assert_array_equal(ours.asnumpy(), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_npy_files_both_ways(dtype: str, tmp_path: pathlib.Path) -> None:
    for number, sample in enumerate(samples(dtype)):
        path = tmp_path / f"{number}.npy"
        np.save(path, np.array(sample))
        numpy.testing.assert_array_equal(numpy.load(path), sample)
        same(np.load(path), sample)
        same(npx.load(path)[0], sample)  # type: ignore[index]
        for version in [(1, 0), (2, 0), (3, 0)]:
            for order in ("<", ">"):
                file = io.BytesIO()
                numpy.lib.format.write_array(file, sample.astype(sample.dtype.newbyteorder(order)), version)
                file.seek(0)
                same(np.load(file), sample)


def test_paths_and_files(tmp_path: pathlib.Path) -> None:
    np.save(str(tmp_path / "x"), np.arange(3))
    assert np.load(str(tmp_path / "x.npy")).tolist() == [0, 1, 2]
    np.save(tmp_path / "number.npy", 2.5)
    same(np.load(tmp_path / "number.npy"), numpy.array(2.5, "float32"))
    file = io.BytesIO()
    np.save(file, np.arange(3))
    np.save(file, np.ones((2,)))
    file.seek(0)
    assert np.load(file).tolist() == [0, 1, 2] and np.load(file).tolist() == [1.0, 1.0]
    with gzip.open(tmp_path / "x.npy.gz", "wb") as packed:
        np.save(packed, np.arange(5))
    with gzip.open(tmp_path / "x.npy.gz", "rb") as packed:
        assert np.load(packed).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(FileNotFoundError):
        np.load(tmp_path / "absent.npy")
    with forerun.no_sync("error"), open(tmp_path / "x.npy", "rb") as opened:
        np.load(opened)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed, numpy.savez, numpy.savez_compressed])
def test_archives_both_ways(save: Any, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "arrays.npz"
    arrays = {f"{dtype}/{number}": a for dtype in DTYPES for number, a in enumerate(samples(dtype))}
    save(
        path, numpy.arange(3), **{name: np.array(a) if save.__module__ != "numpy" else a for name, a in arrays.items()}
    )
    with numpy.load(path) as theirs:
        assert set(theirs.files) == {"arr_0", *arrays}
        for name, expected in arrays.items():
            numpy.testing.assert_array_equal(theirs[name], expected)
    with np.load(path) as ours:
        assert set(ours) == {"arr_0", *arrays} and len(ours) == len(arrays) + 1 and "arr_0" in ours
        for name, expected in arrays.items():
            same(ours[name], expected)
        same(ours["arr_0.npy"], numpy.arange(3))
        with pytest.raises(KeyError, match="absent"):
            ours["absent"]
    with pytest.raises(ValueError):
        ours["arr_0"]
    assert set(npx.load(path)) == {"arr_0", *arrays}


def test_what_numpys_files_cannot_hold(tmp_path: pathlib.Path) -> None:
    for save in (np.save, np.savez, np.savez_compressed):
        with pytest.raises(TypeError, match="cannot hold bfloat16"):
            save(tmp_path / "x", np.ones((2,), dtype="bfloat16"))


def test_an_empty_archive(tmp_path: pathlib.Path) -> None:
    np.savez(tmp_path / "none.npz")
    assert dict(np.load(tmp_path / "none.npz")) == {} == npx.load(tmp_path / "none.npz")


def npy(header: str | bytes, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    text = header if isinstance(header, bytes) else header.encode()
    return b"\x93NUMPY" + version + struct.pack("<H" if version[0] == 1 else "<I", len(text)) + text + data


def described(descr: object = "<f4", fortran_order: object = False, shape: object = (2,)) -> str:
    return repr({"descr": descr, "fortran_order": fortran_order, "shape": shape})


REFUSED = {
    "no npy": (b"something else that is long", "is not a .npy file"),
    "too short": (b"\x93NU", "the magic word needs 8 bytes, 3 are left"),
    "version": (npy(described(), version=b"\x04\x00"), r"version 4\.0"),
    "long header": (npy(b"{" + b" " * 20_000, version=b"\x02\x00"), "20001 bytes, the limit is 10000"),
    "cut header": (npy(described())[:-20], "the header needs"),
    "no literal": (npy("__import__('os')"), "not a Python literal"),
    "nested": (npy("(" * 5000), "not a Python literal"),
    "binary": (npy(b"\xff\xfe\x00"), "not a Python literal"),
    "keys": (npy("{'descr': '<f4'}"), "must have descr"),
    "list": (npy("[1, 2]"), "must have descr"),
    "objects": (npy(described("|O")), "holds Python objects, which are never unpickled"),
    "records": (npy(described([("a", "<f4")])), r"dtype \[\('a', '<f4'\)\] is not supported"),
    "text": (npy(described("<U5")), "dtype '<U5' is not supported"),
    "time": (npy(described("<M8[s]")), "is not supported"),
    "long float": (npy(described("<f16")), "dtype float128 is not supported"),
    "odd int": (npy(described("<i3")), "dtype int24 is not supported"),
    "wide bool": (npy(described("|b2")), "'|b2' is not supported"),
    "order": (npy(described(fortran_order=1)), "fortran_order 1"),
    "negative": (npy(described(shape=(-1,))), r"shape \(-1,\) is invalid"),
    "shape list": (npy(described(shape=[2])), r"shape \[2\] is invalid"),
    "shape bool": (npy(described(shape=(True,))), r"shape \(True,\) is invalid"),
    "many dimensions": (npy(described(shape=(1,) * 33)), "33 dimensions, the limit is 32"),
    "too large": (npy(described(shape=(2**40, 2**40))), r"no array of float32 can have the shape"),
    "empty and too large": (npy(described(shape=(0, 2**62, 2**62))), r"no array of float32 can have the shape"),
    "missing bytes": (npy(described(), b"1234567"), "the array needs 8 bytes, 7 are left"),
    "huge": (npy(described(shape=(2**40,)), b"1234"), "needs 4398046511104 bytes, 4 are left"),
    "bool": (npy(described("|b1"), b"\x00\x02"), "a bool is neither 0 nor 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_npy_files_that_are_refused(name: str, tmp_path: pathlib.Path) -> None:
    data, text = REFUSED[name]
    path = tmp_path / "file.npy"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=text) as raised:
        np.load(path)
    assert str(path) in str(raised.value) and "test_files.py" in str(raised.value)
    if name not in ("too short", "no npy"):
        with pytest.raises(ValueError, match=text):
            npx.load(path)


def test_objects_are_never_unpickled(tmp_path: pathlib.Path) -> None:
    numpy.save(tmp_path / "o.npy", numpy.array([{}], dtype=object))
    numpy.savez(tmp_path / "o.npz", o=numpy.array([{}], dtype=object))
    with pytest.raises(ValueError, match="never unpickled"):
        np.load(tmp_path / "o.npy")
    with pytest.raises(ValueError, match="never unpickled"):
        np.load(tmp_path / "o.npz")["o"]


def archive(path: pathlib.Path, entries: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", method) as made:
        for name, data in entries:
            made.writestr(name, data)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_archives_that_are_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.npz"
    good = npy(described(), bytes(8))

    def refused(text: str, key: str = "x") -> None:
        with pytest.raises(ValueError, match=text) as raised:
            np.load(path)[key]
        assert str(path) in str(raised.value)

    archive(path, [("x.npy", good), ("x.npy", good)])
    refused("two entries have the name 'x'")
    archive(path, [("x.npy", good)], zipfile.ZIP_BZIP2)
    refused("neither stored nor deflated")
    archive(path, [("x.npy", good + b"more")])
    refused("12 bytes for float32")
    archive(path, [("x.npy", b"no array")])
    refused("is not a .npy file")
    # An entry that claims more than its bytes can hold: the size in the directory is changed.
    archive(path, [("x.npy", good)], zipfile.ZIP_DEFLATED)
    data = path.read_bytes()
    at = data.rindex(b"PK\x01\x02") + 24
    path.write_bytes(data[:at] + struct.pack("<I", 2**31) + data[at + 4 :])
    refused("cannot be 2147483648 bytes")
    # A flipped byte of an array.
    archive(path, [("x.npy", good)])
    flipped = bytearray(path.read_bytes())
    flipped[flipped.index(bytes(8)) + 3] ^= 1
    path.write_bytes(flipped)
    refused("CRC")
    # Names with paths are only names: nothing is written anywhere.
    archive(path, [("../../up.npy", good), ("/root.npy", good)])
    assert set(np.load(path)) == {"../../up", "/root"}
    same(np.load(path)["../../up"], numpy.zeros(2, "float32"))
    assert list(tmp_path.parent.glob("up*")) == []


def test_a_bomb_is_refused_before_it_bursts(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "bomb.npz"
    archive(path, [("x.npy", npy(described(shape=(2**40,))) + bytes(10_000_000))], zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 20_000
    with pytest.raises(ValueError, match="bytes for float32 of shape"):
        np.load(path)["x"]


# MXNet.

FLAGS = {
    "float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4, "int8": 5, "int64": 6, "bool": 7, "int16": 8,
    "uint16": 9, "uint32": 10, "uint64": 11,
}  # fmt: skip
V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA


def params(arrays: list[bytes], names: list[str]) -> bytes:
    data = struct.pack("<QQQ", 0x112, 0, len(arrays)) + b"".join(arrays) + struct.pack("<Q", len(names))
    return data + b"".join(struct.pack("<Q", len(name.encode())) + name.encode() for name in names)


def entry(array: numpy.ndarray, version: int = V2, storage: int = 0, flag: int | None = None) -> bytes:
    head = struct.pack("<I", version) if version else b""
    if version in (V2, V3):
        head += struct.pack("<i", storage)
    head += struct.pack("<i", array.ndim) + struct.pack(f"<{array.ndim}{'q' if version else 'I'}", *array.shape)
    kind = FLAGS[array.dtype.name] if flag is None else flag
    return head + struct.pack("<iii", 2, 0, kind) + array.tobytes()


@pytest.mark.parametrize("version", [0, V1, V2, V3])
@pytest.mark.parametrize("dtype", [name for name in DTYPES if name in FLAGS])
def test_params_files(version: int, dtype: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "net.params"
    arrays = [numpy.ascontiguousarray(a) for a in samples(dtype) if a.ndim]
    if version == V3:
        arrays.append(numpy.array(1, dtype))
    path.write_bytes(params([entry(a, version) for a in arrays], []))
    listed = npx.load(path)
    assert isinstance(listed, list)
    for made, expected in zip(listed, arrays, strict=True):
        same(made, expected)
    names = [f"arg:{number}.weight" for number in range(len(arrays))]
    path.write_bytes(params([entry(a, version) for a in arrays], names))
    by_name = npx.load(path)
    assert isinstance(by_name, dict) and list(by_name) == names
    for name, expected in zip(names, arrays, strict=True):
        same(by_name[name], expected)


def test_a_params_file_of_half_singles(tmp_path: pathlib.Path) -> None:
    singles = numpy.array([1.5, -2.0, 0.25], "float32")
    halves = (singles.view("uint32") >> 16).astype("uint16")
    (tmp_path / "halves").write_bytes(params([entry(halves, flag=12)], []))
    (made,) = npx.load(tmp_path / "halves")
    assert isinstance(made, np.ndarray) and made.dtype == "bfloat16"
    assert made.astype("float32").tolist() == singles.tolist()


def test_a_block_reads_a_params_file(tmp_path: pathlib.Path) -> None:
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize()
    path = tmp_path / "net.params"
    weight, bias = numpy.arange(6, dtype="float32").reshape(2, 3), numpy.array([5, 7], "float32")
    for names in [["weight", "bias"], ["arg:weight", "aux:bias"]]:
        path.write_bytes(params([entry(weight), entry(bias, V3)], names))
        net.load_parameters(path)
        same(net.weight.data(), weight)
        same(net.bias.data(), bias)
    path.write_bytes(params([entry(weight), entry(bias)], []))
    with pytest.raises(ValueError, match="the arrays have no names"):
        net.load_parameters(path)


def test_a_params_file_without_arrays(tmp_path: pathlib.Path) -> None:
    (tmp_path / "none").write_bytes(params([], []))
    assert npx.load(tmp_path / "none") == []


ONE = numpy.ones(2, "float32")
BAD_PARAMS = {
    "sparse": (params([entry(ONE, V2, storage=1)], []), r"array 0 is sparse \(storage 1\)"),
    "unknown dtype": (params([entry(ONE, flag=77)], []), "dtype number 77"),
    "negative dtype": (params([entry(ONE, flag=-1)], []), "dtype number -1"),
    "no shape": (params([entry(numpy.array(1, "float32"), V2)], []), "before it had elements"),
    "unknown rank": (params([struct.pack("<Iii", V3, 0, -1)], []), "before it had elements"),
    "too few bytes": (params([entry(ONE)], [])[:-12], "array 0 needs 8 bytes, 4 are left"),
    "too many arrays": (struct.pack("<QQQ", 0x112, 0, 2**60), "the number of arrays needs"),
    "too many names": (params([entry(ONE)], [])[:-8] + struct.pack("<Q", 2**60), "the number of names needs"),
    "too long a name": (params([entry(ONE)], [])[:-8] + struct.pack("<QQ", 1, 2**60), "the name of array 0 needs"),
    "no text": (params([entry(ONE)], [])[:-8] + struct.pack("<QQB", 1, 1, 255), "is not valid text"),
    "names and arrays": (params([entry(ONE), entry(ONE)], ["x"]), "1 names for 2 arrays"),
    "one name": (params([entry(ONE), entry(ONE)], ["x", "x"]), "two arrays have the same name"),
    "more": (params([entry(ONE)], []) + b"more", "4 bytes at the end"),
    "negative extent": (params([struct.pack("<Iiiqiii", V2, 0, 1, -4, 1, 0, 0)], []), "negative extent"),
    "many dimensions": (params([entry(numpy.ones((1,) * 33, "float32"))], []), "33 dimensions"),
    "a huge rank": (params([struct.pack("<I", 0x7FFFFFFF)], []), "the shape of array 0 needs"),
    "a huge shape": (params([struct.pack("<Iiiqqiii", V2, 0, 2, 2**40, 2**40, 1, 0, 0)], []), "no array of float32"),
}


@pytest.mark.parametrize("name", BAD_PARAMS)
def test_params_files_that_are_refused(name: str, tmp_path: pathlib.Path) -> None:
    data, text = BAD_PARAMS[name]
    path = tmp_path / "net.params"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=text) as raised:
        npx.load(path)
    assert str(path) in str(raised.value)


def test_a_header_as_long_as_the_magic_number_is_no_params_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    text = b'{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'.ljust(0x112)
    path.write_bytes(struct.pack("<Q", 0x112) + text + bytes(8))
    assert npx.load(path)["x"].tolist() == [0.0, 0.0]  # type: ignore[call-overload]


# Text.


def test_loadtxt(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "table.txt"
    path.write_text("# x y\n1 2\n3 4\n5 6\n")
    cases: list[dict[str, Any]] = [
        {},
        {"skiprows": 2},
        {"usecols": 1},
        {"unpack": True},
        {"skiprows": 1, "max_rows": 1, "ndmin": 2},
    ]
    for options in cases:
        same(np.loadtxt(path, **options), numpy.loadtxt(path, "float32", **options))
    same(np.loadtxt(["1,2", "3,4"], dtype="int64", delimiter=","), numpy.array([[1, 2], [3, 4]]))
    with pytest.raises(ValueError):
        np.loadtxt(["1 x"])


def test_genfromtxt() -> None:
    lines = ["a,b,c", "1,,3", "4,5,6"]
    options: dict[str, Any] = {"delimiter": ",", "skip_header": 1}
    same(np.genfromtxt(lines, **options), numpy.genfromtxt(lines, "float32", **options))
    filled = {**options, "filling_values": -1}
    same(np.genfromtxt(lines, "int64", **filled), numpy.genfromtxt(lines, "int64", **filled))
    with pytest.raises(TypeError, match="not supported"):
        np.genfromtxt(lines, delimiter=",", names=True)
