"""Continuous distributions, computed from uniform and normal draws or by native samplers."""

from __future__ import annotations

from forerun import _forerun
from forerun._forerun import Device, ndarray
from forerun._pointwise import exp, expm1, log, log1p, sqrt, where
from forerun._types import DTypeLike, ShapeLike
from forerun.np._drawing import Draw, Parameter

__all__ = [
    "beta",
    "chisquare",
    "exponential",
    "f",
    "gamma",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "pareto",
    "power",
    "random_sample",
    "rayleigh",
    "standard_gamma",
    "standard_normal",
    "weibull",
]


def exponential(
    scale: Parameter = 1.0,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from exponential distributions of mean ``scale``.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.exponential(2.0, (100,)) > 0).all())
    True
    """
    draw = Draw("exponential", [scale], size, dtype, ctx, device)
    draw.at_least("scale", 0, 0)
    return draw.exponential() * draw.parameters[0]


def laplace(
    loc: Parameter = 0.0,
    scale: Parameter = 1.0,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from Laplace distributions.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.laplace(size=(2, 3)).shape
    (2, 3)
    """
    draw = Draw("laplace", [loc, scale], size, dtype, ctx, device)
    draw.at_least("scale", 1, 0)
    u = draw.uniform()
    return where(u < 0.5, log(u * 2), -log(2 - u * 2)) * draw.parameters[1] + draw.parameters[0]


def logistic(
    loc: Parameter = 0.0,
    scale: Parameter = 1.0,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from logistic distributions.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.logistic(size=(2, 3)).shape
    (2, 3)
    """
    draw = Draw("logistic", [loc, scale], size, dtype, ctx, device)
    draw.at_least("scale", 1, 0)
    u = draw.uniform()
    return (log(u) - log1p(-u)) * draw.parameters[1] + draw.parameters[0]


def gumbel(
    loc: Parameter = 0.0,
    scale: Parameter = 1.0,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from Gumbel distributions.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.gumbel(size=(2, 3)).shape
    (2, 3)
    """
    draw = Draw("gumbel", [loc, scale], size, dtype, ctx, device)
    draw.at_least("scale", 1, 0)
    return -log(draw.exponential()) * draw.parameters[1] + draw.parameters[0]


def lognormal(
    mean: Parameter = 0.0,
    sigma: Parameter = 1.0,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from log-normal distributions.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.lognormal(size=(100,)) > 0).all())
    True
    """
    draw = Draw("lognormal", [mean, sigma], size, dtype, ctx, device)
    draw.at_least("sigma", 1, 0)
    return exp(draw.normal() * draw.parameters[1] + draw.parameters[0])


def rayleigh(
    scale: Parameter = 1.0,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from Rayleigh distributions.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.rayleigh(size=(100,)) > 0).all())
    True
    """
    draw = Draw("rayleigh", [scale], size, dtype, ctx, device)
    draw.at_least("scale", 0, 0)
    return sqrt(draw.exponential() * 2) * draw.parameters[0]


def weibull(
    a: Parameter,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from Weibull distributions of shape ``a`` and scale 1.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.weibull(1.5, (100,)) > 0).all())
    True
    """
    draw = Draw("weibull", [a], size, dtype, ctx, device)
    draw.at_least("a", 0, 0, open_end=True)
    return exp(log(draw.exponential()) / draw.parameters[0])


def pareto(
    a: Parameter,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from Pareto distributions of the second kind, of shape ``a`` and scale 1.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.pareto(3.0, (100,)) > 0).all())
    True
    """
    draw = Draw("pareto", [a], size, dtype, ctx, device)
    draw.at_least("a", 0, 0, open_end=True)
    return expm1(draw.exponential() / draw.parameters[0])


def power(
    a: Parameter,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from power distributions on [0, 1] with density ``a * x ** (a - 1)``.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.power(3.0, (100,)) <= 1).all())
    True
    """
    draw = Draw("power", [a], size, dtype, ctx, device)
    draw.at_least("a", 0, 0, open_end=True)
    return exp(log(draw.uniform()) / draw.parameters[0])


def standard_normal(
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw standard normal numbers.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.standard_normal((2, 3)).shape
    (2, 3)
    """
    return Draw("standard_normal", [], size, dtype, ctx, device).normal()


def random_sample(
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw uniform numbers from 0 up to, excluding, 1.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.random_sample((2, 3)).shape
    (2, 3)
    """
    draw = Draw("random_sample", [], size, dtype, ctx, device)
    return _forerun.uniform(draw.shape, 0.0, 1.0, draw.dtype, draw.place)


def gamma(
    shape: Parameter,
    scale: Parameter = 1.0,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from gamma distributions.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.gamma(2.0, 3.0, (100,)) > 0).all())
    True
    """
    draw = Draw("gamma", [shape, scale], size, dtype, ctx, device)
    draw.at_least("shape", 0, 0)
    draw.at_least("scale", 1, 0)
    return draw.gamma(draw.parameters[0]) * draw.parameters[1]


def standard_gamma(
    shape: Parameter,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from gamma distributions of scale 1.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.standard_gamma(2.0, (100,)) > 0).all())
    True
    """
    draw = Draw("standard_gamma", [shape], size, dtype, ctx, device)
    draw.at_least("shape", 0, 0)
    return draw.gamma(draw.parameters[0])


def chisquare(
    df: Parameter,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from chi-square distributions with ``df`` degrees of freedom.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.chisquare(3, (100,)) > 0).all())
    True
    """
    draw = Draw("chisquare", [df], size, dtype, ctx, device)
    draw.at_least("df", 0, 0, open_end=True)
    return draw.gamma(draw.parameters[0] / 2) * 2


def beta(
    a: Parameter,
    b: Parameter,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from beta distributions.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.beta(2.0, 3.0, (100,)) < 1).all())
    True
    """
    draw = Draw("beta", [a, b], size, dtype, ctx, device)
    draw.at_least("a", 0, 0, open_end=True)
    draw.at_least("b", 1, 0, open_end=True)
    x, y = (draw.routine("random_gamma", [p]) for p in draw.parameters)
    return (x / (x + y)).astype(draw.dtype)


def f(
    dfnum: Parameter,
    dfden: Parameter,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    ctx: Device | None = None,
    device: Device | None = None,
) -> ndarray:
    """Draw from F distributions.

    Examples
    --------
    >>> from forerun import np
    >>> bool((np.random.f(4, 6, (100,)) > 0).all())
    True
    """
    draw = Draw("f", [dfnum, dfden], size, dtype, ctx, device)
    draw.at_least("dfnum", 0, 0, open_end=True)
    draw.at_least("dfden", 1, 0, open_end=True)
    over, under = (draw.gamma(p / 2) / p for p in draw.parameters)
    return over / under
