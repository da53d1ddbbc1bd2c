"""Augmenters: objects that change an image, by fixed or random amounts, and can be described as text.

Random choices are Python's: ``random.seed`` repeats them. Colours range from 0 to 255.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from typing import Any, ClassVar

from forerun import _forerun
from forerun._convert import floating, to_array
from forerun._forerun import ndarray
from forerun._types import ArrayLike, DTypeLike
from forerun.image.functions import (
    Size,
    center_crop,
    color_normalize,
    imresize,
    random_crop,
    random_size_crop,
    resize_short,
)

__all__ = [
    "Augmenter",
    "BrightnessJitterAug",
    "CastAug",
    "CenterCropAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "CreateAugmenter",
    "ForceResizeAug",
    "HorizontalFlipAug",
    "HueJitterAug",
    "LightingAug",
    "RandomCropAug",
    "RandomGrayAug",
    "RandomOrderAug",
    "RandomSizedCropAug",
    "ResizeAug",
    "SaturationJitterAug",
    "SequentialAug",
]

# Shares of red, green and blue in the brightness.
_GRAY = (0.299, 0.587, 0.114)
# Means and deviations of the colours of ImageNet, and their principal components with variances.
MEAN = (123.68, 116.28, 103.53)
STD = (58.395, 57.12, 57.375)
VARIANCES = (55.46, 4.794, 1.148)
COMPONENTS = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))


class Described:
    """An object that can be described by its name and its arguments."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {name: value.tolist() if hasattr(value, "tolist") else value for name, value in kwargs.items()}

    def dumps(self) -> Any:
        """Return a description: the name and the arguments as JSON.

        Examples
        --------
        >>> from forerun import image
        >>> image.ResizeAug(4).dumps()
        '["resizeaug", {"size": 4, "interp": 2}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])


class Augmenter(Described):
    """The base class of augmenters: a subclass defines ``__call__``.

    Examples
    --------
    >>> from forerun import image, np
    >>> class Inverted(image.Augmenter):
    ...     def __call__(self, src):
    ...         return 255 - src
    >>> Inverted()(np.zeros((1, 1, 1))).item()
    255.0
    """

    def __call__(self, src: ndarray) -> ndarray:
        """Return the changed image."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__")


class SequentialAug(Augmenter):
    """Applies augmenters one after another.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.SequentialAug([image.ResizeAug(4), image.CenterCropAug((2, 2))])(np.zeros((8, 9, 3))).shape
    (2, 2, 3)
    """

    def __init__(self, ts: Sequence[Augmenter]) -> None:
        super().__init__()
        self.ts = list(ts)

    def dumps(self) -> Any:
        """Return a list: the name, and the descriptions of the augmenters."""
        return [type(self).__name__.lower(), [each.dumps() for each in self.ts]]

    def __call__(self, src: ndarray) -> ndarray:
        """Return the changed image."""
        for each in self.ts:
            src = each(src)
        return src


class RandomOrderAug(SequentialAug):
    """Applies augmenters in a random order.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.RandomOrderAug([image.CastAug(), image.ResizeAug(4)])(np.zeros((8, 9, 3))).shape
    (4, 4, 3)
    """

    def __call__(self, src: ndarray) -> ndarray:
        """Return the changed image."""
        for each in random.sample(self.ts, len(self.ts)):
            src = each(src)
        return src


class ResizeAug(Augmenter):
    """Resizes the shorter side: see :func:`resize_short`.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.ResizeAug(4)(np.zeros((8, 16, 3))).shape
    (4, 8, 3)
    """

    def __init__(self, size: int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: ndarray) -> ndarray:
        """Return the resized image."""
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(Augmenter):
    """Resizes to a width and height: see :func:`imresize`.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.ForceResizeAug((4, 5))(np.zeros((8, 16, 3))).shape
    (5, 4, 3)
    """

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: ndarray) -> ndarray:
        """Return the resized image."""
        return imresize(src, self.size[0], self.size[1], self.interp)


class RandomCropAug(Augmenter):
    """Cuts out a rectangle at a random place: see :func:`random_crop`.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.RandomCropAug((4, 5))(np.zeros((8, 16, 3))).shape
    (5, 4, 3)
    """

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: ndarray) -> ndarray:
        """Return the rectangle."""
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """Cuts out a rectangle of random area and proportion: see :func:`random_size_crop`.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.RandomSizedCropAug((4, 5), 0.5, (0.75, 1.33))(np.zeros((8, 16, 3))).shape
    (5, 4, 3)
    """

    def __init__(
        self,
        size: Size,
        area: float | Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interp: int = 2,
        min_area: float | None = None,
    ) -> None:
        area = area if min_area is None else min_area
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size, self.area, self.ratio, self.interp = size, area, ratio, interp

    def __call__(self, src: ndarray) -> ndarray:
        """Return the resized rectangle."""
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(Augmenter):
    """Cuts a rectangle out of the middle: see :func:`center_crop`.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.CenterCropAug((4, 5))(np.zeros((8, 16, 3))).shape
    (5, 4, 3)
    """

    def __init__(self, size: Size, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: ndarray) -> ndarray:
        """Return the rectangle."""
        return center_crop(src, self.size, self.interp)[0]


def _factor(amount: float) -> float:
    return 1.0 + random.uniform(-amount, amount)


def _gray(x: ndarray) -> ndarray:
    return (x * to_array(_GRAY, x.dtype, x.device)).sum(-1, keepdims=True)


class BrightnessJitterAug(Augmenter):
    """Multiplies colours by a random factor between 1 minus and 1 plus an amount.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.BrightnessJitterAug(0.0)(np.ones((1, 1, 3))).reshape(-1)
    array([1., 1., 1.])
    """

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: ndarray) -> ndarray:
        """Return the changed image."""
        return floating(src) * _factor(self.brightness)


class ContrastJitterAug(Augmenter):
    """Multiplies differences from the mean brightness by a random factor between 1 minus and 1 plus an amount.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.ContrastJitterAug(0.5)(np.full((1, 1, 3), 8.0)).round(3).reshape(-1)
    array([8., 8., 8.])
    """

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast

    def __call__(self, src: ndarray) -> ndarray:
        """Return the changed image."""
        x, alpha = floating(src), _factor(self.contrast)
        return x * alpha + _gray(x).mean() * (1.0 - alpha)


class SaturationJitterAug(Augmenter):
    """Multiplies differences from the brightness by a random factor between 1 minus and 1 plus an amount.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.SaturationJitterAug(0.5)(np.full((1, 1, 3), 8.0)).round(3).reshape(-1)
    array([8., 8., 8.])
    """

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation

    def __call__(self, src: ndarray) -> ndarray:
        """Return the changed image."""
        x, alpha = floating(src), _factor(self.saturation)
        return x * alpha + _gray(x) * (1.0 - alpha)


class HueJitterAug(Augmenter):
    """Turns the hue by a random angle: a linear map of the colours, which keeps brightness.

    Parameters
    ----------
    hue
        The largest angle, where 1 is half a turn.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.HueJitterAug(0.0)(np.full((1, 1, 3), 8.0)).round(1).reshape(-1)
    array([8., 8., 8.])
    """

    # From red, green and blue to brightness and two colour coordinates (YIQ), and back.
    tyiq: ClassVar = ((0.299, 0.587, 0.114), (0.596, -0.274, -0.321), (0.211, -0.523, 0.311))
    ityiq: ClassVar = ((1.0, 0.956, 0.621), (1.0, -0.272, -0.647), (1.0, -1.107, 1.705))

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue

    def __call__(self, src: ndarray) -> ndarray:
        """Return the changed image."""
        angle = random.uniform(-self.hue, self.hue) * math.pi
        turn = ((1.0, 0.0, 0.0), (0.0, math.cos(angle), -math.sin(angle)), (0.0, math.sin(angle), math.cos(angle)))
        x = floating(src)
        forth, middle, back = (to_array(matrix, x.dtype, x.device) for matrix in (self.tyiq, turn, self.ityiq))
        return _forerun.matmul(x, (back @ middle @ forth).T)


class ColorJitterAug(RandomOrderAug):
    """Changes brightness, contrast and saturation in a random order; an amount of 0 leaves out a change.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.ColorJitterAug(0.1, 0.2, 0.3)(np.ones((2, 2, 3))).shape
    (2, 2, 3)
    """

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        changes: list[Augmenter] = []
        if brightness > 0:
            changes.append(BrightnessJitterAug(brightness))
        if contrast > 0:
            changes.append(ContrastJitterAug(contrast))
        if saturation > 0:
            changes.append(SaturationJitterAug(saturation))
        super().__init__(changes)


class LightingAug(Augmenter):
    """Adds random multiples of the principal components of colours.

    Parameters
    ----------
    alphastd
        The deviation of the multiples.
    eigval, eigvec
        The variances of the components, and a matrix with the components as columns.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.LightingAug(0.0, [1.0, 1.0, 1.0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])(np.ones((1, 1, 3))).reshape(-1)
    array([1., 1., 1.])
    """

    def __init__(self, alphastd: float, eigval: ArrayLike, eigvec: ArrayLike) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def __call__(self, src: ndarray) -> ndarray:
        """Return the changed image."""
        x = floating(src)
        alpha = to_array([random.gauss(0.0, self.alphastd) for _ in range(3)], x.dtype, x.device)
        vectors, values = to_array(self.eigvec, x.dtype, x.device), to_array(self.eigval, x.dtype, x.device)
        return x + _forerun.matmul(vectors * alpha, values)


class ColorNormalizeAug(Augmenter):
    """Subtracts a mean and divides by a deviation: see :func:`color_normalize`.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.ColorNormalizeAug([1.0, 1.0, 1.0], [2.0, 2.0, 2.0])(np.full((1, 1, 3), 5.0)).reshape(-1)
    array([2., 2., 2.])
    """

    def __init__(self, mean: ArrayLike | None, std: ArrayLike | None) -> None:
        super().__init__(mean=mean, std=std)
        self.mean = None if mean is None else to_array(mean)
        self.std = None if std is None else to_array(std)

    def __call__(self, src: ndarray) -> ndarray:
        """Return the changed image."""
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Makes an image gray with a probability; it keeps three channels.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.RandomGrayAug(1.0)(np.array([[[100.0, 0.0, 0.0]]])).reshape(-1)
    array([21., 21., 21.])
    """

    shares: ClassVar = ((0.21, 0.21, 0.21), (0.72, 0.72, 0.72), (0.07, 0.07, 0.07))

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: ndarray) -> ndarray:
        """Return the image, or its brightness."""
        if random.random() >= self.p:
            return src
        x = floating(src)
        return _forerun.matmul(x, to_array(self.shares, x.dtype, x.device))


class HorizontalFlipAug(Augmenter):
    """Mirrors an image at a vertical line with a probability.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.HorizontalFlipAug(1.0)(np.arange(3.0).reshape(1, 3, 1)).reshape(-1)
    array([2., 1., 0.])
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: ndarray) -> ndarray:
        """Return the image, or its mirror image."""
        return _forerun.flip(src, 1) if random.random() < self.p else src


class CastAug(Augmenter):
    """Converts an image to a dtype.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.CastAug()(np.ones((1, 1, 3), dtype="uint8")).dtype
    dtype('float32')
    """

    def __init__(self, typ: DTypeLike = "float32") -> None:
        super().__init__(type=str(typ))
        self.typ = typ

    def __call__(self, src: ndarray) -> ndarray:
        """Return the image in the dtype."""
        return src.astype(self.typ)


def CreateAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: ArrayLike | bool | None = None,
    std: ArrayLike | bool | None = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """Make a list of augmenters for training.

    Parameters
    ----------
    data_shape
        The shape of an image that is fed to a network: (channels, height, width).
    resize
        The shorter side is resized to this length first, if not 0.
    rand_crop
        Whether to cut at random places, instead of out of the middle.
    rand_resize
        Whether to cut rectangles of random areas and proportions; needs ``rand_crop``.
    rand_mirror
        Whether to mirror every second image.
    mean, std
        The mean and deviation of each channel; ``True`` for ImageNet's.
    brightness, contrast, saturation, hue, pca_noise
        Amounts of changes of colours; 0 for none.
    rand_gray
        The probability of a gray image.
    inter_method
        How images are resized: see :func:`imresize`.

    Examples
    --------
    >>> from forerun import image, np
    >>> augmenters = image.CreateAugmenter((3, 4, 4), resize=6, rand_mirror=True, mean=True, std=True)
    >>> image.SequentialAug(augmenters)(np.zeros((12, 9, 3), dtype="uint8")).shape
    (4, 4, 3)
    """
    made: list[Augmenter] = []
    if resize > 0:
        made.append(ResizeAug(resize, inter_method))
    size = (data_shape[2], data_shape[1])
    if rand_resize:
        if not rand_crop:
            raise ValueError("CreateAugmenter: rand_resize needs rand_crop")
        made.append(RandomSizedCropAug(size, 0.08, (3 / 4, 4 / 3), inter_method))
    elif rand_crop:
        made.append(RandomCropAug(size, inter_method))
    else:
        made.append(CenterCropAug(size, inter_method))
    if rand_mirror:
        made.append(HorizontalFlipAug(0.5))
    return made + colour_changes(mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray)


def colour_changes(
    mean: ArrayLike | bool | None,
    std: ArrayLike | bool | None,
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    pca_noise: float,
    rand_gray: float,
) -> list[Augmenter]:
    """Make the augmenters that convert an image to floats and change its colours."""
    made: list[Augmenter] = [CastAug()]
    if brightness or contrast or saturation:
        made.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        made.append(HueJitterAug(hue))
    if pca_noise > 0:
        made.append(LightingAug(pca_noise, VARIANCES, COMPONENTS))
    if rand_gray > 0:
        made.append(RandomGrayAug(rand_gray))
    if mean is not None or std is not None:
        made.append(ColorNormalizeAug(MEAN if mean is True else mean, STD if std is True else std))
    return made
