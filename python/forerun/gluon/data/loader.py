"""The loader: iterates over a dataset in batches, optionally prepared ahead by threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from forerun import _forerun
from forerun.gluon.data.batchify import default_batchify
from forerun.gluon.data.dataset import Dataset, SimpleDataset
from forerun.gluon.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader"]


class DataLoader:
    """Iterable over the batches of a dataset.

    Parameters
    ----------
    dataset
        A :class:`Dataset`, or any sequence.
    batch_size
        Samples per batch.
    shuffle
        Whether to shuffle in every epoch.
    sampler
        The sampler, instead of ``shuffle``.
    last_batch
        What to do with an incomplete last batch: ``"keep"``, ``"discard"``, or ``"rollover"`` to the next epoch.
    batch_sampler
        An iterable of lists of indices, instead of the four arguments before.
    batchify_fn
        The function that combines samples into a batch; stacks them if not given.
    num_workers
        The number of threads that prepare batches ahead; 0 prepares them on demand.
    pin_memory, pin_device_id, thread_pool, timeout, try_nopython
        Accepted for compatibility with MXNet; ignored.
    prefetch
        The maximum number of batches prepared ahead; twice the number of threads if not given.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import data
    >>> loader = data.DataLoader(data.ArrayDataset(np.ones((5, 2)), np.arange(5)), batch_size=2)
    >>> [(x.shape, y.tolist()) for x, y in loader]
    [((2, 2), [0, 1]), ((2, 2), [2, 3]), ((1, 2), [4])]
    """

    def __init__(
        self,
        dataset: Dataset | Sequence[Any],
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Sampler | None = None,
        last_batch: str | None = None,
        batch_sampler: Iterable[Sequence[int]] | None = None,
        batchify_fn: Callable[[Sequence[Any]], Any] | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = True,
        timeout: float = 120,
        try_nopython: bool | None = None,
    ) -> None:
        self._dataset = dataset if isinstance(dataset, Dataset) else SimpleDataset(dataset)
        if batch_sampler is None:
            if batch_size is None:
                raise ValueError("DataLoader: give batch_size or batch_sampler")
            if sampler is None:
                sampler = (RandomSampler if shuffle else SequentialSampler)(len(self._dataset))
            elif shuffle:
                raise ValueError("DataLoader: shuffle cannot be combined with sampler")
            batch_sampler = BatchSampler(sampler, batch_size, last_batch or "keep")
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ValueError(
                "DataLoader: batch_size, shuffle, sampler and last_batch must not be given with batch_sampler"
            )
        if num_workers < 0:
            raise ValueError(f"DataLoader: num_workers must not be negative, got {num_workers}")
        self._batch_sampler = batch_sampler
        self._batchify_fn = batchify_fn
        self._num_workers = num_workers
        self._prefetch = max(1, 2 * num_workers if prefetch is None else prefetch)

    def __len__(self) -> int:
        """Return the number of batches."""
        return len(self._batch_sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the batches."""
        if self._num_workers == 0:
            return map(self._make, self._batch_sampler)
        return self._ahead()

    def _make(self, indices: Sequence[int]) -> Any:
        if self._batchify_fn is not None:
            return self._batchify_fn([self._dataset[index] for index in indices])
        batch = self._dataset.batch(indices)
        return default_batchify([self._dataset[index] for index in indices]) if batch is None else batch

    def _ahead(self) -> Iterator[Any]:
        """Prepare the next batches in threads while the program uses this one."""
        # Ops that the threads submit are attributed to the line that iterates over the loader.
        pool = ThreadPoolExecutor(
            self._num_workers, "forerun-loader", _forerun.work_for_line, (_forerun.user_line_id(),)
        )
        pending: deque[Future[Any]] = deque()
        try:
            for indices in self._batch_sampler:
                pending.append(pool.submit(self._make, indices))
                if len(pending) >= self._prefetch:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
