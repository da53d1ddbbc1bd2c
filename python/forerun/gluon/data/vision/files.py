"""Datasets of image files: in folders, in lists, and in record files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from forerun import image, np, recordio
from forerun._refused import refused
from forerun.gluon.data import _host
from forerun.gluon.data.dataset import Dataset, RecordFileDataset

__all__ = ["ImageFolderDataset", "ImageListDataset", "ImageRecordDataset"]

_ENDINGS = (".jpg", ".jpeg", ".png", ".webp")


class ImageFolderDataset(Dataset):
    """Image files in a folder for each class: samples are an array (height, width, channels) and the class's number.

    Parameters
    ----------
    root
        The folder of the folders.
    flag
        1 for images with three channels, 0 for one channel.
    transform
        A function of an image and a label that is applied to every sample; better use :meth:`transform`.

    Attributes
    ----------
    synsets : list of str
        The names of the classes, sorted.
    items : list of tuple
        Path and class of each image.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import image, np
    >>> from forerun.gluon.data import vision
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for name in ("cat", "dog"):
    ...         os.mkdir(os.path.join(root, name))
    ...         with open(os.path.join(root, name, "1.png"), "wb") as file:
    ...             _ = file.write(image.imencode(".png", np.zeros((2, 3, 3), dtype="uint8")))
    ...     pictures = vision.ImageFolderDataset(root)
    ...     pixels, label = pictures[1]
    >>> pictures.synsets, pixels.shape, label
    (['cat', 'dog'], (2, 3, 3), 1)
    """

    def __init__(
        self, root: str | os.PathLike[str], flag: int = 1, transform: Callable[..., Any] | None = None
    ) -> None:
        self._root = os.path.expanduser(os.fspath(root))
        self._flag = flag
        self._transform = transform
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for folder in sorted(os.listdir(self._root)):
            path = os.path.join(self._root, folder)
            if not os.path.isdir(path):
                warnings.warn(f"ImageFolderDataset: {path} is not a folder and is ignored", stacklevel=2)
                continue
            label = len(self.synsets)
            self.synsets.append(folder)
            for name in sorted(os.listdir(path)):
                if name.lower().endswith(_ENDINGS):
                    self.items.append((os.path.join(path, name), label))
                else:
                    warnings.warn(
                        f"ImageFolderDataset: {os.path.join(path, name)} is ignored: images end in"
                        f" {', '.join(_ENDINGS)}",
                        stacklevel=2,
                    )

    def __getitem__(self, index: int) -> Any:
        """Return an image and its label."""
        path, label = self.items[index]
        pixels = image.imread(path, self._flag)
        return (pixels, label) if self._transform is None else self._transform(pixels, label)

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.items)

    def _host_reader(self) -> Callable[[int], Any]:
        if self._transform is not None:
            return self.__getitem__
        items, flag = self.items, self._flag

        def read(index: int) -> tuple[Any, int]:
            path, label = items[index]
            return _host.hosted(image.imread(path, flag)), label

        return read


class ImageListDataset(Dataset):
    """Image files of a list: samples are an array (height, width, channels) and an array of labels.

    Parameters
    ----------
    root
        The folder that the paths in the list start from.
    imglist
        A list whose entries end with a path and begin with labels, or the path of a file with lines of a number, labels
        and a path, separated by tabs.
    flag
        1 for images with three channels, 0 for one channel.

    Examples
    --------
    >>> from forerun.gluon.data import vision
    >>> len(vision.ImageListDataset("pictures", [[0, "cat.jpg"], [1, "dog.jpg"]]))
    2
    """

    def __init__(
        self, root: str | os.PathLike[str] = ".", imglist: str | Sequence[Sequence[Any]] | None = None, flag: int = 1
    ) -> None:
        self._root = os.path.expanduser(os.fspath(root))
        self._flag = flag
        if isinstance(imglist, (str, os.PathLike)):
            entries = _listed(os.path.join(self._root, imglist))
        elif isinstance(imglist, (list, tuple)):
            entries = [_entry(number, entry) for number, entry in enumerate(imglist)]
        else:
            raise TypeError(f"ImageListDataset: imglist must be a list or a path, got {type(imglist).__name__}")
        self.items = [(os.path.join(self._root, path), labels) for labels, path in entries]

    def __getitem__(self, index: int) -> Any:
        """Return an image and its labels."""
        path, labels = self.items[index]
        return image.imread(path, self._flag), np.array(labels)

    def __len__(self) -> int:
        """Return the number of images."""
        return len(self.items)

    def _host_reader(self) -> Callable[[int], Any]:
        items, flag = self.items, self._flag

        def read(index: int) -> tuple[Any, Any]:
            path, labels = items[index]
            return _host.hosted(image.imread(path, flag)), _host.hosted(labels)

        return read


def _entry(number: int, entry: Sequence[Any]) -> tuple[Any, str]:
    """Return the labels and the path of an entry of a list."""
    import numpy

    if isinstance(entry, str) or len(entry) < 2 or not isinstance(entry[-1], str):
        raise ValueError(f"ImageListDataset: entry {number} must be labels and a path, got {entry!r}")
    labels = entry[0] if len(entry) == 2 else list(entry[:-1])
    try:
        return numpy.atleast_1d(numpy.asarray(labels, numpy.float32)), entry[-1]
    except (TypeError, ValueError) as error:
        raise ValueError(f"ImageListDataset: labels of entry {number}: {error}") from None


def _listed(path: str) -> list[tuple[Any, str]]:
    """Read the labels and paths of a file."""
    import numpy

    entries = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            parts = line.strip().split("\t")
            if parts == [""]:
                continue
            try:
                int(parts[0])
                labels = numpy.array([float(part) for part in parts[1:-1]], numpy.float32)
            except ValueError as error:
                raise refused(f"ImageListDataset: {path}: line {number}: {error}") from None
            if len(parts) < 3:
                raise refused(f"ImageListDataset: {path}: line {number} must be a number, labels and a path")
            entries.append((labels, parts[-1]))
    return entries


class ImageRecordDataset(RecordFileDataset):
    """The images of a record file (``.rec``): samples are an array (height, width, channels) and the label.

    Parameters
    ----------
    filename
        The file; its index (``.idx``) lies next to it.
    flag
        1 for images with three channels, 0 for one channel.
    transform
        A function of an image and a label that is applied to every sample; better use :meth:`transform`.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import image, np, recordio
    >>> from forerun.gluon.data import vision
    >>> pixels = np.zeros((2, 3, 3), dtype="uint8")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "pictures")
    ...     record = recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    ...     record.write_idx(0, recordio.pack((0, 7, 0, 0), image.imencode(".png", pixels)))
    ...     record.close()
    ...     pixels, label = vision.ImageRecordDataset(path + ".rec")[0]
    >>> pixels.shape, label
    ((2, 3, 3), 7.0)
    """

    def __init__(
        self, filename: str | os.PathLike[str], flag: int = 1, transform: Callable[..., Any] | None = None
    ) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, index: int) -> Any:
        """Return an image and its label."""
        header, file = recordio.unpack(super().__getitem__(index))
        pixels = image.imdecode(file, self._flag)
        return (pixels, header.label) if self._transform is None else self._transform(pixels, header.label)

    def _host_reader(self) -> Callable[[int], Any]:
        if self._transform is not None:
            return self.__getitem__
        record, keys, flag = self._record, self._record.keys, self._flag

        def read(index: int) -> tuple[Any, Any]:
            header, file = recordio.unpack(record.read_idx(keys[index]))
            return _host.hosted(image.imdecode(file, flag)), header.label

        return read
