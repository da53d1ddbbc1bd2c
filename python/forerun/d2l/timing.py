"""Timers and benchmarks that print how long a block took."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

__all__ = ["Benchmark", "Timer", "benchmark"]


class Timer:
    """Record several running times.

    A timer starts when it is created.

    Examples
    --------
    >>> from forerun import d2l
    >>> timer = d2l.Timer()
    >>> seconds = timer.stop()
    >>> timer.start()
    >>> timer.stop() >= 0.0
    True
    >>> len(timer.times), timer.sum() >= seconds
    (2, True)
    """

    def __init__(self) -> None:
        self.times: list[float] = []
        self.start()

    def start(self) -> None:
        """Start measuring.

        Examples
        --------
        >>> from forerun import d2l
        >>> d2l.Timer().start()
        """
        self.tik = time.perf_counter()

    def stop(self) -> float:
        """Record the time since the last start, and return it.

        Returns
        -------
        float
            Seconds.

        Examples
        --------
        >>> from forerun import d2l
        >>> d2l.Timer().stop() >= 0.0
        True
        """
        self.times.append(time.perf_counter() - self.tik)
        return self.times[-1]

    def avg(self) -> float:
        """Return the mean of the recorded times.

        Examples
        --------
        >>> from forerun import d2l
        >>> timer = d2l.Timer()
        >>> timer.times = [1.0, 2.0]
        >>> timer.avg()
        1.5
        """
        return sum(self.times) / len(self.times)

    def sum(self) -> float:
        """Return the sum of the recorded times.

        Examples
        --------
        >>> from forerun import d2l
        >>> timer = d2l.Timer()
        >>> timer.times = [1.0, 2.0]
        >>> timer.sum()
        3.0
        """
        return sum(self.times)

    def cumsum(self) -> list[float]:
        """Return the cumulative sums of the recorded times.

        Examples
        --------
        >>> from forerun import d2l
        >>> timer = d2l.Timer()
        >>> timer.times = [1.0, 2.0, 3.0]
        >>> timer.cumsum()
        [1.0, 3.0, 6.0]
        """
        total, sums = 0.0, []
        for seconds in self.times:
            total += seconds
            sums.append(total)
        return sums


class Benchmark:
    """Print how long a ``with`` block took.

    Parameters
    ----------
    description : str
        The text printed before the seconds.

    Examples
    --------
    >>> from forerun import d2l
    >>> with d2l.Benchmark("sleep"):  # doctest: +ELLIPSIS
    ...     pass
    sleep: 0.0... sec
    """

    def __init__(self, description: str = "Done") -> None:
        self.description = description

    def __enter__(self) -> Benchmark:
        """Start measuring."""
        self.timer = Timer()
        return self

    def __exit__(self, *exception: object) -> None:
        """Print the time, even if the block raised."""
        print(f"{self.description}: {self.timer.stop():.4f} sec")


@contextlib.contextmanager
def benchmark(fmt: str = "Done in %.4f sec") -> Iterator[Timer]:
    """Print how long a ``with`` block took, in a custom format.

    Parameters
    ----------
    fmt : str
        A ``%``-format with one field, for the seconds.

    Examples
    --------
    >>> from forerun import d2l
    >>> with d2l.benchmark("numpy   : %.4f sec"):  # doctest: +ELLIPSIS
    ...     pass
    numpy   : 0.0... sec
    """
    timer = Timer()
    try:
        yield timer
    finally:
        print(fmt % timer.stop())
