"""NumPy's element-wise functions with the options that MXNet takes: only ``out``, and defaults of the others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["strict"]

_DEFAULTS = {"where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True}
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")


def _is_known(option: str, value: Any) -> bool:
    """Return whether NumPy knows a value of an option."""
    if option == "casting":
        return value in _CASTINGS
    if option == "order":
        return isinstance(value, str)
    if option == "subok":
        return isinstance(value, bool)
    if option == "dtype":
        import numpy

        try:
            numpy.dtype(value)
        except TypeError:
            return False
    return True


def strict(function: Any) -> Callable[..., Any]:
    """Return the function without NumPy's options, as in MXNet.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.np.exp(mx.np.zeros(1), where=False)
    Traceback (most recent call last):
        ...
    NotImplementedError: exp: MXNet has no where=False; forerun.np.exp has it
    """
    name = function.__name__

    @functools.wraps(function)
    def called(*args: Any, out: Any = None, **options: Any) -> Any:
        for option, value in options.items():
            if option not in _DEFAULTS:
                raise TypeError(f"{name}: got an unexpected keyword argument {option!r}")
            default = _DEFAULTS[option]
            if value is default or (type(value) is type(default) and value == default):
                continue
            if not _is_known(option, value):
                raise TypeError(f"{name}: {option}={value!r} is not known")
            raise NotImplementedError(f"{name}: MXNet has no {option}={value!r}; forerun.np.{name} has it")
        return function(*args) if out is None else function(*args, out=out)

    return called
