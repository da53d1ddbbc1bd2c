"""``mxnet.random``: the samplers of ``mxnet.nd.random``, and a seed for all random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forerun import npx as _npx
from forerun.mxnet.ndarray.random import (
    categorical,
    exponential,
    gamma,
    generalized_negative_binomial,
    multinomial,
    negative_binomial,
    normal,
    poisson,
    randint,
    randn,
    shuffle,
    uniform,
)
from forerun.mxnet.numpy.random import rand

if TYPE_CHECKING:
    from forerun.npx import Device

__all__ = [
    "categorical",
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "rand",
    "randint",
    "randn",
    "seed",
    "shuffle",
    "uniform",
]


def seed(seed_state: int, ctx: Device | str = "all", device: Device | str = "all") -> None:
    """Seed the random numbers of this thread: the same streams serve every device.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.random.seed(1)
    >>> x = mx.np.random.normal(size=(2,))
    >>> mx.random.seed(1)
    >>> bool((x == mx.np.random.normal(size=(2,))).min())
    True
    """
    _npx.seed(seed_state)
