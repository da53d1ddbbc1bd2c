"""Arrays in NumPy's files: ``.npy``, ``.npz`` and text.

Reading never runs code: Python objects in a file raise an error; there is no ``allow_pickle``.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from forerun import _npy
from forerun._convert import to_array
from forerun._elements import has_numpy
from forerun._forerun import default_float, from_numpy, ndarray
from forerun._forerun import dtype as _dtype
from forerun._readers import Source, remaining
from forerun._refused import refused
from forerun._types import ArrayLike, DTypeLike

if TYPE_CHECKING:
    from forerun._npz import NpzFile

__all__ = ["genfromtxt", "load", "loadtxt", "save", "savez", "savez_compressed"]

FileLike: TypeAlias = "str | os.PathLike[str] | BinaryIO | Any"


def save(file: FileLike, arr: ArrayLike) -> None:
    """Write an array to a ``.npy`` file. Waits for its value.

    Parameters
    ----------
    file
        A path, to which ``.npy`` is appended if it is missing, or a file open for writing bytes.
    arr
        The array.

    Examples
    --------
    >>> import io
    >>> from forerun import np
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(3))
    >>> _ = file.seek(0)
    >>> np.load(file)
    array([0, 1, 2])
    """
    import numpy

    numpy.save(file, _values(arr), allow_pickle=False)


def savez(file: FileLike, *args: ArrayLike, **kwds: ArrayLike) -> None:
    """Write arrays to an ``.npz`` archive, uncompressed. Waits for their values.

    Parameters
    ----------
    file
        A path, to which ``.npz`` is appended if it is missing, or a file open for writing bytes.
    args
        Arrays to be named ``arr_0``, ``arr_1`` and so on.
    kwds
        Arrays by name.

    Examples
    --------
    >>> import io
    >>> from forerun import np
    >>> file = io.BytesIO()
    >>> np.savez(file, np.ones((2,)), y=np.arange(2))
    >>> _ = file.seek(0)
    >>> sorted(np.load(file))
    ['arr_0', 'y']
    """
    import numpy

    numpy.savez(file, *map(_values, args), **_named(kwds))


def savez_compressed(file: FileLike, *args: ArrayLike, **kwds: ArrayLike) -> None:
    """Write arrays to an ``.npz`` archive, deflated; for the arguments see :func:`savez`.

    Examples
    --------
    >>> import io
    >>> from forerun import np
    >>> file = io.BytesIO()
    >>> np.savez_compressed(file, x=np.zeros((1000,)))
    >>> len(file.getvalue()) < 1000
    True
    """
    import numpy

    numpy.savez_compressed(file, *map(_values, args), **_named(kwds))


def load(file: FileLike) -> Any:
    """Read a ``.npy`` file, or open an ``.npz`` archive, whose arrays are read on access.

    Parameters
    ----------
    file
        A path, or a file open for reading bytes. It is validated before memory is allocated; Python objects raise an
        error.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "x.npy")
    ...     np.save(path, np.eye(2))
    ...     np.load(path)
    array([[1., 0.],
           [0., 1.]])
    """
    if not isinstance(file, (str, os.PathLike)):
        return _load(file, f"load: {getattr(file, 'name', type(file).__name__)}", None)
    with contextlib.ExitStack() as stack:
        opened = stack.enter_context(open(file, "rb"))
        made = _load(opened, f"load: {os.fspath(file)}", opened.close)
        # An archive closes its file itself.
        if not isinstance(made, ndarray):
            stack.pop_all()
        return made


def _load(file: BinaryIO, where: str, close: Callable[[], None] | None) -> ndarray | NpzFile:
    # Imported here, because the standard library's archives are slow to import.
    from forerun._npz import EMPTY, MAGIC, NpzFile

    left = remaining(file)
    # Only a seekable file can be an archive.
    if left is not None:
        start = file.read(len(MAGIC))
        file.seek(-len(start), os.SEEK_CUR)
        if start in (MAGIC, EMPTY):
            return NpzFile(file, where, file.tell() + left, close)
    return _npy.read(Source(file, where, left))


def loadtxt(fname: Any, dtype: DTypeLike | None = None, **options: Any) -> ndarray:
    """Read a table of numbers from a text file with ``numpy.loadtxt``.

    Parameters
    ----------
    fname
        A path, an open file, or lines.
    dtype
        The dtype of the numbers; the default float if not given.
    options
        Options of NumPy: ``delimiter``, ``skiprows``, ``usecols`` and so on.

    Examples
    --------
    >>> from forerun import np
    >>> np.loadtxt(["1 2", "3 4"])
    array([[1., 2.],
           [3., 4.]])
    """
    import numpy

    return from_numpy(numpy.loadtxt(fname, (default_float() if dtype is None else _dtype(dtype)).name, **options))


def genfromtxt(fname: Any, dtype: DTypeLike | None = None, **options: Any) -> ndarray:
    """Read a table of numbers with missing values from a text file with ``numpy.genfromtxt``.

    Parameters
    ----------
    fname
        A path, an open file, or lines.
    dtype
        The dtype of the numbers; the default float if not given. Columns of different dtypes raise an error.
    options
        Options of NumPy: ``delimiter``, ``skip_header``, ``filling_values`` and so on.

    Examples
    --------
    >>> from forerun import np
    >>> np.genfromtxt(["1,,3", "4,5,6"], delimiter=",", filling_values=0)
    array([[1., 0., 3.],
           [4., 5., 6.]])
    """
    import numpy

    table: Any = numpy.genfromtxt(fname, (default_float() if dtype is None else _dtype(dtype)).name, **options)
    if isinstance(table, list):
        raise refused("genfromtxt: the columns cannot form one array: omit unpack")
    return from_numpy(table)


def _values(value: ArrayLike) -> Any:
    array = to_array(value)
    if not has_numpy(array.dtype.name):
        raise TypeError(f"save: NumPy's files cannot hold {array.dtype.name}; npx.save writes files that can")
    return array.asnumpy()


def _named(arrays: dict[str, ArrayLike]) -> dict[str, Any]:
    return {name: _values(value) for name, value in arrays.items()}
