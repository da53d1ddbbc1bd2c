"""Sizes, crops, borders, rotations, colours and augmenters against plain NumPy, and the iterators over images."""

from __future__ import annotations

import json
import math
import pathlib
import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import autograd, gluon, image, np, npx, recordio


def drawn(*shape: int, seed: int = 0) -> Any:
    return numpy.random.default_rng(seed).integers(0, 256, shape).astype("uint8")


# OpenCV's resize of `drawn(4, 6, 1)` to 5 x 3 pixels and of `drawn(3, 4, 1, seed=1)` to 7 x 6, for each method. Its
# fixed-point arithmetic rounds some pixels to a neighbour.
REFERENCE: dict[str, Any] = json.loads(pathlib.Path(__file__).with_name("resized.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("method", range(5))
def test_sizes_are_those_of_opencv(method: int) -> None:
    for name, x, (width, height) in (("small", drawn(4, 6, 1), (5, 3)), ("large", drawn(3, 4, 1, seed=1), (7, 6))):
        want = numpy.array(REFERENCE[name][method])
        for made in (
            image.imresize(np.array(x), width, height, method),
            npx.image.resize(np.array(x), (width, height), interp=method),
        ):
            assert made.dtype == "uint8" and made.shape == (height, width, 1)
            assert numpy.abs(made.asnumpy()[:, :, 0].astype(int) - want).max() <= 1


def test_sizes_of_other_dtypes() -> None:
    x = drawn(4, 6, 3).astype("float32") / 7
    made = image.imresize(np.array(x), 3, 2, 3)
    numpy.testing.assert_allclose(made.asnumpy(), x.reshape(2, 2, 3, 2, 3).mean((1, 3)), rtol=1e-5)
    batch = npx.image.resize(np.array(numpy.stack([x, x])), (3, 2), interp=3)
    numpy.testing.assert_array_equal(batch.asnumpy()[1], made.asnumpy())
    numpy.testing.assert_array_equal(image.imresize(np.array(x), 6, 4, 2).asnumpy(), x)
    out = np.zeros((2, 3, 3))
    assert image.imresize(np.array(x), 3, 2, 3, out=out) is out
    numpy.testing.assert_array_equal(out.asnumpy(), made.asnumpy())


@pytest.mark.parametrize("method", range(5))
def test_gradients_of_sizes(method: int) -> None:
    x = np.array(drawn(4, 6, 2).astype("float32"))
    x.attach_grad()
    with autograd.record():
        made = npx.image.resize(x, (5, 7), interp=method)
    made.backward(np.ones(made.shape))
    # Shares add up to one, so the sum of all gradients is the number of new pixels.
    assert abs(float(x.grad.sum()) - made.size) < 1e-2


def test_interpolation_by_size() -> None:
    x = np.array(drawn(6, 6, 3))
    for size, method in (((12, 12), 2), ((3, 3), 3), ((3, 12), 1), ((6, 12), 1)):
        numpy.testing.assert_array_equal(
            image.imresize(x, *size, 9).asnumpy(), image.imresize(x, *size, method).asnumpy()
        )
    random.seed(1)
    shapes = {tuple(image.imresize(x, 4, 4, 10).asnumpy().reshape(-1).tolist()) for _ in range(40)}
    assert len(shapes) == 5


def test_crops() -> None:
    x = drawn(10, 14, 3)
    made, place = image.center_crop(np.array(x), (6, 4))
    assert place == (4, 3, 6, 4)
    numpy.testing.assert_array_equal(made.asnumpy(), x[3:7, 4:10])
    seen = set()
    for _ in range(200):
        made, (left, top, width, height) = image.random_crop(np.array(x), (12, 9))
        assert (width, height) == (12, 9)
        numpy.testing.assert_array_equal(made.asnumpy(), x[top : top + 9, left : left + 12])
        seen.add((left, top))
    assert seen == {(left, top) for left in range(3) for top in range(2)}
    # An image that is too small is enlarged, with its proportion.
    made, place = image.random_crop(np.array(x), (20, 20))
    assert made.shape == (20, 20, 3) and place[2:] == (10, 10)
    for _ in range(100):
        made, (left, top, width, height) = image.random_size_crop(np.array(x), (5, 5), (0.3, 0.6), (0.5, 2))
        assert made.shape == (5, 5, 3) and left + width <= 14 and top + height <= 10
        assert 0.2 <= width * height / 140 <= 0.72 and 0.4 <= width / height <= 2.4
    with pytest.warns(DeprecationWarning, match="min_area"):
        image.random_size_crop(np.array(x), (5, 5), ratio=(0.5, 2), min_area=0.5)
    assert image.random_size_crop(np.array(x), (5, 5), 0.999, (9, 10))[1] == (4, 2, 5, 5)
    assert image.resize_short(np.array(x), 5).shape == (5, 7, 3)
    assert image.resize_short(np.array(x.transpose(1, 0, 2)), 5).shape == (7, 5, 3)
    assert image.scale_down((640, 480), (720, 120)) == (640, 106)
    assert image.scale_down((360, 1000), (480, 500)) == (360, 375)
    assert image.scale_down((300, 400), (0, 0)) == (0, 0)
    assert image.scale_down((5, 1), (1, 100)) == (1, 1)


def test_borders() -> None:
    x = drawn(4, 5, 3)
    widths = ((2, 1), (3, 2), (0, 0))
    for kind, mode in enumerate(["constant", "edge", "symmetric", "wrap", "reflect"]):
        made = image.copyMakeBorder(np.array(x), 2, 1, 3, 2, type=kind)
        numpy.testing.assert_array_equal(made.asnumpy(), numpy.pad(x, widths, mode))
    made = image.copyMakeBorder(np.array(x), 2, 1, 3, 2, value=9).asnumpy()
    numpy.testing.assert_array_equal(made, numpy.pad(x, widths, constant_values=9))
    made = image.copyMakeBorder(np.array(x), 2, 1, 3, 2, 16, values=(7, 8, 9)).asnumpy().copy()
    numpy.testing.assert_array_equal(made[2:6, 3:8], x)
    made[2:6, 3:8] = (7, 8, 9)
    assert (made == (7, 8, 9)).all()


def rotated(x: Any, degrees: float, scale: float) -> Any:
    """Rotate an image of shape (channels, height, width) by plain loops."""
    height, width = x.shape[1:]
    made = numpy.zeros(x.shape)
    angle = math.radians(degrees)
    for i, j in numpy.ndindex(height, width):
        across, down = j - (width - 1) / 2, i - (height - 1) / 2
        column = (across * math.cos(angle) - down * math.sin(angle)) * scale + (width - 1) / 2
        row = (across * math.sin(angle) + down * math.cos(angle)) * scale + (height - 1) / 2
        for r in (math.floor(row), math.floor(row) + 1):
            for c in (math.floor(column), math.floor(column) + 1):
                if 0 <= r < height and 0 <= c < width:
                    made[:, i, j] += x[:, r, c] * (1 - abs(row - r)) * (1 - abs(column - c))
    return made


def test_rotations() -> None:
    x = drawn(3, 7, 9).astype("float32")
    angle = 25.0
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    reach = max(c + s * 7 / 9, c + s * 9 / 7)
    for options, scale in (({}, 1.0), ({"zoom_in": True}, 1 / reach), ({"zoom_out": True}, reach)):
        made = image.imrotate(np.array(x), angle, **options).asnumpy()
        numpy.testing.assert_allclose(made, rotated(x, angle, scale), atol=0.02)
    batch = image.imrotate(np.array(numpy.stack([x, x])), np.array([0.0, angle])).asnumpy()
    numpy.testing.assert_allclose(batch[0], x, atol=0.01)
    numpy.testing.assert_allclose(batch[1], rotated(x, angle, 1.0), atol=0.02)
    random.seed(5)
    made = image.random_rotate(np.array(numpy.stack([x] * 6)), (-40, 40)).asnumpy()
    assert len({each.tobytes() for each in made}) == 6
    assert image.random_rotate(np.array(x), (10, 10)).shape == x.shape


def test_augmenters_by_hand() -> None:
    x = drawn(5, 6, 3).astype("float32")
    gray = x @ numpy.array([0.299, 0.587, 0.114])
    random.seed(2)
    alphas = [1 + random.uniform(-0.4, 0.4) for _ in range(3)]
    random.seed(2)
    made = [each(np.array(x)).asnumpy() for each in (
        image.BrightnessJitterAug(0.4), image.ContrastJitterAug(0.4), image.SaturationJitterAug(0.4)
    )]  # fmt: skip
    numpy.testing.assert_allclose(made[0], x * alphas[0], rtol=1e-5)
    numpy.testing.assert_allclose(made[1], x * alphas[1] + gray.mean() * (1 - alphas[1]), rtol=1e-4, atol=1e-3)
    numpy.testing.assert_allclose(made[2], x * alphas[2] + gray[..., None] * (1 - alphas[2]), rtol=1e-4, atol=1e-3)
    # A turned hue keeps the brightness.
    turned = image.HueJitterAug(0.5)(np.array(x)).asnumpy()
    assert numpy.abs(turned @ numpy.array([0.299, 0.587, 0.114]) - gray).max() < 1
    assert numpy.abs(turned - x).max() > 5
    vectors = numpy.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])
    random.seed(3)
    alpha = numpy.array([random.gauss(0, 0.5) for _ in range(3)])
    random.seed(3)
    lit = image.LightingAug(0.5, numpy.array([1.0, 2, 3]), vectors)(np.array(x)).asnumpy()
    numpy.testing.assert_allclose(lit - x, numpy.broadcast_to((vectors * alpha) @ [1, 2, 3], x.shape), atol=1e-3)
    grayed = image.RandomGrayAug(1.0)(np.array(x)).asnumpy()
    numpy.testing.assert_allclose(grayed[..., 1], x @ numpy.array([0.21, 0.72, 0.07]), rtol=1e-4)
    numpy.testing.assert_array_equal(image.HorizontalFlipAug(1.0)(np.array(x)).asnumpy(), x[:, ::-1])
    given = np.array(x)
    assert image.HorizontalFlipAug(0.0)(given) is given
    numpy.testing.assert_array_equal(given.asnumpy(), x)
    assert image.CastAug("float16")(np.array(x)).dtype == "float16"


def test_lists_of_augmenters() -> None:
    made = image.CreateAugmenter(
        (3, 8, 9), resize=12, rand_crop=True, rand_resize=True, rand_mirror=True, mean=True, std=True, brightness=0.1,
        contrast=0.1, saturation=0.1, hue=0.1, pca_noise=0.1, rand_gray=0.1, inter_method=10,
    )  # fmt: skip
    names = "Resize RandomSizedCrop HorizontalFlip Cast ColorJitter HueJitter Lighting RandomGray ColorNormalize"
    assert [type(each).__name__ for each in made] == [f"{name}Aug" for name in names.split()]
    x = np.array(drawn(20, 30, 3))
    for each in made:
        x = each(x)
    assert x.shape == (8, 9, 3) and x.dtype == "float32"
    assert json.loads(made[1].dumps())[0] == "randomsizedcropaug"
    assert json.loads(made[-1].dumps()) == [
        "colornormalizeaug",
        {"mean": [123.68, 116.28, 103.53], "std": [58.395, 57.12, 57.375]},
    ]
    assert made[4].dumps()[0] == "colorjitteraug" and len(made[4].dumps()[1]) == 3
    with pytest.raises(ValueError, match="rand_resize needs rand_crop"):
        image.CreateAugmenter((3, 8, 9), rand_resize=True)
    normal = image.ColorNormalizeAug(np.array([1.0, 2.0, 3.0]), None)
    numpy.testing.assert_array_equal(
        normal(np.array(drawn(2, 2, 3))).asnumpy(), drawn(2, 2, 3) - numpy.array([1.0, 2, 3])
    )
    with forerun.no_sync("error"):
        x = np.ones((20, 30, 3)) * 2
        for each in made:
            x = each(x)


def test_random_crops_of_npx() -> None:
    x = drawn(10, 14, 3)
    npx.seed(3)
    seen = set()
    for _ in range(100):
        made = npx.image.random_crop(np.array(x), width=12, height=9).asnumpy()
        seen |= {(i, j) for i in range(2) for j in range(3) if (made == x[i : i + 9, j : j + 12]).all()}
    assert len(seen) == 6
    middle = npx.image.random_crop(np.array(x), (0.5, 0.5), (0.5, 0.5), 6, 4).asnumpy()
    numpy.testing.assert_array_equal(middle, x[3:7, 4:10])
    corner = npx.image.random_crop(np.array(numpy.stack([x, x])), (1, 1), (0, 0), 6, 4).asnumpy()
    numpy.testing.assert_array_equal(corner[1], x[:4, 8:])
    large = npx.image.random_crop(np.array(x), (0.5, 0.5), (0.5, 0.5), 20, 20, interp=2).asnumpy()
    numpy.testing.assert_array_equal(large, image.center_crop(np.array(x), (20, 20))[0].asnumpy())


@pytest.mark.parametrize("method", range(5))
def test_random_resized_crops_of_npx(method: int) -> None:
    x = np.array(drawn(30, 40, 3))
    with forerun.no_sync("error"):
        made = [npx.image.random_resized_crop(x, 9, 8, interp=method) for _ in range(5)]
    assert {each.shape for each in made} == {(8, 9, 3)} and made[0].dtype == "uint8"
    assert len({each.asnumpy().tobytes() for each in made}) == 5
    # Nothing is drawn if the area and the proportion are fixed.
    whole = npx.image.random_resized_crop(x, 9, 8, (1, 1), (4 / 3, 4 / 3), method)
    want = npx.image.resize(x, (9, 8), interp=method)
    assert numpy.abs(whole.asnumpy().astype(int) - want.asnumpy()).max() <= 1
    # If no rectangle fits, the middle is taken.
    middle = npx.image.random_resized_crop(x, 50, 50, (1, 1), (50, 50), method)
    want = npx.image.resize(x[:, 5:35], (50, 50), interp=method)
    assert numpy.abs(middle.asnumpy().astype(int) - want.asnumpy()).max() <= 1


def test_hues() -> None:
    import colorsys

    x = drawn(6, 7, 3)
    for turn in (0.0, 0.25, 0.6, 1.0, 1.4):
        made = npx.image.random_hue(np.array(x), turn, turn).asnumpy()
        for place in numpy.ndindex(6, 7):
            hue, light, strength = colorsys.rgb_to_hls(*(x[place] / 255))
            want = numpy.array(colorsys.hls_to_rgb((hue + turn) % 1, light, strength)) * 255
            assert numpy.abs(made[place] - want).max() <= 0.51
    gray = np.full((2, 2, 3), 7, dtype="uint8")
    numpy.testing.assert_array_equal(npx.image.random_hue(gray, 0.3, 0.3).asnumpy(), gray.asnumpy())


def test_jitter() -> None:
    x = np.array(drawn(6, 7, 3))
    with forerun.no_sync("error"):
        made = npx.image.random_color_jitter(x, 0.3, 0.3, 0.3, 0.3)
    assert made.dtype == "uint8" and (made.asnumpy() != x.asnumpy()).any()
    numpy.testing.assert_array_equal(npx.image.random_color_jitter(x).asnumpy(), x.asnumpy())
    # Brightness and contrast do not commute: both orders occur.
    bright = np.full((1, 2, 3), 100.0) * np.array([[[1.0], [2.0]]])
    npx.seed(1)
    quotients = set()
    for _ in range(20):
        y = npx.image.random_color_jitter(bright, brightness=0.5, contrast=0.0, saturation=0.0, hue=0.0).asnumpy()
        quotients.add(round(float(y[0, 1, 0] / y[0, 0, 0]), 3))
    assert quotients == {2.0}
    npx.seed(5)
    first = npx.image.random_color_jitter(x, 0.3, 0.3, 0.3, 0.3).asnumpy()
    npx.seed(5)
    numpy.testing.assert_array_equal(npx.image.random_color_jitter(x, 0.3, 0.3, 0.3, 0.3).asnumpy(), first)


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: image.imresize(np.ones((2, 2)), 2, 2), ValueError, r"needs an image of shape .* got \(2, 2\)"),
    (lambda: image.imresize(np.ones((2, 2, 3)), 0, 2), ValueError, r"a width and a height, got \(0, 2\)"),
    (lambda: image.imresize(np.ones((2, 2, 3)), 3, 2, 7), ValueError, "interp must be between 0 and 4, 9 or 10, not 7"),
    (lambda: image.fixed_crop(np.ones((2, 2, 3)), 1, 0, 2, 1), ValueError, r"2 x 1 pixels from \(1, 0\) are not"),
    (lambda: image.copyMakeBorder(np.ones((2, 2, 3)), 1, 1, 1, -1), ValueError, "a border must not be negative"),
    (lambda: image.copyMakeBorder(np.ones((2, 2, 3)), 1, 1, 1, 1, 5), ValueError, "type must be between 0 and 4"),
    (lambda: image.imrotate(np.ones((3, 2, 2)), 1.0, True, True), ValueError, "exclude each other"),
    (lambda: image.imrotate(np.ones((3, 2, 2), dtype="uint8"), 1.0), TypeError, "needs float32 pixels, got uint8"),
    (lambda: image.imrotate(np.ones((2, 2)), 1.0), ValueError, "imrotate: needs shape"),
    (lambda: image.imrotate(np.ones((3, 2, 2)), [1.0]), TypeError, "one image is rotated by one angle"),
    (lambda: image.imrotate(np.ones((2, 3, 2, 2)), [1.0]), ValueError, "2 images are rotated by as many angles"),
    (lambda: image.Augmenter()(np.ones(1)), NotImplementedError, "Augmenter has no __call__"),
    (lambda: npx.image.random_crop(np.ones((2, 2, 3)), (1, 0)), ValueError, "not an interval within 0 and 1"),
    (lambda: npx.image.random_resized_crop(np.ones((2, 2, 3)), area=(0, 1)), ValueError, "must be positive intervals"),
    (lambda: npx.image.random_color_jitter(np.ones((2, 2, 3)), -1), ValueError, "must not be negative, got -1"),
    (lambda: image.ImageIter(1, (3, 2, 2)), ValueError, "path_imgrec, path_imglist or imglist must be given"),
    (lambda: image.ImageIter(1, (1, 2, 2), imglist=[]), ValueError, r"must be \(3, height, width\), not \(1, 2, 2\)"),
    (lambda: image.imrezise, AttributeError, "has no attribute 'imrezise'; did you mean 'imresize'"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), REFUSED)
def test_what_is_refused(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def folder_of(path: pathlib.Path, count: int) -> list[list[Any]]:
    """Write images whose pixels are their number, with a list and a record file."""
    entries = []
    writer = recordio.MXIndexedRecordIO(path / "x.idx", path / "x.rec", "w")
    with open(path / "x.lst", "w", encoding="utf-8") as lines:
        for number in range(count):
            file = image.imencode(".png", np.full((6, 8, 3), number, dtype="uint8"))
            (path / f"{number}.png").write_bytes(file)
            writer.write_idx(number, recordio.pack(recordio.IRHeader(0, number * 10, number, 0), file))
            lines.write(f"{number}\t{number * 10}\t{number}.png\n")
            entries.append([number * 10, f"{number}.png"])
    writer.close()
    return entries


def visited(batches: image.ImageIter) -> list[tuple[list[int], list[float], int | None]]:
    found = []
    for batch in batches:
        data = batch.data[0].asnumpy()
        assert data.shape == (batches.batch_size, 3, 4, 4) and (data == data[:, :1, :1, :1]).all()
        labels = batch.label[0].tolist()
        found.append((data[:, 0, 0, 0].astype(int).tolist(), labels, batch.pad))
    return found


def test_sources_of_images(tmp_path: pathlib.Path) -> None:
    entries = folder_of(tmp_path, 5)
    root, rec, idx, lst = (str(tmp_path / name) for name in ("", "x.rec", "x.idx", "x.lst"))
    want = [([0, 1], [0.0, 10.0], 0), ([2, 3], [20.0, 30.0], 0), ([4, 0], [40.0, 0.0], 1)]
    sources: list[dict[str, Any]] = [
        {"path_imgrec": rec}, {"path_imgrec": rec, "path_imgidx": idx}, {"path_imglist": lst, "path_root": root},
        {"imglist": entries, "path_root": root}, {"path_imgrec": rec, "path_imgidx": idx, "path_imglist": lst},
    ]  # fmt: skip
    for source in sources:
        batches = image.ImageIter(2, (3, 4, 4), **source)
        assert visited(batches) == want and visited(batches) == []
        batches.reset()
        assert visited(batches) == want
        assert batches.provide_data == [("data", (2, 3, 4, 4))]
        assert batches.provide_label == [("softmax_label", (2,))]
    parts = [image.ImageIter(1, (3, 4, 4), path_imgrec=rec, path_imgidx=idx, part_index=i, num_parts=2) for i in (0, 1)]
    assert [[data for data, *_ in visited(part)] for part in parts] == [[[0], [1]], [[2], [3]]]
    random.seed(4)
    mixed = image.ImageIter(5, (3, 4, 4), path_imgrec=rec, path_imgidx=idx, shuffle=True)
    orders = set()
    for _ in range(6):
        (batch,) = visited(mixed)
        assert sorted(batch[0]) == [0, 1, 2, 3, 4] and batch[1] == [each * 10.0 for each in batch[0]]
        orders.add(tuple(batch[0]))
        mixed.reset()
    assert len(orders) > 2
    with pytest.raises(ValueError, match="path_imgidx is needed"):
        image.ImageIter(1, (3, 4, 4), path_imgrec=rec, shuffle=True)


def test_last_batches(tmp_path: pathlib.Path) -> None:
    entries, root = folder_of(tmp_path, 5), str(tmp_path)

    def epochs(handle: str, size: int = 2) -> list[list[list[int]]]:
        batches = image.ImageIter(size, (3, 4, 4), imglist=entries, path_root=root, last_batch_handle=handle)
        found = []
        for _ in range(3):
            found.append([data for data, *_ in visited(batches)])
            batches.reset()
        return found

    assert epochs("pad") == [[[0, 1], [2, 3], [4, 0]]] * 3
    assert epochs("pad", 12) == [[[0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]]] * 3
    assert epochs("discard") == [[[0, 1], [2, 3]]] * 3
    assert epochs("roll_over") == [[[0, 1], [2, 3]], [[4, 0], [1, 2], [3, 4]], [[0, 1], [2, 3]]]
    batches = image.ImageIter(2, (3, 4, 4), imglist=entries, path_root=root, last_batch_handle="roll_over")
    visited(batches)
    batches.reset()
    assert [pad for *_, pad in visited(batches)] == [1, 0, 0]
    batches.reset()
    visited(batches)
    batches.hard_reset()
    assert visited(batches)[0][0] == [0, 1]


def test_broken_images_are_named(tmp_path: pathlib.Path) -> None:
    entries, root = folder_of(tmp_path, 3), str(tmp_path)
    (tmp_path / "1.png").write_bytes(b"broken")
    with pytest.raises(RuntimeError, match=r"broken image 1\.png: imdecode"):
        visited(image.ImageIter(1, (3, 4, 4), imglist=entries, path_root=root))
    (tmp_path / "x.lst").write_text("0\t1\t0.png\nsome text\n")
    with pytest.raises(ValueError, match=r"x.lst: line 2 is not a number, labels and a path.*'some text"):
        image.ImageIter(1, (3, 4, 4), path_imglist=str(tmp_path / "x.lst"), path_root=root)
    wide = image.ImageIter(1, (3, 4, 4), imglist=entries, path_root=root, aug_list=[])
    with pytest.raises(ValueError, match=r"the augmenters make \(3, 6, 8\), not \(3, 4, 4\)"):
        wide.next()


def test_several_labels(tmp_path: pathlib.Path) -> None:
    folder_of(tmp_path, 2)
    entries = [[[1, 2, 3], "0.png"], [[4, 5, 6], "1.png"]]
    batches = image.ImageIter(2, (3, 4, 4), 3, imglist=entries, path_root=str(tmp_path), dtype="int64", label_name="y")
    batch = batches.next()
    assert batch.label[0].dtype == "int64" and batch.label[0].tolist() == [[1, 2, 3], [4, 5, 6]]
    assert batches.provide_label == [("y", (2, 3))]
    flat = image.ImageIter(2, (3, 4, 4), 2, imglist=[[1, 2, "0.png"], [3, 4, "1.png"]], path_root=str(tmp_path))
    assert flat.next().label[0].tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_names_of_mxnet() -> None:
    import forerun.mxnet

    assert forerun.mxnet.image is forerun.mxnet.img is image and forerun.mxnet.recordio is recordio
    forerun.mxnet.install()
    try:
        import mxnet.recordio  # type: ignore[import-not-found]
        from mxnet.image import ImageIter  # type: ignore[import-not-found]
        from mxnet.image.detection import DetRandomPadAug  # type: ignore[import-not-found]
        from mxnet.image.image import imdecode  # type: ignore[import-not-found]

        assert mxnet.recordio.pack is recordio.pack and mxnet.img.image.imdecode is imdecode is image.imdecode
        assert ImageIter is image.ImageIter and DetRandomPadAug is image.DetRandomPadAug
    finally:
        forerun.mxnet.uninstall()


def test_resizing_in_a_captured_block() -> None:
    class Resized(gluon.HybridBlock):
        def forward(self, x: np.ndarray) -> np.ndarray:
            return npx.image.resize(x, (5, 3), interp=2) * 2

    block, x = Resized(), np.array(drawn(8, 9, 3).astype("float32"))
    want = block(x).asnumpy()
    block.hybridize()
    for _ in range(3):
        numpy.testing.assert_array_equal(block(x).asnumpy(), want)
