"""GPUs."""

from forerun import npx as _npx
from forerun._missing import module_getattr as _module_getattr

__all__ = ["is_built"]


def is_built() -> bool:
    """Return whether there is a GPU.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.backends.cuda.is_built() == torch.cuda.is_available()
    True
    """
    return _npx.num_gpus() > 0


__getattr__ = _module_getattr(__name__, globals(), {"matmul": "use torch.set_float32_matmul_precision"})
