"""Casts around functions of ``np`` and ``npx``.

While a target dtype is set, the functions that mostly multiply take their float32 operands in that dtype, and
sensitive functions take operands of the target dtype in float32. Layers call these functions through their modules,
so replacing the modules' attributes is enough. Outside of :func:`casting`, and unless a target is set for the whole
process, the replacements call the original functions.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from forerun import np, npx
from forerun._forerun import ndarray
from forerun.gluon import loss
from forerun.gluon.parameter import epoch

LOW = (
    "npx.batch_dot", "npx.convolution", "npx.deconvolution", "npx.deformable_convolution", "npx.fully_connected",
    "npx.modulated_deformable_convolution", "npx.scaled_dot_product_attention", "np.dot", "np.matmul", "np.tensordot",
)  # fmt: skip
WIDE = (
    "npx.ctc_loss", "npx.erfinv", "npx.gamma", "npx.gammaln", "npx.log_softmax", "npx.masked_log_softmax",
    "npx.masked_softmax", "npx.norm", "npx.smooth_l1", "npx.softmax", "np.arccos", "np.arcsin", "np.cosh", "np.cumsum",
    "np.exp", "np.expm1", "np.log", "np.log10", "np.log1p", "np.log2", "np.mean", "np.power", "np.prod",
    "np.reciprocal", "np.sinh", "np.sum", "np.tan",
)  # fmt: skip
# Run in float32 and return the dtype of the first operand: their parameters are float32.
_INSIDE = (
    "npx.batch_norm", "npx.group_norm", "npx.instance_norm", "npx.layer_norm", "npx.rms_norm",
)  # fmt: skip

_HALVES = ("float16", "bfloat16")
_MODULES = {"np": np, "npx": npx}

_target: contextvars.ContextVar[str | None] = contextvars.ContextVar("target", default=None)
_everywhere: str | None = None
_original: dict[str, Any] = {}


def _now() -> str | None:
    """Return the target dtype, or None."""
    return _target.get() or _everywhere


def _cast(value: Any, before: tuple[str, ...], after: str) -> Any:
    if isinstance(value, ndarray):
        return value.astype(after) if value.dtype.name in before else value
    if isinstance(value, (list, tuple)) and any(isinstance(each, ndarray) for each in value):
        return type(value)(_cast(each, before, after) for each in value)
    return value


def _casting_to(function: Callable[..., Any], kind: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        target = _now()
        if target is None:
            return function(*args, **named)
        before, after = (("float32",), target) if kind == "low" else (_HALVES, "float32")
        made = function(
            *(_cast(each, before, after) for each in args),
            **{name: each if name == "out" else _cast(each, before, after) for name, each in named.items()},
        )
        if kind == "inside" and args and isinstance(args[0], ndarray) and args[0].dtype.name in _HALVES:
            return _cast(made, ("float32",), args[0].dtype.name)
        return made

    return called


def install(low: Iterable[str] = LOW, wide: Iterable[str] = WIDE) -> None:
    """Put the casts in place."""
    remove()
    for names, kind in ((low, "low"), (wide, "wide"), (_INSIDE, "inside")):
        for name in names:
            module, _, function = name.rpartition(".")
            if module not in _MODULES or function not in _MODULES[module].__all__:
                raise ValueError(f"amp: {name!r} is not a function of np or npx, such as 'npx.softmax'")
            if name not in _original:
                _original[name] = getattr(_MODULES[module], function)
            setattr(_MODULES[module], function, _casting_to(_original[name], kind))
    # Losses compute in float32 whatever they are made of.
    _original["loss"] = loss.Loss.__call__
    loss.Loss.__call__ = _casting_to(_original["loss"], "wide")  # type: ignore[method-assign]
    epoch.now += 1


def remove() -> None:
    """Remove the casts."""
    if "loss" in _original:
        loss.Loss.__call__ = _original.pop("loss")  # type: ignore[method-assign]
    for name, function in _original.items():
        module, _, own = name.rpartition(".")
        setattr(_MODULES[module], own, function)
    _original.clear()
    epoch.now += 1


def installed() -> bool:
    """Return whether the casts are in place."""
    return bool(_original)


def set_everywhere(target: str | None) -> None:
    """Set the target dtype for the whole process."""
    global _everywhere
    _everywhere = target


@contextlib.contextmanager
def casting(target: str) -> Iterator[None]:
    """Set the target dtype for a ``with`` statement."""
    token = _target.set(target)
    try:
        yield
    finally:
        _target.reset(token)
