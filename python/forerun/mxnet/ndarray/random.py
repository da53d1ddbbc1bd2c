"""``mxnet.nd.random``: samplers with the arguments of MXNet 1: parameters, then ``shape``.

Samples of parameters that are arrays have the parameters' shape, followed by ``shape``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun import np
from forerun._convert import to_array
from forerun._device import asked
from forerun._forerun import Device, current_device, ndarray
from forerun.np import random as _random

__all__ = [
    "categorical",
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
]

_Sampler = Callable[..., ndarray]


def _drawn(
    sampler: _Sampler, parameters: tuple[Any, ...], shape: Any, dtype: Any, ctx: Any, out: ndarray | None
) -> ndarray:
    """Draw samples of each combination of parameters."""
    own = () if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    arrays = [parameter for parameter in parameters if isinstance(parameter, ndarray)]
    if out is not None and not own and not arrays:
        own = out.shape
    if arrays:
        outer = arrays[0].shape
        parameters = tuple(
            parameter.reshape(outer + (1,) * len(own)) if isinstance(parameter, ndarray) else parameter
            for parameter in parameters
        )
        own = (*outer, *own)
    elif not own:
        own = (1,)
    place = asked("random", ctx, None) or (arrays[0].device if arrays else current_device())
    with place:
        made = sampler(*parameters, size=own).astype(dtype or "float32")
    if out is None:
        return made
    out[...] = made
    return out


def uniform(
    low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """Draw uniformly distributed numbers.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.random.uniform(0, 1, shape=(2, 3)).shape
    (2, 3)
    """
    return _drawn(_random.uniform, (low, high), shape, dtype, ctx, out)


def normal(
    loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """Draw normally distributed numbers.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.random.normal(mx.nd.array([0, 10]), mx.nd.array([1, 1]), shape=3).shape
    (2, 3)
    """
    return _drawn(_random.normal, (loc, scale), shape, dtype, ctx, out)


def randn(*shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, ctx: Any = None, out: Any = None) -> ndarray:
    """Draw normally distributed numbers.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.random.randn(2, 3).shape
    (2, 3)
    """
    return normal(loc, scale, shape or None, dtype, ctx, out)


def poisson(lam: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None) -> ndarray:
    """Draw numbers of events.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.random.poisson(4, shape=(2,)).shape
    (2,)
    """
    return _drawn(_random.poisson, (lam,), shape, dtype, ctx, out)


def exponential(scale: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None) -> ndarray:
    """Draw exponentially distributed numbers.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.random.exponential(2, shape=(2,)).shape
    (2,)
    """
    return _drawn(_random.exponential, (scale,), shape, dtype, ctx, out)


def gamma(
    alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """Draw gamma distributed numbers, of shape ``alpha`` and scale ``beta``.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.random.gamma(2, 1, shape=(2,)).shape
    (2,)
    """
    return _drawn(_random.gamma, (alpha, beta), shape, dtype, ctx, out)


def negative_binomial(
    k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """Draw numbers of failures before ``k`` successes of probability ``p``.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.random.negative_binomial(3, 0.5, shape=(2,)).shape
    (2,)
    """
    return _drawn(_random.negative_binomial, (k, p), shape, dtype, ctx, out)


def generalized_negative_binomial(
    mu: Any = 1, alpha: Any = 1, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """Draw Poisson numbers whose rate is gamma distributed, with mean ``mu`` and dispersion ``alpha``.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.random.generalized_negative_binomial(2, 0.3, shape=(2,)).shape
    (2,)
    """

    def sampler(mu: Any, alpha: Any, size: Any) -> ndarray:
        return _random.poisson(_random.gamma(1 / alpha, mu * alpha, size=size))

    return _drawn(sampler, (mu, alpha), shape, dtype, ctx, out)


def randint(
    low: int, high: int, shape: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> ndarray:
    """Draw integers from ``low`` up to, excluding, ``high``.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.random.randint(0, 10, shape=(2,)).dtype
    dtype('int32')
    """
    return _drawn(_random.randint, (low, high), shape, dtype or "int32", ctx, out)


def categorical(data: Any, shape: Any = None, get_prob: bool = False, out: Any = None, dtype: Any = "int32") -> Any:
    """Draw categories; the last dimension of the data holds their probabilities.

    Parameters
    ----------
    data
        The probabilities.
    shape
        How many samples to draw of each row; one without further dimensions if not given.
    get_prob
        Whether to return also the logarithms of the samples' probabilities, which have a gradient.
    out
        The array to write to.
    dtype
        The dtype of the samples.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.random.categorical(mx.nd.array([[0, 1], [1, 0]]))
    array([1, 0], dtype=int32)
    """
    chances = to_array(data)
    own = () if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    outer = chances.shape[:-1]
    limits = np.cumsum(chances, axis=-1).reshape(*outer, *(1 for _ in own), chances.shape[-1])
    # The last limit may be a little below 1.
    drawn = _random.uniform(size=(*outer, *own, 1)) * limits[..., -1:]
    found = np.minimum((limits <= drawn).sum(axis=-1), chances.shape[-1] - 1)
    made = found.astype(dtype)
    if out is not None:
        out[...] = made
        made = out
    if not get_prob:
        return made
    rows = np.broadcast_to(
        chances.reshape(*outer, *(1 for _ in own), chances.shape[-1]), (*outer, *own, chances.shape[-1])
    )
    return made, np.log(np.take_along_axis(rows, found[..., None], axis=-1)[..., 0])


multinomial = categorical


def shuffle(data: Any, out: ndarray | None = None) -> ndarray:
    """Return the entries along the first dimension in random order.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> sorted(mx.nd.random.shuffle(mx.nd.arange(3)).tolist())
    [0.0, 1.0, 2.0]
    """
    made = _random.permutation(to_array(data))
    if out is None:
        return made
    out[...] = made
    return out


def seed(seed_state: int, ctx: Device | str = "all") -> None:
    """Seed the random numbers of this thread."""
    _random.seed(seed_state)
