"""Image files as tensors (channels, height, width) of bytes."""

from __future__ import annotations

import os
from typing import Any

from forerun._missing import module_getattr
from forerun.torch._tensor import Tensor

__all__ = ["ImageReadMode", "decode_image", "read_image", "write_jpeg", "write_png"]


class ImageReadMode:
    """How many channels an image is read with."""

    UNCHANGED, GRAY, RGB = 0, 1, 3


_FLAGS = {"UNCHANGED": -1, "GRAY": 0, "RGB": 1, 0: -1, 1: 0, 3: 1}


def _turned(pixels: Any) -> Tensor:
    made: Tensor = Tensor._of(pixels)
    return made.permute(2, 0, 1)


def read_image(path: str | os.PathLike[str], mode: Any = ImageReadMode.UNCHANGED) -> Tensor:
    """Read a JPEG, PNG or WebP file.

    Examples
    --------
    >>> from forerun.torch.vision import io
    >>> io.read_image("/nonexistent.png")
    Traceback (most recent call last):
        ...
    FileNotFoundError: [Errno 2] No such file or directory: '/nonexistent.png'
    """
    with open(path, "rb") as file:
        return decode_image(file.read(), mode)


def decode_image(input: Any, mode: Any = ImageReadMode.UNCHANGED) -> Tensor:
    """Decode the bytes of an image file; a path is read.

    Examples
    --------
    >>> from forerun.torch.vision import io
    >>> io.decode_image(b"no image")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: imdecode: ...
    """
    from forerun import image

    if mode not in _FLAGS:
        raise ValueError(f"decode_image: mode is UNCHANGED, GRAY or RGB, not {mode!r}")
    if isinstance(input, (str, os.PathLike)):
        return read_image(input, mode)
    given = input._array if isinstance(input, Tensor) else input
    return _turned(image.imdecode(given, _FLAGS[mode]))


def _write(ending: str, input: Tensor, filename: str | os.PathLike[str], options: dict[str, Any]) -> None:
    from forerun import image

    encoded = image.imencode(ending, input.permute(1, 2, 0)._array, **options)
    with open(filename, "wb") as file:
        file.write(encoded)


def write_png(input: Tensor, filename: str | os.PathLike[str], compression_level: int = 6) -> None:
    """Write an image of bytes as a PNG file.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import torch
    >>> from forerun.torch.vision import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "image.png")
    ...     io.write_png(torch.zeros(3, 2, 4, dtype=torch.uint8), path)
    ...     io.read_image(path).shape
    torch.Size([3, 2, 4])
    """
    _write(".png", input, filename, {})


def write_jpeg(input: Tensor, filename: str | os.PathLike[str], quality: int = 75) -> None:
    """Write an image of bytes as a JPEG file.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import torch
    >>> from forerun.torch.vision import io
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "image.jpg")
    ...     io.write_jpeg(torch.zeros(3, 8, 8, dtype=torch.uint8), path)
    ...     io.read_image(path).shape
    torch.Size([3, 8, 8])
    """
    _write(".jpg", input, filename, {"quality": quality})


__getattr__ = module_getattr(__name__, globals(), {"read_video": "videos are not read"})
