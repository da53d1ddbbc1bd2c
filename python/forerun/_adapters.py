"""MXNet's variants of NumPy functions, and its names for them; part of ``npx``."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from operator import index
from typing import Any, SupportsIndex

from forerun import _forerun
from forerun._convert import floating, to_array, to_arrays
from forerun._forerun import dtype, int64, ndarray
from forerun._pointwise import absolute, greater_equal, isfinite, less, sign, trunc, where
from forerun._types import ArrayLike, AxisLike, DTypeLike, ShapeLike

__all__ = [
    "add_n",
    "batch_flatten",
    "cast",
    "from_dlpack",
    "from_numpy",
    "is_np_array",
    "is_np_shape",
    "nonzero",
    "norm",
    "pad",
    "reshape",
    "reshape_like",
    "round_ste",
    "savez",
    "set_np_default_dtype",
    "shape_array",
    "sign_ste",
    "slice",
    "slice_like",
    "smooth_l1",
    "stop_gradient",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
]

Ends = int | None | Sequence[int | None]


def add_n(*args: ArrayLike) -> ndarray:
    """Add arrays.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.add_n(np.ones(2), np.ones(2), np.ones(2))
    array([3., 3.])
    """
    if not args:
        raise ValueError("add_n: needs at least one array")
    first, *others = to_arrays(*args)
    if not others:
        return first.copy()
    for other in others:
        if other.shape != first.shape:
            raise ValueError(f"add_n: shapes differ: {first.shape} and {other.shape}")
        first = first + other
    return first


def batch_flatten(data: ArrayLike) -> ndarray:
    """Flatten all dimensions but the first.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.batch_flatten(np.zeros((2, 3, 4))).shape
    (2, 12)
    """
    x = to_array(data)
    if x.ndim < 1:
        raise ValueError("batch_flatten: an array without dimensions has no batch")
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


def cast(data: ArrayLike, dtype: DTypeLike) -> ndarray:
    """Convert elements to another dtype.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.cast(np.array([1.5, 2.5]), "int32")
    array([1, 2], dtype=int32)
    """
    return to_array(data).astype(dtype)


def from_dlpack(dlpack: Any) -> ndarray:
    """Create an array from another library's array or its DLPack capsule.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.from_dlpack(npx.to_dlpack_for_read(np.ones(2)))
    array([1., 1.])
    """
    if hasattr(dlpack, "__dlpack__"):
        from forerun import np

        return np.from_dlpack(dlpack)
    return _forerun.from_capsule(dlpack)


def from_numpy(ndarray: Any, zero_copy: bool = True) -> _forerun.ndarray:
    """Create an array from a NumPy array. Elements are always copied.

    Examples
    --------
    >>> import numpy
    >>> from forerun import npx
    >>> npx.from_numpy(numpy.ones(2, "float32"))
    array([1., 1.])
    """
    return _forerun.from_numpy(ndarray)


def to_dlpack_for_read(data: ndarray) -> Any:
    """Return a DLPack capsule of the elements; waits for them.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.from_dlpack(npx.to_dlpack_for_read(np.ones(2)))
    array([1., 1.])
    """
    return data.__dlpack__()


def to_dlpack_for_write(data: ndarray) -> Any:
    """Return a DLPack capsule of a copy of the elements; waits for them.

    A write to it does not change the array, because values are immutable.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.from_dlpack(npx.to_dlpack_for_write(np.ones(2)))
    array([1., 1.])
    """
    return data.copy().__dlpack__()


def is_np_array() -> bool:
    """Return whether arrays are NumPy's: always.

    Examples
    --------
    >>> from forerun import npx
    >>> npx.is_np_array()
    True
    """
    return True


def is_np_shape() -> bool:
    """Return whether shapes are NumPy's: always.

    Examples
    --------
    >>> from forerun import npx
    >>> npx.is_np_shape()
    True
    """
    return True


def set_np_default_dtype(is_np_default_dtype: bool = True) -> bool:
    """Set whether the default float is float64, as in NumPy; return the former setting.

    Examples
    --------
    >>> from forerun import npx
    >>> npx.set_np_default_dtype(False)
    False
    """
    former = _forerun.default_float() == dtype("float64")
    _forerun.set_default_float(is_np_default_dtype)
    return former


def nonzero(data: ArrayLike) -> ndarray:
    """Find the coordinates of the elements that are not zero, one row each. Waits for their number.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.nonzero(np.array([[1.0, 0.0], [0.0, 2.0]]))
    array([[0, 0],
           [1, 1]])
    """
    from forerun import np

    return np.argwhere(to_array(data))


def norm(data: ArrayLike, ord: float = 2, axis: AxisLike = None, keepdims: bool = False) -> ndarray:
    """Compute vector norms over axes: the root of the sum of squares, or the sum of absolute values.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.norm(np.array([[3.0, 4.0]]), axis=1)
    array([5.])
    """
    if ord not in (1, 2):
        raise ValueError(f"norm: ord must be 1 or 2, not {ord}")
    from forerun import np

    return np.linalg.vector_norm(floating(to_array(data)), ord=ord, axis=axis, keepdims=keepdims)


def pad(data: ArrayLike, mode: str = "constant", pad_width: Sequence[int] = (), constant_value: float = 0.0) -> ndarray:
    """Pad an array.

    Parameters
    ----------
    data
        The array.
    mode
        ``"constant"``, ``"edge"`` or ``"reflect"``.
    pad_width
        Elements before and after each axis: two numbers per axis, one after another.
    constant_value
        What is added with ``"constant"``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.pad(np.array([1.0, 2.0]), pad_width=(1, 0))
    array([0., 1., 2.])
    """
    x = to_array(data)
    if mode not in ("constant", "edge", "reflect"):
        raise ValueError(f"pad: mode must be constant, edge or reflect, not {mode!r}")
    if len(pad_width) != 2 * x.ndim:
        raise ValueError(f"pad: pad_width needs {2 * x.ndim} numbers for shape {x.shape}, got {tuple(pad_width)}")
    from forerun import np

    pairs = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    return np.pad(x, pairs, mode, **({"constant_values": constant_value} if mode == "constant" else {}))


def _codes(shape: tuple[int, ...], wanted: Sequence[int]) -> list[int]:
    """Return the extents that codes stand for; one may be -1."""
    made: list[int] = []
    left, codes = list(shape), list(wanted)

    def next_extent(code: int) -> int:
        if not left:
            raise ValueError(f"reshape: code {code} in {tuple(wanted)} has no dimension left of {shape}")
        return left.pop(0)

    while codes:
        code = codes.pop(0)
        if code >= -1:
            made.append(code)
            if left:
                left.pop(0)
        elif code == -2:
            made.append(next_extent(code))
        elif code == -3:
            if (extent := next_extent(code)) != 1:
                raise ValueError(f"reshape: code -3 skips dimensions of extent 1, not {extent} of {shape}")
        elif code == -4:
            made += left
            left = []
        elif code == -5:
            made.append(next_extent(code) * next_extent(code))
        elif code == -6 and len(codes) >= 2:
            extent, first, second = next_extent(code), codes.pop(0), codes.pop(0)
            first = extent // second if first == -1 and second else first
            second = extent // first if second == -1 and first else second
            if first * second != extent:
                raise ValueError(f"reshape: an extent of {extent} is not {first} x {second}: {shape}")
            made += [first, second]
        else:
            raise ValueError(f"reshape: unknown code {code} in {tuple(wanted)}")
    return made


def reshape(a: ArrayLike, newshape: ShapeLike, reverse: bool = False, order: str = "C") -> ndarray:
    """Give an array another shape, with MXNet's codes.

    -1 is inferred; -2 copies a dimension; -3 skips a dimension of extent 1; -4 copies all remaining dimensions;
    -5 joins two dimensions; -6 splits one into the next two numbers, one of which may be -1.

    Parameters
    ----------
    a
        The array.
    newshape
        Extents and codes.
    reverse
        Whether to read codes and dimensions from the last one on; the code -6 then follows its two numbers.
    order
        ``"C"``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.reshape(np.zeros((2, 3, 4, 5)), (-5, -6, 2, -1, -4)).shape
    (6, 2, 2, 5)
    """
    x = to_array(a)
    if order != "C":
        raise ValueError(f"reshape: order must be 'C', not {order!r}")
    wanted = [index(newshape)] if isinstance(newshape, SupportsIndex) else [index(code) for code in newshape]
    if not reverse:
        return x.reshape(*_codes(x.shape, wanted))
    return x.reshape(*_codes(x.shape[::-1], wanted[::-1])[::-1])


def _range(op: str, begin: SupportsIndex | None, end: SupportsIndex | None, ndim: int) -> tuple[int, int]:
    first = 0 if begin is None else index(begin)
    last = ndim if end is None else index(end)
    first, last = (place + ndim if place < 0 else place for place in (first, last))
    if not 0 <= first <= last <= ndim:
        raise ValueError(f"{op}: dimensions {begin} to {end} are not among {ndim}")
    return first, last


def reshape_like(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_begin: SupportsIndex | None = None,
    lhs_end: SupportsIndex | None = None,
    rhs_begin: SupportsIndex | None = None,
    rhs_end: SupportsIndex | None = None,
) -> ndarray:
    """Give an array the shape of another one, or some of its dimensions.

    Dimensions from ``lhs_begin`` to ``lhs_end`` are replaced by those of ``rhs`` from ``rhs_begin`` to ``rhs_end``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.reshape_like(np.zeros((6, 5)), np.zeros((2, 3, 4)), 0, 1, 0, 2).shape
    (2, 3, 5)
    """
    x, like = to_arrays(lhs, rhs)
    first, last = _range("reshape_like", lhs_begin, lhs_end, x.ndim)
    start, stop = _range("reshape_like", rhs_begin, rhs_end, like.ndim)
    if math.prod(x.shape[first:last]) != math.prod(like.shape[start:stop]):
        raise ValueError(
            f"reshape_like: dimensions {first} to {last} of {x.shape} do not fit dimensions {start} to {stop} of "
            f"{like.shape}"
        )
    return x.reshape(*x.shape[:first], *like.shape[start:stop], *x.shape[last:])


def _ends(value: Ends) -> Sequence[int | None]:
    return value if isinstance(value, Sequence) else (value,)


def slice(data: ArrayLike, begin: Ends, end: Ends, step: Ends = ()) -> ndarray:
    """Return a part of an array: a slice of each of the first axes.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.slice(np.arange(12.0).reshape(3, 4), begin=(0, 1), end=(2, None), step=(1, 2))
    array([[1., 3.],
           [5., 7.]])
    """
    x = to_array(data)
    firsts, lasts, steps = _ends(begin), _ends(end), _ends(step)
    steps = steps or (None,) * len(firsts)
    if not len(firsts) == len(lasts) == len(steps) <= x.ndim:
        raise ValueError(f"slice: begin {begin}, end {end} and step {step} do not fit shape {x.shape}")
    parts = [builtins.slice(*each) for each in zip(firsts, lasts, steps, strict=True)]
    return x[tuple(parts)].copy()


def slice_like(data: ArrayLike, shape_like: ArrayLike, axes: SupportsIndex | Sequence[SupportsIndex] = ()) -> ndarray:
    """Return the first elements along each axis, as many as another array has.

    Parameters
    ----------
    data
        The array.
    shape_like
        The array whose extents count.
    axes
        The axes that are shortened; all if empty.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.slice_like(np.zeros((3, 4)), np.zeros((2, 2)), axes=1).shape
    (3, 2)
    """
    x, like = to_arrays(data, shape_like)
    named = [index(axis) for axis in axes] if isinstance(axes, Sequence) else [index(axes)]
    places = [axis % x.ndim if -x.ndim <= axis < x.ndim else x.ndim for axis in named] or list(range(x.ndim))
    ends = list(x.shape)
    for place in places:
        if place >= min(x.ndim, like.ndim) or like.shape[place] > x.shape[place]:
            raise ValueError(f"slice_like: axes {axes} of shape {like.shape} do not fit {x.shape}")
        ends[place] = like.shape[place]
    return x[tuple(builtins.slice(end) for end in ends)].copy()


def shape_array(data: ArrayLike) -> ndarray:
    """Return the shape as an int64 array.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.shape_array(np.zeros((2, 3)))
    array([2, 3])
    """
    x = to_array(data)
    return to_array(list(x.shape), int64, x.device) if x.ndim else _forerun.full((0,), 0, int64, x.device)


def savez(file: Any, *args: ArrayLike, **kwargs: ArrayLike) -> None:
    """Write arrays to a file in NumPy's format ``.npz``; waits for them.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import np, npx
    >>> path = os.path.join(tempfile.mkdtemp(), "arrays.npz")
    >>> npx.savez(path, x=np.ones(2))
    >>> len(npx.load(path))
    1
    """
    from forerun import np

    np.savez(file, *args, **kwargs)


def smooth_l1(data: ArrayLike, scalar: float = 1.0) -> ndarray:
    """Compute a loss that is quadratic near zero, and else linear.

    ``(s x)**2 / 2`` where ``abs(x) < 1 / s**2``, else ``abs(x) - 0.5 / s**2``, for the scalar ``s``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.smooth_l1(np.array([0.5, -2.0]))
    array([0.125, 1.5  ])
    """
    x = floating(to_array(data))
    square = float(scalar) ** 2
    far = absolute(x)
    return where(less(far, 1 / square), x * x * (square / 2), far - 0.5 / square)


def stop_gradient(data: ArrayLike) -> ndarray:
    """Return the array without its gradient.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.stop_gradient(np.ones(2))
    array([1., 1.])
    """
    return to_array(data).detach()


def _straight(x: ndarray, made: ndarray) -> ndarray:
    """Return values whose gradient goes to ``x`` unchanged."""
    still = x.detach()
    return where(isfinite(still), x - still, 0) + made


def round_ste(data: ArrayLike) -> ndarray:
    """Round to the nearest integer, halves away from zero; the gradient passes unchanged.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.round_ste(np.array([0.5, -1.2]))
    array([ 1., -1.])
    """
    x = floating(to_array(data))
    still = x.detach()
    whole = trunc(still)
    return _straight(x, where(greater_equal(absolute(still - whole), 0.5), whole + sign(still), whole))


def sign_ste(data: ArrayLike) -> ndarray:
    """Return the sign; the gradient passes unchanged.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.sign_ste(np.array([0.5, -1.2]))
    array([ 1., -1.])
    """
    x = floating(to_array(data))
    return _straight(x, sign(x.detach()))
