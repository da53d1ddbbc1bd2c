"""Functions for layers, beyond the samples: training mode, indices, forms of calls, failures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from forerun import _forerun, np, npx


@pytest.fixture
def training() -> Iterator[None]:
    """Put the thread in training mode."""
    former = _forerun.set_training(True)
    yield
    _forerun.set_training(former)


def close(got: np.ndarray, expected: Any, places: float = 1e-5) -> None:
    numpy.testing.assert_allclose(got.asnumpy(), expected, rtol=places, atol=places)


def test_dropout_only_in_training() -> None:
    x = np.ones((1000,))
    assert npx.dropout(x, 0.5).tolist() == [1.0] * 1000
    # The result does not share elements with the input.
    y = npx.dropout(x, 0.5)
    y += 1
    assert x.sum().item() == 1000.0


@pytest.mark.usefixtures("training")
def test_dropout_in_training() -> None:
    npx.seed(1)
    x = npx.dropout(np.ones((1000, 20)), 0.25).asnumpy()
    assert set(numpy.unique(x)) == {0.0, numpy.float32(1 / 0.75)}
    assert abs(x.mean() - 1) < 0.02
    rows = npx.dropout(np.ones((1000, 20)), 0.25, axes=(1,)).asnumpy()
    assert (rows == rows[:, :1]).all() and 0 < rows[:, 0].mean() < 1.4
    npx.seed(1)
    assert (npx.dropout(np.ones((1000, 20)), 0.25).asnumpy() == x).all()
    with pytest.raises(ValueError, match="dropout: mode must be"):
        npx.dropout(np.ones((2,)), mode="sometimes")


@pytest.mark.usefixtures("training")
def test_batch_norm_keeps_statistics_in_training() -> None:
    x = numpy.random.default_rng(0).normal(3, 2, (64, 4, 5)).astype("float32")
    gamma, beta, mean, variance = np.full((4,), 2.0), np.ones((4,)), np.zeros((4,)), np.ones((4,))
    over = (0, 2)
    off = (x - x.mean(over, keepdims=True)) / numpy.sqrt(x.var(over, keepdims=True) + 1e-3)
    for step in range(1, 4):
        y = npx.batch_norm(np.array(x), gamma, beta, mean, variance, fix_gamma=False)
        close(y, off * 2 + 1, 1e-4)
        close(mean, x.mean(over) * (1 - 0.9**step), 1e-4)
        close(variance, 0.9**step + x.var(over) * (1 - 0.9**step), 1e-4)
    before = mean.tolist()
    y, used, _ = npx.batch_norm(np.array(x), gamma, beta, mean, variance, use_global_stats=True, output_mean_var=True)
    assert mean.tolist() == before == used.tolist()
    assert abs(y.mean().item()) > 1


def test_activations_by_name() -> None:
    x = np.array([-2.0, 0.0, 3.0])
    close(npx.leaky_relu(x, act_type="elu", slope=0.5), [0.5 * numpy.expm1(-2.0), 0, 3])
    close(npx.leaky_relu(np.ones((2, 3)) * -1, np.array([1.0, 2.0, 3.0]), act_type="prelu"), [[-1, -2, -3]] * 2)
    close(npx.leaky_relu(np.ones((1, 2, 2)) * -1, np.array([1.0, 2.0]), act_type="prelu"), [[[-1, -1], [-2, -2]]])
    close(npx.activation(np.array([-100.0, 0.0, 100.0]), "softrelu"), [0, numpy.log(2), 100])
    close(npx.leaky_relu(np.array([-1.0, 1.0]), act_type="gelu"), [-0.15865525, 0.84134475], 1e-7)
    close(npx.leaky_relu(np.array([-1.0, 1.0]), act_type="gelu_tanh"), [-0.15880801, 0.84119199], 1e-7)
    # Small results keep their digits.
    assert npx.activation(np.array([-50.0]), "softrelu").item() == pytest.approx(numpy.exp(-50.0), rel=1e-6)
    assert npx.activation(np.array([-1e-10]), "selu").item() == pytest.approx(-1.7580993e-10, rel=1e-6)
    with pytest.raises(ValueError, match="activation: unknown activation 'step'"):
        npx.activation(x, "step")
    with pytest.raises(ValueError, match="leaky_relu: unknown activation 'relu'"):
        npx.leaky_relu(x, act_type="relu")
    with pytest.raises(ValueError, match="prelu needs gamma"):
        npx.leaky_relu(x, act_type="prelu")


def test_softmax_of_large_numbers_and_temperatures() -> None:
    x = np.array([1000.0, 1001.0, -1000.0])
    close(npx.softmax(x), [1 / (1 + numpy.e), numpy.e / (1 + numpy.e), 0])
    close(npx.log_softmax(x)[2], -2001 - numpy.log(1 + 1 / numpy.e), 1e-3)
    close(npx.softmax(x, temperature=1e6), [1 / 3] * 3, 1e-2)
    assert npx.softmax(np.array([1, 2]), dtype="float64").dtype == np.float64


def test_products() -> None:
    generator = numpy.random.default_rng(0)
    a, b = generator.normal(size=(3, 2, 4)), generator.normal(size=(3, 4, 5))
    close(npx.batch_dot(np.array(a), np.array(b)), a @ b)
    close(npx.batch_dot(np.array(a.swapaxes(1, 2)), np.array(b), transpose_a=True), a @ b)
    close(npx.batch_dot(np.array(a), np.array(b.swapaxes(1, 2)), transpose_b=True), a @ b)
    with pytest.raises(ValueError, match=r"batch_dot: needs two stacks of matrices, got \(2, 3\)"):
        npx.batch_dot(np.ones((2, 3)), np.ones((3, 2)))
    x, weight = np.ones((2, 3)), np.ones((4, 3))
    assert npx.fully_connected(x, weight, np.ones((4,)), num_hidden=4, no_bias=True).tolist() == [[3.0] * 4] * 2
    with pytest.raises(ValueError, match="does not have 5 rows"):
        npx.fully_connected(x, weight, num_hidden=5)


INDICES: list[Any] = [[2, 0], [[0, 1], [-1, -3]], [], numpy.array([1, 1]), numpy.array([[2]], "int32")]


@pytest.mark.parametrize("index", INDICES)
def test_reading_by_indices(index: Any) -> None:
    x = numpy.arange(24).reshape(3, 2, 4)
    for mine in [index, np.array(numpy.asarray(index, "int64"))]:
        for key, plain in [
            (mine, x[numpy.asarray(index, "int64")]),
            ((mine, slice(None)), x[numpy.asarray(index, "int64")]),
            ((mine, ...), x[numpy.asarray(index, "int64")]),
        ]:
            got = np.array(x)[key]
            assert got.shape == plain.shape
            numpy.testing.assert_array_equal(got.asnumpy(), plain)
    numpy.testing.assert_array_equal(np.array(x).T[index].asnumpy(), x.T[numpy.asarray(index, "int64")])


def test_indices_out_of_bounds_raise_where_they_are_read() -> None:
    x = np.arange(5)
    taken, fine = x[[1, 7]], x[[1, 2]]
    later = taken + 1
    for _ in range(2):
        with pytest.raises(IndexError, match="take: index 7 is out of bounds for axis 0 with size 5") as raised:
            later.tolist()
        assert re.findall(r"(submitted|read) at (.*):\d+", str(raised.value)) == [
            ("submitted", __file__),
            ("read", __file__),
        ]
    assert fine.tolist() == [1, 2]
    with pytest.raises(IndexError, match="must be of integer"):
        x[[0.5]]
    with pytest.raises(TypeError, match="take: indices must be integers, not float32"):
        np.take(x, np.ones((2,)))
    with pytest.raises(ValueError, match="mode must be 'raise', 'clip' or 'wrap', not 'bend'"):
        np.take(x, [0], mode="bend")


def test_rearrangements() -> None:
    a = numpy.arange(24).reshape(2, 3, 4)
    x = np.array(a)
    for axis in [None, 0, 1, -1]:
        numpy.testing.assert_array_equal(np.flip(x, axis).asnumpy(), numpy.flip(a, axis))
        numpy.testing.assert_array_equal(x.repeat(3, axis).asnumpy(), a.repeat(3, axis))
    numpy.testing.assert_array_equal(np.repeat(x, [2, 0, 1], 1).asnumpy(), numpy.repeat(a, [2, 0, 1], 1))
    tiles: list[Any] = [2, (2,), (1, 2, 3), (2, 1, 1, 2), (0, 2)]
    for reps in tiles:
        numpy.testing.assert_array_equal(x.tile(reps).asnumpy(), numpy.tile(a, reps))
    cuts: Any
    for cuts, axis in [(3, 1), ([1, 3], 2), ([0, 5], 0), (1, 0)]:
        for got, want in zip(np.split(x, cuts, axis), numpy.split(a, cuts, axis), strict=True):
            numpy.testing.assert_array_equal(got.asnumpy(), want)
    numpy.testing.assert_array_equal(x.swapaxes(0, -1).asnumpy(), a.swapaxes(0, -1))
    assert x.expand_dims(1).shape == (2, 1, 3, 4) and x[0, 0].broadcast_to((5, 4)).shape == (5, 4)
    assert x.all().item() is False and x.any(axis=0, keepdims=True).shape == (1, 3, 4)
    with pytest.raises(ValueError, match="split: 3 elements along axis 1 do not make 2 equal parts"):
        np.split(x, 2, 1)
    with pytest.raises(ValueError, match="repeat: 2 counts for 3 elements along axis 1"):
        np.repeat(x, [1, 2], 1)


def test_tiled_arrays_are_new() -> None:
    x = np.ones((2,))
    y = np.tile(x, 1)
    y += 1
    assert x.tolist() == [1.0, 1.0]


def test_bounds_may_be_arrays() -> None:
    x = np.arange(6).reshape(2, 3)
    assert x.clip(np.array([1, 2, 3]), 4).tolist() == [[1, 2, 3], [3, 4, 4]]
    assert np.clip([0.5, 2.5], 1, None).tolist() == [1.0, 2.5]
    assert x.clip().tolist() == x.tolist()
