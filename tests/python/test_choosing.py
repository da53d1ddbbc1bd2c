"""Functions that select or write elements by conditions and positions, compared with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import autograd, np

SHAPES = [(), (0,), (5,), (3, 4), (2, 0), (2, 3, 2)]


def numbers(shape: tuple[int, ...], dtype: str = "float32") -> numpy.ndarray:
    made = numpy.arange(int(numpy.prod(shape))) * 7 % 5 - 1
    return made.astype(dtype).reshape(shape)


def same(got: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        assert isinstance(got, tuple) and len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            same(one, other)
        return
    read = got.asnumpy()
    wanted = numpy.asarray(wanted)
    assert (read.shape, read.dtype) == (wanted.shape, wanted.dtype)
    numpy.testing.assert_array_equal(read, wanted)


def views(x: numpy.ndarray) -> list[tuple[Any, numpy.ndarray]]:
    """Return an array as it is, transposed, and with every second row in reverse."""
    found = [(np.array(x), x), (np.array(x).T, x.T)]
    if x.ndim > 0:
        found.append((np.array(x)[::-2], x[::-2]))
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "uint8"])
def test_where_elements_are_not_zero(shape: tuple[int, ...], dtype: str) -> None:
    for mine, theirs in views(numbers(shape, "int64").clip(0, 1).astype(dtype)):
        same(np.argwhere(mine), numpy.argwhere(theirs))
        same(np.flatnonzero(mine), numpy.flatnonzero(theirs))
        if theirs.ndim > 0:
            same(np.nonzero(mine), numpy.nonzero(theirs))
            same(mine.nonzero(), theirs.nonzero())
            same(np.where(mine), numpy.where(theirs))
    if shape == ():
        with pytest.raises(ValueError, match="without dimensions"):
            np.nonzero(np.array(1))


@pytest.mark.parametrize("shape", SHAPES)
def test_compress_and_extract(shape: tuple[int, ...]) -> None:
    for mine, theirs in views(numbers(shape)):
        same(np.extract(mine > 0, mine), numpy.extract(theirs > 0, theirs))
        for axis in [None, *range(-theirs.ndim, theirs.ndim)]:
            extent = theirs.size if axis is None else theirs.shape[axis]
            condition = numpy.arange(extent) % 2 == 0
            for short in (condition, condition[:-1], numpy.append(condition, False)):
                wanted = numpy.compress(short, theirs, axis)
                same(np.compress(np.array(short), mine, axis), wanted)
                same(
                    mine.compress(short.tolist(), axis) if short.size else mine.compress(np.array(short), axis), wanted
                )
    with pytest.raises(IndexError):
        np.compress([True], np.ones((2,)), axis=1)
    with pytest.raises(ValueError, match="one dimension"):
        np.compress(np.ones((2, 2)), np.ones((2,)))


def test_select() -> None:
    x = numbers((3, 4), "int64")
    a = np.array(x)
    same(np.select([a > 1, a < 0], [a, a * 10], 7), numpy.select([x > 1, x < 0], [x, x * 10], 7))
    same(np.select([a > 1, a > 0], [a[0], 3]), numpy.select([x > 1, x > 0], [x[0], 3]))
    with pytest.raises(ValueError, match="1 conditions for 2 choices"):
        np.select([a > 1], [a, a])
    with pytest.raises(TypeError, match="conditions must be boolean"):
        np.select([a], [a])


def test_piecewise() -> None:
    x = numbers((3, 4))
    a = np.array(x)

    def functions(np: Any) -> list[Any]:
        return [lambda x: -x, lambda x: np.exp(x) * 0 + 5, 3]

    same(np.piecewise(a, [a < 0, a > 1], functions(np)), numpy.piecewise(x, [x < 0, x > 1], functions(numpy)))
    same(np.piecewise(a, [a < 0], [1]), numpy.piecewise(x, [x < 0], [1]))
    same(np.piecewise(a[0], a[0] < 0, [1, 2]), numpy.piecewise(x[0], x[0] < 0, [1, 2]))
    same(np.piecewise(a, [a < 0], [lambda x, k: x * k], 3), numpy.piecewise(x, [x < 0], [lambda x, k: x * k], 3))
    with pytest.raises(ValueError, match="1 or 2 functions"):
        np.piecewise(a, [a < 0], [1, 2, 3])


def test_choose() -> None:
    named = numpy.array([[0, 2], [1, 0]])
    choices: list[Any] = [numbers((2, 2)), numpy.float32(5), numbers((2,))]
    ours = [np.array(choices[0]), 5, np.array(choices[2])]
    same(np.choose(np.array(named), ours), numpy.choose(named, choices))
    same(np.array(named).choose(ours), named.choose(choices))
    table = numbers((3, 2), "int64")
    same(np.choose(np.array([2, 0]), np.array(table)), numpy.choose([2, 0], table))
    for mode in ("clip", "wrap"):
        wide = numpy.array([-4, 7])
        same(np.choose(np.array(wide), np.array(table), mode=mode), numpy.choose(wide, table, mode=mode))
    for bad in (-1, 3):
        failed = np.choose(np.array([bad, 0]), np.array(table))
        with pytest.raises(IndexError):
            failed.asnumpy()
    with pytest.raises(ValueError, match="mode must be"):
        np.choose(np.array([0]), [1], mode="bend")


def test_ix() -> None:
    x = numbers((3, 4, 2))
    a = np.array(x)
    for args in ([[0, 2], [1], [0, 1]], [[0, 2], [True, False, True, True], [1, 1]], [[], [1]]):
        same(a[np.ix_(*args)], x[numpy.ix_(*args)])
    with pytest.raises(ValueError, match="one dimension"):
        np.ix_([[1]])


Written = Callable[[Any, Any, Callable[[Any], Any]], None]


def put_mask(np: Any, x: Any, array: Callable[[Any], Any]) -> None:
    np.putmask(x, x > 0, array([-5, -6, -7]).astype(x.dtype))
    np.putmask(x, x < -5, 9)


def place(np: Any, x: Any, array: Callable[[Any], Any]) -> None:
    np.place(x, x > 0, [44, 55, 66])
    np.place(x, x < 0, 2)


def copy(np: Any, x: Any, array: Callable[[Any], Any]) -> None:
    np.copyto(x, 3, where=x > 1)
    np.copyto(x, x * 2, where=x < 0)


def put(np: Any, x: Any, array: Callable[[Any], Any]) -> None:
    if x.size:
        np.put(x, [0, -1, 0], [5, 6, 7])
        np.put(x, array([2, 99]), array([8]), mode="clip")
        np.put(x, array([[-7], [99]]), [1, 2, 3], mode="wrap")


def flat(np: Any, x: Any, array: Callable[[Any], Any]) -> None:
    x.flat[::2] = [1, 2]
    if x.size:
        x.flat[-1] = 9
        x.flat[[0]] = 4


def everywhere(np: Any, x: Any, array: Callable[[Any], Any]) -> None:
    if x.size:
        x.flat = [3, 1]


def fill(np: Any, x: Any, array: Callable[[Any], Any]) -> None:
    x.fill(6)


@pytest.mark.parametrize("write", [put_mask, place, copy, put, flat, everywhere, fill])
@pytest.mark.parametrize("shape", [(0,), (5,), (3, 4), (2, 3, 2), (2, 0)])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_writing(write: Written, shape: tuple[int, ...], dtype: str) -> None:
    looks: list[Callable[[Any], Any]] = [lambda x: x, lambda x: x.T, lambda x: x[::-2]]
    for look in looks:
        x = numbers(shape, dtype)
        a = np.array(x)
        write(numpy, look(x), numpy.array)
        write(np, look(a), np.array)
        same(a, x)


def test_what_cannot_be_written() -> None:
    x = np.zeros((3,), dtype="int64")
    with pytest.raises(TypeError, match="cannot cast float32 to int64"):
        np.copyto(x, np.ones((3,)))
    np.copyto(x, np.full((3,), 2.5), casting="unsafe")
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="according to the rule 'no'"):
        np.copyto(x, np.ones((3,), dtype="int32"), casting="no")
    with pytest.raises(ValueError, match="at least one value"):
        np.place(x, x > 0, [])
    with pytest.raises(ValueError, match="one size"):
        np.place(x, [True], [1])
    with pytest.raises(TypeError, match="needs an array to write to"):
        np.put([1, 2], [0], 1)  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="empty array"):
        np.put(np.zeros((0,)), [0], 1)
    np.put(x, [7], 1)
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        x.asnumpy()


def test_going_through_elements() -> None:
    x = numbers((2, 3))
    a = np.array(x)
    assert [element.item() for element in a.flat] == list(x.flat)
    assert len(a.flat) == 6
    same(a.flat[1:4], x.flat[1:4])
    same(a.T.flat[[0, -1]], x.T.flat[[0, -1]])
    same(a.flat.copy(), x.flat.copy())
    numpy.testing.assert_array_equal(numpy.asarray(a.T.flat), x.T.ravel())
    assert [(place, element.item()) for place, element in np.ndenumerate(a)] == list(numpy.ndenumerate(x))
    assert list(np.ndindex(2, 3)) == list(numpy.ndindex(2, 3))
    assert list(np.ndindex((2, 0))) == [] and list(np.ndindex()) == [()]
    with pytest.raises(IndexError, match="one dimension"):
        a.flat[0, 0]
    with pytest.raises(ValueError, match="negative"):
        np.ndindex(-1)


def test_gradients() -> None:
    x, values = np.array([3.0, -1.0, 2.0, -4.0]), np.array([10.0, 20.0])
    x.attach_grad()
    values.attach_grad()
    with autograd.record():
        y = x * 1
        np.place(y, x < 0, values)
        out = (
            (y * y).sum()
            + (np.compress(x > 0, x) * np.array([2.0, 3.0])).sum()
            + np.choose(np.array([0, 1, 0, 1]), [x, 0]).sum()
        )
    out.backward()
    assert x.grad is not None and values.grad is not None
    assert x.grad.tolist() == [6 + 2 + 1, 0, 4 + 3 + 1, 0]
    assert values.grad.tolist() == [20, 40]
