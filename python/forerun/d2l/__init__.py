"""The timing helpers of the book *Dive into Deep Learning*, so that its programs run with their imports changed.

The book's own package has one module a framework, and so has this one: ``from forerun.d2l import mxnet as d2l``,
``torch as d2l``, ``paddle as d2l``. Without a framework the names are those of MXNet, in which the book began.
"""

from forerun.d2l import mxnet
from forerun.d2l.mxnet import try_all_gpus, try_gpu
from forerun.d2l.timing import Benchmark, Timer, benchmark

__all__ = ["Benchmark", "Timer", "benchmark", "mxnet", "try_all_gpus", "try_gpu"]
