"""What processes import that ``multiprocessing`` starts for a program under ``forerun run --as paddle``."""

import sys

import forerun.paddle

del sys.modules[__name__]
forerun.paddle.install()
