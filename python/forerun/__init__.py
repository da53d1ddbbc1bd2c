"""Forerun: asynchronous arrays that run ahead.

Every operation returns at once with a handle; the engine computes on its own threads. Reading a value waits for it.

Examples
--------
>>> from forerun import np, npx
>>> x = np.ones((1, 2))
>>> y = np.ones((1, 2))
>>> z = x * y + 2
>>> z
array([[3., 3.]])
"""

from __future__ import annotations

import atexit as _atexit
import os.path as _path
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from forerun import _forerun

# Locs name the user's lines: those of the files in these folders are passed over.
_HERE = _path.dirname(_path.abspath(__file__))
_FOLDERS = [
    "np",
    "_dialect",
    "d2l",
    "gluon",
    "gluon/data",
    "gluon/nn",
    "mxnet",
    "mxnet/numpy",
    "paddle",
    "paddle/device",
    "paddle/nn",
    "torch",
    "torch/nn",
    "torch/utils",
]
_forerun.pass_over([_HERE, *(_path.join(_HERE, *folder.split("/")) for folder in _FOLDERS)])

# CUDA's libraries may have come with packages of their own.
_forerun.search_cuda_in([entry for entry in _sys.path if entry])
# A library that compiles kernels must be left before the process takes it down.
_atexit.register(_forerun.end_background)

from forerun import engine, np, npx  # noqa: E402
from forerun._blockers import SyncWarning, blockers, last_wait, no_sync, reset_blockers  # noqa: E402
from forerun._forerun import __version__  # noqa: E402
from forerun._nonfinite import detect_nonfinite  # noqa: E402
from forerun._trace import start_trace, stop_trace, trace  # noqa: E402
from forerun.engine import (  # noqa: E402
    empty_cache,
    memory_stats,
    num_threads,
    reset_peak,
    set_budget,
    set_num_threads,
    stats,
)

if _TYPE_CHECKING:
    from forerun import autograd, gluon, init, lr_scheduler, optimizer

# Imported when they are asked for: a program of arrays alone does not pay for networks.
_LATER = ("autograd", "gluon", "init", "lr_scheduler", "optimizer")

__all__ = [
    "SyncWarning",
    "__version__",
    "autograd",
    "blockers",
    "detect_nonfinite",
    "empty_cache",
    "engine",
    "gluon",
    "init",
    "last_wait",
    "lr_scheduler",
    "memory_stats",
    "no_sync",
    "np",
    "npx",
    "num_threads",
    "optimizer",
    "reset_blockers",
    "reset_peak",
    "set_budget",
    "set_num_threads",
    "start_trace",
    "stats",
    "stop_trace",
    "trace",
]


def __getattr__(name: str) -> _Any:
    """Import a module of the package when it is asked for."""
    if name in _LATER:
        import importlib

        return importlib.import_module(f"forerun.{name}")
    raise AttributeError(f"module 'forerun' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, those of modules not yet imported included."""
    return sorted({*__all__, *_LATER})
