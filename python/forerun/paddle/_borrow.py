"""Functions of the PyTorch dialect on this dialect's tensors: only names and arguments differ.

A borrowed tensor shares the array and the link of the one it stands for, so gradients flow as if there were one class.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun._dialect.tensor import Tensor as _Base
from forerun.paddle._tensor import Tensor
from forerun.torch._tensor import Tensor as _Torch

__all__ = ["borrow", "lend", "take"]


def lend(value: Any) -> Any:
    """Return the other dialect's tensors for this one's, inside tuples, lists and dicts too."""
    if isinstance(value, Tensor):
        return _Torch._of(value._array, value._link)
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(lend(part) for part in value)
    return value


def take(value: Any) -> Any:
    """Return this dialect's tensors for the other's."""
    if isinstance(value, _Base):
        return value if isinstance(value, Tensor) else Tensor._of(value._array, value._link)
    if isinstance(value, (tuple, list)):
        return [take(part) for part in value] if isinstance(value, list) else tuple(take(part) for part in value)
    if isinstance(value, dict):
        return {name: take(part) for name, part in value.items()}
    return value


def borrow(name: str, function: Callable[..., Any], parameters: str, doc: str = "") -> Callable[..., Any]:
    """Make a function of this dialect.

    Parameters
    ----------
    name : str
        Its name.
    function : callable
        The other dialect's function.
    parameters : str
        The parameters in order, as ``x=input axis=dim``: this dialect's name and, if it differs, the other's. A name
        without another one that starts with ``!`` is accepted and has no effect.
    doc : str
        The docstring; that of the other function if not given.
    """
    pairs = [part.partition("=") for part in parameters.split()]
    names = [ours for ours, _, _ in pairs]
    others = {ours: other or ours for ours, _, other in pairs}

    def borrowed(*args: Any, **options: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{name}: takes {', '.join(part.strip('!') for part in names)}")
        given: dict[str, Any] = dict(zip(names, args, strict=False))
        for key, value in options.items():
            place = key if key in others else f"!{key}"
            if place == "!name":
                continue
            if place not in others:
                raise TypeError(f"{name}: takes {', '.join(part.strip('!') for part in names)}, not {key!r}")
            given[place] = value
        return take(function(**{others[key]: lend(value) for key, value in given.items() if not key.startswith("!")}))

    borrowed.__name__ = borrowed.__qualname__ = name
    borrowed.__doc__ = doc or (function.__doc__ or "").split("\n")[0]
    return borrowed
