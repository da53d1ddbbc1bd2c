"""Distributions over classes, and their differentiable relaxations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from forerun import np, npx
from forerun._forerun import ndarray
from forerun._types import ArrayLike
from forerun.gluon.probability._numeric import clip_prob, softplus
from forerun.gluon.probability.constraint import IntegerInterval, Interval, Real, Simplex
from forerun.gluon.probability.distributions.distribution import Constraints, Odds
from forerun.np._common import broadcast

__all__ = ["Categorical", "Multinomial", "OneHotCategorical", "RelaxedBernoulli", "RelaxedOneHotCategorical"]


class _Classes(Odds):
    """The base of distributions over classes, whose probabilities lie along the last axis."""

    _binary = False
    _parameter_dims: ClassVar[Mapping[str, int]] = {"prob": 1, "logit": 1}
    arg_constraints: ClassVar[Constraints] = {"prob": Simplex(), "logit": Real()}

    def __init__(
        self,
        event_dim: int,
        validate_args: bool | None,
        prob: Any,
        logit: Any,
        num_events: int,
        **parameters: Any,
    ) -> None:
        if num_events < 1:
            raise ValueError(f"{type(self).__name__}: num_events must be positive, got {num_events}")
        self.num_events = int(num_events)
        super().__init__(event_dim, validate_args, prob, logit, **parameters)
        given = getattr(self, self._given[0])
        if given.ndim < 1 or given.shape[-1] != self.num_events:
            raise ValueError(f"{type(self).__name__}: {self._given[0]} {given.shape} is not of {num_events} events")

    def _settings(self) -> tuple[str, ...]:
        return (*super()._settings(), "num_events")

    def _log_probs(self) -> ndarray:
        """Return the logarithms of the probabilities; logits need not be normalised."""
        return npx.log_softmax(self.logit) if "logit" in self._given else np.log(clip_prob(self.prob))

    def _scores(self, shape: tuple[int, ...]) -> ndarray:
        """Return the logits plus Gumbel noise, of which the largest is a sample."""
        return self.logit - np.log(self._noise((*shape, self.num_events)).exponential())


class Categorical(_Classes):
    """The distribution of class indices. Samples are int64.

    Parameters
    ----------
    num_events
        The number of classes.
    prob, logit
        The probabilities along the last axis, or their logarithms up to a constant.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import probability
    >>> probability.Categorical(2, prob=np.array([0.25, 0.75])).pdf(1)
    array(0.75)
    """

    has_enumerate_support = True

    def __init__(self, num_events: int, prob: Any = None, logit: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, prob, logit, num_events)

    @property
    def support(self) -> IntegerInterval:
        """The indices of the classes."""
        return IntegerInterval(0, self.num_events - 1)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the probability; an invalid class raises ``IndexError`` when it is read."""
        x = self._checked(value).astype("int64")
        shape = broadcast("log_prob", x.shape, self.batch_shape)
        logs = np.broadcast_to(self._log_probs(), (*shape, self.num_events))
        return npx.pick(logs, np.broadcast_to(x, shape), mode="raise")

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return self._scores(shape).argmax(axis=-1)

    def enumerate_support(self) -> ndarray:
        """Return all classes, along a new first axis."""
        batch = self.batch_shape
        classes = np.arange(self.num_events, dtype="int64", device=getattr(self, self._given[0]).device)
        return np.broadcast_to(classes.reshape(-1, *(1,) * len(batch)), (self.num_events, *batch))

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return -(self.prob * self._log_probs()).sum(axis=-1)


class OneHotCategorical(_Classes):
    """The distribution of class indices, encoded as vectors with a single 1.

    Parameters
    ----------
    num_events, prob, logit, validate_args
        As for :class:`Categorical`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import probability
    >>> probability.OneHotCategorical(2, prob=np.array([0.25, 0.75])).pdf(np.array([1.0, 0.0]))
    array(0.25)
    """

    has_enumerate_support = True
    support = Simplex()

    def __init__(self, num_events: int, prob: Any = None, logit: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(1, validate_args, prob, logit, num_events)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the probability."""
        return (self._checked(value) * self._log_probs()).sum(axis=-1)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        scores = self._scores(shape)
        return npx.one_hot(scores.argmax(axis=-1), self.num_events, dtype=scores.dtype)

    def enumerate_support(self) -> ndarray:
        """Return all vectors, along a new first axis."""
        batch, first = self.batch_shape, getattr(self, self._given[0])
        rows = np.eye(self.num_events, dtype=first.dtype, device=first.device)
        rows = rows.reshape(self.num_events, *(1,) * len(batch), self.num_events)
        return np.broadcast_to(rows, (self.num_events, *batch, self.num_events))

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
        return -(self.prob * self._log_probs()).sum(axis=-1)


class Multinomial(_Classes):
    """The distribution of the numbers of samples of each class.

    Parameters
    ----------
    num_events, prob, logit, validate_args
        As for :class:`Categorical`.
    total_count
        The number of samples.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import probability
    >>> probability.Multinomial(2, prob=np.array([0.25, 0.75]), total_count=4).mean
    array([1., 3.])
    """

    def __init__(
        self,
        num_events: int,
        prob: Any = None,
        logit: Any = None,
        total_count: int = 1,
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(total_count, ndarray) or total_count < 0 or total_count % 1 != 0:
            raise ValueError(f"Multinomial: total_count must be a non-negative integer, got {total_count}")
        self.total_count = int(total_count)
        super().__init__(1, validate_args, prob, logit, num_events)

    def _settings(self) -> tuple[str, ...]:
        return (*super()._settings(), "total_count")

    @property
    def support(self) -> IntegerInterval:
        """Integers up to the number of samples."""
        return IntegerInterval(0, self.total_count)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the probability."""
        x = self._checked(value)
        ways = npx.gammaln(x.sum(axis=-1) + 1) - npx.gammaln(x + 1).sum(axis=-1)
        return ways + (x * self._log_probs()).sum(axis=-1)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        # One binomial per class, of what the classes before it have left.
        left = np.full((*shape,), float(self.total_count), dtype="float64", device=self.prob.device)
        p = np.broadcast_to(self.prob, (*shape, self.num_events)).astype("float64")
        rest = np.flip(np.cumsum(np.flip(p, -1), axis=-1), -1)
        counts = []
        for i in range(self.num_events - 1):
            share = np.clip(p[..., i] / np.maximum(rest[..., i], 1e-300), 0, 1)
            counts.append(np.random.binomial(left, share).astype("float64"))
            left = left - counts[-1]
        return np.stack([*counts, left], axis=-1).astype(self.prob.dtype)

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.total_count * self.prob

    @property
    def variance(self) -> ndarray:
        """The variance."""
        return self.total_count * self.prob * (1 - self.prob)


class RelaxedBernoulli(Odds):
    """A relaxation of the Bernoulli distribution: samples between 0 and 1, with gradients.

    Parameters
    ----------
    T
        The temperature; low ones give samples near 0 and 1.
    prob, logit
        The probability of 1, or its log-odds.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun.gluon import probability
    >>> probability.RelaxedBernoulli(1.0, prob=0.5).pdf(0.5)
    array(1.)
    """

    has_grad = True
    support = Interval(0, 1)
    arg_constraints: ClassVar[Constraints] = {"prob": Interval(0, 1), "logit": Real()}
    T: ndarray

    def __init__(self, T: Any, prob: Any = None, logit: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(0, validate_args, prob, logit, T=T)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        y = clip_prob(self._checked(value))
        x = np.log(y) - np.log1p(-y)
        apart = self.logit - self.T * x
        # The density of the log-odds, and the derivative of the log-odds.
        return np.log(self.T) + apart - 2 * softplus(apart) + softplus(x) + softplus(-x)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        u = self._noise(shape).uniform()
        return clip_prob(npx.sigmoid((self.logit + np.log(u) - np.log1p(-u)) / self.T))


class RelaxedOneHotCategorical(_Classes):
    """A relaxation of :class:`OneHotCategorical`: samples are vectors of probabilities, with gradients.

    Parameters
    ----------
    T
        The temperature; low ones give samples near vectors with a single 1.
    num_events, prob, logit, validate_args
        As for :class:`Categorical`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import probability
    >>> probability.RelaxedOneHotCategorical(1.0, 2, prob=np.array([0.5, 0.5])).pdf(np.array([0.5, 0.5]))
    array(1.)
    """

    has_grad = True
    support = Simplex()
    T: ndarray

    def __init__(
        self, T: Any, num_events: int, prob: Any = None, logit: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(1, validate_args, prob, logit, num_events, T=T)

    @property
    def _along(self) -> ndarray:
        """The temperature, with a dimension for the classes."""
        return np.expand_dims(self.T, -1)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        logs = np.log(clip_prob(self._checked(value)))
        scores = npx.log_softmax(self.logit - self._along * logs)
        front = math.lgamma(self.num_events) + (self.num_events - 1) * np.log(self.T)
        return front + scores.sum(axis=-1) - logs.sum(axis=-1)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        return npx.softmax(self._scores(shape) / self._along)
