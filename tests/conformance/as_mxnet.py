"""A plugin for MXNet's tests: resolves ``import mxnet``, and limits the processor time of each test.

It also restores names that NumPy had when the tests were written, such as ``numpy.bool`` and ``numpy.product``.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import forerun.mxnet

# Aliases that NumPy has removed since.
_OLD = {
    "bool": bool, "int": int, "float": float, "complex": complex, "object": object, "str": str, "bool8": numpy.bool_,
    "float_": numpy.float64, "complex_": numpy.complex128, "Inf": numpy.inf, "Infinity": numpy.inf, "NaN": numpy.nan,
    "NAN": numpy.nan, "PINF": numpy.inf, "NINF": -numpy.inf, "PZERO": 0.0, "NZERO": -0.0,
    "round_": numpy.round, "unicode_": numpy.str_,
}  # fmt: skip
_SAME = {"product": "prod", "cumproduct": "cumprod", "sometrue": "any", "alltrue": "all", "in1d": "isin"}
_SAME |= {"row_stack": "vstack", "trapz": "trapezoid", "asfarray": "asarray", "find_common_type": "result_type"}


class Late(Exception):
    """A test that exceeded its time limit."""


def _restore() -> None:
    for name, value in _OLD.items():
        if name not in vars(numpy):
            setattr(numpy, name, value)
    for name, now in _SAME.items():
        if name not in vars(numpy):
            setattr(numpy, name, getattr(numpy, now))


# The suite's conftest.py imports mxnet before pytest configures plugins.
_restore()
forerun.mxnet.install()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the time limit."""
    parser.addoption("--limit", type=int, default=30, help="seconds of processor time for each test")


def pytest_configure(config: pytest.Config) -> None:
    """Register the suite's markers."""
    for marker in ("seed", "serial", "remote_required", "gpu", "integration", "garbage_expected", "flaky"):
        config.addinivalue_line("markers", marker)
    warnings.simplefilter("ignore")


def pytest_collection_finish() -> None:
    """Exempt what exists from garbage collection: the suite collects twice for each test."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Interrupt a test that takes more processor time than the limit, or a hundred times as long."""
    limit = item.config.getoption("--limit")

    def late(number: int, frame: types.FrameType | None) -> None:
        # A second limit ends the process if the test does not react to the first.
        signal.signal(signal.SIGALRM, lambda number, frame: os._exit(98))
        signal.alarm(20)
        raise Late(f"took longer than {limit} seconds")

    before = [signal.signal(number, late) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.alarm(100 * limit)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        signal.signal(signal.SIGPROF, before[0])
        signal.signal(signal.SIGALRM, before[1])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write the outcome of each phase to the file that the runner names, so that a crash loses nothing."""
    path = os.environ.get("MXNET_SUITE_OUTCOMES")
    if not path or (report.when != "call" and report.passed):
        return
    reason = ""
    if report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        reason = crash.message if crash is not None else str(report.longrepr)
    elif report.skipped:
        reason = f"skipped: {report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr}"
    row = {"test": report.nodeid, "when": report.when, "outcome": report.outcome, "reason": reason[:2000]}
    row["xfail"] = hasattr(report, "wasxfail")
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note which test runs."""
    path = os.environ.get("MXNET_SUITE_OUTCOMES")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"test": nodeid, "when": "start"}) + "\n")
