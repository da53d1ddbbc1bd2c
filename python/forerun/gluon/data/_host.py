"""Host data: NumPy arrays that stand for arrays while samples are read, changed and combined.

Reading a sample, augmenting it and stacking a batch are many tiny steps. On the host each is a NumPy call; as ops each
would be a record of its own. Datasets and transforms of this package therefore work on :class:`Host` inside a loader.
The program's own functions never see it: they get arrays, and so does the loop over the batches.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy

from forerun import _forerun, np
from forerun._forerun import ndarray

if TYPE_CHECKING:
    from forerun.gluon.data.dataset import Dataset

_MASK = 2**64 - 1


class Host(numpy.ndarray):
    """The elements of an array, on the host."""

    __slots__ = ()


def plain(value: Any) -> Any:
    """Return NumPy's own view of host data."""
    return value.view(numpy.ndarray)


def hosted(value: Any) -> Any:
    """Return an array or a NumPy array as host data. Waits for an array."""
    return numpy.asarray(value).view(Host)


def shown(value: Any) -> Any:
    """Replace host data by arrays, in tuples, lists and dictionaries too."""
    kind = type(value)
    if kind is Host:
        return np.array(plain(value))
    if kind is tuple or kind is list:
        return kind([shown(item) for item in value])
    if kind is dict:
        return {key: shown(item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind(*map(shown, value))
    return value


def stacked(samples: Any) -> Any:
    """Stack samples along a new first axis, tuples entry by entry; the result holds host data where possible."""
    first = samples[0]
    if any(isinstance(sample, ndarray) for sample in samples):
        return np.stack([shown(sample) for sample in samples])
    if isinstance(first, tuple):
        return [stacked(entries) for entries in zip(*samples, strict=True)]
    if isinstance(first, (numpy.ndarray, numpy.generic)):
        if any(type(sample) is not type(first) for sample in samples):
            samples = [numpy.asarray(sample) for sample in samples]
        return numpy.stack(samples).view(Host)
    return np.array(list(samples))


class _Drawing(threading.local):
    """The seed of the batch that the thread is making, and the generator of its random transforms."""

    seed: int | None = None
    generator: numpy.random.RandomState | None = None


_drawing = _Drawing()


@contextmanager
def drawing(seed: int) -> Iterator[None]:
    """Draw the random numbers of this thread's transforms and ops from a seed."""
    before = _drawing.seed, _drawing.generator
    stream = _forerun.swap_stream(_forerun.stream_of(seed))
    _drawing.seed, _drawing.generator = seed, None
    try:
        yield
    finally:
        _drawing.seed, _drawing.generator = before
        _forerun.swap_stream(stream)


def generator() -> numpy.random.RandomState:
    """Return the generator of the batch that this thread is making, or NumPy's global one."""
    if _drawing.seed is None:
        return numpy.random.mtrand._rand
    if _drawing.generator is None:
        # NumPy keeps the numbers of RandomState across versions.
        _drawing.generator = numpy.random.RandomState([_drawing.seed & 0xFFFFFFFF, _drawing.seed >> 32])
    return _drawing.generator


def mixed(seed: int, number: int) -> int:
    """Derive a seed from another and a number."""
    return _forerun.stream_of(_forerun.stream_of(seed & _MASK)[0] ^ (number & _MASK))[0]


def faithful(thing: object, method: str, other: str) -> bool:
    """Return whether a class defines ``method`` together with the ``other`` one that its objects use.

    A subclass that overrides only ``other``, as programs do, must not be short-circuited by an inherited ``method``.
    """
    for owner in type(thing).__mro__:
        if method in vars(owner):
            return True
        if other in vars(owner):
            return False
    return False


def reader(dataset: Dataset) -> Callable[[int], Any]:
    """Return the function that reads samples as host data where the dataset can; valid for one epoch."""
    if faithful(dataset, "_host_reader", "__getitem__"):
        return dataset._host_reader()
    return dataset.__getitem__
