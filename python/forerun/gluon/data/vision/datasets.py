"""Datasets of small images in the formats in which they are published: MNIST, Fashion-MNIST, CIFAR-10 and CIFAR-100.

Files are read from a local folder and validated; nothing is downloaded, and nothing is unpickled.
"""

from __future__ import annotations

import gzip
import os
import struct
import tarfile
import zlib
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy

from forerun import np
from forerun._refused import refused
from forerun.gluon.data.dataset import ArrayDataset

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FashionMNIST"]

Path = str | os.PathLike[str]
# No gzip file unpacks to more bytes per byte than this.
_MOST_PACKED = 1032
# The number of bytes to unpack at a time.
_PIECE = 1 << 20


def default_root(name: str) -> str:
    """Return the folder of a dataset: below ``MXNET_HOME``, or else ``~/.mxnet``."""
    home = os.environ.get("MXNET_HOME") or os.path.join("~", ".mxnet")
    return os.path.join(os.path.expanduser(home), "datasets", name)


class _Published(ArrayDataset):
    """Images and labels read from published files."""

    _name: str

    def __init__(self, root: Path | None, train: bool, transform: Callable[..., Any] | None) -> None:
        self._root = os.path.expanduser(os.fspath(root)) if root is not None else default_root(self._name)
        self._train = train
        self._transform = transform
        images, labels = self._read()
        if len(images) != len(labels):
            raise refused(f"{type(self).__name__}: {self._root}: {len(images)} images, but {len(labels)} labels")
        self._data, self._label = np.array(images), labels
        super().__init__(self._data, self._label)

    def __getitem__(self, index: Any) -> Any:
        """Return an image and its label."""
        image, label = super().__getitem__(index)
        return (image, label) if self._transform is None else self._transform(image, label)

    def batch(self, indices: Sequence[int]) -> Any:
        """Return stacked samples, if no function changes them."""
        return super().batch(indices) if self._transform is None else None

    def _host_reader(self) -> Callable[[int], Any]:
        return super()._host_reader() if self._transform is None else self.__getitem__

    def _read(self) -> tuple[Any, Any]:
        """Return images of shape (count, height, width, channels) and labels."""
        raise NotImplementedError

    def _missing(self, wanted: str, others: str = "") -> FileNotFoundError:
        return FileNotFoundError(
            f"{type(self).__name__}: {self._root} has no {wanted}. Forerun downloads nothing: put the files there, or"
            f" give their folder as root={others}"
        )


class MNIST(_Published):
    """Handwritten digits, 28 x 28 pixels: samples are a uint8 array of shape (28, 28, 1) and a label.

    Parameters
    ----------
    root
        The folder of ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte``, ``t10k-images-idx3-ubyte`` and
        ``t10k-labels-idx1-ubyte``, with or without ``.gz``; by default ``datasets/mnist`` below ``MXNET_HOME`` or
        ``~/.mxnet``.
    train
        Whether to read the samples for training, or those for tests.
    transform
        A function of an image and a label that is applied to every sample; better use :meth:`transform`.

    Examples
    --------
    >>> from forerun.gluon.data import vision
    >>> vision.MNIST(root="/nonexistent")
    Traceback (most recent call last):
        ...
    FileNotFoundError: MNIST: /nonexistent has no train-images-idx3-ubyte.gz or train-images-idx3-ubyte. ...
    """

    _name = "mnist"

    def __init__(
        self, root: Path | None = None, train: bool = True, transform: Callable[..., Any] | None = None
    ) -> None:
        super().__init__(root, train, transform)

    def _read(self) -> tuple[Any, Any]:
        part = "train" if self._train else "t10k"
        images = self._idx(f"{part}-images-idx3-ubyte", 3)
        labels = self._idx(f"{part}-labels-idx1-ubyte", 1)
        return images.reshape(*images.shape, 1), labels.astype(numpy.int32)

    def _idx(self, name: str, dimensions: int) -> Any:
        for path in (os.path.join(self._root, f"{name}.gz"), os.path.join(self._root, name)):
            if os.path.isfile(path):
                return read_idx(path, dimensions, type(self).__name__)
        raise self._missing(f"{name}.gz or {name}")


class FashionMNIST(MNIST):
    """Pictures of clothes in the format of :class:`MNIST`, by default in ``datasets/fashion-mnist``.

    Examples
    --------
    >>> from forerun.gluon.data import vision
    >>> issubclass(vision.FashionMNIST, vision.MNIST)
    True
    """

    _name = "fashion-mnist"


class CIFAR10(_Published):
    """Photographs of ten classes, 32 x 32 pixels: samples are a uint8 array of shape (32, 32, 3) and a label.

    Parameters
    ----------
    root
        The folder of the binary version: ``data_batch_1.bin`` to ``data_batch_5.bin`` and ``test_batch.bin``, in the
        folder itself, in ``cifar-10-batches-bin``, or in the archive ``cifar-10-binary.tar.gz``. By default
        ``datasets/cifar10`` below ``MXNET_HOME`` or ``~/.mxnet``.
    train
        Whether to read the samples for training, or those for tests.
    transform
        A function of an image and a label that is applied to every sample; better use :meth:`transform`.

    Examples
    --------
    >>> from forerun.gluon.data import vision
    >>> vision.CIFAR10(root="/nonexistent", train=False)
    Traceback (most recent call last):
        ...
    FileNotFoundError: CIFAR10: /nonexistent has no test_batch.bin ...
    """

    _name = "cifar10"
    _folder = "cifar-10-batches-bin"
    _archive = "cifar-10-binary.tar.gz"
    _python = "cifar-10-batches-py"
    _files: tuple[tuple[str, ...], tuple[str, ...]] = (
        tuple(f"data_batch_{number}.bin" for number in range(1, 6)),
        ("test_batch.bin",),
    )
    # The number of label bytes before the pixels, and which of them counts.
    _labels = 1
    _which = 0

    def __init__(
        self, root: Path | None = None, train: bool = True, transform: Callable[..., Any] | None = None
    ) -> None:
        super().__init__(root, train, transform)

    def _read(self) -> tuple[Any, Any]:
        names = self._files[0 if self._train else 1]
        records = numpy.concatenate(self._records(names))
        pixels = records[:, self._labels :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return numpy.ascontiguousarray(pixels), records[:, self._which].astype(numpy.int32)

    def _records(self, names: Sequence[str]) -> list[Any]:
        for folder in (self._root, os.path.join(self._root, self._folder)):
            paths = [os.path.join(folder, name) for name in names]
            if all(map(os.path.isfile, paths)):
                found = []
                for path in paths:
                    with open(path, "rb") as file:
                        found.append(self._parsed(path, file.read()))
                return found
        archive = os.path.join(self._root, self._archive)
        if os.path.isfile(archive):
            return self._unpacked(archive, names)
        python = os.path.join(self._root, self._python)
        pickled = os.path.exists(python) or os.path.exists(self._archive.replace("binary", "python"))
        raise self._missing(
            f"{', '.join(names)} (nor {self._folder} or {self._archive})",
            f"; {python} is the version for Python, which is pickled and therefore not read" if pickled else "",
        )

    def _unpacked(self, archive: str, names: Sequence[str]) -> list[Any]:
        found: dict[str, Any] = {}
        size = os.path.getsize(archive)
        try:
            with tarfile.open(archive) as opened:
                for member in opened:
                    name = os.path.basename(member.name)
                    if not member.isfile() or name not in names:
                        continue
                    if member.size > size * _MOST_PACKED:
                        raise refused(f"{type(self).__name__}: {archive}: {name} claims {member.size} bytes")
                    file = opened.extractfile(member)
                    assert file is not None
                    found[name] = self._parsed(f"{archive}: {name}", file.read())
        except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
            raise refused(f"{type(self).__name__}: {archive}: {error}") from error
        missing = [name for name in names if name not in found]
        if missing:
            raise refused(f"{type(self).__name__}: {archive} does not contain {', '.join(missing)}")
        return [found[name] for name in names]

    def _parsed(self, path: str, data: bytes) -> Any:
        length = self._labels + 3 * 32 * 32
        if not data or len(data) % length:
            raise refused(
                f"{type(self).__name__}: {path}: {len(data)} bytes are not a multiple of {length}, the size of a record"
            )
        return numpy.frombuffer(data, numpy.uint8).reshape(-1, length)


class CIFAR100(CIFAR10):
    """Photographs of a hundred classes in the format of :class:`CIFAR10`.

    Parameters
    ----------
    root
        The folder of ``train.bin`` and ``test.bin``, in the folder itself, in ``cifar-100-binary``, or in the archive
        ``cifar-100-binary.tar.gz``. By default ``datasets/cifar100`` below ``MXNET_HOME`` or ``~/.mxnet``.
    fine_label
        Whether labels are one of 100 classes, or one of 20 groups of them.
    train
        Whether to read the samples for training, or those for tests.
    transform
        A function of an image and a label that is applied to every sample; better use :meth:`transform`.

    Examples
    --------
    >>> from forerun.gluon.data import vision
    >>> vision.CIFAR100(root="/nonexistent", fine_label=True)
    Traceback (most recent call last):
        ...
    FileNotFoundError: CIFAR100: /nonexistent has no train.bin ...
    """

    _name = "cifar100"
    _folder = "cifar-100-binary"
    _archive = "cifar-100-binary.tar.gz"
    _python = "cifar-100-python"
    _files = (("train.bin",), ("test.bin",))
    _labels = 2

    def __init__(
        self,
        root: Path | None = None,
        fine_label: bool = False,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
    ) -> None:
        self._which = int(fine_label)
        super().__init__(root, train, transform)


def read_idx(path: str, dimensions: int, what: str) -> Any:
    """Read a file of unsigned bytes in the IDX format, packed by gzip or not."""
    where = f"{what}: {path}"
    size = os.path.getsize(path)
    with open(path, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        try:
            if not packed:
                return _parse_idx(raw, dimensions, where, size)
            with gzip.open(raw) as file:
                return _parse_idx(file, dimensions, where, size * _MOST_PACKED)  # type: ignore[arg-type]
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise refused(f"{where}: {error}") from error


def _parse_idx(file: IO[bytes], dimensions: int, where: str, most: int) -> Any:
    header = file.read(4)
    expected = bytes([0, 0, 8, dimensions])
    if header != expected:
        raise refused(f"{where}: not an IDX file of bytes with {dimensions} dimensions: starts with {header.hex()}")
    extents = file.read(4 * dimensions)
    if len(extents) < 4 * dimensions:
        raise refused(f"{where}: the header ends after {4 + len(extents)} bytes")
    shape = struct.unpack(f">{dimensions}I", extents)
    count = 1
    for extent in shape:
        count *= extent
    if count > most:
        raise refused(f"{where}: the header claims {count} bytes for shape {shape}, more than the file can hold")
    data = bytearray()
    while len(data) <= count:
        piece = file.read(min(_PIECE, count + 1 - len(data)))
        if not piece:
            break
        data += piece
    if len(data) != count:
        more = "more" if len(data) > count else str(len(data))
        raise refused(f"{where}: the header claims {count} bytes for shape {shape}, the file has {more}")
    return numpy.frombuffer(data, numpy.uint8).reshape(shape)
