"""What NumPy keeps in ``numpy.lib`` and programs use from there."""

from __future__ import annotations

from forerun.np.lib import stride_tricks

__all__ = ["stride_tricks"]


def __dir__() -> list[str]:
    return __all__
