"""Less common functions of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, SupportsIndex

from forerun import _forerun
from forerun._convert import floating, to_array, to_arrays
from forerun._forerun import Device, dtype, int64, ndarray
from forerun._pointwise import (
    abs,
    bitwise_and,
    divide,
    left_shift,
    logaddexp,
    multiply,
    nextafter,
    not_equal,
    right_shift,
    where,
)
from forerun._types import ArrayLike, DTypeLike
from forerun.np._common import line, one_axis, without_nan
from forerun.np._creation import asarray
from forerun.np._manipulation import concatenate, moveaxis

__all__ = [
    "asanyarray",
    "asarray_chkfinite",
    "ascontiguousarray",
    "asfortranarray",
    "bitwise_count",
    "block",
    "common_type",
    "isfortran",
    "isscalar",
    "iterable",
    "logaddexp2",
    "mask_indices",
    "matvec",
    "min_scalar_type",
    "nanargmax",
    "nanargmin",
    "packbits",
    "promote_types",
    "real_if_close",
    "require",
    "sort_complex",
    "spacing",
    "trim_zeros",
    "unpackbits",
    "vecmat",
]


def asanyarray(a: ArrayLike, dtype: DTypeLike | None = None, order: Any = "K") -> ndarray:
    """Convert to an array; the same as :func:`asarray`, because there are no subclasses.

    Examples
    --------
    >>> from forerun import np
    >>> np.asanyarray([1, 2])
    array([1, 2])
    """
    return asarray(a, dtype, order)


def ascontiguousarray(a: ArrayLike, dtype: DTypeLike | None = None) -> ndarray:
    """Convert to an array of at least one dimension. The library chooses the memory layout.

    Examples
    --------
    >>> from forerun import np
    >>> np.ascontiguousarray(3.0)
    array([3.])
    """
    made = asarray(a, dtype)
    return made if made.ndim else made.reshape(1)


def asfortranarray(a: ArrayLike, dtype: DTypeLike | None = None) -> ndarray:
    """Convert to an array. The library chooses the memory layout.

    Examples
    --------
    >>> from forerun import np
    >>> np.asfortranarray(np.ones((2, 3))).shape
    (2, 3)
    """
    return asarray(a, dtype)


def asarray_chkfinite(a: ArrayLike, dtype: DTypeLike | None = None, order: Any = "K") -> ndarray:
    """Make an array, and raise if it has a NaN or an infinity. Waits for the elements.

    Examples
    --------
    >>> from forerun import np
    >>> np.asarray_chkfinite([1.0, 2.0])
    array([1., 2.])
    """
    made = asarray(a, dtype, order)
    if made.dtype.kind in "fc" and made.size and not bool((abs(made) < float("inf")).min()):
        raise ValueError("asarray_chkfinite: array must not contain infs or NaNs")
    return made


def require(a: ArrayLike, dtype: DTypeLike | None = None, requirements: str | Iterable[str] | None = None) -> ndarray:
    """Convert to an array of a dtype. The requirements concern the memory layout and are ignored.

    Examples
    --------
    >>> from forerun import np
    >>> np.require([1, 2], "float32", "C")
    array([1., 2.])
    """
    return asarray(a, dtype)


def isfortran(a: ndarray) -> bool:
    """Return False: arrays are stored in C order.

    Examples
    --------
    >>> from forerun import np
    >>> np.isfortran(np.ones((2, 3)))
    False
    """
    return False


def isscalar(element: Any) -> bool:
    """Return whether an object is a Python or NumPy scalar; 0-d arrays are not.

    Examples
    --------
    >>> from forerun import np
    >>> np.isscalar(3.1), np.isscalar(np.array(3.1))
    (True, False)
    """
    if isinstance(element, (bool, int, float, complex, str, bytes)):
        return True
    import numpy

    return not isinstance(element, ndarray) and numpy.isscalar(element)


def iterable(y: Any) -> bool:
    """Return whether an object is iterable.

    Examples
    --------
    >>> from forerun import np
    >>> np.iterable([1, 2]), np.iterable(np.array(1))
    (True, False)
    """
    try:
        iter(y)
    except TypeError:
        return False
    return True


def promote_types(type1: DTypeLike, type2: DTypeLike) -> dtype:
    """Return the dtype that two dtypes promote to; see :func:`result_type`.

    Examples
    --------
    >>> from forerun import np
    >>> np.promote_types("i4", "f8")
    dtype('float64')
    """
    return _forerun.result_type(dtype(type1), dtype(type2))


def common_type(*arrays: ndarray) -> dtype:
    """Name the float or complex dtype that arrays promote to; integers count as float64.

    Examples
    --------
    >>> from forerun import np
    >>> np.common_type(np.ones(2, "f4"), np.arange(2))
    dtype('float64')
    """
    kinds = [dtype("float64") if x.dtype.kind in "iu" else x.dtype for x in arrays]
    if any(kind.kind == "b" for kind in kinds):
        raise TypeError("common_type: not defined for bool")
    return _forerun.result_type(*kinds)


def min_scalar_type(a: Any) -> dtype:
    """Name the smallest dtype that holds a number; of an array its dtype.

    Examples
    --------
    >>> from forerun import np
    >>> np.min_scalar_type(300)
    dtype('uint16')
    """
    if isinstance(a, ndarray):
        return a.dtype
    import numpy

    return dtype(numpy.min_scalar_type(a))


def spacing(x: ArrayLike, /) -> ndarray:
    """Return the distance between each number and the next one away from zero.

    Examples
    --------
    >>> from forerun import np
    >>> np.spacing(np.array([1.0])) == 2.0**-23
    array([ True])
    """
    number = floating(to_array(x))
    return nextafter(number, where(number < 0, float("-inf"), float("inf"))) - number


def logaddexp2(x1: ArrayLike, x2: ArrayLike, /) -> ndarray:
    """Compute the base-2 logarithm of the sum of two powers of 2.

    Examples
    --------
    >>> from forerun import np
    >>> np.logaddexp2(np.array([1.0]), 1.0)
    array([2.])
    """
    ln2 = 0.6931471805599453
    a, b = to_arrays(x1, x2)
    return divide(logaddexp(multiply(a, ln2), multiply(b, ln2)), ln2)


def bitwise_count(x: ArrayLike, /) -> ndarray:
    """Count the bits that are 1 in the absolute value of integers.

    Examples
    --------
    >>> from forerun import np
    >>> np.bitwise_count(np.array([7, 8, -1]))
    array([3, 1, 1], dtype=uint8)
    """
    number = to_array(x)
    if number.dtype.kind not in "biu":
        raise TypeError(f"bitwise_count: needs integers, got {number.dtype}")
    bits = (number if number.dtype.kind == "u" else abs(number.astype(int64))).astype("uint64")
    # Add neighbours: pairs of bits, then groups of 4, 8 and so on.
    masks = (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF)
    for step, mask in zip((1, 2, 4, 8, 16, 32), (*masks, 0x00000000FFFFFFFF), strict=True):
        bits = bitwise_and(bits, mask) + bitwise_and(right_shift(bits, step), mask)
    return bits.astype("uint8")


def packbits(a: ArrayLike, /, axis: SupportsIndex | None = None, bitorder: Literal["big", "little"] = "big") -> ndarray:
    """Pack booleans into the bits of bytes; zeros fill the last byte.

    Examples
    --------
    >>> from forerun import np
    >>> np.packbits(np.array([1, 0, 1]))
    array([160], dtype=uint8)
    """
    x, axis = line(not_equal(to_array(a), 0), axis)
    along = one_axis("packbits", axis, x.ndim)
    bits = moveaxis(x, along, -1).astype("uint8")
    lack = -bits.shape[-1] % 8
    if lack:
        bits = concatenate([bits, _forerun.full((*bits.shape[:-1], lack), 0, "uint8", x.device)], -1)
    groups = bits.reshape(*bits.shape[:-1], bits.shape[-1] // 8, 8)
    packed = left_shift(groups, _weights(bitorder, x.device)).sum(-1, "uint8")
    return moveaxis(packed, -1, along)


def _weights(bitorder: str, device: Device) -> ndarray:
    if bitorder not in ("big", "little"):
        raise ValueError(f"packbits: bitorder must be big or little, got {bitorder!r}")
    return to_array(list(range(8)) if bitorder == "little" else list(range(7, -1, -1)), "uint8", device)


def unpackbits(
    a: ArrayLike,
    /,
    axis: SupportsIndex | None = None,
    count: int | None = None,
    bitorder: Literal["big", "little"] = "big",
) -> ndarray:
    """Unpack the bits of bytes, each into a byte; ``count`` of them, or all but ``-count`` if it is negative.

    Examples
    --------
    >>> from forerun import np
    >>> np.unpackbits(np.array([160], "u1"), count=3)
    array([1, 0, 1], dtype=uint8)
    """
    x = to_array(a)
    if x.dtype != "uint8":
        raise TypeError(f"unpackbits: needs uint8, got {x.dtype}")
    x, axis = line(x, axis)
    along = one_axis("unpackbits", axis, x.ndim)
    moved = moveaxis(x, along, -1)
    bits = bitwise_and(right_shift(moved[..., None], _weights(bitorder, x.device)), 1)
    bits = bits.reshape(*moved.shape[:-1], moved.shape[-1] * 8)
    if count is not None and count > bits.shape[-1]:
        lack = count - bits.shape[-1]
        bits = concatenate([bits, _forerun.full((*bits.shape[:-1], lack), 0, "uint8", x.device)], -1)
    return moveaxis(bits[..., :count], -1, along)


def nanargmax(a: ArrayLike, axis: SupportsIndex | None = None, *, keepdims: bool = False) -> ndarray:
    """Return the index of the largest element along an axis, ignoring NaN; 0 where all are NaN.

    Examples
    --------
    >>> from forerun import np
    >>> np.nanargmax(np.array([1.0, np.nan, 3.0]))
    array(2)
    """
    return without_nan(a, float("-inf")).argmax(axis, keepdims=keepdims)


def nanargmin(a: ArrayLike, axis: SupportsIndex | None = None, *, keepdims: bool = False) -> ndarray:
    """Return the index of the smallest element along an axis, ignoring NaN; 0 where all are NaN.

    Examples
    --------
    >>> from forerun import np
    >>> np.nanargmin(np.array([np.nan, 2.0, 1.0]))
    array(2)
    """
    return without_nan(a, float("inf")).argmin(axis, keepdims=keepdims)


def real_if_close(a: ArrayLike, tol: float = 100) -> ndarray:
    """Return the real parts if all imaginary parts are within ``tol`` machine epsilons of zero. Waits for them.

    Examples
    --------
    >>> from forerun import np
    >>> np.real_if_close(np.array([1 + 0j]))
    array([1.])
    """
    x = to_array(a)
    if x.dtype.kind != "c":
        return x
    bound = tol * (2.0**-23 if x.dtype == "complex64" else 2.0**-52) if tol > 1 else tol
    return x.real if x.size == 0 or bool((abs(x.imag) < bound).min()) else x


def sort_complex(a: ArrayLike) -> ndarray:
    """Sort complex numbers by their real parts, and those that are equal by their imaginary ones.

    Examples
    --------
    >>> from forerun import np
    >>> np.sort_complex(np.array([2.0, 1.0])).real
    array([1., 2.])
    """
    x = to_array(a)
    x = x if x.dtype.kind == "c" else floating(x) + 0j
    return _forerun.routine("sort", [x], axis=-1)


def trim_zeros(filt: ArrayLike, trim: str = "fb") -> ndarray:
    """Remove leading and trailing zeros of a vector. Waits for the elements.

    Examples
    --------
    >>> from forerun import np
    >>> np.trim_zeros(np.array([0, 1, 2, 0]))
    array([1, 2])
    """
    x = to_array(filt)
    if x.ndim != 1:
        raise ValueError(f"trim_zeros: needs a vector, got shape {x.shape}")
    places = [place for place, there in enumerate(not_equal(x, 0).tolist()) if there]
    start = (places[0] if places else x.size) if "f" in trim.lower() else 0
    stop = (places[-1] + 1 if places else 0) if "b" in trim.lower() else x.size
    return x[start : max(start, stop)]


def mask_indices(n: int, mask_func: Callable[..., ArrayLike], k: Any = 0) -> tuple[ndarray, ...]:
    """Return the indices of an n by n matrix that a function such as :func:`triu` keeps. Waits for them.

    Examples
    --------
    >>> from forerun import np
    >>> [x.tolist() for x in np.mask_indices(2, np.triu)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return to_array(mask_func(_forerun.full((n, n), 1, int64), k)).nonzero()


def matvec(x1: ArrayLike, x2: ArrayLike, /) -> ndarray:
    """Multiply matrices by vectors, over stacks of both.

    Examples
    --------
    >>> from forerun import np
    >>> np.matvec(np.ones((2, 3)), np.arange(3.0))
    array([3., 3.])
    """
    a, b = to_arrays(x1, x2)
    return _forerun.matmul(a, b[..., None])[..., 0]


def vecmat(x1: ArrayLike, x2: ArrayLike, /) -> ndarray:
    """Multiply vectors, conjugated, by matrices, over stacks of both.

    Examples
    --------
    >>> from forerun import np
    >>> np.vecmat(np.arange(2.0), np.ones((2, 3)))
    array([1., 1., 1.])
    """
    a, b = to_arrays(x1, x2)
    return _forerun.matmul(a.conj()[..., None, :], b)[..., 0, :]


def block(arrays: Any) -> ndarray:
    """Join nested lists of arrays: the innermost along the last axis, the next along the axis before, and so on.

    Examples
    --------
    >>> from forerun import np
    >>> np.block([[np.ones((1, 2)), np.zeros((1, 1))], [np.zeros((1, 3))]])
    array([[1., 1., 0.],
           [0., 0., 0.]])
    """
    depth = _depth(arrays)
    leaves = [each.ndim for each in _leaves(arrays)]
    made = _joined(arrays, depth, max([*leaves, depth]))
    return made if depth else made.copy()


def _depth(arrays: Any) -> int:
    if isinstance(arrays, tuple):
        raise TypeError("block: lists are joined, not tuples")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("block: a list is empty")
    depths = {_depth(each) for each in arrays}
    if len(depths) > 1:
        raise ValueError(f"block: lists are nested to different depths: {sorted(depths)}")
    return 1 + depths.pop()


def _leaves(arrays: Any) -> list[ndarray]:
    return [leaf for each in arrays for leaf in _leaves(each)] if isinstance(arrays, list) else [to_array(arrays)]


def _joined(arrays: Any, depth: int, ndim: int) -> ndarray:
    if not isinstance(arrays, list):
        made = to_array(arrays)
        return made.reshape((1,) * (ndim - made.ndim) + made.shape)
    return concatenate([_joined(each, depth - 1, ndim) for each in arrays], -depth)
