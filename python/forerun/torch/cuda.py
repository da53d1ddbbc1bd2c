"""GPUs with PyTorch's names. Without a GPU, ``synchronize`` waits for everything submitted."""

from __future__ import annotations

from forerun import npx
from forerun._missing import module_getattr
from forerun.torch._place import CHOSEN, DeviceLike
from forerun.torch._place import device as _place
from forerun.torch._place import to_device as _to_device

__all__ = [
    "current_device",
    "device",
    "device_count",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "set_device",
    "synchronize",
]


def device_count() -> int:
    """Return the number of GPUs.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cuda.device_count() >= 0
    True
    """
    return npx.num_gpus()


def is_available() -> bool:
    """Return whether there is a GPU.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cuda.is_available() == (torch.cuda.device_count() > 0)
    True
    """
    return device_count() > 0


def current_device() -> int:
    """Return the number of the GPU that ``"cuda"`` means on this thread.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cuda.current_device()
    0
    """
    return CHOSEN.gpu


def set_device(device: DeviceLike) -> None:
    """Set which GPU ``"cuda"`` means on this thread. New tensors are still created on the CPU by default.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cuda.set_device(100)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: no device gpu(100): ...
    """
    place = _to_device(device)
    if place.device_type != "gpu":
        raise ValueError(f"set_device: {device} is not a GPU")
    CHOSEN.gpu = place.device_id


class device:
    """A ``with`` block inside which ``"cuda"`` means one GPU.

    Examples
    --------
    >>> from forerun import torch
    >>> with torch.cuda.device(100):  # doctest: +ELLIPSIS
    ...     pass
    Traceback (most recent call last):
        ...
    RuntimeError: no device gpu(100): ...
    """

    def __init__(self, device: _place | str | int) -> None:
        self._device = device
        self._before: list[int] = []

    def __enter__(self) -> None:
        """Select the GPU."""
        before = CHOSEN.gpu
        set_device(self._device)
        self._before.append(before)

    def __exit__(self, *exception: object) -> None:
        """Restore the previous one."""
        CHOSEN.gpu = self._before.pop()


def synchronize(device: DeviceLike = None) -> None:
    """Wait until everything submitted so far is computed, on every device.

    Parameters
    ----------
    device : device, optional
        Accepted and ignored: all devices are waited for.

    Examples
    --------
    >>> from forerun import torch
    >>> y = torch.ones((1000,)) + 1
    >>> torch.cuda.synchronize(torch.device("cpu"))
    """
    npx.waitall()


def manual_seed(seed: int) -> None:
    """Seed the random numbers: the same streams serve every device.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cuda.manual_seed(1)
    """
    npx.seed(seed)


manual_seed_all = manual_seed

# So that an import of ``torch.cuda.amp`` is answered like that of a missing name.
__path__: list[str] = []
__getattr__ = module_getattr(
    __name__,
    globals(),
    {
        "Event": "use forerun.trace()",
        "Stream": "work is ordered by what it reads and writes",
        "CUDAGraph": "repeating work is submitted as graphs by itself",
        "amp": "convert with tensor.half() or tensor.bfloat16(); nothing is cast automatically",
        "current_stream": "work is ordered by what it reads and writes",
        "graph": "repeating work is submitted as graphs by itself",
        "nvtx": "use forerun.trace()",
        "stream": "work is ordered by what it reads and writes",
    },
)
