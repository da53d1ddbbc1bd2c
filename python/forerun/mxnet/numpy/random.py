"""``mxnet.np.random``: ``forerun.np.random``."""

from __future__ import annotations

from typing import Any

from forerun._missing import lacking as _lacking
from forerun.np import random as _random

__all__ = [name for name in dir(_random) if not name.startswith("_")]


def __getattr__(name: str) -> Any:
    """Return a name of ``forerun.np.random``."""
    if name in __all__:
        return getattr(_random, name)
    raise _lacking(f"module {__name__!r}", name, __all__, {})


def __dir__() -> list[str]:
    """List the names."""
    return list(__all__)
