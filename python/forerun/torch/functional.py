"""Functions of tensors under the name of PyTorch's module ``torch.functional``."""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch._joining import split
from forerun.torch._linear import cdist, chain_matmul, einsum, tensordot
from forerun.torch._reductions import norm
from forerun.torch._shaping import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_tensors,
    cartesian_prod,
    meshgrid,
)

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "meshgrid",
    "norm",
    "split",
    "tensordot",
]

__getattr__ = _module_getattr(__name__, globals(), {"relu": "forerun.torch.nn.functional has it"})
