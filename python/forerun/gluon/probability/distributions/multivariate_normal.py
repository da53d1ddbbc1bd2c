"""The normal distribution of vectors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from forerun import np
from forerun._forerun import ndarray
from forerun._types import ArrayLike
from forerun.gluon.probability.constraint import LowerCholesky, PositiveDefinite, Real
from forerun.gluon.probability.distributions.distribution import Constraints, Distribution

__all__ = ["MultivariateNormal"]


class MultivariateNormal(Distribution):
    """The normal distribution of vectors.

    Parameters
    ----------
    loc
        The mean, along the last axis.
    cov, precision, scale_tril
        The covariance matrix, its inverse, or its lower triangular factor; one of the three.
    validate_args
        Whether to check parameters and values.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import probability
    >>> probability.MultivariateNormal(np.zeros(2), cov=np.eye(2)).log_prob(np.zeros(2))
    array(-1.837877)
    """

    has_grad = True
    support = Real()
    arg_constraints: ClassVar[Constraints] = {
        "loc": Real(),
        "cov": PositiveDefinite(),
        "precision": PositiveDefinite(),
        "scale_tril": LowerCholesky(),
    }
    _parameter_dims: ClassVar[Mapping[str, int]] = {"loc": 1, "cov": 2, "precision": 2, "scale_tril": 2}
    loc: ndarray

    def __init__(
        self,
        loc: Any,
        cov: Any = None,
        precision: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if sum(each is not None for each in (cov, precision, scale_tril)) != 1:
            raise ValueError("MultivariateNormal: exactly one of cov, precision and scale_tril is needed")
        super().__init__(1, validate_args, loc=loc, cov=cov, precision=precision, scale_tril=scale_tril)

    @cached_property
    def scale_tril(self) -> ndarray:
        """The lower triangular factor of the covariance matrix."""
        if "cov" in self._given:
            return np.linalg.cholesky(self.cov)
        # The precision is U U^T with an upper triangular U, so the factor is the transposed inverse of U.
        upper = np.flip(np.linalg.cholesky(np.flip(self.precision, (-2, -1))), (-2, -1))
        return np.linalg.inv(upper).mT

    @cached_property
    def cov(self) -> ndarray:
        """The covariance matrix."""
        return np.matmul(self.scale_tril, self.scale_tril.mT)

    @cached_property
    def precision(self) -> ndarray:
        """The inverse of the covariance matrix."""
        inverse = np.linalg.inv(self.scale_tril)
        return np.matmul(inverse.mT, inverse)

    def _log_volume(self) -> ndarray:
        """Return the logarithm of the determinant of the factor."""
        return np.log(np.diagonal(self.scale_tril, axis1=-2, axis2=-1)).sum(axis=-1)

    def log_prob(self, value: ArrayLike) -> ndarray:
        """Return the logarithm of the density."""
        apart = np.expand_dims(self._checked(value) - self.loc, -1)
        if "precision" in self._given:
            square = (apart * np.matmul(self.precision, apart)).sum(axis=(-2, -1))
        else:
            square = np.square(np.matmul(np.linalg.inv(self.scale_tril), apart)).sum(axis=(-2, -1))
        size = self.loc.shape[-1]
        return -0.5 * square - self._log_volume() - 0.5 * size * math.log(2 * math.pi)

    def _draw(self, shape: tuple[int, ...]) -> ndarray:
        noise = self._noise((*shape, self.loc.shape[-1], 1)).normal()
        return self.loc + np.matmul(self.scale_tril, noise)[..., 0]

    @property
    def mean(self) -> ndarray:
        """The mean."""
        return self.loc

    @property
    def variance(self) -> ndarray:
        """The variance of each component."""
        return np.square(self.scale_tril).sum(axis=-1)

    def entropy(self) -> ndarray:
        """Return the entropy."""
        return self._log_volume() + 0.5 * self.loc.shape[-1] * math.log(2 * math.pi * math.e)
