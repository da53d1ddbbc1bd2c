"""Methods of arrays that only MXNet has. They exist while ``mxnet`` is installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun import npx
from forerun._forerun import ndarray

__all__ = ["add", "remove"]


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


def _asscalar(self: ndarray) -> Any:
    """Return the only element as a number."""
    return self.item()


def _tostype(self: ndarray, stype: str) -> ndarray:
    """Return the array: all storage is dense."""
    if stype != "default":
        raise ValueError(f"tostype: there are no sparse arrays, stype is {stype!r}")
    return self


def _forwarded(name: str) -> Callable[..., Any]:
    """Make a method that calls the function of ``mxnet.nd`` with the array as the first argument."""

    def method(self: ndarray, *args: Any, **named: Any) -> Any:
        from forerun.mxnet import ndarray as functions

        return getattr(functions, name)(self, *args, **named)

    method.__name__ = name
    method.__doc__ = f"Call ``mxnet.nd.{name}`` with the array as the first argument."
    return method


# Functions of ``mxnet.nd`` that are methods of MXNet's older arrays.
_FORWARDED = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "broadcast_axes", "broadcast_like", "cbrt",
    "ceil", "cos", "cosh", "degrees", "exp", "expm1", "fix", "flip", "floor", "log", "log10", "log1p", "log2",
    "log_softmax", "nansum", "norm", "one_hot", "ones_like", "pad", "pick", "radians", "rcbrt", "reciprocal", "relu",
    "reshape_like", "rint", "rsqrt", "sigmoid", "sign", "sin", "sinh", "slice", "slice_axis", "slice_like", "softmax",
    "softmin", "split", "split_v2", "sqrt", "square", "tan", "tanh", "topk", "trunc", "zeros_like",
)  # fmt: skip

_METHODS: dict[str, Callable[..., Any]] = {
    "asscalar": _asscalar,
    "tostype": _tostype,
    "as_nd_ndarray": _itself,
    "as_np_ndarray": _itself,
    "reshape_view": _reshape_view,
    "slice_assign": _slice_assign,
    "slice_assign_scalar": _slice_assign,
    "to_dlpack_for_read": npx.to_dlpack_for_read,
    "to_dlpack_for_write": npx.to_dlpack_for_write,
}
# All storage is dense.
_ATTRIBUTES: dict[str, Any] = {**_METHODS, "stype": "default", **{name: _forwarded(name) for name in _FORWARDED}}
_added: list[str] = []


def add() -> None:
    """Give arrays the methods, except those that they have already."""
    for name, value in _ATTRIBUTES.items():
        if not hasattr(ndarray, name):
            setattr(ndarray, name, value)
            _added.append(name)


def remove() -> None:
    """Undo :func:`add`."""
    while _added:
        delattr(ndarray, _added.pop())
