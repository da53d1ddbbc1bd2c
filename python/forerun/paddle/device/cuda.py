"""GPUs with Paddle's names. Without a GPU, ``synchronize`` waits for everything submitted."""

from __future__ import annotations

from forerun import npx
from forerun._missing import module_getattr
from forerun.paddle._place import PlaceLike

__all__ = ["device_count", "synchronize"]


def device_count() -> int:
    """Return the number of GPUs.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.device.cuda.device_count() >= 0
    True
    """
    return npx.num_gpus()


def synchronize(device: PlaceLike | int = None) -> None:
    """Wait until everything submitted so far is computed, on every device.

    Parameters
    ----------
    device : place, optional
        Accepted and ignored: all devices are waited for.

    Examples
    --------
    >>> from forerun import paddle
    >>> y = paddle.ones((1000,)) + 1
    >>> paddle.device.cuda.synchronize()
    """
    npx.waitall()


__getattr__ = module_getattr(__name__, globals(), {"Stream": "work is ordered by what it reads and writes"})
