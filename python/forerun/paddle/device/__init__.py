"""Devices with Paddle's names."""

from forerun import npx as _npx
from forerun._forerun import set_device as _set_device
from forerun._missing import module_getattr as _module_getattr
from forerun.paddle._place import to_device as _to_device
from forerun.paddle.device import cuda

__all__ = ["cuda", "get_device", "is_compiled_with_cuda", "set_device", "synchronize"]


def get_device() -> str:
    """Return the name of the device on which new tensors are created.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.device.get_device()
    'cpu'
    """
    device = _npx.current_device()
    return "cpu" if device.device_type == "cpu" else f"gpu:{device.device_id}"


def set_device(device: str) -> str:
    """Set the device for new tensors of this thread; raise if it is absent.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.device.set_device("cpu")
    'cpu'
    """
    _set_device(_to_device(device))
    return get_device()


def is_compiled_with_cuda() -> bool:
    """Return whether there is a GPU.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.device.is_compiled_with_cuda() == (paddle.device.cuda.device_count() > 0)
    True
    """
    return _npx.num_gpus() > 0


synchronize = cuda.synchronize

__getattr__ = _module_getattr(__name__, globals(), {})
