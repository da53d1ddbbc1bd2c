"""Transforms that move pixels. Sizes are (width, height), or one number for both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from forerun import npx
from forerun.gluon.block import Block
from forerun.gluon.data import _host
from forerun.gluon.data._host import Host
from forerun.gluon.data.vision.transforms.combining import appended
from forerun.gluon.hybrid import HybridBlock

__all__ = [
    "CenterCrop",
    "CropResize",
    "RandomCrop",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomResizedCrop",
    "RandomRotation",
    "Resize",
    "Rotate",
]


def _pair(op: str, size: int | Sequence[int]) -> tuple[int, int]:
    """Return a width and a height."""
    found = tuple(size) if isinstance(size, Sequence) else (size, size)
    if len(found) != 2 or min(found) < 1:
        raise ValueError(f"{op}: size must be a positive number or two, (width, height), got {size}")
    return int(found[0]), int(found[1])


class Resize(HybridBlock):
    """A change of the size.

    Parameters
    ----------
    size
        The new size: (width, height), or one number.
    keep_ratio
        Whether one number is the length of the shorter side, and the other side follows from the image.
    interpolation
        OpenCV's methods: 0 takes the nearest pixel, 1 interpolates linearly, 2 cubically, 3 averages areas, 4 uses
        Lanczos' window.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.Resize(2, keep_ratio=True)(np.zeros((4, 6, 3))).shape
    (2, 3, 3)
    """

    def __init__(self, size: int | Sequence[int], keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._arguments = size, keep_ratio, interpolation

    def forward(self, x: Any, *more: Any) -> Any:
        """Resize an image or a batch, and pass on other arguments."""
        return appended(npx.image.resize(x, *self._arguments), more)


class CropResize(HybridBlock):
    """A fixed part of an image, resized if a size is given.

    Parameters
    ----------
    x, y
        The left and the top pixel.
    width, height
        The extents of the part.
    size
        The new size: (width, height), or one number.
    interpolation
        As for :class:`Resize`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.CropResize(1, 0, 2, 3)(np.zeros((4, 6, 3))).shape
    (3, 2, 3)
    """

    def __init__(
        self,
        x: int,
        y: int,
        width: int,
        height: int,
        size: int | Sequence[int] | None = None,
        interpolation: int | None = None,
    ) -> None:
        super().__init__()
        self._part = x, y, width, height
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def forward(self, x: Any, *more: Any) -> Any:
        """Cut an image or a batch, and pass on other arguments."""
        part = npx.image.crop(x, *self._part)
        if self._size:
            part = npx.image.resize(part, self._size, False, self._interpolation)
        return appended(part, more)


class _Crop(HybridBlock):
    """A part of the wanted size; from smaller images the largest part of the same proportions, resized."""

    # The limits of the place, as shares of the room that there is.
    _limits = 0.0, 1.0

    def __init__(self, size: int | Sequence[int], interpolation: int = 1) -> None:
        super().__init__()
        self._size = _pair(type(self).__name__, size)
        self._interpolation = interpolation

    def forward(self, x: Any, *more: Any) -> Any:
        """Cut an image or a batch, and pass on other arguments."""
        x = self._padded(x)
        return appended(npx.image.random_crop(x, self._limits, self._limits, *self._size, self._interpolation), more)

    def _on_host(self, x: Host) -> Any:
        x = self._padded(x)
        (width, height), (rows, columns) = self._size, x.shape[:2]
        if rows < height or columns < width:
            return npx.image.random_crop(_host.shown(x), self._limits, self._limits, width, height, self._interpolation)
        left, top = self._corner(columns - width), self._corner(rows - height)
        return x[top : top + height, left : left + width]

    def _padded(self, x: Any) -> Any:
        return x

    def _corner(self, room: int) -> int:
        low, high = self._limits
        share = low if low == high else _host.generator().uniform(low, high)
        return int(share * room)


class CenterCrop(_Crop):
    """The middle of an image.

    Parameters
    ----------
    size
        The size of the part: (width, height), or one number. From smaller images the largest part of these proportions
        is cut and resized.
    interpolation
        As for :class:`Resize`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.CenterCrop((2, 1))(np.arange(16).reshape(4, 4, 1)).reshape(-1)
    array([5, 6])
    """

    _limits = 0.5, 0.5


class RandomCrop(_Crop):
    """A part of an image at a random place.

    Parameters
    ----------
    size
        The size of the part: (width, height), or one number. From smaller images the largest part of these proportions
        is cut and resized.
    pad
        How many pixels to add at each side first; or four numbers: at the top, the bottom, the left and the right.
    pad_value
        The value of these pixels.
    interpolation
        As for :class:`Resize`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomCrop(32, pad=4)(np.zeros((32, 32, 3), dtype="uint8")).shape
    (32, 32, 3)
    """

    def __init__(
        self,
        size: int | Sequence[int],
        pad: int | Sequence[int] | None = None,
        pad_value: float = 0,
        interpolation: int = 1,
    ) -> None:
        super().__init__(size, interpolation)
        pads = () if pad is None else (pad,) * 4 if isinstance(pad, int) else tuple(pad)
        if len(pads) not in (0, 4):
            raise ValueError(f"RandomCrop: pad must be a number or four: top, bottom, left and right, got {pad}")
        self._pads = pads
        self._pad_value = pad_value

    def _padded(self, x: Any) -> Any:
        if not self._pads:
            return x
        top, bottom, left, right = self._pads
        if type(x) is Host:
            rows, columns, channels = x.shape
            wide = numpy.full((top + rows + bottom, left + columns + right, channels), self._pad_value, x.dtype)
            wide[top : top + rows, left : left + columns] = x
            return wide.view(Host)
        from forerun import np

        pads = [*[(0, 0)] * (x.ndim - 3), (top, bottom), (left, right), (0, 0)]
        return np.pad(x, pads, mode="constant", constant_values=self._pad_value)


class RandomResizedCrop(HybridBlock):
    """A part of random place, area and proportions, resized.

    Parameters
    ----------
    size
        The size of the result: (width, height), or one number.
    scale
        The least and the largest area of the part, as shares of the image's; one number is the least.
    ratio
        The least and the largest quotient of its width and height.
    interpolation
        As for :class:`Resize`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomResizedCrop(4)(np.zeros((6, 8, 3), dtype="uint8")).shape
    (4, 4, 3)
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: float | Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._size = _pair("RandomResizedCrop", size)
        self._scale = tuple(scale) if isinstance(scale, Sequence) else (scale, 1.0)
        self._ratio = tuple(ratio)
        self._interpolation = interpolation

    def forward(self, x: Any, *more: Any) -> Any:
        """Cut and resize an image or a batch, and pass on other arguments."""
        made = npx.image.random_resized_crop(x, *self._size, self._scale, self._ratio, self._interpolation)
        return appended(made, more)


class _Flip(HybridBlock):
    """A mirror image, with probability ``p``."""

    _axis: int
    _flip: Callable[..., Any]
    _random: Callable[..., Any]

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Any, *more: Any) -> Any:
        """Mirror an image or a batch or not, and pass on other arguments."""
        kind = type(self)
        if self.p <= 0:
            return appended(x, more)
        return appended(kind._flip(x) if self.p >= 1 else kind._random(x, self.p), more)

    def _on_host(self, x: Host) -> Any:
        if self.p < 1 and (self.p <= 0 or _host.generator().random_sample() >= self.p):
            return x
        return x[::-1] if self._axis == 0 else x[:, ::-1]


class RandomFlipLeftRight(_Flip):
    """An image mirrored at a vertical line with probability ``p``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomFlipLeftRight(p=1)(np.arange(2).reshape(1, 2, 1)).reshape(-1)
    array([1, 0])
    """

    _axis = 1
    _flip = staticmethod(npx.image.flip_left_right)
    _random = staticmethod(npx.image.random_flip_left_right)


class RandomFlipTopBottom(_Flip):
    """An image mirrored at a horizontal line with probability ``p``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomFlipTopBottom(p=1)(np.arange(2).reshape(2, 1, 1)).reshape(-1)
    array([1, 0])
    """

    _axis = 0
    _flip = staticmethod(npx.image.flip_top_bottom)
    _random = staticmethod(npx.image.random_flip_top_bottom)


class Rotate(Block):
    """A rotation by fixed degrees, counterclockwise, of float32 images with channels first. The size is kept.

    Parameters
    ----------
    rotation_degrees
        The angle.
    zoom_in
        Whether to zoom in until no pixel from outside the image is visible.
    zoom_out
        Whether to zoom out until the whole image is visible.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.Rotate(90)(np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]])).round()
    array([[[0., 1., 0.],
            [0., 0., 0.],
            [0., 0., 0.]]])
    """

    def __init__(self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False) -> None:
        super().__init__()
        self._arguments = rotation_degrees, zoom_in, zoom_out

    def forward(self, x: Any, *more: Any) -> Any:
        """Rotate an image or a batch, and pass on other arguments."""
        from forerun import image

        return appended(image.imrotate(_float(x, "Rotate"), *self._arguments), more)


class RandomRotation(Block):
    """A rotation by a random angle of float32 images with channels first. The size is kept.

    Parameters
    ----------
    angle_limits
        The least and the largest angle, in degrees.
    zoom_in, zoom_out
        As for :class:`Rotate`.
    rotate_with_proba
        The probability of a rotation.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomRotation((-10, 10))(np.zeros((3, 4, 6))).shape
    (3, 4, 6)
    """

    def __init__(
        self,
        angle_limits: Sequence[float],
        zoom_in: bool = False,
        zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ) -> None:
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise ValueError(f"RandomRotation: angle_limits must be in order, got {tuple(angle_limits)}")
        if not 0 <= rotate_with_proba <= 1:
            raise ValueError(f"RandomRotation: rotate_with_proba must be between 0 and 1, got {rotate_with_proba}")
        self._limits = float(lower), float(upper)
        self._zooms = zoom_in, zoom_out
        self._p = rotate_with_proba

    def forward(self, x: Any, *more: Any) -> Any:
        """Rotate an image, or each of a batch by an angle of its own, and pass on other arguments."""
        from forerun import image, np

        generator = _host.generator()
        if generator.random_sample() >= self._p:
            return appended(x, more)
        x = _float(x, "RandomRotation")
        angles = generator.uniform(*self._limits, size=len(x) if x.ndim == 4 else None)
        degrees = np.array(angles, dtype="float32", device=x.device) if x.ndim == 4 else float(angles)
        return appended(image.imrotate(x, degrees, *self._zooms), more)


def _float(x: Any, op: str) -> Any:
    from forerun import np

    x = np.asarray(x)
    if x.dtype != np.float32:
        raise TypeError(f"{op}: needs float32 images with channels first, as from ToTensor, got {x.dtype}")
    return x
