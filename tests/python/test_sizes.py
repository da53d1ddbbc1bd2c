"""Results of impossible sizes raise at the call, with a message, without allocating anything of that size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import np

IMPOSSIBLE: dict[str, Callable[[], Any]] = {
    "tile": lambda: np.tile(np.ones((2,)), 2**62),
    "resize": lambda: np.resize(np.ones((2,)), 2**62),
    "repeat": lambda: np.repeat(np.arange(5), [2**62] * 5),
    "repeat of one count": lambda: np.repeat(np.arange(5), 2**62),
    "tril_indices": lambda: np.tril_indices(2**31),
    "triu_indices": lambda: np.triu_indices(2**31),
    "array_split": lambda: np.array_split(np.arange(3), 2**64),
    "split": lambda: np.split(np.zeros((0,)), 2**64),
    "polyint": lambda: np.polyint(np.ones((3,)), 2**40),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_sizes_are_refused_at_once(name: str) -> None:
    with pytest.raises(MemoryError, match=f"{name.split()[0]}: cannot allocate [0-9]+ bytes"):
        IMPOSSIBLE[name]()


def test_what_is_no_equal_division_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="equal parts"):
        np.split(np.arange(3), 2**64)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (1, 3), (2, 1, 3), (2, 0)])
@pytest.mark.parametrize("reps", [0, 1, 2, (2,), (1, 3), (3, 1), (2, 1, 2), (0, 2), (2, 2, 2, 2)])
def test_tile(shape: tuple[int, ...], reps: Any) -> None:
    values = numpy.arange(numpy.prod(shape), dtype="int64").reshape(shape)
    numpy.testing.assert_array_equal(np.tile(np.array(values), reps), numpy.tile(values, reps))


def test_tile_of_many_dimensions() -> None:
    values = numpy.arange(2**17, dtype="int32").reshape((2,) * 17)
    reps = (2, 1) * 8 + (1,)
    expected = numpy.tile(values[:, :1], reps)
    numpy.testing.assert_array_equal(np.tile(np.array(values)[:, :1], reps).ravel(), expected.ravel())


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, (2, 2), (4, 5)])
def test_resize(size: Any) -> None:
    values = numpy.arange(3)
    numpy.testing.assert_array_equal(np.resize(np.array(values), size), numpy.resize(values, size))


@pytest.mark.parametrize("counts", [[1, 0, 2], [0, 0, 0], [3, 1, 1]])
def test_repeat_by_counts(counts: list[int]) -> None:
    values = numpy.arange(6).reshape(3, 2)
    for given in (counts, np.array(counts, "int64"), numpy.array(counts)):
        numpy.testing.assert_array_equal(
            np.repeat(np.array(values), given, axis=0), numpy.repeat(values, counts, axis=0)
        )


@pytest.mark.parametrize("n", [0, 1, 2, 4])
@pytest.mark.parametrize("m", [None, 0, 1, 3, 6])
@pytest.mark.parametrize("k", [-9, -2, -1, 0, 1, 2, 9, 2**63 - 1, -(2**63)])
def test_triangles(n: int, m: int | None, k: int) -> None:
    near = max(-20, min(k, 20))
    for name in ("tril_indices", "triu_indices"):
        got, want = getattr(np, name)(n, k, m), getattr(numpy, name)(n, near, m)
        for one, other in zip(got, want, strict=True):
            assert one.dtype == "int64"
            numpy.testing.assert_array_equal(one, other)
    numpy.testing.assert_array_equal(np.tri(n, m, k), numpy.tri(n, m, near))
    values = numpy.ones((n, n if m is None else m), "float32")
    numpy.testing.assert_array_equal(np.triu(np.array(values), k), numpy.triu(values, near))


def test_positions_beyond_the_end() -> None:
    for wrong in (100, -1, [0, 9], numpy.array([3, 12])):
        with pytest.raises(ValueError, match=r"unravel_index: index (100|-1|9|12) is out of bounds"):
            np.unravel_index(wrong, (3, 3))
    late = np.unravel_index(np.array([4, 100]), (3, 3))
    for part in late:
        with pytest.raises(IndexError, match="100"):
            part.tolist()
    with pytest.raises(IndexError, match="-1"):
        np.unravel_index(np.array([-1]), (3, 3))[0].tolist()
    assert [part.tolist() for part in np.unravel_index(np.array([4, 8]), (3, 3))] == [[1, 2], [1, 2]]
    assert [part.tolist() for part in np.unravel_index(np.array([4, 8], "uint8"), (3, 3))] == [[1, 2], [1, 2]]


def test_a_number_of_samples_is_whole() -> None:
    with pytest.raises(TypeError):
        np.linspace(0, 1, num=3.5)  # type: ignore[arg-type]
