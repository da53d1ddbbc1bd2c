"""The loader of batches."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from forerun import _forerun, np
from forerun.torch._random import Generator, default_generator
from forerun.torch._tensor import Tensor
from forerun.torch.utils.data._collate import default_collate, default_convert
from forerun.torch.utils.data._datasets import IterableDataset, TensorDataset
from forerun.torch.utils.data._samplers import BatchSampler, RandomSampler, SequentialSampler

__all__ = ["DataLoader", "get_worker_info"]


class WorkerInfo(NamedTuple):
    """What a worker knows about itself."""

    id: int
    num_workers: int
    seed: int
    dataset: Any


class _Worker(threading.local):
    info: WorkerInfo | None = None


_WORKER = _Worker()


def get_worker_info() -> WorkerInfo | None:
    """Return the number of the loader's worker that calls this, and how many there are; None elsewhere.

    Examples
    --------
    >>> from forerun.torch.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
    return _WORKER.info


class DataLoader:
    """Batches of a dataset.

    Batches of a :class:`TensorDataset` are taken out of its tensors without waiting for them. Rows of other datasets
    are combined by ``collate_fn``.

    Parameters
    ----------
    dataset : Dataset
        Rows by index, or an :class:`IterableDataset`.
    batch_size : int, optional
        Rows per batch; None gives rows instead of batches.
    shuffle : bool, optional
        Whether to shuffle in every epoch.
    sampler : iterable of int, optional
        The order of the indices, instead of ``shuffle``.
    batch_sampler : iterable of list, optional
        Lists of indices, instead of the arguments before and ``drop_last``.
    num_workers : int
        The number of threads that prepare batches ahead; 0 prepares them on demand. Batches keep their order. Of an
        iterable dataset every thread iterates over all rows, unless it asks :func:`get_worker_info` for its share.
    collate_fn : callable, optional
        Combines a list of rows into a batch; :func:`default_collate` if not given.
    pin_memory : bool
        Has no effect: copies to GPUs are asynchronous from any memory.
    drop_last : bool
        Whether to drop an incomplete last batch.
    timeout : float
        How many seconds to wait for a worker's batch; 0 waits without a limit.
    worker_init_fn : callable, optional
        Called with its number in each worker.
    multiprocessing_context, persistent_workers, pin_memory_device, in_order
        Have no effect: workers are threads.
    generator : Generator, optional
        The source of the random order.
    prefetch_factor : int, optional
        How many batches each worker prepares ahead; 2 if not given.

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
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError(f"DataLoader: num_workers must not be negative, got {num_workers}")
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"DataLoader: batch_size must be positive, got {batch_size}")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: sampler cannot be combined with shuffle")
        if prefetch_factor is not None and num_workers == 0:
            raise ValueError("DataLoader: prefetch_factor needs num_workers")
        self._iterable = isinstance(dataset, IterableDataset)
        if self._iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader: an IterableDataset has an order of its own: no shuffle and no sampler")
        if batch_sampler is not None:
            if batch_size not in (1, None) or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "DataLoader: batch_sampler cannot be combined with batch_size, shuffle, sampler or drop_last"
                )
            batch_size, drop_last = None, False
        if batch_size is None and drop_last and batch_sampler is None:
            raise ValueError("DataLoader: drop_last needs a batch_size")
        if sampler is None and not self._iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self._whole = batch_size is None and batch_sampler is None
        if batch_sampler is None and batch_size is not None and not self._iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last, self.num_workers = dataset, batch_size, drop_last, num_workers
        self.sampler, self.batch_sampler, self.generator, self.timeout = sampler, batch_sampler, generator, timeout
        self.pin_memory, self.worker_init_fn = pin_memory, worker_init_fn
        self.prefetch_factor = prefetch_factor if prefetch_factor is not None or num_workers == 0 else 2
        self._own = collate_fn is not None
        self.collate_fn: Callable[[Any], Any] = collate_fn or (default_convert if self._whole else default_collate)

    def __len__(self) -> int:
        """Return the number of batches per epoch."""
        if self._iterable:
            count = len(self.dataset)
            if self.batch_size is None:
                return count
            full, rest = divmod(count, self.batch_size)
            return full + bool(rest and not self.drop_last)
        return len(self.sampler if self._whole else self.batch_sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the batches of one epoch."""
        if self.num_workers:
            return self._ahead()
        if self._iterable:
            return self._gathered(iter(self.dataset))
        return map(self._make, self._indices())

    def _indices(self) -> Iterable[Any]:
        return self.sampler if self._whole else self.batch_sampler  # type: ignore[return-value]

    def _gathered(self, rows: Iterator[Any]) -> Iterator[Any]:
        """Combine the rows of an iterable dataset."""
        if self.batch_size is None:
            yield from map(self.collate_fn, rows)
            return
        while batch := list(itertools.islice(rows, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate_fn(batch)

    def _make(self, indices: Any) -> Any:
        if self._whole:
            return self.collate_fn(self.dataset[indices])
        if type(self.dataset) is TensorDataset and not self._own:
            return self._taken(list(indices))
        several = getattr(self.dataset, "__getitems__", None)
        rows = several(indices) if several is not None else [self.dataset[index] for index in indices]
        return self.collate_fn(rows)

    def _taken(self, rows: list[int]) -> list[Tensor]:
        """Take a batch out of the tensors."""
        if rows and rows == list(range(rows[0], rows[0] + len(rows))):
            # Consecutive rows are a slice, which is a view.
            return [tensor[rows[0] : rows[-1] + 1] for tensor in self.dataset.tensors]
        return [Tensor._run(lambda array: np.take(array, rows, axis=0), tensor) for tensor in self.dataset.tensors]

    # Workers.

    def _ahead(self) -> Iterator[Any]:
        """Prepare the next batches in threads while the program uses this one."""
        numbers = itertools.count()
        lock = threading.Lock()
        line = _forerun.user_line_id()
        seed = (self.generator or default_generator).host.getrandbits(63)

        def start() -> None:
            # Ops that the threads submit are attributed to the line that iterates over the loader.
            _forerun.work_for_line(line)
            with lock:
                number = next(numbers)
            _WORKER.info = WorkerInfo(number, self.num_workers, seed + number, self.dataset)
            if self.worker_init_fn is not None:
                self.worker_init_fn(number)

        if self._iterable:
            yield from self._streamed(start)
            return
        limit = self.timeout or None
        pool = ThreadPoolExecutor(self.num_workers, "forerun-loader", start)
        pending: deque[Future[Any]] = deque()
        try:
            for indices in self._indices():
                pending.append(pool.submit(self._make, indices))
                if len(pending) >= self.num_workers * (self.prefetch_factor or 2):
                    yield pending.popleft().result(limit)
            while pending:
                yield pending.popleft().result(limit)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _streamed(self, start: Callable[[], None]) -> Iterator[Any]:
        """Take batches of an iterable dataset from the workers in turn."""
        end = object()
        limit = self.timeout or None
        # Each worker has a thread of its own, because it has an iterator of its own.
        pools = [ThreadPoolExecutor(1, "forerun-loader", start) for _ in range(self.num_workers)]
        try:
            opened = [pool.submit(lambda: self._gathered(iter(self.dataset))) for pool in pools]
            streams = [future.result(limit) for future in opened]
            ahead = [
                deque(pool.submit(next, stream, end) for _ in range(self.prefetch_factor or 2))
                for pool, stream in zip(pools, streams, strict=True)
            ]
            live = list(range(self.num_workers))
            while live:
                for number in list(live):
                    batch = ahead[number].popleft().result(limit)
                    if batch is end:
                        live.remove(number)
                        continue
                    ahead[number].append(pools[number].submit(next, streams[number], end))
                    yield batch
        finally:
            for pool in pools:
                pool.shutdown(wait=True, cancel_futures=True)
