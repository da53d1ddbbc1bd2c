"""Transformations of samples, and the transformations that map numbers to a constraint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import np, npx
from forerun._forerun import ndarray
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.probability._numeric import clip_prob, softplus, sum_last
from forerun.gluon.probability.constraint import (
    Constraint,
    GreaterThan,
    GreaterThanEq,
    HalfOpenInterval,
    Interval,
    LessThan,
    LessThanEq,
    NonNegative,
    OpenInterval,
    Positive,
    Real,
    Simplex,
    UnitInterval,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ComposeTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "TransformBlock",
    "Transformation",
    "biject_to",
    "domain_map",
    "transform_to",
]


class Transformation:
    """The base class: a subclass defines ``_forward_compute``, ``_inverse_compute`` and ``log_det_jacobian``."""

    bijective: bool = False
    event_dim: int = 0

    @property
    def sign(self) -> Any:
        """1 if the transformation preserves the order, and -1 if it reverses it."""
        raise NotImplementedError(f"{type(self).__name__}: the sign is not defined")

    @property
    def inv(self) -> Transformation:
        """The inverse transformation."""
        return _Inverse(self)

    def __call__(self, x: Any) -> Any:
        """Transform."""
        return self._forward_compute(x)

    def _forward_compute(self, x: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: the transformation is not defined")

    def _inverse_compute(self, y: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: the inverse is not defined")

    def log_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the logarithm of the determinant of the derivative at ``x``, which is mapped to ``y``."""
        raise NotImplementedError(f"{type(self).__name__}: the derivative is not defined")


class _Inverse(Transformation):
    """The inverse of a transformation."""

    def __init__(self, forward: Transformation) -> None:
        self._forward = forward
        self.bijective = forward.bijective
        self.event_dim = forward.event_dim

    @property
    def sign(self) -> Any:
        return self._forward.sign

    @property
    def inv(self) -> Transformation:
        return self._forward

    def _forward_compute(self, x: Any) -> Any:
        return self._forward._inverse_compute(x)

    def _inverse_compute(self, y: Any) -> Any:
        return self._forward._forward_compute(y)

    def log_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._forward.log_det_jacobian(y, x)


class TransformBlock(HybridBlock, Transformation):
    """A transformation that is a block, and may have parameters."""

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Transform."""
        return HybridBlock.__call__(self, *inputs, **named)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Transform."""
        return self._forward_compute(*inputs)


class ComposeTransform(Transformation):
    """Several transformations in order.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.probability import AffineTransform, ComposeTransform, ExpTransform
    >>> ComposeTransform([AffineTransform(1.0, 2.0), ExpTransform()])(np.array(-0.5))
    array(1.)
    """

    def __init__(self, parts: Sequence[Transformation]) -> None:
        self._parts = list(parts)
        self.bijective = all(part.bijective for part in self._parts)
        self.event_dim = max((part.event_dim for part in self._parts), default=0)

    @property
    def sign(self) -> Any:
        """The product of the signs."""
        sign: Any = 1
        for part in self._parts:
            sign = sign * part.sign
        return sign

    def _forward_compute(self, x: Any) -> Any:
        for part in self._parts:
            x = part(x)
        return x

    def _inverse_compute(self, y: Any) -> Any:
        for part in reversed(self._parts):
            y = part.inv(y)
        return y

    def log_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the sum of those of the parts."""
        total = np.zeros_like(x) if not self._parts else 0.0
        for i, part in enumerate(self._parts):
            through = y if i == len(self._parts) - 1 else part(x)
            total = total + sum_last(part.log_det_jacobian(x, through), self.event_dim - part.event_dim)
            x = through
        return total


class ExpTransform(Transformation):
    """``y = exp(x)``."""

    bijective = True
    sign = 1

    def _forward_compute(self, x: Any) -> Any:
        return np.exp(x)

    def _inverse_compute(self, y: Any) -> Any:
        return np.log(y)

    def log_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return ``x``."""
        return x


class AffineTransform(Transformation):
    """``y = loc + scale * x``.

    Parameters
    ----------
    loc, scale
        Numbers or arrays.
    event_dim
        The number of dimensions of one sample.
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0) -> None:
        self._loc = loc
        self._scale = scale
        self.event_dim = event_dim

    @property
    def sign(self) -> Any:
        """The sign of the scale."""
        return np.sign(self._scale) if isinstance(self._scale, ndarray) else (self._scale > 0) - (self._scale < 0)

    def _forward_compute(self, x: Any) -> Any:
        return self._loc + self._scale * x

    def _inverse_compute(self, y: Any) -> Any:
        return (y - self._loc) / self._scale

    def log_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the logarithm of the absolute value of the scale."""
        return sum_last(np.ones_like(x) * np.log(np.abs(self._scale)), self.event_dim)


class PowerTransform(Transformation):
    """``y = x ** exponent``, for positive ``x``."""

    bijective = True
    sign = 1

    def __init__(self, exponent: Any) -> None:
        self._exponent = exponent

    def _forward_compute(self, x: Any) -> Any:
        return np.power(x, self._exponent)

    def _inverse_compute(self, y: Any) -> Any:
        return np.power(y, 1 / self._exponent)

    def log_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return ``log(abs(exponent * y / x))``."""
        return np.log(np.abs(self._exponent * y / x))


class SigmoidTransform(Transformation):
    """``y = 1 / (1 + exp(-x))``, kept away from 0 and 1 by the precision of the dtype."""

    bijective = True
    sign = 1

    def _forward_compute(self, x: Any) -> Any:
        return clip_prob(npx.sigmoid(x))

    def _inverse_compute(self, y: Any) -> Any:
        y = clip_prob(y)
        return np.log(y) - np.log1p(-y)

    def log_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return ``log(y * (1 - y))``."""
        return -softplus(-x) - softplus(x)


class SoftmaxTransform(Transformation):
    """The softmax along the last axis; its inverse is the logarithm."""

    event_dim = 1

    def _forward_compute(self, x: Any) -> Any:
        return npx.softmax(x, -1)

    def _inverse_compute(self, y: Any) -> Any:
        return np.log(y)


class AbsTransform(Transformation):
    """The absolute value; its inverse is the identity."""

    def _forward_compute(self, x: Any) -> Any:
        return np.abs(x)

    def _inverse_compute(self, y: Any) -> Any:
        return y


_Factory = Callable[[Any], Transformation]


class domain_map:
    """A registry of the transformations that map numbers to constraints.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.probability import constraint, transform_to
    >>> transform_to(constraint.Positive())(np.array([0.0]))
    array([1.])
    """

    def __init__(self) -> None:
        self._storage: dict[type[Constraint], _Factory] = {}

    def register(self, constraint: Any, factory: _Factory | None = None) -> Any:
        """Register a function from a constraint to a transformation; without one, return a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, Constraint):
            raise TypeError(f"register: a constraint or its class is needed, not {constraint!r}")
        self._storage[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transformation:
        """Return the transformation of a constraint."""
        factory = self._storage.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"no transformation maps numbers to {type(constraint).__name__}")
        return factory(constraint)


biject_to = domain_map()
transform_to = domain_map()


def _to_interval(constraint: Any) -> Transformation:
    low, high = constraint._lower_bound, constraint._upper_bound
    if not isinstance(low, ndarray) and not isinstance(high, ndarray) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


_kind: type[Constraint]
for _map in (biject_to, transform_to):
    _map.register(Real, lambda _: ComposeTransform([]))
    for _kind in (Positive, NonNegative):
        _map.register(_kind, lambda _: ExpTransform())
    for _kind in (GreaterThan, GreaterThanEq):
        _map.register(_kind, lambda c: ComposeTransform([ExpTransform(), AffineTransform(c._lower_bound, 1)]))
    for _kind in (LessThan, LessThanEq):
        _map.register(_kind, lambda c: ComposeTransform([ExpTransform(), AffineTransform(c._upper_bound, -1)]))
    for _kind in (Interval, HalfOpenInterval, OpenInterval, UnitInterval):
        _map.register(_kind, _to_interval)
transform_to.register(Simplex, lambda _: SoftmaxTransform())
