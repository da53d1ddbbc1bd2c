"""``mxnet.util``: NumPy's arrays and shapes are always on, so most of these functions change nothing."""

from __future__ import annotations

import functools
import inspect
import os
import tempfile
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from forerun import _forerun, np
from forerun._forerun import Device, ndarray
from forerun.npx import is_np_default_dtype, reset_np, set_np

__all__ = [
    "TemporaryDirectory",
    "default_array",
    "dtype_from_number",
    "get_cuda_compute_capability",
    "get_gpu_count",
    "get_gpu_memory",
    "getenv",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "np_array",
    "np_default_dtype",
    "np_shape",
    "reset_np",
    "set_module",
    "set_np",
    "set_np_default_dtype",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_default_dtype",
    "use_np_shape",
    "wrap_ctx_to_device_func",
]

_T = TypeVar("_T")
_Function = TypeVar("_Function", bound=Callable[..., Any])

TemporaryDirectory = tempfile.TemporaryDirectory


def use_np(target: _T) -> _T:
    """Return a function or a class unchanged: NumPy semantics are always on.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> @mx.util.use_np
    ... def double(x):
    ...     return x * 2
    >>> double(mx.np.ones((1,)))
    array([2.])
    """
    return target


use_np_array = use_np
use_np_shape = use_np


class _Scope:
    """A context manager that changes nothing: NumPy semantics stay on."""

    def __init__(self, active: bool) -> None:
        self.active = active

    def __enter__(self) -> _Scope:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pass


def np_array(active: bool = True) -> _Scope:
    """Return a context manager that changes nothing.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> with mx.util.np_array():
    ...     mx.np.ones((1,))
    array([1.])
    """
    return _Scope(active)


def np_shape(active: bool = True) -> _Scope:
    """Return a context manager that changes nothing.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> with mx.util.np_shape():
    ...     mx.np.ones(()).shape
    ()
    """
    return _Scope(active)


def set_np_shape(active: bool) -> bool:
    """Return the setting, which is always True.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.set_np_shape(True)
    True
    """
    return True


def is_np_array() -> bool:
    """Return True: arrays follow NumPy.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.is_np_array()
    True
    """
    return True


def is_np_shape() -> bool:
    """Return True: shapes follow NumPy.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.is_np_shape()
    True
    """
    return True


def set_np_default_dtype(is_np_default_dtype: bool = True) -> bool:
    """Set whether float64 and int64 are the default dtypes, for the whole process; return the previous setting.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.set_np_default_dtype(True)
    False
    >>> mx.np.ones((1,)).dtype
    dtype('float64')
    >>> mx.util.set_np_default_dtype(False)
    True
    """
    before = bool(_forerun.default_float() == "float64")
    _forerun.set_default_float(is_np_default_dtype)
    return before


class _DefaultDtype(_Scope):
    """A context manager for the default dtypes, which belong to the whole process."""

    def __enter__(self) -> _DefaultDtype:
        self._before = set_np_default_dtype(self.active)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        set_np_default_dtype(self._before)


def np_default_dtype(active: bool = True) -> _DefaultDtype:
    """Return a context manager in which float64 and int64 are the default dtypes.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> with mx.util.np_default_dtype():
    ...     mx.np.arange(2).dtype
    dtype('int64')
    """
    return _DefaultDtype(active)


def use_np_default_dtype(target: Any) -> Any:
    """Run a function, or the methods of a class, with float64 and int64 as default dtypes.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> @mx.util.use_np_default_dtype
    ... def ones():
    ...     return mx.np.ones((2,))
    >>> ones().dtype
    dtype('float64')
    """
    if inspect.isclass(target):
        for name, member in list(vars(target).items()):
            if inspect.isfunction(member):
                setattr(target, name, use_np_default_dtype(member))
        return target

    @functools.wraps(target)
    def called(*args: Any, **named: Any) -> Any:
        with np_default_dtype():
            return target(*args, **named)

    return called


def wrap_ctx_to_device_func(function: _Function) -> _Function:
    """Accept ``ctx=`` for the parameter ``device`` of a function.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> @mx.util.wrap_ctx_to_device_func
    ... def place(device):
    ...     return device
    >>> place(ctx=mx.cpu())
    cpu(0)
    """

    @functools.wraps(function)
    def called(*args: Any, **named: Any) -> Any:
        if named.get("ctx") is not None:
            named["device"] = named["ctx"]
        named.pop("ctx", None)
        return function(*args, **named)

    return called  # type: ignore[return-value]


def set_module(module: str) -> Callable[[_T], _T]:
    """Return a decorator that sets the module a function or class names as its own.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> @mx.util.set_module("mxnet.numpy")
    ... def double(x):
    ...     return x * 2
    >>> double.__module__
    'mxnet.numpy'
    """

    def decorate(target: _T) -> _T:
        target.__module__ = module
        return target

    return decorate


def default_array(
    source_array: Any, ctx: Device | None = None, dtype: Any = None, device: Device | None = None
) -> ndarray:
    """Make an array, as ``mx.np.array`` does.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.default_array([1, 2])
    array([1., 2.])
    """
    from forerun.mxnet import numpy

    return numpy.array(source_array, dtype, ctx=ctx, device=device)


def dtype_from_number(number: Any) -> Any:
    """Return the dtype of a number, with the default dtypes.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.dtype_from_number(1.5)
    dtype('float32')
    """
    if isinstance(number, bool):
        return np.bool_
    if isinstance(number, int):
        return np.int64
    if isinstance(number, float):
        return _forerun.default_float()
    raise TypeError(f"dtype_from_number: a number is needed, not {type(number).__name__}")


def get_gpu_count() -> int:
    """Return the number of GPUs.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.get_gpu_count() == mx.num_gpus()
    True
    """
    return _forerun.num_gpus()


def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Return the free and total bytes of a GPU's memory.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.get_gpu_memory(100)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: no device gpu(100): ...
    """
    return _forerun.gpu_memory_info(Device("gpu", gpu_dev_id))


def get_cuda_compute_capability(device: Device) -> int:
    """Return the compute capability of a GPU, such as 90.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.get_cuda_compute_capability(mx.cpu())
    Traceback (most recent call last):
        ...
    ValueError: get_cuda_compute_capability: cpu(0) is not a GPU
    """
    if device.device_type != "gpu":
        raise ValueError(f"get_cuda_compute_capability: {device} is not a GPU")
    return int(_forerun.gpu_stats(device)["compute_capability"])


def getenv(name: str) -> str | None:
    """Return an environment variable, or None.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.getenv("NO_SUCH_VARIABLE") is None
    True
    """
    return os.environ.get(name)


def setenv(name: str, value: str | None) -> None:
    """Set an environment variable; None removes it.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.util.setenv("MXNET_EXAMPLE", "1")
    >>> mx.util.getenv("MXNET_EXAMPLE")
    '1'
    >>> mx.util.setenv("MXNET_EXAMPLE", None)
    """
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
