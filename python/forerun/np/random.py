"""Random numbers, drawn from one stream per thread, which :func:`seed` resets.

The numbers depend on the seed and on the order of the calls, not on when or where they are computed.
"""

from __future__ import annotations

import typing as _typing

from forerun import _forerun
from forerun._device import asked
from forerun._forerun import Device, float64, int64, ndarray
from forerun._missing import module_getattr as _module_getattr
from forerun._pointwise import floor, less, minimum
from forerun._types import DTypeLike, ShapeLike
from forerun.np import _choosing, _counts, _distributions, _random_state, _samplers, _vectors
from forerun.np._choosing import *  # noqa: F403
from forerun.np._counts import *  # noqa: F403
from forerun.np._distributions import *  # noqa: F403
from forerun.np._dtypes import iinfo
from forerun.np._random_state import *  # noqa: F403
from forerun.np._samplers import *  # noqa: F403
from forerun.np._vectors import *  # noqa: F403

__all__ = ["normal", "rand", "randint", "randn", "seed", "uniform"]
__all__ += _choosing.__all__
__all__ += _counts.__all__
__all__ += _distributions.__all__
__all__ += _random_state.__all__
__all__ += _samplers.__all__
__all__ += _vectors.__all__


def seed(seed: int) -> None:
    """Seed the random numbers.

    The same seed and the same program give the same numbers. A forked child draws different numbers from its parent and
    siblings; they are reproducible, because they follow from the seed and from the number of children forked before. A
    child that calls ``seed`` draws the same numbers as any process with that seed.

    A program without a seed draws the same numbers on every run, as in MXNet. So does every process started by spawn or
    forkserver; call ``seed`` in each, for instance with its index.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.seed(7)
    >>> x = np.random.uniform(size=(3,))
    >>> np.random.seed(7)
    >>> np.array_equal(x, np.random.uniform(size=(3,)))
    True
    """
    _forerun.seed(seed)


def normal(
    loc: float | ndarray = 0.0,
    scale: float | ndarray = 1.0,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw normally distributed numbers.

    Parameters
    ----------
    loc, scale
        Mean and standard deviation: numbers, or arrays that broadcast against the result.
    size
        The shape; by default that of ``loc`` and ``scale`` broadcast together.
    dtype
        The dtype of the result; the default float if not given.
    ctx, device
        The device; by default that of ``loc`` and ``scale``, or the current device if those are numbers.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.normal(size=(2, 3)).shape
    (2, 3)
    """
    place = asked("normal", ctx, device)
    if isinstance(loc, ndarray) or isinstance(scale, ndarray):
        loc, scale, place = _together(loc, scale, place)
        shape = (loc + scale).shape if size is None else size  # type: ignore[union-attr]
        return _forerun.normal(shape, 0.0, 1.0, dtype, place) * scale + loc
    return _forerun.normal(() if size is None else size, loc, scale, dtype, place)


def uniform(
    low: float | ndarray = 0.0,
    high: float | ndarray = 1.0,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw uniformly distributed numbers from ``low`` up to, excluding, ``high``.

    Parameters
    ----------
    low, high
        The interval: numbers, or arrays that broadcast against the result.
    size
        The shape; by default that of ``low`` and ``high`` broadcast together.
    dtype
        The dtype of the result; the default float if not given.
    ctx, device
        The device; by default that of ``low`` and ``high``, or the current device if those are numbers.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.random.uniform(2, 3, size=(100,))
    >>> bool(x.min() >= 2) and bool(x.max() < 3)
    True
    """
    place = asked("uniform", ctx, device)
    if isinstance(low, ndarray) or isinstance(high, ndarray):
        low, high, place = _together(low, high, place)
        shape = (low + high).shape if size is None else size  # type: ignore[union-attr]
        return _forerun.uniform(shape, 0.0, 1.0, dtype, place) * (high - low) + low
    return _forerun.uniform(() if size is None else size, low, high, dtype, place)


def _together(
    a: float | ndarray, b: float | ndarray, place: Device | None
) -> tuple[float | ndarray, float | ndarray, Device]:
    """Move the arrays of two parameters to one device, by default that of the first; also return the device."""
    if place is None:
        place = a.device if isinstance(a, ndarray) else b.device  # type: ignore[union-attr]
        return a, b, place
    a, b = (x.as_in_ctx(place) if isinstance(x, ndarray) else x for x in (a, b))
    return a, b, place


def randn(*size: int, ctx: Device | None = None, device: Device | None = None) -> ndarray:
    """Draw standard normal numbers.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.randn(2, 3).shape
    (2, 3)
    """
    return normal(size=size, device=asked("randn", ctx, device))


def rand(*size: int, ctx: Device | None = None, device: Device | None = None) -> ndarray:
    """Draw uniform numbers from 0 up to, excluding, 1.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.rand(2, 3).shape
    (2, 3)
    """
    return uniform(size=size, device=asked("rand", ctx, device))


def randint(
    low: int,
    high: int | None = None,
    size: ShapeLike | None = None,
    dtype: DTypeLike = int64,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw integers from ``low`` up to, excluding, ``high``; with one number, from 0 up to, excluding, it.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.random.randint(10, size=(100,))
    >>> bool(x.min() >= 0) and bool(x.max() < 10)
    True
    """
    if high is None:
        low, high = 0, low
    low, high = int(low), int(high)
    if low >= high:
        raise ValueError(f"randint: low >= high: {low} >= {high}")
    kind = _forerun.dtype(dtype).name
    if kind == "bool" or "int" in kind:
        least, most = (0, 1) if kind == "bool" else (iinfo(kind).min, iinfo(kind).max)
        if low < least or high - 1 > most:
            raise ValueError(f"randint: {low} to {high} does not fit in {kind}")
    place = asked("randint", ctx, device)
    shape = () if size is None else size
    count = high - low
    if count <= _WORD and max(abs(low), abs(high)) <= _EXACT:
        drawn = _forerun.uniform(shape, float(low), float(high), float64, place)
        # Rounding may give the upper end itself.
        return minimum(floor(drawn), high - 1).astype(dtype)
    return _wide_integers(shape, low, count, kind, place)


# The range of 32 bits, and the largest range in which floats are exact.
_WORD = 2**32
_EXACT = 2**52


def _wide_integers(shape: ShapeLike, low: int, count: int, kind: str, place: Device | None) -> ndarray:
    """Draw uniformly from ``count`` integers, up to 2**64, with a relative bias below 2**-32."""
    high, middle, last = (
        floor(_forerun.uniform(shape, 0.0, float(_WORD), float64, place)).astype("uint64") for _ in range(3)
    )
    drawn = high * _WORD + middle
    if count < 2**64:
        # The upper 64 bits of the product of 96 random bits and the count, computed in 32-bit halves.
        upper, lower = divmod(count, _WORD)
        low_product, cross, other = middle * lower, middle * upper, high * lower
        carry = low_product // _WORD + cross % _WORD + other % _WORD
        top = high * upper + cross // _WORD + other // _WORD + carry // _WORD
        bottom = carry % _WORD * _WORD + low_product % _WORD
        rest = last * lower // _WORD + last * upper
        drawn = top + less(bottom + rest, bottom).astype("uint64")
    if kind == "uint64":
        return drawn + _forerun.full((), low, "uint64", drawn.device)
    # If the sum exceeds signed 64 bits, it wraps around to the correct value.
    made = drawn.astype("int64") + low
    return made.astype(kind, copy=False)


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
