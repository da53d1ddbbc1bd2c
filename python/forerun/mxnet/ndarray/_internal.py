"""The base class of arrays, for ``isinstance``."""

from __future__ import annotations

from forerun._forerun import ndarray

__all__ = ["NDArrayBase"]

NDArrayBase = ndarray
