"""Functions on parameters and gradients."""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch.nn.utils import rnn
from forerun.torch.nn.utils._parameters import (
    clip_grad_norm,
    clip_grad_norm_,
    clip_grad_value_,
    get_total_norm,
    parameters_to_vector,
    vector_to_parameters,
)

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "rnn",
    "vector_to_parameters",
]

__getattr__ = _module_getattr(
    __name__,
    globals(),
    {
        "parametrize": "compute the weight in forward from parameters of your own",
        "parametrizations": "compute the weight in forward from parameters of your own",
        "prune": "multiply the weight by a mask in forward",
        "spectral_norm": "divide the weight by its norm in forward",
        "weight_norm": "divide the weight by its norm in forward",
    },
)
