"""Arrays on several devices: creation, transfers, reads, writes and gradients."""

from __future__ import annotations

import inspect
import operator
import pathlib
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import autograd, np, npx

GPU, OTHER = npx.gpu(0), npx.gpu(1)
DEVICES = [GPU, OTHER, npx.cpu(0), npx.cpu(1)]


def here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


MADE: dict[str, Callable[..., np.ndarray]] = {
    "array": lambda **at: np.array([[1.0, 2.0], [3.0, 4.0]], **at),
    "array of NumPy's": lambda **at: np.array(numpy.arange(12.0).reshape(3, 4)[:, ::2], **at),
    "array of a number": lambda **at: np.array(3, dtype="float64", **at),
    "asarray": lambda **at: np.asarray([1, 2], **at),
    "zeros": lambda **at: np.zeros((2, 3), **at),
    "ones": lambda **at: np.ones((2, 3), "float64", **at),
    "full": lambda **at: np.full((2,), 7, **at),
    "empty": lambda **at: np.empty((2, 3), **at),
    "arange": lambda **at: np.arange(1, 9, 2, **at),
    "linspace": lambda **at: np.linspace(0, 1, 7, **at),
    "eye": lambda **at: np.eye(3, 4, 1, **at),
    "random.normal": lambda **at: np.random.normal(1.0, 2.0, size=(50,), **at),
    "random.uniform": lambda **at: np.random.uniform(-1, 3, size=(50,), **at),
    "random.randn": lambda **at: np.random.randn(3, 4, **at),
    "random.rand": lambda **at: np.random.rand(3, 4, **at),
    "random.randint": lambda **at: np.random.randint(10, size=(50,), **at),
    "large": lambda **at: np.random.normal(size=(300, 200), **at),
}


@pytest.mark.parametrize("device", DEVICES, ids=str)
@pytest.mark.parametrize("how", MADE)
def test_made_on_a_device(how: str, device: npx.Device) -> None:
    make = MADE[how]
    npx.seed(5)
    expected = make().asnumpy()
    for made in ({"ctx": device}, {"device": device}, None):
        npx.seed(5)
        if made is None:
            with device:
                x = make()
        else:
            x = make(**made)
        assert x.device == x.ctx == x.context == device
        assert x.asnumpy().tobytes() == expected.tobytes()
        assert x.dtype == expected.dtype and x.shape == expected.shape
    assert npx.current_device() == npx.cpu()


def test_the_two_spellings_are_one_argument() -> None:
    with pytest.raises(TypeError, match="ones: ctx and device are the same argument"):
        np.ones((2,), ctx=GPU, device=GPU)
    with pytest.raises(RuntimeError, match=r"no device gpu\(2\): 2 GPUs are present"):
        np.ones((2,), ctx=npx.Device("gpu", 2))
    with pytest.raises(RuntimeError, match=r"no device gpu\(2\): 2 GPUs are present"):
        npx.gpu(2)
    assert npx.num_gpus() == 2


def test_what_is_alike_stays_beside_it() -> None:
    x = np.random.normal(size=(3, 2), ctx=OTHER)
    for like in (np.zeros_like, np.ones_like, np.empty_like):
        assert like(x).device == OTHER
        assert like(x, ctx=GPU).device == GPU
    assert np.full_like(x, 4).device == OTHER
    assert np.full_like(x, 4, device=npx.cpu(1)).device == npx.cpu(1)
    made = [np.array(x), np.asarray(x), np.copy(x), x.copy(), x.astype("float64"), x.T, x[1:], x.reshape(6), x + 1]
    assert [y.device for y in made] == [OTHER] * len(made)
    assert np.array(x, ctx=GPU).device == np.asarray(x, ctx=GPU).device == GPU
    shifted = np.random.normal(x, 1.0)
    assert shifted.device == OTHER and shifted.shape == (3, 2)
    assert np.random.uniform(0.0, np.abs(x), ctx=GPU).device == GPU


def test_the_current_device_is_the_threads() -> None:
    seen: list[npx.Device] = []
    with GPU:
        with OTHER, pytest.raises(ZeroDivisionError):
            assert npx.current_device() == OTHER
            1 / 0  # noqa: B018  (raising is its purpose)
        thread = threading.Thread(target=lambda: seen.append(npx.current_device()))
        thread.start()
        thread.join()
        assert npx.current_device() == GPU
    assert seen == [npx.cpu()] and npx.current_device() == npx.cpu()


@pytest.mark.parametrize("there", DEVICES, ids=str)
@pytest.mark.parametrize("back", DEVICES, ids=str)
def test_moved(there: npx.Device, back: npx.Device) -> None:
    for shape in [(0,), (1,), (3, 5), (200, 300)]:
        x = np.random.normal(size=shape, ctx=there)
        y = x.as_in_ctx(back)
        assert (y is x) == (there == back) and y.device == back
        assert x.as_in_context(back).device == x.to_device(back).device == back
        copied = x.copyto(back)
        copied += 1
        assert copied.device == back and y.asnumpy().tobytes() == x.asnumpy().tobytes()
        target = np.zeros(shape, ctx=back)
        assert x.copyto(target) is target
        assert target.device == back and target.asnumpy().tobytes() == x.asnumpy().tobytes()
    with pytest.raises(TypeError, match="copyto: needs an array or a device, not str"):
        x.copyto("gpu")
    with pytest.raises(ValueError, match="could not broadcast"):
        x.copyto(np.zeros((7,), ctx=back))


def test_views_are_moved_as_they_look() -> None:
    x = np.arange(24, dtype="float32", ctx=GPU).reshape(4, 6)
    looks = [x.T, x[1:3], x[:, ::-2], x[2], x[2, 3], np.broadcast_to(x[0], (3, 6)), x[[3, 0]], x[..., None]]
    for view in looks:
        assert view.device == GPU
        for device in (OTHER, npx.cpu()):
            assert view.as_in_ctx(device).asnumpy().tolist() == view.tolist()


def test_written_across_devices() -> None:
    plain = numpy.zeros((3, 4), "float32")
    x = np.zeros((3, 4), ctx=GPU)
    rows = x[1:]
    for array in (x, plain):
        array[0] = 5
        array[:, 1] = [1, 2, 3]
        array[1:, 2:] = numpy.full((2, 2), 9)
        array += numpy.arange(4, dtype="float32")
        array *= 2
    x[2] = np.ones((4,), ctx=OTHER)
    rows[0, 0] = np.array(70.0)
    plain[2], plain[1, 0] = 1, 70
    assert x.device == rows.device == GPU
    assert x.tolist() == plain.tolist() and rows.tolist() == plain[1:].tolist()
    x[:] = np.full((3, 4), 6, ctx=npx.cpu(1))
    assert x.device == GPU and rows.tolist() == [[6.0] * 4] * 2


def test_devices_do_not_mix_by_themselves() -> None:
    x, y = np.ones((2, 2), ctx=GPU), np.ones((2, 2), ctx=OTHER)
    host = np.ones((2, 2))
    for call in (operator.add, operator.matmul, np.maximum, lambda a, b: np.concatenate([a, b])):
        with pytest.raises(ValueError, match=r"operands are on gpu\(0\) and gpu\(1\): move them to one device"):
            call(x, y)
        with pytest.raises(ValueError, match=r"operands are on gpu\(0\) and cpu\(0\)"):
            call(x, host)
    with pytest.raises(ValueError, match=r"operands are on gpu\(0\) and gpu\(1\)"):
        x += y
    assert x.tolist() == host.tolist()


BESIDE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "a number": lambda x: 2 * x - True,
    "a list": lambda x: x * [1.0, 2.0],
    "a list before": lambda x: [1.0, 2.0] - x,
    "NumPy's array": lambda x: numpy.ones((2, 2), "float32") - x,
    "NumPy's number": lambda x: x * numpy.float32(3),
    "a function": lambda x: np.add([1.0, 2.0], x),
    "where": lambda x: np.where(x > 1, x, [0.0, 9.0]),
    "matmul": lambda x: x @ [[1.0, 2.0], [0.0, 1.0]],
    "dot": lambda x: np.dot([1.0, 2.0], x),
    "a method": lambda x: x.dot([1.0, 2.0]),
    "clip": lambda x: x.clip([0.0, 2.0], 3),
    "concatenate": lambda x: np.concatenate([[[7.0, 8.0]], x]),
    "rows": lambda x: x[[1, 0, 1]],
    "take": lambda x: np.take(x, [1, 0], axis=1) + x.take([3, 0]),
    "pick": lambda x: npx.pick(x, [1, 0]),
    "embedding": lambda x: npx.embedding([0, 1, 1], x),
    "fully_connected": lambda x: npx.fully_connected(x, [[1.0, 2.0]], no_bias=True, num_hidden=1),
    "layer_norm": lambda x: npx.layer_norm(x, [1.0, 2.0], [0.0, 1.0]),
    "dropout": lambda x: npx.dropout(x, 0.5, mode="always"),
    "one_hot": lambda x: npx.one_hot(x, 5),
    "repeat": lambda x: x.repeat(2) + np.tile(x, 2).sum(),
    "moments": lambda x: x.var() + x.std(axis=0) + x.mean() + x.prod(),
}


@pytest.mark.parametrize("how", BESIDE)
def test_what_stands_beside_an_array_joins_it(how: str) -> None:
    npx.seed(3)
    there = BESIDE[how](np.array([[1.0, 2.0], [3.0, 4.0]], ctx=OTHER))
    npx.seed(3)
    expected = BESIDE[how](np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert there.device == OTHER
    assert there.asnumpy().tobytes() == expected.asnumpy().tobytes()


def test_read() -> None:
    x = np.array([[1.5, 2.0]], ctx=OTHER)
    assert repr(x) == "array([[1.5, 2. ]], device=gpu(1))"
    assert repr(x.astype("float64")) == "array([[1.5, 2. ]], dtype=float64, device=gpu(1))"
    assert repr(x.as_in_ctx(npx.cpu(1))) == "array([[1.5, 2. ]])"
    assert str(x) == "[[1.5 2. ]]"
    assert (x.tolist(), x[0, 0].item(), x.item(0, 1), float(x[0, 1])) == ([[1.5, 2.0]], 1.5, 2.0, 2.0)
    assert f"{x.sum():.2f}" == "3.50" and bool(x.sum() > 3) and int(x[0, 1]) == 2
    assert [row.device for row in x] == [OTHER]
    assert numpy.asarray(x).tolist() == [[1.5, 2.0]]
    assert not x.asnumpy().flags.writeable
    assert np.allclose(x, [[1.5, 2.0]]) and np.array_equal(x, x.copy())


def test_saved_and_loaded(tmp_path: pathlib.Path) -> None:
    arrays = {"a": np.random.normal(size=(3, 4), ctx=GPU), "b": np.arange(5, ctx=OTHER)}
    npx.save(str(tmp_path / "arrays"), arrays)
    loaded: Any = npx.load(str(tmp_path / "arrays"))
    for name, array in arrays.items():
        assert loaded[name].device == npx.cpu()
        assert loaded[name].asnumpy().tobytes() == array.asnumpy().tobytes()


def test_gradients_live_where_their_variables_do() -> None:
    def gradients(device: npx.Device, through: npx.Device) -> list[bytes]:
        npx.seed(2)
        x, w = np.random.normal(size=(4, 3), ctx=device), np.random.normal(size=(3, 2), ctx=device)
        for variable in (x, w):
            variable.attach_grad()
        with autograd.record():
            h = np.tanh(x @ w).as_in_ctx(through)
            loss = (h * h)[1:].sum()
        loss.backward()
        assert loss.device == through
        grads = [x.grad, w.grad]
        assert all(grad is not None and grad.device == device for grad in grads)
        return [grad.asnumpy().tobytes() for grad in grads if grad is not None]

    expected = gradients(npx.cpu(), npx.cpu())
    for device in DEVICES:
        for through in DEVICES:
            assert gradients(device, through) == expected


def test_a_function_of_ones_own_and_higher_gradients() -> None:
    class Cube(autograd.Function):
        def forward(self, x: np.ndarray) -> np.ndarray:
            self.save_for_backward(x)
            return x * x * x

        def backward(self, dy: np.ndarray) -> np.ndarray:
            (x,) = self.saved_tensors
            return 3 * x * x * dy

    x = np.array([2.0], ctx=GPU)
    x.attach_grad()
    with autograd.record():
        y = Cube()(x)
    y.backward()
    assert x.grad is not None and (x.grad.device, x.grad.item()) == (GPU, 12.0)
    with autograd.record():
        y = x * x * x
        dx = autograd.grad(y, x, create_graph=True)[0]
    dx.backward()
    assert (dx.device, dx.item(), x.grad.item()) == (GPU, 12.0, 12.0)


def test_memory_is_counted_on_its_device() -> None:
    npx.waitall()
    free, total = npx.gpu_memory_info(1)
    before = npx.gpu_memory_info(0)
    forerun.reset_peak(OTHER)
    kept = np.ones((512, 512), ctx=OTHER) * 2
    line = here() - 1
    kept.wait_to_read()
    assert npx.gpu_memory_info(1) == (free - 4 * 512 * 512, total)
    assert npx.gpu_memory_info(0) == before
    stats = forerun.memory_stats(device=OTHER)
    assert {"line": line, "file": __file__, "bytes": kept.nbytes, "arrays": 1, "op": "multiply"} in stats["holders"]
    assert stats["peak"] >= stats["live"] >= kept.nbytes
    assert set(stats) < {*forerun.memory_stats(), "capacity", "description"}
    assert forerun.memory_stats(device=npx.cpu(1)).keys() == forerun.memory_stats().keys()
    kept *= 1
    del kept
    npx.waitall()
    assert npx.gpu_memory_info(1) == (free, total)
    assert forerun.memory_stats(device=OTHER)["cached"] > 0
    OTHER.empty_cache()
    assert forerun.memory_stats(device=OTHER)["cached"] == 0
    npx.cpu().empty_cache()
    with pytest.raises(RuntimeError, match=r"no device gpu\(7\)"):
        npx.gpu_memory_info(7)
    assert npx.cpu_pinned(1) == npx.Device("cpu_pinned", 1) == npx.cpu(1)


def test_without_memory_the_lines_are_named() -> None:
    kept = np.ones((1024, 1024), ctx=GPU)
    line = here() - 1
    kept.wait_to_read()
    huge = np.zeros((1 << 40,), ctx=GPU) + 1
    with pytest.raises(MemoryError) as raised:
        huge.wait_to_read()
    text = str(raised.value)
    assert "on gpu(0)" in text and f"array of full at {__file__}:{line}" in text and f"{__file__}:{line + 3}" in text
    assert (kept + 1)[0, 0].item() == 2.0


def test_a_bad_index_fails_where_it_is_read_and_alone() -> None:
    table = np.random.normal(size=(10, 4), ctx=GPU)
    bad = np.take(table, np.array([1, 99], ctx=GPU), axis=0)
    line = here() - 1
    after, beside = bad * 2 + 1, table * 2
    with pytest.raises(IndexError, match="index 99 is out of bounds") as raised:
        after.as_in_ctx(OTHER).asnumpy()
    assert f"{__file__}:{line}" in str(raised.value)
    assert beside.asnumpy().tobytes() == (table.asnumpy() * 2).tobytes()
