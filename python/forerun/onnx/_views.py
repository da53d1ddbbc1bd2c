"""Strided views as reshapes, slices, transposes and broadcasts.

A view has a shape, strides and an offset, counted in elements of a row-major array. ONNX has no strides, so a view
becomes: a reshape whose axes have the *places* (strides) of the view's axes, a slice, a transpose, and an expansion of
the axes with stride 0. This module computes their numbers for one batch size. It knows no files and no arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Steps(NamedTuple):
    """The steps of a view. Steps that change nothing are listed too, so that two batch sizes have the same form."""

    # The axes of the reshaped array.
    extents: tuple[int, ...]
    # Of each axis: first element, end, distance. The distance is negative if the axis is reversed.
    slices: tuple[tuple[int, int, int], ...]
    # The axes that stay, in the order of the view.
    order: tuple[int, ...]

    def numbers(self) -> tuple[int, ...]:
        """Return the integers that may depend on the batch size."""
        return (*self.extents, *(number for begin, end, _ in self.slices for number in (begin, end)))

    def form(self) -> tuple[object, ...]:
        """Return what must not depend on the batch size."""
        return len(self.extents), tuple(distance for _, _, distance in self.slices), self.order


class _Axis(NamedTuple):
    """An axis of a view with more than one element."""

    number: int
    extent: int
    stride: int
    reversed: bool


def steps(base: Sequence[int], shape: Sequence[int], strides: Sequence[int], offset: int) -> Steps | None:
    """Return the steps that make a view of a row-major array, or None if there are none."""
    axes = []
    for number, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
        if extent > 1 and stride:
            axes.append(_Axis(number, extent, abs(stride), stride < 0))
            offset += (extent - 1) * stride if stride < 0 else 0
    size = math.prod(base)
    for places in _candidates(base, axes):
        found = _with_places(size, places, axes, offset)
        if found is not None:
            return found
    return None


def _candidates(base: Sequence[int], axes: Sequence[_Axis]) -> Iterator[list[int]]:
    """Return places to try, each in descending order and ending with 1."""
    own = {axis.stride for axis in axes} | {1}
    given, place = set(), 1
    for extent in reversed(base):
        given.add(place)
        place *= extent
    # Axes of the array that an axis of the view joins are no places.
    outer = {place for place in given if not any(axis.stride < place < axis.stride * axis.extent for axis in axes)} | {
        1
    }
    for places in (outer | own, own, outer, given | own, given):
        yield sorted(places, reverse=True)


def _with_places(size: int, places: Sequence[int], axes: Sequence[_Axis], offset: int) -> Steps | None:
    """Return the steps with these places, if every axis of the view lies within an axis of the reshaped array."""
    above, extents, starts = size, [], []
    for place in places:
        if above % place:
            return None
        extents.append(above // place)
        start, offset = divmod(offset, place)
        starts.append(start)
        above = place
    slices = [(start, start + 1, 1) for start in starts]
    held: dict[int, int] = {}
    for axis in axes:
        # The nearest place that divides the stride.
        at = next((at for at, place in enumerate(places) if place <= axis.stride and axis.stride % place == 0), None)
        if at is None or at in held:
            return None
        held[at] = axis.number
        distance = axis.stride // places[at]
        end = starts[at] + distance * (axis.extent - 1) + 1
        slices[at] = (starts[at], end, -distance if axis.reversed else distance)
    if any(end > extent for (_, end, _), extent in zip(slices, extents, strict=True)):
        return None
    # Axes of the array that the view does not have are dropped.
    kept = [at for at, extent in enumerate(extents) if at in held or extent > 1]
    position = {at: number for number, at in enumerate(kept)}
    order = sorted(held, key=lambda at: held[at])
    return Steps(
        tuple(extents[at] for at in kept), tuple(slices[at] for at in kept), tuple(position[at] for at in order)
    )
