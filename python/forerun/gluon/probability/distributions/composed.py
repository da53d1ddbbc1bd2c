"""Distributions made of others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from forerun import np, npx
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._types import ArrayLike, ShapeLike
from forerun.gluon.probability._numeric import sum_last
from forerun.gluon.probability.constraint import Constraint
from forerun.gluon.probability.distributions.categorical import Categorical
from forerun.gluon.probability.distributions.distribution import Distribution
from forerun.gluon.probability.transformation import Transformation
from forerun.np._common import broadcast
from forerun.np._drawing import extents

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]

_Independent = TypeVar("_Independent", bound="Independent")


class Independent(Distribution):
    """A distribution whose last batch dimensions are dimensions of one sample.

    Parameters
    ----------
    base_distribution
        The distribution.
    reinterpreted_batch_ndims
        The number of dimensions.
    validate_args
        Whether to check values.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import probability
    >>> normal = probability.Normal(np.zeros((3, 2)), 1.0)
    >>> probability.Independent(normal, 1).log_prob(np.zeros((3, 2))).shape
    (3,)
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.has_grad = base_distribution.has_grad
        super().__init__(reinterpreted_batch_ndims + base_distribution.event_dim, validate_args)

    @property
    def support(self) -> Constraint:
        """The constraint that samples satisfy."""
        return self.base_dist.support

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The batch shape, without the dimensions of one sample."""
        batch = self.base_dist.batch_shape
        return batch[: len(batch) - self.reinterpreted_batch_ndims]

    def broadcast_to(self: _Independent, batch_shape: ShapeLike) -> _Independent:
        """Return the distribution with parameters of another shape."""
        batch = self.base_dist.batch_shape
        own = batch[len(batch) - self.reinterpreted_batch_ndims :]
        base = self.base_dist.broadcast_to(extents(batch_shape) + own)
        return type(self)(base, self.reinterpreted_batch_ndims, self._validate_args)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        batch = self.base_dist.batch_shape
        return self.base_dist._draw(shape + batch[len(batch) - self.reinterpreted_batch_ndims :])

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density or of the probability."""
        return sum_last(self.base_dist.log_prob(self._checked(value)), self.reinterpreted_batch_ndims)

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self) -> ndarray:
        """Return all possible samples, if no dimension was reinterpreted."""
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Independent: the support of several dimensions cannot be enumerated")
        return self.base_dist.enumerate_support()

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.base_dist.mean

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return self.base_dist.variance


class TransformedDistribution(Distribution):
    """The distribution of transformed samples.

    Parameters
    ----------
    base_dist
        The distribution of the samples.
    transforms
        A transformation, or several that are applied in order.
    validate_args
        Whether to check values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> lognormal = probability.TransformedDistribution(probability.Normal(0.0, 1.0), probability.ExpTransform())
    >>> lognormal.cdf(1.0)
    array(0.5)
    """

    def __init__(
        self,
        base_dist: Distribution,
        transforms: Transformation | Sequence[Transformation],
        validate_args: bool | None = None,
    ) -> None:
        self._base_dist = base_dist
        self._transforms = [transforms] if isinstance(transforms, Transformation) else list(transforms)
        self.has_grad = base_dist.has_grad
        event_dim = max(base_dist.event_dim, *(each.event_dim for each in self._transforms), 0)
        super().__init__(event_dim, validate_args)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The batch shape, without the dimensions of one sample."""
        batch = self._base_dist.batch_shape
        return batch[: len(batch) - (self.event_dim - self._base_dist.event_dim)]

    def sample(self, size: ShapeLike | None = None) -> ndarray:
        """Draw samples; the size is that of the base distribution."""
        return self._forward(self._base_dist.sample(size))

    def sample_n(self, size: ShapeLike | None = None) -> ndarray:
        """Draw samples of shape ``size`` for each element of the parameters."""
        return self._forward(self._base_dist.sample_n(size))

    def _forward(self, x: ndarray) -> ndarray:
        for transform in self._transforms:
            x = transform(x)
        return x

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        y = to_array(value)
        total: Any = 0.0
        for transform in reversed(self._transforms):
            x = transform.inv(y)
            total = total - sum_last(transform.log_det_jacobian(x, y), self.event_dim - transform.event_dim)
            y = x
        found: ndarray = total + sum_last(self._base_dist.log_prob(y), self.event_dim - self._base_dist.event_dim)
        return found

    def _sign(self) -> Any:
        """Return -1 where the transformations reverse the order, and 1 elsewhere."""
        sign: Any = 1
        for transform in self._transforms:
            sign = sign * transform.sign
        return sign

    def cdf(self, value: ArrayLike) -> ndarray:
        """Return the probability of samples up to a value."""
        x = to_array(value)
        for transform in reversed(self._transforms):
            x = transform.inv(x)
        found: ndarray = self._sign() * (self._base_dist.cdf(x) - 0.5) + 0.5
        return found

    def icdf(self, value: ArrayLike) -> ndarray:
        """Return the value up to which samples have a probability."""
        return self._forward(self._base_dist.icdf(self._sign() * (to_array(value) - 0.5) + 0.5))


class MixtureSameFamily(Distribution):
    """A mixture of distributions that differ in their parameters. Samples have no gradients for the weights.

    Parameters
    ----------
    mixture_distribution
        The probabilities of the components.
    component_distribution
        The components, along the last batch dimension.
    validate_args
        Whether to check values.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import probability
    >>> weights = probability.Categorical(2, prob=np.array([0.25, 0.75]))
    >>> mixture = probability.MixtureSameFamily(weights, probability.Normal(np.array([0.0, 4.0]), 1.0))
    >>> mixture.mean
    array(3.)
    """

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("MixtureSameFamily: the weights must be a Categorical distribution")
        count, batch = mixture_distribution.num_events, component_distribution.batch_shape
        if not batch or batch[-1] != count:
            raise ValueError(f"MixtureSameFamily: components of batch shape {batch} are not {count}")
        self.mixture_distribution = mixture_distribution
        self.component_distribution = component_distribution
        super().__init__(component_distribution.event_dim, validate_args)

    @property
    def support(self) -> Constraint:
        """The constraint that samples satisfy."""
        return self.component_distribution.support

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The batch shape of weights and components."""
        components = self.component_distribution.batch_shape[:-1]
        return broadcast("MixtureSameFamily", self.mixture_distribution.batch_shape, components)

    def _each(self, value: ArrayLike) -> ndarray:
        """Add the dimension of the components to a value."""
        return np.expand_dims(self._checked(value), -1 - self.event_dim)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density or of the probability."""
        logs = self.component_distribution.log_prob(self._each(value))
        return npx.logsumexp(logs + self.mixture_distribution._log_probs(), axis=-1)

    def cdf(self, value: ArrayLike) -> ndarray:
        """Return the probability of samples up to a value."""
        return (self.component_distribution.cdf(self._each(value)) * self.mixture_distribution.prob).sum(axis=-1)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        chosen = self.mixture_distribution._draw(shape)
        drawn = self.component_distribution._draw((*shape, self.mixture_distribution.num_events))
        axis = -1 - self.event_dim
        index = chosen.reshape(*shape, *(1,) * (1 + self.event_dim))
        extent = list(drawn.shape)
        extent[axis] = 1
        return np.take_along_axis(drawn, np.broadcast_to(index, tuple(extent)), axis).squeeze(axis)

    def _average(self, x: ndarray) -> ndarray:
        weights = self.mixture_distribution.prob
        weights = weights.reshape(*weights.shape, *(1,) * self.event_dim)
        return (weights * x).sum(axis=-1 - self.event_dim)

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self._average(self.component_distribution.mean)

    @property
    def variance(self) -> ndarray:
        """The variance: the mean of the variances, and the variance of the means."""
        means = self.component_distribution.mean
        middle = np.expand_dims(self.mean, -1 - self.event_dim)
        return self._average(self.component_distribution.variance + np.square(means - middle))
