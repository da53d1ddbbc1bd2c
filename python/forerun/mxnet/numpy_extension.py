"""``mxnet.npx``: the functions of ``forerun.npx``, and those that differ in MXNet."""

from __future__ import annotations

import os
from typing import Any

from forerun import np as _np
from forerun import npx as _npx
from forerun._forerun import ndarray
from forerun._missing import lacking as _lacking
from forerun.mxnet.device import gpu
from forerun.mxnet.ndarray.random import categorical as _categorical
from forerun.mxnet.operator import custom as Custom
from forerun.mxnet.util import is_np_array, is_np_shape

__all__ = ["Custom", "batch_norm", "gpu", "is_np_array", "is_np_shape", "save"]
__all__ += [name for name in _npx.__all__ if name not in __all__]


def save(file: str | os.PathLike[str], arr: Any) -> None:
    """Write an array in NumPy's ``.npy`` format, or arrays by name in its ``.npz`` format. Waits for their values.

    ``npx.load`` and ``numpy.load`` read the file. A list of arrays, which MXNet 1 accepts and NumPy has no format for,
    is written as ``forerun.npx.save`` does.

    Parameters
    ----------
    file
        The file. Nothing is added to its name.
    arr
        An array, a list of arrays, or a mapping from names to arrays.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import mxnet as mx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mx.npx.save(os.path.join(folder, "w"), {"w": mx.np.ones((2,))})
    ...     mx.npx.load(os.path.join(folder, "w"))
    {'w': array([1., 1.])}
    """
    if isinstance(arr, (list, tuple)):
        _npx.save(file, arr)
        return
    with open(file, "wb") as opened:
        if isinstance(arr, ndarray):
            _np.save(opened, arr)
        else:
            _np.savez(opened, **arr)


def batch_norm(*args: Any, cudnn_off: bool = False, **named: Any) -> Any:
    """Normalise over batches, as ``forerun.npx.batch_norm`` does.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> x, one, zero = mx.np.ones((2, 1)), mx.np.ones((1,)), mx.np.zeros((1,))
    >>> mx.npx.batch_norm(x, one, zero, zero, one, cudnn_off=True).shape
    (2, 1)
    """
    return _npx.batch_norm(*args, **named)


class random:
    """``npx.random``: the samplers of ``forerun.npx.random``, and categories.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.npx.random.categorical(mx.np.array([[0, 1], [1, 0]]))
    array([1, 0], dtype=int32)
    """

    categorical = multinomial = staticmethod(_categorical)


for _name in _npx.random.__all__:
    setattr(random, _name, staticmethod(getattr(_npx.random, _name)))


def __getattr__(name: str) -> Any:
    """Return any other name of ``forerun.npx``."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(_npx, name)
    except AttributeError:
        raise _lacking(f"module {__name__!r}", name, __all__, {}) from None


def __dir__() -> list[str]:
    """List the names."""
    return sorted(__all__)
