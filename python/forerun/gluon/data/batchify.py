"""Functions that combine samples into a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import np
from forerun._forerun import ndarray

__all__ = ["Append", "AsList", "Group", "Pad", "Stack", "default_batchify"]


class Stack:
    """Stack samples of one shape along a new first axis; tuples entry by entry.

    Parameters
    ----------
    use_shared_mem
        Accepted for compatibility with MXNet; batches of worker processes always come in shared memory.

    Examples
    --------
    >>> from forerun.gluon.data import batchify
    >>> batchify.Stack()([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """

    def __init__(self, use_shared_mem: bool = False) -> None:
        pass

    def __call__(self, samples: Sequence[Any]) -> Any:
        """Make the batch."""
        from forerun.gluon.data import _host

        return _host.shown(_host.stacked(samples))


default_batchify = Stack()


class Pad:
    """Pad samples to the largest of them along every axis, then stack them.

    Parameters
    ----------
    val
        The padding value; 0 if not given.
    dtype
        The dtype of the batch; that of the first sample if not given.
    round_to
        Round the padded sizes up to a multiple of this number.
    use_shared_mem
        Accepted for compatibility with MXNet.

    Examples
    --------
    >>> from forerun.gluon.data import batchify
    >>> batchify.Pad(val=-1)([[1, 2, 3], [4]])
    array([[ 1,  2,  3],
           [ 4, -1, -1]])
    """

    def __init__(
        self, val: float | None = None, dtype: Any = None, round_to: int | None = None, use_shared_mem: bool = False
    ) -> None:
        self._val = 0 if val is None else val
        self._dtype = dtype
        self._round_to = round_to

    def __call__(self, samples: Sequence[Any]) -> Any:
        """Make the batch."""
        import numpy

        if isinstance(samples[0], tuple):
            return [self(entries) for entries in zip(*samples, strict=True)]
        # Shapes differ, so staying asynchronous has no benefit: wait once per Forerun sample.
        values = [numpy.asarray(sample if hasattr(sample, "__array__") else np.array(sample)) for sample in samples]
        if len({value.ndim for value in values}) != 1:
            raise ValueError(f"Pad: samples have different numbers of dimensions: {[v.shape for v in values]}")
        sizes = [max(lengths) for lengths in zip(*(value.shape for value in values), strict=True)]
        if self._round_to is not None:
            sizes = [-(-size // self._round_to) * self._round_to for size in sizes]
        batch = numpy.full((len(values), *sizes), self._val, dtype=self._dtype or values[0].dtype)
        for row, value in zip(batch, values, strict=True):
            row[tuple(slice(0, length) for length in value.shape)] = value
        return np.array(batch)


class Append:
    """Return a list with an array for each sample; their shapes may differ.

    Parameters
    ----------
    expand
        Whether to add an axis of extent 1 for the batch.
    batch_axis
        The position of that axis.
    use_shared_mem
        Accepted for compatibility with MXNet.

    Examples
    --------
    >>> from forerun.gluon.data import batchify
    >>> batchify.Append()([[1, 2, 3], [4]])
    [array([[1, 2, 3]]), array([[4]])]
    """

    def __init__(self, expand: bool = True, batch_axis: int = 0, use_shared_mem: bool = False) -> None:
        self._expand = expand
        self._batch_axis = batch_axis

    def __call__(self, samples: Sequence[Any]) -> list[ndarray]:
        """Make the list."""
        arrays = [sample if isinstance(sample, ndarray) else np.array(sample) for sample in samples]
        return [np.expand_dims(array, self._batch_axis) for array in arrays] if self._expand else arrays


class AsList:
    """Return the samples as a list, unchanged: for texts and other things that are no arrays.

    Examples
    --------
    >>> from forerun.gluon.data import batchify
    >>> batchify.Group(batchify.Stack(), batchify.AsList())([(1, "one"), (2, "two")])
    (array([1, 2]), ['one', 'two'])
    """

    def __call__(self, samples: Sequence[Any]) -> list[Any]:
        """Make the list."""
        return list(samples)


class Group:
    """Combine each entry of tuple samples with its own function.

    Parameters
    ----------
    fn
        The function of the first entry, or a list of all functions.
    *functions
        The functions of the other entries.

    Examples
    --------
    >>> from forerun.gluon.data import batchify
    >>> batchify.Group(batchify.Pad(), batchify.Stack())([([1, 2], 0), ([3], 1)])
    (array([[1, 2],
           [3, 0]]), array([0, 1]))
    """

    def __init__(
        self, fn: Callable[..., Any] | Sequence[Callable[..., Any]], *functions: Callable[[Sequence[Any]], Any]
    ) -> None:
        if isinstance(fn, (list, tuple)):
            if functions:
                raise ValueError("Group: give the functions as one list or as arguments, not both")
            self._functions = tuple(fn)
        else:
            self._functions = (fn, *functions)
        for function in self._functions:
            if not callable(function):
                raise TypeError(f"Group: {function!r} is not callable")

    def __call__(self, samples: Sequence[Any]) -> tuple[Any, ...]:
        """Make the batches."""
        if len(samples[0]) != len(self._functions):
            raise ValueError(f"Group: samples of {len(samples[0])} entries, but {len(self._functions)} functions")
        entries = zip(*samples, strict=True)
        return tuple(function(entry) for function, entry in zip(self._functions, entries, strict=True))


def takes_host(function: Callable[..., Any]) -> bool:
    """Return whether a function combines host data as it is, without arrays in between."""
    if type(function) is Group:
        return all(takes_host(each) for each in function._functions)
    return type(function) in (Stack, Pad, Append, AsList)
