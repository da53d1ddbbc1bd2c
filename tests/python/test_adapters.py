"""MXNet's variants of NumPy functions, products of attention, and functions on images."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import autograd, np, npx


def drawn(*shape: int, seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).normal(size=shape).astype("float32")


@pytest.mark.parametrize(
    ("shape", "codes", "reverse", "want"),
    [
        ((2, 3, 8), (-2, -2, 2, -1), False, (2, 3, 2, 4)),
        ((8, 3, 3, 3, 4, 4), (-6, 2, -1, -4), False, (2, 4, 3, 3, 3, 4, 4)),
        ((8, 3, 3, 3, 4, 4), (-5, -4), False, (24, 3, 3, 4, 4)),
        ((8, 1, 1, 1, 3), (-2, -3, -3, -3, -2), False, (8, 3)),
        ((8, 3, 3, 3, 3, 8), (-4, -5), True, (8, 3, 3, 3, 24)),
        ((8, 3, 3, 3, 4, 8), (-4, -1, 2, -6), True, (8, 3, 3, 3, 4, 4, 2)),
        ((4, 5), -1, False, (20,)),
    ],
)
def test_codes_of_reshape(shape: Any, codes: Any, reverse: bool, want: Any) -> None:
    x = np.array(drawn(*shape))
    made = npx.reshape(x, codes, reverse)
    assert made.shape == want
    numpy.testing.assert_array_equal(made.asnumpy().ravel(), x.asnumpy().ravel())


def test_shapes_like_others() -> None:
    x, other = np.array(drawn(4, 6)), np.array(drawn(3, 2, 8))
    assert npx.reshape_like(x, np.zeros((2, 12))).shape == (2, 12)
    assert npx.reshape_like(x, other, lhs_begin=1, rhs_end=2).shape == (4, 3, 2)
    assert npx.reshape_like(x, other, -1, None, 0, -1).shape == (4, 3, 2)
    numpy.testing.assert_array_equal(npx.slice_like(x, np.zeros((2, 3))).asnumpy(), x.asnumpy()[:2, :3])
    numpy.testing.assert_array_equal(npx.slice_like(x, np.zeros((2, 3)), axes=(-1,)).asnumpy(), x.asnumpy()[:, :3])
    numpy.testing.assert_array_equal(npx.slice(x, 1, 3).asnumpy(), x.asnumpy()[1:3])
    turned = npx.slice(x, (None, 4), (None, 0), (2, -1))
    numpy.testing.assert_array_equal(turned.asnumpy(), x.asnumpy()[::2, 4:0:-1])
    assert npx.shape_array(other).tolist() == [3, 2, 8] and npx.shape_array(np.array(1.0)).shape == (0,)
    assert npx.batch_flatten(other).shape == (3, 16)


def test_small_functions(tmp_path: pathlib.Path) -> None:
    x = np.array(drawn(3, 4))
    plain = x.asnumpy()
    numpy.testing.assert_allclose(npx.add_n(x, x, x).asnumpy(), 3 * plain, rtol=1e-6)
    assert npx.cast(x, "int32").dtype == "int32"
    numpy.testing.assert_array_equal(npx.nonzero(np.array([[0, 2], [3, 0]])).asnumpy(), [[0, 1], [1, 0]])
    numpy.testing.assert_allclose(npx.norm(x).asnumpy(), numpy.linalg.norm(plain), rtol=1e-6)
    sums = numpy.abs(plain).sum(1, keepdims=True)
    numpy.testing.assert_allclose(npx.norm(x, ord=1, axis=1, keepdims=True).asnumpy(), sums, rtol=1e-6)
    for mode in ("constant", "edge", "reflect"):
        options = {"constant_values": 2.0} if mode == "constant" else {}
        want = numpy.pad(plain, [(0, 1), (2, 3)], mode, **options)  # type: ignore[call-overload]
        numpy.testing.assert_array_equal(npx.pad(x, mode, (0, 1, 2, 3), 2.0).asnumpy(), want)
    npx.savez(tmp_path / "arrays.npz", x, y=x)
    numpy.testing.assert_array_equal(numpy.load(tmp_path / "arrays.npz")["y"], plain)
    numpy.testing.assert_array_equal(npx.from_numpy(plain).asnumpy(), plain)
    for pack in (npx.to_dlpack_for_read, npx.to_dlpack_for_write):
        numpy.testing.assert_array_equal(npx.from_dlpack(pack(x.as_in_ctx(npx.cpu()))).asnumpy(), plain)
    numpy.testing.assert_array_equal(npx.from_dlpack(plain).asnumpy(), plain)
    assert npx.is_np_array() and npx.is_np_shape()
    assert npx.set_np_default_dtype(True) is False and npx.set_np_default_dtype(False) is True


def gradient(call: Callable[[np.ndarray], np.ndarray], x: Any) -> tuple[Any, Any]:
    array = np.array(x)
    array.attach_grad()
    with autograd.record():
        y = call(array)
    y.backward(np.full(y.shape, 3.0))
    return y.asnumpy(), array.grad.asnumpy()


def test_straight_gradients() -> None:
    x = numpy.array([0.5, -0.5, 1.2, -2.5, 0.49999997, 0.0, 1e8, -1e-10, numpy.inf], "float32")
    made, back = gradient(npx.round_ste, x)
    numpy.testing.assert_array_equal(made, [1, -1, 1, -3, 0, 0, 1e8, 0, numpy.inf])
    numpy.testing.assert_array_equal(back[:-1], numpy.full(8, 3.0))
    made, back = gradient(npx.sign_ste, x)
    numpy.testing.assert_array_equal(made, numpy.sign(x))
    numpy.testing.assert_array_equal(back[:-1], numpy.full(8, 3.0))


def test_smooth_l1() -> None:
    x = numpy.array([-2.0, -0.2, 0.1, 0.25, 3.0], "float32")
    for scalar in (1.0, 2.0):
        square, far = scalar**2, numpy.abs(x)
        made, back = gradient(lambda x, s=scalar: npx.smooth_l1(x, s), x)  # type: ignore[misc]
        near = far < 1 / square
        numpy.testing.assert_allclose(made, numpy.where(near, square * x * x / 2, far - 0.5 / square), rtol=1e-6)
        numpy.testing.assert_allclose(back, 3 * numpy.where(near, square * x, numpy.sign(x)), rtol=1e-6)


def test_gradients_stop() -> None:
    x = np.ones(2)
    x.attach_grad()
    with autograd.record():
        y = npx.stop_gradient(x * 2) * x
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_products_of_attention() -> None:
    length, other, batch, heads, width = 5, 3, 2, 4, 6
    packed, pairs = drawn(length, batch, heads * 3 * width), drawn(other, batch, heads * 2 * width, seed=1)
    queries = drawn(length, batch, heads * width, seed=2)
    parts = packed.reshape(length, batch, heads, 3, width)
    pair = pairs.reshape(other, batch, heads, 2, width)
    asked = queries.reshape(length, batch, heads, width)
    scale = width**-0.5
    want = numpy.einsum("qbhd,kbhd->bhqk", parts[..., 0, :], parts[..., 1, :]) * scale
    got = npx.interleaved_matmul_selfatt_qk(np.array(packed), heads)
    numpy.testing.assert_allclose(got.asnumpy(), want.reshape(-1, length, length), rtol=1e-4, atol=1e-5)
    out = npx.interleaved_matmul_selfatt_valatt(np.array(packed), got, heads)
    want = numpy.einsum("bhqk,kbhd->qbhd", want, parts[..., 2, :]).reshape(length, batch, -1)
    numpy.testing.assert_allclose(out.asnumpy(), want, rtol=1e-4, atol=1e-4)
    want = numpy.einsum("qbhd,kbhd->bhqk", asked, pair[..., 0, :]) * scale
    got = npx.interleaved_matmul_encdec_qk(np.array(queries), np.array(pairs), heads)
    numpy.testing.assert_allclose(got.asnumpy(), want.reshape(-1, length, other), rtol=1e-4, atol=1e-5)
    out = npx.interleaved_matmul_encdec_valatt(np.array(pairs), got, heads)
    want = numpy.einsum("bhqk,kbhd->qbhd", want, pair[..., 1, :]).reshape(length, batch, -1)
    numpy.testing.assert_allclose(out.asnumpy(), want, rtol=1e-4, atol=1e-4)


def pixels(*shape: int, seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).integers(0, 256, shape).astype("uint8")


@pytest.mark.parametrize("batch", [(), (2,)])
def test_images(batch: tuple[int, ...]) -> None:
    x = pixels(*batch, 6, 4, 3)
    image = np.array(x)
    want = numpy.moveaxis(x.astype("float32") / 255, -1, -3)
    tensor = npx.image.to_tensor(image)
    numpy.testing.assert_allclose(tensor.asnumpy(), want, rtol=1e-6)
    mean, std = (0.1, 0.2, 0.3), (0.5, 0.6, 0.7)
    shaped = [numpy.array(each, "float32").reshape(3, 1, 1) for each in (mean, std)]
    normal = npx.image.normalize(tensor, mean, std)
    numpy.testing.assert_allclose(normal.asnumpy(), (want - shaped[0]) / shaped[1], rtol=1e-5, atol=1e-6)
    cut = npx.image.crop(image, x=1, y=2, width=3, height=4)
    numpy.testing.assert_array_equal(cut.asnumpy(), x[..., 2:6, 1:4, :])
    numpy.testing.assert_array_equal(npx.image.flip_left_right(image).asnumpy(), x[..., ::-1, :])
    numpy.testing.assert_array_equal(npx.image.flip_top_bottom(image).asnumpy(), x[..., ::-1, :, :])
    numpy.testing.assert_array_equal(npx.image.random_flip_left_right(image, 1.0).asnumpy(), x[..., ::-1, :])
    numpy.testing.assert_array_equal(npx.image.random_flip_top_bottom(image, 0.0).asnumpy(), x)


def test_resized_images() -> None:
    x = pixels(6, 4, 3)
    same = npx.image.resize(np.array(x), (4, 6))
    numpy.testing.assert_array_equal(same.asnumpy(), x)
    half = npx.image.resize(np.array(x), (2, 3))
    means = x.reshape(3, 2, 2, 2, 3).astype("float64").mean((1, 3))
    assert half.dtype == "uint8" and numpy.abs(half.asnumpy() - means).max() <= 0.5
    near = npx.image.resize(np.array(x), (8, 12), interp=0)
    numpy.testing.assert_array_equal(near.asnumpy(), x.repeat(2, 0).repeat(2, 1))
    assert npx.image.resize(np.array(x), 8, keep_ratio=True).shape == (12, 8, 3)


def test_colours() -> None:
    x = pixels(5, 4, 3)
    gray = (x * numpy.array([0.299, 0.587, 0.114])).sum(-1, keepdims=True)
    for call, centre in [
        (npx.image.random_brightness, 0.0),
        (npx.image.random_contrast, gray.mean()),
        (npx.image.random_saturation, gray),
    ]:
        made = call(np.array(x), 1.5, 1.5)
        want = numpy.clip(centre + (x - centre) * 1.5, 0, 255)
        assert made.dtype == "uint8" and numpy.abs(made.asnumpy() - want).max() <= 0.51
        npx.seed(3)
        first = call(np.array(x), 0.5, 1.5).asnumpy()
        npx.seed(3)
        numpy.testing.assert_array_equal(call(np.array(x), 0.5, 1.5).asnumpy(), first)
    lit = npx.image.adjust_lighting(np.array(x.astype("float32")), (0.1, 0.0, 0.0)).asnumpy() - x
    numpy.testing.assert_allclose(lit[0, 0], 5.546 * numpy.array([-0.5675, -0.5808, -0.5836]), rtol=1e-3)
    assert npx.image.random_lighting(np.array(x)).shape == x.shape


def test_nothing_waits() -> None:
    x = np.array(pixels(4, 4, 3))
    with forerun.no_sync("error"):
        npx.image.random_flip_left_right(x)
        npx.image.random_contrast(x, 0.5, 1.5)
        npx.image.resize(x, 2)
        npx.reshape(x, (-5, -2))
        npx.round_ste(np.ones(3))
        npx.shape_array(x)


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: npx.add_n(), "add_n: needs at least one array"),
    (lambda: npx.add_n(np.ones(2), np.ones(3)), r"add_n: shapes differ: \(2,\) and \(3,\)"),
    (lambda: npx.norm(np.ones(2), ord=3), "norm: ord must be 1 or 2, not 3"),
    (lambda: npx.pad(np.ones(2), pad_width=(1,)), r"pad: pad_width needs 2 numbers for shape \(2,\), got \(1,\)"),
    (lambda: npx.pad(np.ones(2), "wrap", (1, 1)), "pad: mode must be constant, edge or reflect, not 'wrap'"),
    (
        lambda: npx.reshape(np.ones((2, 3)), (-2, -2, -2)),
        r"code -2 in \(-2, -2, -2\) has no dimension left of \(2, 3\)",
    ),
    (lambda: npx.reshape(np.ones((2, 3)), (-3, -2)), r"code -3 skips dimensions of extent 1, not 2 of \(2, 3\)"),
    (lambda: npx.reshape(np.ones((2, 3)), (-6, 2, 2, -2)), r"an extent of 2 is not 2 x 2: \(2, 3\)"),
    (lambda: npx.reshape(np.ones((2, 3)), (-7,)), "unknown code -7"),
    (lambda: npx.reshape_like(np.ones(4), np.ones(3)), r"dimensions 0 to 1 of \(4,\) do not fit"),
    (lambda: npx.slice(np.ones((2, 3)), (0, 0), (1,)), r"begin \(0, 0\), end \(1,\) and step \(\) do not fit"),
    (lambda: npx.slice_like(np.ones(2), np.ones(3)), r"axes \(\) of shape \(3,\) do not fit \(2,\)"),
    (lambda: npx.interleaved_matmul_selfatt_qk(np.ones((2, 2, 7)), 2), r"\(2, 2, 7\) cannot be divided among 2 heads"),
    (
        lambda: npx.interleaved_matmul_selfatt_valatt(np.ones((2, 2, 6)), np.ones((2, 2, 2)), 2),
        r"attention of shape \(2, 2, 2\) does not fit values of shape \(4, 2, 1\)",
    ),
    (
        lambda: npx.interleaved_matmul_encdec_qk(np.ones((2, 2, 4)), np.ones((2, 3, 8)), 2),
        r"queries of shape \(2, 2, 4\) do not fit keys and values of shape \(2, 3, 8\)",
    ),
    (lambda: npx.image.to_tensor(np.ones(3)), r"to_tensor: needs images of shape .* got \(3,\)"),
    (lambda: npx.image.normalize(np.ones((3, 2, 2)), (1, 2)), r"mean \(1, 2\) does not fit the channels"),
    (lambda: npx.image.resize(np.ones((2, 2, 3)), 0), r"cannot resize images of shape \(2, 2, 3\) to 0"),
    (lambda: npx.image.resize(np.ones((2, 2, 3)), 1, interp=5), "interp must be between 0 and 4, not 5"),
    (lambda: npx.image.crop(np.ones((2, 2, 3)), 1, 0, 2, 1), r"2 x 1 pixels from \(1, 0\) are not within shape"),
    (lambda: npx.image.random_contrast(np.ones((2, 2, 1)), 0, 1), r"\(height, width, 3\)"),
    (lambda: npx.image.random_brightness(np.ones((2, 2, 1)), 2, 1), "factors from 2 to 1 are not an interval"),
    (lambda: npx.image.adjust_lighting(np.ones((2, 2, 3)), (1.0, 2.0)), "alpha must be three numbers"),
]


@pytest.mark.parametrize(("call", "text"), REFUSED)
def test_what_is_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call()
