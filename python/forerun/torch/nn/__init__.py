"""Modules, layers and losses with PyTorch's names."""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch._tensor import Parameter
from forerun.torch.nn import (
    _attention,
    _containers,
    _losses,
    _norms,
    _recurrent,
    _simple,
    _weighted,
    functional,
    init,
    utils,
)
from forerun.torch.nn._attention import *  # noqa: F403
from forerun.torch.nn._containers import *  # noqa: F403
from forerun.torch.nn._module import Module
from forerun.torch.nn._norms import *  # noqa: F403
from forerun.torch.nn._recurrent import *  # noqa: F403
from forerun.torch.nn._weighted import *  # noqa: F403

__all__ = ["Module", "Parameter", "functional", "init", "utils"]
for _module in (_attention, _containers, _norms, _recurrent, _weighted):
    __all__ += _module.__all__
for _layers in (_losses.LAYERS, _simple.LAYERS):
    globals().update(_layers)
    __all__ += list(_layers)
__all__.sort()

__getattr__ = _module_getattr(
    __name__,
    globals(),
    {
        "AdaptiveLogSoftmaxWithLoss": "use CrossEntropyLoss",
        "Buffer": "use Module.register_buffer",
        "DataParallel": "one process uses all workers already",
        "FractionalMaxPool2d": "use MaxPool2d or AdaptiveMaxPool2d",
        "LazyConv2d": "shapes are given: use Conv2d",
        "LazyLinear": "shapes are given: use Linear; forerun.gluon.nn.Dense infers them",
        "MaxUnpool2d": "max pooling returns no indices",
        "UninitializedParameter": "shapes are given when a layer is made",
        "attention": "use functional.scaled_dot_product_attention",
        "parallel": "one process uses all workers already",
    },
)
