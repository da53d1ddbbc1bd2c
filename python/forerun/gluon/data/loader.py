"""The loader: iterates over a dataset in batches, optionally prepared ahead by processes or threads."""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from forerun.gluon.data.dataset import Dataset, SimpleDataset
from forerun.gluon.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    restore,
    seeded,
    state_of,
)

if TYPE_CHECKING:
    from forerun.gluon.data._processes import Processes
    from forerun.gluon.data._recipe import Job, Recipe

__all__ = ["DataLoader"]


class _Workers(Protocol):
    def submit(self, job: Job) -> int: ...

    def collect(self, ticket: int, number: int, timeout: float) -> Any: ...


class _Epoch:
    """How far the program has come in an epoch, and what the epoch began with."""

    def __init__(self, number: int, position: int, sampler: dict[str, Any]) -> None:
        self.number = number
        self.position = position
        self.sampler = sampler
        self.ended = False


class DataLoader:
    """Iterable over the batches of a dataset.

    The order and the random transforms follow from ``seed`` and the epoch, whatever the number and kind of workers.
    :meth:`state_dict` and :meth:`load_state_dict` resume an epoch after any batch. ``docs/data.md`` says more.

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
        The number of processes, or threads, that prepare batches ahead; 0 prepares them on demand. Datasets whose
        batches are taken out of arrays by one op need no workers and start none.
    pin_memory, pin_device_id, try_nopython
        Accepted for compatibility with MXNet; ignored.
    prefetch
        The maximum number of batches prepared ahead; twice the number of workers if not given.
    thread_pool
        Whether the workers are threads instead of processes.
    timeout
        How many seconds to wait for a batch of a worker before raising ``TimeoutError``.
    seed
        The seed of the order and of random transforms; drawn by NumPy's global generator if not given.
    progress
        Whether to show a progress bar, if ``tqdm`` is installed; a text is its title.
    multiprocessing_context
        How processes start: ``"fork"`` (the default on Linux), ``"spawn"`` or ``"forkserver"``.

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
        thread_pool: bool = False,
        timeout: float = 120,
        try_nopython: bool | None = None,
        *,
        seed: int | None = None,
        progress: bool | str = False,
        multiprocessing_context: str | None = None,
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
        if timeout <= 0:
            raise ValueError(f"DataLoader: timeout must be positive, got {timeout}")
        if multiprocessing_context not in (None, "fork", "spawn", "forkserver"):
            raise ValueError(
                "DataLoader: multiprocessing_context is 'fork', 'spawn' or 'forkserver',"
                f" not {multiprocessing_context!r}"
            )
        self._batch_sampler = batch_sampler
        self._batchify_fn = batchify_fn
        self._num_workers = num_workers
        self._prefetch = max(1, 2 * num_workers if prefetch is None else prefetch)
        self._thread_pool = thread_pool
        self._timeout = timeout
        self._seed = seed
        self._progress = progress
        self._method = multiprocessing_context
        self._processes: Processes | None = None
        # The number of the next epoch, the latest one begun, and the state to continue with.
        self._next = 0
        self._epoch: _Epoch | None = None
        self._loaded: dict[str, Any] | None = None

    def __len__(self) -> int:
        """Return the number of batches of an epoch."""
        return len(self._batch_sampler)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the batches of the next epoch, or over the rest of one that is resumed."""
        from forerun.gluon.data._recipe import Job, Recipe

        epoch, seed, order = self._begin()
        numbers = itertools.count(epoch.position)
        jobs = (Job(number, indices, _mixed(seed, number)) for number, indices in zip(numbers, order, strict=False))
        batches = self._counted(self._batches(Recipe(self._dataset, self._batchify_fn), jobs), epoch)
        return _shown(self, batches, epoch.position) if self._progress else batches

    def state_dict(self) -> dict[str, Any]:
        """Return where the program is: after the last batch that the latest iterator gave.

        The state consists of numbers, strings, lists and dictionaries, so JSON can hold it.

        Examples
        --------
        >>> from forerun.gluon import data
        >>> loader = data.DataLoader(range(6), batch_size=2, shuffle=True, seed=1)
        >>> epoch = iter(loader)
        >>> first, state = next(epoch), loader.state_dict()
        >>> resumed = data.DataLoader(range(6), batch_size=2, shuffle=True)
        >>> resumed.load_state_dict(state)
        >>> [x.tolist() for x in epoch] == [x.tolist() for x in resumed]
        True
        """
        if self._loaded is not None:
            return dict(self._loaded)
        epoch = self._epoch
        state: dict[str, Any] = {"seed": self._base()}
        if epoch is None or epoch.ended:
            return {**state, "epoch": self._next, "position": 0, "sampler": state_of(self._batch_sampler)}
        return {**state, "epoch": epoch.number, "position": epoch.position, "sampler": epoch.sampler}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where :meth:`state_dict` was called: the next iterator gives the rest of that epoch.

        The dataset, the sampler and the batch size must be the same. The number and kind of workers may differ. A
        sampler of another class must visit samples in the same order again, or have ``state_dict`` and
        ``load_state_dict`` itself.
        """
        for name in ("seed", "epoch", "position"):
            value = state.get(name) if isinstance(state, dict) else None
            if not isinstance(value, int) or isinstance(value, bool) or (name != "seed" and value < 0):
                raise ValueError(f"load_state_dict: {name} must be a number of a state of a DataLoader, got {value!r}")
        if not isinstance(state.get("sampler"), dict):
            raise ValueError(f"load_state_dict: sampler must be a dictionary, got {state.get('sampler')!r}")
        self._loaded = dict(state)

    def close(self) -> None:
        """End the worker processes. The next epoch starts new ones. Garbage collection of the loader ends them too."""
        if self._processes is not None:
            self._processes.close()
            self._processes = None

    def _base(self) -> int:
        if self._seed is None:
            import numpy

            self._seed = int(numpy.random.randint(2**63 - 1, dtype=numpy.int64))
        return self._seed

    def _begin(self) -> tuple[_Epoch, int, Iterator[Sequence[int]]]:
        """Begin an epoch; return it, its seed, and the indices of its batches."""
        state, self._loaded = self._loaded, None
        position = 0
        if state is not None:
            self._seed, self._next, position = state["seed"], state["epoch"], state["position"]
            restore(self._batch_sampler, state["sampler"])
        seed = _mixed(self._base(), self._next)
        epoch = self._epoch = _Epoch(self._next, position, state_of(self._batch_sampler))
        self._next += 1
        seeded(self._batch_sampler, seed)
        order = iter(self._batch_sampler)
        for _ in range(position):
            next(order, None)
        # The order is drawn now, not with the first batch: another epoch may begin in between.
        return epoch, seed, itertools.chain(list(itertools.islice(order, 1)), order)

    @staticmethod
    def _counted(batches: Iterator[Any], epoch: _Epoch) -> Iterator[Any]:
        for batch in batches:
            epoch.position += 1
            yield batch
            # The program may let go of the batch while the next one is made.
            del batch
        epoch.ended = True

    def _batches(self, recipe: Recipe, jobs: Iterator[Job]) -> Iterator[Any]:
        first = next(jobs, None)
        if first is None:
            return
        batch = recipe.gather(first)
        if batch is not None or self._num_workers == 0:
            if batch is None:
                recipe.start()
            while True:
                yield recipe.finish(recipe.prepare(first)) if batch is None else batch
                del batch
                first = next(jobs, None)
                if first is None:
                    return
                batch = recipe.gather(first)
        jobs = itertools.chain([first], jobs)
        if self._thread_pool:
            yield from self._by_threads(recipe, jobs)
        else:
            yield from self._by_processes(recipe, jobs)

    def _by_threads(self, recipe: Recipe, jobs: Iterator[Job]) -> Iterator[Any]:
        from forerun.gluon.data._threads import Threads

        recipe.start()
        threads = Threads(recipe, self._num_workers)
        try:
            yield from self._ahead(threads, jobs, deque())
        finally:
            threads.close()

    def _by_processes(self, recipe: Recipe, jobs: Iterator[Job]) -> Iterator[Any]:
        from forerun.gluon.data._processes import Processes

        if self._processes is None or not self._processes.alive:
            self._processes = Processes(recipe, self._num_workers, self._method)
            weakref.finalize(self, self._processes.close)
        processes, pending = self._processes, deque[tuple[int, int]]()
        try:
            for made in self._ahead(processes, jobs, pending):
                yield recipe.finish(made)
                del made
        finally:
            processes.drop([ticket for ticket, _ in pending])

    def _ahead(self, workers: _Workers, jobs: Iterator[Job], pending: deque[tuple[int, int]]) -> Iterator[Any]:
        """Keep as many batches pending as may be prepared ahead; give them in order."""
        while True:
            for job in itertools.islice(jobs, self._prefetch - len(pending)):
                pending.append((workers.submit(job), job.number))
            if not pending:
                return
            ticket, number = pending[0]
            made = workers.collect(ticket, number, self._timeout)
            pending.popleft()
            yield made
            del made


def _mixed(seed: int, number: int) -> int:
    from forerun.gluon.data._host import mixed

    return mixed(seed, number)


def _shown(loader: DataLoader, batches: Iterator[Any], position: int) -> Iterator[Any]:
    """Show a progress bar, if possible."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return batches
    title = loader._progress if isinstance(loader._progress, str) else None
    try:
        total = len(loader)
    except TypeError:
        total = None
    bar: Iterator[Any] = iter(tqdm(batches, total=total, initial=position, desc=title))
    return bar
