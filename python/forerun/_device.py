"""Device arguments: ``ctx`` and ``device`` are synonyms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, TypeVar

from forerun._forerun import Device, current_device, named_device

DeviceLike: TypeAlias = "Device | Sequence[Device] | None"

_T = TypeVar("_T", "Device | None", "Device | Sequence[Device] | None")


def asked(op: str, ctx: _T, device: _T) -> _T:
    """Return the device that either argument names, or None. Strings are accepted: ``"cpu"``, ``"gpu:1"``."""
    if ctx is not None and device is not None:
        raise TypeError(f"{op}: ctx and device are the same argument: give one")
    given = device if ctx is None else ctx
    return named_device(given) if isinstance(given, str) else given


def all_devices(op: str, ctx: DeviceLike, device: DeviceLike) -> list[Device]:
    """Return the devices that either argument names, each once, or the current one."""
    given = asked(op, ctx, device)
    if given is None:
        return [current_device()]
    if isinstance(given, Device):
        return [given]
    devices = list(dict.fromkeys(given))
    if not devices:
        raise ValueError(f"{op}: no devices are given")
    return devices
