"""How a batch is made from indices: what a loader hands to its workers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from forerun import np
from forerun._forerun import ndarray
from forerun.gluon.data import _host
from forerun.gluon.data.batchify import takes_host
from forerun.gluon.data.dataset import Dataset, batched, split


class Job(NamedTuple):
    """A batch to be made: its number in the epoch, its samples, and the seed of its random numbers."""

    number: int
    indices: Sequence[int]
    seed: int


class Recipe:
    """Makes batches of a dataset, in two steps.

    :meth:`prepare` may run in another process; its result holds host data. :meth:`finish` runs in the program's process
    and returns what the program gets. Transforms at the end that treat all elements alike are applied there, to the
    whole batch, as ops that the program does not wait for.
    """

    def __init__(self, dataset: Dataset, batchify: Callable[[Sequence[Any]], Any] | None) -> None:
        self._batchify = batchify
        self._dataset, self._tail = split(dataset) if batchify is None else (dataset, [])
        self._read: Callable[[int], Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Omit the reader, which another process makes itself."""
        return {**self.__dict__, "_read": None}

    def start(self) -> None:
        """Read the dataset as it is now from here on."""
        self._read = _host.reader(self._dataset)

    def gather(self, job: Job) -> Any:
        """Return the batch if the dataset can take it out of arrays, without reading single samples; else None."""
        made = batched(self._dataset, job.indices) if self._batchify is None else None
        return None if made is None else self.finish(made)

    def prepare(self, job: Job) -> Any:
        """Read, change and combine the samples."""
        if self._read is None:
            self.start()
        assert self._read is not None
        with _host.drawing(job.seed):
            samples = [self._read(index) for index in job.indices]
            if self._batchify is None:
                return _host.stacked(samples)
            return self._batchify(samples if takes_host(self._batchify) else _host.shown(samples))

    def finish(self, made: Any) -> Any:
        """Turn host data into arrays, and apply the last transforms."""
        batch = _host.shown(made)
        if not self._tail:
            return batch
        if isinstance(batch, list):
            return [self._changed(batch[0]), *batch[1:]]
        return self._changed(batch)

    def _changed(self, batch: ndarray) -> Any:
        # Images of three dimensions make a batch of four; with others, a transform could mistake a batch for an image.
        if batch.ndim != 4:
            return np.stack([self._tailed(sample) for sample in batch])
        return self._tailed(batch)

    def _tailed(self, x: Any) -> Any:
        for transform in self._tail:
            x = transform(x)
        return x
