"""Devices with Paddle's names: ``cpu`` and ``gpu:0``."""

from __future__ import annotations

from typing import Any, TypeAlias

from forerun import npx


class CPUPlace:
    """The host.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.CPUPlace()
    Place(cpu)
    """

    def __eq__(self, other: object) -> bool:
        """Return whether both name the same device."""
        return isinstance(other, CPUPlace)

    def __hash__(self) -> int:
        """Return a hash that is consistent with equality."""
        return hash("cpu")

    def __repr__(self) -> str:
        """Return Paddle's notation."""
        return "Place(cpu)"


class CUDAPlace:
    """A GPU.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.CUDAPlace(1)
    Place(gpu:1)
    """

    def __init__(self, id: int) -> None:
        self.id = id

    def __eq__(self, other: object) -> bool:
        """Return whether both name the same device."""
        return isinstance(other, CUDAPlace) and self.id == other.id

    def __hash__(self) -> int:
        """Return a hash that is consistent with equality."""
        return hash(("gpu", self.id))

    def __repr__(self) -> str:
        """Return Paddle's notation."""
        return f"Place(gpu:{self.id})"


PlaceLike: TypeAlias = "CPUPlace | CUDAPlace | str | None"


def to_device(place: PlaceLike) -> npx.Device:
    """Return the engine's device; raise if it is absent."""
    if place is None:
        return npx.current_device()
    if isinstance(place, CPUPlace) or place == "cpu":
        return npx.cpu()
    if isinstance(place, CUDAPlace):
        return npx.gpu(place.id)
    name, colon, number = place.partition(":")
    if name != "gpu" or not (number or "0").isdecimal():
        raise ValueError(f"device: {place!r} is neither 'cpu' nor 'gpu' with or without a number")
    current = npx.current_device()
    # Without a number it is the current device, if that is a GPU.
    return current if not colon and current.device_type == "gpu" else npx.gpu(int(number or 0))


def is_place(value: Any) -> bool:
    """Return whether a value names a device, and not a dtype."""
    return isinstance(value, (CPUPlace, CUDAPlace)) or (isinstance(value, str) and value[:3] in ("cpu", "gpu"))


def from_device(device: npx.Device) -> CPUPlace | CUDAPlace:
    """Return Paddle's name of one of the engine's devices."""
    return CPUPlace() if device.device_type == "cpu" else CUDAPlace(device.device_id)
