"""Images resized, sampled and warped, windows as columns, and deformed convolutions: against plain NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import routines
import vision
from test_boxes import check_gradient

import forerun
from forerun import autograd, gluon, np, npx
from forerun.gluon import nn


def drawn(*shape: int, seed: int = 0, dtype: str = "float64") -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype(dtype)


def close(got: np.ndarray, want: Any, tolerance: float = 1e-9) -> None:
    numpy.testing.assert_allclose(got.asnumpy(), want, rtol=tolerance, atol=tolerance)


def interpolated(x: Any, size: tuple[int, int], align: bool) -> Any:
    """Resize pixel by pixel."""
    old = x.shape[2:]
    made = numpy.zeros((*x.shape[:2], *size))
    for place in numpy.ndindex(*size):
        at = []
        for i, n, h in zip(place, size, old, strict=True):
            where = (i * (h - 1) / (n - 1) if n > 1 else 0.0) if align else max((i + 0.5) * h / n - 0.5, 0.0)
            at.append(min(where, h - 1))
        for row, column, share in vision.near(*at, *old):
            made[(..., *place)] += x[:, :, row, column] * share
    return made


@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_resizing(align: bool, dtype: str) -> None:
    x = drawn(2, 3, 5, 4, dtype=dtype)
    for size in [(9, 7), (3, 2), (1, 1), (5, 8), (5, 4)]:
        got = npx.bilinear_resize(np.array(x), height=size[0], width=size[1], align_corners=align)
        assert got.dtype == dtype
        close(got, interpolated(x, size, align), 1e-5 if dtype == "float32" else 1e-12)
    check_gradient(lambda x: npx.bilinear_resize(x, height=3, width=7, align_corners=align), drawn(1, 2, 4, 3))


def test_sizes_of_resized_images() -> None:
    x = np.zeros((1, 1, 5, 8))
    for options, size in [
        ({"scale_height": 2.5, "scale_width": 0.5}, (12, 4)),
        ({"scale_height": 2.0, "width": 3}, (10, 3)),
        ({"mode": "odd_scale", "scale_height": 2.0, "scale_width": 2.0}, (9, 16)),
        ({"mode": "like", "like": np.zeros((2, 2, 6, 7))}, (6, 7)),
        ({"mode": "to_even_down"}, (4, 8)),
        ({"mode": "to_even_up"}, (6, 8)),
        ({"mode": "to_odd_down"}, (5, 7)),
        ({"mode": "to_odd_up"}, (5, 9)),
    ]:
        assert npx.bilinear_resize(x, **options).shape[2:] == size, options  # type: ignore[arg-type]


def sampled(x: Any, grid: Any, mode: str, padding: str, align: bool) -> Any:
    """Read images at the places of a grid, one by one."""
    made = numpy.zeros((*x.shape[:2], *grid.shape[1:3]))
    for n, i, j in numpy.ndindex(*grid.shape[:3]):
        at = []
        for place, extent in zip(grid[n, i, j, ::-1], x.shape[2:], strict=True):
            place = (place + 1) / 2 * (extent - 1) if align else ((place + 1) * extent - 1) / 2
            if padding == "reflection":
                low, high = (0, extent - 1) if align else (-0.5, extent - 0.5)
                while not low <= place <= high:
                    place = 2 * low - place if place < low else 2 * high - place
            if padding != "zeros":
                place = min(max(place, 0), extent - 1)
            at.append(float(numpy.rint(place)) if mode == "nearest" else place)
        for row, column, share in vision.near(*at, *x.shape[2:]):
            made[n, :, i, j] += x[n, :, row, column] * share
    return made


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
def test_grid_samples(padding: str, align: bool) -> None:
    x, grid = drawn(2, 3, 4, 5), numpy.random.default_rng(4).uniform(-1.8, 1.8, (2, 3, 6, 2))
    for mode in ("bilinear", "nearest"):
        got = npx.grid_sample(np.array(x), np.array(grid), mode, padding, align)
        close(got, sampled(x, grid, mode, padding, align))
    single = npx.grid_sample(np.array(x, dtype="float32"), np.array(grid, dtype="float32"), "bilinear", padding, align)
    close(single, sampled(x, grid, "bilinear", padding, align), 1e-4)
    check_gradient(lambda g: npx.grid_sample(np.array(x), g, "bilinear", padding, align), grid[:, :2, :2])
    check_gradient(lambda x: npx.grid_sample(x, np.array(grid), "bilinear", padding, align), x[:, :1])


def test_samplers() -> None:
    x, flow = drawn(2, 3, 4, 5), drawn(2, 2, 4, 5, seed=1)
    grid = npx.grid_generator(np.array(flow), "warp")
    rows, columns = numpy.indices((4, 5))
    want = numpy.stack([(columns + flow[:, 0]) / 2 - 1, (rows + flow[:, 1]) / 1.5 - 1], 1)
    close(grid, want)
    places = numpy.stack([rows + flow[:, 1], columns + flow[:, 0]], 1).reshape(2, 2, 20)
    close(npx.bilinear_sampler(np.array(x), grid), vision.bilinear_sample(x, places).reshape(2, 3, 4, 5))
    theta = drawn(2, 6, seed=2)
    affine = npx.grid_generator(np.array(theta), "affine", (3, 2))
    points = numpy.stack([[-1.0, 1.0] * 3, [-1.0, -1.0, 0.0, 0.0, 1.0, 1.0], [1.0] * 6])
    close(affine, (theta.reshape(2, 2, 3) @ points).reshape(2, 2, 3, 2))
    close(
        npx.spatial_transformer(np.array(x), np.array(theta), (3, 2)),
        npx.bilinear_sampler(np.array(x), affine).asnumpy(),
    )
    same = npx.spatial_transformer(np.array(x), np.array([[1.0, 0, 0, 0, 1, 0]] * 2, dtype="float64"), (4, 5))
    close(same, x, 1e-12)
    check_gradient(lambda t: npx.spatial_transformer(np.array(x), t, (3, 2)), theta * 0.4)
    check_gradient(lambda f: npx.bilinear_sampler(np.array(x), npx.grid_generator(f, "warp")), flow)


def test_places_that_are_no_numbers_are_beyond() -> None:
    x = np.ones((1, 1, 2, 2))
    grid = np.array([[[[numpy.nan, 0.0], [numpy.inf, 0.0], [0.0, -numpy.inf]]]])
    grid.attach_grad()
    with autograd.record():
        y = npx.grid_sample(x, grid)
    y.backward()
    assert not y.any() and not grid.grad[0, 0, 1:].any()
    beside = np.array([[[[1.0, numpy.inf]]]])
    assert npx.grid_sample(beside, np.array([[[[-1.0, 0.0]]]]), align_corners=True).item() == 1


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_columns(dimensions: int) -> None:
    x = drawn(2, 3, *((5, 4, 3)[:dimensions]))
    for kernel, stride, dilate, pad in [(2, 1, 1, 0), (2, 2, 1, 1), (2, 1, 2, 1)]:
        lists = [[number] * dimensions for number in (kernel, stride, pad, dilate)]
        got = npx.im2col(np.array(x), kernel, stride, dilate, pad)
        want = vision.im2col(x, *lists, [])
        numpy.testing.assert_array_equal(got.asnumpy(), want)
        size = x.shape[2:]
        back = npx.col2im(got, size, kernel, stride, dilate, pad)
        close(back, vision.col2im(want, *lists, list(size)))
        check_gradient(lambda x, a=(kernel, stride, dilate, pad): npx.im2col(x, *a), x[:1, :1])  # type: ignore[misc]


def test_a_convolution_is_a_product_with_columns() -> None:
    x, w = drawn(2, 3, 6, 5), drawn(4, 3, 3, 2, seed=1)
    columns = npx.im2col(np.array(x), (3, 2), (2, 1), pad=(1, 0))
    made = np.array(w.reshape(4, -1)) @ columns
    want = npx.convolution(np.array(x), np.array(w), stride=(2, 1), pad=(1, 0), no_bias=True)
    close(made.reshape(want.shape), want.asnumpy())


def deformed(x: Any, moves: Any, mask: Any, w: Any, stride: int, pad: int, dilate: int, groups: int, parts: int) -> Any:
    """Convolve in plain loops."""
    batch, channels, *old = x.shape
    filters, own, *kernel = w.shape
    size = moves.shape[2:]
    taps = kernel[0] * kernel[1]
    made = numpy.zeros((batch, filters, *size))
    for n, i, j in numpy.ndindex(batch, *size):
        columns = numpy.zeros((channels, taps))
        for c, t in numpy.ndindex(channels, taps):
            part = c // (channels // parts)
            at = (part * taps + t) * 2
            y = i * stride - pad + (t // kernel[1]) * dilate + moves[n, at, i, j]
            z = j * stride - pad + (t % kernel[1]) * dilate + moves[n, at + 1, i, j]
            for row, column, share in vision.near(y, z, *old):
                columns[c, t] += x[n, c, row, column] * share
            columns[c, t] *= mask[n, part * taps + t, i, j]
        for f in range(filters):
            first = f // (filters // groups) * own
            made[n, f, i, j] = (columns[first : first + own].reshape(-1) * w[f].reshape(-1)).sum()
    return made


@pytest.mark.parametrize(("groups", "parts"), [(1, 1), (2, 1), (1, 2), (2, 4)])
def test_deformed_convolutions(groups: int, parts: int) -> None:
    x, w, bias = drawn(2, 4, 5, 6), drawn(4, 4 // groups, 3, 2, seed=1), drawn(4, seed=2)
    for stride, pad, dilate in [(1, 1, 1), (2, 0, 1), (1, 1, 2)]:
        size = [(n + 2 * pad - dilate * (k - 1) - 1) // stride + 1 for n, k in ((5, 3), (6, 2))]
        moves, mask = drawn(2, 12 * parts, *size, seed=3), drawn(2, 6 * parts, *size, seed=4)
        options = {
            "kernel": (3, 2), "stride": stride, "pad": pad, "dilate": dilate, "num_filter": 4, "num_group": groups,
            "num_deformable_group": parts,
        }  # fmt: skip
        arrays = [np.array(each) for each in (x, moves, mask, w, bias)]
        where = stride, pad, dilate, groups, parts
        plain = npx.deformable_convolution(arrays[0], arrays[1], *arrays[3:], **options)  # type: ignore[arg-type]
        close(plain, deformed(x, moves, numpy.ones_like(mask), w, *where) + bias.reshape(4, 1, 1))
        masked = npx.modulated_deformable_convolution(*arrays, **options)  # type: ignore[arg-type]
        close(masked, deformed(x, moves, mask, w, *where) + bias.reshape(4, 1, 1))


def test_gradients_of_deformed_convolutions() -> None:
    given = [drawn(1, 2, 4, 4), drawn(1, 8, 3, 3, seed=1) * 0.4, drawn(1, 4, 3, 3, seed=2), drawn(2, 2, 2, 2, seed=3)]
    for place in range(4):

        def call(x: Any, place: int = place) -> np.ndarray:
            arrays = [x if i == place else np.array(each) for i, each in enumerate(given)]
            return npx.modulated_deformable_convolution(*arrays)

        check_gradient(call, given[place])


def test_deformable_layers() -> None:
    x = drawn(2, 4, 6, 5, dtype="float32")
    for kind in (nn.DeformableConvolution, nn.ModulatedDeformableConvolution):
        layer = kind(6, 3, 2, 1, groups=2, num_deformable_group=2, activation="relu")
        layer.initialize("normal")
        got = layer(np.array(x))
        args = {"extents": [], "groups": 2, "channels_last": False, "stride": [2, 2], "padding": [1, 1]}
        want = routines.convolution(x, layer.weight.data().asnumpy(), dilation=[1, 1], **args)
        numpy.testing.assert_allclose(got.asnumpy(), numpy.maximum(want, 0), rtol=1e-4, atol=1e-5)
        trainer = gluon.Trainer(layer.collect_params(), "sgd", {"learning_rate": 0.1})
        with autograd.record():
            loss = (layer(np.array(x)) ** 2).sum()
        loss.backward()
        trainer.step(2)
        assert layer.offset_weight.data().any() and repr(layer).startswith(f"{kind.__name__}(4 -> 6")
        hybrid = kind(3, 3, padding=1, offset_use_bias=False, use_bias=False)
        hybrid.initialize()
        hybrid.hybridize()
        first = hybrid(np.array(x))
        numpy.testing.assert_array_equal(hybrid(np.array(x)).asnumpy(), first.asnumpy())


def test_pixel_shuffles() -> None:
    for dimensions, factors in [(1, (2,)), (2, (2, 3)), (3, (2, 1, 3))]:
        axes = (3, 2, 4)[:dimensions]
        x = numpy.arange(2 * 2 * numpy.prod(factors) * numpy.prod(axes), dtype="float32")
        x = x.reshape(2, 2 * int(numpy.prod(factors)), *axes)
        got = getattr(nn, f"PixelShuffle{dimensions}D")(factors)(np.array(x)).asnumpy()
        split = x.reshape(2, 2, *factors, *axes)
        for place in itertools.product(*(range(factor) for factor in factors)):
            part = (..., *(slice(first, None, factor) for first, factor in zip(place, factors, strict=True)))
            numpy.testing.assert_array_equal(got[part], split[(slice(None), slice(None), *place)])
    assert repr(nn.PixelShuffle2D(2)) == "PixelShuffle2D((2, 2))" and repr(nn.PixelShuffle1D(3)) == "PixelShuffle1D(3)"


def test_reflection() -> None:
    x = drawn(2, 3, 4, 5)
    want = numpy.pad(x, [(0, 0), (0, 0), (2, 2), (2, 2)], "reflect")
    numpy.testing.assert_array_equal(nn.ReflectionPad2D(2)(np.array(x)).asnumpy(), want)
    want = numpy.pad(x, [(0, 0), (0, 0), (1, 0), (2, 3)], "reflect")
    layer = nn.ReflectionPad2D((0, 0, 0, 0, 1, 0, 2, 3))
    numpy.testing.assert_array_equal(layer(np.array(x)).asnumpy(), want)
    check_gradient(lambda x: nn.ReflectionPad2D(1)(x), x[:1, :1])


def test_nothing_waits() -> None:
    x, theta = np.ones((1, 4, 4, 4)), np.array([[1.0, 0, 0, 0, 1, 0]])
    with forerun.no_sync("error"):
        npx.bilinear_resize(x, height=3, width=3)
        npx.spatial_transformer(x, theta, (2, 2))
        npx.grid_sample(x, np.zeros((1, 2, 2, 2)), padding_mode="reflection")
        npx.col2im(npx.im2col(x, (2, 2)), (4, 4), (2, 2))
        npx.deformable_convolution(x, np.zeros((1, 8, 3, 3)), np.ones((2, 4, 2, 2)))


ONE = np.ones
REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: npx.bilinear_resize(ONE((2, 3))), r"data must have shape .* got \(2, 3\)"),
    (lambda: npx.bilinear_resize(ONE((1, 1, 2, 2)), mode="odd"), "unknown mode 'odd'"),
    (lambda: npx.bilinear_resize(ONE((1, 1, 2, 2)), mode="like"), "mode 'like' needs another array"),
    (lambda: npx.bilinear_resize(ONE((1, 1, 2, 2)), mode="odd_scale"), "needs scale_height and scale_width"),
    (
        lambda: npx.bilinear_resize(ONE((1, 1, 2, 2)), height=0),
        r"cannot resize images of shape \(1, 1, 2, 2\) to 0 x 1",
    ),
    (lambda: npx.grid_generator(ONE((1, 5)), "affine", (2, 2)), r"must have shape \(batch, 6\), got \(1, 5\)"),
    (lambda: npx.grid_generator(ONE((1, 6)), "affine"), "target_shape must be two positive numbers"),
    (lambda: npx.grid_generator(ONE((1, 6)), "warp"), r"displacements must have shape .* got \(1, 6\)"),
    (lambda: npx.grid_generator(ONE((1, 6)), "turn"), "transform_type must be 'affine' or 'warp', not 'turn'"),
    (lambda: npx.bilinear_sampler(ONE((1, 1, 2, 2)), ONE((2, 2, 2, 2))), r"got \(2, 2, 2, 2\)"),
    (lambda: npx.grid_sample(ONE((1, 1, 2, 2)), ONE((1, 2, 2, 3))), r"got \(1, 2, 2, 3\)"),
    (lambda: npx.grid_sample(ONE((1, 1, 2, 2)), ONE((1, 2, 2, 2)), "cubic"), "not 'cubic'"),
    (lambda: npx.grid_sample(ONE((1, 1, 2, 2)), ONE((1, 2, 2, 2)), padding_mode="wrap"), "not 'wrap'"),
    (lambda: npx.spatial_transformer(ONE((1, 1, 2, 2)), ONE((2, 6)), (2, 2)), r"loc must have shape \(1, 6\)"),
    (
        lambda: npx.spatial_transformer(ONE((1, 1, 2, 2)), ONE((1, 6)), (2, 2), "warp"),
        "transform_type must be 'affine'",
    ),
    (lambda: npx.im2col(ONE((1, 1, 3)), 4), "im2col: a window of extent 4 does not fit"),
    (lambda: npx.col2im(ONE((1, 3, 3)), 4, 2), r"columns of shape \(1, 3, 3\) do not fit"),
    (
        lambda: npx.deformable_convolution(ONE((1, 2, 4, 4)), ONE((1, 4, 3, 3)), ONE((1, 2, 2, 2))),
        r"offset must have shape \(1, 8, 3, 3\), got \(1, 4, 3, 3\)",
    ),
    (
        lambda: npx.deformable_convolution(ONE((1, 2, 4, 4)), ONE((1, 8, 3, 3)), ONE((1, 1, 2, 2))),
        r"weight of shape \(1, 1, 2, 2\) does not fit data of shape \(1, 2, 4, 4\) with 1 groups",
    ),
    (
        lambda: npx.modulated_deformable_convolution(
            ONE((1, 2, 4, 4)), ONE((1, 8, 3, 3)), ONE((1, 2, 3, 3)), ONE((1, 2, 2, 2))
        ),
        r"mask must have shape \(1, 4, 3, 3\), got \(1, 2, 3, 3\)",
    ),
    (lambda: nn.PixelShuffle2D(0), "needs 2 positive factors, got 0"),
    (lambda: nn.PixelShuffle2D(2)(ONE((1, 3, 2, 2))), r"a multiple of 4 channels, got \(1, 3, 2, 2\)"),
    (lambda: nn.ReflectionPad2D((1, 2)), "padding must be one number or eight"),
    (lambda: nn.ReflectionPad2D(2)(ONE((1, 1, 2, 2))), r"is too large for shape \(1, 1, 2, 2\)"),
    (lambda: nn.DeformableConvolution(2, 3, layout="NHWC"), "layout must be 'NCHW'"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call()
