"""Protocols of NumPy and the array API standard: which Forerun function implements one of theirs."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from forerun._forerun import Pointwise, ndarray

# The reductions that NumPy implements as ufunc methods.
_REDUCED = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}

# Functions about memory: a NumPy array may share the elements of a Forerun array.
_ABOUT_MEMORY = {"may_share_memory", "shares_memory"}

# The supported versions of the standard; each includes the earlier ones.
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


def namespace(api_version: str | None = None) -> ModuleType:
    """Return the namespace of functions for Forerun arrays."""
    from forerun import np

    if api_version is not None and api_version not in _VERSIONS:
        known = ", ".join(_VERSIONS)
        raise ValueError(f"__array_namespace__: version {api_version!r} is not known; there are {known}")
    return np


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any] | None) -> Any:
    """Apply a NumPy ufunc with a Forerun op; return ``NotImplemented`` if there is none."""
    import numpy

    if any(_overrides_ufunc(value) for value in inputs):
        return NotImplemented
    options = dict(options or {})
    name = ufunc.__name__
    # NumPy computes if the output is NumPy's memory, or if an operand has a dtype that only NumPy has.
    written = inputs[:1] if method == "at" else options.get("out") or ()
    if any(isinstance(array, numpy.ndarray) for array in written) or _has_unsupported_dtype((inputs, options)):
        return getattr(ufunc, method)(*_to_numpy_arguments(inputs), **_to_numpy_arguments(options))
    if options.pop("out", None) is not None:
        raise TypeError(f"numpy.{name}: out= is not supported where an array of forerun takes part")
    if method == "reduce":
        return _reduced(name, inputs, options)
    found = _function(name, numpy.__name__)
    if method != "__call__":
        found = getattr(found, method, None) if isinstance(found, Pointwise) else None
        return NotImplemented if found is None else found(*inputs, **options)
    if found is None:
        return NotImplemented
    if options:
        raise TypeError(f"numpy.{name}: {_listed(options)} not supported where an array of forerun takes part")
    return found(*inputs)


def array_function(func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the Forerun function with the name of a NumPy function."""
    import numpy

    if not all(issubclass(kind, (ndarray, numpy.ndarray)) for kind in types):
        return NotImplemented
    if func.__name__ in _ABOUT_MEMORY and any(isinstance(arg, numpy.ndarray) for arg in args):
        return _share(func, args, kwargs)
    if isinstance(kwargs.get("out"), numpy.ndarray) or _has_unsupported_dtype((args, kwargs)):
        return func(*_to_numpy_arguments(args), **_to_numpy_arguments(kwargs))
    found = _function(func.__name__, func.__module__)
    if found is None:
        name = f"{func.__module__}.{func.__name__}"
        raise TypeError(f"{name}: not implemented for arrays of forerun; asnumpy() gives NumPy's")
    if kwargs.get("out") is not None:
        raise TypeError(f"numpy.{func.__name__}: out= is not supported where an array of forerun takes part")
    try:
        return found(*args, **kwargs)
    except TypeError:
        # Python objects next to an array make an object array, which only NumPy has.
        if not any(arg is None or isinstance(arg, str) for arg in args):
            raise
        return func(*_to_numpy_arguments(args), **_to_numpy_arguments(kwargs))


def _share(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether a NumPy array and a Forerun array share elements. Waits for the Forerun array."""
    import numpy

    # A read-only NumPy array may be an export of a Forerun array.
    lent = any(isinstance(arg, numpy.ndarray) and not arg.flags.writeable for arg in args)
    return bool((lent and func.__name__ == "may_share_memory") or func(*_to_numpy_arguments(args), **kwargs))


def _reduced(name: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Apply ``ufunc.reduce``: NumPy's default axis is the first."""
    found = _function(_REDUCED.get(name, ""), "numpy")
    if found is None:
        return NotImplemented
    (array,) = inputs
    axis = options.pop("axis", 0)
    # For 0-d arrays NumPy accepts axis 0.
    named = {"axis": None if array.ndim == 0 and axis in (0, -1) else axis, "keepdims": options.pop("keepdims", False)}
    if (dtype := options.pop("dtype", None)) is not None:
        array = array.astype(dtype, copy=False)
    if options:
        raise TypeError(f"numpy.{name}.reduce: {_listed(options)} not supported for arrays of forerun")
    return found(array, **named)


def _function(name: str, module: str) -> Callable[..., Any] | None:
    """Find the function for a public name of NumPy."""
    from forerun import np

    place: Any = np
    for part in module.split(".")[1:]:
        place = getattr(place, part, None)
    found = getattr(place, name, None) if name in getattr(place, "__all__", ()) else None
    return found if callable(found) else None


def _overrides_ufunc(value: Any) -> bool:
    """Return whether a value's class implements ``__array_ufunc__`` itself."""
    import numpy

    if isinstance(value, (ndarray, numpy.ndarray, numpy.generic)):
        return False
    return hasattr(type(value), "__array_ufunc__")


def _has_unsupported_dtype(value: Any) -> bool:
    """Return whether an argument has a dtype that Forerun lacks: objects, strings, dates."""
    import numpy

    if isinstance(value, (tuple, list)):
        return any(_has_unsupported_dtype(item) for item in value)
    if isinstance(value, dict):
        return any(_has_unsupported_dtype(item) for item in value.values())
    return isinstance(value, (numpy.ndarray, numpy.generic)) and value.dtype.kind not in "biufcV"


def _to_numpy_arguments(value: Any) -> Any:
    """Replace Forerun arrays among the arguments by NumPy arrays. Waits for their values."""
    if isinstance(value, ndarray):
        return value.asnumpy()
    if isinstance(value, (tuple, list)):
        return type(value)(_to_numpy_arguments(item) for item in value)
    return {name: _to_numpy_arguments(item) for name, item in value.items()} if isinstance(value, dict) else value


def _listed(options: dict[str, Any]) -> str:
    names = ", ".join(f"{name}=" for name in options)
    return f"{names} {'is' if len(options) == 1 else 'are'}"
