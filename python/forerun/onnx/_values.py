"""Values of ONNX nodes: arrays of the engine, or NumPy arrays on the host.

Shapes and other small integers are on the host, so that a graph that computes a shape from a shape never waits. A
function that gets host arrays only computes on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from forerun import np
from forerun.onnx._wire import DTYPES

# The names of element types.
NAMES = {number: name for name, number in DTYPES.items()}
# A node: its attributes, and its inputs; None stands for one that is missing. The result is one array or several.
Call = Callable[..., Any]


def is_host(x: Any) -> bool:
    """Return whether a value is on the host."""
    return isinstance(x, (numpy.ndarray, numpy.generic))


def library(*given: Any) -> Any:
    """Return NumPy if there are host arrays only, else `np`."""
    return numpy if all(is_host(x) for x in given) else np


def host(x: Any, what: str) -> Any:
    """Return an array that must be known without computing."""
    if not is_host(x):
        raise ValueError(f"{what} depends on values")
    return x


def ints(x: Any, what: str) -> list[int]:
    """Return integers that must be known without computing."""
    return [int(one) for one in numpy.ravel(host(x, what))]


def placed(x: Any) -> Any:
    """Return an array of the engine."""
    return np.array(x, dtype=x.dtype.name) if is_host(x) else x


def axes_of(attributes: Any, axes: Any) -> tuple[int, ...] | None:
    """Return the axes of a node: an input in newer files, an attribute in older ones."""
    if axes is not None:
        return tuple(ints(axes, "axes"))
    return tuple(attributes["axes"]) if "axes" in attributes else None
