"""Moves, writes and concatenations compared with NumPy: dtypes, layouts, odd lengths, repeated positions."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import forerun
from forerun import autograd, np, npx

DTYPES = ["bool", "int8", "uint16", "float32", "int64", "float64", "complex128"]
#: Lengths near the sizes of vectors, blocks and pieces, and near the limit for inline execution.
LENGTHS = [1, 7, 8, 33, 64, 65, 1000, 5003, 40000]


def numbers(shape: int | tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    draw = numpy.random.default_rng(seed)
    if dtype == "bool":
        return draw.random(shape) > 0.5
    return (draw.integers(0, 120, shape) + (0.5 if "float" in dtype else 0)).astype(dtype)


def same(made: Any, expected: Any) -> None:
    read = made.asnumpy()
    assert read.dtype == expected.dtype and read.shape == expected.shape
    numpy.testing.assert_array_equal(read, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_one_array_of_indices_reads_and_writes(dtype: str, length: int) -> None:
    draw = numpy.random.default_rng(length)
    x = numbers(length, dtype)
    # Some negative, most of them repeated.
    places = draw.integers(-length, length, max(length // 2, 1))
    for kind in ("int32", "int64"):
        at = places.astype(kind)
        same(np.array(x)[np.array(at)], x[at])
        same(np.take(np.array(x), np.array(at)), x[at])
        for value in (1, numbers(at.size, dtype, 1), numbers(1, dtype, 2)):
            expected = x.copy()
            expected[at] = value
            made = np.array(x)
            made[np.array(at)] = value if isinstance(value, int) else np.array(value)
            same(made, expected)
            made = np.array(x)
            made.put(np.array(at), value if isinstance(value, int) else np.array(value))
            same(made, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_value_at_many_places(dtype: str) -> None:
    draw = numpy.random.default_rng(8)
    x, at = numbers(150_000, dtype), draw.integers(-150_000, 150_000, 200_000)
    expected, made = x.copy(), np.array(x)
    expected[at] = 1
    made[np.array(at)] = 1
    same(made, expected)


@pytest.mark.parametrize("shape", [(5, 3), (40, 1), (6, 2, 4), (30, 0), (300, 64)])
def test_rows_are_read_and_written(shape: tuple[int, ...]) -> None:
    draw = numpy.random.default_rng(3)
    x = numbers(shape, "float32")
    at = draw.integers(-shape[0], shape[0], (4, 3))
    same(np.array(x)[np.array(at)], x[at])
    for value in (2.5, numbers((4, 3, *shape[1:]), "float32", 1), numbers(shape[1:], "float32", 2), 7):
        expected, made = x.copy(), np.array(x)
        expected[at] = value
        made[np.array(at)] = value if isinstance(value, (int, float)) else np.array(value)
        same(made, expected)
    flat = draw.integers(0, max(x.size, 1), 5)
    if x.size:
        expected, made = x.copy(), np.array(x)
        numpy.put(expected, flat, [1, 2, 3, 4, 5])
        np.put(made, np.array(flat), np.array([1, 2, 3, 4, 5]))
        same(made, expected)


def test_a_view_and_a_broadcast_index_are_written_as_before() -> None:
    x = numbers((8, 6), "float32")
    for view in (lambda a: a[2:], lambda a: a[:, ::2], lambda a: a.T, lambda a: a[::-1]):
        expected, made = x.copy(), np.array(x)
        at = numpy.array([1, 0, 1])
        view(expected)[at] = 5
        view(made)[np.array(at)] = 5
        same(made, expected)
    expected, made = x.copy(), np.array(x)
    expected[numpy.array([3, 1, 5])[::2]] = 9
    made[np.array([3, 1, 5])[::2]] = 9
    same(made, expected)


def test_an_index_that_names_nothing_fails_late_and_leaves_the_last_good_value() -> None:
    x = np.arange(6.0)
    for at in ([0, 6], [-7]):
        y = x[np.array(at)]
        with pytest.raises(IndexError, match=r"index .* is out of bounds for axis 0 with size 6"):
            y.wait_to_read()
        z = np.arange(6.0)
        z[np.array(at)] = 1
        with pytest.raises(IndexError, match=r"index .* is out of bounds for axis 0 with size 6"):
            z.wait_to_read()
        assert z.restore() == 1
        same(z, numpy.arange(6, dtype="float32"))
    with pytest.raises(IndexError):
        np.ones((0,))[np.array([0])].wait_to_read()
    npx.waitall()


def test_gradients_flow_through_what_indices_write() -> None:
    x, v = np.arange(5.0), np.array([10.0, 20.0])
    x.attach_grad()
    v.attach_grad()
    with forerun.autograd.record():
        y = x * 2
        y[np.array([3, -5])] = v
        z = (y * y).sum()
    z.backward()
    same(x.grad, numpy.array([0, 8, 16, 0, 32], "float32"))
    same(v.grad, numpy.array([20, 40], "float32"))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("step", [2, 3, 4, 5, 8, 16, -1, -2, -3])
def test_strided_writes(dtype: str, step: int) -> None:
    for length in [1, 2, 17, 64, 129, 2000, 5001]:
        x = numbers(length, dtype)
        for start in (None, 1):
            expected, made = x.copy(), np.array(x)
            expected[start::step] = 1
            made[start::step] = 1
            same(made, expected)
            new = numbers(expected[start::step].size, dtype, 4)
            expected[start::step] = new
            made[start::step] = np.array(new)
            same(made, expected)


def test_large_strided_writes_touch_nothing_between() -> None:
    x = numbers(1_200_001, "float32")
    expected, made = x.copy(), np.array(x)
    expected[1::2] = -1
    made[1::2] = -1
    same(made, expected)
    # Rows whose elements alternate with those of other rows.
    x = numbers((600_000, 2), "float32")
    expected, made = x.copy(), np.array(x)
    expected.T[...] = 3
    made.T[...] = 3
    same(made, expected)


@pytest.mark.parametrize("length", [1, 511, 512, 513, 1023, 4099, 300_001])
def test_copies_to_any_alignment(length: int) -> None:
    x = numbers(length + 40, "float32")
    for shift in (1, 3, 8, 16, 33):
        expected, made = numpy.zeros(length + 40, "float32"), np.zeros(length + 40)
        expected[shift : shift + length] = x[:length]
        made[shift : shift + length] = np.array(x)[:length]
        same(made, expected)
        same(np.roll(np.array(x), shift), numpy.roll(x, shift))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("part", [0.0, 0.03, 0.5, 0.97, 1.0])
def test_what_a_mask_chooses(dtype: str, part: float) -> None:
    for length in [0, 1, 31, 32, 33, 64, 100, 5000, 70_001]:
        draw = numpy.random.default_rng(length)
        x, mask = numbers(length, dtype), draw.random(length) < part
        same(np.array(x)[np.array(mask)], x[mask])
        (found,) = np.nonzero(np.array(mask))
        same(found, numpy.nonzero(mask)[0])
    grid = numpy.random.default_rng(0).random((30, 7)) < part
    for found, expected in zip(np.nonzero(np.array(grid)), numpy.nonzero(grid), strict=True):
        same(found, expected)


LAYOUTS: dict[str, Any] = {
    "dense": lambda a: a,
    "turned": lambda a: a.T,
    "a part": lambda a: a[1:, ::2],
    "backwards": lambda a: a[::-1, ::-1],
}
MOVES: dict[str, Any] = {
    "flip": lambda lib, a: lib.flip(a),
    "flip 0": lambda lib, a: lib.flip(a, 0),
    "flip both": lambda lib, a: lib.flip(a, (0, -1)),
    "swapaxes": lambda lib, a: lib.swapaxes(a, 0, -1),
    "diagonal": lambda lib, a: lib.diagonal(a),
    "diagonal 1": lambda lib, a: lib.diagonal(a, 1),
    "diagonal -2": lambda lib, a: lib.diagonal(a, -2),
    "diagonal far": lambda lib, a: lib.diagonal(a, 100),
    "diagonal turned": lambda lib, a: lib.diagonal(a, 1, 1, 0),
    "trace": lambda lib, a: lib.trace(a),
    "diag": lambda lib, a: lib.diag(a, -1),
    "roll": lambda lib, a: lib.roll(a, 3),
    "roll 0": lambda lib, a: lib.roll(a, -1, 0),
    "roll 1": lambda lib, a: lib.roll(a, 1000001, -1),
    "roll none": lambda lib, a: lib.roll(a, 0, 0),
    "roll both": lambda lib, a: lib.roll(a, (1, 2), (0, 1)),
    "repeat": lambda lib, a: lib.repeat(a, 2),
    "repeat 3": lambda lib, a: lib.repeat(a, 3, 0),
    "repeat 5": lambda lib, a: lib.repeat(a, 5, -1),
    "repeat once": lambda lib, a: lib.repeat(a, 1, 1),
    "repeat never": lambda lib, a: lib.repeat(a, 0),
    "tile": lambda lib, a: lib.tile(a, 2),
    "tile 2 3": lambda lib, a: lib.tile(a, (2, 3)),
    "tile 2 1 1": lambda lib, a: lib.tile(a, (2, 1, 1)),
    "tile never": lambda lib, a: lib.tile(a, (2, 0)),
    "delete": lambda lib, a: lib.delete(a, 2),
    "delete row": lambda lib, a: lib.delete(a, -1, 0),
    "delete column": lambda lib, a: lib.delete(a, 0, 1),
    "hstack": lambda lib, a: lib.hstack([a, a]),
    "vstack": lambda lib, a: lib.vstack([a, a, a]),
    "dstack": lambda lib, a: lib.dstack([a, a]),
    "vstack rows": lambda lib, a: lib.vstack([a[0], a[1]]),
    "hstack rows": lambda lib, a: lib.hstack([a[0], a[1]]),
    "append": lambda lib, a: lib.append(a, a),
    "append rows": lambda lib, a: lib.append(a[0], a[1]),
    "append below": lambda lib, a: lib.append(a, a, 0),
    "pad": lambda lib, a: lib.pad(a, 1),
    "pad pairs": lambda lib, a: lib.pad(a, ((1, 0), (2, 3)), constant_values=4),
    "pad two": lambda lib, a: lib.pad(a, 2, constant_values=(4, 5)),
    "array": lambda lib, a: lib.array(a),
    "zeros_like": lambda lib, a: lib.zeros_like(a),
    "ones_like": lambda lib, a: lib.ones_like(a),
    "full_like": lambda lib, a: lib.full_like(a, 3),
    "concatenate four": lambda lib, a: lib.concatenate([a, a, a, a], 1),
    "concatenate casts": lambda lib, a: lib.concatenate([a, a.astype("float64")]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("move", MOVES)
def test_moves(layout: str, move: str) -> None:
    for dtype in ("float32", "int64", "uint16"):
        x = numbers((9, 12), dtype)
        made = MOVES[move](np, LAYOUTS[layout](np.array(x)))
        expected = numpy.asarray(MOVES[move](numpy, LAYOUTS[layout](x)))
        same(made, expected)


def test_repeats_of_a_vector() -> None:
    for dtype in DTYPES:
        for length in (1, 5, 16, 1001):
            x = numbers(length, dtype)
            for count in (2, 3, 4, 7, 20):
                same(np.repeat(np.array(x), count), numpy.repeat(x, count))


TURNED: dict[str, Any] = {
    "one": lambda x, y: x.T + 1,
    "two": lambda x, y: x.T * x.T,
    "beside dense": lambda x, y: x.T + y,
    "beside a part": lambda x, y: x.T + y[::-1, ::-1],
    "a chain": lambda x, y: (x.T * 2 + y) / (y * y + 1) - x.T,
    "root": lambda x, y: abs(x.T) ** 0.5,
}


@pytest.mark.parametrize("name", TURNED)
@pytest.mark.parametrize("shape", [(32, 32), (64, 64), (70, 1030), (1030, 70), (17, 300), (16, 4100), (2100, 40)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
def test_transposed_reads(name: str, shape: tuple[int, int], dtype: str) -> None:
    x, y = numbers(shape, dtype), numbers(shape[::-1], dtype, 1)
    if dtype == "int16" and name in ("a chain", "root"):
        return
    made = TURNED[name](np.array(x), np.array(y))
    # Without a transposed read, every bit is the same.
    plain = np.array(numpy.ascontiguousarray(x.T))
    expected = TURNED[name](_Turned(plain), np.array(y)).asnumpy()
    same(made, expected)


class _Turned:
    """An array with a dense transpose."""

    def __init__(self, turned: Any) -> None:
        self.T = turned


def test_elements_of_an_empty_array_are_there_to_be_written() -> None:
    for dtype in DTYPES:
        for shape in ((), (0,), (3,), (1000,), (40, 50)):
            x = np.empty(shape, dtype)
            assert (x.shape, str(x.dtype)) == (shape, dtype)
            x[...] = 1
            same(x, numpy.ones(shape, dtype))
            like = np.empty_like(x)
            assert (like.shape, like.dtype) == (x.shape, x.dtype)
    truth = np.empty(5000, "bool")
    assert not truth.any().item()


def test_a_capture_makes_another_empty_array_each_time() -> None:
    from forerun import gluon

    class Filled(gluon.HybridBlock):
        def forward(self, x: Any) -> Any:
            y = np.empty_like(x)
            y[...] = x + 1
            return y

    block = Filled()
    block.hybridize()
    one = block(np.zeros(100))
    two = block(np.ones(100))
    three = block(np.ones(100) * 2)
    for made, value in ((one, 1), (two, 2), (three, 3)):
        same(made, numpy.full(100, value, "float32"))


def test_sums_at_repeated_positions() -> None:
    draw = numpy.random.default_rng(5)
    at = draw.integers(-50, 50, 4000)
    for dtype in ("float64", "int64"):
        for value in (1, numbers(4000, dtype)):
            for name in ("add", "subtract"):
                expected, made = numbers(50, dtype), np.array(numbers(50, dtype))
                getattr(numpy, name).at(expected, at, value)
                getattr(np, name).at(made, np.array(at), value if isinstance(value, int) else np.array(value))
                same(made, expected)


@pytest.mark.parametrize("axes", [(1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_results_keep_the_layout_of_transposed_operands(axes: tuple[int, ...]) -> None:
    x = numpy.random.default_rng(0).normal(size=(5, 7, 3)).astype("float32")
    ours = np.array(x)
    for f in (lambda a: a + 1, lambda a: a * a, lambda a: 2 - a, lambda a: a > 0, abs):
        made, want = f(ours.transpose(axes)), f(x.transpose(axes))
        numpy.testing.assert_array_equal(made.asnumpy(), want)
        assert made.asnumpy().strides == want.strides
    made = ours.transpose(axes) + 1
    made[0] = 0
    numpy.testing.assert_array_equal(ours.asnumpy(), x)
    assert (ours.transpose(axes).copy() + 0).asnumpy().flags.c_contiguous
    mixed = ours.transpose(axes) + ours.transpose(axes).copy()
    numpy.testing.assert_array_equal(mixed.asnumpy(), x.transpose(axes) * 2)


def test_gradients_pass_through_transposed_operands() -> None:
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    x.attach_grad()
    with autograd.record():
        loss = (x.T * x.T * np.array([[1.0, 10.0]])).sum()
    loss.backward()
    numpy.testing.assert_array_equal(x.grad.asnumpy(), [[2, 4, 6], [80, 100, 120]])
