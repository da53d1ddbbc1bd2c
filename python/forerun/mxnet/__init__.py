"""MXNet's API, versions 1 and 2, on Forerun arrays.

``from forerun.mxnet import autograd, gluon, np, npx`` serves programs whose imports can be changed. For others,
:func:`install` makes ``import mxnet`` find this package.

Arrays are those of ``forerun.np``. As in MXNet, arrays made from Python numbers are float32, and after :func:`install`
``asnumpy()`` returns writable copies. Importing this module does not affect other code.

Examples
--------
>>> from forerun import mxnet as mx
>>> mx.np.arange(3, ctx=mx.cpu())
array([0., 1., 2.])
"""

from __future__ import annotations

import sys as _sys
from typing import Any as _Any

from forerun import autograd, gluon, init, lr_scheduler, npx, optimizer, rtc
from forerun._forerun import __version__
from forerun._missing import lacking as _lacking
from forerun.gluon import metric
from forerun.mxnet import device, io, numpy, random, util
from forerun.mxnet import device as context
from forerun.mxnet import numpy as np
from forerun.mxnet._install import install, uninstall
from forerun.mxnet._install import modules_below as _modules_below
from forerun.mxnet.device import (
    Context,
    Device,
    cpu,
    cpu_pinned,
    current_context,
    current_device,
    gpu,
    gpu_memory_info,
    num_gpus,
)
from forerun.npx import waitall

numpy_extension = npx
initializer = init

# Makes ``from forerun.mxnet.gluon import nn`` use the existing ``gluon`` module.
_sys.modules.update(_modules_below(__name__))

__all__ = [
    "Context",
    "Device",
    "__version__",
    "autograd",
    "context",
    "cpu",
    "cpu_pinned",
    "current_context",
    "current_device",
    "device",
    "gluon",
    "gpu",
    "gpu_memory_info",
    "init",
    "initializer",
    "install",
    "io",
    "lr_scheduler",
    "metric",
    "np",
    "npx",
    "num_gpus",
    "numpy",
    "numpy_extension",
    "optimizer",
    "random",
    "rtc",
    "uninstall",
    "util",
    "waitall",
]

_HINTS = {
    "nd": "arrays are NumPy's here: mx.np",
    "ndarray": "arrays are NumPy's here: mx.np",
    "sym": "blocks are traced by hybridize()",
    "symbol": "blocks are traced by hybridize()",
    "mod": "networks are blocks here: mx.gluon",
    "kv": "there is one process",
    "kvstore": "there is one process",
}


def __getattr__(name: str) -> _Any:
    """Raise an error that suggests the nearest existing name."""
    raise _lacking(f"module {__name__!r}", name, __all__, _HINTS)
