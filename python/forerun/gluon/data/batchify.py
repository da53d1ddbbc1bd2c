"""Functions that combine samples into a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import np
from forerun._forerun import ndarray

__all__ = ["Group", "Pad", "Stack", "default_batchify"]


class Stack:
    """Stack samples of one shape along a new first axis; tuples entry by entry.

    Examples
    --------
    >>> from forerun.gluon.data import batchify
    >>> batchify.Stack()([[1, 2], [3, 4]])
    array([[1, 2],
           [3, 4]])
    """

    def __call__(self, samples: Sequence[Any]) -> Any:
        """Make the batch."""
        first = samples[0]
        if isinstance(first, ndarray):
            return np.stack(samples)
        if isinstance(first, tuple):
            return [self(entries) for entries in zip(*samples, strict=True)]
        return np.array(_host(samples))


default_batchify = Stack()


class Pad:
    """Pad samples to the largest of them along every axis, then stack them.

    Parameters
    ----------
    val
        The padding value.
    dtype
        The dtype of the batch; that of the first sample if not given.
    round_to
        Round the padded sizes up to a multiple of this number.

    Examples
    --------
    >>> from forerun.gluon.data import batchify
    >>> batchify.Pad(val=-1)([[1, 2, 3], [4]])
    array([[ 1,  2,  3],
           [ 4, -1, -1]])
    """

    def __init__(self, val: float = 0, dtype: Any = None, round_to: int | None = None) -> None:
        self._val = val
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


class Group:
    """Combine each entry of tuple samples with its own function.

    Examples
    --------
    >>> from forerun.gluon.data import batchify
    >>> batchify.Group(batchify.Pad(), batchify.Stack())([([1, 2], 0), ([3], 1)])
    (array([[1, 2],
           [3, 0]]), array([0, 1]))
    """

    def __init__(self, *functions: Callable[[Sequence[Any]], Any]) -> None:
        self._functions = functions

    def __call__(self, samples: Sequence[Any]) -> tuple[Any, ...]:
        """Make the batches."""
        if len(samples[0]) != len(self._functions):
            raise ValueError(f"Group: samples of {len(samples[0])} entries, but {len(self._functions)} functions")
        entries = zip(*samples, strict=True)
        return tuple(function(entry) for function, entry in zip(self._functions, entries, strict=True))


def _host(samples: Sequence[Any]) -> Any:
    """Stack foreign arrays with NumPy, which keeps dtypes; return plain numbers and lists unchanged."""
    import numpy

    return numpy.stack(samples) if isinstance(samples[0], (numpy.ndarray, numpy.generic)) else list(samples)
