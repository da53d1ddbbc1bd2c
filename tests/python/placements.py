"""NumPy references for routines with masks and positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy


def compressed(x: Any, mask: Any, axis: int, count: int) -> Any:
    return x[(slice(None),) * axis + (mask,)]


def filled(base: Any, mask: Any, values: Any, axis: int) -> Any:
    made = base.copy()
    made[(slice(None),) * axis + (mask,)] = values
    return made


def positioned(*indices: Any, axes: Any, extents: Any, strides: Any) -> Any:
    return sum(index % extent * stride for index, extent, stride in zip(indices, extents, strides, strict=True))


def put(base: Any, positions: Any, values: Any, extents: Any, strides: Any, index: Any) -> Any:
    made = base.ravel().copy()
    rows = numpy.broadcast_to(values, (*positions.shape, *extents))
    for place in numpy.ndindex(positions.shape):
        for within in numpy.ndindex(*extents):
            made[positions[place] + numpy.dot(within, strides).astype(int)] = rows[place + within]
    return made.reshape(base.shape)


def is_last(positions: Any) -> Any:
    flat = positions.ravel().tolist()
    return numpy.array([place not in flat[i + 1 :] for i, place in enumerate(flat)]).reshape(positions.shape)


PLACEMENTS: dict[str, Callable[..., Any]] = {
    "nonzero": lambda mask, count: numpy.array(numpy.nonzero(numpy.atleast_1d(mask)))[: mask.ndim],
    "compress": compressed,
    "fill_chosen": filled,
    "positions": positioned,
    "put": put,
    "is_last": is_last,
}
