"""The book's helpers for programs in PyTorch's dialect."""

from __future__ import annotations

from forerun import torch
from forerun._missing import module_getattr
from forerun.d2l.timing import Benchmark, Timer, benchmark

__all__ = ["Benchmark", "Timer", "benchmark", "try_all_gpus", "try_gpu"]


def try_gpu(i: int = 0) -> torch.device:
    """Return a GPU if it exists, otherwise the CPU.

    Parameters
    ----------
    i : int
        The number of the GPU.

    Examples
    --------
    >>> from forerun.d2l import torch as d2l
    >>> d2l.try_gpu(1000)
    device(type='cpu')
    """
    return torch.device(f"cuda:{i}") if torch.cuda.device_count() >= i + 1 else torch.device("cpu")


def try_all_gpus() -> list[torch.device]:
    """Return all GPUs, or the CPU if there is none.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.d2l import torch as d2l
    >>> len(d2l.try_all_gpus()) == max(torch.cuda.device_count(), 1)
    True
    """
    return [torch.device(f"cuda:{i}") for i in range(torch.cuda.device_count())] or [torch.device("cpu")]


__getattr__ = module_getattr(__name__, globals(), {})
