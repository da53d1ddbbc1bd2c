"""Image files of every kind against pixels that Pillow decoded, and what is written against what is read.

``pictures.json`` holds small files and their pixels, turned upright, as RGB.
"""

from __future__ import annotations

import base64
import io
import json
import pathlib
import pickle
import threading
import zlib
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import image, np
from forerun.image import imdecode, imencode, imread

PICTURES: dict[str, Any] = json.loads(pathlib.Path(__file__).with_name("pictures.json").read_text(encoding="utf-8"))
# How far JPEG decoders may be apart: they round transforms and interpolate colours differently.
MOST, MEAN = 4, 0.6


def picture(name: str) -> bytes:
    return base64.b64decode(PICTURES[name]["file"])


def pixels(name: str) -> numpy.ndarray:
    entry = PICTURES[name]
    packed = entry["pixels"]
    packed = PICTURES[packed]["pixels"] if packed in PICTURES else packed
    return numpy.frombuffer(zlib.decompress(base64.b64decode(packed)), "uint8").reshape(entry["shape"])


def check_near(made: Any, want: Any, name: str) -> None:
    """Compare pixels: those of a JPEG within a largest and a mean difference, others exactly."""
    assert made.shape == want.shape
    apart = numpy.abs(made.astype("int32") - want)
    most, mean = (MOST, MEAN) if name.endswith("jpg") else (0, 0.0)
    assert apart.max() <= most and apart.mean() <= mean, (name, apart.max(), apart.mean())


@pytest.mark.parametrize("name", PICTURES)
def test_pixels_are_those_of_pillow(name: str) -> None:
    want = pixels(name)
    made = imdecode(picture(name))
    assert made.dtype == np.uint8
    check_near(made.asnumpy(), want, name)
    check_near(imdecode(picture(name), to_rgb=False).asnumpy(), want[:, :, ::-1], name)
    gray = imdecode(picture(name), flag=0).asnumpy()
    assert gray.shape == (*want.shape[:2], 1)
    shares = want @ numpy.array([0.299, 0.587, 0.114])
    assert numpy.abs(gray[:, :, 0] - shares).max() <= (MOST if name.endswith("jpg") else 0.51)


def test_channels_of_the_file() -> None:
    for name, channels in [
        ("rgba.png", 4),
        ("gray-alpha.png", 2),
        ("gray.jpg", 1),
        ("palette.png", 3),
        ("bits.png", 1),
    ]:
        assert imdecode(picture(name), flag=-1).shape[2] == channels, name
    rgba = imdecode(picture("rgba.png"), flag=-1).asnumpy()
    numpy.testing.assert_array_equal(rgba[:, :, :3], pixels("rgba.png"))
    assert rgba[0, :3, 3].tolist() == [0, 9, 18]
    swapped = imdecode(picture("rgba.png"), flag=-1, to_rgb=False).asnumpy()
    numpy.testing.assert_array_equal(swapped, rgba[:, :, [2, 1, 0, 3]])
    # The orientation is not applied.
    assert imdecode(picture("turned.jpg"), flag=-1).shape == imdecode(picture("sharp.jpg")).shape


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: numpy.frombuffer(b, "uint8")])
def test_bytes_come_in_any_form(kind: Callable[[bytes], Any]) -> None:
    numpy.testing.assert_array_equal(imdecode(kind(picture("rgb.png"))).asnumpy(), pixels("rgb.png"))
    array = np.array(numpy.frombuffer(picture("rgb.png"), "uint8"))
    numpy.testing.assert_array_equal(imdecode(array).asnumpy(), pixels("rgb.png"))


def test_reading_names_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(picture("rgb.png"))
    out = np.zeros(pixels("rgb.png").shape, dtype="uint8")
    assert imread(path, out=out) is out
    numpy.testing.assert_array_equal(out.asnumpy(), pixels("rgb.png"))
    with pytest.raises(ValueError, match="out has shape"):
        imread(path, out=np.zeros((1, 1, 3), dtype="uint8"))
    path.write_bytes(picture("rgb.png")[:100])
    with pytest.raises(ValueError, match=rf"(?s)imread: {path}: PNG: .*at .*test_image_files[.]py"):
        imread(path)
    with pytest.raises(FileNotFoundError):
        imread(tmp_path / "missing.png")


def test_encoding() -> None:
    x = pixels("rgb.png")
    for channels in (1, 3, 4):
        given = numpy.dstack([x, x])[:, :, :channels]
        for quality in (None, 0, 9):
            file = imencode(".png", np.array(given), quality)
            numpy.testing.assert_array_equal(imdecode(file, flag=-1).asnumpy(), given)
    numpy.testing.assert_array_equal(imdecode(imencode(".png", x[:, :, 0]), flag=0).asnumpy()[:, :, 0], x[:, :, 0])
    sizes = [len(imencode(".jpg", x, quality)) for quality in (10, 50, 95)]
    assert sizes == sorted(sizes)
    smooth = imdecode(imencode(".JPEG", x, 98)).asnumpy()
    assert numpy.abs(smooth.astype(int) - x).mean() < 1.5
    # A view that is not contiguous, on whichever device.
    numpy.testing.assert_array_equal(imdecode(imencode(".png", np.array(x)[::2, ::-1])).asnumpy(), x[::2, ::-1])


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: imdecode(b""), ValueError, "imdecode: image: no bytes"),
    (lambda: imdecode(b"GIF89a...."), ValueError, "neither JPEG nor PNG nor WebP"),
    (lambda: imdecode("x.png"), TypeError, "not text"),  # type: ignore[arg-type]
    (lambda: imdecode(np.ones(4)), TypeError, "dtype uint8, got float32"),
    (lambda: imdecode(picture("rgb.png"), flag=2), ValueError, "flag must be 0, 1 or -1, not 2"),
    (lambda: imdecode(picture("rgb.png")[:-30]), ValueError, "imdecode: PNG: "),
    (lambda: imdecode(picture("baseline.jpg")[:-9]), ValueError, "the file of .* bytes is truncated"),
    (lambda: imencode(".gif", np.ones((2, 2, 3))), ValueError, "must be one of .jpg, .jpeg, .png, not '.gif'"),
    (lambda: imencode(".png", np.ones((2, 2, 3))), ValueError, "uint8 pixels .* got float32"),
    (lambda: imencode(".png", np.ones(2, dtype="uint8")), ValueError, "uint8 pixels .* got uint8"),
    (lambda: imencode(".jpg", np.ones((2, 2, 2), dtype="uint8")), ValueError, "cannot hold 2 channels"),
    (lambda: imencode(".png", np.ones((0, 2, 3), dtype="uint8")), ValueError, "cannot hold 0 x 2 pixels"),
]


@pytest.mark.parametrize(("call", "kind", "text"), REFUSED)
def test_what_is_refused(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_decoding_does_not_wait_and_encoding_does() -> None:
    pending = np.ones((64, 64, 3), dtype="uint8") * 2
    with forerun.no_sync("error"):
        imdecode(picture("rgb.png"))
        with pytest.raises(RuntimeError, match="tobytes"):
            imencode(".png", pending)


def test_threads_decode_the_same() -> None:
    files = [picture(name) for name in PICTURES] * 5
    want = [imdecode(file).asnumpy() for file in files]
    made: list[list[Any]] = [[] for _ in range(4)]

    def decode(found: list[Any]) -> None:
        found.extend(imdecode(file).asnumpy() for file in files)

    threads = [threading.Thread(target=decode, args=(found,)) for found in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for found in made:
        for one, other in zip(found, want, strict=True):
            numpy.testing.assert_array_equal(one, other)


def test_a_decoded_image_is_an_ordinary_array() -> None:
    x = imdecode(picture("rgb.png"))
    x[:] = 3
    assert int(x.max()) == 3
    assert pickle.loads(pickle.dumps(x)).shape == x.shape
    assert io.BytesIO(imencode(".png", x)).read(4) == b"\x89PNG"
    assert image.imdecode is imdecode
