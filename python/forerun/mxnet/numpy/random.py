"""``mxnet.np.random``: ``forerun.np.random``, whose functions take a ``ctx`` or a ``device`` here."""

from __future__ import annotations

from typing import Any

from forerun.mxnet._place import placed as _placed
from forerun.np import random as _random

normal = _placed(_random.normal)
uniform = _placed(_random.uniform)
randn = _placed(_random.randn)
rand = _placed(_random.rand)
randint = _placed(_random.randint)
seed = _random.seed


def __getattr__(name: str) -> Any:
    """Give anything else ``forerun.np.random`` has."""
    return getattr(_random, name)
