"""Tools on devices: no_sync, traces, blockers, NaN checks, cancelling, event loops."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import os
import pathlib

import pytest

import forerun
from forerun import engine, np, npx

GPU, OTHER = npx.gpu(0), npx.gpu(1)

needs_async = pytest.mark.skipif(
    os.environ.get("FORERUN_ENGINE") == "sync", reason="there every op runs before the next is submitted"
)


def here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def chain(device: npx.Device, length: int = 20) -> np.ndarray:
    x = w = np.full((200, 200), 1e-3, ctx=device)
    for _ in range(length):
        x = x @ w
    return x


def test_submissions_and_transfers_are_never_refused() -> None:
    with forerun.no_sync("error"):
        x = np.ones((4, 4), ctx=GPU) * 2
        y = x.as_in_ctx(OTHER) @ np.ones((4, 4), ctx=OTHER)
        x[:] = y
        z = y.copyto(npx.cpu())
        for read in (x.item, x.asnumpy, x.wait_to_read, x.tolist, npx.waitall, lambda: repr(x)):
            with pytest.raises(RuntimeError, match="waits inside no_sync"):
                read()
    assert z.tolist() == x.tolist() == [[8.0] * 4] * 4


def test_a_refusal_names_the_op_and_not_the_copy() -> None:
    x = np.ones((4,), ctx=GPU).sum()
    line = here() - 1
    with forerun.no_sync("error"), pytest.raises(RuntimeError) as raised:
        x.item()
    assert str(raised.value).splitlines()[:2] == [
        "item: waits inside no_sync, for sum",
        f"  submitted at {__file__}:{line}",
    ]


@needs_async
def test_a_blocker_names_the_op_and_not_the_copy() -> None:
    forerun.reset_blockers()
    y = chain(GPU)
    y[0].asnumpy()
    read = here() - 1
    (row,) = [row for row in forerun.blockers() if row.file == __file__]
    assert (row.line, row.call, row.count, row.longest.op) == (read, "asnumpy", 1, "matmul")


def test_a_trace_has_what_devices_did(tmp_path: pathlib.Path) -> None:
    with forerun.trace() as trace:
        y = chain(GPU, 3).as_in_ctx(OTHER)
        z = np.tanh(y).sum()
        z.item()
    trace.save(str(tmp_path / "trace.json"))
    text = (tmp_path / "trace.json").read_text()
    for op in ("matmul", "transfer", "tanh", "sum"):
        assert op in text
    ran = {event.thread: [] for event in trace.events if event.kind == "ran"}
    for event in trace.events:
        if event.kind == "ran":
            ran[event.thread].append(event)
    assert [event.op for event in ran["gpu(0) compute"]] == ["full", "matmul", "matmul", "matmul"]
    assert {event.op for event in ran["gpu(0) out"]} == {event.op for event in ran["gpu(1) in"]} == {"transfer"}
    for events in ran.values():
        assert all(a.end <= b.start for a, b in itertools.pairwise(events)), "a lane does one thing at a time"


def test_a_profile_names_devices_and_lanes(tmp_path: pathlib.Path) -> None:
    with forerun.profile(tmp_path / "page.html") as p:
        y = chain(GPU, 3).as_in_ctx(OTHER)
        y.sum().item()
        line = here() - 1
    rows = {(row.op, row.device): row for row in p.report.ops}
    assert rows["matmul", "gpu(0)"].times == 3 and rows["matmul", "gpu(0)"].flops > 0
    assert rows["sum", "gpu(1)"].times == 1
    (wait,) = [row for row in p.report.waits if row.file == __file__]
    assert (wait.line, wait.call) == (line, "item") and wait.cause is not None
    assert {row.device for row in p.report.memory} >= {"gpu(0)", "gpu(1)"}
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '{"name":"gpu(0) compute","kind":"lane"}' in text


def test_not_a_number_is_found_on_a_device() -> None:
    with pytest.raises(FloatingPointError) as raised, forerun.detect_nonfinite():
        x = np.array([1.0, 0.0], ctx=OTHER)
        y = np.log(x)
        line = here() - 1
        (y * 2).asnumpy()
    assert "log" in str(raised.value) and f"{__file__}:{line}" in str(raised.value)
    with forerun.detect_nonfinite():
        assert np.log(np.array([1.0], ctx=OTHER)).item() == 0.0


def test_the_graph_shows_transfers() -> None:
    with engine.graph() as graph:
        x = np.ones((2,), ctx=GPU)
        y = x.as_in_ctx(npx.cpu()) + 1
    assert [entry.op for entry in graph] == ["full", "transfer", "add"]
    assert y.tolist() == [2.0, 2.0]


def test_waitall_waits_for_every_device() -> None:
    made = [chain(device, 5) for device in (GPU, OTHER, npx.cpu())]
    npx.waitall()
    forerun.reset_blockers()
    for x in made:
        x.wait_to_read()
    assert forerun.blockers() == []


def test_what_is_cancelled_fails_and_the_device_goes_on() -> None:
    kept = chain(GPU, 1)
    kept.wait_to_read()
    y = chain(GPU, 200)
    npx.cancel_pending()
    npx.waitall()
    try:
        y.asnumpy()
    except RuntimeError as error:
        assert "cancelled" in str(error)
    assert (kept * 0 + 1)[0, 0].item() == 1.0


def test_arrays_of_devices_are_awaited() -> None:
    async def program() -> float:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticker = asyncio.create_task(tick())
        y = chain(GPU, 40)
        assert await y is y
        number: float = await (y * 0 + 3).item_async(1, 2)
        both = await asyncio.gather(np.ones((), ctx=OTHER).item_async(), np.zeros((), ctx=GPU).item_async())
        ticker.cancel()
        assert both == [1.0, 0.0]
        return number

    assert asyncio.run(program()) == 3.0
