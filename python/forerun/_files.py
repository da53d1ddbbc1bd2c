"""Files of arrays, with MXNet's names; part of ``npx``.

The modules that read other formats are imported with the first file, not with the package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from forerun import _forerun
from forerun._forerun import ndarray
from forerun._refused import refused

# The metadata of a file that holds a list, whose names are numbers.
_LIST = {"forerun": "list"}


def save(file: str | os.PathLike[str], arr: ndarray | Sequence[ndarray] | Mapping[str, ndarray]) -> None:
    """Write arrays to a file, in the safetensors format. Waits for their values.

    Parameters
    ----------
    file
        The file. It is replaced as a whole.
    arr
        An array, a list of them, or a mapping from names to them.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import np, npx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     npx.save(os.path.join(folder, "pair"), {"x": np.ones((2,)), "y": np.zeros((1,))})
    ...     npx.load(os.path.join(folder, "pair"))
    {'x': array([1., 1.]), 'y': array([0.])}
    """
    if isinstance(arr, Mapping):
        _forerun.save_arrays(file, dict(arr))
        return
    arrays = [arr] if isinstance(arr, ndarray) else list(arr)
    _forerun.save_arrays(file, {str(number): array for number, array in enumerate(arrays)}, _LIST)


def tofile(array: ndarray, fid: Any, sep: str, format: str) -> None:
    """Write the elements of an array to a file, as bytes or as text."""
    if sep:
        array.asnumpy().tofile(fid, sep, format)
    elif hasattr(fid, "write"):
        fid.write(array.tobytes())
    else:
        with open(fid, "wb") as file:
            file.write(array.tobytes())


def load(file: str | os.PathLike[str]) -> list[ndarray] | dict[str, ndarray]:
    """Read arrays from a file: a list if a list or one array was written, else a dict by name.

    MXNet files (``.params``) and NumPy files (``.npy``, ``.npz``) are accepted too. The first bytes determine the
    format.

    Parameters
    ----------
    file
        The file. It is validated before memory is allocated for the arrays.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import np, npx
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     npx.save(os.path.join(folder, "x"), np.arange(3))
    ...     npx.load(os.path.join(folder, "x"))
    [array([0, 1, 2])]
    """
    path = os.fspath(file)
    other = _load_other(path)
    if other is not None:
        return other
    arrays, notes = _forerun.load_arrays(path)
    if notes != _LIST:
        return arrays
    names = [str(number) for number in range(len(arrays))]
    if set(arrays) != set(names):
        raise refused(f"load: {path}: a list whose entries are {', '.join(sorted(arrays))}")
    return [arrays[name] for name in names]


def load_parameters(file: str | os.PathLike[str]) -> dict[str, ndarray]:
    """Read the arrays of a parameter file by name, without MXNet's prefixes ``arg:`` and ``aux:``."""
    other = _load_other(os.fspath(file))
    if other is None:
        return _forerun.load_arrays(file)[0]
    if isinstance(other, list):
        raise refused(f"load: {os.fspath(file)}: the arrays have no names")
    return {name.removeprefix("arg:").removeprefix("aux:"): array for name, array in other.items()}


def _load_other(path: str) -> list[ndarray] | dict[str, ndarray] | None:
    """Read an MXNet or NumPy file; return None if it is neither."""
    from forerun import _npy, _npz, _params
    from forerun._readers import Source

    with open(path, "rb") as opened:
        source = Source(opened, f"load: {path}", os.fstat(opened.fileno()).st_size)
        start = opened.read(len(_params.MAGIC))
        opened.seek(0)
        if start == _params.MAGIC:
            return _params.load(source)
        if start.startswith(_npy.MAGIC):
            return [_npy.read(source)]
        if start.startswith((_npz.MAGIC, _npz.EMPTY)):
            return dict(_npz.NpzFile(opened, source.where, source.left or 0))
    return None
