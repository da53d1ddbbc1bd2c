"""What processes import that ``multiprocessing`` starts for a program under ``forerun run --as mxnet``."""

import sys

# The folder is on the path of those processes. As a module of this package, the file does nothing.
if __name__ == "mxnet":
    import forerun.mxnet

    del sys.modules[__name__]
    forerun.mxnet.install()
