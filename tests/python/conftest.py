"""Shared configuration of the Python tests: the repository root, profiles of property tests, common fixtures."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Protocol

import hypothesis
import numpy
import pytest

from forerun import _forerun, npx

# The default device of arrays in tests.
DEVICE = npx.gpu(0) if os.environ.get("FORERUN_TEST_DEVICE") == "gpu" else npx.cpu(0)
# These tests need two GPUs, real or simulated; test_devices.py runs them in a child process.
collect_ignore = [] if os.environ.get("FORERUN_SIM_GPUS") else ["devices"]
ROOT = pathlib.Path(__file__).resolve().parents[2]

# A deadline would make tests fail on a busy machine.
hypothesis.settings.register_profile("normal", deadline=None, max_examples=100)
hypothesis.settings.register_profile("long", deadline=None, max_examples=5000)
hypothesis.settings.load_profile("long" if os.environ.get("FORERUN_TEST_LONG") == "1" else "normal")

# Tests that take seconds: a file, or `file::test`. `cargo xtask test --quick` skips them. Other runs start with them,
# because a long test that starts last would keep one process busy while the others are idle.
SLOW = (
    "test_asyncio.py::test_cancelling_is_safe",
    "test_chapter.py",
    "test_command.py",
    "test_devices.py",
    "test_example_programs.py",
    "test_exit.py",
    "test_fork.py",
    "test_fuzz_files.py",
    "test_interrupt.py",
    "test_model_zoo.py::test_a_state_dict_of_torchvision_is_loaded",
    "test_model_zoo.py::test_large_networks_are_like_mxnets",
    "test_pressure.py",
    "test_programs.py",
    "test_samples.py::test_the_other_engine_gives_the_same",
    "test_settings.py",
    "test_soak.py",
    "test_tour.py",
    "test_typing.py",
)

# Tests whose programs measure how soon something happens: they run one at a time after all others.
ALONE = (
    "test_devices.py::test_a_full_device_does_not_hold_up_the_end",
    "test_devices.py::test_an_interrupt_ends_a_wait_for_a_slow_device",
    "test_devices.py::test_blockers_give_the_time_that_a_device_takes",
    "test_devices.py::test_devices_and_the_host_work_at_once",
    "test_devices.py::test_two_devices_work_at_once",
    "test_exit.py::test_a_full_queue_does_not_hold_up_the_end",
    "test_interrupt.py::test_an_interrupt_ends_a_wait",
    "test_profile.py::test_a_read_in_every_step_comes_first_among_waits",
    "test_soak.py::test_ends_with_a_full_queue",
    "test_soak.py::test_interrupts",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the listed tests, and run the slow ones first."""
    missing = [name for name in SLOW + ALONE if not (ROOT / "tests/python" / name.split("::")[0]).is_file()]
    if missing:
        raise pytest.UsageError(f"conftest.py: SLOW or ALONE names files that do not exist: {missing}")
    for item in items:
        names = {item.path.name, f"{item.path.name}::{getattr(item, 'originalname', item.name)}"}
        if names.intersection(SLOW):
            item.add_marker(pytest.mark.slow)
        if names.intersection(ALONE):
            item.add_marker(pytest.mark.alone)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session")
def root() -> pathlib.Path:
    """Return the root of the repository."""
    return ROOT


class Run(Protocol):
    """Runs a program in its own process."""

    def __call__(
        self, program: str, *args: str, timeout: float = 60, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run it. A program that hangs fails the test."""


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function that runs a program from a file, with arguments and an environment."""

    def run(program: str, *args: str, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path_factory.mktemp("program") / "program.py"
        path.write_text(textwrap.dedent(program), encoding="utf-8")
        return subprocess.run(
            [sys.executable, str(path), *args],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, **environment},
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def once() -> None:
    """Skip tests if the suite is repeated with other settings: their programs choose their own."""
    if os.environ.get("FORERUN_ENGINE") == "sync" or os.environ.get("FORERUN_DROP_DEAD") == "0":
        pytest.skip("runs with the engine's plain settings alone")


@pytest.fixture(scope="session")
def long() -> bool:
    """Return whether the long tests were requested."""
    return os.environ.get("FORERUN_TEST_LONG") == "1"


@pytest.fixture(autouse=True)
def finish() -> Iterator[None]:
    """Finish the work that a test left in the window, so that its errors are attributed to it."""
    yield
    npx.waitall()
    # MXNet's dialect changes two settings of the process; the next test may expect NumPy's behaviour.
    _forerun.set_float_indices(False)
    assert not _forerun.set_writable_asnumpy(False), "the test left asnumpy() writable"


@pytest.fixture(autouse=True)
def place() -> Iterator[None]:
    """Create new arrays on the device under test."""
    with DEVICE:
        yield


class Reference:
    """A network of one hidden layer in NumPy, in double precision: the reference for a dialect's first steps.

    Weights are of shape (inputs, outputs).
    """

    def __init__(self, weights: list[numpy.ndarray]) -> None:
        self.weights = [weight.astype("float64") for weight in weights]

    def squares(self, x: numpy.ndarray, y: numpy.ndarray) -> tuple[float, list[numpy.ndarray]]:
        """Return the mean square and its gradients."""
        apart = self._out(x) - y
        return float((apart**2).mean()), self._back(x, 2 * apart / apart.size)

    def entropy(self, x: numpy.ndarray, classes: numpy.ndarray) -> tuple[float, list[numpy.ndarray]]:
        """Return the mean cross-entropy and its gradients."""
        scores = self._out(x)
        chances = numpy.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        rows = numpy.arange(len(x))
        loss = -numpy.log(chances[rows, classes]).mean()
        chances[rows, classes] -= 1
        return float(loss), self._back(x, chances / len(x))

    def _out(self, x: numpy.ndarray) -> numpy.ndarray:
        first, first_bias, second, second_bias = self.weights
        self._hidden = numpy.maximum(x @ first + first_bias, 0)
        return self._hidden @ second + second_bias

    def _back(self, x: numpy.ndarray, out: numpy.ndarray) -> list[numpy.ndarray]:
        hidden = (out @ self.weights[2].T) * (self._hidden > 0)
        return [x.T @ hidden, hidden.sum(0), self._hidden.T @ out, out.sum(0)]


@pytest.fixture
def reference() -> type[Reference]:
    """Return the network in NumPy."""
    return Reference
