"""Corner cases of the array API standard that random arguments rarely reach, compared with NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from forerun import autograd, np, npx

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def same(got: np.ndarray, want: Any) -> None:
    want = numpy.asarray(want)
    assert (got.shape, got.dtype.name) == (want.shape, want.dtype.name)
    numpy.testing.assert_array_equal(got.asnumpy(), want)


@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, "float32", "float64"])
@pytest.mark.parametrize("name", ["sum", "prod"])
def test_a_total_has_the_dtype_that_was_asked_for(name: str, dtype: str) -> None:
    for x in (numpy.arange(200).reshape(4, 50) % 3, numpy.full((), 1), numpy.zeros((0, 2))):
        mine = np.asarray(x.astype("uint8"))
        for axis in (None, *range(x.ndim)):
            want = getattr(numpy, name)(x.astype("uint8"), axis=axis, dtype=dtype)
            same(getattr(np, name)(mine, axis=axis, dtype=dtype), want)
    assert getattr(np.ones((2,), dtype="int8"), name)().dtype.name == "int64"


def test_a_total_in_a_narrow_dtype_wraps_as_in_numpy() -> None:
    x = numpy.full(300, 7, "int32")
    same(np.sum(np.asarray(x), dtype="int8"), numpy.sum(x, dtype="int8"))
    same(np.prod(np.asarray(x), dtype="uint16"), numpy.prod(x, dtype="uint16"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_has_a_sign(dtype: str) -> None:
    x = numpy.array([math.nan, math.copysign(math.nan, -1), 0.0, -0.0, -1.0, math.inf, -math.inf] * 9, dtype)
    mine = np.asarray(x)
    same(np.signbit(mine), numpy.signbit(x))
    same(np.signbit(-mine), numpy.signbit(-x))
    same(np.copysign(np.ones(x.shape, dtype=dtype), mine), numpy.copysign(numpy.ones(x.shape, dtype), x))
    same(np.signbit(np.copysign(mine, -1.0)), numpy.ones(x.shape, bool))


def test_bounds_have_two_names() -> None:
    x = numpy.arange(-5, 5)
    mine = np.asarray(x)
    same(np.clip(mine, -1, 2), x.clip(-1, 2))
    same(np.clip(mine, min=-1, max=2), x.clip(-1, 2))
    same(np.clip(mine, a_min=-1, a_max=2), x.clip(-1, 2))
    same(np.clip(mine, -1, a_max=2), x.clip(-1, 2))
    same(np.clip(mine, max=np.asarray(x) * 0), x.clip(max=0))
    same(np.clip(mine), x)
    with pytest.raises(ValueError, match="min and a_min are the same bound"):
        np.clip(mine, 1, a_min=1)


def test_reshape_says_whether_it_copies() -> None:
    x = np.arange(6)
    x[0] = 7
    view = np.reshape(x, (2, 3), copy=False)
    x[0] = 9
    assert view.tolist() == [[9, 1, 2], [3, 4, 5]]
    apart = np.reshape(x, (2, 3), copy=True)
    x[0] = 1
    assert apart.tolist() == [[9, 1, 2], [3, 4, 5]]
    turned = np.reshape(x, (2, 3)).T
    assert np.reshape(turned, (6,)).tolist() == np.reshape(turned, (6,), copy=True).tolist() == [1, 3, 1, 4, 2, 5]
    with pytest.raises(ValueError, match=r"\(3, 2\) to \(6,\) requires a copy"):
        np.reshape(turned, (6,), copy=False)
    assert np.reshape(np.zeros((0, 3)), (3, 0), copy=False).shape == (3, 0)


def test_astype_goes_to_a_device() -> None:
    x = np.astype(np.ones((2,)), "int32", device=npx.cpu(0))
    assert (x.dtype.name, x.device, x.tolist()) == ("int32", npx.cpu(0), [1, 1])


def test_counts_may_be_arrays() -> None:
    x = numpy.arange(6).reshape(2, 3)
    mine = np.asarray(x)
    for dtype in INTEGERS[:4]:
        counts = numpy.array([2, 0, 1], dtype)
        same(np.repeat(mine, np.asarray(counts), axis=1), numpy.repeat(x, counts, axis=1))
        same(mine.repeat(np.asarray(counts), 1), numpy.repeat(x, counts, axis=1))
    for one in ([2], np.array([2]), np.array(2), numpy.int64(2), 2):
        same(np.repeat(mine, one), numpy.repeat(x, 2))
        same(np.repeat(mine, one, axis=-1), numpy.repeat(x, 2, axis=-1))
    same(np.repeat(np.zeros((0,)), np.zeros((0,), dtype="int64")), numpy.zeros(0, "float32"))
    same(np.repeat(np.array(3), 2), numpy.repeat(3, 2))
    with pytest.raises(ValueError, match="2 counts for 3 elements along axis 1"):
        np.repeat(mine, np.array([1, 2]), axis=1)
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        np.repeat(mine, np.array([1, -1]), axis=0)
    with pytest.raises(ValueError, match="at most one dimension"):
        np.repeat(mine, np.ones((1, 1), dtype="int64"))
    with pytest.raises(TypeError):
        np.repeat(mine, np.array([1.0]))


def test_counts_in_arrays_have_gradients() -> None:
    x = np.array([1.0, 2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        y = (np.repeat(x, np.array([2, 0, 1])) * np.array([1.0, 10.0, 100.0])).sum()
    y.backward()
    assert x.grad is not None and x.grad.tolist() == [11.0, 0.0, 100.0]


@pytest.mark.parametrize("k", [0, 1, -2, 5, -5, 2**70, -(2**70)])
def test_diagonals_far_out(k: int) -> None:
    for rows, columns in ((3, 4), (4, 3), (0, 2), (2, 0)):
        near = max(-9, min(k, 9))
        same(np.eye(rows, columns, k), numpy.eye(rows, columns, near, "float32"))


def test_arrays_like_others() -> None:
    for like in (numpy.ones((2, 3), "int16"), numpy.float64(2), [[1, 2]], np.ones((2,)), 3):
        for name in ("zeros_like", "ones_like", "empty_like"):
            made = getattr(np, name)(like)
            assert (made.shape, made.dtype.name) == (np.asarray(like).shape, np.asarray(like).dtype.name)
        assert np.full_like(like, 5).tolist() == numpy.full(numpy.shape(like), 5).tolist()


def test_masks_without_elements_name_nothing() -> None:
    x = numpy.arange(24).reshape(2, 3, 4)
    for shape in ((0,), (2, 0), (0, 3), (0, 0), (2, 3, 0), (2, 0, 4)):
        nothing = numpy.zeros(shape, bool)
        same(np.asarray(x)[np.asarray(nothing)], x[nothing])
        mine = np.asarray(x)
        mine[np.asarray(nothing)] = 7
        same(mine, x)
    for shape in ((0, 2), (3, 0), (1,)):
        with pytest.raises(IndexError, match="boolean index did not match"):
            np.asarray(x)[np.zeros(shape, dtype=bool)]


def test_many_dimensions() -> None:
    most = 32
    x = numpy.arange(256.0, dtype="float32")
    many = x.reshape((2, 1, 1, 1) * 8)
    mine = np.reshape(np.asarray(x), many.shape)
    assert mine.ndim == most
    same(mine, many)
    order = list(reversed(range(most)))
    same(np.permute_dims(mine, order), many.transpose(order))
    same(np.permute_dims(mine, order) + mine, many.transpose(order) + many)
    same(np.permute_dims(mine, order).reshape(-1), many.transpose(order).reshape(-1))
    same(mine.sum(tuple(range(0, most, 8))), many.sum(tuple(range(0, most, 8))))
    assert (mine.sum().item(), mine.max().item(), np.mean(mine).item()) == (many.sum(), many.max(), many.mean())
    same(np.sum(mine, keepdims=True), many.sum(keepdims=True))
    same(mine[(0,) * 20], many[(0,) * 20])
    same(mine[..., 0, 0, 0], many[..., 0, 0, 0])
    same(np.flip(mine, axis=4), numpy.flip(many, axis=4))
    same(np.broadcast_to(np.asarray(x[:2]), (1,) * 31 + (2,)), numpy.broadcast_to(x[:2], (1,) * 31 + (2,)))
    same(np.concat([mine, mine], axis=28), numpy.concat([many, many], axis=28))
    for deeper in (lambda: np.expand_dims(mine, 0), lambda: mine.reshape((1, *mine.shape)), lambda: np.stack([mine])):
        with pytest.raises((ValueError, IndexError), match="at most 32"):
            deeper()
