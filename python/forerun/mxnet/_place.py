"""Where a new array lives, in the words of both generations of MXNet: ``ctx`` and ``device``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from forerun._forerun import Device, ndarray


def place(array: ndarray, ctx: Device | None, device: Device | None) -> ndarray:
    """Give an array on a device."""
    wanted = ctx if device is None else device
    return array if wanted is None else array.as_in_ctx(wanted)


def placed(make: Callable[..., ndarray]) -> Callable[..., ndarray]:
    """Let a function that makes arrays take a ``ctx`` or a ``device``."""

    @functools.wraps(make)
    def made(*args: Any, ctx: Device | None = None, device: Device | None = None, **options: Any) -> ndarray:
        return place(make(*args, **options), ctx, device)

    return made
