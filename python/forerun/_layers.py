"""Functions for layers, with MXNet's names and arguments; part of ``npx``."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Literal, SupportsIndex, overload

from forerun import _forerun
from forerun._convert import to_array, to_arrays
from forerun._forerun import ndarray
from forerun._pointwise import exp, isfinite, log, where
from forerun._sparse import dense_instead
from forerun._types import ArrayLike, AxisLike, DTypeLike, Number

__all__ = [
    "activation",
    "batch_dot",
    "batch_norm",
    "dropout",
    "embedding",
    "fully_connected",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "log_softmax",
    "logsumexp",
    "one_hot",
    "pick",
    "rms_norm",
    "softmax",
    "sync_batch_norm",
]


def softmax(
    data: ArrayLike, axis: SupportsIndex = -1, temperature: float | None = None, dtype: DTypeLike | None = None
) -> ndarray:
    """Compute the softmax along an axis.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.softmax(np.zeros((2, 4)))
    array([[0.25, 0.25, 0.25, 0.25],
           [0.25, 0.25, 0.25, 0.25]])
    """
    return _forerun.softmax(_tempered(data, temperature, dtype), axis)


def log_softmax(
    data: ArrayLike, axis: SupportsIndex = -1, temperature: float | None = None, dtype: DTypeLike | None = None
) -> ndarray:
    """Compute the logarithm of the softmax along an axis.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.log_softmax(np.array([0.0, 1000.0]))
    array([-1000.,     0.])
    """
    return _forerun.log_softmax(_tempered(data, temperature, dtype), axis)


def logsumexp(data: ArrayLike, axis: AxisLike = -1, keepdims: bool = False) -> ndarray:
    """Compute the logarithm of the sum of exponentials over axes, without overflow.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.logsumexp(np.array([1000.0, 1000.0]))
    array(1000.6932)
    """
    x = to_array(data)
    most = x.detach().max(axis, keepdims=True)
    # infinity - infinity would be NaN.
    most = where(isfinite(most), most, 0)
    made = log(exp(x - most).sum(axis, keepdims=True)) + most
    if keepdims:
        return made
    return made.squeeze(tuple(range(x.ndim)) if axis is None else axis)


def _tempered(data: ArrayLike, temperature: float | None, dtype: DTypeLike | None) -> ndarray:
    x = to_array(data, dtype)
    return x if temperature in (None, 1.0) else x / temperature


def activation(data: ArrayLike, act_type: str = "relu") -> ndarray:
    """Apply an activation function to every element.

    One of ``relu``, ``sigmoid``, ``tanh``, ``softrelu``, ``softsign``, ``silu``, ``gelu`` (by the hyperbolic
    tangent), ``gelu_erf`` (by the error function), ``selu``, ``mish`` and ``log_sigmoid``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.activation(np.array([-1.0, 1.0]), act_type="softsign")
    array([-0.5,  0.5])
    """
    if act_type == "log_sigmoid":
        return -_forerun.activation(-to_array(data), "softrelu")
    if act_type == "mish":
        x = to_array(data)
        return x * _forerun.activation(_forerun.activation(x, "softrelu"), "tanh")
    return _forerun.activation(data, act_type)


def leaky_relu(
    data: ArrayLike, gamma: ArrayLike | None = None, act_type: str = "leaky", slope: float = 0.25
) -> ndarray:
    """Apply an activation with a slope for negative elements.

    ``leaky`` and ``elu`` have the slope given, ``prelu`` has one per channel (axis 1) in ``gamma``; ``selu``,
    ``gelu`` (by the error function) and ``gelu_tanh`` (by the hyperbolic tangent) have none.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.leaky_relu(np.array([-1.0, 1.0]), slope=0.1)
    array([-0.1,  1. ])
    """
    if act_type != "prelu":
        if act_type not in ("leaky", "elu", "selu", "gelu", "gelu_tanh"):
            raise ValueError(f"leaky_relu: unknown activation '{act_type}'")
        return _forerun.activation(data, "gelu_erf" if act_type == "gelu" else act_type, slope)
    if gamma is None:
        raise ValueError("leaky_relu: prelu needs gamma")
    return _forerun.prelu(data, gamma)


def dropout(data: ArrayLike, p: float = 0.5, mode: str = "training", axes: Sequence[SupportsIndex] = ()) -> ndarray:
    """Set elements to zero with probability ``p`` and scale the rest up, so that the mean stays.

    Applies only in training mode, or with ``mode="always"``; otherwise the result is a copy. Elements along ``axes``
    are dropped together.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.dropout(np.ones((3,)))
    array([1., 1., 1.])
    >>> set(npx.dropout(np.ones((100,)), mode="always").tolist()) <= {0.0, 2.0}
    True
    """
    if mode not in ("training", "always"):
        raise ValueError(f"dropout: mode must be 'training' or 'always', not '{mode}'")
    return _forerun.dropout(data, p, axes, mode == "always" or _forerun.is_training())


def fully_connected(
    x: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    num_hidden: SupportsIndex | None = None,
    no_bias: bool = False,
    flatten: bool = True,
) -> ndarray:
    """Multiply by a transposed weight and add a bias.

    With ``flatten`` all dimensions but the first are flattened; otherwise only the last one is multiplied.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.fully_connected(np.ones((1, 2)), np.ones((3, 2)), np.ones((3,)))
    array([[3., 3., 3.]])
    """
    x, matrix = to_arrays(x, weight)
    if num_hidden is not None and matrix.shape[:1] != (num_hidden,):
        raise ValueError(f"fully_connected: weight of shape {matrix.shape} does not have {num_hidden} rows")
    return _forerun.fully_connected(x, matrix, None if no_bias else bias, flatten)


def batch_dot(a: ArrayLike, b: ArrayLike, transpose_a: bool = False, transpose_b: bool = False) -> ndarray:
    """Multiply two stacks of matrices.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.batch_dot(np.ones((5, 2, 3)), np.ones((5, 4, 3)), transpose_b=True).shape
    (5, 2, 4)
    """
    left, right = to_arrays(a, b)
    if left.ndim < 3 or right.ndim < 3:
        raise ValueError(f"batch_dot: needs two stacks of matrices, got {left.shape} and {right.shape}")
    return _forerun.matmul(_turned(left) if transpose_a else left, _turned(right) if transpose_b else right)


def _turned(x: ndarray) -> ndarray:
    return x.transpose([*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def embedding(
    data: ArrayLike,
    weight: ArrayLike,
    input_dim: SupportsIndex | None = None,
    output_dim: SupportsIndex | None = None,
    dtype: DTypeLike | None = None,
    sparse_grad: bool = False,
) -> ndarray:
    """Look up rows of a table by indices.

    ``dtype`` is that of the table, if given. ``sparse_grad`` warns: gradients are dense.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.embedding(np.array([2, 0]), np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
    array([[4., 5.],
           [0., 1.]])
    """
    dense_instead("embedding", sparse_grad=sparse_grad)
    indices, table = to_arrays(data, weight)
    if dtype is not None and table.dtype != _forerun.dtype(dtype):
        raise ValueError(f"embedding: the weight is {table.dtype.name}, not {dtype}")
    for axis, extent in enumerate((input_dim, output_dim)):
        if extent is not None and table.shape[axis : axis + 1] != (extent,):
            raise ValueError(f"embedding: axis {axis} of a weight of shape {table.shape} does not have extent {extent}")
    return _forerun.embedding(indices, table)


def pick(
    data: ArrayLike, index: ArrayLike, axis: SupportsIndex = -1, mode: str = "clip", keepdims: bool = False
) -> ndarray:
    """Select one element along an axis for each of the other positions, by ``index``.

    An index out of bounds is clipped or wrapped, or with ``mode="raise"`` raises when the result is read; so does a
    negative index.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.pick(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1]))
    array([1., 4.])
    """
    return _forerun.pick(data, index, axis, keepdims, mode)


def one_hot(
    data: ArrayLike,
    depth: SupportsIndex,
    on_value: Number = 1.0,
    off_value: Number = 0.0,
    dtype: DTypeLike = "float32",
) -> ndarray:
    """Encode each index as a vector along a new last dimension: one value at the index, another elsewhere.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.one_hot(np.array([1, 0]), 3)
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    return _forerun.one_hot(data, depth, on_value, off_value, dtype)


def layer_norm(
    data: ArrayLike, gamma: ArrayLike, beta: ArrayLike, axis: SupportsIndex = -1, eps: float = 1e-5
) -> ndarray:
    """Normalise an axis to mean 0 and variance 1, then scale by ``gamma`` and shift by ``beta``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.layer_norm(np.array([[1.0, 3.0]]), np.ones((2,)), np.zeros((2,)), eps=0.0)
    array([[-1.,  1.]])
    """
    return _forerun.layer_norm(data, gamma, beta, axis, eps)


def rms_norm(data: ArrayLike, gamma: ArrayLike, axis: SupportsIndex = -1, eps: float = 1e-5) -> ndarray:
    """Divide by the root of the mean square along an axis, then scale by ``gamma``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.rms_norm(np.array([[1.0, 7.0]]), np.ones((2,)), eps=0.0)
    array([[0.2, 1.4]])
    """
    return _forerun.rms_norm(data, gamma, axis, eps)


def group_norm(
    data: ArrayLike, gamma: ArrayLike, beta: ArrayLike, num_groups: SupportsIndex = 1, eps: float = 1e-3
) -> ndarray:
    """Normalise groups of channels of each sample to mean 0 and variance 1, then scale and shift every channel.

    Channels are axis 1; ``gamma`` and ``beta`` have one element per channel.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.array([[1.0, 3.0, 10.0, 30.0]])
    >>> npx.group_norm(x, np.ones((4,)), np.zeros((4,)), num_groups=2, eps=0.0)
    array([[-1.,  1., -1.,  1.]])
    """
    return _forerun.group_norm(data, gamma, beta, num_groups, eps)


def instance_norm(
    data: ArrayLike, gamma: ArrayLike, beta: ArrayLike, eps: float = 1e-3, axis: SupportsIndex = 1
) -> ndarray:
    """Normalise every channel of each sample to mean 0 and variance 1, then scale by ``gamma`` and shift by ``beta``.

    Samples are axis 0 and channels ``axis``; ``gamma`` and ``beta`` have one element per channel.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.array([[[1.0, 3.0], [10.0, 30.0]]])
    >>> npx.instance_norm(x, np.ones((2,)), np.zeros((2,)), eps=0.0)
    array([[[-1.,  1.],
            [-1.,  1.]]])
    """
    return _forerun.instance_norm(data, gamma, beta, axis, eps)


@overload
def batch_norm(
    x: ArrayLike,
    gamma: ArrayLike,
    beta: ArrayLike,
    running_mean: ndarray,
    running_var: ndarray,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: Literal[False] = False,
    axis: SupportsIndex = 1,
) -> ndarray: ...


@overload
def batch_norm(
    x: ArrayLike,
    gamma: ArrayLike,
    beta: ArrayLike,
    running_mean: ndarray,
    running_var: ndarray,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    *,
    output_mean_var: Literal[True],
    axis: SupportsIndex = 1,
) -> tuple[ndarray, ndarray, ndarray]: ...


def batch_norm(
    x: ArrayLike,
    gamma: ArrayLike,
    beta: ArrayLike,
    running_mean: ndarray,
    running_var: ndarray,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: SupportsIndex = 1,
) -> ndarray | tuple[ndarray, ndarray, ndarray]:
    """Normalise every channel to mean 0 and variance 1, then scale by ``gamma`` and shift by ``beta``.

    In training mode the mean and variance are the batch's, and the running ones are updated in place with factor ``1 -
    momentum``; otherwise the running ones are used. With ``output_mean_var`` they are returned as well.

    Examples
    --------
    >>> from forerun import np, npx
    >>> ones, zeros = np.ones((1,)), np.zeros((1,))
    >>> npx.batch_norm(np.array([[2.0], [4.0]]), ones, zeros, np.full((1,), 3.0), ones, eps=0.0)
    array([[-1.],
           [ 1.]])
    """
    training = _forerun.is_training() and not use_global_stats
    made = _forerun.batch_norm(x, gamma, beta, running_mean, running_var, axis, eps, momentum, fix_gamma, training)
    return made if output_mean_var else made[0]


def sync_batch_norm(
    x: ArrayLike,
    gamma: ArrayLike,
    beta: ArrayLike,
    running_mean: ndarray,
    running_var: ndarray,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    ndev: SupportsIndex = 1,
    key: str = "",
) -> ndarray | tuple[ndarray, ndarray, ndarray]:
    """Normalise as :func:`batch_norm` does along axis 1, with the statistics of the batches of all devices.

    Parameters
    ----------
    x, gamma, beta, running_mean, running_var, eps, momentum, fix_gamma, use_global_stats, output_mean_var
        As for :func:`batch_norm`.
    ndev
        The number of devices; only 1 is supported.
    key
        Has no effect.

    Examples
    --------
    >>> from forerun import np, npx
    >>> ones, zeros = np.ones((1,)), np.zeros((1,))
    >>> npx.sync_batch_norm(np.array([[2.0], [4.0]]), ones, zeros, np.full((1,), 3.0), ones, eps=0.0)
    array([[-1.],
           [ 1.]])
    """
    if index(ndev) != 1:
        raise ValueError(f"sync_batch_norm: ndev must be 1, got {ndev}")
    training = _forerun.is_training() and not use_global_stats
    made = _forerun.batch_norm(x, gamma, beta, running_mean, running_var, 1, eps, momentum, fix_gamma, training)
    return made if output_mean_var else made[0]
