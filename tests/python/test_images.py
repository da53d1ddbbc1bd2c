"""Convolution and pooling: functions and layers against plain NumPy, their accuracy, and what they refuse."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import numpy
import pytest
import routines

from forerun import autograd, gluon, np, npx
from forerun.gluon import nn

LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
LINE = pathlib.Path(__file__).name


def drawn(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).standard_normal(shape).astype(dtype)


def window(dimensions: int, stride: int = 1, pad: int = 0, dilate: int = 1, groups: int = 1, last: bool = False) -> Any:
    every = {"stride": stride, "padding": pad, "dilation": dilate}
    lists: dict[str, Any] = {name: [number] * dimensions for name, number in every.items()}
    return {**lists, "extents": [], "groups": groups, "channels_last": last}


def close(got: np.ndarray, want: Any, places: float = 1e-5) -> None:
    numpy.testing.assert_allclose(got.asnumpy(), want, rtol=places, atol=places * (1 + numpy.abs(want).max()))


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("last", [False, True])
def test_convolution_layers(dimensions: int, last: bool) -> None:
    layout = LAYOUTS[dimensions][last]
    for stride, pad, dilate, groups in [(1, 1, 1, 1), (2, 1, 1, 2), (2, 0, 2, 1), (1, 2, 1, 4)]:
        x = drawn(2, *((7,) * dimensions), 4) if last else drawn(2, 4, *((7,) * dimensions))
        layer = getattr(nn, f"Conv{dimensions}D")(8, 3, stride, pad, dilate, groups, layout, in_channels=4)
        layer.initialize("normal")
        layer.bias.set_data(np.arange(8.0))
        w, bias = layer.weight.data().asnumpy(), layer.bias.data().asnumpy()
        want = routines.convolution(x, w, **window(dimensions, stride, pad, dilate, groups, last))
        want = want + (bias if last else bias.reshape(-1, *((1,) * dimensions)))
        close(layer(np.array(x)), want)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("last", [False, True])
def test_transposed_layers(dimensions: int, last: bool) -> None:
    layout = LAYOUTS[dimensions][last]
    for stride, pad, adjust, groups in [(1, 0, 0, 1), (2, 1, 1, 2), (3, 1, 2, 1)]:
        x = drawn(2, *((4,) * dimensions), 6) if last else drawn(2, 6, *((4,) * dimensions))
        layer = getattr(nn, f"Conv{dimensions}DTranspose")(
            4, 3, stride, pad, adjust, groups=groups, layout=layout, use_bias=False
        )
        layer.initialize("normal")
        got = layer(np.array(x))
        extent = 3 * stride + 3 - 2 * pad + adjust
        args = {**window(dimensions, stride, pad, 1, groups, last), "extents": [extent] * dimensions}
        assert layer.weight.shape == (
            (6, *((3,) * dimensions), 4 // groups) if last else (6, 4 // groups, *((3,) * dimensions))
        )
        close(got, routines.convolution_transpose(x, layer.weight.data().asnumpy(), **args))


def test_a_target_shape_gives_the_padding() -> None:
    x, w = np.array(drawn(1, 2, 5)), np.array(drawn(2, 3, 4))
    assert npx.deconvolution(x, w, stride=2, target_shape=10).shape == (1, 3, 10)
    close(npx.deconvolution(x, w, stride=2, target_shape=10), npx.deconvolution(x, w, stride=2, pad=1).asnumpy())


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("kind", ["Max", "Avg"])
def test_pooling_layers(dimensions: int, last: bool, kind: str) -> None:
    layout = LAYOUTS[dimensions][last]
    x = drawn(2, *((7,) * dimensions), 3) if last else drawn(2, 3, *((7,) * dimensions))
    for size, stride, pad, ceil, counted in itertools.product((2, 3), (1, 2), (0, 1), (False, True), (False, True)):
        more = {"count_include_pad": counted} if kind == "Avg" else {}
        layer = getattr(nn, f"{kind}Pool{dimensions}D")(size, stride, pad, ceil_mode=ceil, layout=layout, **more)
        pool = {"kernel": size, "stride": stride, "padding": pad}
        args: dict[str, Any] = {name: [number] * dimensions for name, number in pool.items()}
        args |= {"ceil": ceil, "adaptive": False, "divisor": 1 if counted else 2, "channels_last": last, "extents": []}
        largest = kind == "Max"
        want = routines.pooling(back=False, largest=largest)(x, *([x] if largest else []), **args)
        close(layer(np.array(x)), want)
    axes = tuple(range(1, 1 + dimensions)) if last else tuple(range(2, 2 + dimensions))
    want = (x.max if kind == "Max" else x.mean)(axes, keepdims=True)
    close(getattr(nn, f"Global{kind}Pool{dimensions}D")(layout=layout)(np.array(x)), want)


def test_the_other_pools() -> None:
    x = drawn(2, 3, 6, 6)
    blocks = x.reshape(2, 3, 3, 2, 3, 2)
    close(npx.pooling(np.array(x), 2, 2, pool_type="sum"), blocks.sum((3, 5)))
    for p in (1, 2, 3):
        want = (numpy.abs(blocks) ** p).sum((3, 5)) ** (1 / p)
        close(npx.pooling(np.array(x), 2, 2, pool_type="lp", p_value=p), want, 1e-4)
        want = (numpy.abs(x) ** p).sum((2, 3), keepdims=True) ** (1 / p)
        close(npx.pooling(np.array(x), pool_type="lp", p_value=p, global_pool=True), want, 1e-4)
    close(npx.pooling(np.array(x), pool_type="sum", global_pool=True), x.sum((2, 3), keepdims=True))
    close(npx.adaptive_avg_pool2d(np.array(x), (3, 3)), blocks.mean((3, 5)))
    close(npx.adaptive_avg_pool2d(np.array(x), 1), x.mean((2, 3), keepdims=True))


def test_equal_elements_give_the_gradient_to_the_first() -> None:
    x = np.ones((1, 1, 4, 4))
    for pool, want in [(nn.MaxPool2D(), 1.0), (nn.GlobalMaxPool2D(), 0.25)]:
        x.attach_grad()
        with autograd.record():
            y = pool(x).sum()
        y.backward()
        assert x.grad[0, 0, 0, 0] == 1 and x.grad.sum() == want * 4


def test_deferred_channels_and_text() -> None:
    layer = nn.Conv2D(8, 3, padding=1, groups=2, activation="relu")
    layer.initialize()
    assert repr(layer) == (
        "Conv2D(-1 -> 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2, Activation(relu))"
    )
    assert layer(np.ones((1, 4, 5, 5))).shape == (1, 8, 5, 5)
    assert layer.weight.shape == (8, 2, 3, 3)
    assert repr(layer).startswith("Conv2D(4 -> 8")
    back = nn.Conv2DTranspose(3, 2, 2, use_bias=False)
    back.initialize()
    assert back(np.ones((1, 4, 5, 5))).shape == (1, 3, 10, 10)
    assert back.weight.shape == (4, 3, 2, 2)
    assert repr(nn.MaxPool2D(3, 2, 1)) == "MaxPool2D(size=(3, 3), stride=(2, 2), padding=(1, 1), ceil_mode=False)"


def test_what_is_refused() -> None:
    x, w = np.ones((1, 4, 5, 5)), np.ones((6, 4, 3, 3))
    for call, text in [
        (lambda: npx.convolution(x, w, num_group=3), "convolution: 3 groups do not divide 4 channels and 6 filters"),
        (
            lambda: npx.convolution(x, np.ones((6, 4, 7, 7))),
            "kernel of extent 7 with dilation 1 does not fit an axis of 5",
        ),
        (lambda: npx.convolution(x, w, np.ones((5,))), r"bias of shape \(5,\) does not fit axis 1 of \(1, 6, 3, 3\)"),
        (lambda: npx.convolution(x, w, layout="NCW"), "layout must be one of"),
        (lambda: npx.convolution(x, w, kernel=(2, 2)), "does not have a kernel of"),
        (lambda: npx.convolution(x, w, num_filter=7), "does not have 7 filters"),
        (lambda: npx.convolution(x, w, stride=(1, 1, 1)), "stride .* does not have 2 numbers"),
        (lambda: npx.deconvolution(x, np.ones((4, 2, 3, 3)), stride=2, adj=2), "adjustment must be from 0"),
        (lambda: npx.pooling(x, 7), r"kernel of extent 7 does not fit an axis of 5 with padding 0: \(1, 4, 5, 5\)"),
        (lambda: npx.pooling(x, 2, pool_type="median"), "pool_type must be"),
        (lambda: npx.pooling(x), "kernel is missing"),
        (lambda: npx.pooling(x, 2, pooling_convention="same"), "pooling_convention must be"),
        (lambda: nn.Conv2D(6, 3, groups=4), "4 groups do not divide 6 channels"),
        (lambda: nn.Conv2D(6, (3, 3, 3)), "kernel_size must have 2 numbers"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(TypeError, match=r"dtypes differ: float32 .* and float64"):
        npx.convolution(x, w.astype("float64"))
    layer = nn.Conv2D(6, 3, groups=2)
    layer.initialize()
    with pytest.raises(ValueError, match="2 groups do not divide 3 channels"):
        layer(np.ones((1, 3, 5, 5)))


def test_workers_and_batches_do_not_show() -> None:
    # How the batch is cut into pieces does not change how an image's sums are added.
    x, w = np.array(drawn(16, 64, 12, 12)), np.array(drawn(64, 64, 3, 3))
    first = npx.convolution(x, w, pad=1, no_bias=True).asnumpy()
    again = npx.convolution(x, w, pad=1, no_bias=True).asnumpy()
    numpy.testing.assert_array_equal(first, again)
    alone = npx.convolution(x[3:4], w, pad=1, no_bias=True).asnumpy()
    numpy.testing.assert_array_equal(first[3:4], alone)


def test_a_small_network_learns() -> None:
    np.random.seed(3)
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(8, 3, padding=1),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.MaxPool2D(),
        nn.Conv2D(8, 3),
        nn.GlobalAvgPool2D(),
        nn.Dense(2),
    )
    net.initialize("xavier")
    labels = numpy.arange(16) % 2
    x = drawn(16, 1, 8, 8) + 2.0 * labels[:, None, None, None].astype("float32")
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(25):
        with autograd.record():
            made = loss(net(np.array(x)), np.array(labels)).mean()
        made.backward()
        trainer.step(1)
        losses.append(made)
    assert losses[-1].item() < 0.5 * losses[0].item()
