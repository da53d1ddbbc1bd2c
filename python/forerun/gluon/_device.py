"""Devices as arguments: ``ctx`` and ``device`` are two spellings of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from forerun._forerun import Device
from forerun.npx import current_device

DeviceLike: TypeAlias = "Device | Sequence[Device] | None"


def one_device(op: str, ctx: DeviceLike, device: DeviceLike) -> Device:
    """Return the device asked for by either spelling, or the current one."""
    if ctx is not None and device is not None:
        raise TypeError(f"{op}: ctx and device are the same argument: give one")
    asked = device if ctx is None else ctx
    if asked is None:
        return current_device()
    if isinstance(asked, Device):
        return asked
    devices = list(dict.fromkeys(asked))
    if len(devices) != 1:
        raise ValueError(f"{op}: a parameter lives on one device, got {devices}")
    return devices[0]
