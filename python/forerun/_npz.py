"""NumPy's ``.npz`` files: a zip archive of ``.npy`` files, stored or deflated.

An archive is never unpacked to disk. Sizes and offsets of its entries are checked against the file when it is opened,
and an entry is decompressed once, in small pieces, before memory is allocated for it.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, cast

from forerun import _npy
from forerun._forerun import ndarray
from forerun._readers import Source
from forerun._refused import refused

MAGIC = b"PK\x03\x04"
# The bytes of an archive without entries.
EMPTY = b"PK\x05\x06"
# The maximum compression ratio of deflate.
_MOST_SHRINKING = 1032
_LOCAL_HEADER = 30
_ENCRYPTED = 1
_PIECE = 1 << 16
# The exceptions that the standard library raises for invalid archives.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    NotImplementedError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
)


class NpzFile(Mapping[str, ndarray]):
    """The arrays of an archive by name; each is read when it is accessed.

    Parameters
    ----------
    file
        The file.
    where
        The name of the file in messages.
    size
        How many bytes it has.
    close
        A function that closes the file together with this object, or None.

    Examples
    --------
    >>> import io
    >>> from forerun import np
    >>> file = io.BytesIO()
    >>> np.savez(file, x=np.arange(3))
    >>> _ = file.seek(0)
    >>> with np.load(file) as arrays:
    ...     arrays["x"]
    array([0, 1, 2])
    """

    def __init__(self, file: BinaryIO, where: str, size: int, close: Callable[[], None] | None = None) -> None:
        self._where, self._close = where, close
        try:
            self._archive = zipfile.ZipFile(file)
        except _BROKEN as error:
            raise refused(f"{where}: not an archive: {error}") from error
        self._entries = self._checked(size)
        self.files = list(self._entries)

    def _checked(self, size: int) -> dict[str, zipfile.ZipInfo]:
        """Check the offsets and sizes of all entries against the file."""
        entries: dict[str, zipfile.ZipInfo] = {}
        reached = 0
        for info in sorted(self._archive.infolist(), key=lambda info: info.header_offset):
            name = info.filename.removesuffix(".npy")
            if name in entries:
                raise refused(f"{self._where}: two entries have the name {name!r}")
            if info.flag_bits & _ENCRYPTED or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise refused(f"{self._where}: entry {name!r} is encrypted, or neither stored nor deflated")
            if info.header_offset < reached:
                raise refused(f"{self._where}: entry {name!r} overlaps the one before")
            reached = info.header_offset + _LOCAL_HEADER + len(info.orig_filename.encode()) + info.compress_size
            if reached > size:
                raise refused(f"{self._where}: entry {name!r} ends at {reached}, the file has {size} bytes")
            most = info.compress_size * (_MOST_SHRINKING if info.compress_type == zipfile.ZIP_DEFLATED else 1)
            if info.file_size > most:
                raise refused(f"{self._where}: entry {name!r} cannot be {info.file_size} bytes")
            entries[name] = info
        return entries

    def __getitem__(self, name: str) -> ndarray:
        info = self._entries.get(name.removesuffix(".npy"))
        if info is None:
            raise KeyError(f"{name} is not a file in the archive")
        where = f"{self._where}: entry {name!r}"
        try:
            with self._archive.open(info) as entry:
                # The library compares the checksum at the end of the entry.
                while entry.read(_PIECE):
                    pass
            with self._archive.open(info) as entry:
                source = Source(cast(BinaryIO, entry), where, info.file_size)
                header = _npy.read_header(source, "it")
                if source.left != header.bytes:
                    raise source.refused(f"{source.left} bytes for {header.dtype} of shape {header.shape}")
            with self._archive.open(info) as entry:
                return _npy.read(Source(cast(BinaryIO, entry), where, info.file_size), "it")
        except _BROKEN as error:
            if isinstance(error, ValueError) and str(error).startswith(where):
                raise
            raise refused(f"{where}: {error}") from error

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"NpzFile {self._where.removeprefix('load: ')!r} with keys: {', '.join(self.files)}"

    def close(self) -> None:
        """Close the archive; arrays that were read stay valid."""
        self._archive.close()
        if self._close is not None:
            self._close()
