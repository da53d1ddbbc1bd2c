"""Functions from ``numpy.lib``."""

from __future__ import annotations

from forerun.np.lib import stride_tricks

__all__ = ["stride_tricks"]


def __dir__() -> list[str]:
    return __all__
