"""Parameter files: round trips, and errors for malformed files."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import _forerun, gluon, init, np, npx
from forerun.gluon import nn


def mlp() -> nn.Sequential:
    net = nn.Sequential()
    net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    return net


def filled() -> nn.Sequential:
    net = mlp()
    net.initialize(init.Normal(1))
    net(np.ones((1, 3)))
    return net


def values(net: gluon.Block) -> dict[str, list[Any]]:
    return {name: parameter.data().tolist() for name, parameter in net.collect_params().items()}


def test_parameters_are_saved_and_loaded(tmp_path: pathlib.Path) -> None:
    net = filled()
    net.save_parameters(tmp_path / "net")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net"]
    # Into a net that is not initialised, one with deferred shapes, and one with other values.
    fresh, waiting, other = mlp(), mlp(), filled()
    waiting.initialize()
    array = other[0].weight.data()
    for target in (fresh, waiting, other):
        target.load_parameters(str(tmp_path / "net"))
        assert values(target) == values(net)
        assert target(np.ones((1, 3))).tolist() == net(np.ones((1, 3))).tolist()
    assert other[0].weight.data() is array


def test_missing_and_extra_names(tmp_path: pathlib.Path) -> None:
    net = filled()
    net.save_parameters(tmp_path / "net")
    longer = mlp()
    longer.add(nn.Dense(3, in_units=2))
    longer.initialize()
    with pytest.raises(ValueError, match=r"net: no tensor for '2.weight', '2.bias'; allow_missing=True"):
        longer.load_parameters(tmp_path / "net")
    longer.load_parameters(tmp_path / "net", allow_missing=True)
    assert longer[0].weight.data().tolist() == net[0].weight.data().tolist()
    shorter = net[:1]
    with pytest.raises(ValueError, match=r"net: no parameter for '1.weight', '1.bias'; ignore_extra=True"):
        shorter.load_parameters(tmp_path / "net")
    shorter.load_parameters(tmp_path / "net", ignore_extra=True)


def test_what_does_not_fit_changes_nothing(tmp_path: pathlib.Path) -> None:
    filled().save_parameters(tmp_path / "net")
    other = mlp()
    other.initialize()
    other(np.ones((1, 5)))
    before = values(other)
    with pytest.raises(ValueError, match=r"tensor '0.weight' has shape \(4, 3\), the parameter \(4, 5\)"):
        other.load_parameters(tmp_path / "net")
    assert values(other) == before


def test_dtypes(tmp_path: pathlib.Path) -> None:
    net = filled()
    net.cast("float64")
    net.save_parameters(tmp_path / "net")
    for source, expected in (("current", np.float32), ("saved", np.float64)):
        other = filled()
        with pytest.raises(ValueError, match=r"tensor '0.weight' is float64, the parameter float32; cast_dtype=True"):
            other.load_parameters(tmp_path / "net")
        other.load_parameters(tmp_path / "net", cast_dtype=True, dtype_source=source)
        assert other[0].weight.data().dtype == other[0].weight.dtype == expected
        numpy.testing.assert_allclose(other[0].weight.data().asnumpy(), net[0].weight.data().asnumpy(), rtol=1e-6)


def test_shared_parameters_are_written_once_if_asked(tmp_path: pathlib.Path) -> None:
    layer = nn.Dense(2, in_units=2)
    net = nn.Sequential()
    net.add(layer, layer)
    net.initialize()
    net.save_parameters(tmp_path / "all")
    net.save_parameters(tmp_path / "once", deduplicate=True)
    assert list(_forerun.load_arrays(tmp_path / "all")[0]) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert list(_forerun.load_arrays(tmp_path / "once")[0]) == ["0.weight", "0.bias"]
    net.load_parameters(tmp_path / "all")
    net.load_parameters(tmp_path / "once")


def test_dictionaries(tmp_path: pathlib.Path) -> None:
    net = filled()
    other = mlp()
    other.load_dict({name: parameter.data() for name, parameter in net.collect_params().items()})
    assert values(other) == values(net)
    net.collect_params().save(tmp_path / "net", strip_prefix="0.")
    assert "weight" in _forerun.load_arrays(tmp_path / "net")[0]
    layer = nn.Dense(4)
    layer.collect_params().load(tmp_path / "net", ignore_extra=True)
    assert layer.weight.data().tolist() == net[0].weight.data().tolist()


ARRAYS = {
    "f32": numpy.array([[1.5, -2.0]], "float32"),
    "f64": numpy.array([numpy.pi, numpy.nan, numpy.inf]),
    "i32": numpy.arange(6, dtype="int32").reshape(1, 2, 3),
    "i64": numpy.array(-(2**40)),
    "bool": numpy.array([True, False, True]),
    "none": numpy.zeros((0, 3), "float32"),
    "ünï": numpy.ones((2,), "float32"),
}


def test_every_dtype_and_shape(tmp_path: pathlib.Path) -> None:
    _forerun.save_arrays(tmp_path / "file", {name: np.array(x) for name, x in ARRAYS.items()}, {"note": "kept"})
    arrays, notes = _forerun.load_arrays(tmp_path / "file")
    assert notes == {"note": "kept"}
    assert list(arrays) == list(ARRAYS)
    for name, expected in ARRAYS.items():
        assert arrays[name].dtype == expected.dtype
        assert arrays[name].shape == expected.shape
        numpy.testing.assert_array_equal(arrays[name].asnumpy(), expected)


def test_arrays_lists_and_dicts(tmp_path: pathlib.Path) -> None:
    x, y = np.arange(4), np.ones((2, 2))
    npx.save(tmp_path / "one", x)
    npx.save(str(tmp_path / "list"), [x, y, *[y] * 10])
    npx.save(tmp_path / "dict", {"0": x, "1": y})
    npx.save(tmp_path / "none", [])
    one, several, named = (npx.load(tmp_path / name) for name in ("one", "list", "dict"))
    assert isinstance(one, list)
    assert isinstance(several, list)
    assert isinstance(named, dict)
    assert [array.tolist() for array in one] == [x.tolist()]
    assert [array.shape for array in several] == [x.shape, *[y.shape] * 11]
    assert {name: array.tolist() for name, array in named.items()} == {"0": x.tolist(), "1": y.tolist()}
    assert npx.load(tmp_path / "none") == []
    _forerun.save_arrays(tmp_path / "bad", {"x": x}, {"forerun": "list"})
    with pytest.raises(ValueError, match="bad: a list whose entries are x"):
        npx.load(tmp_path / "bad")


def test_the_name_of_the_notes_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=r"save: .*file: the file format reserves the name '__metadata__'"):
        npx.save(tmp_path / "file", {"__metadata__": np.ones((2,))})
    assert not list(tmp_path.iterdir())


def test_views_are_written_as_they_look(tmp_path: pathlib.Path) -> None:
    x = np.arange(6).reshape(2, 3)
    _forerun.save_arrays(tmp_path / "file", {"x": x.T[::-1]})
    assert _forerun.load_arrays(tmp_path / "file")[0]["x"].tolist() == x.asnumpy().T[::-1].tolist()


def test_the_format_is_everybodys(tmp_path: pathlib.Path) -> None:
    theirs = pytest.importorskip("safetensors.numpy")
    _forerun.save_arrays(tmp_path / "ours", {name: np.array(x) for name, x in ARRAYS.items()}, {"note": "kept"})
    read = theirs.load_file(tmp_path / "ours")
    theirs.save_file(ARRAYS, tmp_path / "theirs", {"note": "kept"})
    back, notes = _forerun.load_arrays(tmp_path / "theirs")
    assert notes == {"note": "kept"}
    for name, expected in ARRAYS.items():
        numpy.testing.assert_array_equal(read[name], expected)
        numpy.testing.assert_array_equal(back[name].asnumpy(), expected)


def test_a_failed_save_leaves_the_old_file(tmp_path: pathlib.Path) -> None:
    _forerun.save_arrays(tmp_path / "file", {"x": np.ones((2,))})
    failing = np.ones((10**13,))[:2]
    with pytest.raises(MemoryError):
        _forerun.save_arrays(tmp_path / "file", {"x": np.zeros((2,)), "y": failing})
    assert _forerun.load_arrays(tmp_path / "file")[0]["x"].tolist() == [1.0, 1.0]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def raw(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


DATA = bytes(8)
MALFORMED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "0 bytes are too few for a header"),
    "seven bytes": (bytes(7), "7 bytes are too few for a header"),
    "a header beyond the file": (raw({}, length=1000), "the header claims 1000 bytes, the file has 2 after its length"),
    "a header beyond reason": (raw({}, length=2**63), f"the header claims {2**63} bytes"),
    "no JSON": (raw(b"{'a'"), "the header is not JSON"),
    "no text": (raw(b"\xff\xfe\x00"), "the header is not JSON"),
    "too deep": (raw(b"[" * 100_000), "invalid type: sequence, expected a header"),
    "a list": (raw([1]), "invalid type: sequence, expected a header"),
    "metadata of numbers": (raw({"__metadata__": {"a": 1}}), "the metadata is not a mapping of strings"),
    "a name twice": (
        raw(b'{"x": %b, "x": %b}' % ((json.dumps(entry()).encode(),) * 2), DATA),
        "the header names 'x' twice",
    ),
    "no offsets": (raw({"x": {"dtype": "F32", "shape": [2]}}, DATA), "tensor 'x': missing field `data_offsets`"),
    "a number": (raw({"x": 3}, DATA), "tensor 'x': invalid type: integer `3`"),
    "unknown dtype": (raw({"x": entry("F7")}, DATA), "tensor 'x': unknown variant `F7`, expected one of `BOOL`"),
    "dtype a list": (raw({"x": entry(["F32"])}, DATA), "tensor 'x': "),
    "shape a number": (raw({"x": entry(shape=2)}, DATA), "tensor 'x': invalid type: integer `2`, expected a sequence"),
    "negative shape": (raw({"x": entry(shape=[-2])}, DATA), "tensor 'x': invalid value: integer `-2`"),
    "shape of truth values": (raw({"x": entry(shape=[True])}, DATA), "tensor 'x': invalid type: boolean `true`"),
    "three offsets": (raw({"x": entry(offsets=[0, 4, 8])}, DATA), "tensor 'x': "),
    "offsets that go back": (raw({"x": entry(offsets=[8, 0])}, DATA), "tensor 'x': data_offsets .* lie outside the 8"),
    "offsets beyond the file": (
        raw({"x": entry(offsets=[0, 16])}, DATA),
        r"tensor 'x': data_offsets \[0, 16\] lie outside the 8 bytes of data",
    ),
    "too few bytes": (raw({"x": entry(shape=[3])}, DATA), r"tensor 'x': 8 bytes for float32 of shape \(3,\)"),
    "a product that wraps": (
        raw({"x": entry(shape=[2**32, 2**32])}, DATA),
        "tensor 'x': shape .* has too many elements",
    ),
    "an overlap": (
        raw({"x": entry(), "y": entry(shape=[1], offsets=[4, 8])}, DATA),
        "tensors 'x' and 'y' overlap",
    ),
    "a gap": (
        raw({"x": entry(shape=[1], offsets=[4, 8])}, DATA),
        "4 bytes before tensor 'x' belong to none",
    ),
    "a tail": (raw({"x": entry(shape=[1], offsets=[0, 4])}, DATA), "4 bytes at the end belong to no tensor"),
    "too many dimensions": (
        raw({"x": entry(shape=[1] * 32 + [2])}, DATA),
        "tensor 'x': shape has 33 dimensions, at most 32",
    ),
    "nothing, of a dimension beyond reason": (
        raw({"x": entry(shape=[0, 2**70], offsets=[0, 0])}),
        "tensor 'x': invalid type: floating point",
    ),
    "nothing, of dimensions beyond reason together": (
        raw({"x": entry(shape=[2**40, 0, 2**40], offsets=[0, 0])}),
        "tensor 'x': shape .* has too many elements",
    ),
    "a number beyond reason": (
        raw(b'{"x": {"dtype": "F32", "shape": [%b], "data_offsets": [0, 8]}}' % (b"9" * 5000), DATA),
        "tensor 'x': number out of range",
    ),
    "a bool of two": (
        raw({"x": entry("BOOL", [1], [0, 1])}, b"\x02"),
        "tensor 'x': a bool is neither 0 nor 1",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_refused(name: str, tmp_path: pathlib.Path) -> None:
    content, reason = MALFORMED[name]
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(ValueError, match=f"load: .*bad: {reason}"):
        _forerun.load_arrays(tmp_path / "bad")
    net = filled()
    before = values(net)
    with pytest.raises(ValueError, match="load: "):
        net.load_parameters(tmp_path / "bad")
    assert values(net) == before


def test_cut_files_are_refused(tmp_path: pathlib.Path) -> None:
    filled().save_parameters(tmp_path / "net")
    whole = (tmp_path / "net").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="load: "):
            _forerun.load_arrays(tmp_path / "cut")


def test_threads_that_save_one_path_never_corrupt_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "shared"
    npx.save(path, {"x": np.zeros((4000,))})
    stop = threading.Event()
    faults: list[BaseException] = []

    def keep(work: Callable[[], None]) -> None:
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            faults.append(error)

    def save(value: int) -> None:
        npx.save(path, {"x": np.full((4000,), value)})

    def load() -> None:
        loaded = npx.load(path)
        assert isinstance(loaded, dict)
        assert len(set(loaded["x"].tolist())) == 1

    works = [functools.partial(save, 1), functools.partial(save, 2), functools.partial(save, 3), load]
    threads = [threading.Thread(target=keep, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    stop.set()
    for thread in threads:
        thread.join()
    assert not faults
    assert os.listdir(tmp_path) == ["shared"]


def test_errors_of_saving_name_the_users_path(tmp_path: pathlib.Path) -> None:
    net = filled()
    for path in ("/nonexistent/a", str(tmp_path / "no" / "folder")):
        with pytest.raises(FileNotFoundError) as caught:
            net.save_parameters(path)
        assert caught.value.filename == path
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError) as refused:
        npx.save(tmp_path / "folder", np.ones((2,)))
    assert refused.value.filename == str(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.skipif(os.name != "posix", reason="links and modes are POSIX's")
def test_a_saved_file_keeps_its_mode_and_its_link(tmp_path: pathlib.Path) -> None:
    npx.save(tmp_path / "x", np.zeros((2,)))
    (tmp_path / "x").chmod(0o640)
    (tmp_path / "link").symlink_to(tmp_path / "x")
    npx.save(tmp_path / "link", np.ones((2,)))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640
    assert npx.load(tmp_path / "x")[0].tolist() == [1, 1]  # type: ignore[index]
