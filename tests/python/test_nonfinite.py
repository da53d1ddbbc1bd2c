"""The op that made the first NaN or infinity is found, without a wait in between."""

from __future__ import annotations

import contextlib
import inspect
import threading

import pytest

import forerun
from forerun import autograd, engine, gluon, np


def here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def blamed(raised: pytest.ExceptionInfo[FloatingPointError]) -> tuple[str, str]:
    first, submitted, _ = str(raised.value).splitlines()
    assert "produced a NaN or an infinity from finite numbers" in first
    return first.split(":")[0], submitted


@pytest.mark.parametrize("shape", [(3,), (300, 300)])
@pytest.mark.parametrize("fuse", [False, True])
def test_the_first_is_named_at_the_end(shape: tuple[int, ...], fuse: bool) -> None:
    x = np.zeros(shape)
    with engine.set_fuse(fuse), pytest.raises(FloatingPointError) as raised, forerun.detect_nonfinite():
        y = np.exp(x) - 1
        z = 1 / y
        line = here() - 1
        w = z * 0 + z
    assert blamed(raised) == ("divide", f"  submitted at {__file__}:{line}")
    assert w.shape == shape


def test_the_next_read_raises_once() -> None:
    x = np.full((4,), 100.0)
    fine = np.ones((2,))
    with forerun.detect_nonfinite():
        y = np.exp(x)
        line = here() - 1
        with pytest.raises(FloatingPointError) as raised:
            fine.tolist()
        assert blamed(raised) == ("exp", f"  submitted at {__file__}:{line}")
        assert fine.tolist() == [1.0, 1.0]
        assert not np.isfinite(y).any().item()


def test_nothing_waits_in_the_middle() -> None:
    with pytest.raises(FloatingPointError), forerun.detect_nonfinite(), forerun.no_sync("error"):
        np.sqrt(np.ones((300, 300)) - 2)


def test_what_is_meant_is_not_blamed() -> None:
    with forerun.detect_nonfinite():
        x = np.full((3,), np.inf)
        y = np.where(np.ones((3,)) > 0, -np.inf, np.ones((3,)))
        z = x + y
        w = np.ones((3,)) * np.nan
        v = np.ones((3,))
        v[1] = np.inf
        n = np.arange(4) // 1
        empty = np.ones((0,)) / np.ones((0,))
    assert (z.shape, w.shape, v.shape, n.shape, empty.shape) == ((3,), (3,), (3,), (4,), (0,))


def test_writes_are_looked_at() -> None:
    x = np.ones((4,))
    with pytest.raises(FloatingPointError) as raised, forerun.detect_nonfinite():
        x /= 0.0
        line = here() - 1
    assert blamed(raised) == ("divide", f"  submitted at {__file__}:{line}")
    with pytest.raises(FloatingPointError, match="log"), forerun.detect_nonfinite():
        x = np.zeros((2, 2))
        np.log(x[1:])


def test_values_are_the_same_bits() -> None:
    def program() -> list[float]:
        x = np.arange(6, dtype="float32").reshape(2, 3)
        x.attach_grad()
        with autograd.record():
            y = (np.tanh(x) * x).sum()
        y.backward()
        x[0] = x[1] * 2
        assert x.grad is not None
        return [*x.ravel().tolist(), *x.grad.ravel().tolist(), y.item()]

    plain = program()
    with forerun.detect_nonfinite():
        looked_at = program()
    assert looked_at == plain


def test_a_backward_pass_is_looked_at() -> None:
    x = np.zeros((2,))
    x.attach_grad()
    with pytest.raises(FloatingPointError) as raised, forerun.detect_nonfinite():
        with autograd.record():
            y = np.sqrt(x)
        y.backward()
    assert blamed(raised)[0] == "divide"


def test_a_hybridized_block_is_looked_at() -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3), gluon.nn.HybridLambda(lambda F, x: np.log(x * 0)))
    net.initialize()
    x = np.ones((2, 2))
    net(x)
    net.hybridize()
    for _ in range(3):
        with pytest.raises(FloatingPointError, match="log: produced"), forerun.detect_nonfinite():
            net(x)
    with forerun.detect_nonfinite():
        small = gluon.nn.Dense(3)
        small.initialize()
        small.hybridize()
        out = [small(x).sum().item() for _ in range(4)]
    assert len(set(out)) == 1


def test_a_capture_has_no_part_of_the_search() -> None:
    def replayed(looked_at: bool) -> list[str]:
        net = gluon.nn.Dense(3)
        net.initialize()
        net.hybridize()
        x = np.ones((2, 2))
        with forerun.detect_nonfinite() if looked_at else contextlib.nullcontext():
            for _ in range(3):
                net(x)
        with forerun.trace() as trace:
            net(x).wait_to_read()
        return [event.op for event in trace.events if event.kind == "submitted"]

    assert replayed(True) == replayed(False) != []


def test_it_is_the_threads_and_an_error_is_not_hidden() -> None:
    def work() -> None:
        np.log(np.zeros((2,))).wait_to_read()

    with forerun.detect_nonfinite():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    with pytest.raises(KeyError), forerun.detect_nonfinite():
        np.log(np.zeros((2,)))
        raise KeyError("mine")
    with forerun.detect_nonfinite(), pytest.raises(RuntimeError, match="detect_nonfinite: is already on"):
        forerun.detect_nonfinite().__enter__()
    assert np.log(np.zeros((1,))).item() == -np.inf
