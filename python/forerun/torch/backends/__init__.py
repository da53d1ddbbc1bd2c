"""What the machine offers. Settings of PyTorch's backends can be made and have no effect."""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch.backends import cuda, cudnn, mps

__all__ = ["cuda", "cudnn", "mps"]

__getattr__ = _module_getattr(
    __name__, globals(), {"mkl": "the engine has its own products", "mkldnn": "the engine has its own products"}
)
