"""Devices with PyTorch's names: ``cpu`` and ``cuda:0``."""

from __future__ import annotations

import threading
from typing import TypeAlias

from forerun import npx


class device:
    """A device of tensors.

    Parameters
    ----------
    type : str
        ``"cpu"`` or ``"cuda"``, with or without a number: ``"cuda:1"``.
    index : int, optional
        The number, if it does not stand in ``type``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.device("cuda:1")
    device(type='cuda', index=1)
    >>> torch.device("cpu") == torch.device("cpu")
    True
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, type: str | device, index: int | None = None) -> None:
        name, colon, number = str(type).partition(":")
        if name not in ("cpu", "cuda") or (colon and (index is not None or not number.isdecimal())):
            raise RuntimeError(f"device: {type!r} is neither 'cpu' nor 'cuda' with or without a number")
        self.type = name
        self.index = int(number) if colon else index

    def __eq__(self, other: object) -> bool:
        """Return whether both name the same device."""
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        """Return a hash that is consistent with equality."""
        return hash((self.type, self.index))

    def __str__(self) -> str:
        """Return the text that the constructor accepts."""
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        """Return PyTorch's notation."""
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"


DeviceLike: TypeAlias = "device | str | int | None"


class _Chosen(threading.local):
    gpu = 0


# The GPU that "cuda" without a number refers to.
CHOSEN = _Chosen()


def to_device(place: DeviceLike) -> npx.Device:
    """Return the engine's device; raise if it is absent."""
    if place is None:
        return npx.current_device()
    named = device("cuda", place) if isinstance(place, int) else device(place)
    if named.type == "cpu":
        return npx.cpu(named.index or 0)
    return npx.gpu(CHOSEN.gpu if named.index is None else named.index)


def from_device(place: npx.Device) -> device:
    """Return PyTorch's name of one of the engine's devices."""
    if place.device_type == "cpu":
        return device("cpu", place.device_id or None)
    return device("cuda", place.device_id)
