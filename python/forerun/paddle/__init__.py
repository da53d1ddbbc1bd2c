"""Paddle's API for introductory tutorials: tensors, layers, optimisers, on Forerun arrays.

Everything here only adapts names and arguments of ``forerun.np`` and ``forerun.npx``. Operations are
asynchronous on every device, so that ``paddle.device.cuda.synchronize()`` waits for the CPU's work, too.

Examples
--------
>>> from forerun import paddle
>>> x = paddle.ones((1, 2))
>>> y = paddle.ones((1, 2))
>>> z = x * y + 2
>>> z
Tensor(shape=[1, 2], dtype=float32, place=Place(cpu), stop_gradient=True,
       [[3., 3.]])
"""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from forerun import npx as _npx
from forerun._dialect.mode import MODE as _MODE
from forerun._dialect.mode import grad_mode as _grad_mode
from forerun._forerun import bool, dtype, float32, float64, int32, int64
from forerun._missing import module_getattr as _module_getattr
from forerun.paddle import device, nn, optimizer
from forerun.paddle._functions import (
    abs,
    arange,
    argmax,
    concat,
    exp,
    eye,
    full,
    is_tensor,
    log,
    matmul,
    max,
    mean,
    mm,
    normal,
    ones,
    rand,
    randn,
    reshape,
    sqrt,
    square,
    stack,
    sum,
    tanh,
    to_tensor,
    uniform,
    where,
    zeros,
)
from forerun.paddle._place import CPUPlace, CUDAPlace
from forerun.paddle._tensor import Tensor
from forerun.paddle.device import get_device, is_compiled_with_cuda, set_device

__all__ = [
    "CPUPlace",
    "CUDAPlace",
    "Tensor",
    "abs",
    "arange",
    "argmax",
    "bool",
    "concat",
    "device",
    "dtype",
    "exp",
    "eye",
    "float32",
    "float64",
    "full",
    "get_device",
    "int32",
    "int64",
    "is_compiled_with_cuda",
    "is_grad_enabled",
    "is_tensor",
    "log",
    "matmul",
    "max",
    "mean",
    "mm",
    "nn",
    "no_grad",
    "normal",
    "ones",
    "optimizer",
    "rand",
    "randn",
    "reshape",
    "seed",
    "set_device",
    "sqrt",
    "square",
    "stack",
    "sum",
    "tanh",
    "to_tensor",
    "uniform",
    "where",
    "zeros",
]


def seed(seed: int) -> None:
    """Seed the random numbers of this thread.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.seed(1)
    >>> x = paddle.randn([2]).numpy()
    >>> paddle.seed(1)
    >>> (x == paddle.randn([2]).numpy()).all()
    np.True_
    """
    _npx.seed(seed)


def no_grad(function: _Callable[..., _Any] | None = None) -> _Any:
    """Disable gradients inside a ``with`` block or a decorated function.

    Examples
    --------
    >>> from forerun import paddle
    >>> x = paddle.to_tensor([1.0], stop_gradient=False)
    >>> with paddle.no_grad():
    ...     (x * 2).stop_gradient
    True
    """
    return _grad_mode(False, function)


def is_grad_enabled() -> _Any:
    """Return whether this thread records operations for gradients.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.is_grad_enabled()
    True
    """
    return _MODE.grad


__getattr__ = _module_getattr(
    __name__,
    globals(),
    {
        "tensor": "a tensor is made by to_tensor",
        "manual_seed": "it is called seed",
        "jit": "plain calls are planned and fused already",
        "static": "plain calls are planned and fused already",
        "enable_static": "plain calls are planned and fused already",
        "float16": "float32 and float64 are the floats there are",
        "io": "cut batches out of a tensor with slices",
        "save": "keep net.state_dict() with numpy.savez",
        "load": "read with numpy.load and net.set_state_dict",
    },
)
