"""``mxnet.nd``: the names of MXNet 1 that programs written for Gluon still use, on the arrays of ``mxnet.np``.

There is one kind of array, with NumPy's operators: comparisons by operator give booleans and reductions of everything
give arrays without dimensions. The functions here take the arguments of MXNet 1, and comparisons by function give 0 and
1 in the dtype of the operands. A name that is neither here nor spelt otherwise is looked up in ``mxnet.np`` and ``npx``.
"""

from __future__ import annotations

from typing import Any

from forerun._missing import lacking as _lacking
from forerun.mxnet.ndarray import _creation, _functions, _internal, contrib, ndarray, random
from forerun.mxnet.ndarray._creation import *  # noqa: F403
from forerun.mxnet.ndarray._functions import *  # noqa: F403
from forerun.mxnet.ndarray._names import found as _found
from forerun.mxnet.ndarray._names import hints as _hints
from forerun.mxnet.ndarray.ndarray import NDArray
from forerun.npx import image, waitall

__all__ = ["NDArray", "contrib", "image", "ndarray", "random", "waitall"]
__all__ += _creation.__all__
__all__ += _functions.__all__


def __getattr__(name: str) -> Any:
    """Return the function that MXNet 1 calls so, or a name of ``mxnet.np`` or ``npx``."""
    if name == "op":
        import sys

        return sys.modules[__name__]
    value = _found(name)
    if value is None:
        raise _lacking(f"module {__name__!r}", name, __all__, _hints)
    return value
