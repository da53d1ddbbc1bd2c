"""Augmenters for detection: boxes follow their pixels; and the iterator over images with boxes."""

from __future__ import annotations

import pathlib
import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import image, np, recordio

# The size of the pictures, and the boxes of their two objects.
HEIGHT, WIDTH = 40, 60
BOXES = numpy.array([[0, 0.1, 0.2, 0.4, 0.6], [1, 0.5, 0.5, 0.9, 0.95]], dtype="float32")


def picture() -> Any:
    """Return an image whose objects have the colours 100 and 200."""
    x = numpy.zeros((HEIGHT, WIDTH, 3), "float32")
    for box, colour in zip(BOXES, (100, 200), strict=True):
        left, top, right, bottom = (box[1:5] * (WIDTH, HEIGHT, WIDTH, HEIGHT)).round().astype(int)
        x[top:bottom, left:right] = colour
    return x


def check_boxes(made: np.ndarray, label: Any) -> None:
    """Compare each box with where its colour is, up to a pixel."""
    x = made.asnumpy()[..., 0]
    height, width = x.shape
    for box in label:
        rows, columns = numpy.nonzero(x == (100, 200)[int(box[0])])
        seen = numpy.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        assert numpy.abs(seen - box[1:5] * (width, height, width, height)).max() <= 1.01


def test_mirrored_boxes() -> None:
    made, label = image.DetHorizontalFlipAug(1.0)(np.array(picture()), BOXES)
    check_boxes(made, label)
    numpy.testing.assert_allclose(label[0, 1:5], [0.6, 0.2, 0.9, 0.6], rtol=1e-6)
    assert BOXES[0, 1] == numpy.float32(0.1)
    made, label = image.DetHorizontalFlipAug(0.0)(np.array(picture()), BOXES)
    numpy.testing.assert_array_equal(label, BOXES)


def test_cropped_boxes() -> None:
    random.seed(1)
    crop = image.DetRandomCropAug(0.5, (0.5, 2.0), (0.2, 0.8), 0.3)
    kept = set()
    for _ in range(200):
        made, label = crop(np.array(picture()), BOXES)
        check_boxes(made, label)
        share = made.shape[0] * made.shape[1] / (HEIGHT * WIDTH)
        assert 0.2 <= share <= 0.8 or made.shape == (HEIGHT, WIDTH, 3)
        assert made.shape == (HEIGHT, WIDTH, 3) or 0.45 <= made.shape[1] / made.shape[0] <= 2.2
        assert ((label[:, 1:5] >= 0) & (label[:, 1:5] <= 1)).all()
        kept.add(len(label))
    assert kept == {1, 2}
    # Nothing fits: the image stays as it is.
    given = np.array(picture())
    same, label = image.DetRandomCropAug(0.99, (1.0, 1.0), (0.01, 0.01))(given, BOXES)
    assert same is given and label is BOXES
    with pytest.warns(UserWarning, match="DetRandomCropAug: has no effect"):
        assert image.DetRandomCropAug(area_range=(0.5, 0.1))(given, BOXES)[0] is given


def test_padded_boxes() -> None:
    random.seed(2)
    pad = image.DetRandomPadAug((0.8, 1.6), (1.2, 4.0), 50, (5, 6, 7))
    sizes = set()
    for _ in range(60):
        made, label = pad(np.array(picture()), BOXES)
        check_boxes(made, label)
        assert len(label) == 2
        sizes.add(made.shape)
        x = made.asnumpy()
        if made.shape != (HEIGHT, WIDTH, 3):
            assert (x == (5, 6, 7)).all(-1).sum() == made.shape[0] * made.shape[1] - HEIGHT * WIDTH
    assert len(sizes) > 20
    with pytest.warns(UserWarning, match="DetRandomPadAug: has no effect"):
        image.DetRandomPadAug(area_range=(0.5, 1.0))


def test_choices_and_descriptions() -> None:
    given = np.array(picture())
    never = image.DetRandomSelectAug([image.DetHorizontalFlipAug(1.0)], skip_prob=1)
    assert never(given, BOXES)[0] is given
    assert image.DetRandomSelectAug([])(given, BOXES)[0] is given
    borrowed = image.DetBorrowAug(image.CastAug("float16"))
    assert borrowed(given, BOXES)[0].dtype == "float16"
    assert borrowed.dumps() == ["detborrowaug", '["castaug", {"type": "float16"}]']
    several = image.CreateMultiRandCropAugmenter([0.1, 0.5], area_range=[(0.1, 1.0), (0.3, 0.9)], skip_prob=0.2)
    assert [(each.min_object_covered, each.area_range) for each in several.aug_list] == [
        (0.1, (0.1, 1.0)), (0.5, (0.3, 0.9)),
    ]  # fmt: skip
    assert several.skip_prob == 0.2 and several.dumps()[0] == "detrandomselectaug"


def test_lists_of_augmenters() -> None:
    random.seed(3)
    made = image.CreateDetAugmenter(
        (3, 24, 32), resize=50, rand_crop=0.5, rand_pad=0.5, rand_gray=0.1, rand_mirror=True, mean=True, std=True,
        brightness=0.1, contrast=0.1, saturation=0.1, pca_noise=0.1, hue=0.1, min_object_covered=[0.1, 0.5],
    )  # fmt: skip
    kinds = ["Borrow", "RandomSelect", "HorizontalFlip", "RandomSelect", *["Borrow"] * 7]
    assert [type(each).__name__ for each in made] == [f"Det{kind}Aug" for kind in kinds]
    for _ in range(10):
        x, label = np.array(picture().astype("uint8")), BOXES
        for each in made:
            x, label = each(x, label)
        assert x.shape == (24, 32, 3) and x.dtype == "float32" and label.shape[1] == 5


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: image.DetAugmenter()(np.ones(1), BOXES), NotImplementedError, "DetAugmenter has no __call__"),
    (lambda: image.DetBorrowAug(len), TypeError, "needs an Augmenter, got builtin_function"),  # type: ignore[arg-type]
    (lambda: image.DetRandomSelectAug([len]), ValueError, "needs DetAugmenters"),  # type: ignore[list-item]
    (lambda: image.CreateMultiRandCropAugmenter([0.1, 0.2], max_attempts=[1, 2, 3]), ValueError, "2 .* another 3"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "text"), REFUSED)
def test_what_is_refused(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def flat(boxes: Any) -> list[float]:
    """Return a raw label: a header of three numbers, and the boxes."""
    return [3, 5, 77, *(float(number) for number in boxes.reshape(-1))]


def detected(folder: pathlib.Path, labels: list[list[float]]) -> dict[str, Any]:
    """Write pictures as files and as records."""
    writer = recordio.MXIndexedRecordIO(folder / "x.idx", folder / "x.rec", "w")
    file = image.imencode(".png", picture().astype("uint8"))
    (folder / "x.png").write_bytes(file)
    for number, label in enumerate(labels):
        writer.write_idx(number, recordio.pack(recordio.IRHeader(2, label, number, 0), file))
    writer.close()
    return {"imglist": [[*label, "x.png"] for label in labels], "path_root": str(folder)}


def test_batches_of_boxes(tmp_path: pathlib.Path) -> None:
    listed = detected(tmp_path, [flat(BOXES), flat(BOXES[:1]), flat(BOXES[1:])])
    for source in (listed, {"path_imgrec": str(tmp_path / "x.rec")}):
        batches = image.ImageDetIter(2, (3, HEIGHT, WIDTH), **source)
        assert batches.label_shape == (2, 5) and batches.provide_label == [("label", (2, 2, 5))]
        found = list(batches)
        assert [batch.pad for batch in found] == [0, 1]
        numpy.testing.assert_array_equal(found[0].label[0].asnumpy()[0], BOXES)
        numpy.testing.assert_array_equal(found[0].label[0].asnumpy()[1], [BOXES[0], [-1] * 5])
        numpy.testing.assert_array_equal(found[0].data[0].asnumpy()[0].transpose(1, 2, 0), picture())
    other = image.ImageDetIter(
        1, (3, 20, 20), imglist=[[*flat(numpy.concatenate([BOXES] * 2)), "x.png"]], path_root=str(tmp_path)
    )
    assert batches.sync_label_shape(other) is other
    assert batches.label_shape == other.label_shape == (4, 5)
    batches.reset()
    assert batches.next().label[0].shape == (2, 4, 5)
    batches.reshape((3, 10, 12))
    assert batches.provide_data == [("data", (2, 3, 10, 12))]
    with pytest.raises(ValueError, match=r"labels of shape \(4, 5\) do not fit in \(3, 5\)"):
        batches.reshape(label_shape=(3, 5))
    (drawing,) = other.draw_next(color=(255, 0, 0))
    assert drawing.shape == (20, 20, 3) and drawing.dtype == numpy.uint8
    assert (drawing == (255, 0, 0)).all(-1).sum() > 30


def test_broken_labels_are_named(tmp_path: pathlib.Path) -> None:
    for label in (
        [2, 5, 1, 0.1],
        [2, 4, *range(8)],
        [1, 5, *range(5)],
        [2, 5, *range(9)],
        [2, 5, 0, 0.5, 0.5, 0.4, 0.6],
    ):
        with pytest.raises(ValueError, match=r"ImageDetIter: x.png: (a label has|no object has)"):
            image.ImageDetIter(1, (3, 20, 20), **detected(tmp_path, [label]))
    mixed = [flat(BOXES), [2, 6, 0, 0.1, 0.1, 0.5, 0.5, 9]]
    with pytest.raises(ValueError, match=r"objects of 5 and of 6 numbers, x\.png"):
        image.ImageDetIter(1, (3, 20, 20), **detected(tmp_path, mixed))
    with pytest.raises(ValueError, match="there are no images"):
        image.ImageDetIter(1, (3, 20, 20), imglist=[])
