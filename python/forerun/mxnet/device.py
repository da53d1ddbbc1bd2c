"""``mxnet.device``, and ``mxnet.context``, its name in MXNet 1."""

from forerun._forerun import Device
from forerun.npx import cpu, cpu_pinned, current_device, gpu_memory_info, num_gpus

Context = Device
current_context = current_device

__all__ = [
    "Context",
    "Device",
    "cpu",
    "cpu_pinned",
    "current_context",
    "current_device",
    "gpu",
    "gpu_memory_info",
    "num_gpus",
]


def gpu(device_id: int = 0) -> Device:
    """Return a GPU. This only names it: creating an array on a GPU that is absent raises.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.gpu(1)
    gpu(1)
    """
    return Device("gpu", device_id)
