"""Continuous distributions on the real line, with a location and a scale."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from forerun import np, npx
from forerun._forerun import ndarray
from forerun._types import ArrayLike
from forerun.gluon.probability.constraint import Interval, Positive, Real
from forerun.gluon.probability.distributions.distribution import Constraints, Distribution, ExponentialFamily

__all__ = ["Cauchy", "Gumbel", "HalfCauchy", "HalfNormal", "Laplace", "Normal", "Uniform"]

_EULER = 0.5772156649015329


class _LocationScale(Distribution):
    """The base of distributions of ``loc + scale * noise``."""

    has_grad = True
    support = Real()
    arg_constraints: ClassVar[Constraints] = {"loc": Real(), "scale": Positive()}
    loc: ndarray
    scale: ndarray

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, loc=loc, scale=scale)


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution.

    Parameters
    ----------
    loc
        The mean.
    scale
        The standard deviation.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Normal(0.0, 1.0).log_prob(0.0)
    array(-0.9189385)
    """

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        z = (self._checked(value) - self.loc) / self.scale
        return -0.5 * np.square(z) - np.log(self.scale) - 0.5 * math.log(2 * math.pi)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return self.loc + self.scale * self._noise(shape).normal()

    def cdf(self, value: ArrayLike) -> ndarray:
        """Return the probability of samples up to a value."""
        return 0.5 * (1 + npx.erf((self._checked(value) - self.loc) / (self.scale * math.sqrt(2))))

    def icdf(self, value: ArrayLike) -> ndarray:
        """Return the value up to which samples have a probability."""
        return self.loc + self.scale * (npx.erfinv(2 * np.asarray(value) - 1) * math.sqrt(2))

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.loc

    @property
    def stddev(self) -> ndarray:
        """The standard deviation."""
        return self.scale

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return np.square(self.scale)

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + np.log(self.scale)


class Laplace(_LocationScale):
    """The Laplace distribution.

    Parameters
    ----------
    loc, scale
        The mean, and the mean distance from it.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Laplace(0.0, 0.5).pdf(0.0)
    array(1.)
    """

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        return -np.log(2 * self.scale) - np.abs(self._checked(value) - self.loc) / self.scale

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return self.icdf(self._noise(shape).uniform())

    def cdf(self, value: ArrayLike) -> ndarray:
        """Return the probability of samples up to a value."""
        z = (self._checked(value) - self.loc) / self.scale
        return 0.5 - 0.5 * np.sign(z) * np.expm1(-np.abs(z))

    def icdf(self, value: ArrayLike) -> ndarray:
        """Return the value up to which samples have a probability."""
        half = np.asarray(value) - 0.5
        return self.loc - self.scale * (np.sign(half) * np.log1p(-2 * np.abs(half)))

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.loc

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return 2 * np.square(self.scale)

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return 1 + np.log(2 * self.scale)


class Cauchy(_LocationScale):
    """The Cauchy distribution, which has no mean.

    Parameters
    ----------
    loc, scale
        The median, and half the distance between the quartiles.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Cauchy(0.0, 1.0).cdf(1.0)
    array(0.75)
    """

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        z = (self._checked(value) - self.loc) / self.scale
        return -math.log(math.pi) - np.log(self.scale) - np.log1p(np.square(z))

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return self.icdf(self._noise(shape).uniform())

    def cdf(self, value: ArrayLike) -> ndarray:
        """Return the probability of samples up to a value."""
        return np.arctan((self._checked(value) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: ArrayLike) -> ndarray:
        """Return the value up to which samples have a probability."""
        return self.loc + self.scale * np.tan((np.asarray(value) - 0.5) * math.pi)

    @property
    def mean(self) -> ndarray:
        """NaN."""
        return np.full_like(self.loc + self.scale, math.nan)

    @property
    def variance(self) -> ndarray:
        """NaN."""
        return np.full_like(self.loc + self.scale, math.nan)

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return math.log(4 * math.pi) + np.log(self.scale)


class Gumbel(_LocationScale):
    """The Gumbel distribution, of the largest of many samples.

    Parameters
    ----------
    loc, scale
        The mode, and the scale.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Gumbel(0.0, 1.0).log_prob(0.0)
    array(-1.)
    """

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        y = (self.loc - self._checked(value)) / self.scale
        return y - np.exp(y) - np.log(self.scale)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return self.icdf(self._noise(shape).uniform())

    def cdf(self, value: ArrayLike) -> ndarray:
        """Return the probability of samples up to a value."""
        return np.exp(-np.exp((self.loc - self._checked(value)) / self.scale))

    def icdf(self, value: ArrayLike) -> ndarray:
        """Return the value up to which samples have a probability."""
        return self.loc - self.scale * np.log(-np.log(np.asarray(value)))

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.loc + self.scale * _EULER

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return np.square(self.scale) * (math.pi**2 / 6)

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return np.log(self.scale) + (1 + _EULER)


class Uniform(Distribution):
    """The uniform distribution on an interval.

    Parameters
    ----------
    low, high
        The interval.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Uniform(0.0, 4.0).pdf(1.0)
    array(0.25)
    """

    has_grad = True
    arg_constraints: ClassVar[Constraints] = {"low": Real(), "high": Real()}
    low: ndarray
    high: ndarray

    def __init__(self, low: Any = 0.0, high: Any = 1.0, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, low=low, high=high)

    @property
    def support(self) -> Interval:
        """The interval."""
        return Interval(self.low, self.high)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        x = self._checked(value)
        return np.where((self.low <= x) & (x <= self.high), -np.log(self.high - self.low), -math.inf)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return self.icdf(self._noise(shape).uniform())

    def cdf(self, value: ArrayLike) -> ndarray:
        """Return the probability of samples up to a value."""
        return np.clip((self._checked(value) - self.low) / (self.high - self.low), 0, 1)

    def icdf(self, value: ArrayLike) -> ndarray:
        """Return the value up to which samples have a probability."""
        return self.low + (self.high - self.low) * np.asarray(value)

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return (self.low + self.high) / 2

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return np.square(self.high - self.low) / 12

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return np.log(self.high - self.low)


class _Half(Distribution):
    """The distribution of absolute values of samples of one that is symmetric around 0."""

    has_grad = True
    support = Positive()
    arg_constraints: ClassVar[Constraints] = {"scale": Positive()}
    _whole: type[Normal] | type[Cauchy]
    scale: ndarray

    def __init__(self, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, scale=scale)

    @property
    def loc(self) -> ndarray:
        """The location of the symmetric distribution: 0."""
        return np.zeros_like(self.scale)

    @property
    def _base(self) -> Normal | Cauchy:
        return self._whole(self.loc, self.scale)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        x = self._checked(value)
        return np.where(x < 0, -math.inf, self._base.log_prob(x) + math.log(2))

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return np.abs(self._base._draw(shape))

    def cdf(self, value: ArrayLike) -> ndarray:
        """Return the probability of samples up to a value."""
        return 2 * self._base.cdf(self._checked(value)) - 1

    def icdf(self, value: ArrayLike) -> ndarray:
        """Return the value up to which samples have a probability."""
        return self._base.icdf((np.asarray(value) + 1) / 2)

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return self._base.entropy() - math.log(2)


class HalfNormal(_Half):
    """The distribution of the absolute values of normal samples with mean 0.

    Parameters
    ----------
    scale
        The standard deviation of the normal samples.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.HalfNormal(1.0).mean
    array(0.7978846)
    """

    _whole = Normal

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return np.square(self.scale) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The distribution of the absolute values of Cauchy samples with median 0. Its mean is infinite.

    Parameters
    ----------
    scale
        The median.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.HalfCauchy(1.0).cdf(1.0)
    array(0.5)
    """

    _whole = Cauchy

    @property
    def mean(self) -> ndarray:
        """Infinity."""
        return np.full_like(self.scale, math.inf)

    @property
    def variance(self) -> ndarray:
        """Infinity."""
        return np.full_like(self.scale, math.inf)
