"""Gradients: ``grad``, ``backward``, functions with gradients of their own, and derivatives of functions."""

from forerun._missing import module_getattr as _module_getattr
from forerun.torch._gradmode import enable_grad, inference_mode, no_grad, set_grad_enabled
from forerun.torch.autograd import functional
from forerun.torch.autograd._function import Function
from forerun.torch.autograd._gradients import backward, grad, gradcheck

__all__ = [
    "Function",
    "backward",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
]


def Variable(data, requires_grad=False):  # type: ignore[no-untyped-def]
    """Return the tensor itself: PyTorch's old name, kept for old programs.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.autograd.Variable(torch.ones(1), requires_grad=True).requires_grad
    True
    """
    return data.requires_grad_(requires_grad)


__all__ += ["Variable"]

__getattr__ = _module_getattr(
    __name__,
    globals(),
    {
        "profiler": "use forerun.trace() and forerun.blockers()",
        "detect_anomaly": "use forerun.detect_nonfinite(), which names the op and the line of the first NaN",
        "set_detect_anomaly": "use forerun.detect_nonfinite(), which names the op and the line of the first NaN",
        "forward_ad": "gradients are computed in reverse mode only",
        "graph": "there are no hooks on the graph: use Tensor.register_hook",
    },
)
