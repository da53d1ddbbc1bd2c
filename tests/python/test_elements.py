"""Writes of single elements, with and without reads: the same as in NumPy, for all holders of the array."""

from __future__ import annotations

import threading
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy
import pytest

import forerun
from forerun import autograd, engine, np, npx

# Elements inside the node, in a buffer, and in a large buffer.
SHAPES = [(2, 3), (10, 10), (300, 300)]
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


class Both:
    """The same program on a Forerun and a NumPy array, and the values it kept."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        numbers = numpy.arange(numpy.prod(shape), dtype="float32").reshape(shape)
        self.pair: list[Any] = [np.array(numbers), numbers]
        self.kept: list[tuple[Any, numpy.ndarray]] = []

    def check(self) -> None:
        for mine, theirs in [*self.kept, tuple(self.pair)]:
            numpy.testing.assert_array_equal(numpy.asarray(mine), theirs)


def write(both: Both, i: int, j: int) -> None:
    for x in both.pair:
        x[i, j] = 10 * i + j


def write_through_views(both: Both, i: int, j: int) -> None:
    for x in both.pair:
        x[i][j] = 3
        x.T[j, i] += 1
        x[::-1, 1:][i, j - 1] = 5


def add(both: Both, i: int, j: int) -> None:
    for x in both.pair:
        x[i, j] += 2
        x[-1, j] *= x[i, 0]


def move(both: Both, i: int, j: int) -> None:
    for x in both.pair:
        x[i, j] = x[0, 0]
        x[0, 0] = x[-1, -1] + 1


def read(both: Both, i: int, j: int) -> None:
    mine, theirs = both.pair
    assert mine[i, j].item() == theirs[i, j].item()
    assert float(mine[i, j]) == float(theirs[i, j])


def keep_element(both: Both, i: int, j: int) -> None:
    mine, theirs = both.pair
    both.kept.append((mine[i, j] + 0, theirs[i, j].copy()))


def keep_snapshot(both: Both, _i: int, _j: int) -> None:
    mine, theirs = both.pair
    both.kept.append((mine.asnumpy(), theirs.copy()))
    both.kept.append((numpy.from_dlpack(mine), theirs.copy()))


def keep_result(both: Both, i: int, j: int) -> None:
    mine, theirs = both.pair
    both.kept.append((mine * 2, theirs * 2))
    both.kept.append((mine[i] + mine[:, j : j + 1], theirs[i] + theirs[:, j : j + 1]))
    both.kept.append((mine.copy(), theirs.copy()))


def write_all(both: Both, i: int, _j: int) -> None:
    for x in both.pair:
        x += i
        x[i] = x[0]


def make_anew(both: Both, _i: int, _j: int) -> None:
    both.pair = [x[::-1] - 1 for x in both.pair]


def finish(_both: Both, _i: int, _j: int) -> None:
    npx.waitall()


STEPS = [
    write, write_through_views, add, move, read, keep_element, keep_snapshot, keep_result, write_all, make_anew, finish,
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@hypothesis.given(
    steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 1), st.integers(1, 2)), min_size=5, max_size=40)
)
def test_any_program_of_writes_and_reads(shape: tuple[int, ...], steps: list[tuple[Any, int, int]]) -> None:
    both = Both(shape)
    for step, i, j in steps:
        step(both, i, j)
    both.check()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_snapshot_never_changes(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape)
    kept = []
    for turn in range(20):
        x[1, 2] = turn
        x[0, 0] += 1
        kept.append((x.asnumpy(), memoryview(x), x[1].asnumpy()))
    for turn, (whole, view, row) in enumerate(kept):
        assert (whole[1, 2], whole[0, 0], row[2]) == (turn, turn + 1, turn)
        assert (view[1, 2], view[0, 0]) == (turn, turn + 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_tape_keeps_what_was_read(shape: tuple[int, ...]) -> None:
    x = np.ones(shape) * 3
    x.attach_grad()
    x.wait_to_read()
    with autograd.record():
        y = (x * x).sum()
    y.wait_to_read()
    x[1, 2] = 100
    x[0, 0] += 5
    y.backward()
    assert x.grad is not None
    numpy.testing.assert_array_equal(x.grad.asnumpy(), numpy.full(shape, 6.0))
    assert (float(x[1, 2]), float(x[0, 0])) == (100, 8)


def test_writes_that_are_recorded_have_gradients() -> None:
    x, w = np.arange(6.0), np.array(2.0)
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y = x * 3
        y.wait_to_read()
        y[1] = w
        y[2] = 7
        y[3] += w * w
        z = (y * y).sum()
    z.backward()
    assert x.grad is not None and w.grad is not None
    assert x.grad.tolist() == [0, 0, 0, 3 * 2 * 13, 3 * 2 * 12, 3 * 2 * 15]
    assert float(w.grad) == 2 * 2 + 2 * 13 * 2 * 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype: str) -> None:
    theirs = numpy.ones((3, 4), dtype)
    mine = np.array(theirs)
    for x in (theirs, mine):
        x[1, 2] = 0
        x[-1, -1] = True
        x[0, 3] = x[1, 2]
        if dtype != "bool":
            x[0, 1] = 100
            x[2, 0] += x[0, 1]
        if dtype.startswith(("float", "complex")):
            x[2, 1] = 1 / 3
            x[1, 1] = numpy.inf
        if dtype.startswith("complex"):
            x[2, 2] = 1 - 2j
            x[2, 2] *= 1j
    assert mine.dtype == dtype
    numpy.testing.assert_array_equal(mine.asnumpy(), theirs)


def test_what_cannot_be_written_is_told() -> None:
    x = np.zeros((3, 4), dtype="int8")
    x.wait_to_read()
    with pytest.raises(IndexError, match=r"index 3 is out of bounds for axis 0 with size 3"):
        x[3, 0] = 1
    with pytest.raises(IndexError, match="too many indices"):
        x[0, 0, 0] = 1
    with pytest.raises(OverflowError, match="integer 300 is out of bounds for int8"):
        x[0, 0] = 300
    with pytest.raises(ValueError, match="read-only"):
        np.broadcast_to(x[0], (3, 4))[0, 0] = 1
    with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(4,\) into shape \(\)"):
        x[0, 0] = x[1]
    assert not x.asnumpy().any()


def test_a_failed_array_names_both_lines() -> None:
    x = np.take(np.arange(100.0), np.arange(100) + 1)
    with pytest.raises(IndexError):
        x.wait_to_read()
    x[0] = 1
    x[1] += 1
    match = r"take: index .*\n.*submitted at .*test_elements.py:.*\n.*read at .*test_elements.py:"
    with pytest.raises(IndexError, match=match):
        float(x[0])
    good = np.ones((100,))
    good.wait_to_read()
    good[3] = x[0]
    with pytest.raises(IndexError, match=match):
        good.asnumpy()
    assert good.restore() == 1
    good[3] = 4
    assert good.sum().item() == 103


@pytest.mark.parametrize("made_there", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_what_another_thread_has_submitted(shape: tuple[int, ...], made_there: bool) -> None:
    arrays = [] if made_there else [np.ones(shape)]
    results: list[np.ndarray] = []

    def submit() -> None:
        if made_there:
            arrays.append(np.ones(shape))
        arrays[0].wait_to_read()
        late = np.ones((500, 500))
        for _ in range(5):
            late = late @ late * 1e-3
        results.extend(arrays[0] + late[0, :1] * 0 for _ in range(3))

    thread = threading.Thread(target=submit)
    thread.start()
    thread.join()
    (x,) = arrays
    x[1, 2] = 7
    x[0, 0] += 7
    assert (float(x[1, 2]), float(x[0, 0])) == (7, 8)
    for result in results:
        numpy.testing.assert_array_equal(result.asnumpy(), numpy.ones(shape))


def test_threads_that_share_an_array() -> None:
    x = np.zeros((200,))
    stop = threading.Event()
    wrong: list[Any] = []

    def look() -> None:
        while not stop.is_set():
            for seen in (x.asnumpy(), (x * 1).asnumpy()):
                if seen[0] - seen[-1] not in (0, 1):
                    wrong.append((seen[0], seen[-1]))

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for turn in range(1, 3000):
        x[0] = turn
        x[-1] = turn
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert (float(x[0]), float(x[-1])) == (2999, 2999)


def submitted(x: np.ndarray, turns: int) -> int:
    """Return the number of records that a number of writes submits."""
    before = engine.stats()["records"]
    for turn in range(turns):
        x[1, 2] = turn
        assert x[1, 2].item() == turn
        x[1, 2] += 1
        assert float(x[1, 2]) == turn + 1
    return engine.stats()["records"] - before


@pytest.mark.parametrize("shape", SHAPES)
def test_a_pair_submits_nothing(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape, device=npx.cpu())
    with engine.set_tiny_limit(4096):
        # A value may be ready slightly before its producer has released it.
        while submitted(x, 1) > 0:
            npx.waitall()
        assert submitted(x, 100) == 0


def test_those_who_want_to_see_writes_see_them() -> None:
    x = np.zeros((10, 10), device=npx.cpu())
    x.wait_to_read()
    with forerun.trace() as trace:
        x[1, 2] = 3
        x.wait_to_read()
    assert [event.op for event in trace.events if event.kind == "submitted"] == ["update"]
    with engine.set_tiny_limit(0):
        assert submitted(x, 10) >= 20
