"""What processes import that ``multiprocessing`` starts for a program under ``forerun run --as torch``."""

import sys

import forerun.torch

del sys.modules[__name__]
forerun.torch.install()
