"""Discrete distributions of numbers. Samples have no gradients."""

from __future__ import annotations

from typing import Any, ClassVar

from forerun import np, npx
from forerun._forerun import ndarray
from forerun._types import ArrayLike
from forerun.gluon.probability._numeric import softplus, xlogy
from forerun.gluon.probability.constraint import (
    Boolean,
    GreaterThanEq,
    IntegerInterval,
    Interval,
    NonNegativeInteger,
    Positive,
    Real,
)
from forerun.gluon.probability.distributions.distribution import Constraints, ExponentialFamily, Odds

__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson"]


class Bernoulli(Odds, ExponentialFamily):
    """The distribution of 0 and 1.

    Parameters
    ----------
    prob, logit
        The probability of 1, or its log-odds.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Bernoulli(prob=0.25).variance
    array(0.1875)
    """

    support = Boolean()
    arg_constraints: ClassVar[Constraints] = {"prob": Interval(0, 1), "logit": Real()}

    def __init__(self, prob: Any = None, logit: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, prob, logit)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the probability."""
        x = self._checked(value)
        return self._logs(x, 1 - x)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        noise = self._noise(shape)
        return (noise.uniform() < self.prob).astype(noise.dtype)

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.prob

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return self.prob * (1 - self.prob)

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return softplus(self.logit) - self.logit * self.prob


class Binomial(Odds):
    """The distribution of the number of successes among ``n`` trials.

    Parameters
    ----------
    n
        The number of trials.
    prob, logit
        The probability of a success, or its log-odds.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Binomial(4, prob=0.5).pdf(2.0)
    array(0.375)
    """

    arg_constraints: ClassVar[Constraints] = {"prob": Interval(0, 1), "logit": Real()}

    def __init__(self, n: float = 1, prob: Any = None, logit: Any = None, validate_args: bool | None = None) -> None:
        if n < 0 or n % 1 != 0:
            raise ValueError(f"Binomial: n must be a non-negative integer, got {n}")
        self.n = int(n)
        super().__init__(0, validate_args, prob, logit)

    def _settings(self) -> tuple[str, ...]:
        return (*super()._settings(), "n")

    @property
    def support(self) -> IntegerInterval:
        """Integers up to ``n``."""
        return IntegerInterval(0, self.n)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the probability."""
        x = self._checked(value)
        rest = self.n - x
        ways = npx.gammaln(np.full_like(x, self.n + 1)) - npx.gammaln(x + 1) - npx.gammaln(rest + 1)
        return ways + self._logs(x, rest)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return np.random.binomial(self.n, self.prob, shape).astype(self.prob.dtype)

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.n * self.prob

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return self.n * self.prob * (1 - self.prob)


class Geometric(Odds):
    """The distribution of the number of failures before the first success.

    Parameters
    ----------
    prob, logit
        The probability of a success, or its log-odds.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Geometric(prob=0.5).pdf(1.0)
    array(0.25)
    """

    support = NonNegativeInteger()
    arg_constraints: ClassVar[Constraints] = {"prob": Interval(0, 1), "logit": Real()}

    def __init__(self, prob: Any = None, logit: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, prob, logit)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the probability."""
        x = self._checked(value)
        return self._logs(np.ones_like(x), x)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return np.floor(np.log(self._noise(shape).uniform()) / np.log1p(-self.prob))

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return 1 / self.prob - 1

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return (1 / self.prob - 1) / self.prob

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return (softplus(self.logit) - self.logit * self.prob) / self.prob


class NegativeBinomial(Odds):
    """The distribution of the number of successes before ``n`` failures.

    Parameters
    ----------
    n
        The number of failures.
    prob, logit
        The probability of a success, or its log-odds.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.NegativeBinomial(3.0, prob=0.5).mean
    array(3.)
    """

    support = NonNegativeInteger()
    arg_constraints: ClassVar[Constraints] = {"n": GreaterThanEq(0), "prob": Interval(0, 1), "logit": Real()}
    n: ndarray

    def __init__(self, n: Any, prob: Any = None, logit: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, prob, logit, n=n)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the probability."""
        x = self._checked(value)
        return npx.gammaln(x + self.n) - npx.gammaln(x + 1) - npx.gammaln(self.n) + self._logs(x, self.n)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        rates = self._noise(shape).gamma(self.n) * np.exp(self.logit)
        return np.random.poisson(rates).astype(rates.dtype)

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.n * self.prob / (1 - self.prob)

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return self.n * self.prob / np.square(1 - self.prob)


class Poisson(ExponentialFamily):
    """The Poisson distribution of numbers of independent events.

    Parameters
    ----------
    rate
        The mean.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.Poisson(2.0).log_prob(0.0)
    array(-2.)
    """

    support = NonNegativeInteger()
    arg_constraints: ClassVar[Constraints] = {"rate": Positive()}
    rate: ndarray

    def __init__(self, rate: Any = 1.0, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, rate=rate)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the probability."""
        x = self._checked(value)
        return xlogy(x, self.rate) - self.rate - npx.gammaln(x + 1)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return np.random.poisson(self.rate, shape).astype(self.rate.dtype)

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.rate

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return self.rate
