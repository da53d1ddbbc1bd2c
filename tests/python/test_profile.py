"""Profiles: the figures of traces made by hand, and of programs."""

from __future__ import annotations

import inspect
import json
import os
import pathlib
import re
import threading
import time
from typing import Any

import pytest
import synthetic

import forerun
from forerun import autograd, engine, gluon, np, npx

needs_async = pytest.mark.skipif(
    os.environ.get("FORERUN_ENGINE") == "sync", reason="there every op runs before the next is submitted"
)


def here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def data_of(page: str) -> dict[str, Any]:
    """Return the data that a page carries."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


# ---- traces made by hand ---------------------------------------------------------------------------------------------
def test_time_is_attributed_to_ops_and_lines() -> None:
    report = synthetic.training(20)
    rows = {(row.op, row.line): row for row in report.ops}
    assert next(iter(rows)) == ("matmul", 12)
    product = rows["matmul", 12]
    assert product.time == pytest.approx(0.120) and product.times == 20 and product.fused == 0
    assert product.flops == 20 * 600_000_000 and product.rate == "100 GFLOP/s"
    # Both ops of the fused task touch as many bytes, so each gets half.
    assert rows["multiply", 13].time == rows["add", 13].time == pytest.approx(0.020)
    assert rows["multiply", 13].fused == rows["add", 13].times == 20
    # The task reads the product and writes one result; the value between its ops is not stored.
    assert rows["multiply", 13].bytes + rows["add", 13].bytes == pytest.approx(20 * 80_000)


def test_a_wait_names_the_op_that_took_the_time() -> None:
    report = synthetic.training(20)
    (row,) = report.waits
    assert (row.line, row.call, row.times) == (15, "item", 20)
    assert row.time == pytest.approx(0.160) and row.idle == pytest.approx(0.160) and row.computing == 0
    # The wait is for the sum, which takes 0.1 of its 8 ms; the product takes 5.9.
    assert row.cause == ("matmul", synthetic.SCRIPT, 12)
    assert dict(row.causes)["matmul", synthetic.SCRIPT, 12] == pytest.approx(0.118)
    assert dict(row.causes)["sum", synthetic.SCRIPT, 14] == pytest.approx(0.002)
    assert sum(seconds for _, seconds in row.causes) == pytest.approx(row.time)


def test_a_wait_ignores_what_its_value_does_not_need() -> None:
    events = synthetic.Events()
    wanted, other = events.submit(0.0, "svd", 5), events.submit(0.1, "matmul", 6)
    events.run(1.0, 5.0, [wanted], synthetic.WORKERS[0])
    events.run(1.0, 9.0, [other], synthetic.WORKERS[1])
    events.wait(1.0, 5.0, "asnumpy", 7, wanted)
    (row,) = events.report(9.0).waits
    assert [cause[0] for cause, _ in row.causes] == ["svd"]


def test_a_wait_behind_other_work_names_that_work() -> None:
    events = synthetic.Events()
    other, wanted = events.submit(0.0, "matmul", 5), events.submit(0.1, "add", 6)
    events.run(1.0, 9.0, [other])
    events.run(9.0, 9.5, [wanted])
    events.wait(1.0, 9.5, "item", 7, wanted)
    (row,) = events.report(10.0).waits
    assert row.cause == ("matmul", synthetic.SCRIPT, 5)
    assert dict(row.causes)["matmul", synthetic.SCRIPT, 5] == pytest.approx(0.008)


def test_waking_is_no_op() -> None:
    events = synthetic.Events()
    wanted, later = events.submit(0.0, "svd", 5), events.submit(0.1, "matmul", 6)
    events.run(1.0, 4.0, [wanted])
    events.run(4.0, 9.0, [later])
    events.wait(1.0, 5.0, "item", 7, wanted)
    (row,) = events.report(9.0).waits
    spent = {cause[0]: seconds for cause, seconds in row.causes}
    assert spent == {"svd": pytest.approx(0.003), "": pytest.approx(0.001)}


def test_a_wait_for_everything_is_divided_over_what_ran() -> None:
    events = synthetic.Events()
    first, second = events.submit(0.0, "svd", 5), events.submit(0.1, "matmul", 6)
    events.run(0.0, 4.0, [first], synthetic.WORKERS[0])
    events.run(2.0, 8.0, [second], synthetic.WORKERS[1])
    events.wait(0.0, 10.0, "waitall", 7)
    (row,) = events.report(10.0).waits
    spent = {cause[0]: seconds for cause, seconds in row.causes}
    # For 2 ms alone, for 2 ms two at once, for 4 ms alone, and for 2 ms nothing.
    assert spent == {"svd": pytest.approx(0.003), "matmul": pytest.approx(0.005), "": pytest.approx(0.002)}


def test_a_wait_in_which_nothing_ran_names_no_op() -> None:
    events = synthetic.Events()
    events.wait(1.0, 2.0, "waitall", 7)
    (row,) = events.report(3.0).waits
    assert row.cause is None
    assert "no op" in events.report(3.0).text()


def test_runs_inside_a_run_count_once() -> None:
    events = synthetic.Events()
    outer, inner = events.submit(0.0, "conv", 5), events.submit(0.1, "add", 6)
    events.run(1.0, 9.0, [outer])
    events.run(2.0, 4.0, [inner])
    times = {row.op: row.time for row in events.report(10.0).ops}
    assert times == {"conv": pytest.approx(0.006), "add": pytest.approx(0.002)}


def test_memory_is_that_of_the_fullest_moment() -> None:
    events = synthetic.Events()
    events.memory(1.0, "matmul", 5, 8_000)
    events.memory(2.0, "add", 6, 4_000)
    events.memory(3.0, "matmul", 5, -8_000)
    events.memory(4.0, "add", 6, 5_000)
    held = {(synthetic.SCRIPT, 6, "add"): 9_000, (synthetic.SCRIPT, 1, "normal"): 1_000}
    report = events.report(5.0, held=held)
    rows = {row.op: (row.peak, row.held, row.allocated, row.times) for row in report.memory}
    # The array from before the profile is held throughout.
    assert rows == {"matmul": (8_000, 0, 8_000, 1), "add": (4_000, 9_000, 9_000, 2), "normal": (1_000, 1_000, 0, 0)}
    assert [held for _, held in report.live["cpu(0)"]] == [1_000, 9_000, 13_000, 5_000, 10_000]


def test_advice_fits_the_case() -> None:
    advice = synthetic.training(20).advice
    assert advice[0] == (
        "project/train.py:15 reads a value every step; 80 % of the time is spent waiting there, 74 % of that for "
        "matmul at project/train.py:12. Read it every 50 steps or use item_async()."
    )
    assert synthetic.training(20, read=False).advice == [
        "matmul at project/train.py:12 takes 60 % of the time, 100 GFLOP/s."
    ]
    held = synthetic.Events()
    for step in range(4):
        value = held.submit(step * 10.0, "matmul", 5)
        held.run(step * 10.0, step * 10.0 + 9, [value])
        held.wait(step * 10.0 + 1, step * 10.0 + 9, "submit: queue full", 5)
    assert "submits ops faster than they run" in held.report(40.0).advice[0]
    slow = synthetic.Events()
    for step in range(60):
        slow.run(step * 10.0, step * 10.0 + 0.1, [slow.submit(step * 10.0, "add", 5)])
    assert "submits ops more slowly than they run" in slow.report(600.0).advice[0]
    assert synthetic.Events().report(1.0).advice == []


def test_the_text_has_the_figures() -> None:
    text = str(synthetic.training(20).text())
    assert "200 ms, 80 ops submitted, 60 tasks run, 80.0 % spent waiting, 20 steps" in text
    assert re.search(r"matmul +project/train.py:12 +120.000 +60.0 +20 +1.56 MB +100 GFLOP/s +no +cpu\(0\)", text)
    assert re.search(r"project/train.py:15 +item +20 +160.000 +80.0 .* matmul at project/train.py:12 \(74 %\)", text)
    assert "nothing waits" in synthetic.training(20, read=False).text()
    html = synthetic.training(20).html()
    assert "<td" in html and "matmul at project/train.py:12 (74 %)" in html


def test_the_page_has_the_events_of_the_report() -> None:
    report = synthetic.training(20)
    from forerun._profile._page import page

    data = data_of(page(report, "train.py"))
    assert len(data["runs"]["start"]) == 60 and len(data["waits"]["start"]) == 20 and len(data["submits"]["at"]) == 80
    first = data["tables"]["ops"][0]
    assert (data["ops"][first["op"]], data["lines"][first["line"]][1], first["count"]) == ("matmul", 12, 20)
    assert data["threads"][0] == {"name": "MainThread", "kind": "frontend"}
    # Each wait leads to the run that it waited for, and that to what submitted it.
    run = data["waits"]["run"][0]
    members = data["members"]["op"][data["runs"]["members"][run] : data["runs"]["members"][run + 1]]
    assert [data["ops"][op] for op in members] == ["sum"]
    assert data["submits"]["run"].count(run) == 1


def test_no_text_of_a_program_ends_the_script_of_the_page() -> None:
    events = synthetic.Events()
    events.run(1.0, 2.0, [events.submit(0.0, "</script><!--", 5)])
    from forerun._profile._page import page

    text = page(events.report(3.0), "<b>.py")
    assert "</script><!--" in data_of(text)["ops"]
    assert text.count("</script>") == 2 and "<!--" not in text


# ---- programs --------------------------------------------------------------------------------------------------------
def test_six_decompositions_are_named_first() -> None:
    with forerun.profile() as p:
        x = np.random.normal(size=(120, 120))
        total = np.zeros(())
        for shift in range(6):
            total = total + np.linalg.svd(x + shift)[1].mean()
            line = here() - 1
        print(total)
    first = p.report.ops[0]
    assert (first.op, first.file, first.line) == ("svd", __file__, line)
    assert first.times == 6
    assert str(p).splitlines()[4].split()[:2] == ["svd", f"python/test_profile.py:{line}"]


class Loop:
    """The chapter's training loop, on random numbers."""

    def __init__(self) -> None:
        self.net = gluon.nn.Sequential()
        self.net.add(gluon.nn.Dense(2048, activation="relu"), gluon.nn.Dense(512, activation="relu"), gluon.nn.Dense(1))
        self.net.initialize()
        self.trainer = gluon.Trainer(self.net.collect_params(), "sgd")
        self.squares = gluon.loss.L2Loss()
        self.step().wait_to_read()

    def step(self) -> np.ndarray:
        x, y = np.random.normal(size=(64, 512)), np.ones((64,))
        with autograd.record():
            loss = self.squares(self.net(x), y)
        loss.backward()
        self.trainer.step(64)
        return loss.mean()


@needs_async
def test_a_read_in_every_step_comes_first_among_waits() -> None:
    loop = Loop()
    true = 0.0
    with forerun.profile() as p:
        for _ in range(8):
            loss = loop.step()
            start = time.perf_counter()
            loss.item()
            line = here() - 1
            true += time.perf_counter() - start
    first = p.report.waits[0]
    assert (first.file, first.line, first.call) == (__file__, line, "item")
    assert first.time == pytest.approx(true, rel=0.1)
    assert first.cause is not None
    assert len(p.report.steps) == 8
    assert f"python/test_profile.py:{line} reads the loss" in str(p)
    assert "item_async()" in p.report.advice[0]


@needs_async
def test_a_loop_that_reads_nothing_waits_for_nothing() -> None:
    loop = Loop()
    with forerun.profile() as p:
        for _ in range(8):
            loop.step()
    assert p.report.waits == []
    assert "nothing waits" in str(p)
    # What was submitted has run before the profile ended.
    assert sum(row.times for row in p.report.ops if row.op == "matmul") >= 8 * 3


@needs_async
def test_the_time_of_the_wait_goes_to_the_expensive_op() -> None:
    x = np.random.normal(size=(150, 150))
    npx.waitall()
    with forerun.profile() as p:
        mean = np.linalg.svd(x)[1].mean()
        line = here() - 1
        mean.item()
    (row,) = [row for row in p.report.waits if row.call == "item"]
    assert row.cause == ("svd", __file__, line)


def test_products_have_operations_and_others_bandwidth() -> None:
    a, b = np.ones((300, 200)), np.ones((200, 100))
    image, weight = np.ones((1, 3, 20, 20)), np.ones((4, 3, 3, 3))
    with forerun.profile() as p:
        c = a @ b
        d = npx.convolution(data=image, weight=weight, kernel=(3, 3), num_filter=4, no_bias=True)
        e = np.sort(a)
    assert c.shape == (300, 100) and d.shape == (1, 4, 18, 18) and e.shape == (300, 200)
    flops = {row.op: row.flops for row in p.report.ops}
    assert flops["matmul"] == 2 * 300 * 200 * 100
    assert flops["convolution"] == 2 * (4 * 18 * 18) * (3 * 3 * 3)
    rows = {row.op: row for row in p.report.ops}
    assert rows["sort"].flops == 0 and rows["sort"].bytes == 2 * 300 * 200 * 4
    assert "FLOP/s" in rows["matmul"].rate and rows["sort"].rate.endswith("B/s")


@needs_async
def test_fused_ops_share_a_task() -> None:
    x = np.ones((300, 300))
    x.wait_to_read()
    with engine.set_fuse(True), engine.set_tiny_limit(0), forerun.profile() as p:
        y = np.exp(x * 2 + 1)
        line = here() - 1
        y.wait_to_read()
    rows = {row.op: row for row in p.report.ops}
    assert {op: (row.line, row.times, row.fused) for op, row in rows.items()} == {
        op: (line, 1, 1) for op in ("multiply", "add", "exp")
    }
    # The chain reads and writes its array once.
    assert sum(row.bytes for row in rows.values()) == pytest.approx(2 * 300 * 300 * 4)


def test_memory_of_a_line() -> None:
    npx.waitall()
    with forerun.profile() as p:
        kept = np.ones((1024, 1024)) * 2
        line = here() - 1
        gone = np.ones((2048, 2048)) * 2
        gone.wait_to_read()
        del gone
    rows = [row for row in p.report.memory if (row.file, row.line) == (__file__, line)]
    assert sum(row.held for row in rows) == 1024 * 1024 * 4 == kept.nbytes
    other = [row for row in p.report.memory if (row.file, row.line) == (__file__, line + 2)]
    assert sum(row.held for row in other) == 0
    assert sum(row.allocated for row in other) >= 2048 * 2048 * 4
    assert max(row.peak for row in p.report.memory) >= 2048 * 2048 * 4


def test_steps_choose_what_is_recorded() -> None:
    loop = Loop()
    with forerun.profile(steps=(2, 5)) as p:
        for _ in range(8):
            loop.step()
    updates = len(p.report.steps)
    assert updates == 3
    with forerun.profile() as whole:
        for _ in range(3):
            loop.step()

    def products(one: forerun._profile.Profile) -> int:
        return sum(row.times for row in one.report.ops if row.op == "matmul")

    assert products(p) == products(whole)


def test_steps_may_be_marked_by_the_program() -> None:
    with forerun.profile(steps=(1, 2)) as p:
        for _ in range(4):
            y = np.ones((64, 64)) @ np.ones((64, 64))
            p.step()
    assert y.shape == (64, 64)
    assert [row.times for row in p.report.ops if row.op == "matmul"] == [1]
    with forerun.profile(steps=(10, 20)) as never:
        np.ones((2,)).wait_to_read()
    assert never.report.ops == [] and "nothing ran" in str(never)


def test_the_newest_events_are_kept() -> None:
    with forerun.profile(events=64) as p:
        for _ in range(200):
            y = np.ones((2,)) + 1
        y.wait_to_read()
    assert p.report.truncated and 0 < p.report.span < p.report.wall
    assert "older events were overwritten" in str(p)
    assert all(event.end >= p.report.since for event in p.report.events)


def test_the_thread_that_profiles_has_its_name() -> None:
    def work() -> None:
        with forerun.profile() as p:
            np.ones((64, 64)).wait_to_read()
        found.append(p)

    found: list[Any] = []
    worker = threading.Thread(target=work, name="my own")
    worker.start()
    worker.join()
    assert {event.thread for event in found[0].report.events if event.kind == "submitted"} == {"my own"}
    with forerun.trace() as t:
        np.ones((64, 64)).wait_to_read()
    assert {event.thread for event in t.events if event.kind == "submitted"} == {threading.current_thread().name}


def test_wrong_uses_are_refused() -> None:
    with pytest.raises(ValueError, match=r"profile: steps must be \(first, last\)"):
        forerun.profile(steps=(3, 3))
    with pytest.raises(ValueError, match="profile: events must be positive"):
        forerun.profile(events=0)
    p = forerun.profile()
    assert str(p) == "the profile has not ended yet" and "not ended" in repr(p)
    with pytest.raises(RuntimeError, match="has not ended yet"):
        p.save("never.html")
    with p, pytest.raises(RuntimeError, match="start_trace: a trace is already running"), forerun.profile():
        pass
    with pytest.raises(RuntimeError, match="can be used once"), p:
        pass


def test_an_error_of_the_program_is_kept(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "page.html"
    with pytest.raises(ZeroDivisionError), forerun.profile(path) as p:
        np.ones((300, 300)).wait_to_read()
        raise ZeroDivisionError
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert p.report.ops[0].op == "full"
    with pytest.raises(ZeroDivisionError), forerun.profile(tmp_path / "missing" / "page.html"):
        raise ZeroDivisionError
    with pytest.raises(FileNotFoundError), forerun.profile(tmp_path / "missing" / "page.html"):
        pass


def test_a_program_that_ends_itself_is_profiled_to_the_end() -> None:
    with pytest.raises(SystemExit), forerun.profile() as p:
        x = np.ones((300, 300))
        for _ in range(5):
            x = x @ x * 1e-3
        raise SystemExit(0)
    assert sum(row.times for row in p.report.ops if row.op == "matmul") == 5


def test_a_failed_op_stays_unread() -> None:
    with forerun.profile() as p:
        bad = np.linalg.cholesky(-np.ones((40, 40)))
    assert "ms" in str(p)
    with pytest.raises(np.linalg.LinAlgError):
        bad.asnumpy()


def test_no_sync_allows_a_profile() -> None:
    with forerun.no_sync("error"), forerun.profile() as p:
        y = np.ones((300, 300)) * 2
    assert y.shape == (300, 300)
    assert p.report.waits == [] and p.report.ops


def test_a_profile_leaves_no_blocker() -> None:
    forerun.reset_blockers()
    with forerun.profile():
        x = np.ones((400, 400))
        for _ in range(10):
            x = x @ x * 1e-3
    assert forerun.blockers() == []


def test_the_page_is_written(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "step.html"
    with forerun.profile(path) as p:
        y = np.ones((300, 300)) @ np.ones((300, 300))
        y.wait_to_read()
    text = path.read_text(encoding="utf-8")
    # It loads nothing: every address in it is that of a namespace or an anchor.
    assert not re.findall(r"(?:src|href)=(?![\"']?data:)", text)
    assert "http" not in text.split('id="data"')[0].replace("http-equiv", "")
    data = data_of(text)
    assert {data["ops"][row["op"]] for row in data["tables"]["ops"]} == {row.op for row in p.report.ops}
    code = {line[2] for line in data["lines"]}
    assert any("np.ones((300, 300)) @ np.ones((300, 300))" in text for text in code)
    assert "matmul" in p._repr_html_() and repr(p).startswith("<forerun profile: ")


# ---- other tools -----------------------------------------------------------------------------------------------------
def test_statistics_print_as_tables() -> None:
    counters = forerun.stats()
    assert isinstance(counters, dict) and dict(counters) == counters
    assert re.search(r"records +\d+ +ops submitted", str(counters))
    x = np.ones((512, 512))
    x.wait_to_read()
    memory = forerun.memory_stats()
    assert json.loads(json.dumps(memory)) == memory
    assert "arrays now" in str(memory) and "python/test_profile.py" in str(memory)
    for shown in (counters, memory):
        assert "<table>" in shown._repr_html_()  # type: ignore[attr-defined]
    forerun.reset_blockers()
    assert forerun.blockers()._repr_html_() == "<p>nothing waited</p>"


def test_a_trace_prints_its_counts() -> None:
    with forerun.trace() as t:
        y = np.ones((300, 300)) + 1
        y.wait_to_read()
    assert repr(t) == f"<forerun trace: {len(t.events)} events; print it, or call save(path)>"
    assert str(t).splitlines()[0].split() == ["thread", "submitted", "planned", "ran", "waited", "allocated", "freed"]
    assert "<table>" in t._repr_html_()
