"""NumPy's legacy generator: the functions of ``np.random`` with their own stream."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from forerun.np._choosing import Generator

__all__ = ["RandomState"]

# The functions of ``np.random`` that draw; the class has a method for each.
_DRAWING = (
    "beta", "binomial", "chisquare", "choice", "dirichlet", "exponential", "f", "gamma", "geometric", "gumbel",
    "laplace", "logistic", "lognormal", "logseries", "multinomial", "multivariate_normal", "negative_binomial",
    "noncentral_chisquare", "noncentral_f", "normal", "pareto", "permutation", "poisson", "power", "rand", "randint",
    "randn", "random", "random_sample", "rayleigh", "shuffle", "standard_cauchy", "standard_exponential",
    "standard_gamma", "standard_normal", "standard_t", "triangular", "uniform", "wald", "weibull",
)  # fmt: skip


class RandomState(Generator):
    """A generator with its own stream and the functions of ``np.random``: ``rand``, ``randint`` and so on.

    A seed gives the same numbers on every run, but not NumPy's numbers.

    Parameters
    ----------
    seed
        The seed of the stream; arbitrary if not given.

    Examples
    --------
    >>> from forerun import np
    >>> a, b = np.random.RandomState(7), np.random.RandomState(7)
    >>> np.array_equal(a.rand(3), b.rand(3))
    True
    >>> a.randint(10, size=4).shape
    (4,)
    """

    def seed(self, seed: int | None = None) -> None:
        """Seed the stream."""
        self.__init__(seed)  # type: ignore[misc]

    def get_state(self) -> tuple[int, int]:
        """Return the state for :meth:`set_state`."""
        return self._stream

    def set_state(self, state: tuple[int, int]) -> None:
        """Continue from a saved state."""
        first, second = state
        self._stream = (int(first), int(second))

    def __getattribute__(self, name: str) -> Any:
        """Return a function of ``np.random`` that draws from this stream."""
        if name not in _DRAWING:
            return super().__getattribute__(name)
        from forerun.np import random

        drawn: Callable[..., Any] = getattr(random, name)

        @functools.wraps(drawn)
        def call(*args: Any, **options: Any) -> Any:
            with self._drawing():
                return drawn(*args, **options)

        return call

    def __dir__(self) -> list[str]:
        """List the methods."""
        return sorted({*super().__dir__(), *_DRAWING})
