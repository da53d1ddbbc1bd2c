"""The book's helpers for programs in MXNet's dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forerun.d2l.timing import Benchmark, Timer, benchmark

if TYPE_CHECKING:
    from forerun.npx import Device

__all__ = ["Benchmark", "Timer", "benchmark", "try_all_gpus", "try_gpu"]


def try_gpu(i: int = 0) -> Device:
    """Return a GPU if it exists, otherwise the CPU.

    Parameters
    ----------
    i : int
        The number of the GPU.

    Examples
    --------
    >>> from forerun import npx
    >>> from forerun.d2l import mxnet as d2l
    >>> d2l.try_gpu(1000) == npx.cpu()
    True
    """
    from forerun import npx

    return npx.gpu(i) if npx.num_gpus() >= i + 1 else npx.cpu()


def try_all_gpus() -> list[Device]:
    """Return all GPUs, or the CPU if there is none.

    Examples
    --------
    >>> from forerun import npx
    >>> from forerun.d2l import mxnet as d2l
    >>> len(d2l.try_all_gpus()) == max(npx.num_gpus(), 1)
    True
    """
    from forerun import npx

    return [npx.gpu(i) for i in range(npx.num_gpus())] or [npx.cpu()]
