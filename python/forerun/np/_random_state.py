"""NumPy's older generator: the functions of ``np.random`` with a stream of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from forerun.np._choosing import Generator

# The functions of ``np.random`` that draw; the class has a method for each.
_DRAWING = (
    "beta", "binomial", "chisquare", "choice", "dirichlet", "exponential", "f", "gamma", "geometric", "gumbel",
    "laplace", "logistic", "lognormal", "logseries", "multinomial", "multivariate_normal", "negative_binomial",
    "noncentral_chisquare", "noncentral_f", "normal", "pareto", "permutation", "poisson", "power", "rand", "randint",
    "randn", "random", "random_sample", "rayleigh", "shuffle", "standard_cauchy", "standard_exponential",
    "standard_gamma", "standard_normal", "standard_t", "triangular", "uniform", "wald", "weibull",
)  # fmt: skip


class RandomState(Generator):
    """Random numbers of a stream of its own, under the names that ``np.random`` has: ``rand``, ``randint`` and so on.

    The numbers are not NumPy's: a seed gives the same numbers each time, but others than there.

    Parameters
    ----------
    seed
        Where the stream starts; anywhere without one.

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
        """Start the stream anew."""
        self.__init__(seed)  # type: ignore[misc]

    def get_state(self) -> tuple[int, int]:
        """Give what :meth:`set_state` takes to go on from here."""
        return self._stream

    def set_state(self, state: tuple[int, int]) -> None:
        """Go on from where a state was taken."""
        first, second = state
        self._stream = (int(first), int(second))

    def __getattribute__(self, name: str) -> Any:
        """Give the function of ``np.random`` of a name, drawing from this stream."""
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
