"""Recording, its scopes, gradients by ``backward`` and by ``grad``, and user-defined gradients."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest

import forerun
from forerun import autograd, np


def values(x: np.ndarray | None) -> list[object]:
    assert x is not None
    listed: list[object] = x.tolist()
    return listed


def test_scopes_set_and_restore() -> None:
    def state() -> tuple[bool, bool]:
        return autograd.is_recording(), autograd.is_training()

    assert state() == (False, False)
    with autograd.record():
        assert state() == (True, True)
        with autograd.pause():
            assert state() == (False, False)
            with autograd.record(train_mode=False):
                assert state() == (True, False)
            with autograd.train_mode():
                assert state() == (False, True)
        with autograd.predict_mode():
            assert state() == (True, False)
        assert state() == (True, True)
    assert state() == (False, False)


def test_scopes_restore_after_an_error() -> None:
    with pytest.raises(KeyError), autograd.record():
        raise KeyError
    assert not autograd.is_recording()
    assert not autograd.is_training()


def test_scopes_are_a_threads_own() -> None:
    seen = []
    with autograd.record():
        thread = threading.Thread(target=lambda: seen.append(autograd.is_recording()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_settings_return_the_former_one() -> None:
    assert autograd.set_recording(True) is False
    assert autograd.set_recording(False) is True
    assert autograd.set_training(True) is False
    assert autograd.set_training(False) is True


def test_what_is_paused_has_no_gradient() -> None:
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = x * x
        with autograd.pause():
            factor = x * 10
        z = y * factor
    z.backward()
    assert values(x.grad) == [2 * 1 * 10, 2 * 2 * 20]


def test_write_replaces_and_add_adds() -> None:
    for grad_req, expected in (("write", 3.0), ("add", 6.0)):
        x = np.array([1.0])
        x.attach_grad(grad_req)
        for _ in range(2):
            with autograd.record():
                y = 3 * x
            y.backward()
        assert values(x.grad) == [expected]


def test_backward_of_several_heads() -> None:
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y, z = x * 2, x * x
    autograd.backward([y, z], [None, np.array([10.0, 100.0])])
    assert values(x.grad) == [2 + 20, 2 + 400]


def test_heads_and_head_gradients_must_match() -> None:
    x = np.array([1.0])
    x.attach_grad()
    with autograd.record():
        y = x * 2
    with pytest.raises(ValueError, match="backward: 1 heads but 2 head gradients"):
        autograd.backward(y, [None, None])
    with pytest.raises(ValueError, match="grad: no variables"):
        autograd.grad(y, [])


def test_grad_leaves_the_arrays_own_gradient() -> None:
    x, w = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y = x * w
    dx, dw = autograd.grad(y, [x, w], head_grads=np.array([1.0, 10.0]))
    assert values(dx) == [3.0, 40.0]
    assert values(dw) == [1.0, 20.0]
    assert values(x.grad) == [0.0, 0.0]


def test_grad_of_one_array_is_a_list() -> None:
    x = np.array([2.0])
    x.attach_grad()
    with autograd.record():
        y = x * x
    assert [values(g) for g in autograd.grad(y, x)] == [[4.0]]


def test_gradients_of_gradients() -> None:
    x = np.array([2.0, -1.0])
    x.attach_grad()
    with autograd.record():
        y = x * x * x * x
        (first,) = autograd.grad(y, x, create_graph=True)
        (second,) = autograd.grad(first, x, create_graph=True)
    second.backward()
    given = x.asnumpy()
    numpy.testing.assert_allclose(first.asnumpy(), 4 * given**3)
    numpy.testing.assert_allclose(second.asnumpy(), 12 * given**2)
    assert x.grad is not None
    numpy.testing.assert_allclose(x.grad.asnumpy(), 24 * given)


def test_mark_variables() -> None:
    x, dx = np.array([2.0]), np.array([100.0])
    autograd.mark_variables(x, dx, "add")
    with autograd.record():
        y = x * x
    y.backward()
    assert values(dx) == [104.0]


class Scaled(autograd.Function):
    """Doubles the input; its gradient is ten, to distinguish it from the true one."""

    def forward(self, x: np.ndarray) -> np.ndarray:
        assert not autograd.is_recording()
        self.save_for_backward(x)
        return x * 2

    def backward(self, dy: np.ndarray) -> np.ndarray:
        (x,) = self.saved_tensors
        assert x.shape == dy.shape
        return dy * 10


def test_function_uses_its_own_gradient() -> None:
    x = np.array([1.0, 2.0])
    x.attach_grad()
    with autograd.record():
        y = Scaled()(x * 3) + 1
    assert values(y) == [7.0, 13.0]
    y.backward()
    assert values(x.grad) == [30.0, 30.0]


def test_function_without_recording() -> None:
    assert values(Scaled()(np.array([1.0]))) == [2.0]


class Swapped(autograd.Function):
    """Several inputs and outputs, one input without a gradient."""

    def forward(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return b * 2, a * 3

    def backward(self, d_first: np.ndarray, d_second: np.ndarray) -> tuple[np.ndarray, None]:
        return d_second * 3, None


def test_function_of_several_arrays() -> None:
    a, b = np.array([1.0]), np.array([2.0])
    a.attach_grad()
    b.attach_grad()
    with autograd.record():
        first, second = Swapped()(a, b)
        total = first + second
    total.backward()
    assert values(total) == [7.0]
    assert values(a.grad) == [3.0]
    assert values(b.grad) == [0.0]


class Broken(autograd.Function):
    """Returns any number of gradients."""

    def forward(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a + b

    def backward(self, dy: np.ndarray) -> np.ndarray:
        return dy


def test_function_must_give_a_gradient_an_input() -> None:
    a = np.array([1.0])
    a.attach_grad()
    with autograd.record():
        y = Broken()(a, a)
    with pytest.raises(ValueError, match=r"Broken.backward: 1 gradients for 2 inputs"):
        y.backward()


class Squared(autograd.Function):
    """Needs the value of its input."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.save_for_backward(x)
        return x * x * self.factor

    def backward(self, dy: np.ndarray) -> np.ndarray:
        (x,) = self.saved_tensors
        return dy * x * 2 * self.factor


def test_function_saves_what_arrays_were() -> None:
    x = np.array([3.0])
    x.attach_grad()
    with autograd.record():
        h = x * 1
        y = Squared()(h)
        h += 100
    y.backward()
    assert values(x.grad) == [6.0]


def test_function_objects_are_for_one_call() -> None:
    function = Squared()
    with autograd.record():
        function(np.array([1.0]))
        with pytest.raises(RuntimeError, match="Squared: a Function object can be called only once; create another"):
            function(np.array([5.0]))


def test_scopes_can_be_entered_again() -> None:
    recording, paused = autograd.record(), autograd.pause()
    settings = []
    with recording:
        with recording:
            with paused, recording, paused:
                settings.append((autograd.is_recording(), autograd.is_training()))
            settings.append((autograd.is_recording(), autograd.is_training()))
        settings.append((autograd.is_recording(), autograd.is_training()))
    settings.append((autograd.is_recording(), autograd.is_training()))
    assert settings == [(False, False), (True, True), (True, True), (False, False)]


class Chosen(autograd.Function):
    """Several outputs; inputs without gradients: an index array and a number."""

    def forward(self, x: np.ndarray, index: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self.save_for_backward(x, index)
        self.factor = factor
        return np.take(x, index) * factor, x + 1, index * 2

    def backward(self, taken: np.ndarray, shifted: np.ndarray, doubled: np.ndarray) -> Any:
        _, index = self.saved_tensors
        spread = (index.reshape(-1, 1) == np.arange(3)).astype("float32")
        return taken @ spread * self.factor + shifted, None, None


def test_functions_with_several_outputs_and_inputs_without_gradients() -> None:
    x, index = np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2])
    x.attach_grad()
    with forerun.no_sync("error"):
        with autograd.record():
            taken, shifted, doubled = Chosen()(x, index, 3.0)
            loss = (taken * np.array([1.0, 10.0, 100.0])).sum() + shifted.sum()
        loss.backward()
    numpy.testing.assert_array_equal(x.grad.asnumpy(), [31, 1, 304])
    numpy.testing.assert_array_equal(doubled.asnumpy(), [4, 0, 4])
    # An output that nothing uses contributes nothing.
    with autograd.record():
        taken, _, _ = Chosen()(x, index, 2.0)
    taken.backward()
    numpy.testing.assert_array_equal(x.grad.asnumpy(), [2, 0, 4])
