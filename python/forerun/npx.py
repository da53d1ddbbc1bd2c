"""Functions beyond NumPy: waiting, devices, and functions for layers."""

from __future__ import annotations

import typing as _typing

from forerun import (
    _adapters,
    _attention,
    _boxes,
    _constraints,
    _control,
    _forerun,
    _images,
    _interleaved,
    _layers,
    _masked,
    _multibox,
    _pointwise_npx,
    _recurrent,
    _regions,
    _routines_npx,
    _sampling,
    _sequences,
    _sliding,
    _windows,
)
from forerun import _npx_image as image
from forerun import _npx_random as random
from forerun._adapters import *  # noqa: F403
from forerun._attention import *  # noqa: F403
from forerun._boxes import *  # noqa: F403
from forerun._constraints import *  # noqa: F403
from forerun._control import *  # noqa: F403
from forerun._files import load, save
from forerun._forerun import Device
from forerun._images import *  # noqa: F403
from forerun._interleaved import *  # noqa: F403
from forerun._layers import *  # noqa: F403
from forerun._masked import *  # noqa: F403
from forerun._missing import module_getattr as _module_getattr
from forerun._multibox import *  # noqa: F403
from forerun._pointwise_npx import *  # noqa: F403
from forerun._recurrent import *  # noqa: F403
from forerun._regions import *  # noqa: F403
from forerun._routines_npx import *  # noqa: F403
from forerun._sampling import *  # noqa: F403
from forerun._sequences import *  # noqa: F403
from forerun._sliding import *  # noqa: F403
from forerun._windows import *  # noqa: F403

__all__ = [
    "Device",
    "cancel_pending",
    "cpu",
    "cpu_pinned",
    "current_device",
    "gpu",
    "gpu_memory_info",
    "image",
    "is_np_default_dtype",
    "load",
    "num_gpus",
    "random",
    "reset_np",
    "save",
    "seed",
    "set_np",
    "waitall",
]
__all__ += _adapters.__all__
__all__ += _attention.__all__
__all__ += _boxes.__all__
__all__ += _constraints.__all__
__all__ += _control.__all__
__all__ += _images.__all__
__all__ += _interleaved.__all__
__all__ += _layers.__all__
__all__ += _masked.__all__
__all__ += _multibox.__all__
__all__ += _pointwise_npx.__all__
__all__ += _recurrent.__all__
__all__ += _regions.__all__
__all__ += _routines_npx.__all__
__all__ += _sampling.__all__
__all__ += _sequences.__all__
__all__ += _sliding.__all__
__all__ += _windows.__all__


def cancel_pending() -> None:
    """Cancel everything that was submitted, by any thread, and has not started.

    Running ops finish. Reading a cancelled array raises ``RuntimeError``; ``waitall`` does not raise for it. Ops
    submitted afterwards run normally.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.ones((1000, 1000))
    >>> for _ in range(100):
    ...     x = x @ x * 0.001
    >>> npx.cancel_pending()
    >>> npx.waitall()
    >>> np.ones((2,)) + 1
    array([2., 2.])
    """
    _forerun.cancel_pending()


def waitall() -> None:
    """Wait until everything submitted so far is computed.

    Raises all errors that have not been read: a single one directly, several as a group.

    Examples
    --------
    >>> from forerun import np, npx
    >>> y = np.ones((1000,)) + 1
    >>> npx.waitall()
    """
    _forerun.wait_all()


def cpu(device_id: int = 0) -> Device:
    """Return a host device.

    Examples
    --------
    >>> from forerun import npx
    >>> npx.cpu()
    cpu(0)
    """
    return Device("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Device:
    """Return a host device; for compatibility with MXNet. GPUs copy from any host memory.

    Examples
    --------
    >>> from forerun import npx
    >>> npx.cpu_pinned()
    cpu(0)
    """
    return cpu(device_id)


def gpu(device_id: int = 0) -> Device:
    """Return a GPU; raise if it is absent.

    Examples
    --------
    >>> from forerun import npx
    >>> npx.gpu(100)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: no device gpu(100): ...
    """
    device = Device("gpu", device_id)
    _forerun.require_device(device)
    return device


def num_gpus() -> int:
    """Return the number of GPUs.

    Examples
    --------
    >>> from forerun import npx
    >>> npx.num_gpus() >= 0
    True
    """
    return _forerun.num_gpus()


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Return the free and total bytes of a GPU's memory.

    Examples
    --------
    >>> from forerun import npx
    >>> npx.gpu_memory_info(100)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: no device gpu(100): ...
    """
    return _forerun.gpu_memory_info(Device("gpu", device_id))


def current_device() -> Device:
    """Return the device on which new arrays are created.

    Examples
    --------
    >>> from forerun import npx
    >>> npx.current_device()
    cpu(0)
    >>> with npx.cpu(1):
    ...     npx.current_device()
    cpu(1)
    """
    return _forerun.current_device()


def seed(seed: int) -> None:
    """Seed the random numbers of this thread.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.seed(1)
    >>> x = np.random.normal(size=(2,))
    >>> npx.seed(1)
    >>> bool((x == np.random.normal(size=(2,))).min())
    True
    """
    _forerun.seed(seed)


def set_np(shape: bool = True, array: bool = True, dtype: bool | None = None) -> None:
    """Set the default float dtype; NumPy's shape and array semantics are always on.

    The default float is the dtype of new arrays, of Python floats, and of the results of float functions on integers.
    It applies to the whole process: float32, or the value of the environment variable ``FORERUN_DEFAULT_DTYPE``.
    Existing arrays keep their dtype, so call this before creating arrays.

    Parameters
    ----------
    shape, array
        Accepted as True only.
    dtype
        Whether the default float is float64, as in NumPy; None leaves it unchanged.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.set_np(dtype=True)
    >>> np.ones(2).dtype
    dtype('float64')
    >>> npx.reset_np()
    """
    if not (shape and array):
        raise ValueError("set_np: only NumPy's shapes and arrays are supported")
    if dtype is not None:
        _forerun.set_default_float(dtype)


def reset_np() -> None:
    """Make float32 the default float again.

    Examples
    --------
    >>> from forerun import npx
    >>> npx.reset_np()
    >>> npx.is_np_default_dtype()
    False
    """
    _forerun.set_default_float(False)


def is_np_default_dtype() -> bool:
    """Return whether the default float is float64, as in NumPy.

    Examples
    --------
    >>> from forerun import npx
    >>> npx.is_np_default_dtype()
    False
    """
    return _forerun.default_float() == "float64"


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
