"""``mxnet.io``: iterators over arrays, with which programs from before ``gluon.data`` feed their networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from forerun import np
from forerun._convert import to_array
from forerun._forerun import ndarray

__all__ = ["DataBatch", "DataDesc", "DataIter", "NDArrayIter"]


class DataDesc(NamedTuple):
    """The name and the shape of an input.

    Examples
    --------
    >>> from forerun.mxnet import io
    >>> io.DataDesc("data", (2, 3)).shape
    (2, 3)
    """

    name: str
    shape: tuple[int, ...]
    dtype: Any = "float32"
    layout: str = "NCHW"


class DataBatch:
    """The arrays of a batch.

    Parameters
    ----------
    data, label
        Lists of arrays.
    pad
        How many samples at the end only fill up the batch.
    index
        The indices of the samples.
    provide_data, provide_label
        Names and shapes.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.mxnet import io
    >>> io.DataBatch([np.ones((2, 3))])
    DataBatch: data shapes: [(2, 3)] label shapes: []
    """

    def __init__(
        self,
        data: Sequence[ndarray],
        label: Sequence[ndarray] | None = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: list[DataDesc] | None = None,
        provide_label: list[DataDesc] | None = None,
    ) -> None:
        self.data = data
        self.label = label
        self.pad = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __repr__(self) -> str:
        """Write the shapes."""
        shapes = [[array.shape for array in arrays or []] for arrays in (self.data, self.label)]
        return f"DataBatch: data shapes: {shapes[0]} label shapes: {shapes[1]}"


class DataIter:
    """The base class of iterators over batches: a subclass defines ``next``, and ``reset``.

    Examples
    --------
    >>> from forerun.mxnet import io
    >>> io.DataIter(batch_size=4).batch_size
    4
    """

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[DataBatch]:
        """Return the iterator itself."""
        return self

    def __next__(self) -> DataBatch:
        """Return the next batch."""
        return self.next()

    def next(self) -> DataBatch:
        """Return the next batch, or raise ``StopIteration``."""
        raise NotImplementedError(f"{type(self).__name__} has no next")

    def reset(self) -> None:
        """Start from the first batch again."""


def _named(given: Any, name: str) -> list[tuple[str, ndarray]]:
    """Return names and arrays of an array, a list of arrays or a mapping."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(key, to_array(array)) for key, array in given.items()]
    if isinstance(given, (list, tuple)):
        many = len(given) > 1
        return [(f"_{i}_{name}" if many else name, to_array(array)) for i, array in enumerate(given)]
    return [(name, to_array(given))]


class NDArrayIter(DataIter):
    """Batches of arrays.

    Parameters
    ----------
    data, label
        An array, a list of arrays, or arrays by name.
    batch_size
        The number of samples in a batch.
    shuffle
        Whether to draw a random order, once.
    last_batch_handle
        What to do if the last batch is not full: ``"pad"`` fills it up with the first samples, ``"discard"`` drops it,
        and ``"roll_over"`` begins the next epoch with it.
    data_name, label_name
        The names of arrays without one.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.mxnet import io
    >>> [(batch.data[0].tolist(), batch.pad) for batch in io.NDArrayIter(np.arange(3.0), batch_size=2)]
    [([0.0, 1.0], 0), ([2.0, 0.0], 1)]
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
    ) -> None:
        super().__init__(batch_size)
        if last_batch_handle not in ("pad", "discard", "roll_over"):
            raise ValueError(f"NDArrayIter: last_batch_handle must be pad, discard or roll_over: {last_batch_handle!r}")
        self.data = _named(data, data_name)
        self.label = _named(label, label_name)
        sizes = {len(array) for _, array in self.data + self.label}
        if len(sizes) != 1:
            raise ValueError(f"NDArrayIter: arrays must have the same number of samples, got {sorted(sizes)}")
        self.num_data = sizes.pop()
        if self.num_data < batch_size:
            raise ValueError(f"NDArrayIter: {self.num_data} samples are less than a batch of {batch_size}")
        self.last_batch_handle = last_batch_handle
        self._order: list[int] = list(range(self.num_data))
        if shuffle:
            self._order = np.random.permutation(self.num_data).tolist()
        # Where the next batch begins; negative if it begins with samples of the epoch before.
        self.cursor = 0

    def _described(self, arrays: list[tuple[str, ndarray]]) -> list[DataDesc]:
        return [DataDesc(name, (self.batch_size, *array.shape[1:]), array.dtype) for name, array in arrays]

    @property
    def provide_data(self) -> list[DataDesc]:
        """Names and shapes of the data."""
        return self._described(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Names and shapes of the labels."""
        return self._described(self.label)

    def reset(self) -> None:
        """Start from the first batch again, or from what ``roll_over`` left."""
        left = self.num_data - self.cursor
        self.cursor = -left if self.last_batch_handle == "roll_over" and 0 < left < self.batch_size else 0

    def hard_reset(self) -> None:
        """Start from the first batch again."""
        self.cursor = 0

    def next(self) -> DataBatch:
        """Return the next batch, or raise ``StopIteration``."""
        begin, end = self.cursor, self.cursor + self.batch_size
        if begin >= self.num_data or (end > self.num_data and self.last_batch_handle != "pad"):
            raise StopIteration
        self.cursor = end
        index = [self._order[i % self.num_data] for i in range(begin, end)]
        place = np.array(index, dtype="int64")
        data, label = ([array[place] for _, array in arrays] for arrays in (self.data, self.label))
        return DataBatch(data, label, max(end - self.num_data, 0), index, None, self.provide_data, self.provide_label)
