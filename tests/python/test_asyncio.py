"""``await`` on arrays: the event loop stays responsive, errors name both lines, cancelling is safe."""

from __future__ import annotations

import asyncio
import inspect
import os

import pytest

import forerun
from forerun import np, npx

needs_workers = pytest.mark.skipif(
    os.environ.get("FORERUN_ENGINE", "async") != "async", reason="there the caller does the work"
)


def here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def slow(steps: int = 24) -> np.ndarray:
    # Products keep this value. Smaller ones would lead to denormals, which take minutes.
    w = np.full((500, 500), 1 / 500)
    x = w
    for _ in range(steps):
        x = x @ w
    return x


def test_await_gives_the_array() -> None:
    async def main() -> None:
        x = slow()
        assert await x is x
        assert await (np.ones((2,)) + 1).sum().item_async() == 4.0
        assert await np.arange(5).item_async(3) == 3
        y = np.ones((4,)) * 3
        assert (await y[1:]).tolist() == [3.0] * 3

    asyncio.run(main())


def test_a_thousand_at_once() -> None:
    async def one(k: int) -> float:
        x = np.full((70, 70), k) + 1
        number: float = await x.mean().item_async()
        return number

    async def main() -> None:
        with forerun.no_sync("error"):
            numbers = await asyncio.gather(*(one(k) for k in range(1000)))
        assert numbers == [k + 1.0 for k in range(1000)]

    asyncio.run(main())


@needs_workers
def test_many_await_one() -> None:
    async def wait(x: np.ndarray) -> np.ndarray:
        return await x

    async def main() -> None:
        x = slow()
        got = await asyncio.gather(*(wait(x) for _ in range(1000)))
        assert all(each is x for each in got)

    asyncio.run(main())


@needs_workers
def test_the_loop_stays_responsive() -> None:
    async def main() -> None:
        x = slow(60)
        turns = 0
        done = asyncio.ensure_future(x.item_async(0, 0))
        while not done.done():
            turns += 1
            await asyncio.sleep(0)
        assert turns > 2, "the loop turned while the engine worked"
        assert await done == pytest.approx(1 / 500, rel=1e-3)

    asyncio.run(main())


def test_a_failure_names_both_lines() -> None:
    async def main() -> None:
        x = np.take(np.ones((3, 2)), np.array([7]), axis=0, mode="raise")
        submitted = here() - 1
        y = x + 1
        with pytest.raises(IndexError) as raised:
            await y
        read = here() - 1
        assert f"submitted at {__file__}:{submitted}" in str(raised.value)
        assert f"read at {__file__}:{read}" in str(raised.value)
        with pytest.raises(IndexError):
            await y.sum().item_async()
        with pytest.raises(ValueError, match="size 1"):
            await np.ones((2,)).item_async()

    asyncio.run(main())


@needs_workers
def test_cancelling_is_safe() -> None:
    # The loop only logs exceptions of callbacks.
    raised: list[object] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: raised.append(context))
        x = slow(40)
        waits = [asyncio.ensure_future(x.item_async(0, 0)) for _ in range(20)]
        await asyncio.sleep(0)
        for wait in waits[::2]:
            wait.cancel()
        results = await asyncio.gather(*waits, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results[::2])
        assert len({result for result in results[1::2]}) == 1 and isinstance(results[1], float)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(slow(400).item_async(0, 0), timeout=0.001)

    asyncio.run(main())
    npx.waitall()
    assert raised == []


@needs_workers
def test_a_closed_loop_needs_no_news() -> None:
    async def main() -> None:
        left = asyncio.ensure_future(slow(40).item_async(0, 0))
        await asyncio.sleep(0)
        assert not left.done()

    asyncio.run(main())
    npx.waitall()
    test_await_gives_the_array()


def test_only_in_an_event_loop() -> None:
    with pytest.raises(RuntimeError, match="no running event loop"):
        next(np.ones((2,)).__await__())
