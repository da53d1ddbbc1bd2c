"""Samplers: orders of the indices of a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from forerun.torch._random import Generator, default_generator

_T = TypeVar("_T", covariant=True)


class Sampler(Generic[_T]):
    """Base class of samplers: iterables of indices."""

    def __init__(self, data_source: Any = None) -> None:
        """Do nothing; PyTorch's old argument is accepted."""

    def __iter__(self) -> Iterator[Any]:
        """Iterate over indices. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")


class SequentialSampler(Sampler[int]):
    """All indices in order.

    Examples
    --------
    >>> from forerun.torch.utils.data import SequentialSampler
    >>> list(SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        """Iterate over the indices."""
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        """Return the number of indices."""
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All indices in random order, or ``num_samples`` of them, with repetitions if ``replacement`` is set.

    Examples
    --------
    >>> from forerun.torch.utils.data import RandomSampler
    >>> sorted(RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if num_samples is not None and num_samples <= 0:
            raise ValueError(f"RandomSampler: num_samples must be positive, got {num_samples}")
        self.data_source, self.replacement, self._count, self.generator = (
            data_source,
            replacement,
            num_samples,
            generator,
        )

    @property
    def num_samples(self) -> int:
        """The number of indices."""
        return len(self.data_source) if self._count is None else self._count

    def __iter__(self) -> Iterator[int]:
        """Iterate over the indices."""
        host = (self.generator or default_generator).host
        count = len(self.data_source)
        if self.replacement:
            yield from (host.randrange(count) for _ in range(self.num_samples))
            return
        left = self.num_samples
        while left > 0:
            order = list(range(count))
            host.shuffle(order)
            yield from order[:left]
            left -= count

    def __len__(self) -> int:
        """Return the number of indices."""
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order.

    Examples
    --------
    >>> from forerun.torch.utils.data import SubsetRandomSampler
    >>> sorted(SubsetRandomSampler([4, 2]))
    [2, 4]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        """Iterate over the indices."""
        order = list(self.indices)
        (self.generator or default_generator).host.shuffle(order)
        return iter(order)

    def __len__(self) -> int:
        """Return the number of indices."""
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities proportional to weights.

    Examples
    --------
    >>> from forerun.torch.utils.data import WeightedRandomSampler
    >>> list(WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Iterable[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        self.weights = [float(weight) for weight in weights]
        if not replacement and num_samples > len(self.weights):
            raise ValueError(
                f"WeightedRandomSampler: {num_samples} draws without replacement from {len(self.weights)} weights"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        """Iterate over the indices."""
        host = (self.generator or default_generator).host
        if self.replacement:
            return iter(host.choices(range(len(self.weights)), self.weights, k=self.num_samples))
        # The largest of independent exponential races.
        races = [(host.expovariate(1.0) / weight if weight else float("inf")) for weight in self.weights]
        return iter(sorted(range(len(races)), key=races.__getitem__)[: self.num_samples])

    def __len__(self) -> int:
        """Return the number of indices."""
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of ``batch_size`` indices of another sampler.

    Examples
    --------
    >>> from forerun.torch.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"BatchSampler: batch_size must be a positive number, got {batch_size}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        """Iterate over the lists."""
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        """Return the number of lists."""
        full, rest = divmod(len(self.sampler), self.batch_size)
        return full + bool(rest and not self.drop_last)
