"""Transforms of colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from forerun import np, npx
from forerun._forerun import ndarray
from forerun.gluon.data._host import Host, plain
from forerun.gluon.data.vision.transforms.combining import appended
from forerun.gluon.hybrid import HybridBlock

__all__ = [
    "Normalize",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomGray",
    "RandomHue",
    "RandomLighting",
    "RandomSaturation",
    "ToTensor",
]


class ToTensor(HybridBlock):
    """Floats from 0 to 1, with channels first, of images with values from 0 to 255 and channels last.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.ToTensor()(np.full((1, 2, 3), 255, dtype="uint8")).shape
    (3, 1, 2)
    """

    def forward(self, x: Any, *more: Any) -> Any:
        """Convert an image or a batch, and pass on other arguments."""
        return appended(npx.image.to_tensor(x), more)

    _elementwise = True

    def _on_host(self, x: Host) -> Any:
        return numpy.divide(plain(x).transpose(2, 0, 1), 255, dtype=numpy.float32).view(Host)


class Normalize(HybridBlock):
    """Subtract a mean and divide by a deviation, for each channel of images with channels first.

    Parameters
    ----------
    mean, std
        Numbers for all channels, or one per channel.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.Normalize(mean=1, std=2)(np.array([[[5.0]]]))
    array([[[2.]]])
    """

    def __init__(self, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0) -> None:
        super().__init__()
        self._mean = mean
        self._std = std

    def forward(self, x: Any, *more: Any) -> Any:
        """Normalize an image or a batch, and pass on other arguments."""
        return appended(npx.image.normalize(x, self._mean, self._std), more)

    _elementwise = True


class _Factor(HybridBlock):
    """A change by a random factor around 1."""

    _change: Callable[..., ndarray]

    def __init__(self, amount: float) -> None:
        super().__init__()
        if amount < 0:
            raise ValueError(f"{type(self).__name__}: the amount must not be negative, got {amount}")
        self._limits = max(0, 1 - amount), 1 + amount

    def forward(self, x: Any, *more: Any) -> Any:
        """Change an image or a batch, and pass on other arguments."""
        return appended(type(self)._change(x, *self._limits), more)


class RandomBrightness(_Factor):
    """Multiply colours by a random factor between ``1 - brightness`` and ``1 + brightness``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomBrightness(0)(np.ones((1, 1, 3))).reshape(-1)
    array([1., 1., 1.])
    """

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness)

    _change = staticmethod(npx.image.random_brightness)


class RandomContrast(_Factor):
    """Change the contrast by a random factor between ``1 - contrast`` and ``1 + contrast``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomContrast(0)(np.ones((1, 1, 3))).reshape(-1)
    array([1., 1., 1.])
    """

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast)

    _change = staticmethod(npx.image.random_contrast)


class RandomSaturation(_Factor):
    """Change the saturation by a random factor between ``1 - saturation`` and ``1 + saturation``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomSaturation(0)(np.ones((1, 1, 3))).reshape(-1)
    array([1., 1., 1.])
    """

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation)

    _change = staticmethod(npx.image.random_saturation)


class RandomHue(_Factor):
    """Turn the hue by a random part of the circle between ``-hue`` and ``hue``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomHue(0)(np.array([[[9.0, 5.0, 1.0]]])).reshape(-1)
    array([9., 5., 1.])
    """

    def __init__(self, hue: float) -> None:
        super().__init__(hue)

    _change = staticmethod(npx.image.random_hue)


class RandomColorJitter(HybridBlock):
    """Change brightness, contrast, saturation and hue by random amounts, in a random order.

    Parameters
    ----------
    brightness, contrast, saturation
        The factors are between 1 minus and 1 plus this number.
    hue
        The part of the circle by which hues are turned at most, in either direction.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomColorJitter(0.1, 0.1, 0.1, 0.1)(np.ones((2, 2, 3), dtype="uint8")).shape
    (2, 2, 3)
    """

    def __init__(
        self, brightness: float = 0.0, contrast: float = 0.0, saturation: float = 0.0, hue: float = 0.0
    ) -> None:
        super().__init__()
        self._amounts = brightness, contrast, saturation, hue

    def forward(self, x: Any, *more: Any) -> Any:
        """Change an image or a batch, and pass on other arguments."""
        return appended(npx.image.random_color_jitter(x, *self._amounts), more)


class RandomLighting(HybridBlock):
    """Add random multiples of the principal components of the colours of ImageNet.

    Parameters
    ----------
    alpha
        The deviation of the multiples.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomLighting(0.0)(np.ones((1, 1, 3))).reshape(-1)
    array([1., 1., 1.])
    """

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha

    def forward(self, x: Any, *more: Any) -> Any:
        """Change an image or a batch, and pass on other arguments."""
        return appended(npx.image.random_lighting(x, self._alpha), more)


class RandomGray(HybridBlock):
    """Replace colours by their brightness with probability ``p``; the result has three channels and is float32.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.data.vision import transforms
    >>> transforms.RandomGray(1.0)(np.array([[[0, 100, 0]]], dtype="uint8")).reshape(-1)
    array([58.7, 58.7, 58.7])
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Any, *more: Any) -> Any:
        """Change an image or a batch, and pass on other arguments."""
        colours = np.asarray(x).astype("float32")
        if colours.ndim not in (3, 4) or colours.shape[-1] != 3:
            raise ValueError(f"RandomGray: needs images of shape (height, width, 3) or a batch, got {colours.shape}")
        shares = np.array([0.2989, 0.5870, 0.1140], dtype="float32", device=colours.device)
        gray = np.broadcast_to((colours * shares).sum(-1, keepdims=True), colours.shape)
        toss = np.random.uniform(size=(), device=colours.device) < self.p
        return appended(np.where(toss, gray, colours), more)
