"""Optimisers and schedules of learning rates with PyTorch's names."""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch.optim import lr_scheduler
from forerun.torch.optim._adam import Adam, Adamax, AdamW, NAdam, RAdam
from forerun.torch.optim._adaptive import Adadelta, Adagrad, RMSprop, Rprop
from forerun.torch.optim._optimizer import Optimizer
from forerun.torch.optim._sgd import ASGD, SGD

__all__ = [
    "ASGD",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]

__getattr__ = _module_getattr(
    __name__,
    globals(),
    {
        "LBFGS": "it reads the loss several times in each step: use Adam or SGD",
        "SparseAdam": "gradients are dense: use Adam",
        "Adafactor": "use Adam",
        "swa_utils": "average the parameters with tensor.lerp_",
    },
)
