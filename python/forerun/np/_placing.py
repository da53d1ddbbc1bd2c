"""Writes by conditions and positions. Nothing waits."""

from __future__ import annotations

from typing import Literal

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import dtype, ndarray
from forerun._types import ArrayLike
from forerun.np._dtypes import can_cast

__all__ = ["copyto", "place", "put", "putmask"]

Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]


def _target(array: ndarray, op: str) -> None:
    if not isinstance(array, ndarray):
        raise TypeError(f"{op}: needs an array to write to, not {type(array).__name__}")


def copyto(dst: ndarray, src: ArrayLike, casting: Casting = "same_kind", where: ArrayLike = True) -> None:
    """Copy elements into an array, where a condition holds.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.zeros((3,))
    >>> np.copyto(x, np.array([1.0, 2.0, 3.0]), where=np.array([True, False, True]))
    >>> x
    array([1., 0., 3.])
    """
    _target(dst, "copyto")
    if isinstance(src, ndarray) and not _may_cast(src.dtype, dst.dtype, casting):
        raise TypeError(f"copyto: cannot cast {src.dtype} to {dst.dtype} according to the rule '{casting}'")
    if where is True:
        dst[...] = src
    else:
        _forerun.copy_where(dst, where, src)


def _may_cast(source: dtype, target: dtype, casting: Casting) -> bool:
    return can_cast(source, target, casting)


def _repeated(values: ndarray, count: int) -> ndarray:
    """Return this many elements by repeating the flattened values."""
    flat = values.ravel()
    if flat.size in (1, count):
        return flat
    return _forerun.take(flat, _forerun.arange(0, count, 1, "int64", values.device), 0, "wrap")


def putmask(a: ndarray, mask: ArrayLike, values: ArrayLike) -> None:
    """Write values where a mask is true, each at its own position; values are repeated if there are too few.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.arange(5)
    >>> np.putmask(x, x > 1, np.array([-33, -44]))
    >>> x
    array([  0,   1, -33, -44, -33])
    """
    _target(a, "putmask")
    given = to_array(values, None, a.device)
    if given.size == 0:
        return
    wide = _repeated(given, a.size)
    _forerun.copy_where(a, mask, wide.reshape(() if wide.size == 1 else a.shape))


def place(arr: ndarray, mask: ArrayLike, vals: ArrayLike) -> None:
    """Write values where a mask is true, one after another; values are repeated if there are too few.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.arange(6).reshape(2, 3)
    >>> np.place(x, x > 2, [44, 55])
    >>> x
    array([[ 0,  1,  2],
           [44, 55, 44]])
    """
    _target(arr, "place")
    values = to_array(vals, None, arr.device).ravel()
    chosen = to_array(mask, None, arr.device)
    if chosen.size != arr.size:
        raise ValueError(f"place: mask {chosen.shape} and array {arr.shape} must be of one size")
    if arr.size == 0:
        return
    if values.size == 0:
        raise ValueError("place: there must be at least one value")
    if chosen.dtype != "bool":
        chosen = chosen != 0
    # The n-th true element gets the n-th value.
    numbers = _forerun.routine("cumsum", [chosen.ravel().astype("int64")], axis=0) - 1
    wide = _forerun.take(values, numbers, 0, "wrap").reshape(arr.shape)
    _forerun.copy_where(arr, chosen.reshape(arr.shape), wide)


def put(a: ndarray, ind: ArrayLike, v: ArrayLike, mode: str = "raise") -> None:
    """Write values at positions of the flattened array; values are repeated if there are too few.

    A position out of bounds raises when the array is read, or is clipped or wrapped according to ``mode``. If positions
    repeat, the last value wins.

    Examples
    --------
    >>> from forerun import np
    >>> x = np.arange(5)
    >>> np.put(x, [0, -1], [-44, -55])
    >>> x
    array([-44,   1,   2,   3, -55])
    """
    _target(a, "put")
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"mode must be 'raise', 'clip' or 'wrap', not '{mode}'")
    places = to_array(ind, None, a.device).ravel()
    if places.size == 0:
        return
    values = to_array(v, None, a.device)
    if values.size == 0:
        return
    if a.size == 0:
        raise IndexError(f"put: cannot write at {places.size} positions of an empty array")
    if mode == "clip":
        places = places.clip(0, a.size - 1)
    elif mode == "wrap":
        places = places % a.size
    values = _repeated(values, places.size)
    flat = a.reshape(-1)
    flat[places] = values if values.size <= places.size else values[: places.size]
    if not _forerun.shares_cell(flat, a):
        # Elements that are not contiguous were copied.
        a[...] = flat.reshape(a.shape)
