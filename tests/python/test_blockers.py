"""Waits by source line, and threads that must not wait."""

from __future__ import annotations

import inspect
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import forerun
from forerun import autograd, gluon, np, npx

needs_async = pytest.mark.skipif(
    os.environ.get("FORERUN_ENGINE") == "sync", reason="there every op runs before the next is submitted"
)


def here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def slow() -> np.ndarray:
    """Return a value that takes long enough for its reader to wait."""
    w = np.full((500, 500), 1e-3)
    x = w
    for _ in range(24):
        x = x @ w
    return x


@needs_async
def test_a_wait_is_noted_with_both_lines() -> None:
    forerun.reset_blockers()
    x = slow()
    y = x.sum()
    submitted = here() - 1
    y.item()
    read = here() - 1
    (row,) = [row for row in forerun.blockers() if row.file == __file__]
    assert (row.line, row.call, row.count) == (read, "item", 1)
    assert (row.longest.op, row.longest.op_file, row.longest.op_line) == ("sum", __file__, submitted)
    assert row.parked + row.helped <= row.time and row.time == row.longest.time
    assert forerun.last_wait() == row.longest


@needs_async
def test_waits_of_a_line_add_up() -> None:
    forerun.reset_blockers()
    for _ in range(3):
        slow().wait_to_read()
    rows = [row for row in forerun.blockers() if row.file == __file__]
    assert [(row.line, row.count) for row in rows] == [(here() - 2, 3)]
    assert rows[0].longest.time <= rows[0].time


def test_what_is_there_is_no_wait() -> None:
    x = slow()
    x.wait_to_read()
    forerun.reset_blockers()
    x.wait_to_read()
    assert x.shape == x.asnumpy().shape
    assert forerun.blockers() == []


@needs_async
def test_the_report_is_a_table() -> None:
    forerun.reset_blockers()
    x = slow()
    x.asnumpy()
    line = here() - 1
    y = slow()
    npx.waitall()
    head, *rows = str(forerun.blockers()).splitlines()
    assert head.split("  ")[0] == "waits at" and "longest for" in head
    assert any(f"python/test_blockers.py:{line}" in row and "matmul at " in row for row in rows)
    assert any("waitall" in row for row in rows)
    assert y.shape == (500, 500)


@needs_async
def test_a_wait_for_another_threads_value_names_its_op() -> None:
    made: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: made.append(slow().sum()))
    thread.start()
    thread.join()
    forerun.reset_blockers()
    made[0].item()
    rows = [row.longest for row in forerun.blockers()]
    assert [(row.call, row.op) for row in rows] == [("item", "sum")]


def train(batches: int, read: bool) -> tuple[np.ndarray, int]:
    """Run the chapter's training loop; return the last loss, and the line that reads each."""
    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(2048, activation="relu"), gluon.nn.Dense(512, activation="relu"), gluon.nn.Dense(1))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    squares = gluon.loss.L2Loss()
    total = 0.0
    for _ in range(batches):
        x, y = np.random.normal(size=(64, 512)), np.ones((64,))
        with autograd.record():
            loss = squares(net(x), y)
        loss.backward()
        trainer.step(64)
        if read:
            total += loss.mean().item()
            line = here() - 1
    return loss, line if read else 0


@needs_async
def test_a_training_loop_that_reads_each_loss_is_blocked_there() -> None:
    npx.waitall()
    forerun.reset_blockers()
    loss, line = train(6, read=True)
    first, *rest = forerun.blockers()
    assert (first.file, first.line, first.call) == (__file__, line, "item")
    # A loss may be computed early if this thread was suspended for a while.
    assert 3 <= first.count <= 6
    assert (first.longest.op_file, first.longest.op_line) == (__file__, line)
    # The loop waits for nothing but the reads.
    assert rest == []
    assert str(forerun.blockers()).splitlines()[1].startswith(f"python/test_blockers.py:{line}  item")
    loss.wait_to_read()


@needs_async
def test_a_training_loop_that_reads_nothing_is_not_blocked() -> None:
    npx.waitall()
    forerun.reset_blockers()
    loss, _ = train(6, read=False)
    assert forerun.blockers() == []
    assert str(forerun.blockers()) == "nothing waited"
    loss.wait_to_read()
    (row,) = forerun.blockers()
    assert (row.line, row.call, row.count) == (here() - 2, "wait_to_read", 1)


BLOCKERS: dict[str, Callable[[np.ndarray], Any]] = {
    "item": lambda x: x.item(),
    "float": lambda x: float(x),
    "int": lambda x: int(x),
    "bool": lambda x: bool(x),
    "repr": lambda x: repr(x),
    "str": lambda x: str(x),
    "format": lambda x: f"{x:.2f}",
    "asnumpy": lambda x: x.asnumpy(),
    "tolist": lambda x: x.tolist(),
    "wait_to_read": lambda x: x.wait_to_read(),
    "wait_to_write": lambda x: x.wait_to_write(),
    "numpy.asarray": lambda x: x.__array__(),
}


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("call", BLOCKERS)
def test_no_sync_refuses(call: str, settled: bool) -> None:
    x = np.ones((1,)).sum()
    line = here() - 1
    if settled:
        x.wait_to_read()
    with forerun.no_sync("error"), pytest.raises(RuntimeError) as raised:
        BLOCKERS[call](x)
    text = str(raised.value).splitlines()
    assert text[0] == f"{call}: waits inside no_sync, for sum"
    assert text[1] == f"  submitted at {__file__}:{line}"
    assert text[2].startswith(f"  read at {__file__}:")
    BLOCKERS[call](x)


def test_no_sync_refuses_waitall() -> None:
    with forerun.no_sync("error"), pytest.raises(RuntimeError, match="waitall: waits inside no_sync, for everything"):
        npx.waitall()


def test_no_sync_allows_submissions() -> None:
    with forerun.no_sync("error"):
        x = np.ones((4, 4)) * 2 + 1
        x[0] = 5
        x += 1
        y = x[1:].sum(axis=0) @ x
        assert y.shape == (4,) and len(x) == 4 and x.dtype == np.float32
    assert y.tolist() == [12.0 * (6 + 3 * 4)] * 4


def test_no_sync_is_the_threads_and_ends() -> None:
    x = np.ones((2,)).sum()
    seen: list[float] = []
    with forerun.no_sync():
        thread = threading.Thread(target=lambda: seen.append(x.item()))
        thread.start()
        thread.join()
        with forerun.no_sync("warn"), pytest.warns(forerun.SyncWarning):
            x.item()
        with pytest.raises(RuntimeError):
            x.item()
    assert seen == [2.0] and x.item() == 2.0
    with pytest.raises(ValueError, match="no_sync"):
        forerun.no_sync("loud")  # type: ignore[arg-type]


def test_a_warning_names_the_line_and_lets_it_wait() -> None:
    x = np.ones((2,)).sum()
    with (
        forerun.no_sync("warn"),
        pytest.warns(forerun.SyncWarning, match="item: waits inside no_sync, for sum") as seen,
    ):
        assert x.item() == 2.0
    assert (seen[0].filename, seen[0].lineno) == (__file__, here() - 1)
    with forerun.no_sync("warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(forerun.SyncWarning):
            x.item()
