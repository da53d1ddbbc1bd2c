"""Continuous distributions related to the gamma and the exponential distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from forerun import np, npx
from forerun._forerun import ndarray
from forerun._types import ArrayLike
from forerun.gluon.probability._numeric import clip_prob, epsilon, xlogy
from forerun.gluon.probability.constraint import GreaterThanEq, NonNegative, Positive, Real, Simplex, UnitInterval
from forerun.gluon.probability.distributions.distribution import Constraints, Distribution, ExponentialFamily

__all__ = ["Beta", "Chi2", "Dirichlet", "Exponential", "FisherSnedecor", "Gamma", "Pareto", "StudentT", "Weibull"]

_EULER = 0.5772156649015329


class Exponential(ExponentialFamily):
    """The exponential distribution.

    Parameters
    ----------
    scale
        The mean.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Exponential(2.0).log_prob(0.0)
    array(-0.6931472)
    """

    has_grad = True
    support = NonNegative()
    arg_constraints: ClassVar[Constraints] = {"scale": Positive()}
    scale: ndarray

    def __init__(self, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, scale=scale)

    @property
    def rate(self) -> ndarray:
        """The reciprocal of the mean."""
        return 1 / self.scale

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        return -np.log(self.scale) - self._checked(value) / self.scale

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return self.scale * self._noise(shape).exponential()

    def cdf(self, value: ArrayLike) -> ndarray:
        """Return the probability of samples up to a value."""
        return -np.expm1(-self._checked(value) / self.scale)

    def icdf(self, value: ArrayLike) -> ndarray:
        """Return the value up to which samples have a probability."""
        return -self.scale * np.log1p(-np.asarray(value))

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.scale

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return np.square(self.scale)

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return 1 + np.log(self.scale)


class Weibull(Distribution):
    """The Weibull distribution: ``scale * e ** (1 / concentration)`` for exponential ``e`` of mean 1.

    Parameters
    ----------
    concentration, scale
        The shape and the scale.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Weibull(1.0, 2.0).mean
    array(2.)
    """

    has_grad = True
    support = Positive()
    arg_constraints: ClassVar[Constraints] = {"concentration": Positive(), "scale": Positive()}
    concentration: ndarray
    scale: ndarray

    def __init__(self, concentration: Any, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, concentration=concentration, scale=scale)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        z, k = self._checked(value) / self.scale, self.concentration
        return np.log(k / self.scale) + xlogy(k - 1, z) - np.power(z, k)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return self.scale * np.power(self._noise(shape).exponential(), 1 / self.concentration)

    def cdf(self, value: ArrayLike) -> ndarray:
        """Return the probability of samples up to a value."""
        return -np.expm1(-np.power(self._checked(value) / self.scale, self.concentration))

    def icdf(self, value: ArrayLike) -> ndarray:
        """Return the value up to which samples have a probability."""
        return self.scale * np.power(-np.log1p(-np.asarray(value)), 1 / self.concentration)

    def _moment(self, order: int) -> ndarray:
        return np.exp(npx.gammaln(1 + order / self.concentration))

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.scale * self._moment(1)

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return np.square(self.scale) * (self._moment(2) - np.square(self._moment(1)))

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return _EULER * (1 - 1 / self.concentration) + np.log(self.scale / self.concentration) + 1


class Pareto(Distribution):
    """The Pareto distribution: ``scale * exp(e / alpha)`` for exponential ``e`` of mean 1.

    Parameters
    ----------
    alpha
        The exponent of the tail.
    scale
        The least value.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Pareto(2.0, 1.0).cdf(2.0)
    array(0.75)
    """

    has_grad = True
    arg_constraints: ClassVar[Constraints] = {"alpha": Positive(), "scale": Positive()}
    alpha: ndarray
    scale: ndarray

    def __init__(self, alpha: Any, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, alpha=alpha, scale=scale)

    @property
    def support(self) -> GreaterThanEq:
        """Values from the scale on."""
        return GreaterThanEq(self.scale)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        return np.log(self.alpha) + self.alpha * np.log(self.scale) - (self.alpha + 1) * np.log(self._checked(value))

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return self.scale * np.exp(self._noise(shape).exponential() / self.alpha)

    def cdf(self, value: ArrayLike) -> ndarray:
        """Return the probability of samples up to a value."""
        return 1 - np.power(self.scale / self._checked(value), self.alpha)

    def icdf(self, value: ArrayLike) -> ndarray:
        """Return the value up to which samples have a probability."""
        return self.scale * np.exp(-np.log1p(-np.asarray(value)) / self.alpha)

    @property
    def mean(self) -> ndarray:
        """The mean; infinite for an exponent of at most 1."""
        a = np.maximum(self.alpha, 1)
        return self.scale * a / (a - 1)

    @property
    def variance(self) -> ndarray:
        """The variance; infinite for an exponent of at most 2."""
        a = np.maximum(self.alpha, 2)
        return np.square(self.scale) * a / (np.square(a - 1) * (a - 2))

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return np.log(self.scale / self.alpha) + 1 / self.alpha + 1


class Gamma(ExponentialFamily):
    """The gamma distribution. Samples have gradients with respect to the scale, not to the shape.

    Parameters
    ----------
    shape, scale
        The shape and the scale.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Gamma(3.0, 2.0).variance
    array(12.)
    """

    support = Positive()
    arg_constraints: ClassVar[Constraints] = {"shape": Positive(), "scale": Positive()}
    shape: ndarray
    scale: ndarray

    def __init__(self, shape: Any, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, shape=shape, scale=scale)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        z = self._checked(value) / self.scale
        return xlogy(self.shape - 1, z) - z - npx.gammaln(self.shape) - np.log(self.scale)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return self.scale * self._noise(shape).gamma(self.shape)

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.shape * self.scale

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return self.shape * np.square(self.scale)

    def entropy(self) -> ndarray:
        """Return the entropy."""
        a = self.shape
        return a + np.log(self.scale) + npx.gammaln(a) + (1 - a) * npx.digamma(a)


class Chi2(Gamma):
    """The chi-squared distribution, of sums of squares of standard normal samples.

    Parameters
    ----------
    df
        The degrees of freedom.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Chi2(3.0).mean
    array(3.)
    """

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(df / 2, 2.0, validate_args)

    @property
    def df(self) -> ndarray:
        """The degrees of freedom."""
        return self.shape * 2


def _log_beta(a: ndarray, b: ndarray) -> ndarray:
    return npx.gammaln(a) + npx.gammaln(b) - npx.gammaln(a + b)


class Beta(ExponentialFamily):
    """The beta distribution. Samples have no gradients.

    Parameters
    ----------
    alpha, beta
        The two shapes.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Beta(1.0, 3.0).mean
    array(0.25)
    """

    support = UnitInterval()
    arg_constraints: ClassVar[Constraints] = {"alpha": Positive(), "beta": Positive()}
    alpha: ndarray
    beta: ndarray

    def __init__(self, alpha: Any, beta: Any, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, alpha=alpha, beta=beta)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        x, a, b = self._checked(value), self.alpha, self.beta
        return xlogy(a - 1, x) + xlogy(b - 1, 1 - x) - _log_beta(a, b)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        noise = self._noise(shape)
        x, y = noise.gamma(self.alpha), noise.gamma(self.beta)
        return clip_prob(x / (x + y))

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self) -> ndarray:
        """The variance."""
        whole = self.alpha + self.beta
        return self.alpha * self.beta / (np.square(whole) * (whole + 1))

    def entropy(self) -> ndarray:
        """Return the entropy."""
        a, b = self.alpha, self.beta
        parts = (a - 1) * npx.digamma(a) + (b - 1) * npx.digamma(b)
        return _log_beta(a, b) - parts + (a + b - 2) * npx.digamma(a + b)


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of vectors of probabilities. Samples have no gradients.

    Parameters
    ----------
    alpha
        The concentrations, along the last axis.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import probability
    >>> probability.Dirichlet(np.array([1.0, 3.0])).mean
    array([0.25, 0.75])
    """

    support = Simplex()
    arg_constraints: ClassVar[Constraints] = {"alpha": Positive()}
    _parameter_dims: ClassVar[Mapping[str, int]] = {"alpha": 1}
    alpha: ndarray

    def __init__(self, alpha: Any, validate_args: bool | None = None) -> None:
        super().__init__(1, validate_args, alpha=alpha)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        x, a = self._checked(value), self.alpha
        return xlogy(a - 1, x).sum(axis=-1) + npx.gammaln(a.sum(axis=-1)) - npx.gammaln(a).sum(axis=-1)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        drawn = self._noise((*shape, self.alpha.shape[-1])).gamma(self.alpha)
        # Small concentrations draw zeros, which have no logarithm.
        least = epsilon(drawn)
        return np.maximum(drawn / np.maximum(drawn.sum(axis=-1, keepdims=True), least), least)

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.alpha / self.alpha.sum(axis=-1, keepdims=True)

    @property
    def variance(self) -> ndarray:
        """The variance."""
        a, whole = self.alpha, self.alpha.sum(axis=-1, keepdims=True)
        return a * (whole - a) / ((whole + 1) * np.square(whole))

    def entropy(self) -> ndarray:
        """Return the entropy."""
        a, whole = self.alpha, self.alpha.sum(axis=-1)
        parts = ((a - 1) * npx.digamma(a)).sum(axis=-1)
        return npx.gammaln(a).sum(axis=-1) - npx.gammaln(whole) + (a - 1).sum(axis=-1) * npx.digamma(whole) - parts


class StudentT(Distribution):
    """Student's t-distribution. Samples have gradients with respect to location and scale.

    Parameters
    ----------
    df
        The degrees of freedom.
    loc, scale
        The location and the scale.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.StudentT(4.0).variance
    array(2.)
    """

    support = Real()
    arg_constraints: ClassVar[Constraints] = {"df": Positive(), "loc": Real(), "scale": Positive()}
    df: ndarray
    loc: ndarray
    scale: ndarray

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, df=df, loc=loc, scale=scale)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        df, z = self.df, (self._checked(value) - self.loc) / self.scale
        front = npx.gammaln((df + 1) / 2) - npx.gammaln(df / 2) - 0.5 * np.log(df * math.pi)
        return front - np.log(self.scale) - 0.5 * (df + 1) * np.log1p(np.square(z) / df)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        noise = self._noise(shape)
        squares = noise.gamma(self.df / 2) * 2
        return self.loc + self.scale * (noise.normal() * np.sqrt(self.df / squares))

    @property
    def mean(self) -> ndarray:
        """The mean; NaN for at most 1 degree of freedom."""
        return np.where(self.df <= 1, math.nan, self.loc)

    @property
    def variance(self) -> ndarray:
        """The variance; infinite for at most 2 degrees of freedom, and NaN for at most 1."""
        finite = np.square(self.scale) * self.df / (self.df - 2)
        return np.where(self.df <= 1, math.nan, np.where(self.df <= 2, math.inf, finite))

    def entropy(self) -> ndarray:
        """Return the entropy."""
        half, more = self.df / 2, (self.df + 1) / 2
        log_beta = npx.gammaln(half) + 0.5 * math.log(math.pi) - npx.gammaln(more)
        return np.log(self.scale) + more * (npx.digamma(more) - npx.digamma(half)) + 0.5 * np.log(self.df) + log_beta


class FisherSnedecor(Distribution):
    """The F-distribution, of ratios of two sums of squares. Samples have no gradients.

    Parameters
    ----------
    df1, df2
        The degrees of freedom of numerator and denominator.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.FisherSnedecor(2.0, 4.0).mean
    array(2.)
    """

    support = Positive()
    arg_constraints: ClassVar[Constraints] = {"df1": Positive(), "df2": Positive()}
    df1: ndarray
    df2: ndarray

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, df1=df1, df2=df2)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        x, a, b = self._checked(value), self.df1 / 2, self.df2 / 2
        ratio = self.df1 / self.df2
        return a * np.log(ratio) + xlogy(a - 1, x) - (a + b) * np.log1p(ratio * x) - _log_beta(a, b)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        noise = self._noise(shape)
        upper, lower = noise.gamma(self.df1 / 2) / self.df1, noise.gamma(self.df2 / 2) / self.df2
        return upper / lower

    @property
    def mean(self) -> ndarray:
        """The mean; NaN if ``df2`` is at most 2."""
        return np.where(self.df2 <= 2, math.nan, self.df2 / (self.df2 - 2))

    @property
    def variance(self) -> ndarray:
        """The variance; NaN if ``df2`` is at most 4."""
        a, b = self.df1, self.df2
        finite = 2 * np.square(b) * (a + b - 2) / (a * np.square(b - 2) * (b - 4))
        return np.where(b <= 4, math.nan, finite)
