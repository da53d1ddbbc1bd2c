"""Functions on images of shape (height, width, channels) or batches of them: ``npx.image``."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import floating, to_array
from forerun._forerun import float32, int64, ndarray
from forerun._pointwise import floor, less, maximum, minimum, rint, where
from forerun._sampling import resized_axis
from forerun._types import ArrayLike
from forerun.np.random import normal, uniform

__all__ = [
    "adjust_lighting",
    "crop",
    "flip_left_right",
    "flip_top_bottom",
    "normalize",
    "random_brightness",
    "random_contrast",
    "random_flip_left_right",
    "random_flip_top_bottom",
    "random_lighting",
    "random_saturation",
    "resize",
    "to_tensor",
]

# Shares of red, green and blue in the brightness.
_GRAY = (0.299, 0.587, 0.114)
# The principal components of the colours of ImageNet, with their deviations.
_COMPONENTS = (
    (-0.5675 * 55.46, 0.7192 * 4.794, 0.4009 * 1.148),
    (-0.5808 * 55.46, -0.0045 * 4.794, -0.8140 * 1.148),
    (-0.5836 * 55.46, -0.6948 * 4.794, 0.4203 * 1.148),
)


def _image(op: str, data: ArrayLike, channels: int | None = None) -> ndarray:
    x = to_array(data)
    if x.ndim not in (3, 4) or (channels is not None and x.shape[-1] != channels):
        what = "channels" if channels is None else str(channels)
        raise ValueError(f"{op}: needs images of shape (height, width, {what}) or a batch of them, got {x.shape}")
    return x


def _stored(x: ndarray, like: ndarray) -> ndarray:
    """Return colours in the dtype of an image; integers are rounded, and kept within 0 and 255."""
    if like.dtype.kind not in "iu":
        return x.astype(like.dtype, copy=False)
    return rint(minimum(maximum(x, 0), 255)).astype(like.dtype)


def to_tensor(data: ArrayLike) -> ndarray:
    """Convert images to floats from 0 to 1, with channels first.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.to_tensor(np.full((4, 2, 3), 255, dtype="uint8")).shape
    (3, 4, 2)
    """
    x = _image("to_tensor", data)
    last = x.ndim - 1
    return (x.astype(float32) / 255).transpose([*range(last - 2), last, last - 2, last - 1])


def normalize(data: ArrayLike, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0) -> ndarray:
    """Subtract a mean and divide by a deviation, for each channel of images with channels first.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.normalize(np.ones((2, 1, 1)), mean=(0, 1), std=0.5)
    array([[[2.]],
    <BLANKLINE>
           [[0.]]])
    """
    x = floating(to_array(data))
    if x.ndim not in (3, 4):
        raise ValueError(f"normalize: needs images of shape (channels, height, width) or a batch, got {x.shape}")
    numbers = []
    for name, value in (("mean", mean), ("std", std)):
        each = tuple(map(float, value)) if isinstance(value, Sequence) else (float(value),)
        if len(each) not in (1, x.shape[-3]):
            raise ValueError(f"normalize: {name} {value} does not fit the channels of shape {x.shape}")
        numbers.append(to_array(each, x.dtype, x.device).reshape(len(each), 1, 1))
    return (x - numbers[0]) / numbers[1]


def resize(
    data: ArrayLike,
    size: SupportsIndex | Sequence[SupportsIndex],
    keep_ratio: bool = False,
    interp: SupportsIndex = 1,
) -> ndarray:
    """Resize images.

    Parameters
    ----------
    data
        Images of shape (height, width, channels), or a batch of them.
    size
        Width and height of the result; one number for both.
    keep_ratio
        Whether one number is the shorter side, and the other side follows from the images.
    interp
        0: the nearest pixel; 1: bilinear interpolation.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.resize(np.zeros((4, 6, 3)), 2, keep_ratio=True).shape
    (2, 3, 3)
    """
    x = _image("resize", data)
    height, width = x.shape[-3:-1]
    numbers = [index(each) for each in size] if isinstance(size, Sequence) else [index(size)]
    if len(numbers) not in (1, 2) or min(numbers) < 1 or 0 in (height, width):
        raise ValueError(f"resize: cannot resize images of shape {x.shape} to {size}")
    wide, high = numbers * (2 // len(numbers))
    if keep_ratio and len(numbers) == 1:
        short = min(height, width)
        wide, high = width * wide // short, height * high // short
    if index(interp) not in (0, 1):
        raise ValueError(f"resize: interp must be 0 or 1, not {interp}")
    made = x
    for axis, extent in ((x.ndim - 3, high), (x.ndim - 2, wide)):
        old = x.shape[axis]
        if index(interp) == 0:
            steps = floor((_forerun.arange(0, extent, 1, "float64", x.device) + 0.5) * (old / extent))
            made = _forerun.take(made, minimum(steps, old - 1).astype(int64), axis)
        else:
            made = resized_axis(floating(made), axis, extent, align_corners=False)
    return _stored(made, x)


def crop(data: ArrayLike, x: SupportsIndex, y: SupportsIndex, width: SupportsIndex, height: SupportsIndex) -> ndarray:
    """Cut a rectangle out of images: ``x`` and ``y`` are its left and top pixels.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.crop(np.zeros((4, 6, 3)), x=1, y=0, width=2, height=3).shape
    (3, 2, 3)
    """
    image = _image("crop", data)
    left, top, across, down = index(x), index(y), index(width), index(height)
    rows, columns = image.shape[-3:-1]
    if min(left, top) < 0 or min(across, down) < 1 or left + across > columns or top + down > rows:
        raise ValueError(f"crop: {across} x {down} pixels from ({left}, {top}) are not within shape {image.shape}")
    return image[..., top : top + down, left : left + across, :].copy()


def flip_left_right(data: ArrayLike) -> ndarray:
    """Mirror images at a vertical line.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.flip_left_right(np.arange(2.0).reshape(1, 2, 1)).reshape(-1)
    array([1., 0.])
    """
    return _image("flip_left_right", data)[..., ::-1, :].copy()


def flip_top_bottom(data: ArrayLike) -> ndarray:
    """Mirror images at a horizontal line.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.flip_top_bottom(np.arange(2.0).reshape(2, 1, 1)).reshape(-1)
    array([1., 0.])
    """
    return _image("flip_top_bottom", data)[..., ::-1, :, :].copy()


def _tossed(x: ndarray, p: float) -> ndarray:
    return less(uniform(size=(), device=x.device), p)


def random_flip_left_right(data: ArrayLike, p: float = 0.5) -> ndarray:
    """Mirror images at a vertical line with probability ``p``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.random_flip_left_right(np.arange(2.0).reshape(1, 2, 1), p=1.0).reshape(-1)
    array([1., 0.])
    """
    x = _image("random_flip_left_right", data)
    return where(_tossed(x, p), x[..., ::-1, :], x)


def random_flip_top_bottom(data: ArrayLike, p: float = 0.5) -> ndarray:
    """Mirror images at a horizontal line with probability ``p``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.random_flip_top_bottom(np.arange(2.0).reshape(2, 1, 1), p=0.0).reshape(-1)
    array([0., 1.])
    """
    x = _image("random_flip_top_bottom", data)
    return where(_tossed(x, p), x[..., ::-1, :, :], x)


def _factor(op: str, x: ndarray, low: float, high: float) -> ndarray:
    if not 0 <= low <= high:
        raise ValueError(f"{op}: factors from {low} to {high} are not an interval of numbers that are not negative")
    return uniform(low, high, size=(), device=x.device)


def _gray(x: ndarray) -> ndarray:
    """Return the brightness of colours, with one channel."""
    shares = to_array(_GRAY, None, x.device).astype(x.dtype, copy=False)
    return (x * shares).sum(-1, keepdims=True)


def random_brightness(data: ArrayLike, min_factor: float, max_factor: float) -> ndarray:
    """Multiply colours by a random factor.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.random_brightness(np.ones((1, 1, 3)), 2.0, 2.0).reshape(-1)
    array([2., 2., 2.])
    """
    x = _image("random_brightness", data)
    return _stored(floating(x) * _factor("random_brightness", x, min_factor, max_factor), x)


def random_contrast(data: ArrayLike, min_factor: float, max_factor: float) -> ndarray:
    """Multiply the differences of colours from the mean brightness of their image by a random factor.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.random_contrast(np.ones((1, 1, 3)), 0.5, 2.0).reshape(-1)
    array([1., 1., 1.])
    """
    x = _image("random_contrast", data, 3)
    colours = floating(x)
    mean = _gray(colours).mean((-3, -2), keepdims=True)
    return _stored(mean + (colours - mean) * _factor("random_contrast", x, min_factor, max_factor), x)


def random_saturation(data: ArrayLike, min_factor: float, max_factor: float) -> ndarray:
    """Multiply the differences of colours from their brightness by a random factor.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.random_saturation(np.ones((1, 1, 3)), 0.5, 2.0).reshape(-1)
    array([1., 1., 1.])
    """
    x = _image("random_saturation", data, 3)
    colours = floating(x)
    gray = _gray(colours)
    return _stored(gray + (colours - gray) * _factor("random_saturation", x, min_factor, max_factor), x)


def adjust_lighting(data: ArrayLike, alpha: ArrayLike) -> ndarray:
    """Add multiples of the principal components of the colours of ImageNet, which range from 0 to 255.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.adjust_lighting(np.ones((1, 1, 3)), (0.0, 0.0, 0.0)).reshape(-1)
    array([1., 1., 1.])
    """
    x = _image("adjust_lighting", data, 3)
    shares = floating(to_array(alpha, None, x.device))
    if shares.shape != (3,):
        raise ValueError(f"adjust_lighting: alpha must be three numbers, got shape {shares.shape}")
    components = to_array(_COMPONENTS, shares.dtype, x.device)
    return _stored(floating(x) + _forerun.matmul(components, shares), x)


def random_lighting(data: ArrayLike, alpha_std: float = 0.05) -> ndarray:
    """Add random multiples of the principal components of the colours of ImageNet.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.random_lighting(np.ones((2, 2, 3))).shape
    (2, 2, 3)
    """
    x = _image("random_lighting", data, 3)
    return adjust_lighting(x, normal(0.0, alpha_std, size=(3,), device=x.device))
