"""Errors, traces, holders and blockers never name a line of the package itself."""

from __future__ import annotations

import copy
import doctest
import importlib
import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from test_examples import MODULES

import forerun
from forerun import _forerun, gluon, np, npx, torch

PACKAGE = pathlib.Path(forerun.__file__).parent
FOLDERS = sorted({path.parent for path in PACKAGE.rglob("*.py")})


def own(text: str) -> list[str]:
    """Return the package's own lines that a text names."""
    return re.findall(rf"{re.escape(str(PACKAGE))}[/\\]\S+", text)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(PACKAGE)))
def test_every_folder_is_passed_over(folder: pathlib.Path) -> None:
    code = compile("line = user_line()", str(folder / "anything.py"), "exec")
    names: dict[str, Any] = {"user_line": _forerun.user_line}
    exec(code, names)
    assert __file__ in names["line"]


def test_neighbours_of_the_package_are_programs() -> None:
    file = PACKAGE.with_name("forerunner") / "x.py"
    names: dict[str, Any] = {"user_line": _forerun.user_line}
    exec(compile("line = user_line()", str(file), "exec"), names)
    assert str(file) in names["line"]


@pytest.mark.parametrize("name", MODULES)
def test_what_the_examples_submit_is_theirs(name: str) -> None:
    module = importlib.import_module(name)
    blamed = {}
    _forerun.note_submissions(True)
    try:
        for test in doctest.DocTestFinder().find(module):
            # Only submissions matter here: another test checks the examples.
            doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None)
            for op, _, _, _, file, line in _forerun.note_submissions(True):
                if own(file):
                    blamed[op] = f"{test.name}: {file}:{line}"
    finally:
        _forerun.note_submissions(False)
    assert not blamed


def singular(*shape: int) -> Any:
    return np.zeros(shape)


def failed() -> Any:
    """Return an array whose value failed."""
    return np.take(np.ones((3,)), np.array([7]))


#: Calls that fail when a value is read.
LATE: dict[str, Callable[[], Any]] = {
    "inv": lambda: np.linalg.inv(singular(2, 2)),
    "solve": lambda: np.linalg.solve(singular(2, 2), np.ones((2,))),
    "cholesky": lambda: np.linalg.cholesky(singular(2, 2)),
    "svd": lambda: np.linalg.svd(np.full((2, 2), float("nan"))),
    "eigh": lambda: np.linalg.eigh(np.full((2, 2), float("nan"))),
    "tensorinv": lambda: np.linalg.tensorinv(singular(2, 1, 2)),
    "take": lambda: np.take(np.ones((3,)), np.array([7])),
    "index": lambda: np.ones((3,))[np.array([7])],
    "take_along_axis": lambda: np.take_along_axis(np.ones((3,)), np.array([7]), 0),
    "torch": lambda: torch.ones(3)[torch.tensor([7])],
    "embedding": lambda: _embedding()(np.array([9])),
    **{
        name: lambda call=call: call(failed() * np.ones((3, 3)))  # type: ignore[misc]
        for name, call in {
            "det": np.linalg.det,
            "qr": np.linalg.qr,
            "norm": np.linalg.norm,
            "pinv": np.linalg.pinv,
            "slogdet": np.linalg.slogdet,
            "fft": np.fft.fft,
            "rfft": np.fft.rfft,
            "fft2": np.fft.fft2,
            "softmax": npx.softmax,
            "deepcopy": copy.deepcopy,
        }.items()
    },
}


def _embedding() -> Any:
    layer = gluon.nn.Embedding(3, 2)
    layer.initialize()
    return layer


def _read(value: Any) -> None:
    for part in value if isinstance(value, tuple) else (value,):
        getattr(part, "wait_to_read", lambda part=part: part.numpy())()


@pytest.mark.parametrize("name", LATE)
def test_a_late_failure_names_the_users_lines(name: str) -> None:
    try:
        result = LATE[name]()
    except Exception as error:
        pytest.fail(f"raised at once: {error}")
    with pytest.raises((ValueError, IndexError)) as caught:
        _read(result)
    text = str(caught.value)
    assert not own(text), text
    assert re.search(rf"submitted at {re.escape(__file__)}:\d+", text), text
    assert re.search(rf"read at {re.escape(__file__)}:\d+", text), text


def test_traces_holders_and_blockers_name_the_users_lines() -> None:
    matrix = np.array(numpy.eye(40, dtype="float32"))
    forerun.reset_blockers()
    with forerun.trace() as trace:
        kept = [np.linalg.inv(matrix), np.fft.rfft(matrix), np.linalg.svd(matrix), np.linalg.norm(matrix)]
        np.linalg.matrix_rank(matrix).item()
        np.polyfit(np.arange(4.0), np.arange(4.0), 1).tolist()
        copy.deepcopy(matrix).tolist()
    assert not own(json.dumps(trace.timeline()))
    assert not [holder for holder in forerun.memory_stats()["holders"] if own(holder["file"])]
    assert not own(str(forerun.blockers()))
    del kept


def test_threads_of_a_loader_submit_for_the_line_that_goes_through_it() -> None:
    data = gluon.data.ArrayDataset(np.arange(6), np.arange(6))
    _forerun.note_submissions(True)
    try:
        for batch in gluon.data.DataLoader(data, 2, num_workers=2):
            npx.waitall()
            del batch
        files = {file for *_, file, _ in _forerun.note_submissions(True)}
    finally:
        _forerun.note_submissions(False)
    assert files == {__file__}
