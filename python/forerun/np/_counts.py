"""Discrete distributions."""

from __future__ import annotations

import math

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import Device, default_float, float32, float64, int64, ndarray
from forerun._pointwise import ceil, exp, log1p, maximum
from forerun._types import ArrayLike, DTypeLike, ShapeLike
from forerun.np._common import broadcast
from forerun.np._drawing import Draw, Parameter, check_probability

__all__ = ["binomial", "geometric", "multinomial", "poisson"]


def poisson(
    lam: Parameter = 1.0,
    size: ShapeLike | None = None,
    dtype: DTypeLike = int64,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from Poisson distributions of mean ``lam``.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.poisson(3.0, (2, 3)).shape
    (2, 3)
    """
    draw = Draw("poisson", [lam], size, dtype, ctx, device)
    draw.at_least("lam", 0, 0)
    return draw.routine("random_poisson", draw.parameters).astype(draw.dtype, copy=False)


def binomial(
    n: Parameter,
    p: Parameter,
    size: ShapeLike | None = None,
    dtype: DTypeLike = int64,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from binomial distributions with ``n`` trials of probability ``p``.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.binomial(10, 0.3, (100,)) <= 10).all())
    True
    """
    draw = Draw("binomial", [n, p], size, dtype, ctx, device)
    draw.at_least("n", 0, 0)
    check_probability("binomial", draw.parameters[1])
    return draw.routine("random_binomial", draw.parameters).astype(draw.dtype, copy=False)


def geometric(
    p: Parameter,
    size: ShapeLike | None = None,
    dtype: DTypeLike = int64,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from geometric distributions with probability ``p``.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.geometric(0.3, (100,)) >= 1).all())
    True
    """
    draw = Draw("geometric", [p], size, float64, ctx, device)
    check_probability("geometric", p)
    chance = draw.parameters[0]
    if not isinstance(chance, ndarray):
        if chance == 0:
            raise ValueError("geometric: p must be above 0: 0")
        chance = to_array(chance, float64, draw.place)
    trials = ceil(-draw.exponential() / log1p(-chance.astype(float64)))
    return maximum(trials, 1).astype(dtype)


def multinomial(
    n: Parameter,
    pvals: ArrayLike,
    size: ShapeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from a multinomial distribution: counts of each outcome in ``n`` trials.

    Parameters
    ----------
    n
        The number of trials.
    pvals
        The probability of each outcome along the last axis; the last one is 1 minus the sum of the others.
    size
        The shape of the draws, before the axis of outcomes.
    ctx, device
        The device of the result.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.multinomial(20, [0.5, 0.25, 0.25], (2,)).sum(1)
    array([20, 20])
    """
    p = pvals if isinstance(pvals, ndarray) else to_array(pvals, float64)
    if p.ndim == 0:
        raise ValueError("multinomial: pvals has an axis of outcomes")
    draw = Draw("multinomial", [n, p], size, int64, ctx, device)
    outcomes = p.shape[-1]
    rest = (
        broadcast("multinomial", p.shape[:-1], n.shape if isinstance(n, ndarray) else ())
        if size is None
        else draw.shape
    )
    shape = (*rest, outcomes)
    trials = draw.parameters[0]
    chances = p if draw.place is None else p.as_in_ctx(draw.place)
    if isinstance(trials, ndarray):
        trials = _forerun.broadcast_to(trials.reshape(*trials.shape, 1), shape)
    given = [
        trials.astype(float64)
        if isinstance(trials, ndarray)
        else _forerun.full((), float(trials), float64, draw.place),
        chances.astype(float64, copy=False),
    ]
    if chances.ndim > 1:
        given[1] = _forerun.broadcast_to(given[1], shape)
    return _forerun.routine("random_multinomial", given, shape=shape)


def bernoulli(
    prob: Parameter | None = None,
    logit: Parameter | None = None,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from Bernoulli distributions: 1 with probability ``prob``, otherwise 0.

    Parameters
    ----------
    prob, logit
        The probability or its log-odds; give one of the two.
    size
        The shape of the result; that of the parameter if not given.
    dtype
        The dtype of the result; the default float if not given.
    ctx, device
        The device of the result.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.random.bernoulli(1.0, size=(3,))
    array([1., 1., 1.])
    """
    if (prob is None) == (logit is None):
        raise ValueError("bernoulli: needs prob or logit, and not both")
    draw = Draw("bernoulli", [logit if prob is None else prob], size, float32, ctx, device)
    chance = draw.parameters[0]
    if prob is None:
        chance = 1 / (1 + (exp(-chance) if isinstance(chance, ndarray) else math.exp(-chance)))
    else:
        check_probability("bernoulli", prob)
    drawn = _forerun.uniform(draw.shape, 0.0, 1.0, float32, draw.place)
    return (drawn < chance).astype(default_float() if dtype is None else dtype)
