"""Settings of cuDNN, which is not used: they have no effect. Results are always reproducible."""

from forerun._missing import module_getattr as _module_getattr

__all__ = ["benchmark", "deterministic", "enabled", "is_available"]

benchmark = False
deterministic = True
enabled = False


def is_available() -> bool:
    """Return False: cuDNN is not used.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.backends.cudnn.is_available()
    False
    """
    return False


__getattr__ = _module_getattr(__name__, globals(), {"version": "cuDNN is not used"})
