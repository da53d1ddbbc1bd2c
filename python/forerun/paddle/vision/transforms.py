"""Transforms of images, NumPy arrays (height, width, channels), with Paddle's names."""

from __future__ import annotations

from typing import Any

from forerun._missing import module_getattr
from forerun.paddle._borrow import take
from forerun.torch.vision import transforms as _transforms

__all__ = ["Compose", "Normalize", "Resize", "ToTensor", "Transpose"]

Compose = _transforms.Compose


class ToTensor:
    """Make a tensor (channels, height, width); bytes become floats between 0 and 1.

    Examples
    --------
    >>> import numpy
    >>> from forerun import paddle
    >>> paddle.vision.transforms.ToTensor()(numpy.full((1, 1, 3), 255, "uint8")).shape
    [3, 1, 1]
    """

    def __init__(self, data_format: str = "CHW") -> None:
        if data_format != "CHW":
            raise ValueError(f"ToTensor: channels come first, not {data_format}")

    def __call__(self, img: Any) -> Any:
        """Convert an image."""
        return take(_transforms.ToTensor()(img))


class Normalize:
    """Subtract a mean from each channel, and divide by a standard deviation.

    Images are (channels, height, width), or (height, width, channels) with ``data_format="HWC"``; arrays stay
    arrays. An array whose last dimension holds the channels is turned for ``"CHW"``.

    Examples
    --------
    >>> import numpy
    >>> from forerun import paddle
    >>> paddle.vision.transforms.Normalize([127.5], [127.5])(numpy.full((1, 2, 2), 255, "uint8")).max()
    np.float32(1.0)
    """

    def __init__(self, mean: Any = 0.0, std: Any = 1.0, data_format: str = "CHW", to_rgb: bool = False) -> None:
        self.mean = [mean] if isinstance(mean, (int, float)) else list(mean)
        self.std = [std] if isinstance(std, (int, float)) else list(std)
        self.data_format = data_format

    def __call__(self, img: Any) -> Any:
        """Normalise an image."""
        from forerun.paddle._functions import to_tensor
        from forerun.paddle._tensor import Tensor

        shape = (-1, 1, 1) if self.data_format == "CHW" else (1, 1, -1)
        if isinstance(img, Tensor):
            low, scale = (to_tensor(value, dtype="float32").reshape(shape) for value in (self.mean, self.std))
            return (img - low) / scale
        import numpy

        pixels = numpy.asarray(img, numpy.float32)
        if self.data_format == "CHW" and pixels.shape[-1] == len(self.mean) != pixels.shape[0]:
            pixels = pixels.transpose(2, 0, 1)
        mean, std = (numpy.asarray(value, numpy.float32).reshape(shape) for value in (self.mean, self.std))
        return (pixels - mean) / std


class Resize:
    """Resize to (height, width), or the shorter side to one number; the result is an array (height, width, channels).

    Examples
    --------
    >>> import numpy
    >>> from forerun import paddle
    >>> paddle.vision.transforms.Resize(4)(numpy.zeros((8, 16, 3), "uint8")).shape
    (4, 8, 3)
    """

    def __init__(self, size: Any, interpolation: str = "bilinear") -> None:
        self._resize = _transforms.Resize(size, interpolation)

    def __call__(self, img: Any) -> Any:
        """Resize an image."""
        return self._resize(img).permute(1, 2, 0).numpy()


class Transpose:
    """Rearrange the dimensions of an image.

    Examples
    --------
    >>> import numpy
    >>> from forerun import paddle
    >>> paddle.vision.transforms.Transpose()(numpy.zeros((2, 4, 3))).shape
    (3, 2, 4)
    """

    def __init__(self, order: Any = (2, 0, 1)) -> None:
        self.order = tuple(order)

    def __call__(self, img: Any) -> Any:
        """Rearrange an image."""
        import numpy

        pixels = numpy.asarray(img)
        return (pixels[..., None] if pixels.ndim == 2 else pixels).transpose(self.order)


__getattr__ = module_getattr(
    __name__, globals(), {"RandomCrop": "forerun.torch.vision.transforms and forerun.gluon.data.vision have more"}
)
