"""Orders in which samples are taken."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler"]


class Sampler:
    """The base of samplers: something that gives the numbers of samples, anew each time it is gone through.

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
        """Go through the numbers. Defined by a subclass."""
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")

    def __len__(self) -> int:
        """Return how many there are. Defined by a subclass."""
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
        """Go through the numbers."""
        return iter(self._range)

    def __len__(self) -> int:
        """Return how many there are."""
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
        """Go through the numbers."""
        import numpy

        order: list[int] = numpy.random.permutation(self._length).tolist()
        return iter(order)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._length


class BatchSampler(Sampler):
    """Lists of ``batch_size`` numbers of another sampler.

    Parameters
    ----------
    sampler
        Where the numbers come from.
    batch_size
        How many a batch.
    last_batch
        What happens to a smaller rest: ``"keep"`` it, ``"discard"`` it, or ``"rollover"`` it to the next time.

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
        """Go through the lists."""
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
        """Return how many lists the next time gives."""
        numbers = len(self._sampler) + len(self._rest)
        return -(-numbers // self._batch_size) if self._last_batch == "keep" else numbers // self._batch_size
