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

from forerun._dialect.mode import MODE as _MODE
from forerun._dialect.mode import grad_mode as _grad_mode
from forerun._forerun import (
    bfloat16,
    bool,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from forerun._missing import module_getattr as _module_getattr
from forerun.paddle import _more, device
from forerun.paddle._files import load, save
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
from forerun.paddle._install import install, uninstall
from forerun.paddle._place import CPUPlace, CUDAPlace
from forerun.paddle._tensor import Tensor
from forerun.paddle.device import get_device, is_compiled_with_cuda, set_device

_more.attach()

# These modules use the functions and methods above.
from forerun.paddle import io, metric, nn, optimizer  # noqa: E402

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
    "install",
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
    "uninstall",
    "where",
    "zeros",
]

__all__ += [
    "bfloat16", "complex64", "complex128", "float16", "int8", "int16", "io", "load", "metric", "save", "uint8",
]  # fmt: skip
__all__ += ["vision"]
__all__ += [name for name in _more.FUNCTIONS if name not in __all__]
globals().update({name: function for name, function in _more.FUNCTIONS.items() if name not in globals()})
__all__.sort()


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
    from forerun.torch import manual_seed

    manual_seed(seed)


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


_lookup = _module_getattr(
    __name__,
    globals(),
    {
        "Model": "write the training loop: loss.backward(), optimizer.step(), optimizer.clear_grad()",
        "amp": "convert with tensor.astype('float16')",
        "distributed": "there is one process",
        "distribution": "forerun.gluon.probability has distributions",
        "enable_static": "plain calls are planned and fused already",
        "fluid": "its functions have moved to paddle and paddle.nn",
        "inference": "networks are exported with forerun.gluon",
        "jit": "plain calls are planned and fused already",
        "manual_seed": "it is called seed",
        "static": "plain calls are planned and fused already",
        "tensor": "a tensor is made by to_tensor",
        "to_static": "plain calls are planned and fused already",
    },
)


def __getattr__(name: str) -> object:
    # Datasets of images are imported by the programs that use them.
    if name == "vision":
        import importlib

        return importlib.import_module("forerun.paddle.vision")
    return _lookup(name)
