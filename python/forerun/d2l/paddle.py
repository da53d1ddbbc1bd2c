"""The book's helpers for programs in Paddle's dialect."""

from __future__ import annotations

from forerun import paddle
from forerun._missing import module_getattr
from forerun.d2l.timing import Benchmark, Timer, benchmark

__all__ = ["Benchmark", "Timer", "benchmark", "try_all_gpus", "try_gpu"]


def try_gpu(i: int = 0) -> paddle.CPUPlace | paddle.CUDAPlace:
    """Return a GPU if it exists, otherwise the CPU.

    Parameters
    ----------
    i : int
        The number of the GPU.

    Examples
    --------
    >>> from forerun.d2l import paddle as d2l
    >>> d2l.try_gpu(1000)
    Place(cpu)
    """
    return paddle.CUDAPlace(i) if paddle.device.cuda.device_count() >= i + 1 else paddle.CPUPlace()


def try_all_gpus() -> list[paddle.CPUPlace | paddle.CUDAPlace]:
    """Return all GPUs, or the CPU if there is none.

    Examples
    --------
    >>> from forerun import paddle
    >>> from forerun.d2l import paddle as d2l
    >>> len(d2l.try_all_gpus()) == max(paddle.device.cuda.device_count(), 1)
    True
    """
    places: list[paddle.CPUPlace | paddle.CUDAPlace] = []
    places += [paddle.CUDAPlace(i) for i in range(paddle.device.cuda.device_count())]
    return places or [paddle.CPUPlace()]


__getattr__ = module_getattr(__name__, globals(), {})
