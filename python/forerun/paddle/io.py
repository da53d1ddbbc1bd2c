"""Datasets and batches with Paddle's names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forerun._missing import module_getattr
from forerun.paddle._borrow import lend, take
from forerun.paddle._tensor import Tensor
from forerun.torch.utils import data as _data
from forerun.torch.utils.data import Dataset, IterableDataset, Subset

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "RandomSampler",
    "Sampler", "SequenceSampler", "Subset", "TensorDataset", "WeightedRandomSampler", "random_split",
]  # fmt: skip

ChainDataset, ConcatDataset, random_split = _data.ChainDataset, _data.ConcatDataset, _data.random_split
Sampler, RandomSampler, SequenceSampler = _data.Sampler, _data.RandomSampler, _data.SequentialSampler
WeightedRandomSampler = _data.WeightedRandomSampler


class TensorDataset(Dataset[Any]):
    """Rows of several tensors of the same length, side by side.

    Examples
    --------
    >>> from forerun import paddle
    >>> len(paddle.io.TensorDataset([paddle.ones([3, 2]), paddle.arange(3)]))
    3
    """

    def __init__(self, tensors: Any) -> None:
        lengths = [len(tensor) for tensor in tensors]
        if len(set(lengths)) != 1:
            raise ValueError(f"TensorDataset: tensors must have equal lengths, got {lengths}")
        self.tensors = tuple(tensors)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.tensors[0])

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        """Return a row, or several."""
        return tuple(tensor[index] for tensor in self.tensors)


class BatchSampler(_data.BatchSampler):
    """Lists of indices of a dataset, or of a sampler.

    Examples
    --------
    >>> from forerun import paddle
    >>> list(paddle.io.BatchSampler(range(5), batch_size=2))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any = None,
        sampler: Any = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        if sampler is None:
            sampler = (RandomSampler if shuffle else SequenceSampler)(dataset)
        super().__init__(sampler, batch_size, drop_last)


class DataLoader:
    """Batches of a dataset; workers are threads.

    Parameters
    ----------
    dataset : Dataset
        Rows.
    batch_size : int, optional
        Rows per batch; None gives rows instead of batches.
    shuffle, drop_last : bool
        Whether to shuffle in every epoch, and to drop an incomplete last batch.
    batch_sampler : iterable of list, optional
        Lists of indices, instead of the arguments before.
    collate_fn : callable, optional
        Combines a list of rows into a batch.
    num_workers : int
        The number of threads that prepare batches ahead.
    feed_list, places, return_list, use_buffer_reader, prefetch_factor, use_shared_memory, timeout, worker_init_fn,
    persistent_workers
        Have no effect.

    Examples
    --------
    >>> from forerun import paddle
    >>> rows = paddle.io.TensorDataset([paddle.arange(3), paddle.arange(3) * 2])
    >>> [(x.tolist(), y.tolist()) for x, y in paddle.io.DataLoader(rows, batch_size=2)]
    [([0, 1], [0, 2]), ([2], [4])]
    """

    def __init__(
        self,
        dataset: Any,
        feed_list: Any = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Any = None,
        num_workers: int = 0,
        **unused: Any,
    ) -> None:
        given = dataset
        if type(dataset) is TensorDataset:
            given = _data.TensorDataset(*lend(dataset.tensors))
        combine = None if collate_fn is None else collate_fn
        # Rows of a program's own dataset hold this dialect's tensors.
        if combine is None and given is dataset:
            combine = _collated
        named: dict[str, Any] = {"num_workers": num_workers, "collate_fn": combine}
        if batch_sampler is not None:
            self._loader = _data.DataLoader(given, batch_sampler=batch_sampler, **named)
        else:
            order = None if isinstance(given, IterableDataset) else shuffle
            self._loader = _data.DataLoader(given, batch_size, order, drop_last=drop_last, **named)
        self.dataset, self.batch_size = dataset, batch_size

    def __len__(self) -> int:
        """Return the number of batches per epoch."""
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the batches of one epoch."""
        return map(take, iter(self._loader))

    def __call__(self) -> Iterator[Any]:
        """Iterate over the batches of one epoch."""
        return iter(self)


def _collated(rows: list[Any]) -> Any:
    return _data.default_collate(lend(rows))


__getattr__ = module_getattr(__name__, globals(), {"DistributedBatchSampler": "there is one process: use BatchSampler"})
