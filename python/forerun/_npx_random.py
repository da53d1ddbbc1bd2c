"""Random number functions beyond NumPy: ``npx.random``."""

from __future__ import annotations

from forerun._forerun import Device, ndarray
from forerun._types import DTypeLike, ShapeLike
from forerun.np._common import broadcast
from forerun.np._counts import bernoulli
from forerun.np._drawing import Parameter, extents
from forerun.np.random import normal, seed, uniform

__all__ = ["bernoulli", "normal_n", "seed", "uniform_n"]


def _shape(op: str, batch_shape: ShapeLike | None, *parameters: Parameter) -> tuple[int, ...]:
    own = broadcast(op, *(p.shape for p in parameters if isinstance(p, ndarray)))
    return own if batch_shape is None else (*extents(batch_shape), *own)


def normal_n(
    loc: Parameter = 0.0,
    scale: Parameter = 1.0,
    batch_shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw a batch of normally distributed numbers for each mean and deviation.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.random.normal_n(np.zeros((3,)), 1.0, (2,)).shape
    (2, 3)
    """
    return normal(loc, scale, _shape("normal_n", batch_shape, loc, scale), dtype, ctx=ctx, device=device)


def uniform_n(
    low: Parameter = 0.0,
    high: Parameter = 1.0,
    batch_shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw a batch of uniformly distributed numbers for each interval.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.random.uniform_n(np.zeros((3,)), 1.0, (2,)).shape
    (2, 3)
    """
    return uniform(low, high, _shape("uniform_n", batch_shape, low, high), dtype, ctx=ctx, device=device)
