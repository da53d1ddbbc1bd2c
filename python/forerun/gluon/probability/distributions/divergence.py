"""The Kullback-Leibler divergence between distributions."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, TypeVar

from forerun import np, npx
from forerun._forerun import ndarray
from forerun.gluon.probability._numeric import sum_last, xlogy
from forerun.gluon.probability.distributions.categorical import Categorical, OneHotCategorical
from forerun.gluon.probability.distributions.composed import Independent
from forerun.gluon.probability.distributions.continuous import Cauchy, Gumbel, HalfNormal, Laplace, Normal, Uniform
from forerun.gluon.probability.distributions.discrete import Bernoulli, Binomial, Geometric, Poisson
from forerun.gluon.probability.distributions.distribution import Distribution, Odds
from forerun.gluon.probability.distributions.multivariate_normal import MultivariateNormal
from forerun.gluon.probability.distributions.positive import Beta, Dirichlet, Exponential, Gamma, Pareto

__all__ = ["empirical_kl", "kl_divergence", "register_kl"]

_EULER = 0.5772156649015329
_Function = TypeVar("_Function", bound=Callable[..., Any])
_registered: dict[tuple[type, type], Callable[[Any, Any], ndarray]] = {}


def register_kl(typeP: type[Distribution], typeQ: type[Distribution]) -> Callable[[_Function], _Function]:
    """Return a decorator that registers the divergence of two classes of distributions.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import probability
    >>> class Certain(probability.Distribution):
    ...     pass
    >>> @probability.register_kl(Certain, Certain)
    ... def certain(p, q):
    ...     return np.zeros(())
    >>> probability.kl_divergence(Certain(), Certain())
    array(0.)
    """

    def registered(function: _Function) -> _Function:
        count = len(inspect.signature(function).parameters)
        if count != 2:
            raise TypeError(f"register_kl: a function of two distributions is needed, not of {count} arguments")
        _registered[typeP, typeQ] = function
        return function

    return registered


def kl_divergence(p: Distribution, q: Distribution) -> ndarray:
    """Return the Kullback-Leibler divergence of ``p`` from ``q``: the mean of ``log(p / q)`` under ``p``.

    Examples
    --------
    >>> from forerun.gluon.probability import Normal, kl_divergence
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))
    array(0.5)
    """
    for ours in type(p).__mro__:
        for theirs in type(q).__mro__:
            if (ours, theirs) in _registered:
                return _registered[ours, theirs](p, q)
    raise NotImplementedError(f"kl_divergence: not defined for {type(p).__name__} and {type(q).__name__}")


def empirical_kl(p: Distribution, q: Distribution, n_samples: int = 1) -> ndarray:
    """Estimate the divergence from samples.

    Examples
    --------
    >>> from forerun.gluon.probability import Normal, empirical_kl
    >>> empirical_kl(Normal(0.0, 1.0), Normal(0.0, 1.0), 10)
    array(0.)
    """
    samples = p.sample_n(n_samples)
    return (p.log_prob(samples) - q.log_prob(samples)).mean(axis=0)


def _normal(p: Normal | HalfNormal, q: Normal | HalfNormal) -> ndarray:
    ratio = np.square(p.scale / q.scale)
    return 0.5 * (ratio + np.square((p.loc - q.loc) / q.scale) - 1 - np.log(ratio))


register_kl(Normal, Normal)(_normal)
register_kl(HalfNormal, HalfNormal)(_normal)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Odds, q: Odds) -> ndarray:
    return xlogy(p.prob, p.prob / q.prob) + xlogy(1 - p.prob, (1 - p.prob) / (1 - q.prob))


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> ndarray:
    if p.n > q.n:
        return np.full_like(p.prob + q.prob, math.inf)
    if p.n < q.n:
        raise NotImplementedError(f"kl_divergence: not defined for binomials of {p.n} and {q.n} trials")
    return p.n * _bernoulli(p, q)


@register_kl(Categorical, Categorical)
@register_kl(OneHotCategorical, OneHotCategorical)
def _categorical(p: Categorical | OneHotCategorical, q: Categorical | OneHotCategorical) -> ndarray:
    return (p.prob * (p._log_probs() - q._log_probs())).sum(axis=-1)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> ndarray:
    outside = (q.low > p.low) | (q.high < p.high)
    return np.where(outside, math.inf, np.log((q.high - q.low) / (p.high - p.low)))


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> ndarray:
    return np.log((np.square(p.scale + q.scale) + np.square(p.loc - q.loc)) / (4 * p.scale * q.scale))


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> ndarray:
    ratio, apart = p.scale / q.scale, np.abs(p.loc - q.loc)
    return ratio * np.exp(-apart / p.scale) + apart / q.scale - np.log(ratio) - 1


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> ndarray:
    return p.rate * np.log(p.rate / q.rate) - p.rate + q.rate


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> ndarray:
    return _bernoulli(p, q) / p.prob


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> ndarray:
    ratio = p.scale / q.scale
    return ratio - 1 - np.log(ratio)


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> ndarray:
    ratio = q.alpha / p.alpha
    finite = q.alpha * np.log(p.scale / q.scale) - np.log(ratio) + ratio - 1
    return np.where(p.scale < q.scale, math.inf, finite)


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> ndarray:
    ratio, apart = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return apart - np.log(ratio) + _EULER * (ratio - 1) + np.exp(npx.gammaln(1 + ratio) - apart) - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> ndarray:
    ratio = p.scale / q.scale
    shapes = npx.gammaln(q.shape) - npx.gammaln(p.shape) + (p.shape - q.shape) * npx.digamma(p.shape)
    return shapes - q.shape * np.log(ratio) + p.shape * (ratio - 1)


def _dirichlet_kl(p: list[ndarray], q: list[ndarray], add: Callable[[list[ndarray]], ndarray]) -> ndarray:
    """Return the divergence of Dirichlet distributions, from terms that ``add`` sums over the classes."""
    whole, other = add(p), add(q)
    terms = [npx.gammaln(b) - npx.gammaln(a) + (a - b) * npx.digamma(a) for a, b in zip(p, q, strict=True)]
    return npx.gammaln(whole) - npx.gammaln(other) + add(terms) + (other - whole) * npx.digamma(whole)


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> ndarray:
    return _dirichlet_kl([p.alpha, p.beta], [q.alpha, q.beta], lambda terms: terms[0] + terms[1])


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> ndarray:
    return _dirichlet_kl([p.alpha], [q.alpha], lambda terms: terms[0].sum(axis=-1))


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> ndarray:
    spread = np.trace(np.matmul(q.precision, p.cov), axis1=-2, axis2=-1)
    apart = np.expand_dims(q.loc - p.loc, -1)
    square = (apart * np.matmul(q.precision, apart)).sum(axis=(-2, -1))
    return q._log_volume() - p._log_volume() + 0.5 * (spread + square - p.loc.shape[-1])


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> ndarray:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("kl_divergence: not defined for a different number of independent dimensions")
    return sum_last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> ndarray:
    square = np.square(p.high - p.low) / 12 + np.square((p.high + p.low) / 2 - q.loc)
    return np.log(math.sqrt(2 * math.pi) * q.scale / (p.high - p.low)) + 0.5 * square / np.square(q.scale)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Uniform, q: Gumbel) -> ndarray:
    share = q.scale / (p.high - p.low)
    low, high = (p.low - q.loc) / q.scale, (p.high - q.loc) / q.scale
    return np.log(share) + 0.5 * (low + high) + share * (np.exp(-low) - np.exp(-high))


@register_kl(Exponential, Normal)
def _exponential_normal(p: Exponential, q: Normal) -> ndarray:
    square = np.square(p.scale) + np.square(p.scale - q.loc)
    return np.log(math.sqrt(2 * math.pi) * q.scale / p.scale) - 1 + 0.5 * square / np.square(q.scale)


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Exponential, q: Gumbel) -> ndarray:
    ratio, shift = q.scale / p.scale, q.loc / q.scale
    return np.log(ratio) - 1 - shift + np.exp(shift) * ratio / (ratio + 1) + 1 / ratio


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> ndarray:
    ratio = p.scale / q.scale
    return ratio - 1 - q.shape * np.log(ratio) + npx.gammaln(q.shape) + (q.shape - 1) * _EULER
