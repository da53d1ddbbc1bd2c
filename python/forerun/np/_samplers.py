"""More distributions, composed of native samplers."""

from __future__ import annotations

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import Device, float64, int64, ndarray
from forerun._pointwise import floor, log, maximum, power, sqrt, tan, where
from forerun._types import ArrayLike, DTypeLike, ShapeLike
from forerun.np._counts import poisson
from forerun.np._distributions import chisquare, exponential, random_sample, standard_gamma
from forerun.np._drawing import Draw, Parameter, check_probability, extents

__all__ = [
    "dirichlet",
    "logseries",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "random",
    "ranf",
    "sample",
    "standard_cauchy",
    "standard_exponential",
    "standard_t",
    "triangular",
    "wald",
]

_PI = 3.141592653589793


def random(size: ShapeLike | None = None, dtype: DTypeLike | None = None, *, device: Device | None = None) -> ndarray:
    """Draw uniform numbers from 0 up to, excluding, 1.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.random((2, 3)).shape
    (2, 3)
    """
    return random_sample(size, dtype, device=device)


ranf = sample = random


def standard_exponential(
    size: ShapeLike | None = None, dtype: DTypeLike | None = None, *, device: Device | None = None
) -> ndarray:
    """Draw from the exponential distribution of mean 1.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.standard_exponential((3,)).shape
    (3,)
    """
    return exponential(1.0, () if size is None else size, dtype, device=device)


def standard_cauchy(
    size: ShapeLike | None = None, dtype: DTypeLike | None = None, *, device: Device | None = None
) -> ndarray:
    """Draw from the standard Cauchy distribution.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.standard_cauchy((3,)).shape
    (3,)
    """
    draw = Draw("standard_cauchy", [], () if size is None else size, dtype, None, device)
    return tan((draw.uniform() - 0.5) * _PI)


def standard_t(
    df: Parameter, size: ShapeLike | None = None, dtype: DTypeLike | None = None, *, device: Device | None = None
) -> ndarray:
    """Draw from Student's t distribution with ``df`` degrees of freedom.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.standard_t(5.0, (3,)).shape
    (3,)
    """
    draw = Draw("standard_t", [df], size, dtype, None, device)
    draw.at_least("df", 0, 0.0, open_end=True)
    half = draw.parameters[0] * 0.5
    return draw.normal() * sqrt(half / maximum(draw.gamma(half), 1e-37))


def triangular(
    left: Parameter,
    mode: Parameter,
    right: Parameter,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: Device | None = None,
) -> ndarray:
    """Draw from triangular distributions between ``left`` and ``right`` with peak ``mode``.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.random.triangular(0.0, 1.0, 2.0, (100,))
    >>> bool(x.min() >= 0) and bool(x.max() <= 2)
    True
    """
    draw = Draw("triangular", [left, mode, right], size, dtype, None, device)
    a, c, b = draw.parameters
    if all(not isinstance(each, ndarray) for each in (a, b, c)) and not (a <= c <= b and a < b):
        raise ValueError(f"triangular: needs left <= mode <= right and left < right, got {a}, {c} and {b}")
    drawn = draw.uniform()
    share = (c - a) / (b - a)
    rising = sqrt(drawn * ((b - a) * (c - a))) + a
    falling = b - sqrt((1 - drawn) * ((b - a) * (b - c)))
    return where(drawn < share, rising, falling).astype(draw.dtype, copy=False)


def dirichlet(
    alpha: ArrayLike, size: ShapeLike | None = None, dtype: DTypeLike | None = None, *, device: Device | None = None
) -> ndarray:
    """Draw from a Dirichlet distribution.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.dirichlet([1.0, 2.0, 3.0], 4).shape
    (4, 3)
    """
    weights = to_array(alpha, float64, device)
    if weights.ndim != 1 or weights.size == 0:
        raise ValueError(f"dirichlet: alpha must be a vector with elements, got shape {weights.shape}")
    shape = (*(() if size is None else extents(size)), weights.size)
    drawn = standard_gamma(weights, shape, float64, device=device)
    made = drawn / drawn.sum(-1, keepdims=True)
    return made.astype(_forerun.default_float() if dtype is None else dtype, copy=False)


def negative_binomial(n: Parameter, p: Parameter, size: ShapeLike | None = None) -> ndarray:
    """Draw from negative binomial distributions: failures before ``n`` successes of probability ``p``.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.negative_binomial(3, 0.5, (4,)).shape
    (4,)
    """
    check_probability("negative_binomial", p)
    draw = Draw("negative_binomial", [n, p], size, float64, None, None)
    count, chance = draw.parameters
    return poisson(draw.gamma(count) * ((1 - chance) / chance))


def noncentral_chisquare(
    df: Parameter, nonc: Parameter, size: ShapeLike | None = None, dtype: DTypeLike | None = None
) -> ndarray:
    """Draw from noncentral chi-square distributions.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.noncentral_chisquare(3.0, 2.0, (4,)).shape
    (4,)
    """
    draw = Draw("noncentral_chisquare", [df, nonc], size, dtype, None, None)
    degrees, off = draw.parameters
    # A Poisson mixture of central ones.
    more = poisson(off * 0.5, draw.shape) * 2
    return chisquare(more.astype(float64) + degrees, draw.shape, draw.dtype)


def noncentral_f(
    dfnum: Parameter,
    dfden: Parameter,
    nonc: Parameter,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
) -> ndarray:
    """Draw from noncentral F distributions.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.noncentral_f(3.0, 10.0, 2.0, (4,)).shape
    (4,)
    """
    draw = Draw("noncentral_f", [dfnum, dfden, nonc], size, dtype, None, None)
    above, below, off = draw.parameters
    top = noncentral_chisquare(above, off, draw.shape, draw.dtype) / above
    return top / (chisquare(below, draw.shape, draw.dtype) / below)


def logseries(p: Parameter, size: ShapeLike | None = None) -> ndarray:
    """Draw from logarithmic series distributions.

    Examples
    --------
    >>> from forerun import np
    >>> np.random.logseries(0.5, (4,)).shape
    (4,)
    """
    check_probability("logseries", p)
    draw = Draw("logseries", [p], size, float64, None, None)
    chance = to_array(draw.parameters[0], float64)
    first, second = draw.uniform(), draw.uniform()
    # Kemp's method: the logarithm of a uniform number to a base given by another one.
    base = 1 - power(1 - chance, first)
    return maximum(floor(log(second) / log(base)) + 1, 1).astype(int64)


def wald(
    mean: Parameter,
    scale: Parameter,
    size: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: Device | None = None,
) -> ndarray:
    """Draw from the Wald distribution (inverse Gaussian).

    Examples
    --------
    >>> from forerun import np
    >>> bool(np.random.wald(3.0, 2.0, (100,)).min() > 0)
    True
    """
    draw = Draw("wald", [mean, scale], size, dtype, None, device)
    draw.at_least("mean", 0, 0.0, open_end=True)
    draw.at_least("scale", 1, 0.0, open_end=True)
    mu, lam = draw.parameters
    # The method of Michael, Schucany and Haas: a random choice of two roots of a quadratic equation.
    y = draw.normal()
    y = y * y * mu
    root = mu * (y - sqrt(y * (y + lam * 4.0))) / (lam * 2.0) + mu
    return where(draw.uniform() * (root + mu) <= mu, root, (mu * mu) / root).astype(draw.dtype, copy=False)
