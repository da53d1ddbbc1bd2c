"""``mxnet.device``, and ``mxnet.context``, its name in MXNet 1."""

from forerun.npx import Device, cpu, cpu_pinned, current_device, gpu, gpu_memory_info, num_gpus

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
