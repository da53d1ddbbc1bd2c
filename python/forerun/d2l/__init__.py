"""The timing helpers of the book *Dive into Deep Learning*, so that its programs run with only their imports changed.

Like the book's own package, this one has a module per framework: ``from forerun.d2l import mxnet as d2l``,
``torch as d2l``, ``paddle as d2l``. Without a framework the names are those of MXNet, in which the book began.
"""

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.d2l import mxnet
from forerun.d2l.mxnet import try_all_gpus, try_gpu
from forerun.d2l.timing import Benchmark, Timer, benchmark

__all__ = ["Benchmark", "Timer", "benchmark", "mxnet", "try_all_gpus", "try_gpu"]

# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
