"""``await x``: the event loop keeps running until the array is computed."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import suppress
from typing import Any, SupportsIndex

from forerun import _forerun
from forerun._forerun import Device, ndarray


def _settle(future: asyncio.Future[None]) -> None:
    # The awaiting task may have been cancelled meanwhile.
    if not future.done():
        future.set_result(None)


def settle(array: ndarray) -> Generator[Any, None, ndarray]:
    """Wait in the running event loop until the array is computed; raise if it failed."""
    loop = asyncio.get_running_loop()
    while True:
        future: asyncio.Future[None] = loop.create_future()

        def wake(future: asyncio.Future[None] = future) -> None:
            with suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(_settle, future)

        if _forerun.settled_or_call(array, wake):
            return array
        yield from future


async def item(array: ndarray, *index: SupportsIndex) -> Any:
    """Wait in the running event loop, and return the only element, or the one at an index."""
    element = array[tuple(index)] if index else array
    if element.device.device_type != "cpu":
        # The copy to the host is awaited too.
        element = element.detach().as_in_ctx(Device("cpu"))
    return _forerun.awaited_item(await element)
