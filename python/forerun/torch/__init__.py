"""PyTorch's API for introductory tutorials: tensors, modules, optimisers, on Forerun arrays.

Everything here only adapts names and arguments of ``forerun.np`` and ``forerun.npx``. Operations are
asynchronous on every device, so that ``torch.cuda.synchronize()`` waits for the CPU's work, too.

Examples
--------
>>> from forerun import torch
>>> x = torch.ones((1, 2))
>>> y = torch.ones((1, 2))
>>> z = x * y + 2
>>> z
tensor([[3., 3.]])
"""

from forerun import npx as _npx
from forerun._forerun import bool, dtype, float32, float64, int32, int64
from forerun._missing import module_getattr as _module_getattr
from forerun.torch import cuda, nn, optim, utils
from forerun.torch._creation import (
    arange,
    eye,
    from_numpy,
    full,
    linspace,
    normal,
    ones,
    ones_like,
    rand,
    randint,
    randn,
    randn_like,
    tensor,
    zeros,
    zeros_like,
)
from forerun.torch._functions import (
    abs,
    allclose,
    argmax,
    bmm,
    cat,
    ceil,
    clamp,
    dot,
    exp,
    floor,
    is_tensor,
    isfinite,
    isinf,
    isnan,
    log,
    log_softmax,
    matmul,
    max,
    mean,
    min,
    mm,
    pow,
    relu,
    reshape,
    round,
    sigmoid,
    sign,
    softmax,
    sqrt,
    square,
    stack,
    std,
    sum,
    t,
    tanh,
    transpose,
    var,
    where,
)
from forerun.torch._gradmode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from forerun.torch._place import device
from forerun.torch._tensor import Tensor
from forerun.torch.utils.data import SHUFFLER as _SHUFFLER

# PyTorch's other names for the same types.
float = float32
double = float64
int = int32
long = int64
concat = cat


def manual_seed(seed: int) -> None:  # type: ignore[valid-type]
    """Seed the random numbers of this thread and the order of shuffled batches.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.manual_seed(1)
    >>> x = torch.randn(2)
    >>> torch.manual_seed(1)
    >>> (x == torch.randn(2)).all()
    tensor(True)
    """
    _npx.seed(seed)
    _SHUFFLER.seed(seed)


__all__ = [
    "Tensor",
    "abs",
    "allclose",
    "arange",
    "argmax",
    "bmm",
    "bool",
    "cat",
    "ceil",
    "clamp",
    "concat",
    "cuda",
    "device",
    "dot",
    "double",
    "dtype",
    "enable_grad",
    "exp",
    "eye",
    "float",
    "float32",
    "float64",
    "floor",
    "from_numpy",
    "full",
    "int",
    "int32",
    "int64",
    "is_grad_enabled",
    "is_tensor",
    "isfinite",
    "isinf",
    "isnan",
    "linspace",
    "log",
    "log_softmax",
    "long",
    "manual_seed",
    "matmul",
    "max",
    "mean",
    "min",
    "mm",
    "nn",
    "no_grad",
    "normal",
    "ones",
    "ones_like",
    "optim",
    "pow",
    "rand",
    "randint",
    "randn",
    "randn_like",
    "relu",
    "reshape",
    "round",
    "set_grad_enabled",
    "sigmoid",
    "sign",
    "softmax",
    "sqrt",
    "square",
    "stack",
    "std",
    "sum",
    "t",
    "tanh",
    "tensor",
    "transpose",
    "utils",
    "var",
    "where",
    "zeros",
    "zeros_like",
]

__getattr__ = _module_getattr(
    __name__,
    globals(),
    {
        "compile": "plain calls are planned and fused already",
        "jit": "plain calls are planned and fused already",
        "backends": "there is nothing to choose",
        "float16": "float32 and float64 are the floats there are",
        "bfloat16": "float32 and float64 are the floats there are",
        "half": "float32 and float64 are the floats there are",
        "save": "keep net.state_dict() with numpy.savez",
        "load": "read with numpy.load and net.load_state_dict",
        "distributed": "there is one process",
    },
)
