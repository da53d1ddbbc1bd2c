"""Image files: reading, decoding, encoding. The work is done outside the interpreter lock, on the calling thread."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import ndarray

if TYPE_CHECKING:
    import numpy

    from forerun._types import ArrayLike

    Bytes = bytes | bytearray | memoryview | numpy.ndarray | ndarray

__all__ = ["imdecode", "imencode", "imread"]

_FORMATS = {".jpg": "jpeg", ".jpeg": "jpeg", ".png": "png"}


def imdecode(buf: Bytes, flag: int = 1, to_rgb: bool | int = True, out: ndarray | None = None) -> ndarray:
    """Decode the bytes of a JPEG, PNG or WebP file.

    An image whose metadata names an orientation is turned upright. Of an animation, the first frame is decoded.

    Parameters
    ----------
    buf
        The bytes, or an array of dtype uint8.
    flag
        1 for three channels, 0 for one (gray), -1 for the channels of the file, without turning.
    to_rgb
        Whether channels are in the order red, green, blue; otherwise blue, green, red.
    out
        An array to write to, of the image's shape.

    Returns
    -------
    ndarray
        Pixels of dtype uint8 and shape (height, width, channels).

    Raises
    ------
    ValueError
        If the bytes are not an image, are corrupted, or announce more pixels than their number allows.

    Examples
    --------
    >>> from forerun import image, np
    >>> file = image.imencode(".png", np.full((2, 3, 3), 7, dtype="uint8"))
    >>> image.imdecode(file).shape, image.imdecode(file, flag=0).shape
    ((2, 3, 3), (2, 3, 1))
    """
    if isinstance(buf, str):
        raise TypeError("imdecode: needs the bytes of a file, not text; imread takes a path")
    if isinstance(buf, ndarray) and buf.dtype != _forerun.uint8:
        raise TypeError(f"imdecode: needs bytes or an array of dtype uint8, got {buf.dtype}")
    file = buf if isinstance(buf, bytes) else bytes(memoryview(buf))  # type: ignore[arg-type]
    return _stored(_forerun.decode_image(file, flag, bool(to_rgb), ""), out)


def imread(
    filename: str | os.PathLike[str], flag: int = 1, to_rgb: bool | int = True, out: ndarray | None = None
) -> ndarray:
    """Read and decode an image file; for the arguments see :func:`imdecode`.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import image, np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.png")
    ...     with open(path, "wb") as file:
    ...         _ = file.write(image.imencode(".png", np.zeros((2, 3, 3), dtype="uint8")))
    ...     pixels = image.imread(path)
    >>> pixels.shape
    (2, 3, 3)
    """
    path = os.fspath(filename)
    with open(path, "rb") as file:
        data = file.read()
    return _stored(_forerun.decode_image(data, flag, bool(to_rgb), f"{path}: "), out)


def _stored(pixels: ndarray, out: ndarray | None) -> ndarray:
    if out is None:
        return pixels
    if out.shape != pixels.shape:
        raise ValueError(f"imdecode: out has shape {out.shape}, the image {pixels.shape}")
    out[:] = pixels
    return out


def imencode(img_fmt: str, img: ArrayLike, quality: int | None = None) -> bytes:
    """Encode pixels as a JPEG or PNG file. Waits for them.

    Parameters
    ----------
    img_fmt
        ``".jpg"``, ``".jpeg"`` or ``".png"``.
    img
        Pixels of dtype uint8, of shape (height, width), or (height, width, channels) with channels in the order red,
        green, blue. A JPEG has 1 or 3 channels, a PNG 1 to 4.
    quality
        The quality of a JPEG from 1 to 100 (default 95), or the compression of a PNG from 0 to 9 (default 3).

    Examples
    --------
    >>> from forerun import image, np
    >>> image.imencode(".jpg", np.zeros((8, 8, 3), dtype="uint8"), quality=90)[:3].hex()
    'ffd8ff'
    """
    return encoded("imencode", to_array(img), img_fmt, quality)


def encoded(op: str, pixels: ndarray, img_fmt: str, quality: int | None) -> bytes:
    """Encode pixels; ``op`` is named in errors."""
    name = _FORMATS.get(img_fmt.lower())
    if name is None:
        raise ValueError(f"{op}: the format must be one of {', '.join(_FORMATS)}, not {img_fmt!r}")
    if pixels.dtype != _forerun.uint8 or pixels.ndim not in (2, 3):
        shape = f"{pixels.dtype} {pixels.shape}"
        raise ValueError(f"{op}: needs uint8 pixels of shape (height, width) or (height, width, channels), got {shape}")
    height, width, channels = (*pixels.shape, 1)[:3]
    default, least, most = (95, 1, 100) if name == "jpeg" else (3, 0, 9)
    level = default if quality is None else max(least, min(int(quality), most))
    return _forerun.encode_image(pixels.tobytes(), height, width, channels, name, level)
