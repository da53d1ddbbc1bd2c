"""Functions whose arguments or results differ between MXNet 1 and NumPy."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from forerun import np, npx
from forerun._convert import to_array
from forerun._forerun import ndarray

__all__ = [
    "BatchNorm", "Cast", "Concat", "Dropout", "ElementWiseSum", "L2Normalization", "Reshape", "SliceChannel",
    "SwapAxis", "add_n", "argmax", "argmin", "argsort", "broadcast_axes", "broadcast_axis", "clip", "concat", "concatenate", "dot",
    "elemwise_add", "elemwise_div", "elemwise_mul", "elemwise_sub", "equal", "flatten", "greater", "greater_equal",
    "identity", "lesser", "lesser_equal", "logical_and", "logical_or", "logical_xor", "max", "mean", "min", "moveaxis",
    "nansum", "norm", "not_equal", "onehot_encode", "prod", "rcbrt", "relu", "reset_arrays", "reshape", "reverse",
    "rsqrt", "scatter_nd", "slice_axis", "softmin", "sort", "split", "split_v2", "stack", "sum", "swapaxes", "tile",
    "transpose",
]  # fmt: skip

_Axis = int | Sequence[int] | None


def _written(made: ndarray, out: ndarray | None) -> ndarray:
    if out is None:
        return made
    out[...] = made
    return out


def _reduction(name: str) -> Callable[..., ndarray]:
    """Make a reduction that also takes the axes to keep."""
    function = getattr(np, name)

    def reduce(
        data: Any, axis: _Axis = None, keepdims: bool = False, exclude: bool = False, out: ndarray | None = None
    ) -> ndarray:
        x = to_array(data)
        axes = None if axis is None or axis == () else (axis,) if isinstance(axis, int) else tuple(axis)
        if exclude:
            kept = {each % x.ndim for each in axes or ()}
            axes = tuple(each for each in range(x.ndim) if each not in kept)
        return _written(function(x, axis=axes, keepdims=keepdims), out)

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"Reduce by ``{name}`` over axes, or with ``exclude`` over all others."
    return reduce


def _comparison(name: str) -> Callable[[Any, Any], ndarray]:
    """Make a comparison that gives 0 and 1 in the dtype of the operands."""
    function = getattr(np, name)

    def compare(lhs: Any, rhs: Any) -> ndarray:
        like = next((each for each in (lhs, rhs) if isinstance(each, ndarray)), None)
        made: ndarray = function(lhs, rhs)
        return made.astype("float32" if like is None else like.dtype)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"Return 1 where ``{name}`` holds, and 0 elsewhere."
    return compare


sum, mean, prod, nansum, max, min = (_reduction(name) for name in ("sum", "mean", "prod", "nansum", "max", "min"))
equal, not_equal, greater, greater_equal = (
    _comparison(name) for name in ("equal", "not_equal", "greater", "greater_equal")
)
lesser, lesser_equal = _comparison("less"), _comparison("less_equal")
logical_and, logical_or, logical_xor = (_comparison(f"logical_{name}") for name in ("and", "or", "xor"))

elemwise_add, elemwise_sub, elemwise_mul, elemwise_div = np.add, np.subtract, np.multiply, np.divide
relu = npx.relu


def add_n(*args: Any, **named: Any) -> ndarray:
    """Add arrays."""
    return npx.add_n(*args)


ElementWiseSum = add_n


def concat(*data: Any, dim: int = 1, out: ndarray | None = None) -> ndarray:
    """Join arrays along an axis, by default the second.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.concat(mx.nd.ones((1, 1)), mx.nd.zeros((1, 1)))
    array([[1., 0.]])
    """
    arrays = data[0] if len(data) == 1 and isinstance(data[0], (list, tuple)) else data
    return _written(np.concatenate(list(arrays), axis=dim), out)


Concat = concat


def concatenate(arrays: Sequence[Any], axis: int = 0, always_copy: bool = True) -> ndarray:
    """Join arrays along an axis.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.concatenate([mx.nd.ones((1,)), mx.nd.zeros((1,))])
    array([1., 0.])
    """
    return np.concatenate(list(arrays), axis=axis)


def stack(*data: Any, axis: int = 0) -> ndarray:
    """Join arrays along a new axis.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.stack(mx.nd.ones((1,)), mx.nd.zeros((1,)))
    array([[1.],
           [0.]])
    """
    arrays = data[0] if len(data) == 1 and isinstance(data[0], (list, tuple)) else data
    return np.stack(list(arrays), axis=axis)


def split(data: Any, num_outputs: int, axis: int = 1, squeeze_axis: bool = False) -> Any:
    """Split an array into equal parts along an axis; one part is not put into a list.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> [part.shape for part in mx.nd.split(mx.nd.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    parts = np.split(to_array(data), num_outputs, axis=axis)
    if squeeze_axis:
        parts = [part.squeeze(axis) for part in parts]
    return parts[0] if len(parts) == 1 else parts


SliceChannel = split


def split_v2(ary: Any, indices_or_sections: Any, axis: int = 0, squeeze_axis: bool = False) -> Any:
    """Split an array at indices, or into equal parts.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> [part.shape for part in mx.nd.split_v2(mx.nd.ones((3, 4)), (1,))]
    [(1, 4), (2, 4)]
    """
    parts = np.split(to_array(ary), indices_or_sections, axis=axis)
    return [part.squeeze(axis) for part in parts] if squeeze_axis else parts


def dot(lhs: Any, rhs: Any, transpose_a: bool = False, transpose_b: bool = False, out: Any = None) -> ndarray:
    """Sum products over the last axis of the first array and the first of the second.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((2, 3)), transpose_b=True)
    array([[3., 3.],
           [3., 3.]])
    """
    a, b = to_array(lhs), to_array(rhs)
    if transpose_a:
        a = np.moveaxis(a, 0, -1)
    if transpose_b:
        b = np.moveaxis(b, -1, 0)
    return _written(np.tensordot(a, b, axes=1), out)


def reshape(data: Any, shape: Any = None, reverse: bool = False, **named: Any) -> ndarray:
    """Return the elements under another shape. 0 copies an extent, and -1 stands for what is left.

    -2 copies all remaining extents, -3 multiplies the next two, and -4 splits the next one into the two that follow.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.reshape(mx.nd.ones((2, 3, 4)), (-3, 0)).shape
    (6, 4)
    """
    x = to_array(data)
    wanted = [shape] if isinstance(shape, int) else list(shape)
    extents = list(x.shape)
    if reverse:
        made = _extents(extents[::-1], wanted[::-1])[::-1]
    else:
        made = _extents(extents, wanted)
    return x.reshape(tuple(made))


Reshape = reshape


def _extents(extents: list[int], wanted: list[int]) -> list[int]:
    """Replace the codes of :func:`reshape` that refer to extents; -1 is left."""
    made: list[int] = []
    left = list(extents)
    codes = iter(wanted)
    for code in codes:
        if code > 0:
            made.append(code)
            del left[:1]
        elif code == 0:
            if not left:
                raise ValueError(f"reshape: {tuple(wanted)} copies more extents than {tuple(extents)} has")
            made.append(left.pop(0))
        elif code == -1:
            made.append(-1)
            del left[:1]
        elif code == -2:
            made += left
            left = []
        elif code == -3:
            if len(left) < 2:
                raise ValueError(f"reshape: {tuple(wanted)} multiplies more extents than {tuple(extents)} has")
            made.append(left[0] * left[1])
            del left[:2]
        elif code == -4:
            if not left:
                raise ValueError(f"reshape: {tuple(wanted)} splits more extents than {tuple(extents)} has")
            extent, parts = left.pop(0), [next(codes), next(codes)]
            if -1 in parts:
                parts[parts.index(-1)] = extent // builtins.max(parts[1 - parts.index(-1)], 1)
            made += parts
        else:
            raise ValueError(f"reshape: {code} is not a code")
    return made


def flatten(data: Any) -> ndarray:
    """Return the elements of each row in one dimension.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.flatten(mx.nd.ones((2, 3, 4))).shape
    (2, 12)
    """
    return npx.batch_flatten(data)


def transpose(data: Any, axes: Any = None, out: ndarray | None = None) -> ndarray:
    """Permute the dimensions; without axes, reverse them."""
    return _written(np.transpose(to_array(data), axes or None), out)


def swapaxes(data: Any, dim1: int = 0, dim2: int = 0) -> ndarray:
    """Exchange two dimensions."""
    return np.swapaxes(to_array(data), dim1, dim2)


SwapAxis = swapaxes


def moveaxis(tensor: Any, source: Any, destination: Any) -> ndarray:
    """Move dimensions to new positions."""
    return np.moveaxis(to_array(tensor), source, destination)


def tile(data: Any, reps: Any) -> ndarray:
    """Repeat an array along its dimensions."""
    return np.tile(data, reps)


def reverse(data: Any, axis: Any) -> ndarray:
    """Reverse the elements along axes."""
    return np.flip(to_array(data), axis)


def slice_axis(data: Any, axis: int, begin: int, end: int | None) -> ndarray:
    """Return the entries from ``begin`` up to, excluding, ``end`` along an axis.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.slice_axis(mx.nd.arange(4), 0, 1, 3)
    array([1., 2.])
    """
    x = to_array(data)
    return x[(builtins.slice(None),) * (axis % x.ndim) + (builtins.slice(begin, end),)]


def broadcast_axis(data: Any, axis: Any = (), size: Any = ()) -> ndarray:
    """Repeat dimensions of extent 1."""
    x = to_array(data)
    extents = list(x.shape)
    axes, sizes = ((each,) if isinstance(each, int) else tuple(each) for each in (axis, size))
    for one, extent in zip(axes, sizes, strict=True):
        extents[one] = extent
    return np.broadcast_to(x, tuple(extents))


broadcast_axes = broadcast_axis


def clip(data: Any, a_min: Any, a_max: Any, out: ndarray | None = None) -> ndarray:
    """Limit the elements.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.clip(mx.nd.arange(4), a_min=1, a_max=2)
    array([1., 1., 2., 2.])
    """
    return _written(np.clip(to_array(data), a_min, a_max), out)


def norm(data: Any, ord: int = 2, axis: _Axis = None, keepdims: bool = False, out_dtype: Any = None) -> ndarray:
    """Return the norm over axes, or of all elements."""
    made = npx.norm(data, ord, None if axis is None else axis, keepdims)  # type: ignore[arg-type]
    return made if out_dtype is None else made.astype(out_dtype)


def argmax(data: Any, axis: int | None = None, keepdims: bool = False) -> ndarray:
    """Return the indices of the largest elements, in float32."""
    return np.argmax(to_array(data), axis=axis, keepdims=keepdims).astype("float32")


def argmin(data: Any, axis: int | None = None, keepdims: bool = False) -> ndarray:
    """Return the indices of the smallest elements, in float32."""
    return np.argmin(to_array(data), axis=axis, keepdims=keepdims).astype("float32")


def _descending(x: ndarray, axis: int | None, is_ascend: bool) -> ndarray:
    return x if is_ascend else np.flip(x, 0 if axis is None else axis)


def sort(data: Any, axis: int | None = -1, is_ascend: bool = True) -> ndarray:
    """Sort along an axis, or all elements."""
    return _descending(np.sort(to_array(data), axis=axis), axis, is_ascend)


def argsort(data: Any, axis: int | None = -1, is_ascend: bool = True, dtype: Any = "float32") -> ndarray:
    """Return the indices that sort along an axis."""
    return _descending(np.argsort(to_array(data), axis=axis), axis, is_ascend).astype(dtype)


def onehot_encode(indices: Any, out: ndarray) -> ndarray:
    """Write rows with a single 1 into an array."""
    return _written(npx.one_hot(indices, out.shape[1]), out)


def softmin(data: Any, axis: int = -1) -> ndarray:
    """Return the softmax of the negative elements."""
    return npx.softmax(-to_array(data), axis=axis)


def rsqrt(data: Any) -> ndarray:
    """Return the reciprocal of the square root."""
    return 1 / np.sqrt(to_array(data))


def rcbrt(data: Any) -> ndarray:
    """Return the reciprocal of the cube root."""
    return 1 / np.cbrt(to_array(data))


def identity(data: Any) -> ndarray:
    """Return a copy, which has a gradient."""
    return to_array(data).copy()


def Cast(data: Any, dtype: Any) -> ndarray:
    """Convert the elements to a dtype."""
    return to_array(data).astype(dtype)


def Dropout(data: Any, p: float = 0.5, mode: str = "training", axes: Any = (), **named: Any) -> ndarray:
    """Set elements to 0 at random."""
    return npx.dropout(data, p, mode, axes)


def BatchNorm(data: Any, gamma: Any, beta: Any, moving_mean: Any, moving_var: Any, **named: Any) -> Any:
    """Normalise over batches, as ``npx.batch_norm`` does."""
    return npx.batch_norm(data, gamma, beta, moving_mean, moving_var, **named)


def L2Normalization(data: Any, eps: float = 1e-10, mode: str = "instance") -> ndarray:
    """Divide by the norm: of each sample, or for each sample over the channels or over the positions."""
    x = to_array(data)
    axes = {"instance": tuple(range(1, x.ndim)), "channel": (1,), "spatial": tuple(range(2, x.ndim))}
    if mode not in axes:
        raise ValueError(f"L2Normalization: mode must be one of {', '.join(axes)}, got {mode!r}")
    return x / np.sqrt((x * x).sum(axis=axes[mode], keepdims=True) + eps)


def scatter_nd(data: Any, indices: Any, shape: Any) -> ndarray:
    """Write elements into an array of zeros, at indices.

    Examples
    --------
    >>> from forerun import mxnet as mx
    >>> mx.nd.scatter_nd(mx.nd.array([1, 2]), mx.nd.array([[2, 0]]), (3,))
    array([2., 0., 1.])
    """
    values = to_array(data)
    places = to_array(indices).astype("int64")
    zeros = np.zeros(tuple(shape), values.dtype, device=values.device)
    return npx.index_update(zeros, places, values)


def reset_arrays(*arrays: ndarray, num_arrays: int | None = None) -> None:
    """Set arrays to 0."""
    for array in arrays:
        array[...] = 0
