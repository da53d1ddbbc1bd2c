"""Record files in MXNet's format: byte strings one after another, with an optional index.

A record consists of parts. A part is a magic number, a word with a flag and a length, the bytes, and zeros up to a
multiple of four. Where the magic number occurs at a multiple of four bytes of a record, it is left out and a new part
begins, so that a reader can find the start of a record anywhere in a file.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple

from forerun import _forerun
from forerun._convert import to_array
from forerun._missing import module_getattr as _module_getattr
from forerun._readers import Source
from forerun._refused import refused

if TYPE_CHECKING:
    import numpy

    from forerun._types import ArrayLike

__all__ = ["IRHeader", "MXIndexedRecordIO", "MXRecordIO", "pack", "pack_img", "unpack", "unpack_img"]

_MAGIC = struct.pack("<I", 0xCED7230A)
# The flag of a part has three bits, its length the others.
_LENGTH_BITS = 29
_MOST = (1 << _LENGTH_BITS) - 1
_WHOLE, _FIRST, _MIDDLE, _LAST = range(4)
_HEADER = struct.Struct("<IfQQ")


class MXRecordIO:
    """A record file that is written or read from its start.

    Threads may share a reader. A forked or spawned process that inherits a reader opens the file again, from its start;
    it cannot write to a file that its parent writes.

    Parameters
    ----------
    uri
        The path of the file.
    flag
        ``"w"`` to write, ``"r"`` to read.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import recordio
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     record = recordio.MXRecordIO(os.path.join(folder, "x.rec"), "w")
    ...     for text in (b"one", b"two"):
    ...         record.write(text)
    ...     record.close()
    ...     record = recordio.MXRecordIO(os.path.join(folder, "x.rec"), "r")
    ...     found = [record.read(), record.read(), record.read()]
    ...     record.close()
    >>> found
    [b'one', b'two', None]
    """

    def __init__(self, uri: str | os.PathLike[str], flag: str) -> None:
        self.uri = os.fspath(uri)
        self.flag = flag
        self.is_open = False
        self.open()

    def open(self) -> None:
        """Open the file; writing starts with an empty one."""
        if self.flag not in ("r", "w"):
            raise ValueError(f"{type(self).__name__}: flag must be 'r' or 'w', not {self.flag!r}")
        self.writable = self.flag == "w"
        self._file: BinaryIO = open(self.uri, "wb" if self.writable else "rb")  # noqa: SIM115
        self._size = 0 if self.writable else os.fstat(self._file.fileno()).st_size
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self.is_open = True

    def close(self) -> None:
        """Close the file."""
        if self.is_open:
            self.is_open = False
            self._file.close()

    def __del__(self) -> None:
        """Close the file."""
        if getattr(self, "is_open", False) and self._pid == os.getpid():
            self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs to open the file: a reader can be sent, a writer cannot."""
        if self.writable:
            raise RuntimeError(f"{type(self).__name__}: {self.uri}: another process cannot write to this file")
        kept = dict(self.__dict__)
        del kept["_file"], kept["_lock"]
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the file again if it was open."""
        self.__dict__.update(state)
        was_open, self.is_open = self.is_open, False
        if was_open:
            self.open()

    def reset(self) -> None:
        """Start again: a reader with the first record, a writer with an empty file."""
        self.close()
        self.open()

    def write(self, buf: bytes | bytearray | memoryview) -> None:
        """Append a record of fewer than 2**29 bytes.

        Examples
        --------
        >>> from forerun import recordio
        >>> recordio.MXRecordIO("/dev/null", "w").write(b"one")
        """
        self._check("write", "w")
        data = memoryview(buf).cast("B")
        if len(data) > _MOST:
            raise ValueError(f"write: {self.uri}: a record of {len(data)} bytes is too long, the limit is {_MOST}")
        whole = bytes(data)
        begin = 0
        at = whole.find(_MAGIC)
        while at >= 0:
            if at % 4:
                at = whole.find(_MAGIC, at + 1)
                continue
            self._write_part(_MIDDLE if begin else _FIRST, whole[begin:at])
            begin = at + 4
            at = whole.find(_MAGIC, begin)
        self._write_part(_LAST if begin else _WHOLE, whole[begin:])
        # A forked child must not write what is left in the buffer a second time.
        self._file.flush()

    def _write_part(self, kind: int, part: bytes) -> None:
        head = struct.pack("<I", kind << _LENGTH_BITS | len(part))
        self._file.write(_MAGIC + head + part + bytes(-len(part) % 4))

    def read(self) -> bytes | None:
        """Return the next record, or ``None`` at the end of the file."""
        self._check("read", "r")
        with self._lock:
            return self._read()

    def _read(self) -> bytes | None:
        begin = self._file.tell()
        source = Source(self._file, f"read: {self.uri}: the record at byte {begin}", self._size - begin)
        if not source.left or source.left < 0:
            return None
        parts: list[bytearray] = []
        while True:
            if source.take(4, "the magic number") != _MAGIC:
                raise source.refused("the magic number is missing")
            (word,) = struct.unpack("<I", source.take(4, "the length"))
            kind, length = word >> _LENGTH_BITS, word & _MOST
            if kind not in ((_MIDDLE, _LAST) if parts else (_WHOLE, _FIRST)):
                raise source.refused(f"a part with flag {kind} {'follows' if parts else 'begins'} the record")
            source.expect(length, "the record")
            part = source.take(length, "the record")
            # The padding of the last record of a file may be missing.
            source.skip(min(-length % 4, source.left or 0), "the padding")
            parts.append(part)
            if kind in (_WHOLE, _LAST):
                return bytes(_MAGIC.join(parts))

    def _check(self, call: str, flag: str) -> None:
        """Raise unless the file is open for a call; open it again in a process that inherited it."""
        if not self.is_open:
            raise ValueError(f"{call}: {self.uri} is closed")
        if self.flag != flag:
            raise ValueError(f"{call}: {self.uri} was opened with flag {self.flag!r}")
        if self._pid != os.getpid():
            if self.writable:
                raise RuntimeError(f"{call}: {self.uri} was opened by another process")
            # Both processes would move one position. The inherited object is closed without effect on the parent.
            self.reset()


class MXIndexedRecordIO(MXRecordIO):
    """A record file with an index, from which records are read in any order.

    The index is a text file with one line for each record: its key, a tab, and where the record begins.

    Parameters
    ----------
    idx_path
        The path of the index.
    uri
        The path of the record file.
    flag
        ``"w"`` to write both, ``"r"`` to read.
    key_type
        The type of keys, which reads them from text.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import recordio
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = os.path.join(folder, "x.idx"), os.path.join(folder, "x.rec")
    ...     record = recordio.MXIndexedRecordIO(*paths, "w")
    ...     for number in range(5):
    ...         record.write_idx(number, b"record %d" % number)
    ...     record.close()
    ...     record = recordio.MXIndexedRecordIO(*paths, "r")
    ...     found = record.read_idx(3)
    ...     record.close()
    >>> found
    b'record 3'
    """

    def __init__(
        self,
        idx_path: str | os.PathLike[str],
        uri: str | os.PathLike[str],
        flag: str,
        key_type: Callable[[Any], Any] = int,
    ) -> None:
        self.idx_path = os.fspath(idx_path)
        self.key_type = key_type
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.fidx: IO[str] | None = None
        super().__init__(uri, flag)

    def open(self) -> None:
        """Open both files, and read the index if records are read."""
        super().open()
        self.idx, self.keys = {}, []
        try:
            self.fidx = open(self.idx_path, self.flag, encoding="utf-8")  # noqa: SIM115
            if not self.writable:
                with self.fidx:
                    self._read_index(self.fidx)
        except BaseException:
            super().close()
            raise

    def _read_index(self, lines: IO[str]) -> None:
        line = ""
        try:
            for line in lines:
                key, _, place = line.strip().partition("\t")
                read = self.key_type(key)
                self.idx[read] = int(place)
                self.keys.append(read)
        except ValueError as error:
            where = "not text" if isinstance(error, UnicodeDecodeError) else repr(line[:80])
            raise refused(
                f"open: {self.idx_path}: an index has a key, a tab and a number in each line: {where}"
            ) from None

    def close(self) -> None:
        """Close both files."""
        super().close()
        if self.fidx is not None:
            self.fidx.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs to open the files."""
        return {**super().__getstate__(), "fidx": None}

    def seek(self, idx: Any) -> None:
        """Let :meth:`read` continue with the record of a key."""
        self._check("seek", "r")
        self._file.seek(self._place("seek", idx))

    def _place(self, call: str, idx: Any) -> int:
        if idx not in self.idx:
            raise KeyError(f"{call}: {self.idx_path} has no key {idx!r}")
        place = self.idx[idx]
        if not 0 <= place < self._size:
            raise refused(f"{call}: {self.idx_path}: key {idx!r}: byte {place} of {self._size} in {self.uri}")
        return place

    def tell(self) -> int:
        """Return where the next record will be written."""
        self._check("tell", "w")
        return self._file.tell()

    def read_idx(self, idx: Any) -> bytes:
        """Return the record of a key."""
        self._check("read_idx", "r")
        with self._lock:
            self._file.seek(self._place("read_idx", idx))
            record = self._read()
        assert record is not None  # The place is before the end of the file.
        return record

    def write_idx(self, idx: Any, buf: bytes | bytearray | memoryview) -> None:
        """Append a record with a key."""
        key = self.key_type(idx)
        place = self.tell()
        self.write(buf)
        assert self.fidx is not None  # Opened with the file.
        self.fidx.write(f"{key}\t{place}\n")
        self.idx[key] = place
        self.keys.append(key)


class IRHeader(NamedTuple):
    """What precedes the image in a record: ``flag`` is 0, or the number of labels; ``label`` is one label or several.

    Examples
    --------
    >>> from forerun import recordio
    >>> recordio.IRHeader(0, 4.0, 2574, 0)
    IRHeader(flag=0, label=4.0, id=2574, id2=0)
    """

    flag: int
    label: Any
    id: int
    id2: int


def pack(header: tuple[int, Any, int, int], s: bytes) -> bytes:
    """Return a record of a header and bytes, for :meth:`MXRecordIO.write`.

    Parameters
    ----------
    header
        An :class:`IRHeader`; its label is a number or several numbers, which are stored as float32.
    s
        The bytes, such as an image file.

    Examples
    --------
    >>> from forerun import recordio
    >>> recordio.unpack(recordio.pack(recordio.IRHeader(0, 4, 2574, 0), b"bytes"))
    (IRHeader(flag=0, label=4.0, id=2574, id2=0), b'bytes')
    """
    import numbers

    import numpy

    given = IRHeader(*header)
    if isinstance(given.label, numbers.Real):
        return _HEADER.pack(0, float(given.label), given.id, given.id2) + s
    labels = numpy.asarray(given.label, dtype="<f4")
    return _HEADER.pack(labels.size, 0.0, given.id, given.id2) + labels.tobytes() + s


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """Split a record into its header and its bytes; several labels are a NumPy array.

    Examples
    --------
    >>> from forerun import recordio
    >>> header, image = recordio.unpack(recordio.pack(recordio.IRHeader(0, [1, 2], 7, 0), b"bytes"))
    >>> header.label.tolist(), image
    ([1.0, 2.0], b'bytes')
    """
    if len(s) < _HEADER.size:
        raise refused(f"unpack: a record of {len(s)} bytes has no header of {_HEADER.size} bytes")
    header = IRHeader(*_HEADER.unpack_from(s))
    rest = s[_HEADER.size :]
    if header.flag == 0:
        return header, rest
    if header.flag * 4 > len(rest):
        raise refused(f"unpack: {header.flag} labels need {header.flag * 4} bytes, the record has {len(rest)}")
    import numpy

    return header._replace(label=numpy.frombuffer(rest, "<f4", header.flag)), rest[header.flag * 4 :]


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, numpy.ndarray]:
    """Split a record into its header and the decoded image.

    Parameters
    ----------
    s
        A record.
    iscolor
        1 for colours, 0 for gray, -1 for the channels of the file.

    Returns
    -------
    tuple
        The header, and a NumPy array of shape (height, width), or (height, width, channels) with channels in the
        order blue, green, red, as in OpenCV.

    Examples
    --------
    >>> import numpy
    >>> from forerun import recordio
    >>> image = numpy.zeros((4, 5, 3), "uint8")
    >>> record = recordio.pack_img(recordio.IRHeader(0, 4, 2574, 0), image, img_fmt=".png", quality=9)
    >>> recordio.unpack_img(record)[1].shape
    (4, 5, 3)
    """
    header, file = unpack(s)
    pixels = _forerun.decode_image(bytes(file), iscolor, False, "").asnumpy().copy()
    return header, pixels[:, :, 0] if pixels.shape[2] == 1 else pixels


def pack_img(header: tuple[int, Any, int, int], img: ArrayLike, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """Return a record of a header and an encoded image. Waits for the pixels.

    Parameters
    ----------
    header
        An :class:`IRHeader`; see :func:`pack`.
    img
        Pixels of dtype uint8, of shape (height, width) or (height, width, channels) with channels in the order blue,
        green, red, as in OpenCV.
    quality
        The quality of a JPEG, from 1 to 100, or the compression of a PNG, up to 9.
    img_fmt
        ``".jpg"``, ``".jpeg"`` or ``".png"``.

    Examples
    --------
    >>> from forerun import np, recordio
    >>> record = recordio.pack_img(recordio.IRHeader(0, 4, 2574, 0), np.zeros((4, 5, 3), dtype="uint8"))
    >>> recordio.unpack(record)[0].label
    4.0
    """
    from forerun.image.files import encoded

    pixels = to_array(img)
    if pixels.ndim == 3 and pixels.shape[2] == 3:
        pixels = pixels[:, :, ::-1]
    return pack(header, encoded("pack_img", pixels, img_fmt, quality))


# Type checkers must report missing names.
if not TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
