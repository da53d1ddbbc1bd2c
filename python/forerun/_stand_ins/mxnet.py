"""What processes import that ``multiprocessing`` starts for a program under ``forerun run --as mxnet``."""

import sys

import forerun.mxnet

del sys.modules[__name__]
forerun.mxnet.install()
