"""Distributions agree with integrals of their densities, samples with their moments, and nothing waits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import autograd, gluon, np, npx
from forerun.gluon import probability as mgp
from forerun.gluon.probability import constraint

Build = Callable[[], mgp.Distribution]
# Continuous distributions, with intervals that hold nearly all of their probability.
CONTINUOUS: list[tuple[Build, float, float]] = [
    (lambda: mgp.Normal(0.5, 1.5), -12.0, 13.0),
    (lambda: mgp.Laplace(-0.5, 0.7), -15.0, 15.0),
    (lambda: mgp.Gumbel(0.5, 0.8), -4.0, 18.0),
    (lambda: mgp.Uniform(-1.0, 2.0), -1.0, 2.0),
    (lambda: mgp.HalfNormal(1.5), 0.0, 12.0),
    (lambda: mgp.Exponential(0.7), 0.0, 15.0),
    (lambda: mgp.Weibull(1.5, 2.0), 0.0, 15.0),
    (lambda: mgp.Gamma(2.5, 0.8), 0.0, 20.0),
    (lambda: mgp.Chi2(4.0), 0.0, 50.0),
    (lambda: mgp.Beta(2.0, 3.0), 0.0, 1.0),
    (lambda: mgp.StudentT(9.0, 0.5, 0.8), -40.0, 40.0),
    (lambda: mgp.FisherSnedecor(6.0, 30.0), 0.0, 30.0),
    (lambda: mgp.Pareto(8.0, 1.5), 1.5, 30.0),
]
NO_MOMENTS: list[tuple[Build, float, float]] = [
    (lambda: mgp.RelaxedBernoulli(0.9, logit=0.4), 1e-4, 1 - 1e-4),
    (
        lambda: mgp.MixtureSameFamily(
            mgp.Categorical(2, prob=np.array([0.25, 0.75])), mgp.Normal(np.array([-2.0, 1.0]), np.array([0.5, 1.0]))
        ),
        -8.0,
        8.0,
    ),
    (
        lambda: mgp.TransformedDistribution(mgp.Normal(0.0, 0.5), [mgp.ExpTransform(), mgp.AffineTransform(1.0, -2.0)]),
        -30,
        1,
    ),
]
DISCRETE: list[Build] = [
    lambda: mgp.Bernoulli(prob=0.3),
    lambda: mgp.Bernoulli(logit=-0.4),
    lambda: mgp.Binomial(7, prob=0.4),
    lambda: mgp.Binomial(7, logit=1.0),
    lambda: mgp.Geometric(prob=0.4),
    lambda: mgp.NegativeBinomial(3.0, prob=0.4),
    lambda: mgp.NegativeBinomial(2.5, logit=-0.3),
    lambda: mgp.Poisson(2.5),
]


def name(case: Any) -> str:
    """Return the name of a case; distributions are made by tests, on the device of the tests."""
    return type(case()).__name__ if callable(case) else ""


def grid(low: float, high: float) -> tuple[Any, Any]:
    """Return the points and weights of the midpoint rule."""
    edges = numpy.linspace(low, high, 40001)
    return (edges[1:] + edges[:-1]) / 2, edges[1:] - edges[:-1]


def density(distribution: mgp.Distribution, x: Any) -> Any:
    with forerun.no_sync("error"):
        found = distribution.log_prob(np.array(x.astype("float32")))
    return numpy.exp(found.asnumpy().astype("float64"))


def gradient(x: np.ndarray) -> np.ndarray:
    assert x.grad is not None
    return x.grad


def value(x: Any) -> float:
    return float(x.item())


@pytest.mark.parametrize("build, low, high", CONTINUOUS + NO_MOMENTS, ids=name)
def test_densities_integrate_to_one(build: Build, low: float, high: float) -> None:
    distribution = build()
    x, weights = grid(low, high)
    p = density(distribution, x) * weights
    assert p.sum() == pytest.approx(1, abs=2e-3)
    if distribution.batch_shape == () and not isinstance(distribution, (mgp.RelaxedBernoulli,)):
        try:
            cdf = distribution.cdf(np.array(x.astype("float32"))).asnumpy()
        except NotImplementedError:
            return
        numpy.testing.assert_allclose(cdf, p.cumsum(), atol=2e-3)


@pytest.mark.parametrize("build, low, high", CONTINUOUS, ids=name)
def test_moments_and_entropies_are_integrals(build: Build, low: float, high: float) -> None:
    distribution = build()
    x, weights = grid(low, high)
    p = density(distribution, x)
    mean = (x * p * weights).sum()
    assert value(distribution.mean) == pytest.approx(mean, abs=5e-3)
    variance = (numpy.square(x - mean) * p * weights).sum()
    assert value(distribution.variance) == pytest.approx(variance, rel=1e-2)
    assert value(distribution.stddev) == pytest.approx(math.sqrt(variance), rel=1e-2)
    if not isinstance(distribution, mgp.FisherSnedecor):
        entropy = -(p * numpy.log(numpy.maximum(p, 1e-300)) * weights).sum()
        assert value(distribution.entropy()) == pytest.approx(entropy, abs=5e-3)
        assert value(distribution.perplexity()) == pytest.approx(math.exp(entropy), rel=1e-2)


@pytest.mark.parametrize("build", DISCRETE, ids=name)
def test_probabilities_and_moments_are_sums(build: Build) -> None:
    distribution = build()
    x = numpy.arange(80.0)
    if isinstance(distribution, mgp.Binomial):
        x = x[: distribution.n + 1]
    elif isinstance(distribution, mgp.Bernoulli):
        x = x[:2]
    p = density(distribution, x)
    assert p.sum() == pytest.approx(1, abs=1e-5)
    mean = (x * p).sum()
    assert value(distribution.mean) == pytest.approx(mean, rel=1e-4)
    assert value(distribution.variance) == pytest.approx((numpy.square(x - mean) * p).sum(), rel=1e-3)
    if isinstance(distribution, (mgp.Bernoulli, mgp.Geometric)):
        assert value(distribution.entropy()) == pytest.approx(-(p * numpy.log(p)).sum(), rel=1e-3)


@pytest.mark.parametrize(
    "build", [case[0] for case in CONTINUOUS] + DISCRETE + [case[0] for case in NO_MOMENTS[1:2]], ids=name
)
def test_samples_have_the_moments(build: Build) -> None:
    distribution = build()
    npx.seed(3)
    count = 20000
    with forerun.no_sync("error"):
        samples = distribution.sample_n(count)
        assert distribution.sample((4, 2)).shape == (4, 2) and distribution.sample().shape == ()
    drawn = samples.asnumpy().astype("float64")
    mean, deviation = value(distribution.mean), math.sqrt(value(distribution.variance))
    assert drawn.shape == (count,)
    assert abs(drawn.mean() - mean) < 5 * deviation / math.sqrt(count)
    assert drawn.std() == pytest.approx(deviation, rel=0.1)


QUANTILES: list[Build] = [
    lambda: mgp.Pareto(3.0, 2.0),
    lambda: mgp.Cauchy(0.5, 2.0),
    lambda: mgp.HalfCauchy(1.5),
]


@pytest.mark.parametrize(
    "build",
    [*(case[0] for case in CONTINUOUS[:7]), *QUANTILES],
    ids=name,
)
def test_quantiles_invert_probabilities(build: Build) -> None:
    distribution = build()
    p = np.array([0.05, 0.3, 0.5, 0.9])
    with forerun.no_sync("error"):
        found = distribution.cdf(distribution.icdf(p))
    numpy.testing.assert_allclose(found.asnumpy(), p.asnumpy(), atol=1e-5)


def test_the_cauchy_distributions() -> None:
    x = numpy.array([-1.0, 0.5, 3.0])
    expected = 1 / (math.pi * 2.0 * (1 + ((x - 0.5) / 2.0) ** 2))
    numpy.testing.assert_allclose(density(mgp.Cauchy(0.5, 2.0), x), expected, rtol=1e-5)
    numpy.testing.assert_allclose(
        density(mgp.HalfCauchy(2.0), x), numpy.where(x < 0, 0, 2 / (math.pi * 2 * (1 + (x / 2) ** 2))), rtol=1e-5
    )
    assert math.isnan(value(mgp.Cauchy(0.0, 1.0).mean)) and value(mgp.HalfCauchy(1.0).mean) == math.inf
    assert value(mgp.Cauchy(0.0, 1.0).entropy()) == pytest.approx(math.log(4 * math.pi))
    assert numpy.median(mgp.Cauchy(3.0, 1.0).sample_n(4001).asnumpy()) == pytest.approx(3.0, abs=0.2)


def test_classes() -> None:
    prob = numpy.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], "float32")
    # Logits need not be normalised.
    options: list[dict[str, Any]] = [{"prob": np.array(prob)}, {"logit": np.array(numpy.log(prob) + 3)}]
    for given in options:
        with forerun.no_sync("error"):
            one = mgp.Categorical(3, **given)
            logs = one.log_prob(np.array([2, 0]))
            samples = one.sample_n(20000)
            hot = mgp.OneHotCategorical(3, **given)
            vectors = hot.sample_n(20000)
            counts = mgp.Multinomial(3, total_count=9, **given)
            drawn = counts.sample_n(20000)
        numpy.testing.assert_allclose(logs.asnumpy(), numpy.log([0.5, 0.6]), rtol=1e-4)
        shares = numpy.stack([(samples.asnumpy() == i).mean(0) for i in range(3)], -1)
        numpy.testing.assert_allclose(shares, prob, atol=0.02)
        assert one.enumerate_support().tolist() == [[0, 0], [1, 1], [2, 2]]
        entropy = -(prob * numpy.log(prob)).sum(-1)
        numpy.testing.assert_allclose(one.entropy().asnumpy(), entropy, rtol=1e-4)
        numpy.testing.assert_allclose(hot.entropy().asnumpy(), entropy, rtol=1e-4)
        assert (vectors.sum(-1) == 1).all() and vectors.shape == (20000, 2, 3)
        numpy.testing.assert_allclose(vectors.mean(0).asnumpy(), prob, atol=0.02)
        assert hot.enumerate_support().shape == (3, 2, 3)
        numpy.testing.assert_allclose(hot.log_prob(np.eye(3)[:2]).asnumpy(), numpy.log([0.2, 0.3]), rtol=1e-4)
        assert (drawn.sum(-1) == 9).all()
        numpy.testing.assert_allclose(drawn.mean(0).asnumpy(), 9 * prob, atol=0.1)
        numpy.testing.assert_allclose(drawn.astype("float64").var(0).asnumpy(), counts.variance.asnumpy(), rtol=0.1)
        ways = math.lgamma(10) - math.lgamma(3) - math.lgamma(4) - math.lgamma(5)
        expected = ways + (numpy.array([2, 3, 4]) * numpy.log(prob)).sum(-1)
        numpy.testing.assert_allclose(counts.log_prob(np.array([2.0, 3.0, 4.0])).asnumpy(), expected, rtol=1e-4)
    with pytest.raises(IndexError):
        mgp.Categorical(3, prob=np.array(prob)).log_prob(np.array([3, 0])).wait_to_read()


def test_vectors() -> None:
    random = numpy.random.default_rng(2)
    factor = numpy.tril(random.normal(size=(3, 3))) + 2 * numpy.eye(3)
    cov = factor @ factor.T
    loc, x = random.normal(size=(2, 3)), random.normal(size=(2, 3))
    apart = x - loc
    square = numpy.einsum("bi,ij,bj->b", apart, numpy.linalg.inv(cov), apart)
    expected = -0.5 * (square + numpy.linalg.slogdet(cov)[1] + 3 * math.log(2 * math.pi))
    for given in ({"cov": cov}, {"precision": numpy.linalg.inv(cov)}, {"scale_tril": factor}):
        arrays: dict[str, Any] = {key: np.array(array) for key, array in given.items()}
        with forerun.no_sync("error"):
            normal = mgp.MultivariateNormal(np.array(loc), validate_args=True, **arrays)
            found = normal.log_prob(np.array(x))
            samples = normal.sample_n(20000)
        numpy.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-3)
        numpy.testing.assert_allclose(normal.cov.asnumpy(), cov, rtol=1e-3)
        numpy.testing.assert_allclose(normal.variance.asnumpy(), numpy.diag(cov), rtol=1e-3)
        drawn = samples.asnumpy()[:, 0]
        numpy.testing.assert_allclose(numpy.cov(drawn.T), cov, atol=0.4)
        entropy = 0.5 * (numpy.linalg.slogdet(cov)[1] + 3 * math.log(2 * math.pi * math.e))
        numpy.testing.assert_allclose(normal.entropy().asnumpy(), entropy, rtol=1e-3)
    alpha = np.array([2.0, 3.0, 4.0])
    dirichlet = mgp.Dirichlet(alpha)
    parts = numpy.array([0.2, 0.3, 0.5])
    logs = math.lgamma(9) - sum(math.lgamma(a) for a in (2, 3, 4)) + (numpy.array([1, 2, 3]) * numpy.log(parts)).sum()
    assert value(dirichlet.log_prob(np.array(parts))) == pytest.approx(logs, rel=1e-4)
    drawn = dirichlet.sample_n(20000).asnumpy()
    numpy.testing.assert_allclose(drawn.sum(-1), 1, atol=1e-5)
    numpy.testing.assert_allclose(drawn.mean(0), dirichlet.mean.asnumpy(), atol=0.01)
    numpy.testing.assert_allclose(drawn.var(0), dirichlet.variance.asnumpy(), rtol=0.1)


def test_relaxed_classes_have_the_density_of_the_paper() -> None:
    prob, t, x = numpy.array([0.2, 0.3, 0.5]), 0.7, numpy.array([0.3, 0.3, 0.4])
    terms = prob * x**-t
    expected = 2 * t**2 * (prob * x ** (-t - 1)).prod() / terms.sum() ** 3
    relaxed = mgp.RelaxedOneHotCategorical(t, 3, prob=np.array(prob))
    assert value(relaxed.pdf(np.array(x))) == pytest.approx(expected, rel=1e-4)
    assert float(relaxed.sample_n(5).sum().item()) == pytest.approx(5, rel=1e-5)


PAIRS: list[tuple[Build, Build]] = [
    (lambda: mgp.Normal(0.5, 1.5), lambda: mgp.Normal(0.0, 1.0)),
    (lambda: mgp.HalfNormal(1.5), lambda: mgp.HalfNormal(1.0)),
    (lambda: mgp.Laplace(-0.5, 0.7), lambda: mgp.Laplace(0.3, 1.2)),
    (lambda: mgp.Gumbel(0.5, 0.8), lambda: mgp.Gumbel(0.0, 1.1)),
    (lambda: mgp.Uniform(-1.0, 2.0), lambda: mgp.Uniform(-2.0, 2.5)),
    (lambda: mgp.Exponential(0.7), lambda: mgp.Exponential(1.1)),
    (lambda: mgp.Gamma(2.5, 0.8), lambda: mgp.Gamma(1.5, 1.3)),
    (lambda: mgp.Beta(2.0, 3.0), lambda: mgp.Beta(1.5, 1.2)),
    (lambda: mgp.Pareto(8.0, 1.5), lambda: mgp.Pareto(5.0, 1.2)),
    (lambda: mgp.Uniform(-1.0, 2.0), lambda: mgp.Normal(0.3, 1.2)),
    (lambda: mgp.Uniform(-1.0, 2.0), lambda: mgp.Gumbel(0.3, 1.2)),
    (lambda: mgp.Exponential(0.7), lambda: mgp.Normal(0.3, 1.2)),
    (lambda: mgp.Exponential(0.7), lambda: mgp.Gumbel(0.3, 1.2)),
    (lambda: mgp.Exponential(0.7), lambda: mgp.Gamma(1.5, 1.2)),
]


@pytest.mark.parametrize("first, second", PAIRS, ids=name)
def test_divergences_are_integrals(first: Build, second: Build) -> None:
    p, q = first(), second()
    low, high = next((low, high) for case, low, high in CONTINUOUS if type(case()) is type(p))
    x, weights = grid(low, high)
    ours, theirs = density(p, x), density(q, x)
    tiny = 1e-300
    expected = (ours * (numpy.log(numpy.maximum(ours, tiny)) - numpy.log(numpy.maximum(theirs, tiny))) * weights).sum()
    with forerun.no_sync("error"):
        found = mgp.kl_divergence(p, q)
        estimated = mgp.empirical_kl(p, q, 20000)
    assert value(found) == pytest.approx(expected, abs=3e-3)
    assert value(estimated) == pytest.approx(expected, abs=0.05)


def test_divergences_of_discrete_distributions_and_vectors() -> None:
    x = numpy.arange(60.0)
    p: mgp.Distribution
    q: mgp.Distribution
    for p, q, points in (
        (mgp.Bernoulli(prob=0.3), mgp.Bernoulli(prob=0.6), x[:2]),
        (mgp.Binomial(5, prob=0.3), mgp.Binomial(5, prob=0.6), x[:6]),
        (mgp.Geometric(prob=0.5), mgp.Geometric(prob=0.3), x),
        (mgp.Poisson(2.0), mgp.Poisson(3.0), x),
    ):
        ours, theirs = density(p, points), density(q, points)
        expected = (ours * numpy.log(ours / theirs)).sum()
        assert value(mgp.kl_divergence(p, q)) == pytest.approx(expected, rel=1e-3), p
    a, b = numpy.array([0.2, 0.8]), numpy.array([0.5, 0.5])
    for kind in (mgp.Categorical, mgp.OneHotCategorical):
        found = mgp.kl_divergence(kind(2, prob=np.array(a)), kind(2, prob=np.array(b)))
        assert value(found) == pytest.approx((a * numpy.log(a / b)).sum(), rel=1e-4)
    first = mgp.MultivariateNormal(np.array([0.5, -0.5]), cov=np.array([[2.0, 0.5], [0.5, 1.0]]))
    second = mgp.MultivariateNormal(np.zeros(2), cov=np.eye(2) * 1.5)
    npx.seed(1)
    for p, q in ((first, second), (mgp.Dirichlet(np.array([2.0, 3.0])), mgp.Dirichlet(np.array([1.0, 1.5])))):
        assert value(mgp.kl_divergence(p, q)) == pytest.approx(value(mgp.empirical_kl(p, q, 40000)), abs=0.03)
    assert value(mgp.kl_divergence(mgp.Cauchy(0.0, 1.0), mgp.Cauchy(1.0, 2.0))) == pytest.approx(math.log(10 / 8))
    assert value(mgp.kl_divergence(mgp.Uniform(0.0, 2.0), mgp.Uniform(0.0, 1.0))) == math.inf
    assert value(mgp.kl_divergence(mgp.Chi2(3.0), mgp.Chi2(3.0))) == pytest.approx(0, abs=1e-6)
    several = [mgp.Independent(mgp.Normal(np.full((2, 3), mean), 1.0), 1) for mean in (0.0, 1.0)]
    assert mgp.kl_divergence(*several).tolist() == [1.5, 1.5]
    with pytest.raises(NotImplementedError, match="not defined for Normal and Poisson"):
        mgp.kl_divergence(mgp.Normal(), mgp.Poisson())


def test_samples_have_gradients() -> None:
    for kind in (mgp.Normal, mgp.Laplace, mgp.Gumbel, mgp.Cauchy):
        loc, scale = np.array(0.5), np.array(2.0)
        loc.attach_grad()
        scale.attach_grad()
        with forerun.no_sync("error"), autograd.record():
            sample = kind(loc, scale).sample()
        sample.backward()
        assert value(gradient(loc)) == 1.0
        # The sample is loc + scale * noise.
        assert value(gradient(scale)) == pytest.approx((value(sample) - 0.5) / 2.0, rel=1e-4, abs=1e-5)
        assert kind.has_grad
    logit = np.zeros((3,))
    logit.attach_grad()
    with autograd.record():
        found = mgp.RelaxedOneHotCategorical(0.5, 3, logit=logit).sample()[0]
    found.backward()
    assert np.abs(gradient(logit)).max() > 0


def test_densities_have_gradients_at_the_edge() -> None:
    prob = np.array([0.0, 1.0, 0.5])
    prob.attach_grad()
    with autograd.record():
        logs = mgp.Bernoulli(prob=prob).log_prob(np.array([0.0, 1.0, 1.0]))
    logs.backward()
    assert logs.tolist() == pytest.approx([0.0, 0.0, math.log(0.5)])
    assert gradient(prob).tolist() == [-1.0, 1.0, 2.0]


def test_shapes_follow_the_parameters() -> None:
    normal = mgp.Normal(np.zeros((2, 1)), np.ones((3,)))
    assert normal.batch_shape == (2, 3) and normal.sample().shape == (2, 3)
    assert normal.sample_n((4, 5)).shape == (4, 5, 2, 3) and normal.sample((4, 2, 3)).shape == (4, 2, 3)
    assert normal.broadcast_to((4, 2, 3)).loc.shape == (4, 2, 3)
    with pytest.raises(ValueError, match="do not broadcast to size"):
        normal.sample((3,))
    assert mgp.Binomial(3, prob=np.array([0.5])).broadcast_to((4,)).sample().shape == (4,)
    assert mgp.Multinomial(2, prob=np.ones(2) / 2, total_count=3).broadcast_to((5,)).sample().shape == (5, 2)
    assert repr(normal) == "Normal(loc: size (2, 1), scale: size (3,), event_dim: 0)"
    together = mgp.Independent(normal, 1)
    assert together.log_prob(np.zeros((2, 3))).shape == (2,) and together.sample_n(4).shape == (4, 2, 3)
    assert together.broadcast_to((5, 2)).sample().shape == (5, 2, 3)
    mixture = mgp.MixtureSameFamily(
        mgp.Categorical(3, prob=np.ones(3) / 3), mgp.MultivariateNormal(np.zeros((3, 2)), cov=np.eye(2))
    )
    assert mixture.sample_n(4).shape == (4, 2) and mixture.log_prob(np.zeros((4, 2))).shape == (4,)
    assert mgp.Normal(np.zeros(2, dtype="float64"), 1).sample().dtype == "float64"
    with pytest.raises(ValueError, match="either prob or logit"):
        mgp.Bernoulli()
    with pytest.raises(ValueError, match="exactly one of cov"):
        mgp.MultivariateNormal(np.zeros(2))


def test_violations_raise_where_a_result_is_read() -> None:
    with forerun.no_sync("error"):
        wrong = mgp.Normal(0.0, np.array([1.0, -1.0]), validate_args=True).log_prob(0.0)
        outside = mgp.Poisson(1.0, validate_args=True).log_prob(np.array([0.5]))
        right = mgp.Poisson(1.0, validate_args=True).log_prob(np.array([2.0]))
        unchecked = mgp.Poisson(1.0).log_prob(np.array([0.5]))
    with pytest.raises(ValueError, match="constraint violated: a value should be > 0"):
        wrong.asnumpy()
    with pytest.raises(ValueError, match="should be an integer and >= 0"):
        outside.asnumpy()
    assert math.isfinite(value(right)) and math.isfinite(value(unchecked))
    mgp.Distribution.set_default_validate_args(True)
    try:
        with pytest.raises(ValueError):
            mgp.Exponential(-1.0).log_prob(1.0).asnumpy()
    finally:
        mgp.Distribution.set_default_validate_args(False)


@pytest.mark.parametrize(
    "rule, good, bad",
    [
        (constraint.Real(), 1.0, math.nan),
        (constraint.Boolean(), 1.0, 0.5),
        (constraint.Interval(0, 1), 1.0, 1.5),
        (constraint.OpenInterval(0, 1), 0.5, 1.0),
        (constraint.HalfOpenInterval(0, 1), 0.0, 1.0),
        (constraint.UnitInterval(), 0.0, -0.1),
        (constraint.IntegerInterval(0, 2), 2.0, 1.5),
        (constraint.IntegerOpenInterval(0, 2), 1.0, 2.0),
        (constraint.IntegerHalfOpenInterval(0, 2), 0.0, 2.0),
        (constraint.GreaterThan(1), 2.0, 1.0),
        (constraint.GreaterThanEq(1), 1.0, 0.5),
        (constraint.IntegerGreaterThan(1), 2.0, 1.0),
        (constraint.IntegerGreaterThanEq(1), 1.0, 1.5),
        (constraint.LessThan(1), 0.0, 1.0),
        (constraint.LessThanEq(1), 1.0, 2.0),
        (constraint.IntegerLessThan(1), 0.0, 1.0),
        (constraint.IntegerLessThanEq(1), 1.0, 0.5),
        (constraint.Positive(), 1.0, 0.0),
        (constraint.NonNegative(), 0.0, -1.0),
        (constraint.PositiveInteger(), 1.0, 0.0),
        (constraint.NonNegativeInteger(), 0.0, 0.5),
        (constraint.Simplex(), [0.5, 0.5], [0.5, 0.6]),
        (constraint.LowerTriangular(), [[1.0, 0.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 1.0]]),
        (constraint.LowerCholesky(), [[1.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [1.0, -1.0]]),
        (constraint.PositiveDefinite(), [[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]),
        (
            constraint.Cat([constraint.Positive(), constraint.Real()], lengths=[2, 1]),
            [1.0, 2.0, -3.0],
            [1.0, -2.0, 3.0],
        ),
        (constraint.Stack([constraint.Positive(), constraint.Real()]), [1.0, -3.0], [-1.0, 3.0]),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, constraint.Constraint) else "",
)
def test_constraints(rule: constraint.Constraint, good: Any, bad: Any) -> None:
    with forerun.no_sync("error"):
        kept, failed = rule.check(np.array(good)), rule.check(np.array(bad))
    assert kept.tolist() == good
    with pytest.raises(ValueError, match="constraint violated"):
        failed.asnumpy()


def test_transformations() -> None:
    x = np.array([0.3, 1.2])
    for transform in (
        mgp.ExpTransform(),
        mgp.AffineTransform(1.0, -2.0),
        mgp.PowerTransform(1.5),
        mgp.SigmoidTransform(),
        mgp.ComposeTransform([mgp.AffineTransform(1.0, 0.5), mgp.ExpTransform()]),
    ):
        x.attach_grad()
        with autograd.record():
            y = transform(x)
        y.backward()
        numpy.testing.assert_allclose(transform.inv(y).asnumpy(), x.asnumpy(), rtol=1e-4)
        logs = transform.log_det_jacobian(x, y).asnumpy()
        numpy.testing.assert_allclose(logs, numpy.log(numpy.abs(gradient(x).asnumpy())), rtol=1e-4)
        numpy.testing.assert_allclose(transform.inv.log_det_jacobian(y, x).asnumpy(), -logs, rtol=1e-4)
        assert transform.inv.inv is transform and transform.sign == numpy.sign(gradient(x).asnumpy()[0])
    for rule in (
        constraint.Positive(),
        constraint.GreaterThan(2.0),
        constraint.LessThan(-1.0),
        constraint.Interval(2, 5),
    ):
        for build in (mgp.biject_to, mgp.transform_to):
            rule.check(build(rule)(np.array([-3.0, 0.0, 3.0]))).wait_to_read()
    constraint.Simplex().check(mgp.transform_to(constraint.Simplex())(np.array([1.0, 2.0]))).wait_to_read()
    with pytest.raises(NotImplementedError, match="LowerTriangular"):
        mgp.biject_to(constraint.LowerTriangular())

    class Shift(mgp.TransformBlock):
        bijective = True

        def __init__(self) -> None:
            super().__init__()
            self.by = gluon.Parameter("by", shape=(1,), init="ones")

        def _forward_compute(self, x: Any) -> Any:
            return x + self.by.data()

        def _inverse_compute(self, y: Any) -> Any:
            return y - self.by.data()

        def log_det_jacobian(self, x: Any, y: Any) -> Any:
            return np.zeros_like(x)

    shift = Shift()
    shift.initialize()
    shifted = mgp.TransformedDistribution(mgp.Normal(0.0, 1.0), shift)
    assert value(shifted.log_prob(np.array([1.0]))) == pytest.approx(value(mgp.Normal().log_prob(0.0)))


@pytest.mark.parametrize("hybrid", [False, True])
def test_stochastic_blocks_collect_losses(hybrid: bool) -> None:
    class Latent(mgp.StochasticBlock):
        @mgp.StochasticBlock.collectLoss
        def forward(self, x: Any) -> Any:
            normal = mgp.Normal(x, 1.0)
            self.add_loss(mgp.kl_divergence(normal, mgp.Normal(0.0, 1.0)))
            return normal.sample()

    net = mgp.StochasticSequential()
    net.add(Latent(), gluon.nn.Dense(2), Latent())
    net.initialize()
    if hybrid:
        net.hybridize()
    assert len(net) == 3 and len(net[:2]) == 2 and isinstance(net[0], Latent)
    outs = []
    for size in (3.0, 3.0, 5.0):
        x = np.full((2, 2), size)
        x.attach_grad()
        with autograd.record():
            out = net(x)
            loss = net.losses[0][0].sum()
        loss.backward()
        outs.append(out.tolist())
        assert len(net.losses) == 2 and net.losses[0][0].tolist() == [[size**2 / 2] * 2] * 2
        assert gradient(x).tolist() == [[size] * 2] * 2
    # Samples are drawn in every call.
    assert outs[0] != outs[1]

    class Plain(mgp.StochasticBlock):
        def forward(self, x: Any) -> Any:
            return x

    with pytest.raises(ValueError, match="collectLoss"):
        Plain()(np.ones(1))


def test_a_hybridized_block_checks_and_draws_anew() -> None:
    class Sample(gluon.HybridBlock):
        def forward(self, scale: Any) -> Any:
            return mgp.Normal(0.0, scale, validate_args=True).sample()

    net = Sample()
    net.hybridize()
    first, second = net(np.ones((3,))).tolist(), net(np.ones((3,))).tolist()
    assert first != second
    with pytest.raises(ValueError, match="constraint violated"):
        net(-np.ones((3,))).asnumpy()
    assert len(net(np.ones((3,))).tolist()) == 3
