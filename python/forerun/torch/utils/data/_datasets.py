"""Datasets."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from forerun.torch._random import Generator, default_generator
from forerun.torch._tensor import Tensor

_T = TypeVar("_T", covariant=True)


class Dataset(Generic[_T]):
    """Base class of datasets: a length, and a row for each index."""

    def __getitem__(self, index: Any) -> Any:
        """Return a row. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        """Return the rows of two datasets, one after another."""
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T]):
    """Base class of datasets that are iterated over, in an order of their own."""

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the rows. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no __iter__")

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        """Return the rows of two datasets, one after another."""
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of several tensors of the same length, side by side.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.utils.data import TensorDataset
    >>> rows = TensorDataset(torch.ones((3, 2)), torch.arange(3))
    >>> len(rows), rows[1]
    (3, (tensor([1., 1.]), tensor(1)))
    """

    def __init__(self, *tensors: Tensor) -> None:
        lengths = [len(tensor) for tensor in tensors]
        if len(set(lengths)) != 1:
            raise ValueError(f"TensorDataset: tensors must have equal lengths, got {lengths}")
        self.tensors = tensors

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.tensors[0])

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        """Return a row, or several."""
        return tuple(tensor[index] for tensor in self.tensors)


class StackDataset(Dataset[Any]):
    """Rows of several datasets of the same length, side by side, as tuples or, by keywords, dicts.

    Examples
    --------
    >>> from forerun.torch.utils.data import StackDataset
    >>> StackDataset([1, 2], ["a", "b"])[1]
    (2, 'b')
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset: needs datasets by position, or by keywords")
        self.datasets: Any = kwargs or args
        parts = kwargs.values() if kwargs else args
        lengths = [len(part) for part in parts]
        if len(set(lengths)) != 1:
            raise ValueError(f"StackDataset: datasets must have equal lengths, got {lengths}")
        self._length = lengths[0]

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._length

    def __getitem__(self, index: Any) -> Any:
        """Return a row."""
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)


class ConcatDataset(Dataset[Any]):
    """The rows of several datasets, one after another.

    Examples
    --------
    >>> from forerun.torch.utils.data import ConcatDataset
    >>> both = ConcatDataset([[1, 2], [3]])
    >>> len(both), both[2], both[-1]
    (3, 3, 3)
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("ConcatDataset: needs at least one dataset")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset: an IterableDataset has no indices: use ChainDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        """Return a row."""
        count = len(self)
        if not -count <= index < count:
            raise IndexError(f"ConcatDataset: index {index} is out of range for {count} rows")
        row = index % count
        number = bisect.bisect_right(self.cumulative_sizes, row)
        return self.datasets[number][row - (self.cumulative_sizes[number - 1] if number else 0)]


class ChainDataset(IterableDataset[Any]):
    """The rows of several iterable datasets, one after another.

    Examples
    --------
    >>> from forerun.torch.utils.data import ChainDataset
    >>> list(ChainDataset([[1, 2], [3]]))
    [1, 2, 3]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the rows."""
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        """Return the number of rows, if all datasets know theirs."""
        return sum(len(dataset) for dataset in self.datasets)


class Subset(Dataset[_T]):
    """The rows of a dataset at some indices.

    Examples
    --------
    >>> from forerun.torch.utils.data import Subset
    >>> list(Subset([5, 6, 7], [2, 0]))
    [7, 5]
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.indices)

    def __getitem__(self, index: Any) -> Any:
        """Return a row; for a list of indices, a list of rows."""
        if isinstance(index, list):
            return [self.dataset[self.indices[number]] for number in index]
        return self.dataset[self.indices[index]]


def random_split(dataset: Any, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset[Any]]:
    """Split the rows of a dataset at random into parts of the given lengths, or shares that add up to one.

    Examples
    --------
    >>> from forerun.torch.utils.data import random_split
    >>> [len(part) for part in random_split(range(10), [0.7, 0.3])]
    [7, 3]
    """
    count = len(dataset)
    if all(isinstance(length, float) for length in lengths) and abs(sum(lengths) - 1) < 1e-6:
        sizes = [int(count * share) for share in lengths]
        # What rounding leaves over goes to the parts in turn.
        for number in range(count - sum(sizes)):
            sizes[number % len(sizes)] += 1
    else:
        sizes = [int(length) for length in lengths]
    if sum(sizes) != count:
        raise ValueError(f"random_split: {list(lengths)} do not add up to the {count} rows")
    order = list(range(count))
    (generator or default_generator).host.shuffle(order)
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
