"""Convolutional recurrent cells compared with loops in NumPy, in double precision."""

from __future__ import annotations

import itertools
from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, np
from forerun.gluon import rnn

RANDOM = numpy.random.default_rng(5)
KINDS = ["RNN", "LSTM", "GRU"]


def sigmoid(x: numpy.ndarray) -> numpy.ndarray:
    return 1 / (1 + numpy.exp(-x))


def convolved(x: Any, weight: Any, bias: Any, pad: int, dilate: int) -> numpy.ndarray:
    """Convolve data with channels first."""
    axes = x.ndim - 2
    x = numpy.pad(x, [(0, 0), (0, 0)] + [(pad, pad)] * axes)
    kernel = weight.shape[2:]
    extents = [n - dilate * (k - 1) for n, k in zip(x.shape[2:], kernel, strict=True)]
    made = numpy.zeros((x.shape[0], weight.shape[0], *extents))
    for place in itertools.product(*map(range, kernel)):
        window = [slice(dilate * p, dilate * p + n) for p, n in zip(place, extents, strict=True)]
        part, factors = x[(..., *window)], weight[(..., *place)]
        made += numpy.einsum("nc...,fc->nf...", part, factors)
    return made + bias.reshape(-1, *(1,) * axes)


def stepped(kind: str, given: Any, kept: Any, states: list[Any]) -> list[Any]:
    if kind == "RNN":
        return [numpy.tanh(given + kept)]
    if kind == "LSTM":
        i, f, g, o = numpy.split(given + kept, 4, axis=1)
        c = sigmoid(f) * states[1] + sigmoid(i) * numpy.tanh(g)
        return [sigmoid(o) * numpy.tanh(c), c]
    (r, z, n), (hr, hz, hn) = numpy.split(given, 3, axis=1), numpy.split(kept, 3, axis=1)
    z = sigmoid(z + hz)
    return [(1 - z) * numpy.tanh(n + sigmoid(r + hr) * hn) + z * states[0]]


def made(kind: str, dimensions: int, last: bool, **options: Any) -> tuple[rnn.RecurrentCell, tuple[int, ...]]:
    axes = (6, 5, 4)[:dimensions]
    shape = (*axes, 2) if last else (2, *axes)
    layout = ("NWC", "NHWC", "NDHWC")[dimensions - 1] if last else None
    cls = getattr(rnn, f"Conv{dimensions}D{kind}Cell")
    cell = cls(shape, 3, 2, 3, i2h_pad=1, h2h_dilate=2, conv_layout=layout, **options)
    cell.initialize("normal")
    cell.cast("float64")
    for parameter in cell.collect_params().values():
        parameter.set_data(RANDOM.normal(size=parameter.shape) / 3)
    return cell, shape


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_steps_equal_the_formulas(kind: str, dimensions: int, last: bool, hybrid: bool) -> None:
    cell, shape = made(kind, dimensions, last)
    if hybrid:
        cell.hybridize()

    def first(x: numpy.ndarray) -> numpy.ndarray:
        return numpy.moveaxis(x, -1, 1) if last else x

    own = {name: first(p.data().asnumpy()) if "weight" in name else p.data().asnumpy()
           for name, p in cell.collect_params().items()}  # fmt: skip
    states = cell.begin_state(batch_size=2, dtype="float64")
    expected = [first(state.asnumpy()) for state in states]
    for _ in range(3):
        x = RANDOM.normal(size=(2, *shape))
        output, states = cell(np.array(x), states)
        given = convolved(first(x), own["i2h_weight"], own["i2h_bias"], 1, 1)
        kept = convolved(expected[0], own["h2h_weight"], own["h2h_bias"], 2, 2)
        expected = stepped(kind, given, kept, expected)
        for found, value in zip([output, *states], [expected[0], *expected], strict=True):
            numpy.testing.assert_allclose(first(found.asnumpy()), value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients(kind: str) -> None:
    cell, shape = made(kind, 1, False)
    inputs = np.array(RANDOM.normal(size=(2, 3, *shape)))
    factors = np.array(RANDOM.normal(size=(2, 3, 3, 7)))

    def total() -> np.ndarray:
        outputs, _ = cell.unroll(3, inputs, cell.begin_state(2, dtype="float64"))
        return (outputs * factors).sum()

    with autograd.record():
        result = total()
    result.backward()
    for parameter in cell.collect_params().values():
        place = tuple(extent // 2 for extent in parameter.shape or ())
        found, before = parameter.grad()[place].item(), parameter.data().asnumpy()
        step = numpy.zeros(before.shape)
        step[place] = 1e-6
        sides = []
        for side in (1, -1):
            parameter.set_data(before + side * step)
            sides.append(total().item())
        parameter.set_data(before)
        numpy.testing.assert_allclose(found, (sides[0] - sides[1]) / 2e-6, rtol=1e-6, atol=1e-8)


def test_channels_are_inferred_and_sequences_may_end_early() -> None:
    cell = rnn.Conv1DLSTMCell((0, 8), 4, 3, 3, activation=gluon.nn.LeakyReLU(0.1))
    assert repr(cell) == "Conv1DLSTMCell(None -> 16, LeakyReLU(0.1), NCW)"
    cell.initialize()
    x = np.array(RANDOM.normal(size=(2, 3, 5, 8)).astype("float32"))
    outputs, states = cell.unroll(3, x, valid_length=np.array([2, 3]))
    assert cell.i2h_weight.shape == (16, 5, 3) and outputs.shape == (2, 3, 4, 6)
    assert (outputs[0, 2] == 0).all()
    numpy.testing.assert_array_equal(states[0][0].asnumpy(), outputs[0, 1].asnumpy())
    numpy.testing.assert_array_equal(states[0][1].asnumpy(), outputs[1, 2].asnumpy())


def test_mistakes() -> None:
    with pytest.raises(ValueError, match=r"Conv2DRNNCell: h2h_kernel must be odd, got \(2, 2\)"):
        rnn.Conv2DRNNCell((2, 8, 8), 4, 3, 2)
    with pytest.raises(ValueError, match=r"Conv1DGRUCell: input_shape must have the axes C, W, got \(2, 8, 8\)"):
        rnn.Conv1DGRUCell((2, 8, 8), 4, 3, 3)
    with pytest.raises(ValueError, match=r"Conv2DGRUCell: i2h_pad must have 2 numbers, got \(1,\)"):
        rnn.Conv2DGRUCell((2, 8, 8), 4, 3, 3, i2h_pad=(1,))
    with pytest.raises(ValueError, match=r"i2h_kernel \(9,\) does not fit an input of shape \(2, 8\)"):
        rnn.Conv1DRNNCell((2, 8), 4, 9, 3)
    cell = rnn.Conv1DRNNCell((2, 8), 4, 3, 3)
    cell.initialize()
    with pytest.raises(ValueError, match=r"Conv1DRNNCell: states must have the shapes \[\(1, 4, 6\)\], got"):
        cell(np.ones((1, 2, 8)), [np.ones((1, 4, 8))])
