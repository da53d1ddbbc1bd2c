"""Sizes, crops, borders, rotations and colours of one image.

Random choices are Python's: ``random.seed`` repeats them.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import floating, to_array
from forerun._forerun import float32, ndarray
from forerun._npx_image import _stored as _like
from forerun._npx_image import scaled_down
from forerun._pointwise import abs as absolute
from forerun._pointwise import cos, maximum, sin
from forerun._resampling import AREA, CUBIC, LINEAR, resized
from forerun._sampling import bilinear_sampler
from forerun._types import ArrayLike

__all__ = [
    "center_crop",
    "color_normalize",
    "copyMakeBorder",
    "fixed_crop",
    "imresize",
    "imrotate",
    "random_crop",
    "random_rotate",
    "random_size_crop",
    "resize_short",
    "scale_down",
]

Size = Sequence[SupportsIndex]
# What a crop returns besides the image: left, top, width, height.
Rectangle = tuple[int, int, int, int]

# OpenCV's kinds of borders, with NumPy's names.
_BORDERS = ("constant", "edge", "symmetric", "wrap", "reflect")
# A flag of OpenCV, which concerns images that are parts of others.
_ISOLATED = 16


def _image(op: str, src: ArrayLike) -> ndarray:
    x = to_array(src)
    if x.ndim != 3 or 0 in x.shape:
        raise ValueError(f"{op}: needs an image of shape (height, width, channels), got {x.shape}")
    return x


def _pair(op: str, size: Size | SupportsIndex) -> tuple[int, int]:
    pair = (index(size),) * 2 if isinstance(size, SupportsIndex) else tuple(map(index, size))
    if len(pair) != 2 or min(pair) < 1:
        raise ValueError(f"{op}: size must be a width and a height, got {size}")
    return pair[0], pair[1]


def _method(interp: int, old: tuple[int, int], new: tuple[int, int]) -> int:
    """Return one of OpenCV's methods; 9 chooses by the sizes (width, height), 10 at random."""
    if interp == 9:
        if new[0] > old[0] and new[1] > old[1]:
            return CUBIC
        return AREA if new[0] < old[0] and new[1] < old[1] else LINEAR
    if interp == 10:
        return random.randint(0, 4)
    if interp not in range(5):
        raise ValueError(f"interp must be between 0 and 4, 9 or 10, not {interp}")
    return interp


def imresize(
    src: ArrayLike, w: SupportsIndex, h: SupportsIndex, interp: int = 1, out: ndarray | None = None
) -> ndarray:
    """Resize an image.

    Parameters
    ----------
    src
        Pixels of shape (height, width, channels).
    w, h
        The new width and height.
    interp
        The method: 0 takes the nearest pixel, 1 interpolates linearly, 2 by cubic polynomials, 3 averages the area of a
        pixel, 4 uses Lanczos' window over 8 pixels. 9 is 2 for enlarging, 3 for shrinking and 1 for both at once; 10
        draws one of the five.
    out
        An array to write to.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.imresize(np.array([[[10], [30]]], dtype="uint8"), w=4, h=1).reshape(-1)
    array([10, 15, 25, 30], dtype=uint8)
    """
    x = _image("imresize", src)
    wide, high = _pair("imresize", (w, h))
    method = _method(interp, (x.shape[1], x.shape[0]), (wide, high))
    made = _like(resized(x, high, wide, method), x)
    if out is None:
        return made
    out[:] = made
    return out


def scale_down(src_size: Size, size: Size) -> tuple[int, int]:
    """Reduce a width and a height to an image's, keeping their proportion.

    Examples
    --------
    >>> from forerun import image
    >>> image.scale_down((640, 480), (720, 120))
    (640, 106)
    """
    return scaled_down(_pair("scale_down", src_size), _pair("scale_down", size))


def resize_short(src: ArrayLike, size: SupportsIndex, interp: int = 2) -> ndarray:
    """Resize an image so that its shorter side has a length; for ``interp`` see :func:`imresize`.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.resize_short(np.zeros((4, 6, 3)), 2).shape
    (2, 3, 3)
    """
    x = _image("resize_short", src)
    short, (height, width) = index(size), x.shape[:2]
    if height > width:
        return imresize(x, short, max(short * height // width, 1), interp)
    return imresize(x, max(short * width // height, 1), short, interp)


def fixed_crop(
    src: ArrayLike,
    x0: SupportsIndex,
    y0: SupportsIndex,
    w: SupportsIndex,
    h: SupportsIndex,
    size: Size | None = None,
    interp: int = 2,
) -> ndarray:
    """Cut a rectangle out of an image, and resize it.

    Parameters
    ----------
    src
        Pixels of shape (height, width, channels).
    x0, y0, w, h
        The left and top pixel of the rectangle, its width and its height.
    size
        The width and height of the result, if not the rectangle's.
    interp
        See :func:`imresize`.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.fixed_crop(np.arange(12).reshape(3, 4, 1), 1, 0, 2, 2).reshape(-1)
    array([1, 2, 5, 6])
    """
    x = _image("fixed_crop", src)
    left, top, (width, height) = index(x0), index(y0), _pair("fixed_crop", (w, h))
    if min(left, top) < 0 or left + width > x.shape[1] or top + height > x.shape[0]:
        raise ValueError(f"fixed_crop: {width} x {height} pixels from ({left}, {top}) are not within shape {x.shape}")
    made = x[top : top + height, left : left + width]
    if size is None or _pair("fixed_crop", size) == (width, height):
        return made
    return imresize(made, *_pair("fixed_crop", size), interp)


def random_crop(src: ArrayLike, size: Size, interp: int = 2) -> tuple[ndarray, Rectangle]:
    """Cut a rectangle of a width and height out of an image at a random place; a smaller image is enlarged.

    Returns
    -------
    tuple
        The image, and left, top, width and height of the rectangle.

    Examples
    --------
    >>> from forerun import image, np
    >>> made, (x, y, width, height) = image.random_crop(np.zeros((4, 6, 3)), (3, 2))
    >>> made.shape, width, height
    ((2, 3, 3), 3, 2)
    """
    x = _image("random_crop", src)
    height, width = x.shape[:2]
    across, down = scale_down((width, height), size)
    left, top = random.randint(0, width - across), random.randint(0, height - down)
    return fixed_crop(x, left, top, across, down, size, interp), (left, top, across, down)


def center_crop(src: ArrayLike, size: Size, interp: int = 2) -> tuple[ndarray, Rectangle]:
    """Cut a rectangle of a width and height out of the middle of an image; a smaller image is enlarged.

    Returns
    -------
    tuple
        The image, and left, top, width and height of the rectangle.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.center_crop(np.zeros((4, 6, 3)), (2, 2))[1]
    (2, 1, 2, 2)
    """
    x = _image("center_crop", src)
    height, width = x.shape[:2]
    across, down = scale_down((width, height), size)
    left, top = (width - across) // 2, (height - down) // 2
    return fixed_crop(x, left, top, across, down, size, interp), (left, top, across, down)


def random_size_crop(
    src: ArrayLike,
    size: Size,
    area: float | Sequence[float] = (0.08, 1.0),
    ratio: Sequence[float] = (3 / 4, 4 / 3),
    interp: int = 2,
    min_area: float | None = None,
) -> tuple[ndarray, Rectangle]:
    """Cut a rectangle of random area and proportion out of an image, and resize it.

    Parameters
    ----------
    src
        Pixels of shape (height, width, channels).
    size
        The width and height of the result.
    area
        The least and the largest area, as shares of the image's; one number is the least.
    ratio
        The least and the largest quotient of width and height; its logarithm is drawn.
    interp
        See :func:`imresize`.
    min_area
        The former name of ``area``.

    Returns
    -------
    tuple
        The image, and left, top, width and height of the rectangle. If none of ten drawn fits, the middle is taken.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.random_size_crop(np.zeros((4, 6, 3)), (3, 3), 0.5)[0].shape
    (3, 3, 3)
    """
    x = _image("random_size_crop", src)
    height, width = x.shape[:2]
    if min_area is not None:
        warnings.warn("random_size_crop: min_area is now named area", DeprecationWarning, stacklevel=2)
        area = min_area
    low, high = (float(area), 1.0) if isinstance(area, (int, float)) else map(float, area)
    narrow, broad = map(math.log, ratio)
    for _ in range(10):
        pixels = random.uniform(low, high) * height * width
        quotient = math.exp(random.uniform(narrow, broad))
        across, down = round(math.sqrt(pixels * quotient)), round(math.sqrt(pixels / quotient))
        if 0 < across <= width and 0 < down <= height:
            left, top = random.randint(0, width - across), random.randint(0, height - down)
            return fixed_crop(x, left, top, across, down, size, interp), (left, top, across, down)
    return center_crop(x, size, interp)


def copyMakeBorder(
    src: ArrayLike,
    top: SupportsIndex,
    bot: SupportsIndex,
    left: SupportsIndex,
    right: SupportsIndex,
    type: SupportsIndex = 0,
    value: float = 0.0,
    values: Sequence[float] | float = (),
    out: ndarray | None = None,
) -> ndarray:
    """Surround an image with a border.

    Parameters
    ----------
    src
        Pixels of shape (height, width, channels).
    top, bot, left, right
        The widths of the border.
    type
        The kind, with OpenCV's number: 0 for a constant, 1 for copies of the outermost pixels, 2 for a mirrored image,
        3 for the opposite side, 4 for a mirrored image without a repeated outermost pixel.
    value
        The constant.
    values
        The constant of each channel, instead of ``value``.
    out
        An array to write to.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.copyMakeBorder(np.array([[[1], [2]]]), 0, 0, 2, 1, type=1).reshape(-1)
    array([1, 1, 1, 2, 2])
    """
    from forerun.np import pad

    x = _image("copyMakeBorder", src)
    kind = index(type) & ~_ISOLATED
    if kind not in range(len(_BORDERS)):
        raise ValueError(f"copyMakeBorder: type must be between 0 and 4, not {type}")
    widths = ((index(top), index(bot)), (index(left), index(right)), (0, 0))
    if min(map(min, widths)) < 0:
        raise ValueError(f"copyMakeBorder: a border must not be negative, got {widths[:2]}")
    colour = [float(each) for each in values] if isinstance(values, Sequence) else [float(values)]
    if kind or len(set(colour)) < 2:
        made = pad(x, widths, _BORDERS[kind], **({} if kind else {"constant_values": [*colour, value][0]}))
    else:
        channels = to_array(colour[: x.shape[2]], None, x.device).astype(x.dtype, copy=False)
        extents = [extent + sum(width) for extent, width in zip(x.shape, widths, strict=True)]
        made = _forerun.broadcast_to(channels, extents).copy()
        made[widths[0][0] : extents[0] - widths[0][1], widths[1][0] : extents[1] - widths[1][1]] = x
    if out is None:
        return made
    out[:] = made
    return out


def color_normalize(src: ArrayLike, mean: ArrayLike | None, std: ArrayLike | None = None) -> ndarray:
    """Subtract a mean and divide by a deviation, each one number per channel.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.color_normalize(np.ones((1, 1, 3)), np.array([1, 0, -1]), np.array(2.0)).reshape(-1)
    array([0. , 0.5, 1. ])
    """
    x = floating(to_array(src))
    if mean is not None:
        x = x - to_array(mean, None, x.device).astype(x.dtype, copy=False)
    if std is not None:
        x = x / to_array(std, None, x.device).astype(x.dtype, copy=False)
    return x


def imrotate(
    src: ArrayLike, rotation_degrees: float | ArrayLike, zoom_in: bool = False, zoom_out: bool = False
) -> ndarray:
    """Rotate images around their middle. What comes from outside an image is 0.

    Parameters
    ----------
    src
        Pixels of dtype float32, of shape (channels, height, width) or (batch, channels, height, width).
    rotation_degrees
        The angle; for a batch, one angle or an angle for each image.
    zoom_in
        Enlarge the result until it shows nothing from outside the image.
    zoom_out
        Shrink the result until it shows the whole image.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.imrotate(np.array([[[1.0, 2.0], [3.0, 4.0]]]), 180).round(3)
    array([[[4., 3.],
            [2., 1.]]])
    """
    if zoom_in and zoom_out:
        raise ValueError("imrotate: zoom_in and zoom_out exclude each other")
    x = to_array(src)
    if x.dtype != float32:
        raise TypeError(f"imrotate: needs float32 pixels, got {x.dtype}")
    if x.ndim not in (3, 4):
        raise ValueError(f"imrotate: needs shape (channels, height, width) or a batch, got {x.shape}")
    degrees = to_array(rotation_degrees, None, x.device).astype(float32, copy=False)
    if x.ndim == 3:
        if degrees.ndim:
            raise TypeError(f"imrotate: one image is rotated by one angle, got shape {degrees.shape}")
        return imrotate(x[None], degrees, zoom_in, zoom_out)[0]
    if degrees.ndim > 1 or (degrees.ndim == 1 and degrees.shape != x.shape[:1]):
        raise ValueError(f"imrotate: {x.shape[0]} images are rotated by as many angles, got shape {degrees.shape}")
    angles = (degrees * (math.pi / 180)).reshape(-1, 1, 1)
    height, width = x.shape[2:]
    half_height, half_width = (height - 1) / 2, (width - 1) / 2
    across = (_forerun.arange(0, width, 1, float32, x.device) - half_width).reshape(1, 1, width)
    down = (_forerun.arange(0, height, 1, float32, x.device) - half_height).reshape(1, height, 1)
    cosine, sine = cos(angles), sin(angles)
    # Places are scaled after the rotation, from -1 to 1 on each axis.
    columns = (across * cosine - down * sine) / (half_width or 1)
    rows = (across * sine + down * cosine) / (half_height or 1)
    if zoom_in or zoom_out:
        # How far the corners of a rotated image reach.
        reach_x = absolute(cosine) + absolute(sine) * (height / width)
        reach_y = absolute(cosine) + absolute(sine) * (width / height)
        reach = maximum(reach_x, reach_y)
        scale = reach if zoom_out else 1 / reach
        columns, rows = columns * scale, rows * scale
    shape = (x.shape[0], height, width)
    grid = _forerun.stack([_forerun.broadcast_to(lines, shape) for lines in (columns, rows)], 1)
    return bilinear_sampler(x, grid)


def random_rotate(
    src: ArrayLike, angle_limits: Sequence[float], zoom_in: bool = False, zoom_out: bool = False
) -> ndarray:
    """Rotate images by random angles; for the arguments see :func:`imrotate`.

    Examples
    --------
    >>> from forerun import image, np
    >>> image.random_rotate(np.zeros((1, 4, 4)), (-10, 10)).shape
    (1, 4, 4)
    """
    x = to_array(src)
    low, high = map(float, angle_limits)
    if x.ndim != 4:
        return imrotate(x, random.uniform(low, high), zoom_in, zoom_out)
    return imrotate(x, [random.uniform(low, high) for _ in range(x.shape[0])], zoom_in, zoom_out)
