"""Samplers: the order in which samples are visited."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler"]


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
    """Every sample once, in an order drawn by NumPy's global generator.

    Examples
    --------
    >>> from forerun.gluon import data
    >>> sorted(data.RandomSampler(3))
    [0, 1, 2]
    """

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[int]:
        """Iterate over the indices."""
        import numpy

        order: list[int] = numpy.random.permutation(self._length).tolist()
        return iter(order)

    def __len__(self) -> int:
        """Return the number of items."""
        return self._length


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
