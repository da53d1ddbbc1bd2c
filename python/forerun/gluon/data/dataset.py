"""Datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forerun import np
from forerun._forerun import ndarray

__all__ = ["ArrayDataset", "Dataset", "SimpleDataset"]


class Dataset:
    """Base class of sets of samples: a subclass defines ``__getitem__`` and ``__len__``.

    Examples
    --------
    >>> from forerun.gluon import data
    >>> squares = data.SimpleDataset(range(6)).filter(lambda x: x % 2 == 0).transform(lambda x: x * x)
    >>> list(squares)
    [0, 4, 16]
    """

    def __getitem__(self, index: int) -> Any:
        """Return one sample. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __len__(self) -> int:
        """Return the number of items. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no __len__")

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the samples."""
        return (self[index] for index in range(len(self)))

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Return the dataset with a function applied to every sample; tuple samples are passed as several arguments.

        Parameters
        ----------
        fn
            The function.
        lazy
            Whether to call it whenever a sample is accessed, or now for all samples.
        """
        changed = _Transformed(self, fn)
        return changed if lazy else SimpleDataset(list(changed))

    def transform_first(self, fn: Callable[[Any], Any], lazy: bool = True) -> Dataset:
        """Return the dataset with a function applied to the first entry of every sample.

        Parameters
        ----------
        fn
            The function.
        lazy
            Whether to call it whenever a sample is accessed, or now for all samples.
        """
        return self.transform(lambda first, *rest: (fn(first), *rest) if rest else fn(first), lazy)

    def filter(self, fn: Callable[[Any], bool]) -> Dataset:
        """Return the samples for which a function is true."""
        return _Chosen(self, [index for index, sample in enumerate(self) if fn(sample)])

    def take(self, count: int | None) -> Dataset:
        """Return the first samples; all if no count is given."""
        return _Chosen(self, range(len(self) if count is None else min(count, len(self))))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Return one of several parts of about the same size.

        Parameters
        ----------
        num_shards
            The number of parts.
        index
            Which part to return.
        """
        if not 0 <= index < num_shards:
            raise ValueError(f"shard: index must be at least 0 and below {num_shards}, got {index}")
        size, larger = divmod(len(self), num_shards)
        start = size * index + min(index, larger)
        return _Chosen(self, range(start, start + size + (index < larger)))

    def batch(self, indices: Sequence[int]) -> Any:
        """Return stacked samples if the dataset has a fast way to do so, else ``None``."""
        return None


class _Transformed(Dataset):
    """A dataset with a function applied to every sample."""

    def __init__(self, dataset: Dataset, fn: Callable[..., Any]) -> None:
        self._dataset = dataset
        self._fn = fn

    def __getitem__(self, index: int) -> Any:
        sample = self._dataset[index]
        return self._fn(*sample) if isinstance(sample, tuple) else self._fn(sample)

    def __len__(self) -> int:
        return len(self._dataset)


class _Chosen(Dataset):
    """A subset of another dataset."""

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self._dataset = dataset
        self._indices = indices

    def __getitem__(self, index: int) -> Any:
        return self._dataset[self._indices[index]]

    def __len__(self) -> int:
        return len(self._indices)

    def batch(self, indices: Sequence[int]) -> Any:
        return self._dataset.batch([self._indices[index] for index in indices])


class SimpleDataset(Dataset):
    """A list, or any sequence, as a dataset.

    Examples
    --------
    >>> from forerun.gluon import data
    >>> len(data.SimpleDataset([1, 2, 3]))
    3
    """

    def __init__(self, data: Sequence[Any]) -> None:
        self._data = data

    def __getitem__(self, index: int) -> Any:
        """Return one sample."""
        return self._data[index]

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._data)


class ArrayDataset(Dataset):
    """Several arrays of equal length: a sample is a row of each.

    Parameters
    ----------
    *arrays
        Arrays, NumPy arrays or lists. With one array samples are rows, with several tuples of rows.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import data
    >>> pairs = data.ArrayDataset(np.ones((3, 2)), [0, 1, 2])
    >>> pairs[1]
    (array([1., 1.]), 1)
    """

    def __init__(self, *arrays: Any) -> None:
        if not arrays:
            raise ValueError("ArrayDataset: no arrays")
        lengths = [len(array) for array in arrays]
        if len(set(lengths)) != 1:
            raise ValueError(f"ArrayDataset: arrays of different lengths: {lengths}")
        self._arrays = arrays

    def __getitem__(self, index: int) -> Any:
        """Return one sample."""
        if len(self._arrays) == 1:
            return self._arrays[0][index]
        return tuple(array[index] for array in self._arrays)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._arrays[0])

    def batch(self, indices: Sequence[int]) -> Any:
        """Return stacked samples: a slice of each array if they are consecutive, otherwise one gather per array."""
        parts = [_gather(array, indices) for array in self._arrays]
        if any(part is None for part in parts):
            return None
        return parts[0] if len(parts) == 1 else parts


def _gather(array: Any, indices: Sequence[int]) -> ndarray | None:
    import numpy

    first = indices[0]
    adjacent = first >= 0 and list(indices) == list(range(first, first + len(indices)))
    if isinstance(array, ndarray):
        # A copy, because the caller may write to the batch.
        return array[first : first + len(indices)].copy() if adjacent else np.take(array, list(indices), axis=0)
    if isinstance(array, numpy.ndarray):
        return np.array(array[first : first + len(indices)] if adjacent else array[list(indices)])
    return None
