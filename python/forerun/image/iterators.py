"""Iterators over batches of labelled images, from record files, from lists in files, or from Python lists."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._missing import module_getattr as _module_getattr
from forerun._refused import refused
from forerun.image.augmenters import MEAN, STD, CreateAugmenter
from forerun.image.detection import CreateDetAugmenter
from forerun.image.files import imdecode
from forerun.mxnet.io import DataBatch, DataIter
from forerun.recordio import MXIndexedRecordIO, MXRecordIO, unpack

if TYPE_CHECKING:
    import numpy

__all__ = ["ImageDetIter", "ImageIter"]

_LABELS = ("int32", "int64", "float32", "float64")


class ImageIter(DataIter):
    """Batches of images that are decoded and augmented one by one.

    Images come from a record file, or from files that a list names.

    Parameters
    ----------
    batch_size
        The number of images in a batch.
    data_shape
        The shape of an image in a batch: (3, height, width).
    label_width
        The number of labels of an image.
    path_imgrec
        A record file.
    path_imglist
        A text file with a line for each image: a number, labels, and a path, separated by tabs. With a record file, it
        gives the labels of the records.
    path_root
        The folder of the paths.
    path_imgidx
        The index of the record file; needed to shuffle it or to read a part.
    shuffle
        Whether to draw a new order in every epoch.
    part_index, num_parts
        Which of several equal parts of the images to read.
    aug_list
        Augmenters; if not given, those of :func:`CreateAugmenter`, which gets the remaining arguments.
    imglist
        A list of lists, each with a label or labels, and a path.
    data_name, label_name
        The names of the inputs.
    dtype
        The dtype of labels.
    last_batch_handle
        What to do if the last batch is not full: ``"pad"`` fills it up with the first images, ``"discard"`` drops it,
        and ``"roll_over"`` begins the next epoch with it.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import image, np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a.png", "b.png"):
    ...         with open(os.path.join(folder, name), "wb") as file:
    ...             _ = file.write(image.imencode(".png", np.zeros((6, 8, 3), dtype="uint8")))
    ...     batches = image.ImageIter(2, (3, 4, 4), imglist=[[0, "a.png"], [1, "b.png"]], path_root=folder)
    ...     batch = batches.next()
    >>> batch.data[0].shape, batch.label[0].tolist()
    ((2, 3, 4, 4), [0.0, 1.0])
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        label_width: int = 1,
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Sequence[Any] | None = None,
        imglist: Sequence[Sequence[Any]] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        super().__init__(batch_size)
        name = type(self).__name__
        if path_imgrec is None and path_imglist is None and imglist is None:
            raise ValueError(f"{name}: path_imgrec, path_imglist or imglist must be given")
        if dtype not in _LABELS:
            raise ValueError(f"{name}: dtype must be one of {', '.join(_LABELS)}, not {dtype}")
        if last_batch_handle not in ("pad", "discard", "roll_over"):
            raise ValueError(f"{name}: last_batch_handle must be pad, discard or roll_over: {last_batch_handle!r}")
        if batch_size < 1 or not 0 <= part_index < num_parts:
            raise ValueError(f"{name}: batch_size {batch_size}, part {part_index} of {num_parts}")
        self.check_data_shape(data_shape)
        self.dtype, self.path_root, self.shuffle = dtype, path_root, shuffle
        self.imgrec: MXRecordIO | None = None
        self.seq: list[Any] | None = None
        if path_imgrec is not None:
            self.imgrec = MXRecordIO(path_imgrec, "r")
            if path_imgidx is not None:
                self.imgrec.close()
                self.imgrec = MXIndexedRecordIO(path_imgidx, path_imgrec, "r")
                self.seq = list(self.imgrec.keys)
        # By key: labels and a path.
        self.imglist: dict[Any, tuple[Any, str]] | None = None
        if path_imglist is not None:
            self.imglist = self._read_list(path_imglist)
        elif imglist is not None:
            self.imglist = {key: (self._labels(entry[:-1]), entry[-1]) for key, entry in enumerate(imglist, 1)}
        if self.imgrec is None:
            self.seq = list(self.imglist or ())
        if self.seq is None and (shuffle or num_parts > 1):
            raise ValueError(f"{name}: path_imgidx is needed to shuffle a record file or to read a part")
        if self.seq is not None:
            count = len(self.seq) // num_parts
            self.seq = self.seq[part_index * count : (part_index + 1) * count] if num_parts > 1 else self.seq
        self.num_image = None if self.seq is None else len(self.seq)
        self.data_shape, self.label_width = tuple(data_shape), label_width
        self.provide_data = [(data_name, (batch_size, *self.data_shape))]
        labels = (batch_size, label_width) if label_width > 1 else (batch_size,)
        self.provide_label: list[tuple[str, tuple[int, ...]]] = [(label_name, labels)]
        self.last_batch_handle = last_batch_handle
        self.auglist: list[Any] = list(CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list)
        self.cur = 0
        # Samples of the epoch before, with which ``roll_over`` begins the next.
        self._rolled: list[tuple[ndarray, Any]] = []
        self._ended = False
        self.hard_reset()

    def _read_list(self, path: str) -> dict[Any, tuple[Any, str]]:
        found = {}
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                fields = line.strip().split("\t")
                try:
                    found[int(fields[0])] = (self._labels([float(field) for field in fields[1:-1]]), fields[-1])
                except (ValueError, IndexError):
                    text = f"line {number} is not a number, labels and a path, separated by tabs: {line[:80]!r}"
                    raise refused(f"{type(self).__name__}: {path}: {text}") from None
        return found

    def _labels(self, given: Sequence[Any]) -> numpy.ndarray:
        import numpy

        labels = given[0] if len(given) == 1 and not isinstance(given[0], (int, float)) else given
        return numpy.asarray(labels, self.dtype)

    def reset(self) -> None:
        """Begin the next epoch."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur, self._ended = 0, False

    def hard_reset(self) -> None:
        """Begin the next epoch, without what ``roll_over`` left."""
        self._rolled = []
        self.reset()

    def next_sample(self) -> tuple[Any, bytes]:
        """Return the labels and the file of the next image, or raise ``StopIteration``."""
        if self.seq is None:
            assert self.imgrec is not None  # There is an order unless a record file is read from its start.
            record = self.imgrec.read()
            if record is None:
                raise StopIteration
            header, file = unpack(record)
            self.cur += 1
            return header.label, file
        if self.cur >= len(self.seq):
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if isinstance(self.imgrec, MXIndexedRecordIO):
            header, file = unpack(self.imgrec.read_idx(key))
            return (header.label if self.imglist is None else self._listed(key)[0]), file
        labels, path = self._listed(key)
        return labels, self.read_image(path)

    def _listed(self, key: Any) -> tuple[Any, str]:
        if self.imglist is None or key not in self.imglist:
            raise KeyError(f"{type(self).__name__}: the list of images has no key {key!r}")
        return self.imglist[key]

    def read_image(self, fname: str) -> bytes:
        """Return the bytes of an image file."""
        with open(os.path.join(self.path_root or "", fname), "rb") as file:
            return file.read()

    def _samples(self, count: int) -> list[tuple[ndarray, Any]]:
        """Return up to ``count`` samples."""
        made: list[tuple[ndarray, Any]] = []
        while len(made) < count:
            try:
                labels, file = self.next_sample()
            except StopIteration:
                break
            sample = self._prepared(self.imdecode(file), labels)
            if sample is not None:
                made.append(sample)
        return made

    def _prepared(self, data: ndarray, labels: Any) -> tuple[ndarray, Any] | None:
        """Return an image and labels as a batch holds them, or None to leave the image out."""
        return self.postprocess_data(self.augmentation_transform(data)), labels

    def next(self) -> DataBatch:
        """Return the next batch, or raise ``StopIteration``."""
        if self._ended:
            raise StopIteration
        rolled, self._rolled = self._rolled, []
        samples = rolled + self._samples(self.batch_size - len(rolled))
        # Like MXNet, count those after the samples of the epoch before.
        pad = self.batch_size - len(rolled or samples)
        if len(samples) < self.batch_size:
            self._ended = True
            if self.last_batch_handle == "roll_over":
                self._rolled = samples
            if not samples or self.last_batch_handle != "pad":
                raise StopIteration
            self.cur = 0
            if self.imgrec is not None:
                self.imgrec.reset()
            # Fewer images than a batch has are repeated.
            samples += self._samples(self.batch_size - len(samples))
            samples = [samples[at % len(samples)] for at in range(self.batch_size)]
        return self._batch(samples, pad)

    def _batch(self, samples: list[tuple[ndarray, Any]], pad: int) -> DataBatch:
        import numpy

        data = _forerun.stack([image for image, _ in samples], 0)
        if data.shape[1:] != self.data_shape:
            raise ValueError(f"{type(self).__name__}: the augmenters make {data.shape[1:]}, not {self.data_shape}")
        shape = self.provide_label[0][1]
        labels = numpy.stack([numpy.asarray(label, self.dtype).reshape(shape[1:]) for _, label in samples])
        return DataBatch([data], [to_array(labels)], pad)

    def check_data_shape(self, data_shape: Sequence[int]) -> None:
        """Raise unless a shape is that of colour images with channels first."""
        if len(data_shape) != 3 or data_shape[0] != 3:
            raise ValueError(f"{type(self).__name__}: data_shape must be (3, height, width), not {tuple(data_shape)}")

    def check_valid_image(self, data: Sequence[ndarray]) -> None:
        """Raise if the first of the images has no axes."""
        if not data[0].shape:
            raise RuntimeError(f"{type(self).__name__}: an image has no axes")

    def imdecode(self, s: bytes) -> ndarray:
        """Decode a file; an error names the image."""
        try:
            return imdecode(s)
        except ValueError as error:
            raise RuntimeError(f"{type(self).__name__}: broken image {self._current()}: {error}") from error

    def _current(self) -> str:
        """Describe the image that was read last."""
        if self.seq is None:
            return f"{self.cur - 1} of the record file"
        key = self.seq[self.cur - 1]
        return f"with key {key!r}" if self.imglist is None else self.imglist[key][1]

    def augmentation_transform(self, data: ndarray) -> ndarray:
        """Apply the augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: ndarray) -> ndarray:
        """Move the channels to the front."""
        return datum.transpose(2, 0, 1)


class ImageDetIter(ImageIter):
    """Batches of images with the boxes of their objects.

    The raw label of an image is a flat list: the length of a header, at least 2; the length of an object, at least 5;
    the rest of the header; then for each object a class, left, top, right and bottom as shares of the image, and
    anything else. In a batch the label has shape (batch, objects, length of an object), filled up with -1.

    Parameters
    ----------
    batch_size, data_shape, path_imgrec, path_imglist, path_root, path_imgidx, shuffle, part_index, num_parts, imglist
        As for :class:`ImageIter`.
    aug_list
        Augmenters for detection; if not given, those of :func:`CreateDetAugmenter`, which gets the remaining arguments.
    data_name, label_name
        The names of the inputs.
    last_batch_handle
        As for :class:`ImageIter`.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import image, np
    >>> label = [2, 5, 1, 0.1, 0.2, 0.5, 0.6]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(os.path.join(folder, "a.png"), "wb") as file:
    ...         _ = file.write(image.imencode(".png", np.zeros((6, 8, 3), dtype="uint8")))
    ...     batches = image.ImageDetIter(1, (3, 4, 4), imglist=[[*label, "a.png"]], path_root=folder)
    ...     batch = batches.next()
    >>> batch.data[0].shape, batch.label[0].shape
    ((1, 3, 4, 4), (1, 1, 5))
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: Sequence[Any] | None = None,
        imglist: Sequence[Sequence[Any]] | None = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Any,
    ) -> None:
        augmenters = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        super().__init__(
            batch_size, data_shape, 1, path_imgrec, path_imglist, path_root, path_imgidx, shuffle, part_index,
            num_parts, augmenters, imglist, data_name, label_name, last_batch_handle=last_batch_handle,
        )  # fmt: skip
        self.label_shape = self._widest()
        self.provide_label = [(label_name, (batch_size, *self.label_shape))]

    def _widest(self) -> tuple[int, int]:
        """Read all labels once, and return the largest number of objects and the length of an object."""
        count = length = 0
        while True:
            try:
                label = self._parse_label(self.next_sample()[0])
            except StopIteration:
                break
            if length not in (0, label.shape[1]):
                raise refused(f"ImageDetIter: objects of {length} and of {label.shape[1]} numbers, {self._current()}")
            count, length = max(count, label.shape[0]), label.shape[1]
        self.reset()
        if not count:
            raise ValueError("ImageDetIter: there are no images")
        return count, length

    def _parse_label(self, label: Any) -> numpy.ndarray:
        """Return the objects of a raw label that have an area, one in each row."""
        import numpy

        raw = numpy.asarray(label, "float32").ravel()
        head, length = (int(raw[0]), int(raw[1])) if raw.size >= 7 else (0, 0)
        if head < 2 or length < 5 or raw.size < head + length or (raw.size - head) % length:
            text = f"a label has a header and objects of at least 5 numbers each, got {raw[:8].tolist()}"
            raise refused(f"ImageDetIter: {self._current()}: {text}")
        objects = raw[head:].reshape(-1, length)
        objects = objects[(objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])]
        if not len(objects):
            raise refused(f"ImageDetIter: {self._current()}: no object has an area")
        return objects

    def _prepared(self, data: ndarray, labels: Any) -> tuple[ndarray, Any] | None:
        import numpy

        image, objects = data, self._parse_label(labels)
        for augmenter in self.auglist:
            image, objects = augmenter(image, objects)
        valid = (objects[:, 0] >= 0) & (objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])
        if not valid.any():
            return None
        filled = numpy.full(self.label_shape, -1, "float32")
        filled[: len(objects)] = objects
        return self.postprocess_data(image), filled

    def reshape(self, data_shape: Sequence[int] | None = None, label_shape: Sequence[int] | None = None) -> None:
        """Change the shape of images, or the number of objects to which labels are filled up."""
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.data_shape = tuple(data_shape)
            self.provide_data = [(self.provide_data[0][0], (self.batch_size, *self.data_shape))]
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.label_shape = label_shape[0], label_shape[1]
            self.provide_label = [(self.provide_label[0][0], (self.batch_size, *self.label_shape))]

    def check_label_shape(self, label_shape: Sequence[int]) -> None:
        """Raise unless labels can be filled up to a shape."""
        if len(label_shape) != 2 or label_shape[0] < self.label_shape[0] or label_shape[1] != self.label_shape[1]:
            raise ValueError(f"ImageDetIter: labels of shape {self.label_shape} do not fit in {tuple(label_shape)}")

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Give two iterators the larger of their numbers of objects; returns the other one."""
        if not isinstance(it, ImageDetIter) or it.label_shape[1] != self.label_shape[1]:
            raise ValueError("sync_label_shape: needs another ImageDetIter whose objects have the same length")
        shape = (max(self.label_shape[0], it.label_shape[0]), self.label_shape[1])
        self.reshape(None, shape)
        it.reshape(None, shape)
        if verbose:
            print(f"label shape: {shape}")
        return it

    def draw_next(
        self,
        color: Sequence[int] | None = None,
        thickness: int = 2,
        mean: Any = None,
        std: Any = None,
        clip: bool = True,
    ) -> Iterator[numpy.ndarray]:
        """Iterate over the remaining images, augmented, as NumPy arrays (height, width, 3) with frames around objects.

        Parameters
        ----------
        color
            Red, green and blue of the frames; random if not given.
        thickness
            The width of a frame in pixels.
        mean, std
            The normalisation to undo; ``True`` for ImageNet's.
        clip
            Whether to keep colours within 0 and 255.
        """
        import numpy

        while True:
            try:
                labels, file = self.next_sample()
            except StopIteration:
                return
            prepared = self._prepared(self.imdecode(file), labels)
            if prepared is None:
                continue
            pixels = prepared[0].transpose(1, 2, 0).asnumpy().astype("float32")
            pixels = pixels * (1 if std is None else STD if std is True else std)
            pixels = pixels + (0 if mean is None else MEAN if mean is True else mean)
            pixels = (pixels.clip(0, 255) if clip else pixels).astype("uint8")
            height, width = pixels.shape[:2]
            for box in prepared[1][prepared[1][:, 0] >= 0]:
                left, top, right, bottom = (box[1:5] * (width, height, width, height)).astype(int)
                colour = color or [random.randint(0, 255) for _ in range(3)]
                inside = numpy.zeros((height, width), bool)
                inside[top : bottom + 1, left : right + 1] = True
                inside[top + thickness : bottom + 1 - thickness, left + thickness : right + 1 - thickness] = False
                pixels[inside] = colour
            yield pixels


# Type checkers must report missing names.
if not TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
