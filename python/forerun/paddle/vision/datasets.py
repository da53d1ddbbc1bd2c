"""Datasets of local files. Nothing is downloaded: the error for missing files names them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

from forerun._missing import module_getattr
from forerun.torch.utils.data import Dataset

__all__ = ["MNIST", "Cifar10", "Cifar100", "FashionMNIST"]


class _Published(Dataset[Any]):
    _name: str
    _reader: str
    _options: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        data_file: str | None = None,
        mode: str = "train",
        transform: Callable[[Any], Any] | None = None,
        download: bool = True,
        backend: str | None = None,
    ) -> None:
        if mode not in ("train", "test"):
            raise ValueError(f"{type(self).__name__}: mode is 'train' or 'test', not {mode!r}")
        from forerun.gluon.data import vision

        home = os.environ.get("PADDLE_HOME", os.path.join(os.path.expanduser("~"), ".cache", "paddle"))
        root = data_file or os.path.join(home, "dataset", self._name)
        read = getattr(vision, self._reader)(root=root, train=mode == "train", **self._options)
        self.mode, self.transform = mode, transform
        self._pixels = read._data.asnumpy()
        self._labels = read._label

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._labels)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return an image and its label."""
        import numpy

        image = self._pixels[index]
        image = image.astype(numpy.float32) if self.transform is None else self.transform(image)
        return image, self._label(index)

    def _label(self, index: int) -> Any:
        import numpy

        return numpy.array(self._labels[index], numpy.int64)


class MNIST(_Published):
    """Handwritten digits: an image (28, 28, 1) and an array of one label.

    Parameters
    ----------
    image_path, label_path : path, optional
        Files in the IDX format; their folder must hold both under their published names.
    mode : str
        ``"train"`` or ``"test"``.
    transform : callable, optional
        A function of the image.
    download : bool
        Has no effect: nothing is downloaded.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.vision.datasets.MNIST("/nonexistent/train-images-idx3-ubyte.gz")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    FileNotFoundError: MNIST: /nonexistent has no train-images-idx3-ubyte.gz or train-images-idx3-ubyte. ...
    """

    _name = "mnist"
    _reader = "MNIST"

    def __init__(
        self,
        image_path: str | None = None,
        label_path: str | None = None,
        mode: str = "train",
        transform: Callable[[Any], Any] | None = None,
        download: bool = True,
        backend: str | None = None,
    ) -> None:
        folder = None if image_path is None else os.path.dirname(os.path.abspath(image_path))
        super().__init__(folder, mode, transform)

    def _label(self, index: int) -> Any:
        import numpy

        return numpy.array([self._labels[index]], numpy.int64)


class FashionMNIST(MNIST):
    """Pictures of clothes in the format of :class:`MNIST`."""

    _name = "fashion-mnist"
    _reader = "FashionMNIST"


class Cifar10(_Published):
    """Photographs of ten classes: an image (32, 32, 3) and a label; ``data_file`` is the folder of the binary files."""

    _name = "cifar"
    _reader = "CIFAR10"


class Cifar100(_Published):
    """Photographs of a hundred classes in the format of :class:`Cifar10`."""

    _name = "cifar"
    _reader = "CIFAR100"
    _options: ClassVar[dict[str, Any]] = {"fine_label": True}


__getattr__ = module_getattr(__name__, globals(), {"Flowers": "forerun.gluon.data.vision has ImageFolderDataset"})
