"""Recurrent layers against their unrolled cells, cells against formulas, lengths, layouts, and what goes wrong."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, np, npx
from forerun.gluon import rnn

STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 6


def drawn(*shape: int, dtype: str = "float64") -> np.ndarray:
    return np.array(numpy.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(dtype))


def cell_of(kind: str, **arguments: Any) -> rnn.HybridRecurrentCell:
    cells: dict[str, Any] = {
        "rnn_relu": lambda **given: rnn.RNNCell(HIDDEN, activation="relu", **given),
        "rnn_tanh": lambda **given: rnn.RNNCell(HIDDEN, activation="tanh", **given),
        "lstm": lambda **given: rnn.LSTMCell(HIDDEN, **given),
        "gru": lambda **given: rnn.GRUCell(HIDDEN, **given),
        "lstmp": lambda **given: rnn.LSTMPCell(HIDDEN, 2, **given),
    }
    made: rnn.HybridRecurrentCell = cells[kind](dtype="float64", **arguments)
    return made


def layer_of(kind: str, **arguments: Any) -> Any:
    layers: dict[str, Any] = {
        "rnn_relu": lambda **given: rnn.RNN(HIDDEN, activation="relu", **given),
        "rnn_tanh": lambda **given: rnn.RNN(HIDDEN, activation="tanh", **given),
        "lstm": lambda **given: rnn.LSTM(HIDDEN, **given),
        "gru": lambda **given: rnn.GRU(HIDDEN, **given),
        "lstmp": lambda **given: rnn.LSTM(HIDDEN, projection_size=2, **given),
    }
    layer = layers[kind](dtype="float64", **arguments)
    layer.initialize(np_uniform())
    return layer


def np_uniform() -> Any:
    from forerun import init

    return init.Uniform(0.5)


KINDS = ["rnn_relu", "rnn_tanh", "lstm", "gru", "lstmp"]


def copied(layer: Any, cell: Any, prefix: str) -> None:
    """Give a cell the parameters of a layer."""
    for name, parameter in cell.collect_params().items():
        parameter.set_data(layer.collect_params()[f"{prefix}_{name}"].data())


def cells_like(layer: Any, kind: str, layers: int, bidirectional: bool) -> Any:
    stack = rnn.SequentialRNNCell()
    for _ in range(layers):
        ways = [cell_of(kind) for _ in range(1 + bidirectional)]
        stack.add(rnn.BidirectionalCell(*ways) if bidirectional else ways[0])
    stack.initialize()
    return stack


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("layers", "bidirectional"), [(1, False), (2, False), (2, True)])
@pytest.mark.parametrize("lengths", [None, [5, 1, 3]])
def test_a_layer_is_its_cells_unrolled(kind: str, layers: int, bidirectional: bool, lengths: list[int] | None) -> None:
    npx.seed(3)
    layer = layer_of(kind, num_layers=layers, bidirectional=bidirectional, use_sequence_length=lengths is not None)
    x = drawn(STEPS, BATCH, INPUTS)
    layer(x, None, np.array(lengths)) if lengths else layer(x)
    stack = cells_like(layer, kind, layers, bidirectional)
    valid = None if lengths is None else np.array(lengths)
    stack.unroll(STEPS, x, layout="TNC", valid_length=valid)
    for number, part in enumerate(stack):
        for way, cell in zip("lr", [part.l_cell, part.r_cell] if bidirectional else [part], strict=False):
            copied(layer, cell, f"{way}{number}")
    begin = [drawn(*info["shape"]) for info in layer.state_info(BATCH)]
    ways = 1 + bidirectional
    own = [state[n] for n in range(layers * ways) for state in begin]
    twin = drawn(STEPS, BATCH, INPUTS)
    x.attach_grad()
    twin.attach_grad()
    with autograd.record():
        y, states = layer(x, begin, valid) if lengths else layer(x, begin)
        (y * y).sum().backward()
    with autograd.record():
        want, last = stack.unroll(STEPS, twin, own, layout="TNC", valid_length=valid)
        (want * want).sum().backward()
    numpy.testing.assert_allclose(y.asnumpy(), want.asnumpy(), rtol=1e-11, atol=1e-12)
    numpy.testing.assert_allclose(x.grad.asnumpy(), twin.grad.asnumpy(), rtol=1e-9, atol=1e-11)
    for k, state in enumerate(states):
        wanted = numpy.stack([each.asnumpy() for each in last[k :: len(states)]])
        numpy.testing.assert_allclose(state.asnumpy(), wanted, rtol=1e-11, atol=1e-12)
    for number, part in enumerate(stack):
        for way, cell in zip("lr", [part.l_cell, part.r_cell] if bidirectional else [part], strict=False):
            for name, parameter in cell.collect_params().items():
                got = layer.collect_params()[f"{way}{number}_{name}"].grad().asnumpy()
                numpy.testing.assert_allclose(got, parameter.grad().asnumpy(), rtol=1e-8, atol=1e-10)


def test_names_and_shapes_of_parameters() -> None:
    layer = rnn.LSTM(HIDDEN, num_layers=2, bidirectional=True, input_size=INPUTS)
    shapes = {name: parameter.shape for name, parameter in layer.collect_params().items()}
    assert shapes["l0_i2h_weight"] == (4 * HIDDEN, INPUTS)
    assert shapes["r1_i2h_weight"] == (4 * HIDDEN, 2 * HIDDEN)
    assert shapes["l1_h2h_weight"] == (4 * HIDDEN, HIDDEN)
    assert shapes["r0_h2h_bias"] == (4 * HIDDEN,)
    assert list(shapes)[:5] == ["l0_i2h_weight", "l0_h2h_weight", "l0_i2h_bias", "l0_h2h_bias", "r0_i2h_weight"]
    assert rnn.GRU(HIDDEN).state_info(2) == [{"shape": (1, 2, HIDDEN), "__layout__": "LNC"}]


@pytest.mark.parametrize("kind", KINDS)
def test_layouts(kind: str) -> None:
    layer = layer_of(kind, layout="NTC")
    x = drawn(BATCH, STEPS, INPUTS)
    y = layer(x)
    other = layer_of(kind)
    other(x.swapaxes(0, 1))
    for name, parameter in other.collect_params().items():
        parameter.set_data(layer.collect_params()[name].data())
    numpy.testing.assert_array_equal(y.asnumpy(), other(x.swapaxes(0, 1)).asnumpy().swapaxes(0, 1))


@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_parameters(mode: str, bidirectional: bool) -> None:
    layer = layer_of(mode, num_layers=2, bidirectional=bidirectional)
    x = drawn(STEPS, BATCH, INPUTS)
    begin = [drawn(*info["shape"]) for info in layer.state_info(BATCH)]
    want, states = layer(x, begin)
    all_of = layer.collect_params()
    names = [f"{way}{number}" for number in range(2) for way in "lr"[: 1 + bidirectional]]
    order = [f"{name}_{part}_{kind}" for kind in ("weight", "bias") for name in names for part in ("i2h", "h2h")]
    packed = np.concatenate([all_of[name].data().reshape(-1) for name in order])
    packed.attach_grad()
    with autograd.record():
        y, *last = npx.rnn(
            x, packed, *begin, mode=mode, state_size=HIDDEN, num_layers=2, bidirectional=bidirectional,
            state_outputs=True,
        )  # fmt: skip
        y.sum().backward()
    numpy.testing.assert_array_equal(y.asnumpy(), want.asnumpy())
    for got, wanted in zip(last, states, strict=True):
        numpy.testing.assert_array_equal(got.asnumpy(), wanted.asnumpy())
    assert packed.grad.shape == packed.shape and float(abs(packed.grad).sum().item()) > 0


def test_a_language_model_learns() -> None:
    npx.seed(1)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Embedding(7, 8), rnn.LSTM(16, num_layers=2, dropout=0.1), gluon.nn.Dense(7, flatten=False))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    x = np.array(numpy.arange(60).reshape(12, 5) % 7)
    losses = []
    for _ in range(30):
        with autograd.record():
            loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(x[:-1]).reshape(-1, 7), x[1:].reshape(-1)).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss.item()))
    assert losses[-1] < losses[0] / 3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_narrow_floats(kind: str, dtype: str) -> None:
    wide = layer_of(kind)
    x = drawn(STEPS, BATCH, INPUTS)
    want = wide(x).asnumpy()
    wide.cast(dtype)
    got = wide(x.astype(dtype))
    assert got.dtype == np.dtype(dtype) if hasattr(np, "dtype") else True
    close = {"float16": 5e-3, "bfloat16": 4e-2, "float32": 1e-5}[dtype]
    numpy.testing.assert_allclose(got.asnumpy().astype("float64"), want, atol=close)


def test_zoneout_and_dropout_cells() -> None:
    npx.seed(2)
    x = drawn(2, 4, HIDDEN)
    dropped = rnn.VariationalDropoutCell(cell_of("lstm"), drop_inputs=0.5, drop_states=0.3, drop_outputs=0.5)
    dropped.initialize()
    with autograd.train_mode():
        outputs, _ = dropped.unroll(4, x)
    zero = outputs.asnumpy() == 0
    assert (zero == zero[:, :1]).all() and zero.any() and not zero.all()
    zoned = rnn.ZoneoutCell(cell_of("rnn_tanh"), zoneout_states=0.5)
    zoned.initialize()
    begin = drawn(2, HIDDEN)
    with autograd.train_mode():
        _, (state,) = zoned(x[:, 0], [begin])
    kept = state.asnumpy() == begin.asnumpy()
    assert kept.any() and not kept.all()
    residual = rnn.ResidualCell(cell_of("gru"))
    residual.initialize()
    inner, _ = residual.base_cell(x[:, 0], [begin])
    numpy.testing.assert_allclose(residual(x[:, 0], [begin])[0].asnumpy(), (inner + x[:, 0]).asnumpy())
    with pytest.raises(NotImplementedError, match="use unroll"):
        rnn.BidirectionalCell(cell_of("gru"), cell_of("gru"))(x[:, 0], [begin, begin])


def test_what_goes_wrong() -> None:
    layer = layer_of("lstm", use_sequence_length=True)
    x = drawn(STEPS, BATCH, INPUTS)
    y = layer(x, None, np.array([1, 6, 2]))
    with pytest.raises(ValueError, match="length 6 of sequence 1 is not between 0 and 5") as caught:
        y.wait_to_read()
    assert "test_recurrent.py" in str(caught.value)
    assert layer(x, None, np.array([1, 5, 2])).shape == (STEPS, BATCH, HIDDEN)
    with pytest.raises(ValueError, match=r"begin state must have shape \(1, 3, 6\), got \(1, 2, 6\)"):
        layer(x, layer.begin_state(2, dtype="float64"), np.array([1, 5, 2]))
    with pytest.raises(ValueError, match="needs 2 states, got 1"):
        layer(x, layer.begin_state(3)[:1], np.array([1, 5, 2]))
    with pytest.raises(ValueError, match="use_sequence_length needs sequence_length"):
        layer(x)
    with pytest.raises(ValueError, match="inputs must have the axes T, N, C"):
        layer(x[0], None, np.array([1, 5, 2]))
    with pytest.raises(ValueError, match="do not fit an input of shape"):
        layer(drawn(STEPS, BATCH, INPUTS + 1), None, np.array([1, 5, 2]))
    with pytest.raises(ValueError, match=r"parameters must have shape \(240,\), not \(3,\)"):
        npx.rnn(drawn(2, 1, 2), drawn(3), drawn(1, 1, 6), mode="lstm", state_size=6)
    with pytest.raises(ValueError, match="mode must be one of"):
        npx.rnn(drawn(2, 1, 2), drawn(3), drawn(1, 1, 6), mode="fast", state_size=6)
    cell = cell_of("gru")
    cell.initialize()
    with pytest.raises(ValueError, match=r"GRUCell: states must have the shapes"):
        cell(drawn(2, 3), [drawn(3, HIDDEN)])
    with pytest.raises(ValueError, match="do not have 4 steps"):
        cell.unroll(4, x, layout="TNC")


def test_a_second_derivative_through_cells() -> None:
    cell = cell_of("lstm")
    cell.initialize(np_uniform())
    x = drawn(1, 3, INPUTS)
    x.attach_grad()
    with autograd.record():
        y, _ = cell.unroll(3, x)
        first = autograd.grad(y.sum(), [x], create_graph=True)[0]
        (first * first).sum().backward()
    assert float(abs(x.grad).sum().item()) > 0
