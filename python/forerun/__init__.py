"""Forerun: asynchronous arrays that run ahead.

Every operation returns immediately with a handle; the engine computes on its own threads. Reading a value waits for it.

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
import os as _os
import os.path as _path
import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from forerun import _forerun

# Locs name the user's lines: those of files under the package's root are skipped.
# Not normalised: code objects name their files as the import system found them.
_forerun.pass_over(_path.dirname(__file__), _path.dirname(_os.__file__))

# CUDA libraries may be installed as separate Python packages.
_forerun.search_cuda_in([entry for entry in _sys.path if entry])
# Background compilation must stop before the process unloads the compiler's library.
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
    from forerun import autograd, gluon, image, init, lr_scheduler, optimizer, recordio, rtc
    from forerun import d2l as d2l
    from forerun import mxnet as mxnet
    from forerun import onnx as onnx
    from forerun import paddle as paddle
    from forerun import torch as torch
    from forerun._profile import profile as profile

# Imported lazily, so that programs that only use arrays do not pay for networks and dialects.
_LATER = (
    "autograd",
    "d2l",
    "gluon",
    "image",
    "init",
    "lr_scheduler",
    "mxnet",
    "onnx",
    "optimizer",
    "paddle",
    "recordio",
    "rtc",
    "torch",
)

__all__ = [
    "SyncWarning",
    "__version__",
    "autograd",
    "blockers",
    "detect_nonfinite",
    "empty_cache",
    "engine",
    "gluon",
    "image",
    "init",
    "last_wait",
    "lr_scheduler",
    "memory_stats",
    "no_sync",
    "np",
    "npx",
    "num_threads",
    "optimizer",
    "profile",
    "recordio",
    "reset_blockers",
    "reset_peak",
    "rtc",
    "set_budget",
    "set_num_threads",
    "start_trace",
    "stats",
    "stop_trace",
    "trace",
]


def load_ipython_extension(shell: _Any) -> None:
    """Add the magic ``%%forerun_profile`` to an IPython shell; called by ``%load_ext forerun``."""
    from forerun import _notebook

    _notebook.load(shell)


def __getattr__(name: str) -> _Any:
    """Import a submodule on first access."""
    if name in _LATER:
        import importlib

        return importlib.import_module(f"forerun.{name}")
    if name == "profile":
        from forerun._profile import profile

        return globals().setdefault(name, profile)
    if name.startswith("_"):
        raise AttributeError(f"module 'forerun' has no attribute {name!r}")
    from forerun._missing import lacking

    raise lacking("module 'forerun'", name, __all__, {})


def __dir__() -> list[str]:
    """List the public names, including modules that are not imported yet."""
    return sorted({*__all__, *_LATER})
