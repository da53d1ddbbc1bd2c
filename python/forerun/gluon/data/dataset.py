"""Datasets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from forerun import np
from forerun._forerun import ndarray
from forerun.gluon.data.sampler import FilterSampler, Sampler

__all__ = ["ArrayDataset", "Dataset", "RecordFileDataset", "SimpleDataset"]


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
        return self.transform(_First(fn), lazy)

    def filter(self, fn: Callable[[Any], Any]) -> Dataset:
        """Return the samples for which a function is true."""
        return _Chosen(self, list(FilterSampler(fn, self)))

    def take(self, count: int | None) -> Dataset:
        """Return the first samples; all if no count is given."""
        return _Chosen(self, range(len(self) if count is None else min(count, len(self))))

    def sample(self, sampler: Sampler) -> Dataset:
        """Return the samples whose indices a sampler gives, in its order. It is asked once, now.

        Examples
        --------
        >>> from forerun.gluon import data
        >>> list(data.SimpleDataset("abcd").sample(data.IntervalSampler(4, 2)))
        ['a', 'c', 'b', 'd']
        """
        if not isinstance(sampler, Sampler):
            raise TypeError(f"sample: needs a gluon.data.Sampler, got {type(sampler).__name__}")
        return _Chosen(self, list(sampler))

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

    def _host_reader(self) -> Callable[[int], Any]:
        """Return a function that reads samples with host data in place of arrays, as they are now."""
        return self.__getitem__


class _First:
    """A function applied to the first of its arguments. A class, so that it can be pickled."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self.fn = fn

    def __call__(self, first: Any, *rest: Any) -> Any:
        return (self.fn(first), *rest) if rest else self.fn(first)


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

    def _host_reader(self) -> Callable[[int], Any]:
        from forerun.gluon.data import _host, _steps

        read, fn = _host.reader(self._dataset), self._fn
        # The rest of a sample may stay host data if only the first entry is changed.
        changed = _First(_steps.on_host(fn.fn)) if isinstance(fn, _First) else _steps.on_host(fn)

        def transformed(index: int) -> Any:
            sample = read(index)
            return changed(*sample) if isinstance(sample, tuple) else changed(sample)

        return transformed

    def split(self) -> tuple[Dataset, list[Any]]:
        from forerun.gluon.data import _steps

        if not isinstance(self._fn, _First):
            return self, []
        head, tail = _steps.split(self._fn.fn)
        if not tail:
            return self, []
        return (_Transformed(self._dataset, _First(_steps.joined(head))) if head else self._dataset), tail


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
        return batched(self._dataset, [self._indices[index] for index in indices])

    def _host_reader(self) -> Callable[[int], Any]:
        from forerun.gluon.data import _host

        read, indices = _host.reader(self._dataset), self._indices
        return lambda index: read(indices[index])

    def split(self) -> tuple[Dataset, list[Any]]:
        dataset, tail = split(self._dataset)
        return (_Chosen(dataset, self._indices), tail) if tail else (self, [])


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

    def batch(self, indices: Sequence[int]) -> Any:
        """Return stacked samples of an array."""
        return _gather(self._data, indices)

    def _host_reader(self) -> Callable[[int], Any]:
        return _rows(self._data)


class ArrayDataset(Dataset):
    """Several arrays or datasets of equal length: a sample has an entry of each.

    Parameters
    ----------
    *arrays
        Arrays, NumPy arrays, lists or datasets. With one of them samples are its entries, with several tuples of them.

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

    def _host_reader(self) -> Callable[[int], Any]:
        readers = [_rows(array) for array in self._arrays]
        if len(readers) == 1:
            return readers[0]
        return lambda index: tuple([read(index) for read in readers])


class RecordFileDataset(Dataset):
    """The records of a file in MXNet's format (``.rec``), as bytes. The index (``.idx``) lies next to it.

    Parameters
    ----------
    filename
        The file.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import recordio
    >>> from forerun.gluon import data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "words")
    ...     record = recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    ...     for number, word in enumerate([b"one", b"two"]):
    ...         record.write_idx(number, word)
    ...     record.close()
    ...     data.RecordFileDataset(path + ".rec")[1]
    b'two'
    """

    def __init__(self, filename: str | os.PathLike[str]) -> None:
        self.filename = os.fspath(filename)
        self.idx_file = os.path.splitext(self.filename)[0] + ".idx"
        from forerun import recordio

        # Threads may share the reader, and other processes open the file again.
        self._record = recordio.MXIndexedRecordIO(self.idx_file, self.filename, "r")

    def __getitem__(self, index: int) -> Any:
        """Return the bytes of one record."""
        return self._record.read_idx(self._record.keys[index])

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._record.keys)


def split(dataset: Dataset) -> tuple[Dataset, list[Any]]:
    """Return a dataset, and transforms that applied to the first entry of its batches give the batches of this one."""
    return dataset.split() if isinstance(dataset, (_Transformed, _Chosen)) else (dataset, [])


def _rows(data: Any) -> Callable[[int], Any]:
    """Return a function that reads the entries of an array, a dataset or a sequence as host data."""
    from forerun.gluon.data import _host

    if isinstance(data, Dataset):
        return _host.reader(data)
    found: Callable[[int], Any] = _host.hosted(data).__getitem__ if isinstance(data, ndarray) else data.__getitem__
    return found


def _gather(array: Any, indices: Sequence[int]) -> ndarray | None:
    import numpy

    if isinstance(array, Dataset):
        found: ndarray | None = batched(array, indices)
        return found if isinstance(found, ndarray) else None
    first = indices[0]
    adjacent = first >= 0 and list(indices) == list(range(first, first + len(indices)))
    if isinstance(array, ndarray):
        # A copy, because the caller may write to the batch.
        return array[first : first + len(indices)].copy() if adjacent else np.take(array, list(indices), axis=0)
    if type(array) is numpy.ndarray and array.dtype.kind in "biufc":
        return np.array(array[first : first + len(indices)] if adjacent else array[list(indices)])
    return None


def batched(dataset: Dataset, indices: Sequence[int]) -> Any:
    """Return stacked samples if the dataset has a fast way to do so that agrees with its samples, else ``None``."""
    from forerun.gluon.data import _host

    return dataset.batch(indices) if _host.faithful(dataset, "batch", "__getitem__") else None
