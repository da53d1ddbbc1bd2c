"""The namespace ``F`` of ``hybrid_forward``: the functions of ``np`` and ``npx``, and a few by MXNet 1's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun import np, npx
from forerun._forerun import ndarray
from forerun._missing import lacking

__all__ = ["F"]


def _fully_connected(
    data: ndarray,
    weight: ndarray,
    bias: ndarray | None = None,
    num_hidden: int | None = None,
    no_bias: bool = False,
    flatten: bool = True,
) -> ndarray:
    return npx.fully_connected(data, weight, bias, num_hidden=num_hidden, no_bias=no_bias, flatten=flatten)


def _concat(*arrays: ndarray, dim: int = 1) -> ndarray:
    return np.concatenate(arrays, axis=dim)


def _stack(*arrays: ndarray, axis: int = 0) -> ndarray:
    return np.stack(arrays, axis=axis)


def _flatten(data: ndarray) -> ndarray:
    return data.reshape(data.shape[0], -1)


# MXNet 1's names for functions that have another name or other arguments in `np` and `npx`.
_OLD: dict[str, Callable[..., Any]] = {
    "Activation": lambda data, act_type: npx.activation(data, act_type=act_type),
    "Concat": _concat,
    "Dropout": lambda data, p=0.5: npx.dropout(data, p=p),
    "Flatten": _flatten,
    "FullyConnected": _fully_connected,
    "broadcast_add": np.add,
    "broadcast_div": np.divide,
    "broadcast_mul": np.multiply,
    "broadcast_sub": np.subtract,
    "concat": _concat,
    "elemwise_add": np.add,
    "elemwise_mul": np.multiply,
    "flatten": _flatten,
    "stack": _stack,
}


class _Functions:
    """The functions, resolved on access."""

    np = np
    npx = npx

    def __getattr__(self, name: str) -> Any:
        if name in _OLD:
            return _OLD[name]
        for module in (npx, np):
            found = getattr(module, name, None)
            if found is not None and not name.startswith("_"):
                return found
        names = {*_OLD, *npx.__all__, *np.__all__}
        raise lacking("F", name, names, {})

    def __repr__(self) -> str:
        return "F"


F = _Functions()
