"""Every kind of error names the line of the program in its message."""

from __future__ import annotations

import inspect
import os
import pathlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from forerun import autograd, engine, gluon, no_sync, np, npx

if TYPE_CHECKING:
    from conftest import Run


def line() -> int:
    """Return the line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def check(call: Callable[[], object], kind: type[BaseException], **lines: int) -> str:
    """Check that a call raises, and that the message names these lines of this file."""
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    for word, number in lines.items():
        assert re.search(rf"{word} at {re.escape(__file__)}:{number}\b", text), text
    return text


def test_what_is_refused_when_it_is_called() -> None:
    x = np.ones((2, 3))
    here = line()
    check(lambda: x @ np.ones((4, 2)), ValueError, submitted=here + 1)
    check(lambda: x + np.ones((5,)), ValueError, submitted=here + 2)
    check(lambda: x.reshape(4, 4), ValueError, submitted=here + 3)
    check(lambda: x & 1, TypeError, submitted=here + 4)
    check(lambda: x[7], IndexError, submitted=here + 5)
    check(lambda: x.sum(axis=5), IndexError, submitted=here + 6)
    check(lambda: np.array([1], dtype="int32") + 2**40, OverflowError, submitted=here + 7)
    check(lambda: np.concatenate([x, np.ones((3, 4))]), ValueError, submitted=here + 8)


def test_what_fails_when_it_runs() -> None:
    for n in (3, 100_000):
        here = line()
        bad = np.take(np.arange(n), np.arange(n) + 1)
        worse = bad * 2 + 1
        check(lambda: worse.tolist(), IndexError, submitted=here + 1, read=here + 3)  # noqa: B023
        check(lambda: print(worse), IndexError, submitted=here + 1, read=here + 4)  # noqa: B023
        check(lambda: worse.restore(), IndexError, submitted=here + 1, read=here + 5)  # noqa: B023


def test_a_wait_for_everything_names_the_lines_of_all() -> None:
    here = line()
    bad = np.take(np.arange(3), np.arange(3) + 1)
    check(npx.waitall, IndexError, submitted=here + 1)
    del bad


def test_no_memory() -> None:
    here = line()
    huge = np.ones((1 << 40,)) * 2
    text = check(lambda: huge.wait_to_read(), MemoryError, submitted=here + 1, read=here + 2)
    assert "cannot allocate" in text


def test_what_was_cancelled() -> None:
    if os.environ.get("FORERUN_ENGINE") == "sync":
        pytest.skip("nothing is pending there")
    x = np.ones((700, 700)) * 1e-3
    for _ in range(12):
        x = x @ x
    here = line()
    y = x + 1
    npx.cancel_pending()
    check(lambda: y.wait_to_read(), RuntimeError, submitted=here + 1, read=here + 3)


def test_a_forbidden_wait() -> None:
    x = np.ones((2,))
    with no_sync("error"):
        here = line()
        check(lambda: x.item(), RuntimeError, read=here + 1)


def test_gradients() -> None:
    x = np.ones((3,))
    x.attach_grad()
    with autograd.record():
        here = line()
        y = x * x
    y.backward()
    check(lambda: y.backward(), ValueError, submitted=here + 1)
    with autograd.record():
        here = line()
        check(lambda: x.__iadd__(1), ValueError, submitted=here + 1)


def test_files(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "file")
    pathlib.Path(path).write_bytes(b"abc")
    net = gluon.nn.Dense(2, in_units=3)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    here = line()
    check(lambda: npx.load(path), ValueError, read=here + 1)
    check(lambda: net.load_parameters(path), ValueError, read=here + 2)
    check(lambda: trainer.load_states(path), ValueError, read=here + 3)
    npx.save(path, {"other": np.ones((3,))})
    here = line()
    check(lambda: net.load_parameters(path), ValueError, read=here + 1)
    check(lambda: trainer.load_states(path), ValueError, read=here + 2)
    # Errors of the operating system are raised at the line of the call.
    with pytest.raises(FileNotFoundError) as caught:
        npx.load(path + "-missing")
    assert caught.traceback[0].lineno + 1 == line() - 1


@pytest.mark.usefixtures("once")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_what_was_pending_at_a_fork(run: Run) -> None:
    program = """
        import os, sys
        from forerun import np
        x = np.ones((900, 900)) * 1e-3
        for _ in range(12):
            x = x @ x
        y = x + 1  # submitted here
        if os.fork() == 0:
            try:
                y.wait_to_read()  # read here
            except RuntimeError as error:
                print(error, flush=True)
            os._exit(0)
        os.wait()
    """
    told = run(program).stdout
    lines = program.splitlines()
    submitted, read = (next(i for i, text in enumerate(lines, 1) if word in text) for word in ("# submitted", "# read"))
    assert "pending at fork" in told and re.search(rf"submitted at .*program.py:{submitted}\b", told), told
    assert re.search(rf"read at .*program.py:{read}\b", told), told


def test_settings_of_the_engine() -> None:
    with pytest.raises(ValueError, match="set_budget: the budget must be positive") as caught:
        engine.set_budget(0)
    assert caught.traceback[0].lineno + 1 == line() - 1
