"""Common arguments of distributions: parameters, shape, dtype and device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from forerun import _forerun
from forerun._convert import to_array
from forerun._device import asked
from forerun._forerun import Device, default_float, dtype, float64, ndarray
from forerun._pointwise import log, maximum
from forerun._types import DTypeLike, ShapeLike
from forerun.np._common import broadcast

Parameter: TypeAlias = "float | ndarray"


class Draw:
    """Arguments of a draw: parameters, shape, dtype and device."""

    def __init__(
        self,
        op: str,
        parameters: Sequence[Any],
        size: ShapeLike | None,
        kind: DTypeLike | None,
        ctx: Device | None,
        device: Device | None,
    ) -> None:
        place = asked(op, ctx, device)
        arrays = [p if isinstance(p, (bool, int, float, ndarray)) else to_array(p) for p in parameters]
        if place is None:
            place = next((p.device for p in arrays if isinstance(p, ndarray)), None)
        self.op, self.place, self.dtype = op, place, default_float() if kind is None else dtype(kind)
        self.parameters: list[Parameter] = [
            p.as_in_ctx(place) if place is not None and isinstance(p, ndarray) else p for p in arrays
        ]
        self.shape = (
            extents(size) if size is not None else broadcast(op, *(p.shape for p in arrays if isinstance(p, ndarray)))
        )

    def at_least(self, name: str, i: int, least: float, open_end: bool = False) -> None:
        """Raise if a number is too small; arrays are not checked."""
        value = self.parameters[i]
        if not isinstance(value, ndarray) and not (value > least if open_end else value >= least):
            raise ValueError(f"{self.op}: {name} must be {'above' if open_end else 'at least'} {least:g}: {value}")

    def uniform(self) -> ndarray:
        """Draw uniform numbers above 0 and below 1."""
        drawn = _forerun.uniform(self.shape, 0.0, 1.0, self.dtype, self.place)
        # A number that was rounded to 0 lies below the next representable one.
        return maximum(drawn, 2.0**-54 if self.dtype == float64 else 2.0**-25)

    def normal(self) -> ndarray:
        """Draw standard normal numbers."""
        return _forerun.normal(self.shape, 0.0, 1.0, self.dtype, self.place)

    def exponential(self) -> ndarray:
        """Draw exponential numbers of mean 1."""
        return -log(self.uniform())

    def routine(self, name: str, parameters: Sequence[Any], shape: Sequence[int] | None = None) -> ndarray:
        """Draw with a routine of the catalogue; scalar parameters apply to all elements."""
        shape = self.shape if shape is None else shape
        given = []
        for parameter in parameters:
            if isinstance(parameter, ndarray):
                wide = parameter.astype(float64, copy=False)
                given.append(wide if wide.size == 1 else _forerun.broadcast_to(wide, shape))
            else:
                given.append(_forerun.full((), float(parameter), float64, self.place))
        return _forerun.routine(name, given, shape=shape)

    def gamma(self, alpha: Parameter) -> ndarray:
        """Draw from a gamma distribution of scale 1."""
        return self.routine("random_gamma", [alpha]).astype(self.dtype, copy=False)


def extents(size: ShapeLike) -> tuple[int, ...]:
    """Return a shape as a tuple."""
    return tuple(d.__index__() for d in size) if isinstance(size, Sequence) else (size.__index__(),)


def check_probability(op: str, p: Any) -> None:
    """Raise if a number is not a probability; arrays are not checked."""
    if not isinstance(p, ndarray) and not 0 <= p <= 1:
        raise ValueError(f"{op}: p must lie between 0 and 1: {p}")
