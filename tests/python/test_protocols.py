"""Array protocols of NumPy and the array API standard: conversion, ufuncs, functions, buffers, the namespace."""

from __future__ import annotations

import copy
import pickle
import types
import warnings
from collections.abc import Hashable, Iterable, Sized
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import forerun
from forerun import engine, np, npx

if TYPE_CHECKING:
    from conftest import Run

DTYPES = [*np.__array_namespace_info__().dtypes(), "float16"]


def samples(dtype: str) -> list[numpy.ndarray]:
    whole = numpy.arange(24).reshape(2, 3, 4).astype(dtype)
    return [
        whole,
        whole.T,
        whole[:, ::-2, 1:],
        whole[1, 2, 3, ...],
        whole[:0],
        whole[..., None, :].transpose(3, 0, 2, 1),
    ]


def same(ours: Any, expected: Any) -> None:
    assert isinstance(ours, np.ndarray)
    numpy.testing.assert_array_equal(ours.asnumpy(), expected)
    assert ours.shape == numpy.shape(expected)


# NumPy's conversion.


@pytest.mark.parametrize("dtype", DTYPES)
def test_asarray_is_a_read_only_look(dtype: str) -> None:
    for sample in samples(dtype):
        x = np.array(sample)
        seen = numpy.asarray(x)
        assert seen.dtype == dtype and seen.shape == sample.shape and not seen.flags.writeable
        assert seen.dtype.char == numpy.dtype(dtype).char
        numpy.testing.assert_array_equal(seen, sample)
        assert numpy.array(x).flags.writeable


def test_asarray_copies_only_where_it_must() -> None:
    x = np.ones((100, 100))
    x.wait_to_read()
    if x.device.device_type == "cpu":
        assert numpy.asarray(x, copy=False).ctypes.data == numpy.asarray(x).ctypes.data
        assert x.__array__(copy=False).ctypes.data == x.__array__().ctypes.data
        assert x.__array__(copy=True).ctypes.data != x.__array__().ctypes.data
        assert x.__array__(copy=True).flags.writeable
    assert x.__array__("float64").dtype == "float64"
    with pytest.raises(ValueError, match="without a copy"):
        x.__array__("float64", copy=False)
    with pytest.raises(ValueError, match="avoid copy"):
        numpy.asarray(x, dtype="float64", copy=False)


def test_conversions_may_be_asked_to_be_writable() -> None:
    x = np.arange(4)
    with engine.set_writable_asnumpy(True):
        copied, view = numpy.asarray(x), memoryview(x)
        copied[0] = 7
        view[1] = 9
        assert x.tolist() == [0, 1, 2, 3]
    assert memoryview(x).readonly


# The buffer protocol.


@pytest.mark.parametrize("dtype", DTYPES)
def test_memoryviews(dtype: str) -> None:
    for sample in samples(dtype):
        view = memoryview(np.array(sample))
        expected = memoryview(sample)  # type: ignore[arg-type]
        assert view.readonly
        assert (view.shape, view.format, view.itemsize, view.nbytes) == (
            expected.shape, expected.format, expected.itemsize, expected.nbytes,
        )  # fmt: skip
        assert view.tobytes() == expected.tobytes()


def test_a_view_keeps_the_elements_it_saw() -> None:
    x = np.arange(1000)
    view = memoryview(x[::3])
    x += 1
    x[0] = -1
    del x
    churn = [np.zeros((1000,)) + i for i in range(50)]
    npx.waitall()
    assert view.tolist() == list(range(0, 1000, 3))
    assert len(churn) == 50
    with pytest.raises(TypeError, match="read-only"):
        view[0] = 1


def test_buffers_are_what_was_asked_for(tmp_path: Any) -> None:
    x = np.arange(12, dtype="float64", device=npx.cpu()).reshape(3, 4)
    expected = numpy.arange(12, dtype="float64").reshape(3, 4)
    assert bytes(x) == expected.tobytes()
    assert bytes(x.T) == expected.T.tobytes()
    with open(tmp_path / "bytes", "wb") as file:
        file.write(x)
        with pytest.raises(BufferError, match="not contiguous"):
            file.write(x.T)
    assert (tmp_path / "bytes").read_bytes() == expected.tobytes()
    with open(tmp_path / "bytes", "rb") as file, pytest.raises((BufferError, TypeError), match=r"read-only|read-write"):
        file.readinto(x)
    assert numpy.frombuffer(memoryview(x), "float64").tolist() == list(range(12))


def test_a_buffer_is_refused_where_waiting_is() -> None:
    x = np.ones((3,)) + 1
    with forerun.no_sync("error"), pytest.raises(RuntimeError, match="waits inside no_sync"):
        memoryview(x)
    with forerun.no_sync("error"), pytest.raises(RuntimeError, match="waits inside no_sync"):
        numpy.asarray(x)


def test_a_failed_array_has_no_buffer() -> None:
    x = np.take(np.arange(3), np.array([5]))
    with pytest.raises(IndexError, match="take"):
        memoryview(x)
    with pytest.raises(IndexError, match="take"):
        numpy.asarray(x)


@pytest.mark.parametrize("call", ["numpy.asarray(y)", "memoryview(y)", "numpy.from_dlpack(y)"])
def test_an_interrupt_ends_a_conversion(call: str, run: Run, once: None) -> None:
    done = run(
        f"""
        import os, signal, threading, time
        import numpy
        from forerun import np, npx
        signal.signal(signal.SIGINT, signal.default_int_handler)
        y = x = np.random.normal(size=(800, 800))
        npx.waitall()
        for _ in range(2000):
            y = y @ x * 0.01
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        try:
            {call}
            print("came back")
        except KeyboardInterrupt:
            print("interrupted")
        npx.cancel_pending()
        print(numpy.asarray(np.ones((2,))).tolist())
        """
    )
    assert done.stdout.splitlines() == ["interrupted", "[1.0, 1.0]"], done.stderr


# Ufuncs and functions.


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "less", "power", "matmul"])
def test_binary_ufuncs(name: str) -> None:
    ufunc = getattr(numpy, name)
    a = numpy.arange(1, 10, dtype="float32").reshape(3, 3)
    b = a.T + 1
    same(ufunc(np.array(a), np.array(b)), ufunc(a, b))
    same(ufunc(a, np.array(b)), ufunc(a, b))
    same(ufunc(np.array(a), b), ufunc(a, b))
    if name != "matmul":
        same(ufunc(np.array(a), 2), ufunc(a, 2))
        same(ufunc(2, np.array(a)), ufunc(2, a))


@pytest.mark.parametrize("name", ["absolute", "negative", "sqrt", "exp", "isnan", "floor", "square", "sign"])
def test_unary_ufuncs(name: str) -> None:
    ufunc = getattr(numpy, name)
    for a in [numpy.linspace(0, 2, 12, dtype="float32").reshape(3, 4), numpy.array(0.25, "float32")]:
        made = ufunc(np.array(a))
        assert isinstance(made, np.ndarray)
        numpy.testing.assert_allclose(made.asnumpy(), ufunc(a), rtol=1e-6)


def test_numpys_operators_leave_the_result_to_us() -> None:
    a = numpy.arange(3, dtype="float32")
    x = np.arange(3, dtype="float32")
    for made, expected in [(a + x, a + a), (a * x, a * a), (a - x, a - a), (a == x, a == a), (a @ x, a @ a)]:
        same(made, expected)
    same(numpy.float32(2) * x, a * 2)
    same(a[:, None] * x, a[:, None] * a)


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "logical_and", "logical_or"])
def test_reductions_by_ufuncs(name: str) -> None:
    ufunc = getattr(numpy, name)
    a = numpy.arange(1, 13, dtype="float64").reshape(3, 4)
    if name.startswith("logical"):
        a = a > 5
    x = np.array(a)
    same(ufunc.reduce(x), ufunc.reduce(a))
    same(ufunc.reduce(x, axis=-1), ufunc.reduce(a, axis=-1))
    same(ufunc.reduce(x, axis=None), ufunc.reduce(a, axis=None))
    same(ufunc.reduce(x, axis=(0, 1), keepdims=True), ufunc.reduce(a, axis=(0, 1), keepdims=True))
    same(ufunc.reduce(x[0, 0]), ufunc.reduce(a[0, 0]))
    with pytest.raises(TypeError, match=r"initial= is not supported"):
        ufunc.reduce(x, initial=a[0, 0])


def ours_alone(value: Any) -> Any:
    return value


ours_alone.__name__ = "ours alone"


def test_ufuncs_that_there_are_not() -> None:
    x = np.ones((3,))
    with pytest.raises(TypeError, match=r"numpy.add: where= is not supported"):
        numpy.add(x, x, where=[True, False, True])
    with pytest.raises(TypeError, match=r"NotImplemented.*ours alone"):
        numpy.frompyfunc(ours_alone, 1, 1)(x)
    with pytest.raises(TypeError, match=r"NotImplemented.*subtract"):
        numpy.subtract.reduce(x)
    with pytest.raises(TypeError, match=r"NotImplemented.*outer"):
        numpy.frompyfunc(lambda a, b: a, 2, 1).outer(x, x)


class Other:
    """An array of a library with its own ``__array_ufunc__``."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> str:
        return f"{ufunc.__name__} by the other"

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> str:
        return f"{func.__name__} by the other"


def test_other_libraries_are_asked() -> None:
    other: Any = Other()
    assert numpy.add(np.ones((2,)), other) == "add by the other"
    assert numpy.concatenate([np.ones((2,)), other]) == "concatenate by the other"


def test_functions() -> None:
    a = numpy.arange(6, dtype="float32").reshape(2, 3)
    x = np.array(a)
    same(numpy.sum(x, axis=0), numpy.sum(a, axis=0))
    same(numpy.concatenate([x, x], axis=1), numpy.concatenate([a, a], axis=1))
    same(numpy.concatenate([a, x]), numpy.concatenate([a, a]))
    same(numpy.where(x > 2, x, 0), numpy.where(a > 2, a, 0))
    same(numpy.zeros_like(x), numpy.zeros_like(a))
    same(numpy.reshape(x, (3, 2)), a.reshape(3, 2))
    assert numpy.array_equal(x, x) is True
    for module in ["numpy", "numpy.linalg", "numpy.nowhere"]:
        unknown = types.SimpleNamespace(__name__="unheard_of", __module__=module)
        with pytest.raises(TypeError, match=rf"{module}.unheard_of: not implemented for arrays of forerun"):
            x.__array_function__(unknown, [np.ndarray], (x,), {})


# The namespace.


def test_the_namespace() -> None:
    x = np.ones((2,))
    assert x.__array_namespace__() is np
    assert x.__array_namespace__(api_version=None) is np
    assert x.__array_namespace__(api_version="2023.12") is np
    assert x.__array_namespace__(api_version=np.__array_api_version__) is np
    with pytest.raises(ValueError, match=r"version '2031.12' is not known"):
        x.__array_namespace__(api_version="2031.12")


def test_what_the_namespace_says_of_itself() -> None:
    info = np.__array_namespace_info__()
    assert info.default_device() == np.ones((1,)).device
    assert info.devices()[0] == npx.cpu(0) and len(info.devices()) == 1 + npx.num_gpus()
    defaults = info.default_dtypes(device=info.default_device())
    assert defaults["real floating"] == np.ones((1,)).dtype
    assert defaults["integral"] == np.arange(3).dtype
    assert defaults["indexing"] == np.argmax(np.ones((3,))).dtype
    assert set(info.dtypes(kind="bool")) == {"bool"}
    assert {"int32", "int64"} <= set(info.dtypes(kind="signed integer")) <= set(info.dtypes(kind="integral"))
    assert set(info.dtypes(kind=("bool", "numeric"))) == set(info.dtypes())
    for name, dtype in info.dtypes().items():
        assert np.zeros((1,), dtype=dtype).dtype == name
    with pytest.raises(ValueError, match="kind 'text' is not known"):
        info.dtypes(kind="text")
    most = info.capabilities()["max dimensions"]
    assert np.ones((1,) * most).ndim == most
    with pytest.raises(ValueError, match="dimensions"):
        np.ones((1,) * (most + 1))


def test_capabilities_are_what_can_be_done() -> None:
    able = np.__array_namespace_info__().capabilities()
    x = np.arange(4)
    try:
        x[x > 1].wait_to_read()
        indexing = True
    except TypeError:
        indexing = False
    assert able["boolean indexing"] == indexing
    assert able["data-dependent shapes"] == (hasattr(np, "nonzero") and hasattr(np, "unique_values"))


def test_devices_by_their_names() -> None:
    assert np.ones((2,), device="cpu").device == npx.cpu(0)  # type: ignore[arg-type]
    assert np.zeros((2,), device="cpu:1").device == npx.cpu(1)  # type: ignore[arg-type]
    assert np.ones((2,)).to_device("cpu:1").device == npx.cpu(1)
    assert np.ones((2,), device=np.ones((1,)).device).device == np.ones((1,)).device
    for bad in ["tpu", "cpu:x", "cpu:-1", ""]:
        with pytest.raises(ValueError, match="unknown device"):
            np.ones((2,), device=bad)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="unknown device"):
            np.ones((2,)).to_device(bad)


def test_asarray_and_copies() -> None:
    x = np.arange(3)
    assert np.asarray(x, copy=False) is x and np.asarray(x, copy=None) is x
    copied = np.asarray(x, copy=True)
    copied[0] = 9
    assert x.tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(x, "float32", copy=False)
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray([1], copy=False)


# Pickles and copies.


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", DTYPES)
def test_pickles(protocol: int, dtype: str) -> None:
    for sample in samples(dtype):
        x = np.array(sample)
        back = pickle.loads(pickle.dumps(x, protocol))
        same(back, sample)
        assert back.dtype == dtype and back.device == x.device
    view = np.array(samples(dtype)[0])[1:, ::-1]
    back = pickle.loads(pickle.dumps(view, protocol))
    same(back, samples(dtype)[0][1:, ::-1])
    assert len(pickle.dumps(view, protocol)) < len(pickle.dumps(np.zeros((2, 60, 4), dtype=dtype), protocol))


@pytest.mark.parametrize("protocol", [2, 5])
def test_pickles_of_what_numpy_has_no_dtype_for(protocol: int) -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3).astype("bfloat16")
    for view in [x, x.T, x[:, 1], x[:0]]:
        back = pickle.loads(pickle.dumps(view, protocol))
        assert back.dtype == "bfloat16" and back.shape == view.shape
        assert back.tobytes() == view.tobytes() and len(view.tobytes()) == 2 * view.size
    with pytest.raises(BufferError, match="no buffer format for bfloat16"):
        memoryview(x)
    numpy.testing.assert_array_equal(numpy.asarray(x).astype("float32"), numpy.arange(6).reshape(2, 3))


def test_pickles_with_buffers_apart() -> None:
    x = np.arange(100_000)
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps([x, x.T, x[::2]], 5, buffer_callback=buffers.append)
    assert len(head) < 1000 and len(buffers) == 3
    assert all(memoryview(buffer).readonly for buffer in buffers)
    x += 1
    back = pickle.loads(head, buffers=buffers)
    same(back[0], numpy.arange(100_000))
    same(back[2], numpy.arange(0, 100_000, 2))
    moved = pickle.loads(head, buffers=[bytearray(buffer) for buffer in buffers])
    same(moved[0], numpy.arange(100_000))


def test_devices_and_dtypes_pickle() -> None:
    for thing in [npx.cpu(0), npx.cpu(3), np.float32, np.int64]:
        assert pickle.loads(pickle.dumps(thing)) == thing


def test_an_array_of_an_absent_device_comes_back_on_the_host() -> None:
    reduced: Any = np.arange(3).__reduce_ex__(4)
    rebuild, arguments = reduced
    with pytest.warns(RuntimeWarning, match=r"array of gpu\(200\) was unpickled on the host"):
        back = rebuild(*arguments[:3], ("gpu", 200))
    assert back.device == npx.cpu(0) and back.tolist() == [0, 1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rebuild(*arguments).device == np.arange(3).device


def test_copies() -> None:
    x = np.arange(6).reshape(2, 3)
    for copied in [copy.copy(x), copy.deepcopy(x), copy.deepcopy({"x": [x]})["x"][0], copy.copy(x.T).T]:
        same(copied, x.asnumpy())
        copied[0, 0] = 100
    assert x[0, 0].item() == 0


# Properties.


def test_shapes_of_anything() -> None:
    a = numpy.ones((2, 3, 4))
    for x in [np.array(a), a, a.tolist()]:
        assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, -1)) == ((2, 3, 4), 3, 24, 4)
    assert (numpy.shape(np.array(a)), numpy.ndim(np.array(a)), numpy.size(np.array(a), 1)) == ((2, 3, 4), 3, 3)
    assert (np.shape(2.5), np.ndim(2.5), np.size(2.5)) == ((), 0, 1)


def test_shared_memory() -> None:
    x, a = np.arange(24).reshape(4, 6), numpy.arange(24).reshape(4, 6)
    cuts: list[Any] = [
        ..., 0, 1, slice(2), slice(2, None), (slice(None), 0), (slice(None), slice(None, None, 2)),
        (slice(None), slice(1, None, 2)), slice(None, None, -1), (2, slice(None, None, -2)), slice(4, None),
        (3, 5, ...),
    ]  # fmt: skip
    for first in cuts:
        for second in cuts:
            ours, theirs = (x[first], x[second]), (a[first], a[second])
            assert np.shares_memory(*ours) == numpy.shares_memory(*theirs), (first, second)
            assert np.may_share_memory(*ours) == numpy.may_share_memory(*theirs), (first, second)
    assert not np.shares_memory(x, x.copy()) and not np.may_share_memory(x, a) and not np.shares_memory(a, a)
    assert numpy.may_share_memory(x, x.T) and numpy.shares_memory(x, x[1])


# From buffers, iterators and functions.


def test_frombuffer() -> None:
    raw = numpy.arange(6, dtype="int32").tobytes()
    same(np.frombuffer(raw, dtype="int32"), numpy.arange(6))
    same(np.frombuffer(bytearray(raw), dtype=np.int32, count=2, offset=8), [2, 3])
    assert np.frombuffer(bytes(8)).dtype == np.float32
    same(np.frombuffer(np.arange(3), dtype="int64"), [0, 1, 2])
    with pytest.raises(ValueError):
        np.frombuffer(raw, dtype="int64", offset=4, count=9)


def test_fromiter() -> None:
    same(np.fromiter(iter([1, 2, 3]), dtype="float64"), [1.0, 2.0, 3.0])
    same(np.fromiter(range(10), "int32", 4), [0, 1, 2, 3])
    same(np.fromiter([], "int32"), numpy.zeros(0))
    with pytest.raises(ValueError):
        np.fromiter([1, 2], "int32", 5)


def test_fromfunction() -> None:
    def made(i: Any, j: Any, add: int = 0) -> Any:
        return i * 10 + j + add

    same(np.fromfunction(made, (2, 3), dtype="int64"), numpy.fromfunction(made, (2, 3), dtype=int))
    same(np.fromfunction(made, (2, 3), add=1), numpy.fromfunction(made, (2, 3), add=1))
    same(np.fromfunction(lambda i: i, 4, dtype="int64"), numpy.arange(4))
    same(np.fromfunction(lambda i, j: 7, (2, 2)), numpy.array(7))


@pytest.mark.parametrize("dtype", DTYPES)
def test_bytes_and_files(dtype: str, tmp_path: Any) -> None:
    for sample in samples(dtype):
        x = np.array(sample)
        assert x.tobytes() == sample.tobytes()
        assert x.tobytes("F") == sample.tobytes("F")
        assert x.tolist() == sample.tolist()
        x.tofile(tmp_path / "raw")
        assert (tmp_path / "raw").read_bytes() == sample.tobytes()
    np.arange(3).tofile(tmp_path / "text", sep=",")
    assert (tmp_path / "text").read_text() == "0,1,2"


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "power", "floor_divide", "remainder"])
def test_numpys_arrays_are_written_in_place(name: str) -> None:
    theirs, ours = numpy.array([4.0, 5.0, 6.0], "float32"), np.array([1.0, 2.0, 3.0])
    expected = getattr(numpy, name)(theirs, ours.asnumpy())
    kept = theirs
    match name:
        case "add":
            theirs += ours
        case "subtract":
            theirs -= ours
        case "multiply":
            theirs *= ours
        case "divide":
            theirs /= ours
        case "power":
            theirs **= ours
        case "floor_divide":
            theirs //= ours
        case _:
            theirs %= ours
    assert kept is theirs and type(theirs) is numpy.ndarray
    numpy.testing.assert_array_equal(theirs, expected)


def test_numpys_functions_write_where_they_are_told_to() -> None:
    x, out = np.array([1.0, 2.0]), numpy.zeros(2, "float32")
    assert numpy.exp(x, out=out) is out
    numpy.testing.assert_allclose(out, numpy.exp([1, 2]), rtol=1e-6)
    assert numpy.cumsum(x, out=out) is out
    assert out.tolist() == [1, 3]
    counts = numpy.zeros(3)
    numpy.add.at(counts, np.array([0, 2, 2]), np.array([1.0, 1.0, 1.0]))
    assert counts.tolist() == [1, 0, 2]


def test_what_only_numpy_has_is_numpys() -> None:
    x, objects = np.arange(2), numpy.array(["a", None], object)
    # A call that matplotlib makes for bars.
    one, other = numpy.broadcast_arrays(x, objects)
    assert type(one) is type(other) is numpy.ndarray
    assert one.tolist() == [0, 1] and other.tolist() == ["a", None]
    hatched = numpy.broadcast_arrays(x, 0.5, None)
    assert [part.tolist() for part in hatched] == [[0, 1], [0.5, 0.5], [None, None]]
    assert numpy.where(np.array([True, False]), "a", "b").tolist() == ["a", "b"]
    with pytest.raises(TypeError):
        numpy.mean(x, axis="first")  # type: ignore[call-overload]
    assert numpy.concatenate([x, objects]).tolist() == [0, 1, "a", None]
    assert numpy.where(np.array([True, False]), objects, "b").tolist() == ["a", "b"]
    days = numpy.array(["2020-01-01", "2020-01-02"], "datetime64[D]") + x
    assert days.astype(str).tolist() == ["2020-01-01", "2020-01-03"]
    assert (numpy.datetime64("2020-01-01") + x).astype(str).tolist() == ["2020-01-01", "2020-01-02"]
    assert (numpy.array([1, 2], object) * x).tolist() == [0, 2]


def test_numpys_generators_permute_a_copy() -> None:
    x = np.arange(10)
    permuted = numpy.random.default_rng(0).permutation(x)
    assert sorted(permuted.tolist()) == x.tolist() == list(range(10))
    assert numpy.may_share_memory(numpy.asarray(x), x)
    assert not numpy.shares_memory(numpy.arange(10), x)


def test_bars_are_drawn() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, axes = plt.subplots()
    bars = axes.bar(np.arange(3), np.array([1, 2, 3]))
    assert [bar.get_height() for bar in bars] == [1, 2, 3]
    axes.barh(np.arange(3), np.array([1, 2, 3]))
    plt.close(figure)


def test_an_array_is_no_key_and_no_function() -> None:
    """Table libraries treat hashable objects as keys and callables as functions: an array is neither."""
    x = np.array([True, False])
    assert not isinstance(x, Hashable) and not callable(x)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert isinstance(x, Iterable) and isinstance(x, Sized)
    assert numpy.asarray(x).dtype == bool and numpy.asarray(np.arange(2), dtype=numpy.intp).tolist() == [0, 1]


def test_operators_leave_the_turn_to_pandas_classes() -> None:
    class Series:
        """The part of the protocol that pandas classes have."""

        __pandas_priority__ = 3000

        def __array__(self, dtype: Any = None, copy: Any = None) -> numpy.ndarray:
            return numpy.ones(2)

        def __rand__(self, other: Any) -> str:
            return "and"

        def __radd__(self, other: Any) -> str:
            return "add"

        def __lt__(self, other: Any) -> str:
            return "less"

    x: Any = np.array([True, False])
    assert (x & Series(), x + Series(), x > Series()) == ("and", "add", "less")


def test_pandas_takes_arrays_as_docs_say() -> None:
    """The table of docs/numpy.md."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2, 3, 4]})
    x, mask, keys = np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, False, True, False]), np.array([0, 1, 0, 1])
    assert pandas.Series(x).tolist() == frame.assign(b=x)["b"].tolist() == [1.0, 2.0, 3.0, 4.0]
    assert frame.iloc[keys]["a"].tolist() == frame.loc[keys]["a"].tolist() == [1, 2, 1, 2]
    assert frame[(frame["a"] > 1) & mask]["a"].tolist() == frame[mask & (frame["a"] > 1)]["a"].tolist() == [3]
    assert frame["a"].where(mask, 0).tolist() == [1, 0, 3, 0]
    assert frame[mask.asnumpy()]["a"].tolist() == frame.iloc[mask.asnumpy()]["a"].tolist() == [1, 3]
    assert frame.groupby(keys.asnumpy())["a"].sum().tolist() == [4, 6]
    with pytest.raises(KeyError):
        frame[mask]
    with pytest.raises(TypeError, match="not callable"):
        frame.groupby(keys).sum()
