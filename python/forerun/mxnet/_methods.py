"""Methods of arrays that only MXNet has."""

from __future__ import annotations

from typing import Any

from forerun import npx
from forerun._forerun import ndarray

__all__: list[str] = []


def _itself(self: ndarray) -> ndarray:
    """Return the array: there is one kind of array."""
    return self


def _slice_assign(self: ndarray, rhs: Any, begin: Any, end: Any, step: Any) -> ndarray:
    """Write an array into a region."""
    self[tuple(slice(*part) for part in zip(begin, end, step or (None,) * len(begin), strict=True))] = rhs
    return self


def _reshape_view(self: ndarray, *shape: Any, **named: Any) -> ndarray:
    """Return a view under another shape."""
    return self.reshape(*shape, **named)


_METHODS = {
    "as_nd_ndarray": _itself,
    "as_np_ndarray": _itself,
    "reshape_view": _reshape_view,
    "slice_assign": _slice_assign,
    "slice_assign_scalar": _slice_assign,
    "to_dlpack_for_read": npx.to_dlpack_for_read,
    "to_dlpack_for_write": npx.to_dlpack_for_write,
}
for _name, _method in _METHODS.items():
    setattr(ndarray, _name, _method)
# All storage is dense.
ndarray.stype = "default"  # type: ignore[attr-defined]
