"""Samplers: the order in which samples are visited.

A loader calls ``seed_epoch`` of its sampler before each epoch, so that the order follows from the loader's seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["BatchSampler", "FilterSampler", "IntervalSampler", "RandomSampler", "Sampler", "SequentialSampler"]


class Sampler:
    """Base class of samplers: an iterable over sample indices.

    Examples
    --------
    >>> from forerun.gluon import data
    >>> class Backwards(data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    ...
    ...     def __len__(self):
    ...         return 3
    >>> list(data.BatchSampler(Backwards(), 2, "keep"))
    [[2, 1], [0]]
    """

    def __iter__(self) -> Iterator[int]:
        """Iterate over the indices. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")

    def __len__(self) -> int:
        """Return the number of items. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no __len__")

    def seed_epoch(self, seed: int) -> None:
        """Prepare the next epoch; random samplers draw its order from the seed. A loader calls this."""

    def state_dict(self) -> dict[str, Any]:
        """Return what the next epoch depends on, in numbers, strings, lists and dictionaries."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what :meth:`state_dict` returned."""


class SequentialSampler(Sampler):
    """From the first sample to the last.

    Examples
    --------
    >>> from forerun.gluon import data
    >>> list(data.SequentialSampler(3))
    [0, 1, 2]
    """

    def __init__(self, length: int, start: int = 0) -> None:
        self._range = range(start, start + length)

    def __iter__(self) -> Iterator[int]:
        """Iterate over the indices."""
        return iter(self._range)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._range)


class RandomSampler(Sampler):
    """Every sample once, in random order.

    Within a loader, the order follows from its seed and the epoch. Elsewhere NumPy's global generator draws it.

    Examples
    --------
    >>> from forerun.gluon import data
    >>> sorted(data.RandomSampler(3))
    [0, 1, 2]
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._seed: int | None = None

    def seed_epoch(self, seed: int) -> None:
        """Draw the order of the next epoch from a seed."""
        self._seed = seed

    def __iter__(self) -> Iterator[int]:
        """Iterate over the indices."""
        import numpy

        seed, self._seed = self._seed, None
        # NumPy keeps the numbers of RandomState across versions, so an epoch can be resumed after an upgrade.
        source = numpy.random if seed is None else numpy.random.RandomState([seed & 0xFFFFFFFF, seed >> 32])
        order: list[int] = source.permutation(self._length).tolist()
        return iter(order)

    def __len__(self) -> int:
        """Return the number of items."""
        return self._length


class FilterSampler(Sampler):
    """The samples of a dataset for which a function is true. All samples are read once, now.

    Parameters
    ----------
    fn
        The function of a sample.
    dataset
        The dataset.

    Examples
    --------
    >>> from forerun.gluon import data
    >>> list(data.FilterSampler(lambda x: x > 1, [3, 0, 2]))
    [0, 2]
    """

    def __init__(self, fn: Callable[[Any], Any], dataset: Iterable[Any]) -> None:
        self._indices = [index for index, sample in enumerate(dataset) if fn(sample)]

    def __iter__(self) -> Iterator[int]:
        """Iterate over the indices."""
        return iter(self._indices)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._indices)


class IntervalSampler(Sampler):
    """Every ``interval``-th sample.

    Parameters
    ----------
    length
        The number of samples.
    interval
        The distance between two visited samples.
    rollover
        Whether to go on with the first sample that was left out, until all are visited.

    Examples
    --------
    >>> from forerun.gluon import data
    >>> list(data.IntervalSampler(7, 3))
    [0, 3, 6, 1, 4, 2, 5]
    >>> list(data.IntervalSampler(7, 3, rollover=False))
    [0, 3, 6]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        if not 1 <= interval <= length:
            raise ValueError(f"IntervalSampler: interval must be at least 1 and at most {length}, got {interval}")
        self._ranges = [range(first, length, interval) for first in range(interval if rollover else 1)]

    def __iter__(self) -> Iterator[int]:
        """Iterate over the indices."""
        return (index for each in self._ranges for index in each)

    def __len__(self) -> int:
        """Return the number of items."""
        return sum(map(len, self._ranges))


class BatchSampler(Sampler):
    """Batches of ``batch_size`` indices of another sampler.

    Parameters
    ----------
    sampler
        The sampler of single indices.
    batch_size
        Indices per batch.
    last_batch
        What to do with an incomplete last batch: ``"keep"``, ``"discard"``, or ``"rollover"`` to the next epoch.

    Examples
    --------
    >>> from forerun.gluon import data
    >>> rolling = data.BatchSampler(data.SequentialSampler(3), 2, "rollover")
    >>> list(rolling), list(rolling)
    ([[0, 1]], [[2, 0], [1, 2]])
    """

    def __init__(self, sampler: Sampler, batch_size: int, last_batch: str = "keep") -> None:
        if batch_size < 1:
            raise ValueError(f"BatchSampler: batch_size must be at least 1, got {batch_size}")
        if last_batch not in ("keep", "discard", "rollover"):
            raise ValueError(f"BatchSampler: last_batch is 'keep', 'discard' or 'rollover', not {last_batch!r}")
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._rest: list[int] = []

    def __iter__(self) -> Iterator[list[int]]:  # type: ignore[override]
        """Iterate over the batches."""
        batch, self._rest = self._rest, []
        for number in self._sampler:
            batch.append(number)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._rest = batch

    def __len__(self) -> int:
        """Return the number of batches of the next epoch."""
        numbers = len(self._sampler) + len(self._rest)
        return -(-numbers // self._batch_size) if self._last_batch == "keep" else numbers // self._batch_size

    def seed_epoch(self, seed: int) -> None:
        """Prepare the next epoch of the sampler of single indices."""
        seeded(self._sampler, seed)

    def state_dict(self) -> dict[str, Any]:
        """Return the indices that the next epoch begins with, and the state of the sampler of single indices."""
        return {"rest": [int(index) for index in self._rest], "sampler": state_of(self._sampler)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what :meth:`state_dict` returned."""
        self._rest = list(state["rest"])
        restore(self._sampler, state["sampler"])


def seeded(sampler: object, seed: int) -> None:
    """Call ``seed_epoch`` of a sampler, which need not be a :class:`Sampler`."""
    seed_epoch = getattr(sampler, "seed_epoch", None)
    if callable(seed_epoch):
        seed_epoch(seed)


def state_of(sampler: object) -> dict[str, Any]:
    """Return the state of a sampler, which need not be a :class:`Sampler`."""
    state = getattr(sampler, "state_dict", None)
    return state() if callable(state) else {}


def restore(sampler: object, state: dict[str, Any]) -> None:
    """Restore the state of a sampler, which need not be a :class:`Sampler`."""
    load = getattr(sampler, "load_state_dict", None)
    if callable(load):
        load(state)
