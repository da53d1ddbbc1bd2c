"""Functions on images of shape (height, width, channels) or batches of them: ``npx.image``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import floating, to_array
from forerun._forerun import float32, ndarray
from forerun._pointwise import abs as absolute
from forerun._pointwise import equal, exp, floor, less, less_equal, maximum, minimum, rint, sqrt, where
from forerun._resampling import resampled, resized, taps
from forerun._types import ArrayLike
from forerun.np.random import normal, uniform

__all__ = [
    "adjust_lighting",
    "crop",
    "flip_left_right",
    "flip_top_bottom",
    "normalize",
    "random_brightness",
    "random_color_jitter",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_top_bottom",
    "random_hue",
    "random_lighting",
    "random_resized_crop",
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
        OpenCV's methods: 0 takes the nearest pixel, 1 interpolates linearly, 2 by cubic polynomials, 3 averages the
        area of a pixel, 4 interpolates with Lanczos' window over 8 pixels.

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
    return _stored(resized(x, high, wide, _method("resize", interp)), x)


def _method(op: str, interp: SupportsIndex) -> int:
    if index(interp) not in range(5):
        raise ValueError(f"{op}: interp must be between 0 and 4, not {interp}")
    return index(interp)


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
    return _lighter(x, _factor("random_brightness", x, min_factor, max_factor))


def _lighter(x: ndarray, factor: ndarray) -> ndarray:
    return _stored(floating(x) * factor, x)


def random_contrast(data: ArrayLike, min_factor: float, max_factor: float) -> ndarray:
    """Multiply the differences of colours from the mean brightness of their image by a random factor.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.random_contrast(np.ones((1, 1, 3)), 0.5, 2.0).reshape(-1)
    array([1., 1., 1.])
    """
    x = _image("random_contrast", data, 3)
    return _contrasted(x, _factor("random_contrast", x, min_factor, max_factor))


def _contrasted(x: ndarray, factor: ndarray) -> ndarray:
    colours = floating(x)
    mean = _gray(colours).mean((-3, -2), keepdims=True)
    return _stored(mean + (colours - mean) * factor, x)


def random_saturation(data: ArrayLike, min_factor: float, max_factor: float) -> ndarray:
    """Multiply the differences of colours from their brightness by a random factor.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.random_saturation(np.ones((1, 1, 3)), 0.5, 2.0).reshape(-1)
    array([1., 1., 1.])
    """
    x = _image("random_saturation", data, 3)
    return _saturated(x, _factor("random_saturation", x, min_factor, max_factor))


def _saturated(x: ndarray, factor: ndarray) -> ndarray:
    colours = floating(x)
    gray = _gray(colours)
    return _stored(gray + (colours - gray) * factor, x)


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


def random_hue(data: ArrayLike, min_factor: float, max_factor: float) -> ndarray:
    """Turn the hue of colours by a random part of the circle: 0 and 1 leave them as they are.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.random_hue(np.array([[[9.0, 5.0, 1.0]]]), 0.5, 0.5).reshape(-1)
    array([1., 5., 9.])
    """
    x = _image("random_hue", data, 3)
    return _turned(x, _factor("random_hue", x, min_factor, max_factor))


def _turned(x: ndarray, turn: ndarray) -> ndarray:
    """Turn hues by a part of the circle. The largest and the smallest channel keep their values."""
    colours = floating(x)
    red, green, blue = (colours[..., channel] for channel in range(3))
    high, low = colours.max(-1), colours.min(-1)
    spread = high - low
    unit = where(equal(spread, 0), 1, spread)
    # Hues from 0 to 6: red is at 0, green at 2, blue at 4.
    after_red = where(equal(high, green), (blue - red) / unit + 2, (red - green) / unit + 4)
    hue = where(equal(high, red), (green - blue) / unit, after_red) + turn.astype(colours.dtype) * 6
    hue = hue - floor(hue / 6) * 6
    shares = (absolute(hue - 3) - 1, 2 - absolute(hue - 2), 2 - absolute(hue - 4))
    made = [low + spread * minimum(maximum(share, 0), 1) for share in shares]
    return _stored(_forerun.stack(made, -1), x)


def random_color_jitter(
    data: ArrayLike, brightness: float = 0.0, contrast: float = 0.0, saturation: float = 0.0, hue: float = 0.0
) -> ndarray:
    """Change brightness, contrast, saturation and hue by random amounts, in a random order.

    Parameters
    ----------
    data
        Images of shape (height, width, 3), or a batch of them.
    brightness, contrast, saturation
        The factors are between 1 minus and 1 plus this number; 0 leaves images as they are.
    hue
        The part of the circle by which hues are turned at most, in either direction.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.random_color_jitter(np.ones((2, 2, 3)), brightness=0.5, hue=0.1).shape
    (2, 2, 3)
    """
    x = _image("random_color_jitter", data, 3)
    changes = []
    for change, amount in ((_lighter, brightness), (_contrasted, contrast), (_saturated, saturation), (_turned, hue)):
        if amount < 0:
            raise ValueError(f"random_color_jitter: amounts must not be negative, got {amount}")
        if amount:
            around = 0.0 if change is _turned else 1.0
            changes.append((change, uniform(around - amount, around + amount, size=(), device=x.device)))
    # Each step computes what remains to be chosen from, because the order is not known yet.
    order = uniform(size=(len(changes),), device=x.device).argsort()
    for step in range(len(changes)):
        candidates = [change(x, factor) for change, factor in changes]
        for number, candidate in enumerate(candidates[1:], 1):
            candidates[0] = where(equal(order[step], number), candidate, candidates[0])
        x = candidates[0]
    return x


def _chosen(op: str, random: ndarray, room: ndarray | int, limits: Sequence[float]) -> ndarray:
    """Return whole random numbers between shares of ``room``."""
    low, high = map(float, limits)
    if not 0 <= low <= high <= 1:
        raise ValueError(f"{op}: {low} to {high} is not an interval within 0 and 1")
    return floor((random * (high - low) + low) * room)


def random_crop(
    data: ArrayLike,
    xrange: Sequence[float] = (0.0, 1.0),
    yrange: Sequence[float] = (0.0, 1.0),
    width: SupportsIndex = 1,
    height: SupportsIndex = 1,
    interp: SupportsIndex = 1,
) -> ndarray:
    """Cut a rectangle out of images at a random place, the same for a whole batch.

    Parameters
    ----------
    data
        Images of shape (height, width, channels), or a batch of them.
    xrange, yrange
        The place is between these shares of the room that the rectangle has: (0.5, 0.5) is the middle.
    width, height
        The extents of the rectangle. From images that are smaller, the largest rectangle of these proportions is cut
        and resized.
    interp
        As for :func:`resize`.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.arange(12.0).reshape(3, 4, 1)
    >>> npx.image.random_crop(x, (1, 1), (1, 1), width=2, height=1).reshape(-1)
    array([10., 11.])
    """
    x = _image("random_crop", data)
    rows, columns = x.shape[-3:-1]
    wide, high = index(width), index(height)
    if min(wide, high) < 1 or 0 in (rows, columns):
        raise ValueError(f"random_crop: cannot cut {wide} x {high} pixels out of shape {x.shape}")
    method = _method("random_crop", interp)
    across, down = scaled_down((columns, rows), (wide, high))
    draws = uniform(size=(2,), dtype="float64", device=x.device)
    made = x
    lines = ((x.ndim - 3, rows, down, draws[1], yrange), (x.ndim - 2, columns, across, draws[0], xrange))
    for axis, extent, part, draw, limits in lines:
        begin = _chosen("random_crop", draw, extent - part, limits)
        made = resampled(made, axis, (begin + _forerun.arange(0, part, 1, "float64", x.device)).reshape(1, part), None)
    return _stored(resized(made, high, wide, method), x)


def scaled_down(size: tuple[int, int], wanted: tuple[int, int]) -> tuple[int, int]:
    """Reduce a width and a height, with their proportion, to at most ``size``."""
    (columns, rows), (width, height) = size, wanted
    across, down = float(width), float(height)
    if rows < down:
        across, down = across * rows / down, float(rows)
    if columns < across:
        across, down = float(columns), down * columns / across
    return max(int(across), 1), max(int(down), 1)


def random_resized_crop(
    data: ArrayLike,
    width: SupportsIndex = 1,
    height: SupportsIndex = 1,
    area: Sequence[float] = (0.08, 1.0),
    ratio: Sequence[float] = (3 / 4, 4 / 3),
    interp: SupportsIndex = 1,
    max_trial: SupportsIndex = 10,
) -> ndarray:
    """Cut a rectangle of random place, area and proportion out of images, and resize it; the same for a whole batch.

    Parameters
    ----------
    data
        Images of shape (height, width, channels), or a batch of them.
    width, height
        The extents of the result.
    area
        The least and the largest area, as shares of the image's.
    ratio
        The least and the largest quotient of width and height; its logarithm is drawn.
    interp
        As for :func:`resize`.
    max_trial
        The number of rectangles drawn. If none fits in the image, the largest rectangle in the middle with the
        proportion of the result is taken.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.image.random_resized_crop(np.ones((6, 8, 3)), width=2, height=3).shape
    (3, 2, 3)
    """
    op = "random_resized_crop"
    x = _image(op, data)
    rows, columns = x.shape[-3:-1]
    wide, high, trials = index(width), index(height), index(max_trial)
    if min(wide, high) < 1 or 0 in (rows, columns):
        raise ValueError(f"{op}: cannot make {wide} x {high} pixels of shape {x.shape}")
    least, most, narrow, broad = *map(float, area), *map(float, ratio)
    if not 0 < least <= most or not 0 < narrow <= broad or trials < 0:
        raise ValueError(
            f"{op}: area {area}, ratio {ratio} and max_trial {trials} must be positive intervals and a count"
        )
    method = _method(op, interp)
    draws = uniform(size=(4, trials), dtype="float64", device=x.device)
    pixels = (draws[0] * (most - least) + least) * (rows * columns)
    ratios = exp(draws[1] * math.log(broad / narrow) + math.log(narrow))
    across, down = maximum(rint(sqrt(pixels * ratios)), 1), maximum(rint(sqrt(pixels / ratios)), 1)
    fits = less_equal(across, columns) & less_equal(down, rows)
    # The last candidate always fits: the one in the middle.
    middle = scaled_down((columns, rows), (wide, high))
    sizes = []
    for found, last in ((across, middle[0]), (down, middle[1])):
        sizes.append(_forerun.concatenate([found, to_array([float(last)], "float64", x.device)], 0))
    first = _forerun.concatenate([fits, to_array([True], None, x.device)], 0).argmax()
    shares = _forerun.concatenate([draws[2:], to_array([[0.5], [0.5]], "float64", x.device)], 1)
    made = x
    from forerun import np

    lines = ((x.ndim - 3, rows, high, sizes[1], shares[1]), (x.ndim - 2, columns, wide, sizes[0], shares[0]))
    for axis, extent, new, lengths, places in lines:
        length = _forerun.take(lengths, first)
        begin = _chosen(op, _forerun.take(places, first), extent - length, (0.0, 1.0))
        made = resampled(made, axis, *taps(np, method, new, begin, length, extent, device=x.device))
    return _stored(made, x)
