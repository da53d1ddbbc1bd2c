"""Modules, layers and losses with PyTorch's names."""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch._tensor import Parameter
from forerun.torch.nn import functional, init
from forerun.torch.nn._layers import Dropout, Flatten, Identity, Linear, ReLU, Sigmoid, Softmax, Tanh
from forerun.torch.nn._losses import CrossEntropyLoss, L1Loss, MSELoss
from forerun.torch.nn._module import Module, Sequential

__all__ = [
    "CrossEntropyLoss",
    "Dropout",
    "Flatten",
    "Identity",
    "L1Loss",
    "Linear",
    "MSELoss",
    "Module",
    "Parameter",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "Softmax",
    "Tanh",
    "functional",
    "init",
]

__getattr__ = _module_getattr(__name__, globals(), {"DataParallel": "one process uses all workers already"})
