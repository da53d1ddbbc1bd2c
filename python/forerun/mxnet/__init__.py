"""MXNet's API, versions 1 and 2, on Forerun arrays.

``from forerun.mxnet import autograd, gluon, np, npx`` serves programs whose imports can be changed. For others,
:func:`install` makes ``import mxnet`` find this package.

Arrays are those of ``forerun.np``. As in MXNet, arrays made from Python numbers are float32; :func:`install` lists what
else follows MXNet from then on. Importing this module does not affect other code.

Examples
--------
>>> from forerun import mxnet as mx
>>> mx.np.arange(3, ctx=mx.cpu())
array([0., 1., 2.])
"""

from __future__ import annotations

import sys as _sys
from typing import Any as _Any

from forerun import autograd, gluon, image, init, lr_scheduler, onnx, optimizer, recordio, rtc
from forerun._forerun import __version__
from forerun._missing import cover as _cover
from forerun._missing import lacking as _lacking
from forerun.gluon import metric
from forerun.mxnet import (
    attribute,
    base,
    device,
    engine,
    error,
    io,
    name,
    ndarray,
    numpy,
    numpy_extension,
    operator,
    profiler,
    random,
    runtime,
    symbol,
    util,
)
from forerun.mxnet import device as context
from forerun.mxnet import ndarray as nd
from forerun.mxnet import numpy as np
from forerun.mxnet import numpy_extension as npx
from forerun.mxnet import symbol as sym
from forerun.mxnet._install import install, uninstall
from forerun.mxnet._install import modules_below as _modules_below
from forerun.mxnet.attribute import AttrScope
from forerun.mxnet.base import MXNetError
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
from forerun.mxnet.util import (
    is_np_array,
    is_np_default_dtype,
    is_np_shape,
    np_array,
    np_shape,
    set_np,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_shape,
)
from forerun.npx import waitall

img = image
initializer = init
rnd = random

# Makes ``from forerun.mxnet.gluon import nn`` use the existing ``gluon`` module.
_sys.modules.update(_modules_below(__name__))

__all__ = [
    "AttrScope",
    "Context",
    "Device",
    "MXNetError",
    "__version__",
    "amp",
    "attribute",
    "autograd",
    "base",
    "context",
    "cpu",
    "cpu_pinned",
    "current_context",
    "current_device",
    "device",
    "engine",
    "error",
    "gluon",
    "gpu",
    "gpu_memory_info",
    "image",
    "img",
    "init",
    "initializer",
    "install",
    "io",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "lr_scheduler",
    "metric",
    "name",
    "nd",
    "ndarray",
    "np",
    "np_array",
    "np_shape",
    "npx",
    "num_gpus",
    "numpy",
    "numpy_extension",
    "onnx",
    "operator",
    "optimizer",
    "profiler",
    "random",
    "recordio",
    "rtc",
    "runtime",
    "set_np",
    "set_np_shape",
    "sym",
    "symbol",
    "test_utils",
    "uninstall",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "util",
    "waitall",
]

_HINTS = {
    "callback": "use forerun.gluon.contrib.estimator's event handlers",
    "contrib": "mx.onnx and mx.amp are here, and its ops in mx.nd.contrib and mx.npx",
    "executor": "networks are blocks here: mx.gluon",
    "library": "libraries of ops are not loaded; mx.rtc compiles kernels",
    "model": "networks are blocks here: mx.gluon",
    "monitor": "use Block.register_op_hook",
    "notebook": "use forerun.gluon.contrib.estimator's event handlers",
    "storage": "forerun.memory_stats() says what uses memory",
    "visualization": "Block.summary prints a network",
    "viz": "Block.summary prints a network",
    "mod": "networks are blocks here: mx.gluon",
    "module": "networks are blocks here: mx.gluon",
    "kv": "there is one process",
    "kvstore": "there is one process",
}


def __getattr__(name: str) -> _Any:
    """Raise an error that suggests the nearest existing name."""
    raise _lacking(f"module {__name__!r}", name, __all__, _HINTS)


_cover(__name__)
