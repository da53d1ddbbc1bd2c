"""Polynomials as in ``numpy.polynomial``: coefficients come with the lowest power first."""

from __future__ import annotations

from forerun.np.polynomial import polynomial
from forerun.np.polynomial._series import Polynomial

__all__ = ["Polynomial", "polynomial"]


def __dir__() -> list[str]:
    return __all__
