"""Constraints on parameters and samples of distributions.

``check`` returns the value. It does not wait: reading what is computed from a checked value raises ``ValueError`` if
the value violates the constraint.

Examples
--------
>>> from forerun import np
>>> from forerun.gluon.probability import constraint
>>> constraint.Positive().check(np.array([1.0, 2.0]))
array([1., 2.])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forerun import np
from forerun._constraints import constraint_check
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._types import ArrayLike

__all__ = [
    "Boolean",
    "Cat",
    "Constraint",
    "GreaterThan",
    "GreaterThanEq",
    "HalfOpenInterval",
    "IntegerGreaterThan",
    "IntegerGreaterThanEq",
    "IntegerHalfOpenInterval",
    "IntegerInterval",
    "IntegerLessThan",
    "IntegerLessThanEq",
    "IntegerOpenInterval",
    "Interval",
    "LessThan",
    "LessThanEq",
    "LowerCholesky",
    "LowerTriangular",
    "NonNegative",
    "NonNegativeInteger",
    "OpenInterval",
    "Positive",
    "PositiveDefinite",
    "PositiveInteger",
    "Real",
    "Simplex",
    "Stack",
    "UnitInterval",
]

# The tolerance of sums of probabilities and of the symmetry of matrices, in float32.
_NEAR = 1e-5


class Constraint:
    """The base class: a subclass defines ``_holds`` and ``_text``."""

    _text = ""

    def _holds(self, value: ndarray) -> ndarray:
        raise NotImplementedError(f"{type(self).__name__}: a constraint must define _holds")

    def _describe(self) -> str:
        return self._text

    def check(self, value: ArrayLike) -> ndarray:
        """Return the value; reading it raises ``ValueError`` if it violates the constraint."""
        x = to_array(value)
        return x * constraint_check(self._holds(x), f"constraint violated: a value should be {self._describe()}")


class Real(Constraint):
    """Numbers that are not NaN."""

    _text = "a real number"

    def _holds(self, value: ndarray) -> ndarray:
        return value == value


class Boolean(Constraint):
    """0 or 1."""

    _text = "0 or 1"

    def _holds(self, value: ndarray) -> ndarray:
        return (value == 0) | (value == 1)


class _Bounded(Constraint):
    """Numbers between bounds; a bound may be a number, an array or absent."""

    _open_below = _open_above = _integer = False
    _lower_bound: Any = None
    _upper_bound: Any = None

    def _holds(self, value: ndarray) -> ndarray:
        found = value % 1 == 0 if self._integer else None
        low, high = self._lower_bound, self._upper_bound
        if low is not None:
            above = value > low if self._open_below else value >= low
            found = above if found is None else found & above
        if high is not None:
            below = value < high if self._open_above else value <= high
            found = below if found is None else found & below
        assert found is not None
        return found

    def _describe(self) -> str:
        parts = ["an integer"] if self._integer else []
        # An array would have to be read.
        for bound, sign in (
            (self._lower_bound, ">" if self._open_below else ">="),
            (self._upper_bound, "<" if self._open_above else "<="),
        ):
            if bound is not None:
                parts.append(f"{sign} {'its bound' if isinstance(bound, ndarray) else bound}")
        return " and ".join(parts)


class Interval(_Bounded):
    """Numbers from a lower to an upper bound, which are included."""

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self._lower_bound = lower_bound
        self._upper_bound = upper_bound


class OpenInterval(Interval):
    """Numbers between two bounds, which are excluded."""

    _open_below = _open_above = True


class HalfOpenInterval(Interval):
    """Numbers from a lower bound, which is included, to an upper bound, which is excluded."""

    _open_above = True


class IntegerInterval(Interval):
    """Integers from a lower to an upper bound, which are included."""

    _integer = True


class IntegerOpenInterval(OpenInterval):
    """Integers between two bounds, which are excluded."""

    _integer = True


class IntegerHalfOpenInterval(HalfOpenInterval):
    """Integers from a lower bound, which is included, to an upper bound, which is excluded."""

    _integer = True


class UnitInterval(Interval):
    """Numbers from 0 to 1."""

    def __init__(self) -> None:
        super().__init__(0, 1)


class GreaterThanEq(_Bounded):
    """Numbers from a lower bound on."""

    def __init__(self, lower_bound: Any) -> None:
        self._lower_bound = lower_bound


class GreaterThan(GreaterThanEq):
    """Numbers above a lower bound."""

    _open_below = True


class IntegerGreaterThan(GreaterThan):
    """Integers above a lower bound."""

    _integer = True


class IntegerGreaterThanEq(GreaterThanEq):
    """Integers from a lower bound on."""

    _integer = True


class LessThanEq(_Bounded):
    """Numbers up to an upper bound."""

    def __init__(self, upper_bound: Any) -> None:
        self._upper_bound = upper_bound


class LessThan(LessThanEq):
    """Numbers below an upper bound."""

    _open_above = True


class IntegerLessThan(LessThan):
    """Integers below an upper bound."""

    _integer = True


class IntegerLessThanEq(LessThanEq):
    """Integers up to an upper bound."""

    _integer = True


class Positive(GreaterThan):
    """Numbers above 0."""

    def __init__(self) -> None:
        super().__init__(0)


class NonNegative(GreaterThanEq):
    """Numbers from 0 on."""

    def __init__(self) -> None:
        super().__init__(0)


class PositiveInteger(IntegerGreaterThan):
    """Integers above 0."""

    def __init__(self) -> None:
        super().__init__(0)


class NonNegativeInteger(IntegerGreaterThanEq):
    """Integers from 0 on."""

    def __init__(self) -> None:
        super().__init__(0)


class Simplex(Constraint):
    """Vectors, along the last axis, of non-negative numbers that sum to 1."""

    _text = ">= 0, and sum to 1 along the last axis"

    def _holds(self, value: ndarray) -> ndarray:
        return (value >= 0).all(axis=-1) & (np.abs(value.sum(axis=-1) - 1) < _NEAR)


class LowerTriangular(Constraint):
    """Lower triangular matrices."""

    _text = "a lower triangular matrix"

    def _holds(self, value: ndarray) -> ndarray:
        return np.tril(value) == value


class LowerCholesky(LowerTriangular):
    """Lower triangular matrices with a positive diagonal."""

    _text = "a lower triangular matrix with a positive diagonal"

    def _holds(self, value: ndarray) -> ndarray:
        return super()._holds(value).all() & (np.diagonal(value, axis1=-2, axis2=-1) > 0)


class PositiveDefinite(Constraint):
    """Symmetric matrices with positive eigenvalues."""

    _text = "a positive definite matrix"

    def _holds(self, value: ndarray) -> ndarray:
        largest = np.maximum(np.abs(value).max(), 1.0)
        symmetric = np.abs(value - value.mT) < _NEAR * largest
        return symmetric.all() & (np.linalg.eigvalsh(value) > 0)


class _Several(Constraint):
    """Constraints on the parts of an array along an axis."""

    def __init__(self, constraint_seq: Sequence[Constraint], axis: int = 0) -> None:
        if not all(isinstance(part, Constraint) for part in constraint_seq):
            raise AssertionError(f"{type(self).__name__}: constraints are needed, not {constraint_seq!r}")
        self._constraint_seq = list(constraint_seq)
        self._axis = axis


class Cat(_Several):
    """Constraints on consecutive parts of an array.

    Parameters
    ----------
    constraint_seq
        The constraints.
    axis
        The axis that is divided.
    lengths
        The extents of the parts; 1 by default.
    """

    def __init__(
        self, constraint_seq: Sequence[Constraint], axis: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        super().__init__(constraint_seq, axis)
        self._lengths = [1] * len(self._constraint_seq) if lengths is None else list(lengths)
        if len(self._lengths) != len(self._constraint_seq):
            raise AssertionError(f"Cat: {len(self._lengths)} lengths for {len(self._constraint_seq)} constraints")

    def check(self, value: ArrayLike) -> ndarray:
        """Return the value; reading it raises ``ValueError`` if a part violates its constraint."""
        ends = [sum(self._lengths[: i + 1]) for i in range(len(self._lengths))]
        parts = np.split(to_array(value), ends, axis=self._axis)[: len(ends)]
        checked = [each.check(part) for each, part in zip(self._constraint_seq, parts, strict=True)]
        return np.concatenate(checked, axis=self._axis)


class Stack(_Several):
    """Constraints on the elements of an array along an axis, one each."""

    def check(self, value: ArrayLike) -> ndarray:
        """Return the value; reading it raises ``ValueError`` if an element violates its constraint."""
        x = np.moveaxis(to_array(value), self._axis, 0)
        checked = [each.check(x[i]) for i, each in enumerate(self._constraint_seq)]
        return np.stack(checked, axis=self._axis)
