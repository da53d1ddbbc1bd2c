"""The base class of distributions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias, TypeVar

from forerun import _forerun, np, npx
from forerun._convert import floating, to_array
from forerun._forerun import ndarray
from forerun._types import ArrayLike, ShapeLike
from forerun.gluon.probability._numeric import clip_prob, softplus, xlogy
from forerun.gluon.probability.constraint import Constraint
from forerun.np._common import broadcast
from forerun.np._drawing import Draw, extents

__all__ = ["Distribution", "ExponentialFamily"]

Constraints: TypeAlias = "Mapping[str, Constraint]"
_Self = TypeVar("_Self", bound="Distribution")


class Distribution:
    """The base class of distributions.

    Parameters are arrays that broadcast against each other; numbers are converted. All methods submit ops, and none
    waits. Gradients flow through ``log_prob``, ``cdf``, ``icdf`` and ``entropy`` to parameters and values, and
    through samples if ``has_grad`` is true.

    Parameters
    ----------
    event_dim
        The number of dimensions of one sample: 0 for numbers, 1 for vectors.
    validate_args
        Whether to check parameters and values. A check does not wait; reading a result raises ``ValueError``.
    **parameters
        The parameters; None for absent ones.
    """

    has_grad: bool = False
    has_enumerate_support: bool = False
    event_dim: int = 0
    arg_constraints: ClassVar[Constraints] = {}
    # The number of dimensions of a sample's parameter; 0 if not listed.
    _parameter_dims: ClassVar[Mapping[str, int]] = {}
    _validate_args: bool = False

    def __init__(self, event_dim: int = 0, validate_args: bool | None = None, **parameters: Any) -> None:
        self.event_dim = event_dim
        if validate_args is not None:
            self._validate_args = validate_args
        given = {name: value for name, value in parameters.items() if value is not None}
        self._given = tuple(given)
        arrays = [value for value in given.values() if isinstance(value, ndarray)]
        place = arrays[0].device if arrays else None
        kind = floating(arrays[0]).dtype if arrays else _forerun.default_float()
        for array in arrays[1:]:
            kind = _forerun.result_type(kind, floating(array).dtype)
        for name, value in given.items():
            x = value if isinstance(value, ndarray) else to_array(value, kind, place)
            x = floating(x)
            if self._validate_args and name in self.arg_constraints:
                x = self.arg_constraints[name].check(x)
            setattr(self, name, x)

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions check parameters and values by default."""
        if value not in (True, False):
            raise ValueError(f"set_default_validate_args: a boolean is needed, not {value!r}")
        Distribution._validate_args = value

    @property
    def support(self) -> Constraint:
        """The constraint that samples satisfy."""
        raise NotImplementedError(f"{type(self).__name__}: the support is not defined")

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the parameters, without the dimensions of one sample."""
        shapes = []
        for name in self._given:
            shape = getattr(self, name).shape
            shapes.append(shape[: len(shape) - self._parameter_dims.get(name, 0)])
        return broadcast(type(self).__name__, *shapes)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density or of the probability at a value."""
        raise NotImplementedError(f"{type(self).__name__}: log_prob is not defined")

    def pdf(self, value: ArrayLike) -> ndarray:
        """Return the density, or the probability, at a value."""
        return np.exp(self.log_prob(value))

    def cdf(self, value: ArrayLike) -> ndarray:
        """Return the probability of samples up to a value."""
        raise NotImplementedError(f"{type(self).__name__}: cdf is not defined")

    def icdf(self, value: ArrayLike) -> ndarray:
        """Return the value up to which samples have a probability."""
        raise NotImplementedError(f"{type(self).__name__}: icdf is not defined")

    def sample(self, size: ShapeLike | None = None) -> ndarray:
        """Draw samples.

        Parameters
        ----------
        size
            The shape, to which parameters are broadcast; by default that of the parameters.
        """
        batch = self.batch_shape
        shape = batch if size is None else extents(size)
        if broadcast(type(self).__name__, shape, batch) != shape:
            raise ValueError(f"{type(self).__name__}: parameters of shape {batch} do not broadcast to size {shape}")
        return self._draw(shape)

    def sample_n(self, size: ShapeLike | None = None) -> ndarray:
        """Draw samples of shape ``size`` for each element of the parameters."""
        return self._draw((() if size is None else extents(size)) + self.batch_shape)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        """Draw samples; the shape excludes the dimensions of one sample."""
        raise NotImplementedError(f"{type(self).__name__}: samples are not defined")

    def _noise(self, shape: tuple[int, ...]) -> Draw:
        """Return a source of random numbers with the dtype and the device of the parameters."""
        first = getattr(self, self._given[0])
        kind = _forerun.result_type(*(getattr(self, name).dtype for name in self._given))
        return Draw(type(self).__name__, [], shape, kind, None, first.device)

    def broadcast_to(self: _Self, batch_shape: ShapeLike) -> _Self:
        """Return the distribution with parameters of another shape."""
        made = type(self).__new__(type(self))
        # Without computed values, which have the old shape.
        made.__dict__.update({name: self.__dict__[name] for name in self._settings() if name in self.__dict__})
        for name in self._given:
            x = getattr(self, name)
            own = x.shape[x.ndim - self._parameter_dims.get(name, 0) :]
            setattr(made, name, np.broadcast_to(x, extents(batch_shape) + own))
        return made

    def _settings(self) -> tuple[str, ...]:
        """Return the names of attributes that are not parameters."""
        return ("event_dim", "_validate_args", "_given")

    def enumerate_support(self) -> ndarray:
        """Return all possible samples, along a new first axis."""
        raise NotImplementedError(f"{type(self).__name__}: the support cannot be enumerated")

    @property
    def mean(self) -> ndarray:
        """The mean."""
        raise NotImplementedError(f"{type(self).__name__}: the mean is not defined")

    @property
    def variance(self) -> ndarray:
        """The variance."""
        raise NotImplementedError(f"{type(self).__name__}: the variance is not defined")

    @property
    def stddev(self) -> ndarray:
        """The standard deviation."""
        return np.sqrt(self.variance)

    def entropy(self) -> ndarray:
        """Return the entropy, in nats."""
        raise NotImplementedError(f"{type(self).__name__}: the entropy is not defined")

    def perplexity(self) -> ndarray:
        """Return the exponential of the entropy."""
        return np.exp(self.entropy())

    def __repr__(self) -> str:
        """Write the names and shapes of the parameters."""
        parts = [f"{name}: size {getattr(self, name).shape}" for name in self._given]
        return f"{type(self).__name__}({', '.join([*parts, f'event_dim: {self.event_dim}'])})"

    def _checked(self, value: ArrayLike) -> ndarray:
        """Return a value as an array, checked if the distribution validates."""
        if not isinstance(value, ndarray):
            first = getattr(self, self._given[0]) if self._given else None
            value = to_array(value, None if first is None else first.dtype, None if first is None else first.device)
        return self.support.check(value) if self._validate_args else value


class ExponentialFamily(Distribution):
    """The base class of distributions of an exponential family."""


class Odds(Distribution):
    """The base of distributions with the parameter ``prob``, or alternatively ``logit``."""

    # Whether the probabilities are those of one of two outcomes; otherwise of all classes along the last axis.
    _binary: bool = True
    prob: ndarray
    logit: ndarray

    def __init__(self, event_dim: int, validate_args: bool | None, prob: Any, logit: Any, **parameters: Any) -> None:
        if (prob is None) == (logit is None):
            raise ValueError(f"{type(self).__name__}: either prob or logit is needed, but not both")
        super().__init__(event_dim, validate_args, prob=prob, logit=logit, **parameters)

    def __getattr__(self, name: str) -> Any:
        """Compute the one of ``prob`` and ``logit`` that was not given, once."""
        if name == "prob" and "logit" in self.__dict__:
            self.prob = npx.sigmoid(self.logit) if self._binary else npx.softmax(self.logit)
            return self.prob
        if name == "logit" and "prob" in self.__dict__:
            p = clip_prob(self.prob)
            self.logit = np.log(p) - np.log1p(-p) if self._binary else np.log(p)
            return self.logit
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _logs(self, hits: ndarray, misses: ndarray) -> ndarray:
        """Return ``hits * log(prob) + misses * log(1 - prob)``, of which a term with the factor 0 is 0."""
        if "logit" in self._given:
            return -hits * softplus(-self.logit) - misses * softplus(self.logit)
        return xlogy(hits, self.prob) + xlogy(misses, 1 - self.prob)
