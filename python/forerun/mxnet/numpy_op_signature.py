"""``mxnet.numpy_op_signature``: functions by the names that MXNet's operators have."""

from __future__ import annotations

import functools
from typing import Any

__all__: list[str] = []


def _get_builtin_op(op_name: str) -> Any:
    """Return the function of an operator, such as ``_npx_relu``; None if there is none."""
    from forerun.mxnet import numpy, numpy_extension

    for prefix, module in (("_npx_", numpy_extension), ("_npi_", numpy), ("_np_", numpy)):
        if op_name.startswith(prefix):
            try:
                return functools.reduce(getattr, op_name.removeprefix(prefix).split("."), module)
            except AttributeError:
                return None
    return None
