"""Transforms of images: as ops, captured, on batches, and on host data inside a loader, with the same results."""

from __future__ import annotations

import pickle
from typing import Any

import numpy
import pytest

from forerun import np, npx
from forerun.gluon import data, nn
from forerun.gluon.data import _host, _steps
from forerun.gluon.data.vision import transforms

RANDOM = numpy.random.RandomState(0)
IMAGE = RANDOM.randint(0, 256, (9, 12, 3)).astype("uint8")
BATCH = RANDOM.randint(0, 256, (4, 9, 12, 3)).astype("uint8")

# A transform, and the shape that it gives to an image.
SHAPED: list[tuple[Any, tuple[int, ...]]] = [
    (transforms.Resize(6), (6, 6, 3)),
    (transforms.Resize((6, 7)), (7, 6, 3)),
    (transforms.Resize(6, keep_ratio=True), (6, 8, 3)),
    (transforms.Resize(20, interpolation=2), (20, 20, 3)),
    (transforms.CenterCrop(4), (4, 4, 3)),
    (transforms.CenterCrop((4, 5)), (5, 4, 3)),
    (transforms.CenterCrop((24, 30)), (30, 24, 3)),
    (transforms.CropResize(1, 2, 4, 3), (3, 4, 3)),
    (transforms.CropResize(1, 2, 4, 3, size=(8, 6)), (6, 8, 3)),
    (transforms.RandomCrop(5), (5, 5, 3)),
    (transforms.RandomCrop((12, 9), pad=2, pad_value=7), (9, 12, 3)),
    (transforms.RandomCrop((12, 9), pad=(1, 0, 3, 2)), (9, 12, 3)),
    (transforms.RandomResizedCrop((6, 5)), (5, 6, 3)),
    (transforms.RandomFlipLeftRight(), (9, 12, 3)),
    (transforms.RandomFlipTopBottom(), (9, 12, 3)),
    (transforms.RandomBrightness(0.4), (9, 12, 3)),
    (transforms.RandomContrast(0.4), (9, 12, 3)),
    (transforms.RandomSaturation(0.4), (9, 12, 3)),
    (transforms.RandomHue(0.4), (9, 12, 3)),
    (transforms.RandomColorJitter(0.1, 0.2, 0.3, 0.4), (9, 12, 3)),
    (transforms.RandomLighting(0.1), (9, 12, 3)),
    (transforms.RandomGray(), (9, 12, 3)),
    (transforms.ToTensor(), (3, 9, 12)),
    (transforms.Cast("float16"), (9, 12, 3)),
    (transforms.HybridRandomApply(transforms.RandomFlipLeftRight(p=1)), (9, 12, 3)),
    (transforms.RandomApply([transforms.RandomFlipLeftRight(p=1)]), (9, 12, 3)),
]
IDS = [f"{type(transform).__name__}-{number}" for number, (transform, _) in enumerate(SHAPED)]


@pytest.mark.parametrize(("transform", "shape"), SHAPED, ids=IDS)
def test_shapes(transform: Any, shape: tuple[int, ...]) -> None:
    made = transform(np.array(IMAGE))
    assert made.shape == shape
    kinds = {"ToTensor": "float32", "RandomGray": "float32", "Cast": "float16"}
    assert str(made.dtype) == kinds.get(type(transform).__name__, "uint8")
    assert transform(np.array(BATCH)).shape == (4, *shape)
    # Other entries of a sample pass through.
    if not isinstance(transform, transforms.Cast):
        image, label = transform(np.array(IMAGE), 5)
        assert (image.shape, label) == (shape, 5)
    other = pickle.loads(pickle.dumps(transform))
    assert other(np.array(IMAGE)).shape == shape


@pytest.mark.parametrize(("transform", "shape"), SHAPED, ids=IDS)
def test_a_batch_is_changed_like_one_image(transform: Any, shape: tuple[int, ...]) -> None:
    if isinstance(transform, transforms.RandomApply):
        return
    np.random.seed(3)
    whole = transform(np.array(BATCH)).asnumpy()
    for image, expected in zip(BATCH, whole, strict=True):
        np.random.seed(3)
        numpy.testing.assert_allclose(transform(np.array(image)).asnumpy(), expected, atol=1e-6)


@pytest.mark.parametrize(("transform", "shape"), SHAPED, ids=IDS)
def test_captured_transforms_draw_again(transform: Any, shape: tuple[int, ...]) -> None:
    if isinstance(transform, transforms.RandomApply):
        return
    captured = pickle.loads(pickle.dumps(transform))
    captured.hybridize()
    image = np.array(IMAGE)
    results = []
    for each in (transform, captured):
        np.random.seed(5)
        results.append([each(image).asnumpy() for _ in range(16)])
    for expected, found in zip(*results, strict=True):
        numpy.testing.assert_array_equal(found, expected)
    names = type(transform).__name__
    if names.startswith("Random") and not names.startswith("RandomLighting"):
        assert len({found.tobytes() for found in results[1]}) > 1


@pytest.mark.parametrize(("transform", "shape"), SHAPED, ids=IDS)
def test_loaders_give_the_shape(transform: Any, shape: tuple[int, ...]) -> None:
    images = data.ArrayDataset(np.array(BATCH), [0, 1, 2, 3]).transform_first(transform)
    made = [x.asnumpy() for x, _ in data.DataLoader(images, 2, seed=1)]
    assert [x.shape for x in made] == [(2, *shape)] * 2
    again = [x.asnumpy() for x, _ in data.DataLoader(images, 2, seed=1, num_workers=1)]
    for one, other in zip(made, again, strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_host_data_gives_the_same() -> None:
    """Where a transform is the same for every draw, ops and host data agree bit for bit."""
    certain = [
        transforms.ToTensor(),
        transforms.CenterCrop((4, 5)),
        transforms.CenterCrop((24, 30)),
        transforms.RandomFlipLeftRight(p=1),
        transforms.RandomFlipLeftRight(p=0),
        transforms.RandomFlipTopBottom(p=1),
        transforms.RandomCrop((12, 9)),
        transforms.Compose([transforms.CenterCrop(6), transforms.ToTensor(), transforms.Normalize(0.5, (1, 2, 3))]),
        transforms.HybridCompose([transforms.CenterCrop(6), transforms.ToTensor(), transforms.Normalize((1, 2, 3), 2)]),
    ]
    for transform in certain:
        expected = transform(np.array(IMAGE)).asnumpy()
        found = _steps.on_host(transform)(_host.hosted(IMAGE))
        numpy.testing.assert_array_equal(numpy.asarray(_host.shown(found)), expected)
        batches = data.DataLoader(data.ArrayDataset(np.array(BATCH)).transform_first(transform), 4)
        (batch,) = list(batches)
        numpy.testing.assert_array_equal(batch.asnumpy(), transform(np.array(BATCH)).asnumpy())


def test_random_places_and_tosses() -> None:
    """Crops and mirrors on host data are parts of the padded image, and all of them occur."""
    image = numpy.arange(12).reshape(3, 4, 1).astype("uint8") + 1
    padded = numpy.pad(image, ((1, 1), (1, 1), (0, 0)))
    parts = {padded[y : y + 3, x : x + 4].tobytes() for y in range(3) for x in range(3)}
    found, tossed = set(), 0
    crop = _steps.on_host(transforms.RandomCrop((4, 3), pad=1))
    flip = _steps.on_host(transforms.RandomFlipLeftRight(0.3))
    apply = _steps.on_host(transforms.RandomApply(transforms.RandomFlipTopBottom(p=1), 0.3))
    with _host.drawing(1):
        for _ in range(400):
            found.add(crop(_host.hosted(image)).tobytes())
            tossed += flip(_host.hosted(image))[0, 0, 0] == 4
            tossed += apply(_host.hosted(image))[0, 0, 0] == 9
    assert found <= parts
    assert len(found) >= 4
    assert 160 < tossed < 320


def test_normalize_and_to_tensor() -> None:
    made = transforms.ToTensor()(np.array(IMAGE)).asnumpy()
    numpy.testing.assert_array_equal(made, IMAGE.transpose(2, 0, 1).astype("float32") / 255)
    normal = transforms.Normalize((0, 1, 2), (3, 2, 1))(np.array(made)).asnumpy()
    expected = (made - numpy.array([0, 1, 2], "f4").reshape(3, 1, 1)) / numpy.array([3, 2, 1], "f4").reshape(3, 1, 1)
    numpy.testing.assert_allclose(normal, expected, rtol=1e-6)


def test_resizing_is_that_of_npx() -> None:
    for interpolation in range(5):
        made = transforms.Resize((7, 5), interpolation=interpolation)(np.array(IMAGE))
        assert (made == npx.image.resize(np.array(IMAGE), (7, 5), interp=interpolation)).all()


def test_colours() -> None:
    gray = numpy.full((2, 2, 3), 80, "uint8")
    for transform in (transforms.RandomSaturation(0.9), transforms.RandomHue(0.5), transforms.RandomContrast(0.9)):
        assert (numpy.abs(transform(np.array(gray)).asnumpy().astype(int) - 80) <= 1).all()
    np.random.seed(0)
    brightness = transforms.RandomBrightness(0.5)
    factors = [brightness(np.full((1, 1, 3), 100, dtype="uint8")).max().item() for _ in range(100)]
    assert 50 <= min(factors) < 70
    assert 130 < max(factors) <= 150
    shares = [transforms.RandomGray(0.5)(np.array([[[255, 0, 0]]], dtype="uint8")).max().item() for _ in range(200)]
    assert set(numpy.round(shares)) == {76, 255}
    assert 60 < sum(share > 100 for share in shares) < 140


@pytest.mark.parametrize(("angle", "place"), [(90.0, (0, 1)), (180.0, (1, 0)), (270.0, (2, 1)), (360.0, (1, 2))])
def test_rotations(angle: float, place: tuple[int, int]) -> None:
    image = numpy.zeros((1, 3, 3), "f4")
    image[0, 1, 2] = 1
    expected = numpy.zeros((1, 3, 3), "f4")
    expected[(0, *place)] = 1
    numpy.testing.assert_allclose(transforms.Rotate(angle)(np.array(image)).asnumpy(), expected, atol=1e-5)
    batch = transforms.Rotate(angle)(np.array(numpy.stack([image] * 2)))
    numpy.testing.assert_allclose(batch.asnumpy(), numpy.stack([expected] * 2), atol=1e-5)


def test_random_rotations() -> None:
    image = np.array(RANDOM.rand(3, 8, 6).astype("f4"))
    assert (transforms.RandomRotation((-10, 10), rotate_with_proba=0)(image) == image).all()
    turn = transforms.RandomRotation((-80, 80))
    assert not (turn(image) == turn(image)).all()
    assert turn(np.array(RANDOM.rand(4, 3, 8, 6).astype("f4")), 3)[0].shape == (4, 3, 8, 6)
    for transform in (transforms.Rotate(10.0), turn):
        with pytest.raises(TypeError, match="needs float32 images"):
            transform(np.ones((3, 8, 6), dtype="uint8"))
    for limits, probability in [((5, 5), 1.0), ((-1, 1), 1.1), ((-1, 1), -0.1)]:
        with pytest.raises(ValueError, match="RandomRotation"):
            transforms.RandomRotation(limits, rotate_with_proba=probability)


def test_a_long_chain() -> None:
    steps = [
        transforms.Resize(30),
        transforms.Resize(30, keep_ratio=True),
        transforms.CenterCrop(25),
        transforms.RandomCrop(25, pad=4),
        transforms.RandomFlipLeftRight(),
        transforms.RandomColorJitter(0.1, 0.1, 0.1, 0.1),
        transforms.RandomBrightness(0.1),
        transforms.RandomContrast(0.1),
        transforms.RandomSaturation(0.1),
        transforms.RandomHue(0.1),
        transforms.RandomLighting(0.1),
        transforms.ToTensor(),
        transforms.Normalize([0, 0, 0], [1, 1, 1]),
    ]
    for chain in (transforms.Compose(steps), transforms.HybridCompose(steps)):
        assert chain(np.array(IMAGE)).shape == (3, 25, 25)
        assert len(chain) == len(steps)


def test_mistakes() -> None:
    for make, message in [
        (lambda: transforms.CenterCrop(0), "CenterCrop: size must be"),
        (lambda: transforms.RandomCrop((1, 2, 3)), "RandomCrop: size must be"),
        (lambda: transforms.RandomCrop(4, pad=(1, 2)), "RandomCrop: pad must be a number or four"),
        (lambda: transforms.RandomBrightness(-1), "RandomBrightness: the amount must not be negative"),
        (lambda: transforms.HybridCompose([nn.Sequential()]), "is not a HybridBlock; use Compose"),
        (lambda: transforms.HybridRandomApply(len), "is not a HybridBlock; use RandomApply"),  # type: ignore[arg-type]
        (lambda: transforms.ToTensor()(np.ones((2, 2))), "to_tensor: needs images"),
        (lambda: transforms.RandomGray()(np.ones((2, 2, 1))), "RandomGray: needs images"),
        (lambda: transforms.CropResize(0, 0, 20, 20)(np.array(IMAGE)), "crop: "),
        (lambda: transforms.Resize(-1)(np.array(IMAGE)), "resize: cannot resize"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(AttributeError, match="did you mean 'ToTensor'"):
        transforms.Totensor  # noqa: B018
