"""``mxnet.ndarray.ndarray``: the array class under its older name."""

from __future__ import annotations

import builtins

from forerun._forerun import ndarray as NDArray
from forerun.mxnet.ndarray._creation import arange, array, empty, full, ones, zeros
from forerun.npx import waitall

__all__ = ["NDArray", "arange", "array", "empty", "full", "ones", "py_slice", "waitall", "zeros"]

py_slice = builtins.slice
# All storage is dense.
_STORAGE_TYPE_STR_TO_ID = {"default": 0}
