"""PyTorch's API: tensors, modules, optimisers and data, on Forerun arrays.

Everything here only adapts names and arguments of ``forerun.np`` and ``forerun.npx``. Operations are
asynchronous on every device, so that ``torch.cuda.synchronize()`` waits for the CPU's work, too. The differences from
PyTorch are listed in ``docs/torch.md``.

Examples
--------
>>> from forerun import torch
>>> x = torch.ones((1, 2))
>>> y = torch.ones((1, 2))
>>> z = x * y + 2
>>> z
tensor([[3., 3.]])
"""

from forerun import np as _np
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
    uint16,
    uint32,
    uint64,
)
from forerun._missing import module_getattr as _module_getattr
from forerun.torch import (
    _creation,
    _indexing,
    _joining,
    _linear,
    _methods,
    _pointwise,
    _random,
    _reductions,
    _serialization,
    _shaping,
)
from forerun.torch._creation import *  # noqa: F403
from forerun.torch._defaults import *  # noqa: F403
from forerun.torch._defaults import __all__ as _defaults
from forerun.torch._gradmode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from forerun.torch._indexing import *  # noqa: F403
from forerun.torch._install import install, uninstall
from forerun.torch._joining import *  # noqa: F403
from forerun.torch._linear import *  # noqa: F403
from forerun.torch._place import device
from forerun.torch._pointwise import *  # noqa: F403
from forerun.torch._printing import set_printoptions
from forerun.torch._random import *  # noqa: F403
from forerun.torch._reductions import *  # noqa: F403
from forerun.torch._serialization import *  # noqa: F403
from forerun.torch._shaping import *  # noqa: F403
from forerun.torch._size import Size
from forerun.torch._tensor import Tensor

_methods.attach()

# These modules use the functions and methods above.
from forerun.torch import (  # noqa: E402
    accelerator,
    autograd,
    backends,
    cuda,
    functional,
    hub,
    linalg,
    nn,
    optim,
    special,
    utils,
)

# PyTorch's other names for the same types.
float = float32
double = float64
half = float16
short = int16
int = int32
long = int64
cfloat = complex64
cdouble = complex128

# The memory layouts that programs name; every tensor is contiguous.
contiguous_format = preserve_format = "contiguous_format"
channels_last = "channels_last"
strided = "strided"

pi, e, inf, nan, newaxis = _np.pi, _np.e, _np.inf, _np.nan, None

__all__ = [
    "Size",
    "Tensor",
    "accelerator",
    "autograd",
    "backends",
    "bfloat16",
    "bool",
    "cdouble",
    "cfloat",
    "channels_last",
    "complex64",
    "complex128",
    "contiguous_format",
    "cuda",
    "device",
    "double",
    "dtype",
    "e",
    "enable_grad",
    "float",
    "float16",
    "float32",
    "float64",
    "functional",
    "half",
    "hub",
    "inf",
    "inference_mode",
    "install",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "linalg",
    "long",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "optim",
    "pi",
    "preserve_format",
    "set_grad_enabled",
    "set_printoptions",
    "short",
    "special",
    "strided",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uninstall",
    "utils",
]  # fmt: skip
__all__ += _defaults
for _module in (_creation, _indexing, _joining, _linear, _pointwise, _random, _reductions, _serialization, _shaping):
    __all__ += _module.__all__
# The forms of functions that write in place: ``torch.sin_(x)``.
for _name in [*_pointwise.IN_PLACE, *_indexing.IN_PLACE]:
    globals()[f"{_name}_"] = getattr(Tensor, f"{_name}_")
    __all__ += [f"{_name}_"]
__all__ = sorted([*__all__, "vision"])


def __dir__() -> list[str]:
    return sorted(__all__)


_lookup = _module_getattr(
    __name__,
    globals(),
    {
        "amp": "convert with tensor.half() or tensor.bfloat16(); nothing is cast automatically",
        "autocast": "convert with tensor.half() or tensor.bfloat16(); nothing is cast automatically",
        "distributed": "there is one process; parameters may live on several devices with forerun.gluon.Trainer",
        "distributions": "forerun.gluon.probability has distributions",
        "fx": "networks are exported with forerun.gluon",
        "jit": "plain calls are planned and fused already; networks are exported with forerun.gluon",
        "mps": "there are no devices of this kind",
        "multiprocessing": "threads share tensors as they are",
        "onnx": "networks are exported with forerun.gluon",
        "profiler": "use forerun.trace() and forerun.blockers()",
        "quantization": "there are no quantised tensors",
        "quantize_per_tensor": "there are no quantised tensors",
        "sparse": "there are no sparse tensors",
        "sparse_coo_tensor": "there are no sparse tensors",
        "stft": "use forerun.np.fft",
        "vmap": "write the function for a batch; broadcasting is as in NumPy",
        "func": "use torch.autograd.grad and torch.autograd.functional",
        "xpu": "there are no devices of this kind",
    },
)


def __getattr__(name: str) -> object:
    # Datasets of images and networks are imported by the programs that use them.
    if name == "vision":
        import importlib

        return importlib.import_module("forerun.torch.vision")
    return _lookup(name)
