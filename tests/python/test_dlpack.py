"""DLPack: export and import of both kinds of capsules, with all their fields, and ownership of the memory."""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import forerun
from forerun import np, npx

if TYPE_CHECKING:
    from conftest import Run

DTYPES = [*np.__array_namespace_info__().dtypes(), "float16"]
HOST = (1, 0)


class Described(ctypes.Structure):
    """The description of a tensor: address, device, dtype, shape, strides."""

    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Plain(ctypes.Structure):
    """The contents of a capsule before version 1.0."""

    _fields_ = [("described", Described), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class Versioned(ctypes.Structure):
    """The contents of a versioned capsule."""

    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", DELETER),
        ("flags", ctypes.c_uint64), ("described", Described),
    ]  # fmt: skip


api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

NAMES: dict[type[Any], bytes] = {Plain: b"dltensor", Versioned: b"dltensor_versioned"}
USED = {name: b"used_" + name for name in NAMES.values()}


class Maker:
    """A library with one array: exports it as a capsule and counts the calls."""

    def __init__(self, array: numpy.ndarray, kind: type[Any] = Versioned, **changes: Any) -> None:
        self.array, self.kind, self.changes, self.deleted = array, kind, changes, 0
        self.strides_given = True

    def __dlpack_device__(self) -> tuple[int, int]:
        return HOST

    def __dlpack__(self, **asked: Any) -> Any:
        if self.kind is Plain and asked:
            raise TypeError("an argument of later versions")
        self.asked = asked
        rank = self.array.ndim
        self.head = head = self.kind()
        self.shape = (ctypes.c_int64 * rank)(*self.array.shape)
        self.strides = (ctypes.c_int64 * rank)(*(s // self.array.itemsize for s in self.array.strides))
        if self.kind is Versioned:
            head.major, head.minor = 1, 0
        own = head.described
        own.data, own.device_type, own.rank, own.lanes = self.array.ctypes.data, HOST[0], rank, 1
        own.code = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}[self.array.dtype.kind]
        own.bits = self.array.itemsize * 8
        own.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        if self.strides_given:
            own.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        for name, value in self.changes.items():
            setattr(head if hasattr(head, name) else own, name, value)
        self.head.deleter = self.deleter = DELETER(self.delete)
        self.name = ctypes.c_char_p(NAMES[self.kind])
        return api.PyCapsule_New(ctypes.addressof(head), self.name, None)

    def delete(self, pointer: int) -> None:
        assert pointer == ctypes.addressof(self.head)
        self.deleted += 1


def samples(dtype: str) -> list[numpy.ndarray]:
    whole = numpy.arange(24).reshape(2, 3, 4).astype(dtype)
    return [whole, whole.T, whole[:, ::-2, 1:], whole[1, 2, 3, ...], whole[:0], whole[:, :1], whole[1:, 2:, 3:]]


# Export.


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_reads_what_goes_out(dtype: str) -> None:
    for sample in samples(dtype):
        x = np.array(sample, device=npx.cpu())
        seen = numpy.from_dlpack(x)
        assert seen.dtype == dtype and seen.shape == sample.shape
        assert not seen.flags.writeable
        numpy.testing.assert_array_equal(seen, sample)
        copied = numpy.from_dlpack(x, copy=True)
        assert copied.flags.writeable
        copied[...] = 1
        numpy.testing.assert_array_equal(x.asnumpy(), sample)


def test_a_view_goes_out_as_it_lies() -> None:
    x = np.arange(1200, device=npx.cpu()).reshape(30, 40)
    x.wait_to_read()
    for view in [x.T, x[::-1], x[:, 1:3], x[1], np.broadcast_to(x, (2, 30, 40)), x[::2, ::-2]]:
        seen, expected = numpy.from_dlpack(view), view.asnumpy()
        numpy.testing.assert_array_equal(seen, expected)
        assert seen.strides == expected.strides
        assert seen.ctypes.data == expected.ctypes.data


def test_what_went_out_never_changes() -> None:
    x = np.arange(1000, device=npx.cpu())
    seen = numpy.from_dlpack(x)
    x += 1
    x[:] = 7
    del x
    churn = [np.zeros((1000,), device=npx.cpu()) + i for i in range(50)]
    npx.waitall()
    assert seen.tolist() == list(range(1000)) and len(churn) == 50


def content(capsule: Any, kind: type[Any]) -> Any:
    return kind.from_address(api.PyCapsule_GetPointer(capsule, NAMES[kind]))


def test_versions() -> None:
    x = np.arange(600, device=npx.cpu()).reshape(20, 30)
    for version in [None, (0, 8)]:
        capsule = x.__dlpack__(max_version=version)
        assert api.PyCapsule_GetName(capsule) == b"dltensor"
        head = content(capsule, Plain)
        # It has no read-only flag, so it is a copy.
        assert head.described.data != x.asnumpy().ctypes.data
        assert x.__dlpack__(max_version=version, copy=True) is not None
        lent = x.__dlpack__(max_version=version, copy=False)
        assert content(lent, Plain).described.data == x.asnumpy().ctypes.data
    for version in [(1, 0), (1, 1), (3, 0)]:
        capsule = x.__dlpack__(max_version=version)
        head = content(capsule, Versioned)
        assert (head.major, head.flags) == (1, 1)
        assert head.described.data == x.asnumpy().ctypes.data
        assert [head.described.shape[i] for i in range(2)] == [20, 30]
        assert [head.described.strides[i] for i in range(2)] == [30, 1]
        assert head.described.byte_offset == 0
        head = content(written := x.__dlpack__(max_version=version, copy=True), Versioned)
        assert head.flags == 2 and head.described.data != x.asnumpy().ctypes.data
        del written


def test_devices_and_streams() -> None:
    x = np.ones((2,), device=npx.cpu())
    assert x.__dlpack_device__() == HOST
    assert np.ones((2,), device=npx.cpu(1)).__dlpack_device__() == HOST
    assert x.__dlpack__(max_version=(1, 0), dl_device=HOST, stream=None) is not None
    with pytest.raises(BufferError, match=r"cannot export to device \(2, 0\), only to \(1, 0\)"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="no stream"):
        x.__dlpack__(stream=1)
    with forerun.no_sync("error"), pytest.raises(RuntimeError, match="waits inside no_sync"):
        x.__dlpack__()


def test_the_interface_of_cuda_is_absent_elsewhere() -> None:
    x = np.ones((2,), device=npx.cpu())
    assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match=r"on cpu\(0\), not on a device of CUDA"):
        x.__cuda_array_interface__  # noqa: B018 - reading is what fails


def test_simulated_devices_share_nothing(run: Run, once: None) -> None:
    done = run(
        """
        import numpy
        from forerun import np, npx
        x = np.arange(6, device=npx.gpu(0)).reshape(2, 3)
        for call in (x.__dlpack_device__, x.__dlpack__, lambda: np.from_dlpack(x).__dlpack_device__()):
            try:
                call()
            except BufferError as error:
                print(error)
        print(hasattr(x, "__cuda_array_interface__"), numpy.from_dlpack(x, device="cpu").tolist())
        """,
        FORERUN_SIM_GPUS="1",
    )
    refused = "__dlpack_device__: the memory of gpu(0) cannot be shared"
    assert done.stdout.splitlines() == [refused] * 3 + ["False [[0, 1, 2], [3, 4, 5]]"], done.stderr


def live() -> int:
    npx.waitall()
    return forerun.memory_stats()["live"]


@pytest.mark.parametrize("kind", [Plain, Versioned])
def test_capsules_hold_the_bytes_as_long_as_they_live(kind: type[Any]) -> None:
    version = None if kind is Plain else (1, 0)
    before = live()
    for turn in range(60):
        x = np.ones((100_000,), device=npx.cpu()) + turn
        capsule = x.__dlpack__(max_version=version)
        assert live() >= before + 400_000
        if turn % 2:
            del x
            assert live() >= before + 400_000
            del capsule
        else:
            del capsule
            assert live() >= before + 400_000
            del x
        assert live() <= before + 1000, turn


@pytest.mark.parametrize("kind", [Plain, Versioned])
def test_whoever_took_a_capsule_ends_it(kind: type[Any]) -> None:
    version = None if kind is Plain else (1, 0)
    name = NAMES[kind]
    used = ctypes.c_char_p(USED[name])
    before = live()
    for turn in range(60):
        x = np.ones((100_000,), device=npx.cpu()) + turn
        capsule = x.__dlpack__(max_version=version)
        head = content(capsule, kind)
        api.PyCapsule_SetName(capsule, used)
        for end in (["x", "capsule", "head"], ["head", "x", "capsule"], ["capsule", "head", "x"])[turn % 3]:
            if end == "x":
                del x
            elif end == "capsule":
                del capsule
            else:
                assert head.described.shape[0] == 100_000
                # The deleter may be called on any thread.
                thread = threading.Thread(target=head.deleter, args=(ctypes.addressof(head),))
                thread.start()
                thread.join()
        assert live() <= before + 1000, turn


def test_numpy_and_we_let_go_in_any_order() -> None:
    before = live()
    for turn in range(60):
        x = np.ones((100_000,), device=npx.cpu()) * turn
        seen = numpy.from_dlpack(x)
        if turn % 2:
            del x
            assert seen[-1] == turn
            del seen
        else:
            del seen
            assert x[-1].item() == turn
            del x
        assert live() <= before + 1000, turn


# Import.


@pytest.mark.parametrize("kind", [Plain, Versioned])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_comes_in(kind: type[Any], dtype: str) -> None:
    for sample in samples(dtype):
        maker = Maker(sample, kind)
        x = np.from_dlpack(maker)
        assert maker.deleted == 1
        assert x.dtype == dtype and x.shape == sample.shape
        numpy.testing.assert_array_equal(x.asnumpy(), sample)
        numpy.testing.assert_array_equal(np.from_dlpack(sample).asnumpy(), sample)


def test_what_comes_in_is_copied() -> None:
    source = numpy.zeros(1000, "float32")
    x = np.from_dlpack(source)
    source[:] = 1
    assert x.sum().item() == 0.0
    source.flags.writeable = False
    assert np.from_dlpack(source).sum().item() == 1000.0


def test_offsets_and_left_out_strides() -> None:
    maker = Maker(numpy.arange(12, dtype="int32").reshape(3, 4), byte_offset=16)
    maker.changes["shape"] = (ctypes.c_int64 * 2)(2, 4)
    maker.strides_given = False
    maker.changes["shape"] = ctypes.cast(maker.changes["shape"], ctypes.POINTER(ctypes.c_int64))
    assert np.from_dlpack(maker).tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]


def test_where_it_goes() -> None:
    assert np.from_dlpack(numpy.arange(3)).device == npx.cpu(0)
    assert np.from_dlpack(numpy.arange(3), device=npx.cpu(1)).device == npx.cpu(1)
    assert np.from_dlpack(numpy.arange(3), copy=True).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="always copied"):
        np.from_dlpack(numpy.arange(3), copy=False)
    x = np.arange(3)
    assert np.from_dlpack(x) is x and np.from_dlpack(x, copy=False) is x
    assert np.from_dlpack(x, copy=True) is not x
    assert np.from_dlpack(x, device=npx.cpu(1)).device == npx.cpu(1)
    with pytest.raises(ValueError, match="without a copy"):
        np.from_dlpack(x, device=npx.cpu(2), copy=False)


REFUSED: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"major": 2}, BufferError, "version 2.0 is not supported"),
    ({"device_type": 2, "device_id": 77}, BufferError, r"there is no device \(2, 77\)"),
    ({"device_type": 99}, BufferError, r"cannot read from device \(99, 0\)"),
    ({"lanes": 4}, TypeError, "dtype float32x4 is not supported"),
    ({"code": 17, "bits": 4}, TypeError, "dtype of an unknown family, 4 is not supported"),
    ({"bits": 80}, TypeError, "dtype float80 is not supported"),
    ({"rank": -1}, BufferError, "negative rank"),
    ({"rank": 33}, ValueError, "dimensions"),
    ({"byte_offset": 1}, BufferError, "is null or misaligned for float32"),
    ({"data": None}, BufferError, "is null or misaligned for float32"),
    ({"shape": None}, BufferError, "has no shape"),
]


@pytest.mark.parametrize("changes, error, text", REFUSED, ids=[next(iter(row[0])) for row in REFUSED])
def test_what_is_refused_is_given_back(changes: dict[str, Any], error: type[Exception], text: str) -> None:
    # The number of elements is consistent, whatever the other fields claim.
    sample = numpy.zeros((1,) * 33, "float32")
    maker = Maker(sample if changes.get("rank") == 33 else numpy.ones((2, 3), "float32"), **changes)
    with pytest.raises(error, match=text):
        np.from_dlpack(maker)
    assert maker.deleted == 1


def test_negative_extents_are_refused() -> None:
    numbers = (ctypes.c_int64 * 2)(2, -3)
    maker = Maker(numpy.ones((2, 3), "float32"), shape=ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int64)))
    with pytest.raises(BufferError, match="negative extent"):
        np.from_dlpack(maker)
    assert maker.deleted == 1


def test_a_capsule_is_taken_once() -> None:
    class Once:
        def __init__(self) -> None:
            self.capsule: Any = numpy.arange(3).__dlpack__(max_version=(1, 0))

        def __dlpack_device__(self) -> tuple[int, int]:
            return HOST

        def __dlpack__(self, **asked: Any) -> Any:
            return self.capsule

    maker = Once()
    assert np.from_dlpack(maker).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="already consumed"):
        np.from_dlpack(maker)
    for nonsense in [None, 3, "capsule"]:
        maker.capsule = nonsense
        with pytest.raises(TypeError, match="no capsule"):
            np.from_dlpack(maker)
    with pytest.raises(AttributeError):
        np.from_dlpack([1, 2])


def test_many_times_without_a_leak() -> None:
    before = live()
    maker = Maker(numpy.ones(50_000, "float32"))
    for _ in range(500):
        x = np.from_dlpack(maker)
        again = np.from_dlpack(numpy.from_dlpack(x.as_in_ctx(npx.cpu())))
        del x
        assert again[-1].item() == 1.0
        del again
    assert maker.deleted == 500
    assert live() <= before + 1000
