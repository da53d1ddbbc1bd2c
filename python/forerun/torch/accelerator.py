"""The accelerator of the machine: a GPU, if there is one."""

from __future__ import annotations

from forerun import npx
from forerun._missing import module_getattr
from forerun.torch._place import DeviceLike
from forerun.torch._place import device as _device

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Return whether there is a GPU.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.accelerator.is_available() == torch.cuda.is_available()
    True
    """
    return device_count() > 0


def device_count() -> int:
    """Return the number of GPUs.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.accelerator.device_count() >= 0
    True
    """
    return npx.num_gpus()


def current_accelerator(check_available: bool = False) -> _device | None:
    """Return the device ``"cuda"``, or None if there is no GPU.

    Examples
    --------
    >>> from forerun import torch
    >>> (torch.accelerator.current_accelerator() is None) == (torch.cuda.device_count() == 0)
    True
    """
    return _device("cuda") if is_available() else None


def synchronize(device: DeviceLike = None) -> None:
    """Wait until everything submitted so far is computed, on every device.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.accelerator.synchronize()
    """
    npx.waitall()


__getattr__ = module_getattr(__name__, globals(), {})
