"""Transforms of images: NumPy arrays (height, width, channels), Pillow's images, and tensors (channels, height, width).

All but ``ToTensor`` turn an array into a tensor of the same dtype first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import _forerun, np
from forerun._missing import module_getattr
from forerun.torch._creation import tensor
from forerun.torch._random import default_generator
from forerun.torch._tensor import Tensor
from forerun.torch.nn import functional as F

__all__ = [
    "CenterCrop", "Compose", "ConvertImageDtype", "Grayscale", "InterpolationMode", "Lambda", "Normalize",
    "PILToTensor", "Pad", "RandomCrop", "RandomHorizontalFlip", "RandomResizedCrop", "RandomVerticalFlip", "Resize",
    "ToTensor",
]  # fmt: skip


class InterpolationMode:
    """The names of ways to resize."""

    NEAREST, BILINEAR = "nearest", "bilinear"


def _pixels(image: Any) -> Any:
    """Return a contiguous NumPy array (channels, height, width)."""
    import numpy

    pixels = numpy.asarray(image)
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3:
        raise ValueError(f"an image must have two or three dimensions, got {pixels.shape}")
    return numpy.ascontiguousarray(pixels.transpose(2, 0, 1))


def _as_tensor(image: Any) -> Tensor:
    return image if isinstance(image, Tensor) else Tensor._of(_forerun.from_numpy(_pixels(image)))


def _pair(size: Any) -> tuple[int, int]:
    return (int(size), int(size)) if isinstance(size, (int, float)) else (int(size[0]), int(size[-1]))


class _Transform:
    def __repr__(self) -> str:
        """Write the options."""
        options = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__}({options})"


class Compose(_Transform):
    """Transforms one after another.

    Examples
    --------
    >>> from forerun.torch.vision import transforms
    >>> transforms.Compose([abs, float])(-2)
    2.0
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        """Apply the transforms."""
        for transform in self.transforms:
            img = transform(img)
        return img


class Lambda(_Transform):
    """A function as a transform.

    Examples
    --------
    >>> from forerun.torch.vision import transforms
    >>> transforms.Lambda(lambda x: x + 1)(1)
    2
    """

    def __init__(self, lambd: Callable[[Any], Any]) -> None:
        if not callable(lambd):
            raise TypeError(f"Lambda: needs a function, not a {type(lambd).__name__}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        """Apply the function."""
        return self.lambd(img)


class ToTensor(_Transform):
    """Make a tensor (channels, height, width); bytes become floats between 0 and 1.

    Examples
    --------
    >>> import numpy
    >>> from forerun.torch.vision import transforms
    >>> transforms.ToTensor()(numpy.full((1, 1, 3), 255, "uint8")).reshape(-1)
    tensor([1., 1., 1.])
    """

    def __call__(self, pic: Any) -> Tensor:
        """Convert an image."""
        import numpy

        if isinstance(pic, Tensor):
            return pic.float() / 255 if pic.dtype.name == "uint8" else pic
        pixels = _pixels(pic)
        if pixels.dtype == numpy.uint8:
            # The image is already on the host, where the division is cheaper than two ops.
            pixels = pixels.astype(numpy.float32) / numpy.float32(255)
        return Tensor._of(_forerun.from_numpy(pixels))


class PILToTensor(_Transform):
    """Make a tensor (channels, height, width) of the same dtype.

    Examples
    --------
    >>> import numpy
    >>> from forerun.torch.vision import transforms
    >>> transforms.PILToTensor()(numpy.zeros((2, 3, 3), "uint8")).shape
    torch.Size([3, 2, 3])
    """

    def __call__(self, pic: Any) -> Tensor:
        """Convert an image."""
        return _as_tensor(pic)


class ConvertImageDtype(_Transform):
    """Convert the dtype and scale the values: bytes run from 0 to 255, floats from 0 to 1.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.vision import transforms
    >>> transforms.ConvertImageDtype(torch.float32)(torch.tensor([255], dtype=torch.uint8))
    tensor([1.])
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __call__(self, image: Any) -> Tensor:
        """Convert an image."""
        given = _as_tensor(image)
        kinds = (given.dtype.kind == "u", _forerun.dtype(self.dtype).kind == "u")
        if kinds == (True, False):
            return given.to(dtype=self.dtype) / 255
        if kinds == (False, True):
            return (given * 255.999).to(dtype=self.dtype)
        return given.to(dtype=self.dtype)


class Normalize(_Transform):
    """Subtract a mean from each channel, and divide by a standard deviation.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.vision import transforms
    >>> transforms.Normalize((0.5,), (0.5,))(torch.ones(1, 1, 1))
    tensor([[[1.]]])
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], inplace: bool = False) -> None:
        self.mean, self.std, self.inplace = mean, std, inplace

    def __call__(self, tensor_: Tensor) -> Tensor:
        """Normalise an image."""
        if not isinstance(tensor_, Tensor) or not tensor_.is_floating_point():
            raise TypeError("Normalize: needs a tensor of floats: use ToTensor first")
        shape = (-1, 1, 1)
        mean, std = (tensor(list(value), dtype=tensor_.dtype).reshape(shape) for value in (self.mean, self.std))
        return (tensor_ - mean) / std


class Resize(_Transform):
    """Resize to (height, width), or the shorter side to one number.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.vision import transforms
    >>> transforms.Resize(4)(torch.ones(3, 8, 16)).shape
    torch.Size([3, 4, 8])
    """

    def __init__(
        self, size: Any, interpolation: str = "bilinear", max_size: None = None, antialias: Any = True
    ) -> None:
        self.size, self.interpolation = size, interpolation

    def __call__(self, img: Any) -> Tensor:
        """Resize an image."""
        given = _as_tensor(img)
        height, width = given.shape[-2:]
        size = self.size if isinstance(self.size, (tuple, list)) and len(self.size) == 2 else None
        if size is None:
            short = self.size if isinstance(self.size, int) else self.size[0]
            scale = short / min(height, width)
            size = (short, int(width * scale)) if height <= width else (int(height * scale), short)
        return resized(given, (int(size[0]), int(size[1])), self.interpolation)


def resized(image: Tensor, size: tuple[int, int], mode: str = "bilinear") -> Tensor:
    """Return a resized image in its dtype."""
    floats = image.float().unsqueeze(0)
    made = F.interpolate(floats, size=size, mode=mode, **({} if mode == "nearest" else {"align_corners": False}))
    made = made.squeeze(0)
    return made if image.is_floating_point() else made.round().to(dtype=image.dtype)


class CenterCrop(_Transform):
    """Cut out the middle.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.vision import transforms
    >>> transforms.CenterCrop(2)(torch.ones(3, 8, 16)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(self, size: Any) -> None:
        self.size = _pair(size)

    def __call__(self, img: Any) -> Tensor:
        """Cut an image."""
        given = _as_tensor(img)
        top, left = ((have - want) // 2 for have, want in zip(given.shape[-2:], self.size, strict=True))
        return given[..., top : top + self.size[0], left : left + self.size[1]]


class Pad(_Transform):
    """Add pixels around an image: one number, two for left and top, or four for left, top, right and bottom.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.vision import transforms
    >>> transforms.Pad(1)(torch.ones(3, 2, 2)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(self, padding: Any, fill: float = 0, padding_mode: str = "constant") -> None:
        self.padding, self.fill, self.padding_mode = padding, fill, padding_mode

    def __call__(self, img: Any) -> Tensor:
        """Pad an image."""
        sides = [self.padding] * 4 if isinstance(self.padding, int) else list(self.padding)
        left, top, right, bottom = sides * 2 if len(sides) == 2 else sides
        modes = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}
        value = self.fill if self.padding_mode == "constant" else None
        return F.pad(_as_tensor(img), (left, right, top, bottom), modes[self.padding_mode], value)


class RandomCrop(_Transform):
    """Cut out a random part.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.vision import transforms
    >>> transforms.RandomCrop(2, padding=1)(torch.ones(3, 4, 4)).shape
    torch.Size([3, 2, 2])
    """

    def __init__(self, size: Any, padding: Any = None) -> None:
        self.size, self.padding = _pair(size), padding

    def __call__(self, img: Any) -> Tensor:
        """Cut an image."""
        given = _as_tensor(img) if self.padding is None else Pad(self.padding)(img)
        room = [have - want for have, want in zip(given.shape[-2:], self.size, strict=True)]
        if min(room) < 0:
            raise ValueError(f"RandomCrop: an image of {tuple(given.shape[-2:])} is smaller than {self.size}")
        top, left = (default_generator.host.randint(0, free) for free in room)
        return given[..., top : top + self.size[0], left : left + self.size[1]]


class RandomResizedCrop(_Transform):
    """Cut out a random part with random proportions, and resize it.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.vision import transforms
    >>> transforms.RandomResizedCrop(4)(torch.ones(3, 9, 9)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        size: Any,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: str = "bilinear",
        antialias: Any = True,
    ) -> None:
        self.size, self.scale, self.ratio, self.interpolation = _pair(size), scale, ratio, interpolation

    def __call__(self, img: Any) -> Tensor:
        """Cut and resize an image."""
        import math

        given = _as_tensor(img)
        host = default_generator.host
        height, width = given.shape[-2:]
        top, left, rows, columns = 0, 0, height, width
        for _ in range(10):
            area = height * width * host.uniform(*self.scale)
            shape = math.exp(host.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            tall, wide = round(math.sqrt(area / shape)), round(math.sqrt(area * shape))
            if 0 < tall <= height and 0 < wide <= width:
                top, left = host.randint(0, height - tall), host.randint(0, width - wide)
                rows, columns = tall, wide
                break
        return resized(given[..., top : top + rows, left : left + columns], self.size, self.interpolation)


class RandomHorizontalFlip(_Transform):
    """Mirror an image with probability ``p``.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.vision import transforms
    >>> transforms.RandomHorizontalFlip(p=1)(torch.tensor([[[1, 2]]]))
    tensor([[[2, 1]]])
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, img: Any) -> Tensor:
        """Mirror an image, or not."""
        given = _as_tensor(img)
        return given.flip(-1) if default_generator.host.random() < self.p else given


class RandomVerticalFlip(_Transform):
    """Turn an image upside down with probability ``p``.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.vision import transforms
    >>> transforms.RandomVerticalFlip(p=0)(torch.tensor([[[1], [2]]])).reshape(-1)
    tensor([1, 2])
    """

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    def __call__(self, img: Any) -> Tensor:
        """Turn an image, or not."""
        given = _as_tensor(img)
        return given.flip(-2) if default_generator.host.random() < self.p else given


class Grayscale(_Transform):
    """Return the brightness, in one channel or in three equal ones.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.vision import transforms
    >>> transforms.Grayscale()(torch.ones(3, 2, 2)).shape
    torch.Size([1, 2, 2])
    """

    def __init__(self, num_output_channels: int = 1) -> None:
        self.num_output_channels = num_output_channels

    def __call__(self, img: Any) -> Tensor:
        """Convert an image."""
        given = _as_tensor(img)
        weights = np.array([0.2989, 0.587, 0.114]).reshape(3, 1, 1)
        gray = Tensor._run(lambda x: np.sum(x * weights, axis=-3, keepdims=True).astype(x.dtype), given)
        return gray.repeat(self.num_output_channels, 1, 1) if self.num_output_channels > 1 else gray


__getattr__ = module_getattr(
    __name__,
    globals(),
    {
        "ToPILImage": "use Pillow's Image.fromarray with tensor.permute(1, 2, 0).numpy()",
        "functional": "call the transforms",
        "v2": "the transforms of this module are the ones there are",
        "ColorJitter": "forerun.gluon.data.vision.transforms has RandomColorJitter",
        "RandomRotation": "forerun.gluon.data.vision.transforms has RandomRotation",
    },
)
