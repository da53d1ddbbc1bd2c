"""Datasets, samplers, batches, and loaders that prefetch."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy
import pytest

from forerun import autograd, np
from forerun.gluon import data
from forerun.gluon.data import batchify


def test_datasets_are_changed_lazily() -> None:
    calls = []

    def square(x: int) -> int:
        calls.append(x)
        return x * x

    squares = data.SimpleDataset([1, 2, 3]).transform(square)
    assert calls == []
    assert squares[2] == 9
    assert list(squares) == [1, 4, 9]
    assert calls == [3, 1, 2, 3]
    calls.clear()
    eager = data.SimpleDataset([1, 2]).transform(square, lazy=False)
    assert calls == [1, 2]
    assert list(eager) == [1, 4]
    assert calls == [1, 2]


def test_transform_takes_tuples_apart() -> None:
    pairs = data.ArrayDataset([1, 2, 3], [10, 20, 30])
    assert list(pairs.transform(lambda a, b: a + b)) == [11, 22, 33]
    assert list(pairs.transform_first(lambda a: -a)) == [(-1, 10), (-2, 20), (-3, 30)]
    assert list(data.SimpleDataset([1, 2]).transform_first(lambda a: -a)) == [-1, -2]


def test_parts_of_datasets() -> None:
    numbers = data.SimpleDataset(list(range(10)))
    assert list(numbers.filter(lambda x: x % 3 == 0)) == [0, 3, 6, 9]
    assert list(numbers.take(3)) == [0, 1, 2]
    assert len(numbers.take(None)) == len(numbers.take(100)) == 10
    assert [list(numbers.shard(3, i)) for i in range(3)] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    with pytest.raises(ValueError, match="shard: index must be at least 0 and below 3, got 3"):
        numbers.shard(3, 3)
    with pytest.raises(IndexError):
        numbers.take(3)[3]


def test_array_datasets() -> None:
    pairs = data.ArrayDataset(np.arange(6).reshape(3, 2), numpy.array([1.0, 2.0, 3.0]))
    x, y = pairs[1]
    assert (x.tolist(), y) == ([2, 3], 2.0)
    assert len(pairs) == 3
    assert data.ArrayDataset(np.arange(3))[2].item() == 2
    with pytest.raises(ValueError, match=r"ArrayDataset: arrays of different lengths: \[3, 2\]"):
        data.ArrayDataset([1, 2, 3], [1, 2])


def test_samplers() -> None:
    assert list(data.SequentialSampler(3, start=5)) == [5, 6, 7]
    numpy.random.seed(0)
    shuffled = data.RandomSampler(50)
    first, second = list(shuffled), list(shuffled)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    numpy.random.seed(0)
    assert list(shuffled) == first


@pytest.mark.parametrize(
    ("last_batch", "times"),
    [
        ("keep", [[[0, 1], [2, 3], [4]], [[0, 1], [2, 3], [4]]]),
        ("discard", [[[0, 1], [2, 3]], [[0, 1], [2, 3]]]),
        ("rollover", [[[0, 1], [2, 3]], [[4, 0], [1, 2], [3, 4]]]),
    ],
)
def test_batch_samplers(last_batch: str, times: list[list[list[int]]]) -> None:
    batches = data.BatchSampler(data.SequentialSampler(5), 2, last_batch)
    for expected in times:
        assert len(batches) == len(expected)
        assert list(batches) == expected


@pytest.mark.parametrize("ours", [True, False])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_loaders(ours: bool, shuffle: bool, num_workers: int) -> None:
    features = numpy.arange(20, dtype="float32").reshape(10, 2)
    labels = numpy.arange(10, dtype="int32")
    made = [np.array(features), np.array(labels)] if ours else [features, labels]
    loader = data.DataLoader(data.ArrayDataset(*made), batch_size=4, shuffle=shuffle, num_workers=num_workers)
    assert len(loader) == 3
    for _ in range(2):
        batches = list(loader)
        assert [x.shape for x, _ in batches] == [(4, 2), (4, 2), (2, 2)]
        order = numpy.concatenate([y.asnumpy() for _, y in batches])
        assert sorted(order.tolist()) == labels.tolist()
        assert shuffle or order.tolist() == labels.tolist()
        assert order.dtype == numpy.int32
        numpy.testing.assert_array_equal(numpy.concatenate([x.asnumpy() for x, _ in batches]), features[order])


def test_batches_are_the_programs_own() -> None:
    features = np.zeros((4, 2))
    for batch in data.DataLoader(data.ArrayDataset(features), batch_size=2):
        batch += 1
    assert features.tolist() == [[0.0, 0.0]] * 4


def test_batches_of_a_part() -> None:
    pairs = data.ArrayDataset(np.arange(10), numpy.arange(10) * 2)
    loader = data.DataLoader(pairs.shard(2, 1), batch_size=3)
    assert [(x.tolist(), y.tolist()) for x, y in loader] == [([5, 6, 7], [10, 12, 14]), ([8, 9], [16, 18])]


def test_transformed_samples_are_stacked() -> None:
    pairs = data.ArrayDataset(np.ones((4, 2)), [0, 1, 2, 3]).transform_first(lambda x: x * 2)
    ((x, y),) = data.DataLoader(pairs, batch_size=4)
    assert x.tolist() == [[2.0, 2.0]] * 4
    assert y.tolist() == [0, 1, 2, 3]


def test_batchify() -> None:
    stacked = batchify.Stack()([(numpy.float64(1), 2), (numpy.float64(3), 4)])
    assert [part.tolist() for part in stacked] == [[1.0, 3.0], [2, 4]]
    padded = batchify.Pad(val=-1, round_to=4)([np.array([1.0]), np.array([2.0, 3.0])])
    assert padded.tolist() == [[1.0, -1.0, -1.0, -1.0], [2.0, 3.0, -1.0, -1.0]]
    assert batchify.Pad(dtype="float32")([[1], [2, 3]]).dtype == np.float32
    with pytest.raises(ValueError, match="Pad: samples have different numbers of dimensions"):
        batchify.Pad()([[1], [[2]]])
    words = data.SimpleDataset([([1, 2], 0), ([3], 1)])
    loader = data.DataLoader(words, 2, batchify_fn=batchify.Group(batchify.Pad(), batchify.Stack()))
    ((x, y),) = loader
    assert (x.tolist(), y.tolist()) == ([[1, 2], [3, 0]], [0, 1])
    with pytest.raises(ValueError, match="Group: samples of 2 entries, but 1 functions"):
        batchify.Group(batchify.Pad())([([1], 0)])


class Counted(data.Dataset):
    """Records how far it was read, and in which thread."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.taken = 0
        self.lock = threading.Lock()
        self.recording: set[bool] = set()

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        with self.lock:
            self.taken += 1
            self.recording.add(autograd.is_recording())
        if index == 1000:
            raise KeyError("no such sample")
        return index


def test_threads_run_ahead_within_bounds() -> None:
    numbers = Counted(100)
    batches = iter(data.DataLoader(numbers, batch_size=1, num_workers=2, prefetch=5, thread_pool=True))
    with autograd.record():
        assert next(batches).tolist() == [0]
    # Whatever the threads have done by now, they must not have read further than this.
    time.sleep(0.05)
    assert numbers.taken <= 6
    assert [batch.item() for batch in batches] == list(range(1, 100))
    assert numbers.recording == {False}


def test_leaving_a_loader_ends_its_threads() -> None:
    before = threading.active_count()
    for _ in data.DataLoader(Counted(1000), batch_size=1, num_workers=3, thread_pool=True):
        break
    assert threading.active_count() == before


def test_errors_in_threads_are_raised() -> None:
    loader = data.DataLoader(Counted(2000), batch_size=500, num_workers=2, thread_pool=True)
    with pytest.raises(KeyError, match="no such sample"):
        list(loader)


def test_mistakes() -> None:
    numbers = data.SimpleDataset([1, 2])
    with pytest.raises(ValueError, match="DataLoader: give batch_size or batch_sampler"):
        data.DataLoader(numbers)
    with pytest.raises(ValueError, match="shuffle cannot be combined with sampler"):
        data.DataLoader(numbers, 2, shuffle=True, sampler=data.SequentialSampler(2))
    with pytest.raises(ValueError, match="must not be given with batch_sampler"):
        data.DataLoader(numbers, 2, batch_sampler=data.BatchSampler(data.SequentialSampler(2), 2))
    with pytest.raises(ValueError, match="last_batch is 'keep', 'discard' or 'rollover', not 'drop'"):
        data.DataLoader(numbers, 2, last_batch="drop")
