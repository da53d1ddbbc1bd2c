"""``mxnet.device``, and ``mxnet.context`` as its first generation calls it."""

from forerun.npx import Device, cpu, current_device, gpu, num_gpus

Context = Device
current_context = current_device

__all__ = ["Context", "Device", "cpu", "current_context", "current_device", "gpu", "num_gpus"]
