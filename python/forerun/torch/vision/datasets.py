"""Datasets of local files. Nothing is downloaded: the error for missing files names them.

Images are NumPy arrays (height, width) or (height, width, channels) until a transform makes them tensors.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable
from typing import Any, ClassVar

from forerun._missing import module_getattr
from forerun.torch.utils.data import Dataset

__all__ = ["CIFAR10", "CIFAR100", "MNIST", "FakeData", "FashionMNIST", "ImageFolder", "VisionDataset"]


class VisionDataset(Dataset[Any]):
    """Base class: samples are an image and a label, changed by two functions."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.root, self.transform, self.target_transform = root, transform, target_transform

    def _sample(self, image: Any, label: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            image = self.transform(image)
        if self.target_transform is not None:
            label = self.target_transform(label)
        return image, label


class _Published(VisionDataset):
    _folders: tuple[str, ...] = ("",)
    _reader: str
    _options: ClassVar[dict[str, Any]] = {}
    classes: ClassVar[list[str]]

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform, target_transform)
        from forerun.gluon.data import vision

        self.train = train
        folder = str(pathlib.Path(root).expanduser().joinpath(*self._folders))
        read = getattr(vision, self._reader)(root=folder, train=train, **self._options)
        pixels = read._data.asnumpy()
        self.data = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
        self.targets = [int(label) for label in read._label]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.targets)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return an image and its label."""
        return self._sample(self.data[index], self.targets[index])

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The labels of the classes."""
        return {name: number for number, name in enumerate(self.classes)}


class MNIST(_Published):
    """Handwritten digits, 28 x 28 pixels.

    Parameters
    ----------
    root : path
        The folder whose subfolder ``MNIST/raw`` contains ``train-images-idx3-ubyte`` and the other three files, with or
        without ``.gz``.
    train : bool
        Whether to read the samples for training, or those for tests.
    transform, target_transform : callable, optional
        Functions of the image and of the label.
    download : bool
        Has no effect: nothing is downloaded.

    Examples
    --------
    >>> from forerun.torch.vision import datasets
    >>> datasets.MNIST("/nonexistent", download=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    FileNotFoundError: MNIST: /nonexistent/MNIST/raw has no train-images-idx3-ubyte.gz ...
    """

    _folders = ("MNIST", "raw")
    _reader = "MNIST"
    classes: ClassVar[list[str]] = [f"{number} - {name}" for number, name in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    )]  # fmt: skip


class FashionMNIST(_Published):
    """Pictures of clothes in the format of :class:`MNIST`, in the subfolder ``FashionMNIST/raw``.

    Examples
    --------
    >>> from forerun.torch.vision import datasets
    >>> datasets.FashionMNIST.classes[0]
    'T-shirt/top'
    """

    _folders = ("FashionMNIST", "raw")
    _reader = "FashionMNIST"
    classes: ClassVar[list[str]] = [
        "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
    ]  # fmt: skip


class CIFAR10(_Published):
    """Photographs of ten classes, 32 x 32 pixels, in the binary version of the published files.

    The version for Python that PyTorch downloads is pickled, and is not read.

    Examples
    --------
    >>> from forerun.torch.vision import datasets
    >>> datasets.CIFAR10("/nonexistent")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    FileNotFoundError: CIFAR10: /nonexistent has no data_batch_1.bin, ...
    """

    _reader = "CIFAR10"
    classes: ClassVar[list[str]] = [
        "airplane",
        "automobile",
        "bird",
        "cat",
        "deer",
        "dog",
        "frog",
        "horse",
        "ship",
        "truck",
    ]


class CIFAR100(_Published):
    """Photographs of a hundred classes in the format of :class:`CIFAR10`.

    Examples
    --------
    >>> from forerun.torch.vision import datasets
    >>> len(datasets.CIFAR100.classes)
    100
    """

    _reader = "CIFAR100"
    _options: ClassVar[dict[str, Any]] = {"fine_label": True}
    classes: ClassVar[list[str]] = [str(number) for number in range(100)]


class FakeData(VisionDataset):
    """Random images and labels, the same in every run.

    Examples
    --------
    >>> from forerun.torch.vision import datasets
    >>> image, label = datasets.FakeData(size=3, image_size=(3, 8, 8))[0]
    >>> image.shape
    (8, 8, 3)
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__("", transform, target_transform)
        self.size, self.image_size, self.num_classes, self.random_offset = size, image_size, num_classes, random_offset

    def __len__(self) -> int:
        """Return the number of samples."""
        return self.size

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return an image and its label."""
        import numpy

        if not 0 <= index < self.size:
            raise IndexError(f"FakeData: index {index} is out of range for {self.size} samples")
        source = numpy.random.default_rng(index + self.random_offset)
        channels, height, width = self.image_size
        pixels = source.integers(0, 256, (height, width, channels), numpy.uint8)
        return self._sample(pixels, int(source.integers(self.num_classes)))


class ImageFolder(VisionDataset):
    """Image files in a folder for each class.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun.torch.vision import datasets
    >>> with tempfile.TemporaryDirectory() as root:
    ...     os.makedirs(os.path.join(root, "cat"))
    ...     datasets.ImageFolder(root).classes
    ['cat']
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        target_transform: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(root, transform, target_transform)
        from forerun.gluon.data import vision

        read = vision.ImageFolderDataset(root)
        self.classes, self.samples = read.synsets, read.items
        self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self.targets = [label for _, label in self.samples]
        self.imgs = self.samples

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """Return an image and its label."""
        from forerun import image

        path, label = self.samples[index]
        return self._sample(image.imread(path).asnumpy(), label)


__getattr__ = module_getattr(
    __name__, globals(), {"ImageNet": "use ImageFolder on a folder of extracted files", "STL10": "use ImageFolder"}
)
