"""What processes import that ``multiprocessing`` starts for a program under ``forerun run --as torch``."""

import sys

# The folder is on the path of those processes. As a module of this package, the file does nothing.
if __name__ == "torchvision":
    import forerun.torch

    del sys.modules[__name__]
    forerun.torch.install()
