"""ONNX nodes that select, write or order elements by indices."""

from __future__ import annotations

import math
from typing import Any

import numpy

from forerun import _forerun, np, npx
from forerun.onnx._values import NAMES, Call, host, ints, library


def top(attributes: Any, x: Any, count: Any = None) -> list[Any]:
    """Compute ``TopK``: values and indices."""
    number = attributes["k"] if count is None else ints(count, "the count")[0]
    axis = attributes.get("axis", -1) % x.ndim
    if not 0 <= number <= x.shape[axis]:
        raise ValueError(f"{number} elements of {x.shape[axis]}")
    ascending = not attributes.get("largest", 1)
    if number == 0:
        shape = tuple(0 if at == axis else extent for at, extent in enumerate(x.shape))
        return [np.zeros(shape, dtype=x.dtype), np.zeros(shape, dtype="int64")]
    return list(npx.topk(x, axis, number, "both", ascending, "int64"))


def gather_elements(attributes: Any, x: Any, places: Any) -> Any:
    """Compute ``GatherElements``."""
    axis = attributes.get("axis", 0) % x.ndim
    if places.ndim != x.ndim:
        raise ValueError(f"indices of shape {places.shape} for an array of shape {x.shape}")
    # Along other axes there may be fewer indices.
    inner = tuple(slice(None) if at == axis else slice(extent) for at, extent in enumerate(places.shape))
    return np.take_along_axis(x[inner], places, axis)


def scatter_elements(attributes: Any, x: Any, places: Any, updates: Any) -> Any:
    """Compute ``ScatterElements``."""
    axis = attributes.get("axis", 0) % x.ndim
    if places.ndim != x.ndim or updates.shape != places.shape:
        raise ValueError(f"indices of shape {places.shape} and updates of {updates.shape} for shape {x.shape}")
    places = places.astype("int64")
    others = [(a, b) for at, (a, b) in enumerate(zip(places.shape, x.shape, strict=True)) if at != axis]
    reduction = attributes.get("reduction", "none")
    if all(a == b for a, b in others) and reduction in _ROUTINES:
        return _forerun.routine(_ROUTINES[reduction], [x, places, updates], axis=axis)
    # Positions in the flat array.
    strides = [math.prod(x.shape[at + 1 :]) for at in range(x.ndim)]
    grid = numpy.indices(places.shape)
    grid[axis] = 0
    base = sum(each * stride for each, stride in zip(grid, strides, strict=True))
    flat = np.where(places < 0, places + x.shape[axis], places) * strides[axis] + np.array(base, dtype="int64")
    return _written(reduction, x.reshape(-1), flat.reshape(-1), updates.reshape(-1)).reshape(x.shape)


# The ops that write elements of an axis. Others are those of a universal function.
_ROUTINES = {"none": "put_along_axis", "add": "add_along_axis"}
_FUNCTIONS: dict[str, Any] = {"mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _written(reduction: str, flat: Any, places: Any, updates: Any) -> Any:
    """Return a vector with elements written, or combined with those that it has."""
    if reduction in _ROUTINES:
        return _forerun.routine(_ROUTINES[reduction], [flat, places, updates], axis=0)
    if reduction not in _FUNCTIONS:
        raise ValueError(f"the reduction {reduction} is not supported")
    made = flat.copy()
    _FUNCTIONS[reduction].at(made, places, updates)
    return made


def gather_nd(attributes: Any, x: Any, places: Any) -> Any:
    """Compute ``GatherND``."""
    coordinates = np.moveaxis(places.astype("int64"), -1, 0)
    shared = attributes.get("batch_dims", 0)
    if shared:
        # The first coordinates are those of the indices themselves.
        grid = np.array(numpy.indices(coordinates.shape[1:])[:shared], dtype="int64")
        coordinates = np.concatenate([grid, coordinates])
    return npx.gather_nd(x, coordinates)


def scatter_nd(attributes: Any, x: Any, places: Any, updates: Any) -> Any:
    """Compute ``ScatterND``."""
    coordinates = np.moveaxis(places.astype("int64"), -1, 0)
    reduction = attributes.get("reduction", "none")
    if reduction in _ROUTINES:
        return (npx.index_add if reduction == "add" else npx.index_update)(x, coordinates, updates)
    if reduction not in _FUNCTIONS:
        raise ValueError(f"the reduction {reduction} is not supported")
    made = x.copy()
    _FUNCTIONS[reduction].at(made, tuple(coordinates), updates)
    return made


def one_hot(attributes: Any, places: Any, depth: Any, values: Any) -> Any:
    """Compute ``OneHot``."""
    number = ints(depth, "the depth")[0]
    if number < 1:
        raise ValueError(f"a depth of {number}")
    places = places.astype("int64")
    places = np.where(places < 0, places + number, places)
    axis = attributes.get("axis", -1)
    axis += places.ndim + 1 if axis < 0 else 0
    along = numpy.arange(number).reshape(-1, *[1] * (places.ndim - axis))
    found = np.expand_dims(places, axis) == np.array(along, dtype="int64")
    return np.where(found, values[1], values[0]).astype(values.dtype.name)


def cumulative_sum(attributes: Any, x: Any, axis: Any) -> Any:
    """Compute ``CumSum``."""
    along = ints(axis, "the axis")[0]
    x = np.flip(x, along) if attributes.get("reverse", 0) else x
    made = np.cumsum(x, along, dtype=x.dtype)
    if attributes.get("exclusive", 0):
        made = made - x
    return np.flip(made, along) if attributes.get("reverse", 0) else made


def cumulative_product(attributes: Any, x: Any, axis: Any) -> Any:
    """Compute ``CumProd``."""
    if attributes.get("exclusive", 0):
        raise ValueError("exclusive products are not supported")
    along = ints(axis, "the axis")[0]
    x = np.flip(x, along) if attributes.get("reverse", 0) else x
    made = np.cumprod(x, along, dtype=x.dtype)
    return np.flip(made, along) if attributes.get("reverse", 0) else made


def reverse_sequence(attributes: Any, x: Any, lengths: Any) -> Any:
    """Compute ``ReverseSequence``."""
    batch, time = attributes.get("batch_axis", 1), attributes.get("time_axis", 0)
    if {batch, time} != {0, 1}:
        raise ValueError(f"batch_axis {batch} and time_axis {time} are not the first two axes")
    return npx.sequence_reverse(x, lengths, True, axis=time)


def trilu(attributes: Any, x: Any, diagonal: Any = None) -> Any:
    """Compute ``Trilu``."""
    offset = 0 if diagonal is None else ints(diagonal, "the diagonal")[0]
    return (np.triu if attributes.get("upper", 1) else np.tril)(x, offset)


def eye_like(attributes: Any, x: Any) -> Any:
    """Compute ``EyeLike``."""
    dtype = NAMES[attributes["dtype"]] if "dtype" in attributes else x.dtype
    rows, columns = x.shape
    return np.eye(rows, columns, k=attributes.get("k", 0), dtype=dtype)


def drawn(name: str) -> Call:
    """Return a node of random numbers; it draws other numbers in each call."""

    def call(attributes: Any, like: Any = None) -> Any:
        shape = tuple(attributes["shape"]) if like is None else like.shape
        dtype = NAMES[attributes["dtype"]] if "dtype" in attributes else "float32" if like is None else like.dtype
        if name == "normal":
            numbers = attributes.get("mean", 0.0), attributes.get("scale", 1.0)
        else:
            numbers = attributes.get("low", 0.0), attributes.get("high", 1.0)
        return getattr(np.random, name)(*numbers, size=shape).astype(dtype)

    return call


def bernoulli(attributes: Any, x: Any) -> Any:
    """Compute ``Bernoulli``."""
    dtype = NAMES[attributes["dtype"]] if "dtype" in attributes else x.dtype
    return (np.random.uniform(size=x.shape) < x).astype(dtype)


def space_to_depth(attributes: Any, x: Any) -> Any:
    """Compute ``SpaceToDepth``."""
    batch, channels, height, width = x.shape
    size = attributes["blocksize"]
    x = x.reshape(batch, channels, height // size, size, width // size, size)
    order = (0, 3, 5, 1, 2, 4) if attributes.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return x.transpose(order).reshape(batch, channels * size * size, height // size, width // size)


def depth_to_space(attributes: Any, x: Any) -> Any:
    """Compute ``DepthToSpace``."""
    batch, channels, height, width = x.shape
    size = attributes["blocksize"]
    left = channels // size**2
    if attributes.get("mode", "DCR") == "DCR":
        x = x.reshape(batch, size, size, left, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        x = x.reshape(batch, left, size, size, height, width).transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(batch, left, height * size, width * size)


def tile(_: Any, x: Any, repeats: Any) -> Any:
    """Compute ``Tile``."""
    return library(x).tile(x, tuple(ints(repeats, "the repeats")))


def compress(attributes: Any, x: Any, condition: Any) -> Any:
    """Compute ``Compress`` for a condition that is known."""
    places = numpy.flatnonzero(host(condition, "the result's shape"))
    x = x if "axis" in attributes else x.reshape(-1)
    return library(x).take(x, places if library(x) is numpy else np.array(places), axis=attributes.get("axis", 0))
