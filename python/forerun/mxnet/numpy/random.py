"""``mxnet.np.random``: ``forerun.np.random``, and functions that take more arguments in MXNet."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from forerun._forerun import ndarray
from forerun._missing import lacking as _lacking
from forerun.np import random as _random

__all__ = [name for name in dir(_random) if not name.startswith("_")]


def rand(*size: int, dtype: Any = None, **named: Any) -> ndarray:
    """Draw uniform numbers from 0 up to, excluding, 1.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.random.rand(2, dtype="float64").dtype
    dtype('float64')
    """
    return _random.uniform(0.0, 1.0, size or None, dtype, **named)


def randn(*size: int, dtype: Any = None, **named: Any) -> ndarray:
    """Draw standard normal numbers.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.random.randn(2, 3).shape
    (2, 3)
    """
    return _random.normal(0.0, 1.0, size or None, dtype, **named)


def _with_out(function: Callable[..., ndarray]) -> Callable[..., ndarray]:
    """Return a sampler that also takes ``out``, and the dtype of the result where NumPy fixes it."""

    @functools.wraps(function)
    def drawn(*args: Any, out: ndarray | None = None, **named: Any) -> ndarray:
        made = function(*args, **named)
        if out is None:
            return made
        out[...] = made
        return out

    return drawn


_WITH_OUT = (
    "choice", "exponential", "gamma", "gumbel", "laplace", "logistic", "lognormal", "normal", "pareto", "power",
    "randint", "rayleigh", "uniform", "weibull",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return a name of ``forerun.np.random``."""
    if name not in __all__:
        raise _lacking(f"module {__name__!r}", name, __all__, {})
    found = getattr(_random, name)
    if name in _WITH_OUT:
        found = globals()[name] = _with_out(found)
    return found


def __dir__() -> list[str]:
    """List the names."""
    return list(__all__)
