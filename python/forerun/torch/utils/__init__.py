"""Datasets and batches."""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch.utils import data

__all__ = ["data"]

__getattr__ = _module_getattr(
    __name__,
    globals(),
    {
        "tensorboard": "write logs with the program's own tools; forerun.trace() records a timeline",
        "checkpoint": "forerun.gluon.checkpoint computes a block again in the backward pass",
        "benchmark": "call torch.cuda.synchronize() and use timeit",
        "cpp_extension": "nothing is compiled from a program",
        "mobile_optimizer": "networks are exported with forerun.gluon",
    },
)
