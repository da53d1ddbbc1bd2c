"""Augmenters for object detection: they change an image and the boxes of its objects.

The label of an image is a NumPy array with a row for each object: a class, then left, top, right and bottom as shares
of the image, then anything else. Random choices are Python's: ``random.seed`` repeats them.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from forerun import _forerun
from forerun._forerun import ndarray
from forerun._types import ArrayLike
from forerun.image.augmenters import Augmenter, Described, ForceResizeAug, ResizeAug, colour_changes
from forerun.image.functions import copyMakeBorder, fixed_crop

if TYPE_CHECKING:
    import numpy

    Label = numpy.ndarray

__all__ = [
    "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter",
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
]

Range = Sequence[float] | float


class DetAugmenter(Described):
    """The base class of augmenters for detection: a subclass defines ``__call__``.

    Examples
    --------
    >>> import numpy
    >>> from forerun import image, np
    >>> class Same(image.DetAugmenter):
    ...     def __call__(self, src, label):
    ...         return src, label
    >>> Same()(np.zeros((2, 2, 3)), numpy.zeros((1, 5)))[1].shape
    (1, 5)
    """

    def __call__(self, src: ndarray, label: Label) -> tuple[ndarray, Label]:
        """Return the changed image and label."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__")


class DetBorrowAug(DetAugmenter):
    """Applies an augmenter that moves no pixel, or stretches the whole image.

    Examples
    --------
    >>> import numpy
    >>> from forerun import image, np
    >>> image.DetBorrowAug(image.ForceResizeAug((4, 4)))(np.zeros((2, 2, 3)), numpy.zeros((1, 5)))[0].shape
    (4, 4, 3)
    """

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            raise TypeError(f"DetBorrowAug: needs an Augmenter, got {type(augmenter).__name__}")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Any:
        """Return a list: the name, and the description of the augmenter."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: ndarray, label: Label) -> tuple[ndarray, Label]:
        """Return the changed image and the label."""
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """Applies one of several augmenters, or none with a probability.

    Examples
    --------
    >>> import numpy
    >>> from forerun import image, np
    >>> flip = image.DetHorizontalFlipAug(1.0)
    >>> image.DetRandomSelectAug([flip])(np.zeros((2, 2, 3)), numpy.array([[0, 0.25, 0, 0.5, 1]]))[1].tolist()
    [[0.0, 0.5, 0.0, 0.75, 1.0]]
    """

    def __init__(self, aug_list: Sequence[DetAugmenter] | DetAugmenter, skip_prob: float = 0) -> None:
        super().__init__(skip_prob=skip_prob)
        self.aug_list = [aug_list] if isinstance(aug_list, DetAugmenter) else list(aug_list)
        for each in self.aug_list:
            if not isinstance(each, DetAugmenter):
                raise ValueError(f"DetRandomSelectAug: needs DetAugmenters, got {type(each).__name__}")
        self.skip_prob = skip_prob if self.aug_list else 1

    def dumps(self) -> Any:
        """Return a list: the name, and the descriptions of the augmenters."""
        return [type(self).__name__.lower(), [each.dumps() for each in self.aug_list]]

    def __call__(self, src: ndarray, label: Label) -> tuple[ndarray, Label]:
        """Return the changed image and label."""
        if random.random() < self.skip_prob:
            return src, label
        return random.choice(self.aug_list)(src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Mirrors an image and its boxes at a vertical line with a probability.

    Examples
    --------
    >>> import numpy
    >>> from forerun import image, np
    >>> image.DetHorizontalFlipAug(1.0)(np.zeros((2, 2, 3)), numpy.array([[0, 0.25, 0, 0.5, 1]]))[1].tolist()
    [[0.0, 0.5, 0.0, 0.75, 1.0]]
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: ndarray, label: Label) -> tuple[ndarray, Label]:
        """Return the image and label, or their mirror images."""
        if random.random() >= self.p:
            return src, label
        mirrored = label.copy()
        mirrored[:, 1], mirrored[:, 3] = 1.0 - label[:, 3], 1.0 - label[:, 1]
        return _forerun.flip(src, 1), mirrored


def _interval(name: str, value: Range) -> tuple[float, float]:
    pair = (value, value) if isinstance(value, (int, float)) else tuple(value)
    if len(pair) != 2:
        raise ValueError(f"{name} must be two numbers, not {value}")
    return float(pair[0]), float(pair[1])


def _areas(boxes: Label) -> Label:
    import numpy

    made: Label = numpy.maximum(0, boxes[:, 2] - boxes[:, 0]) * numpy.maximum(0, boxes[:, 3] - boxes[:, 1])
    return made


class DetRandomCropAug(DetAugmenter):
    """Cuts out a random rectangle that covers enough of the objects.

    Parameters
    ----------
    min_object_covered
        The share that the rectangle must cover of each object that it touches.
    aspect_ratio_range
        The least and the largest quotient of width and height.
    area_range
        The least and the largest area, as shares of the image's.
    min_eject_coverage
        An object of which a smaller share is covered is left out.
    max_attempts
        The number of rectangles drawn. If none fits, the image stays as it is.

    Examples
    --------
    >>> import numpy
    >>> from forerun import image, np
    >>> crop = image.DetRandomCropAug(area_range=(0.5, 0.9))
    >>> crop(np.zeros((20, 20, 3)), numpy.array([[0, 0.25, 0.25, 0.75, 0.75]]))[1].shape
    (1, 5)
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: Range = (0.75, 1.33),
        area_range: Range = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ) -> None:
        ratios, areas = _interval("aspect_ratio_range", aspect_ratio_range), _interval("area_range", area_range)
        super().__init__(
            min_object_covered=min_object_covered,
            aspect_ratio_range=ratios,
            area_range=areas,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )
        self.min_object_covered, self.min_eject_coverage = min_object_covered, min_eject_coverage
        self.aspect_ratio_range, self.area_range, self.max_attempts = ratios, areas, max_attempts
        self.enabled = 0 < ratios[0] <= ratios[1] and areas[0] <= areas[1] and areas[1] > 0
        if not self.enabled:
            text = f"DetRandomCropAug: has no effect with area_range {areas} and aspect_ratio_range {ratios}"
            warnings.warn(text, stacklevel=2)

    def __call__(self, src: ndarray, label: Label) -> tuple[ndarray, Label]:
        """Return the rectangle and the label within it."""
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            size = self._size(height, width)
            if size is None:
                continue
            across, down = size
            top, left = random.randint(0, height - down), random.randint(0, width - across)
            shares = (left / width, top / height, across / width, down / height)
            if across * down >= 2 and self._covers(label, shares, height * width):
                kept = self._within(label, shares)
                if len(kept):
                    return fixed_crop(src, left, top, across, down), kept
        return src, label

    def _size(self, height: int, width: int) -> tuple[int, int] | None:
        """Draw a width and a height."""
        least, most = (share * height * width for share in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        low, high = round(math.sqrt(least / ratio)), round(math.sqrt(most / ratio))
        high = min(high, height, int((width + 0.4999999) / ratio))
        down = random.randint(min(low, high), high)
        # Rounding must not leave the range.
        for change in (0, 1, -1):
            across = round((down + change) * ratio)
            if least <= across * (down + change) <= most and 0 < across <= width and 0 < down + change <= height:
                return across, down + change
        return None

    def _covers(self, label: Label, shares: tuple[float, ...], pixels: int) -> bool:
        """Return whether a rectangle covers enough of the objects that it touches, of more than two pixels."""
        import numpy

        left, top, across, down = shares
        boxes = label[:, 1:5]
        areas = _areas(boxes)
        boxes, areas = boxes[areas * pixels > 2], areas[areas * pixels > 2]
        low = numpy.maximum(boxes[:, :2], (left, top))
        high = numpy.minimum(boxes[:, 2:], (left + across, top + down))
        covered = _areas(numpy.concatenate([low, high], 1)) / areas
        covered = covered[covered > 0]
        return bool(covered.size) and bool(covered.min() > self.min_object_covered)

    def _within(self, label: Label, shares: tuple[float, ...]) -> Label:
        """Return the objects within a rectangle, as shares of it."""
        import numpy

        left, top, across, down = shares
        made = label.copy()
        made[:, (1, 3)] = numpy.clip((label[:, (1, 3)] - left) / across, 0, 1)
        made[:, (2, 4)] = numpy.clip((label[:, (2, 4)] - top) / down, 0, 1)
        areas = _areas(label[:, 1:5])
        covered = _areas(made[:, 1:5]) * across * down > self.min_eject_coverage * areas
        kept: Label = made[covered & (made[:, 3] > made[:, 1]) & (made[:, 4] > made[:, 2])]
        return kept


class DetRandomPadAug(DetAugmenter):
    """Surrounds an image with a border of random extents.

    Parameters
    ----------
    aspect_ratio_range
        The least and the largest quotient of width and height of the result.
    area_range
        The least and the largest area of the result, in areas of the image.
    max_attempts
        The number of sizes drawn. If none fits, the image stays as it is.
    pad_val
        The colour of the border.

    Examples
    --------
    >>> import numpy
    >>> from forerun import image, np
    >>> pad = image.DetRandomPadAug((1.0, 1.0), (4.0, 4.0))
    >>> made, label = pad(np.zeros((8, 8, 3)), numpy.array([[0, 0, 0, 1, 1]], dtype="float32"))
    >>> made.shape, float(label[0, 3] - label[0, 1])
    ((16, 16, 3), 0.5)
    """

    def __init__(
        self,
        aspect_ratio_range: Range = (0.75, 1.33),
        area_range: Range = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Range = (128, 128, 128),
    ) -> None:
        ratios, areas = _interval("aspect_ratio_range", aspect_ratio_range), _interval("area_range", area_range)
        super().__init__(aspect_ratio_range=ratios, area_range=areas, max_attempts=max_attempts, pad_val=pad_val)
        self.pad_val, self.max_attempts = pad_val, max_attempts
        self.aspect_ratio_range, self.area_range = ratios, areas
        self.enabled = 0 < ratios[0] <= ratios[1] and areas[0] <= areas[1] and areas[1] > 1
        if not self.enabled:
            text = f"DetRandomPadAug: has no effect with area_range {areas} and aspect_ratio_range {ratios}"
            warnings.warn(text, stacklevel=2)

    def __call__(self, src: ndarray, label: Label) -> tuple[ndarray, Label]:
        """Return the image with its border, and the label within both."""
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled else 0):
            least, most = (share * height * width for share in self.area_range)
            ratio = random.uniform(*self.aspect_ratio_range)
            high = round(math.sqrt(most / ratio))
            low = max(round(math.sqrt(least / ratio)), height, math.ceil((width - 0.5) / ratio))
            down = random.randint(min(low, high), high)
            across = round(down * ratio)
            # A border of a pixel is not worth a copy.
            if down - height < 2 or across - width < 2:
                continue
            top, left = random.randint(0, down - height), random.randint(0, across - width)
            made = label.copy()
            made[:, (1, 3)] = (label[:, (1, 3)] * width + left) / across
            made[:, (2, 4)] = (label[:, (2, 4)] * height + top) / down
            edges = (top, down - top - height, left, across - left - width)
            return copyMakeBorder(src, *edges, 0, values=self.pad_val), made
        return src, label


def CreateMultiRandCropAugmenter(
    min_object_covered: float | list[float] = 0.1,
    aspect_ratio_range: Range | list[Any] = (0.75, 1.33),
    area_range: Range | list[Any] = (0.05, 1.0),
    min_eject_coverage: float | list[float] = 0.3,
    max_attempts: int | list[int] = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """Make an augmenter that applies one of several :class:`DetRandomCropAug`.

    Each argument is a list with an element for each of them, or one value for all.

    Examples
    --------
    >>> from forerun import image
    >>> len(image.CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5, 0.9]).aug_list)
    3
    """
    given = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
    lists = [each if isinstance(each, list) else [each] for each in given]
    count = max(map(len, lists))
    for each in lists:
        if len(each) not in (1, count):
            raise ValueError(f"CreateMultiRandCropAugmenter: a list has {len(each)} elements, another {count}")
    aligned = [each * (count // len(each)) for each in lists]
    return DetRandomSelectAug([DetRandomCropAug(*each) for each in zip(*aligned, strict=True)], skip_prob)


def CreateDetAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: ArrayLike | bool | None = None,
    std: ArrayLike | bool | None = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: float | list[float] = 0.1,
    aspect_ratio_range: Range | list[Any] = (0.75, 1.33),
    area_range: Range | list[Any] = (0.05, 3.0),
    min_eject_coverage: float | list[float] = 0.3,
    max_attempts: int | list[int] = 50,
    pad_val: Range = (127, 127, 127),
) -> list[DetAugmenter]:
    """Make a list of augmenters for training a detector.

    Parameters
    ----------
    data_shape
        The shape of an image that is fed to a network: (channels, height, width).
    resize
        The shorter side is resized to this length first, if not 0.
    rand_crop, rand_pad, rand_gray
        The probabilities of cutting out a rectangle, of a border, and of a gray image.
    rand_mirror
        Whether to mirror every second image.
    mean, std
        The mean and deviation of each channel; ``True`` for ImageNet's.
    brightness, contrast, saturation, pca_noise, hue
        Amounts of changes of colours; 0 for none.
    inter_method
        How images are resized: see :func:`imresize`.
    min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts
        For the rectangles: see :func:`CreateMultiRandCropAugmenter`. The border has the same proportions, and an area
        between 1 and the end of ``area_range``.
    pad_val
        The colour of the border.

    Examples
    --------
    >>> from forerun import image
    >>> [type(each).__name__ for each in image.CreateDetAugmenter((3, 8, 8), rand_mirror=True)]
    ['DetHorizontalFlipAug', 'DetBorrowAug', 'DetBorrowAug']
    """
    made: list[DetAugmenter] = []
    if resize > 0:
        made.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    cropping: tuple[Any, Any, Any, Any, Any] = (
        min_object_covered,
        aspect_ratio_range,
        area_range,
        min_eject_coverage,
        max_attempts,
    )
    if rand_crop > 0:
        made.append(CreateMultiRandCropAugmenter(*cropping, 1 - rand_crop))
    if rand_mirror:
        made.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        ratios, areas, attempts = (each[0] if isinstance(each, list) else each for each in cropping[1:3] + cropping[4:])
        pad = DetRandomPadAug(ratios, (1.0, _interval("area_range", areas)[1]), attempts, pad_val)
        made.append(DetRandomSelectAug([pad], 1 - rand_pad))
    changes = colour_changes(mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray)
    size = (data_shape[2], data_shape[1])
    return made + [DetBorrowAug(each) for each in (ForceResizeAug(size, inter_method), *changes)]
