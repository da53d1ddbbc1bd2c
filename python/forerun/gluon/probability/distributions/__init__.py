"""Distributions and their divergences."""

from __future__ import annotations

from functools import cached_property

from forerun.gluon.probability import constraint
from forerun.gluon.probability.distributions.categorical import (
    Categorical,
    Multinomial,
    OneHotCategorical,
    RelaxedBernoulli,
    RelaxedOneHotCategorical,
)
from forerun.gluon.probability.distributions.composed import Independent, MixtureSameFamily, TransformedDistribution
from forerun.gluon.probability.distributions.continuous import (
    Cauchy,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Laplace,
    Normal,
    Uniform,
)
from forerun.gluon.probability.distributions.discrete import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from forerun.gluon.probability.distributions.distribution import Distribution, ExponentialFamily
from forerun.gluon.probability.distributions.divergence import empirical_kl, kl_divergence, register_kl
from forerun.gluon.probability.distributions.multivariate_normal import MultivariateNormal
from forerun.gluon.probability.distributions.positive import (
    Beta,
    Chi2,
    Dirichlet,
    Exponential,
    FisherSnedecor,
    Gamma,
    Pareto,
    StudentT,
    Weibull,
)

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "Laplace",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "Pareto",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "Weibull",
    "cached_property",
    "constraint",
    "empirical_kl",
    "kl_divergence",
    "register_kl",
]
