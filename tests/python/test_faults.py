"""The fail points that only Python reaches. Skipped in builds without fail points."""

from __future__ import annotations

import asyncio
import os
import pathlib
from collections.abc import Callable, Iterator

import numpy
import pytest

import forerun
from forerun import _forerun, autograd, np, npx

pytestmark = pytest.mark.skipif(not hasattr(_forerun, "fail_arm"), reason="built without fail points")

# crates/forerun/tests/faults.rs tests the other sites.
PREFIXES = ("file.", "function.", "await.", "fork.")
LINE = r"(read|submitted) at .*test_faults.py:\d+"


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    """Disarm all sites."""
    _forerun.fail_disarm()
    yield
    _forerun.fail_disarm()


def live() -> int:
    npx.waitall()
    return int(forerun.memory_stats()["live"])


def program() -> numpy.ndarray:
    """Compute the same values in every run."""
    x = np.arange(50_000.0)
    return ((x * 2 + 1).reshape(250, 200) @ np.ones((200, 3)) * 1e-3).asnumpy()


def read_file(path: pathlib.Path, how: str) -> None:
    npx.save(str(path), {"a": np.ones((3,)), "b": np.zeros((4,))})
    for nth in (1, 2):
        _forerun.fail_arm("file.read", nth, how)
        with pytest.raises(RuntimeError, match=f"injected at file.read\n *{LINE}"):
            npx.load(str(path))
    loaded = npx.load(str(path))
    assert isinstance(loaded, dict) and loaded["b"].tolist() == [0, 0, 0, 0]


def write_file(path: pathlib.Path, how: str) -> None:
    npx.save(str(path), {"a": np.ones((3,))})
    before = path.read_bytes()
    for nth in (1, 2):
        _forerun.fail_arm("file.write", nth, how)
        with pytest.raises(RuntimeError, match=f"injected at file.write\n *{LINE}"):
            npx.save(str(path), {"a": np.zeros((3,)), "b": np.zeros((4,))})
    assert path.read_bytes() == before, "a file is replaced as a whole or not at all"
    assert [entry.name for entry in path.parent.iterdir()] == [path.name], "no half of a file is left"


class Triple(autograd.Function):
    """Triples its input."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        return x * 3

    def backward(self, dy: np.ndarray) -> np.ndarray:
        return dy * 3


def call_function(path: pathlib.Path, how: str) -> None:
    x = np.ones((5,))
    x.attach_grad()
    _forerun.fail_arm("function.forward", 1, how)
    with autograd.record():
        with pytest.raises(RuntimeError, match=f"injected at function.forward\n *{LINE}"):
            Triple()(x)
        assert autograd.is_recording()
        y = Triple()(x)
    y.backward()
    assert x.grad.tolist() == [3] * 5


def call_back(path: pathlib.Path, how: str) -> None:
    async def slow() -> None:
        x = np.ones((600, 600)) * 1e-3
        for _ in range(6):
            x = x @ x
        await asyncio.wait_for(_settled(x), 30)

    hits = _forerun.fail_hits("await.call")
    _forerun.fail_arm("await.call", 1, how)
    # A value that is computed before it is awaited needs no callback.
    for _ in range(50):
        asyncio.run(slow())
        if _forerun.fail_hits("await.call") > hits or os.environ.get("FORERUN_ENGINE") == "sync":
            break


async def _settled(x: np.ndarray) -> None:
    await x


def fork(path: pathlib.Path, how: str) -> None:
    there, waiting = np.ones((3,)), np.ones((400, 400)) @ np.ones((400, 400))
    there.wait_to_read()
    _forerun.fail_arm("fork.prepare", 1, how)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            # Computed values can be read, work that needs threads fails, and nothing hangs.
            assert there.tolist() == [1, 1, 1]
            try:
                npx.waitall()
                (np.ones((900, 900)) @ np.ones((900, 900))).wait_to_read()
            except RuntimeError as error:
                assert "fork: this process was forked while" in str(error) and "test_faults.py" in str(error), error
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert waiting[0, 0].item() == 400, "the parent goes on"


SCENARIOS: dict[str, Callable[[pathlib.Path, str], None]] = {
    "file.read": read_file,
    "file.write": write_file,
    "function.forward": call_function,
    "await.call": call_back,
    "fork.prepare": fork,
}


def sites() -> list[tuple[str, str]]:
    found = getattr(_forerun, "fail_sites", list)()
    return [(site, how) for site, hows in found if site.startswith(PREFIXES) for how in hows]


@pytest.mark.parametrize(("site", "how"), sites())
def test_every_site_in_every_way(site: str, how: str, tmp_path: pathlib.Path) -> None:
    before, level, hits = program(), live(), _forerun.fail_hits(site)
    SCENARIOS[site](tmp_path / "file", how)
    if not (site == "await.call" and os.environ.get("FORERUN_ENGINE") == "sync"):
        assert _forerun.fail_hits(site) > hits, "the site was never reached"
        assert _forerun.fail_disarm() == []
    numpy.testing.assert_array_equal(program(), before)
    del before
    assert live() <= level


def test_no_scenario_is_left_over() -> None:
    assert set(SCENARIOS) == {site for site, _ in sites()}
    with pytest.raises(ValueError, match="no site `nowhere`"):
        _forerun.fail_arm("nowhere", 1, "error")
