"""Traces: their contents, and the conformance of the timeline to the trace event format."""

from __future__ import annotations

import inspect
import json
import os
import pathlib
import threading
from collections import defaultdict
from typing import Any

import pytest

import forerun
from forerun import engine, np, npx

needs_async = pytest.mark.skipif(
    os.environ.get("FORERUN_ENGINE") == "sync", reason="there every op runs before the next is submitted"
)


def here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def test_every_op_is_submitted_and_run() -> None:
    with forerun.trace() as t:
        y = np.ones((300, 300)) * 2 + 1
        line = here() - 1
        small = np.ones((2,)) - 1
        y.wait_to_read()
        small.wait_to_read()
    assert t.events == sorted(t.events, key=lambda event: (event.start, -event.end))
    assert all(0 <= event.start <= event.end for event in t.events)
    submitted = [event for event in t.events if event.kind == "submitted"]
    assert [event.op for event in submitted] == ["full", "multiply", "add", "full", "subtract"]
    assert {(event.file, event.line) for event in submitted[:3]} == {(__file__, line)}
    assert (submitted[2].shape, submitted[2].dtype, submitted[2].bytes) == ((300, 300), "float32", 360_000)
    planned = {event.value: event.task for event in t.events if event.kind == "planned"}
    ran = {event.task: event for event in t.events if event.kind == "ran"}
    for event in submitted:
        run = ran[planned.get(event.value, event.value)]
        assert run.end >= event.start


@needs_async
def test_a_kernel_names_what_it_fuses() -> None:
    x = np.ones((300, 300))
    x.wait_to_read()
    with engine.set_fuse(True), engine.set_tiny_limit(0), forerun.trace() as t:
        y = np.exp(x * 2 + 1)
        y.wait_to_read()
    names = [row["name"] for row in t.timeline()["traceEvents"] if row.get("cat") == "run"]
    assert " ".join(names) == "multiply add exp", names


@needs_async
def test_waits_are_in_it() -> None:
    w = np.full((500, 500), 1e-3)
    npx.waitall()
    with forerun.trace() as t:
        x = w
        for _ in range(24):
            x = x @ w
        x.asnumpy()
        line = here() - 1
    (wait,) = [event for event in t.events if event.kind == "waited"]
    assert (wait.call, wait.call_file, wait.call_line, wait.op) == ("asnumpy", __file__, line, "matmul")
    assert wait.parked + wait.helped <= wait.end - wait.start
    ages = [event.age for event in t.events if event.kind == "planned"]
    assert ages == sorted(ages, key=lambda age: age or 0) and None not in ages


def test_the_newest_win() -> None:
    with forerun.trace(events=8) as t:
        for _ in range(100):
            y = np.ones((2,)) + 1
        y.wait_to_read()
    counts: defaultdict[str, int] = defaultdict(int)
    for event in t.events:
        counts[event.thread] += 1
    assert max(counts.values()) == 8


def test_off_means_off() -> None:
    with forerun.trace() as t:
        pass
    y = np.ones((2,)) + 1
    y.wait_to_read()
    assert t.events == []
    forerun.start_trace()
    with pytest.raises(RuntimeError, match="start_trace: a trace is already running"):
        forerun.start_trace()
    assert forerun.stop_trace().events == []
    with pytest.raises(RuntimeError, match="stop_trace"):
        forerun.stop_trace()


def check_format(document: Any) -> None:
    """Check the rules of the trace event format that viewers rely on."""
    events = document["traceEvents"]
    flows: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    stacks: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    slices: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    last = 0.0
    for event in events:
        assert {"name", "ph", "pid", "tid", "ts"} <= event.keys(), event
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        assert isinstance(event["name"], str) and event["name"]
        assert event["ph"] in {"X", "i", "M", "s", "f", "C"}, event
        assert event["ts"] >= last, "events are in the order of their times"
        last = event["ts"]
        if event["ph"] == "X":
            assert event["dur"] >= 0
            start, end = event["ts"], event["ts"] + event["dur"]
            slices[event["tid"]].append((start, end))
            stack = stacks[event["tid"]]
            # Rounding of the clock's decimals is not an overlap.
            while stack and stack[-1][1] <= start + 1e-3:
                stack.pop()
            assert not stack or end <= stack[-1][1] + 1e-3, "slices of a thread nest"
            stack.append((start, end))
        elif event["ph"] == "C":
            assert event["args"] and all(isinstance(value, int) for value in event["args"].values())
        elif event["ph"] == "i":
            assert event["s"] in {"g", "p", "t"}
        elif event["ph"] in "sf":
            flows[event["id"]].append(event)
    for flow in flows.values():
        assert [event["ph"] for event in flow] == ["s", "f"], "each arrow has a start, then an end"
        assert len({(event["cat"], event["name"]) for event in flow}) == 1
        for event in flow:
            assert any(a <= event["ts"] <= b for a, b in slices[event["tid"]]), "an arrow is tied to a slice"
    assert flows
    named = {event["tid"] for event in events if event["ph"] == "M"}
    assert named == {event["tid"] for event in events}


def test_the_timeline_keeps_to_the_format(tmp_path: pathlib.Path) -> None:
    def work() -> None:
        x = np.ones((400, 400)) * 1e-3
        for _ in range(5):
            x = np.tanh(x @ x + 1)
        x.wait_to_read()

    with forerun.trace() as t:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(50):
            y = np.ones((3,)) + 1
        print(y)
        for thread in threads:
            thread.join()
    path = tmp_path / "trace.json"
    t.save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document == t.timeline()
    check_format(document)
    runs = [event for event in document["traceEvents"] if event.get("cat") == "run"]
    assert any("matmul" in run["name"] for run in runs)
    for run in runs:
        assert run["args"]["loc"].startswith(f"{__file__}:")
        assert {"shape", "dtype", "bytes", "fused", "age"} <= run["args"].keys()
