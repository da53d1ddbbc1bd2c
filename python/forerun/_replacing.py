"""Atomic replacement of files: a reader finds the old file or the new one, never a partial one.

The new file is written under a random name next to the old one, flushed to disk, and then renamed. Concurrent saves to
one path therefore do not interfere; the last to finish wins.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO

# A new file, never one that is there, and never through a link that somebody put in its place.
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FLAGS |= getattr(os, "O_BINARY", 0)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """Open a file that replaces another when the block ends; if the block raises, the old file stays.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun._replacing import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x")
    ...     with replacing(path) as file:
    ...         _ = file.write(b"new")
    ...     os.listdir(folder)
    ['x']
    """
    # Of a link, what it points at is replaced, as a plain write would.
    target = os.path.realpath(path) if os.path.islink(path) else path
    partial, opened = _fresh(target, path)
    try:
        with os.fdopen(opened, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(OSError):
            # Who may read the old file may read the new one.
            os.chmod(partial, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(partial, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.remove(partial)
        if isinstance(error, OSError) and error.filename == partial:
            raise type(error)(error.errno, error.strerror, path) from None
        raise
    _keep_name(target)


def _fresh(target: str, path: str) -> tuple[str, int]:
    """Create a new file next to the target; errors name the path that the user gave."""
    while True:
        partial = f"{target}.{secrets.token_hex(8)}.partial"
        try:
            return partial, os.open(partial, _FLAGS, 0o666)
        except FileExistsError:
            continue
        except OSError as error:
            raise type(error)(error.errno, error.strerror, path) from None


def _keep_name(target: str) -> None:
    """Flush the renamed directory entry to disk, where the system supports it."""
    with contextlib.suppress(OSError):
        folder = os.open(os.path.dirname(target) or ".", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
