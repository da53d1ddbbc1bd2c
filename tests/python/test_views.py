"""Views share their elements: a write through one is visible in the others, as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.extra.numpy as arrays
import hypothesis.strategies as st
import numpy
import pytest

from forerun import np

Program = Callable[[Any], None]


def shift_right(x: Any) -> None:
    x[1:] = x[:-1]


def shift_left(x: Any) -> None:
    x[:-1] = x[1:]


def reverse(x: Any) -> None:
    x[:] = x[::-1]


def write_reversed(x: Any) -> None:
    x[::-1][0] = 100


def write_transposed(x: Any) -> None:
    x.T[0] = 7


def add_to_transposed(x: Any) -> None:
    y = x.T
    y += x.T


def add_own_transpose(x: Any) -> None:
    x += x.T


def in_place_through_views(x: Any) -> None:
    y = x[1:]
    z = y[:, ::2]
    z *= -1
    y += 10


def chain_of_views(x: Any) -> None:
    x[0][1:][0] = 5
    x[..., None][1, :, 0][::2] = 9


def broadcast_write(x: Any) -> None:
    x[1:3] = x[0]
    x[:, 0] = 1.5


def scalars(x: Any) -> None:
    x[2, 3] = 42
    x[-1, -1] += 1


def reshaped(x: Any) -> None:
    y = x.reshape(2, -1)
    y[1] = 0
    y.ravel()[0] = 8


def squeezed(x: Any) -> None:
    y = x[None, :, None].squeeze()
    y[0] = 3


PROGRAMS: list[Program] = [
    shift_right,
    shift_left,
    reverse,
    write_reversed,
    write_transposed,
    add_to_transposed,
    add_own_transpose,
    in_place_through_views,
    chain_of_views,
    broadcast_write,
    scalars,
    reshaped,
    squeezed,
]


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_aliasing(program: Program, dtype: str) -> None:
    theirs = numpy.arange(16).astype(dtype).reshape(4, 4)
    mine = np.array(theirs)
    program(theirs)
    program(mine)
    numpy.testing.assert_array_equal(mine.asnumpy(), theirs)


def test_a_view_sees_later_writes() -> None:
    x = np.zeros((3,))
    view = x[1:]
    x += 1
    assert view.tolist() == [1.0, 1.0]
    x[2] = 5
    assert view.tolist() == [1.0, 5.0]


def test_a_copy_does_not() -> None:
    x = np.zeros((3,))
    kept = [x.copy(), x.flatten(), +x, np.array(x), x.astype("float32")]
    x += 1
    assert [y.tolist() for y in kept] == [[0.0] * 3] * len(kept)


def test_results_do_not_change_with_their_inputs() -> None:
    x = np.zeros((1000,))
    y = x + 1
    x += 5
    z = x + 1
    assert (float(y.max()), float(z.max())) == (1.0, 6.0)


def test_rows() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    for row in x:
        row *= 2
    assert x.tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert [float(v) for v in x[0]] == [2.0, 4.0]
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(np.ones(()))


def test_a_broadcast_view_repeats() -> None:
    x = np.array([1.0, 2.0])
    y = np.broadcast_to(x, (3, 2))
    assert y.tolist() == [[1.0, 2.0]] * 3
    assert (y + 1).sum().item() == 15.0


@pytest.mark.parametrize("index", [5, (0, 9), -5])
def test_indices_out_of_bounds(index: Any) -> None:
    x = np.ones((4, 4))
    with pytest.raises(IndexError, match="out of bounds"):
        x[index]


def test_indices_that_name_nothing() -> None:
    x = np.ones((4,))
    with pytest.raises(IndexError, match="only integers, slices, None, Ellipsis and arrays"):
        x[1.5]  # type: ignore[index]
    with pytest.raises(IndexError):
        x[0, 0]
    with pytest.raises(ValueError, match="step cannot be zero"):
        x[::0]


def test_an_array_as_index() -> None:
    x = np.arange(10)
    assert x[np.array(3)].item() == 3
    assert x[numpy.int64(4)].item() == 4
    assert x[2 : np.array(5)].tolist() == [2, 3, 4]
    assert x[-(10**30) : 10**30].size == 10


@hypothesis.given(st.data())
def test_any_basic_index_reads_and_writes(data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(min_dims=1, max_dims=4, max_side=5))
    index = data.draw(arrays.basic_indices(shape, allow_newaxis=True))
    theirs = numpy.arange(numpy.prod(shape)).reshape(shape)
    mine = np.array(theirs)
    got = mine[index]
    assert got.shape == theirs[index].shape
    numpy.testing.assert_array_equal(got.asnumpy(), theirs[index])
    theirs[index] = -1
    mine[index] = -1
    numpy.testing.assert_array_equal(mine.asnumpy(), theirs)
    theirs[index] += theirs[index]
    mine[index] += mine[index]
    numpy.testing.assert_array_equal(mine.asnumpy(), theirs)
