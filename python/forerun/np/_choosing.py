"""Permutations, random choices, and generators with their own streams."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from forerun import _forerun
from forerun._convert import to_array
from forerun._device import asked
from forerun._forerun import Device, current_device, float64, int64, ndarray
from forerun._pointwise import bitwise_and, bitwise_or, floor, log, maximum, minimum
from forerun._types import ArrayLike, DTypeLike, ShapeLike
from forerun.np import _counts as counts
from forerun.np import _distributions as distributions
from forerun.np._drawing import Parameter, extents
from forerun.np._vectors import multivariate_normal

__all__ = ["Generator", "choice", "default_rng", "permutation", "shuffle"]


def _order(count: int, place: Device | None) -> ndarray:
    """Return a random permutation, by sorting random bits. With this many bits, ties are very unlikely."""
    if (current_device() if place is None else place).device_type == "cpu":
        with nullcontext() if place is None else place:
            return _forerun.routine("random_order", [], shape=[count])
    if place is None:
        bits = _forerun.routine("random_bits", [], shape=[count])
    else:
        with place:
            bits = _forerun.routine("random_bits", [], shape=[count])
    if count < 2:
        return _forerun.full((count,), 0, int64, bits.device)
    # The indices replace the lowest bits, so that each key is one word.
    low = (1 << (count - 1).bit_length()) - 1
    marked = bitwise_or(bitwise_and(bits, ~low), _forerun.arange(0, count, 1, int64, bits.device))
    return bitwise_and(_forerun.routine("sort", [marked], axis=0), low)


def permutation(x: int | ArrayLike, *, ctx: Device | None = None, device: Device | None = None) -> ndarray:
    """Return the rows of an array, or the numbers from 0 up to, excluding, ``x``, in a random order.

    Examples
    --------
    >>> from forerun import np
    >>> np.sort(np.random.permutation(5))
    array([0, 1, 2, 3, 4])
    """
    place = asked("permutation", ctx, device)
    if isinstance(x, int):
        if x < 0:
            raise ValueError(f"permutation: a count must not be negative: {x}")
        return _order(x, place)
    array = to_array(x, None, place)
    if array.ndim == 0:
        raise ValueError("permutation: a 0-d array cannot be permuted")
    return _forerun.take(array, _order(array.shape[0], array.device), 0)


def shuffle(x: ndarray) -> None:
    """Shuffle the rows of an array in place.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.arange(5)
    >>> np.random.shuffle(x)
    >>> np.sort(x)
    array([0, 1, 2, 3, 4])
    """
    if x.ndim == 0:
        raise ValueError("shuffle: a 0-d array cannot be shuffled")
    x[...] = _forerun.take(x, _order(x.shape[0], x.device), 0)


def choice(
    a: int | ArrayLike,
    size: ShapeLike | None = None,
    replace: bool = True,
    p: ArrayLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Choose elements of an array, or numbers from 0 up to, excluding, ``a``.

    Parameters
    ----------
    a
        The elements to choose from.
    size
        The shape of the result; one element if not given.
    replace
        Whether an element may be chosen again.
    p
        The relative probability of each element; uniform if not given.
    ctx, device
        The device of the result.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.choice(3, (4,), p=[0.0, 1.0, 0.0])
    array([1, 1, 1, 1])
    """
    place = asked("choice", ctx, device)
    array = None if isinstance(a, int) else to_array(a, None, place)
    if array is not None and array.ndim != 1:
        raise ValueError(f"choice: chooses from one dimension, not {array.shape}")
    count = a if isinstance(a, int) else array.shape[0]  # type: ignore[union-attr]
    place = place if array is None else array.device
    shape = () if size is None else extents(size)
    wanted = 1
    for extent in shape:
        wanted *= extent
    if count < 1 and wanted:
        raise ValueError("choice: there is nothing to choose from")
    if not replace and wanted > count:
        raise ValueError(f"choice: cannot choose {wanted} of {count} elements without replacement")
    chances = None if p is None else to_array(p, float64, place)
    if chances is not None and chances.shape != (count,):
        raise ValueError(f"choice: probabilities {chances.shape} for {count} elements")
    if replace:
        drawn = _forerun.uniform(shape, 0.0, 1.0, float64, place)
        if chances is None:
            chosen = minimum(floor(drawn * count), count - 1).astype(int64)
        else:
            edges = _forerun.routine("cumsum", [chances], axis=0)
            found = _forerun.routine("searchsorted", [edges, drawn * edges[-1]], right=True)
            chosen = minimum(found, count - 1)
    else:
        if chances is None:
            order = _order(count, place)
        else:
            # Exponential waiting times whose rates are the probabilities: the shortest ones are the sample.
            waits = log(maximum(_forerun.uniform((count,), 0.0, 1.0, float64, place), 2.0**-54)) / chances
            order = _forerun.routine("argsort", [waits], axis=0, descending=True)
        chosen = order[:wanted].reshape(*shape)
    return chosen if array is None else _forerun.take(array, chosen, 0)


class Generator:
    """A random number generator with its own stream, independent of other draws.

    Parameters
    ----------
    seed
        The seed of the stream; arbitrary if not given.

    Examples
    --------
    >>> from forerun import np
    >>> a, b = np.random.Generator(7), np.random.Generator(7)
    >>> np.array_equal(a.normal(size=(3,)), b.normal(size=(3,)))
    True
    """

    def __init__(self, seed: int | None = None) -> None:
        start = int.from_bytes(os.urandom(8), "little") if seed is None else seed
        self._stream: tuple[int, int] = _forerun.stream_of(start)

    @contextmanager
    def _drawing(self) -> Iterator[None]:
        """Draw from this stream inside a ``with`` block."""
        former = _forerun.swap_stream(self._stream)
        try:
            yield
        finally:
            self._stream = _forerun.swap_stream(former) or self._stream

    def random(self, size: ShapeLike | None = None, dtype: DTypeLike | None = None) -> ndarray:
        """Draw uniform numbers from 0 up to, excluding, 1."""
        with self._drawing():
            return distributions.random_sample(size, dtype)

    def uniform(
        self, low: Parameter = 0.0, high: Parameter = 1.0, size: ShapeLike | None = None, dtype: DTypeLike | None = None
    ) -> ndarray:
        """Draw uniform numbers from ``low`` up to, excluding, ``high``."""
        from forerun.np import random

        with self._drawing():
            return random.uniform(low, high, size, dtype)

    def normal(
        self,
        loc: Parameter = 0.0,
        scale: Parameter = 1.0,
        size: ShapeLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> ndarray:
        """Draw normally distributed numbers."""
        from forerun.np import random

        with self._drawing():
            return random.normal(loc, scale, size, dtype)

    def standard_normal(self, size: ShapeLike | None = None, dtype: DTypeLike | None = None) -> ndarray:
        """Draw standard normal numbers."""
        with self._drawing():
            return distributions.standard_normal(size, dtype)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: ShapeLike | None = None,
        dtype: DTypeLike = int64,
        endpoint: bool = False,
    ) -> ndarray:
        """Draw integers from ``low`` up to, excluding, ``high``, or to ``high`` inclusive."""
        from forerun.np import random

        if high is None:
            low, high = 0, low
        with self._drawing():
            return random.randint(low, high + endpoint, size, dtype)

    def exponential(
        self, scale: Parameter = 1.0, size: ShapeLike | None = None, dtype: DTypeLike | None = None
    ) -> ndarray:
        """Draw from exponential distributions."""
        with self._drawing():
            return distributions.exponential(scale, size, dtype)

    def gamma(
        self, shape: Parameter, scale: Parameter = 1.0, size: ShapeLike | None = None, dtype: DTypeLike | None = None
    ) -> ndarray:
        """Draw from gamma distributions."""
        with self._drawing():
            return distributions.gamma(shape, scale, size, dtype)

    def poisson(self, lam: Parameter = 1.0, size: ShapeLike | None = None) -> ndarray:
        """Draw from Poisson distributions."""
        with self._drawing():
            return counts.poisson(lam, size)

    def binomial(self, n: Parameter, p: Parameter, size: ShapeLike | None = None) -> ndarray:
        """Draw from a binomial distribution."""
        with self._drawing():
            return counts.binomial(n, p, size)

    def multivariate_normal(
        self, mean: ArrayLike, cov: ArrayLike, size: ShapeLike | None = None, *, dtype: DTypeLike | None = None
    ) -> ndarray:
        """Draw from a multivariate normal distribution."""
        with self._drawing():
            return multivariate_normal(mean, cov, size, dtype=dtype)

    def choice(
        self, a: int | ArrayLike, size: ShapeLike | None = None, replace: bool = True, p: ArrayLike | None = None
    ) -> ndarray:
        """Choose elements of an array, or numbers from 0 up to, excluding, ``a``."""
        with self._drawing():
            return choice(a, size, replace, p)

    def permutation(self, x: Any) -> ndarray:
        """Return the rows of an array, or the numbers from 0 up to, excluding, ``x``, in a random order."""
        with self._drawing():
            return permutation(x)

    def shuffle(self, x: ndarray) -> None:
        """Shuffle the rows of an array in place."""
        with self._drawing():
            shuffle(x)


def default_rng(seed: int | None = None) -> Generator:
    """Return a generator with its own stream.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.default_rng(3).random((2,)).shape
    (2,)
    """
    return Generator(seed)
