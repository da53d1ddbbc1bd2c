"""Datasets and batches."""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch.utils import data

__all__ = ["data"]

__getattr__ = _module_getattr(__name__, globals(), {})
