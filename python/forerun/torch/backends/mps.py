"""Apple's GPUs, which are not supported."""

from forerun._missing import module_getattr as _module_getattr

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Return False: there are no devices of this kind.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.backends.mps.is_available()
    False
    """
    return False


is_built = is_available

__getattr__ = _module_getattr(__name__, globals(), {})
