"""``mxnet.npx``: the functions of ``forerun.npx``, and those that differ in MXNet."""

from __future__ import annotations

from typing import Any

from forerun import npx as _npx
from forerun._missing import lacking as _lacking
from forerun.mxnet.device import gpu
from forerun.mxnet.operator import custom as Custom

__all__ = ["Custom", "gpu"]
__all__ += [name for name in _npx.__all__ if name not in __all__]


def __getattr__(name: str) -> Any:
    """Return any other name of ``forerun.npx``."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(_npx, name)
    except AttributeError:
        raise _lacking(f"module {__name__!r}", name, __all__, {}) from None


def __dir__() -> list[str]:
    """List the names."""
    return sorted(__all__)
