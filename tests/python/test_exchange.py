"""Exchange with NumPy and with Python's numbers and lists."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy
import pytest

from forerun import np

DTYPES = ["bool", "int32", "int64", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_arrays_keep_their_dtype(dtype: str) -> None:
    x = np.array(numpy.ones((2, 3), dtype))
    assert x.dtype == dtype
    assert x.asnumpy().dtype == dtype
    assert x.shape == (2, 3)


def test_dtypes_of_lists_and_numbers() -> None:
    assert np.array([1.0, 2.0]).dtype == np.float32
    assert np.array(1.5).dtype == np.float32
    assert np.array([1, 2]).dtype == np.int64
    assert np.array([True, False]).dtype == np.bool_
    assert np.array([[1, 2.5]]).dtype == np.float32
    assert np.array([1, 2], dtype="float64").dtype == np.float64
    assert np.array([], dtype=np.int32).dtype == np.int32
    assert np.array(numpy.float64(1)).dtype == np.float64
    assert np.ones((2,)).dtype == np.zeros((2,)).dtype == np.float32
    assert np.full((2,), 3).dtype == np.int64


def test_dtypes_by_their_names() -> None:
    for name in DTYPES:
        ours = np.dtype(name)
        assert ours == name == numpy.dtype(name)
        assert ours == numpy.dtype(name).type
        assert numpy.zeros(2, dtype=ours).dtype == name
        assert ours.itemsize == numpy.dtype(name).itemsize
        assert hash(ours) == hash(np.dtype(name))
    assert np.dtype(float) == np.float64
    assert np.dtype(int) == np.int64
    assert np.dtype(bool) == np.bool_
    assert np.float32 != np.float64
    assert np.float64(2).dtype == np.float64
    with pytest.raises(TypeError, match="dtype complex256 is not supported"):
        np.zeros((2,), dtype="complex256")
    with pytest.raises(TypeError, match="datetime64"):
        np.array(numpy.zeros(2, "datetime64[s]"))
    assert np.array(numpy.zeros(2, "uint8"), dtype="int32").dtype == np.int32


def test_what_comes_in_is_copied() -> None:
    source = numpy.zeros(1000, "float32")
    x = np.array(source)
    source[:] = 1
    assert x.sum().item() == 0.0


def test_what_goes_out_is_a_read_only_snapshot() -> None:
    x = np.arange(10)
    before = x.asnumpy()
    assert not before.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        before[0] = 1
    x += 1
    x[3] = 100
    y = x * 2
    y.wait_to_read()
    assert before.tolist() == list(range(10))
    del x, y
    for _ in range(100):
        np.ones((10,)).wait_to_read()
    assert before.tolist() == list(range(10))


def test_a_snapshot_of_a_large_array_outlives_it() -> None:
    x = np.ones((1000, 1000))
    x += 1
    before = x.asnumpy()
    for _ in range(20):
        x *= 3
    del x
    churn = [np.zeros((1000, 1000)) + i for i in range(5)]
    assert churn[-1].sum().item() == 4e6
    assert (before == 2).all()


def test_a_snapshot_of_a_view_has_its_strides() -> None:
    x = np.arange(12).reshape(3, 4)
    for view in [x.T, x[::-1], x[:, 1:3], x[1], np.broadcast_to(x, (2, 3, 4)), x[::2, ::-2]]:
        numpy.testing.assert_array_equal(numpy.asarray(view), view.asnumpy())
    numpy.testing.assert_array_equal(x.T.asnumpy(), numpy.arange(12).reshape(3, 4).T)
    numpy.testing.assert_array_equal(x[::2, ::-2].asnumpy(), numpy.arange(12).reshape(3, 4)[::2, ::-2])


def test_numpys_conversion() -> None:
    x = np.array([1.0, 2.0])
    assert numpy.asarray(x).dtype == numpy.float32
    assert numpy.asarray(x, dtype="float64").dtype == numpy.float64
    assert numpy.array(x).flags.writeable
    assert numpy.sqrt(x).tolist() == numpy.sqrt(numpy.array([1.0, 2.0], "float32")).tolist()
    with pytest.raises(ValueError, match="avoid copy"):
        numpy.asarray(x, dtype="float64", copy=False)


def test_scalars() -> None:
    assert np.array([[3]]).item() == 3
    assert type(np.array(3).item()) is int
    assert type(np.array(3.5).item()) is float
    assert np.array(True).item() is True
    assert np.arange(6).reshape(2, 3).item(1, 2) == 5
    assert float(np.array([2.5])) == 2.5
    assert int(np.array(-2.5)) == -2
    assert range(5)[np.array(2)] == 2
    assert bool(np.array([0.5])) and not bool(np.array(0))
    assert np.arange(6).reshape(2, 3).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="item"):
        np.ones((2,)).item()
    with pytest.raises(ValueError, match=r"shape \(2,\) is ambiguous"):
        bool(np.ones((2,)))
    with pytest.raises(TypeError, match="0-d integer"):
        range(5)[np.array(2.0)]
    with pytest.raises(TypeError, match="unhashable"):
        hash(np.ones((2,)))


def test_attributes() -> None:
    x = np.zeros((2, 3), dtype="float64")
    assert (x.size, x.ndim, x.itemsize, x.nbytes, len(x)) == (6, 2, 8, 48, 2)
    assert repr(x.device) == "cpu(0)" == repr(x.ctx)
    assert x.as_in_ctx(x.device) is x
    assert x.T.shape == (3, 2)
    with pytest.raises(TypeError, match="0-d"):
        len(np.array(1))


@hypothesis.given(
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=5))
    ),
    st.randoms(),
)
def test_round_trip(sample: numpy.ndarray, generator: random.Random) -> None:
    axes = list(range(sample.ndim))
    generator.shuffle(axes)
    view = sample.transpose(axes)[(slice(None, None, generator.choice([-1, 1, 2])),) if sample.ndim else ()]
    numpy.testing.assert_array_equal(np.array(view).asnumpy(), view)
    assert np.array(view).asnumpy().tobytes() == view.tobytes()


NUMBERS = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(width=32), st.floats(), st.sampled_from([0, 1, -1, 2.5])
)
SHAPES = st.lists(st.integers(0, 3), max_size=4)


@hypothesis.given(st.data(), SHAPES)
def test_lists_are_read_as_numpy_reads_them(data: st.DataObject, shape: list[int]) -> None:
    leaves = data.draw(st.sampled_from([NUMBERS, st.booleans(), st.integers(-5, 5), st.floats(width=32)]))

    def nested(extents: list[int]) -> object:
        if not extents:
            return data.draw(leaves)
        items = [nested(extents[1:]) for _ in range(extents[0])]
        return tuple(items) if data.draw(st.booleans()) else items

    value = nested(shape)
    expected = numpy.asarray(value)
    if expected.dtype == "float64":
        with numpy.errstate(over="ignore", invalid="ignore"):
            expected = expected.astype("float32")
    for made in [np.array(value), np.asarray(value)]:
        assert made.dtype == expected.dtype and made.shape == expected.shape
        assert made.asnumpy().tobytes() == expected.tobytes() or numpy.isnan(expected).any()
        numpy.testing.assert_array_equal(made.asnumpy(), expected)
    for dtype in ["float64", "float32", "int64", "bool"]:
        with numpy.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wide = numpy.asarray(value).astype(dtype)
        if expected.dtype.kind != "f" or dtype.startswith("f"):
            numpy.testing.assert_array_equal(np.array(value, dtype=dtype).asnumpy(), wide)


def test_lists_that_are_no_arrays() -> None:
    deep: list[object] = []
    for _ in range(33):
        deep = [deep]
    for ragged in [[1, [2]], [[1, 2], [3]], [[1], 2], deep, [1, "x"], [1, None]]:
        with pytest.raises((ValueError, TypeError)):
            np.array(ragged)
    with pytest.raises((OverflowError, TypeError)):
        np.array([2**70])
    assert np.array([numpy.float64(1), 2.0]).dtype == np.float64
    assert np.array([np.ones((2,)), [2.0, 3.0]]).tolist() == [[1.0, 1.0], [2.0, 3.0]]


def test_elements_by_position() -> None:
    a = numpy.arange(24).reshape(2, 3, 4)
    for x, expected in [(np.array(a), a), (np.array(a).T, a.T), (np.array(a)[:, ::-1], a[:, ::-1])]:
        for index in [0, -1, (1,), (0, -2), (1, 2, -1), (), (-2, 0, 0)]:
            numpy.testing.assert_array_equal(x[index].asnumpy(), expected[index])
            assert x[index].shape == expected[index].shape
        for index in [5, -6, (0, 0, 9), (0, -7)]:
            with pytest.raises(IndexError):
                x[index]
            with pytest.raises(IndexError):
                x[index] = 1
        with pytest.raises(IndexError, match="too many indices"):
            x[0, 0, 0, 0]
        y, copied = x.copy(), expected.copy()
        y[1, -1] = copied[1, -1] = 7
        y[-1] += 1
        copied[-1] += 1
        numpy.testing.assert_array_equal(y.asnumpy(), copied)
        assert [row.tolist() for row in y] == copied.tolist()
        assert y.item(1, 0, 0) == copied.item(1, 0, 0)


BYTES = numpy.array([0, 1, 2, 255, 128, 0], "uint8")


class _Lent:
    """Exports booleans with bytes other than 0 and 1 through DLPack."""

    def __dlpack__(self, **asked: Any) -> Any:
        return BYTES.view("bool").__dlpack__(**asked)

    def __dlpack_device__(self) -> Any:
        return BYTES.__dlpack_device__()


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.array(BYTES.view("bool")),
        lambda: np.array(BYTES.view("bool")[::-1])[::-1],
        lambda: np.array(memoryview(BYTES.view("bool"))),
        lambda: np.asarray(BYTES.view("bool").reshape(2, 3).T).T.reshape(-1),
        lambda: np.frombuffer(BYTES.tobytes(), "bool"),
        lambda: np.from_dlpack(_Lent()),
        lambda: np.concatenate([np.array(BYTES.view("bool")[:1]), np.array(BYTES.view("bool")[1:])]),
    ],
)
def test_any_byte_but_zero_is_true(make: Callable[[], np.ndarray]) -> None:
    x = make()
    assert x.dtype == "bool"
    assert x.asnumpy().view("uint8").tolist() == [0, 1, 1, 1, 1, 0]
    assert x.sum().item() == 4
    assert (~x).tolist() == [True, False, False, False, False, True]
    assert x.astype("int64").tolist() == [0, 1, 1, 1, 1, 0]


def test_any_byte_but_zero_is_true_where_it_is_written() -> None:
    x = np.zeros((6,), "bool")
    x[:] = BYTES.view("bool")
    assert (x.sum().item(), np.where(BYTES.view("bool"), 1, 0).sum().item()) == (4, 4)
    assert np.arange(6)[BYTES.view("bool")].tolist() == [1, 2, 3, 4]
