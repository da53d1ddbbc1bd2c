"""GPUs in PyTorch's words. Without any, waiting for them waits for everything submitted."""

from __future__ import annotations

from forerun import npx
from forerun._dialect.missing import module_getattr
from forerun.torch._place import DeviceLike

__all__ = ["device_count", "is_available", "manual_seed", "manual_seed_all", "synchronize"]


def device_count() -> int:
    """Return how many GPUs tensors can live on.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cuda.device_count() >= 0
    True
    """
    return npx.num_gpus()


def is_available() -> bool:
    """Say whether there is a GPU.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cuda.is_available() == (torch.cuda.device_count() > 0)
    True
    """
    return device_count() > 0


def synchronize(device: DeviceLike = None) -> None:
    """Wait until everything submitted so far is computed, on every device.

    Parameters
    ----------
    device : device, optional
        Accepted, and need not be there: all devices are waited for.

    Examples
    --------
    >>> from forerun import torch
    >>> y = torch.ones((1000,)) + 1
    >>> torch.cuda.synchronize(torch.device("cpu"))
    """
    npx.waitall()


def manual_seed(seed: int) -> None:
    """Start the random numbers anew: the same streams serve every device.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cuda.manual_seed(1)
    """
    npx.seed(seed)


manual_seed_all = manual_seed

__getattr__ = module_getattr(__name__, globals(), {"Stream": "work is ordered by what it reads and writes"})
