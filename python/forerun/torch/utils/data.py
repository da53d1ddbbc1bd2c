"""Batches of tensors, in order or shuffled."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

from forerun import np
from forerun._missing import module_getattr
from forerun.torch._creation import tensor
from forerun.torch._functions import stack
from forerun.torch._tensor import Tensor

__all__ = ["DataLoader", "Dataset", "TensorDataset"]

# The generator of shuffled orders, which ``manual_seed`` resets.
SHUFFLER = random.Random(0)


class Dataset:
    """Base class of datasets: a length, and a row for each index."""

    def __getitem__(self, index: Any) -> Any:
        """Return a row. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__")

    def __len__(self) -> int:
        """Return the number of rows. Subclasses define this."""
        raise NotImplementedError(f"{type(self).__name__} has no __len__")


class TensorDataset(Dataset):
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


class DataLoader:
    """Batches of a data set.

    Batches of a :class:`TensorDataset` are taken out of its tensors without waiting for them. Other data sets are read
    row by row, and their rows are stacked.

    Parameters
    ----------
    dataset : Dataset
        Rows: tensors, numbers, NumPy arrays, or tuples of them.
    batch_size : int
        Rows per batch.
    shuffle : bool
        Whether to shuffle in every epoch.
    drop_last : bool
        Whether to drop an incomplete last batch.
    num_workers : int
        Accepted and ignored: batches are computed asynchronously anyway.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.utils.data import DataLoader, TensorDataset
    >>> for x, y in DataLoader(TensorDataset(torch.arange(3), torch.arange(3) * 2), batch_size=2):
    ...     print(x, y)
    tensor([0, 1]) tensor([0, 2])
    tensor([2]) tensor([4])
    """

    def __init__(
        self, dataset: Any, batch_size: int = 1, shuffle: bool = False, drop_last: bool = False, num_workers: int = 0
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"DataLoader: batch_size must be positive, got {batch_size}")
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last

    def __len__(self) -> int:
        """Return the number of batches per epoch."""
        full, rest = divmod(len(self.dataset), self.batch_size)
        return full + bool(rest and not self.drop_last)

    def __iter__(self) -> Iterator[list[Tensor] | Tensor]:
        """Iterate over the batches of one epoch."""
        order = list(range(len(self.dataset)))
        if self.shuffle:
            SHUFFLER.shuffle(order)
        for start in range(0, len(self) * self.batch_size, self.batch_size):
            yield self._batch(order[start : start + self.batch_size])

    def _batch(self, rows: Sequence[int]) -> list[Tensor] | Tensor:
        if not isinstance(self.dataset, TensorDataset):
            return _stacked([self.dataset[row] for row in rows])
        if not self.shuffle:
            # Consecutive rows are a slice, which is a view.
            return [tensor[rows[0] : rows[-1] + 1] for tensor in self.dataset.tensors]
        return [
            Tensor._run(lambda array: np.take(array, list(rows), axis=0), tensor) for tensor in self.dataset.tensors
        ]


def _stacked(rows: list[Any]) -> list[Tensor] | Tensor:
    """Stack rows to one tensor, or to a list with one tensor per column."""
    if isinstance(rows[0], (tuple, list)):
        return [_stacked(list(column)) for column in zip(*rows, strict=True)]  # type: ignore[misc]
    return stack([row if isinstance(row, Tensor) else tensor(row) for row in rows])


__getattr__ = module_getattr(__name__, globals(), {})
