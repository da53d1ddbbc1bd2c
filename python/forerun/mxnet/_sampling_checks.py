"""Statistical checks of samplers, for ``mxnet.test_utils``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["chi_square_check", "gen_buckets_probs_with_ppf", "mean_check", "var_check", "verify_generator"]

_Generator = Callable[[int], Any]


def _samples(generator: _Generator, count: int) -> Any:
    drawn = generator(count)
    return np.ravel(drawn.asnumpy() if hasattr(drawn, "asnumpy") else np.asarray(drawn))


def gen_buckets_probs_with_ppf(
    ppf: Callable[[float], Any], nbuckets: int
) -> tuple[list[tuple[Any, Any]], list[float]]:
    """Return intervals of equal probability, from the inverse of the distribution function, and the probabilities."""
    if nbuckets <= 0:
        raise ValueError(f"gen_buckets_probs_with_ppf: nbuckets must be positive, got {nbuckets}")
    edges = [ppf(i / nbuckets) for i in range(nbuckets + 1)]
    return list(zip(edges[:-1], edges[1:], strict=True)), [1 / nbuckets] * nbuckets


def mean_check(generator: _Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Return whether the mean of samples is within three standard errors of the expected one."""
    return bool(abs(_samples(generator, nsamples).mean() - mu) < 3 * sigma / np.sqrt(nsamples))


def var_check(generator: _Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Return whether the variance of samples is within three standard errors of the expected one."""
    margin = 3 * np.sqrt(2 * sigma**4 / (nsamples - 1))
    return bool(abs(_samples(generator, nsamples).var(ddof=1) - sigma**2) < margin)


def chi_square_check(
    generator: _Generator, buckets: Sequence[Any], probs: Sequence[float], nsamples: int = 1000000
) -> tuple[float, Any, Any]:
    """Compare the frequencies of samples with probabilities by a chi-square test.

    Parameters
    ----------
    generator
        A function that draws the given number of samples.
    buckets
        Intervals, or values of a discrete distribution.
    probs
        The probability of each.
    nsamples
        How many samples to draw.

    Returns
    -------
    tuple
        The p-value, the observed and the expected frequencies.
    """
    from scipy.stats import chi2

    if len(buckets) != len(probs):
        raise ValueError(f"chi_square_check: {len(buckets)} buckets have {len(probs)} probabilities")
    drawn = _samples(generator, nsamples)
    if isinstance(buckets[0], (list, tuple)):
        # Samples outside of all intervals are counted in none.
        edges = np.array(buckets, dtype="float64").ravel()
        places = np.searchsorted(edges, drawn, side="right")
        found = np.array([(places == 2 * i + 1).sum() for i in range(len(buckets))])
    else:
        found = np.array([(drawn == value).sum() for value in buckets])
    expected = (nsamples * np.asarray(probs, dtype="float64")).astype("int64")
    statistic = ((found - expected) ** 2 / np.maximum(expected, 1)).sum()
    return float(chi2.sf(statistic, len(buckets) - 1)), found, expected


def verify_generator(
    generator: _Generator,
    buckets: Sequence[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Repeat the chi-square test and raise ``AssertionError`` unless a share of the repetitions passes.

    Parameters
    ----------
    generator, buckets, probs, nsamples
        As for :func:`chi_square_check`.
    nrepeat
        How often to repeat it.
    success_rate
        The share that must pass.
    alpha
        The p-value from which a repetition passes.
    """
    tests = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    chances = [chance for chance, _, _ in tests]
    if sum(chance > alpha for chance in chances) < nrepeat * success_rate:
        found = [list(map(int, frequencies)) for _, frequencies, _ in tests]
        raise AssertionError(
            f"the samples do not follow the distribution: p-values {chances}, frequencies {found}, "
            f"expected {list(map(int, tests[0][2]))}"
        )
    return chances
