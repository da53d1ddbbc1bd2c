"""Operators of ``mxnet.np`` that MXNet calls by name."""

from __future__ import annotations

from typing import Any

from forerun._convert import to_array
from forerun._forerun import ndarray

__all__ = ["boolean_mask_assign_scalar", "boolean_mask_assign_tensor"]


def boolean_mask_assign_scalar(
    data: ndarray, mask: Any, value: Any, start_axis: int = 0, out: ndarray | None = None
) -> ndarray:
    """Write a number where a mask of the dimensions from ``start_axis`` on is true."""
    made = data if out is data else data.copy()
    made[(slice(None),) * start_axis + (to_array(mask).astype("bool"),)] = value
    if out is not None and out is not data:
        out[...] = made
        return out
    return made


boolean_mask_assign_tensor = boolean_mask_assign_scalar
