"""Edge cases: sizes, integers out of range, ranges, writes to broadcast arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import np


def test_arange_counts_integers_as_integers() -> None:
    for start, stop, step in [
        (2**60, 2**60 + 5, 1),
        (2**53, 2**53 + 3, 1),
        (2**63 - 3, 2**63 - 1, 1),
        (-(2**63), -(2**63) + 2, 1),
        (10, -3, -4),
        (0, 0, 1),
    ]:
        assert np.arange(start, stop, step).tolist() == numpy.arange(start, stop, step).tolist()
    with pytest.raises(ValueError, match="maximum allowed size"):
        np.arange(0, float("nan"))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
def test_integers_from_floats_are_numpys(dtype: str) -> None:
    """``arange`` truncates its first two elements, which determine the step; ``linspace`` rounds down."""
    ends: Any
    for ends in [(0.5, 5, 0.5), (1.9, 9.1, 2.6), (10, 0, -2.5), (5.7,), (0, 1, 0.3), (0, 10, float("inf")), (0.5, 0.7)]:
        assert np.arange(*ends, dtype=dtype).tolist() == numpy.arange(*ends, dtype=dtype).tolist(), ends
    for ends in [(0, 10, 4), (0.5, 5.7, 4), (0, 100, 7), (3.5, 0.5, 8)]:
        assert np.linspace(*ends, dtype=dtype).tolist() == numpy.linspace(*ends, dtype=dtype).tolist(), ends
    if dtype.startswith("i"):
        for ends in [(-5, 5, 4), (-0.5, -5.7, 4), (-3.5, 3.5, 8)]:
            assert np.linspace(*ends, dtype=dtype).tolist() == numpy.linspace(*ends, dtype=dtype).tolist(), ends
            assert np.arange(*ends[:2], dtype=dtype).tolist() == numpy.arange(*ends[:2], dtype=dtype).tolist(), ends


@pytest.mark.parametrize(
    "call",
    [
        lambda np: np.arange(0, 10, 0),
        lambda np: np.arange(0.0, 1.0, 0.0),
        lambda np: np.arange(0, 3, dtype="bool"),
        lambda np: np.arange(-3, 3, dtype="uint8"),
        lambda np: np.arange(300, 310, dtype="uint8"),
        lambda np: np.arange(127, 130, dtype="int8"),
        lambda np: np.eye(-1),
        lambda np: np.eye(3, -1),
        lambda np: np.identity(-2),
        lambda np: np.vander(np.ones(3), -1),
        lambda np: np.histogram(np.ones(3), bins=1.5),
        lambda np: np.linspace(0, 1, -1),
        lambda np: np.linspace(0, 1, 2.5),
    ],
)
def test_what_is_refused_is_refused_as_numpy_does(call: Callable[[Any], Any]) -> None:
    with pytest.raises(Exception) as theirs:
        call(numpy)
    with pytest.raises(Exception) as ours:
        call(np)
    assert isinstance(theirs.value, ours.type), (ours.value, theirs.value)


def test_integers_that_do_not_fit_are_refused_or_compared_wide() -> None:
    a = np.zeros((3,), dtype="int32")
    assert (a == 2**32).tolist() == [False] * 3
    assert (a < 2**31).tolist() == [True] * 3
    assert (a <= 2**40).tolist() == [True] * 3
    for write in (
        lambda: a + 2**32,
        lambda: np.maximum(a, 2**31),
        lambda: np.full((1,), 2**32 + 7, dtype="int32"),
        lambda: a.__setitem__(0, 2**31),
        lambda: a.__iadd__(2**40),
    ):
        with pytest.raises(OverflowError, match="out of bounds for int32"):
            write()
    assert a.tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="negative integer powers"):
        a**-1


def test_lists_of_arrays_keep_their_width() -> None:
    x = np.ones((2,), dtype="float64") / 3
    assert np.array([x, x]).dtype == np.float64
    assert np.array([numpy.float64(1) / 3]).dtype == np.float64
    assert np.array([1.0, 2.0]).dtype == np.float32


def test_uniform_stays_below_its_end() -> None:
    np.random.seed(1)
    x = np.random.uniform(2, 3, size=(4_000_000,))
    assert x.min().item() >= 2.0
    assert x.max().item() < 3.0
    y = np.random.uniform(1, 1 + 1.2e-7, size=(1000,))
    assert y.max().item() < numpy.float32(1 + 1.2e-7)


def test_what_was_broadcast_cannot_be_written_even_in_part() -> None:
    base = np.arange(3)
    wide = np.broadcast_to(base, (2, 3))
    for write in (lambda: wide.__setitem__((0, 0), 5), lambda: wide[0].__setitem__(0, 5), lambda: wide[0].__iadd__(1)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert base.tolist() == [0, 1, 2]


def test_products_over_nothing_are_zero() -> None:
    for sa, sb in [((2, 3, 0), (0, 4)), ((2, 0), (3, 0, 4)), ((2, 3, 0), (0,))]:
        got = np.dot(np.ones(sa), np.ones(sb)).asnumpy()
        want = numpy.dot(numpy.ones(sa), numpy.ones(sb))
        assert got.shape == want.shape
        assert (got == want).all()


def test_what_cannot_be_stored_fails_also_where_it_is_only_summed() -> None:
    with pytest.raises(MemoryError, match="full"):
        np.ones((10**13,)).sum().item()
