"""New tensors, and functions of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import np
from forerun._dialect.tensor import to_array
from forerun._forerun import ndarray
from forerun.paddle._place import PlaceLike, to_device
from forerun.paddle._tensor import Tensor


def randn(shape: Any, dtype: Any = None) -> Tensor:
    """Draw elements from the standard normal distribution.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.randn(shape=(2, 3)).shape
    [2, 3]
    """
    return Tensor._of(np.random.normal(size=shape, dtype=dtype))


def rand(shape: Any, dtype: Any = None) -> Tensor:
    """Draw elements from the uniform distribution over [0, 1).

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.rand((2, 3)).shape
    [2, 3]
    """
    return Tensor._of(np.random.uniform(size=shape, dtype=dtype))


def normal(mean: float = 0.0, std: float = 1.0, shape: Any = (1,)) -> Tensor:
    """Draw elements from a normal distribution.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.normal(0, 0.01, (2, 3)).shape
    [2, 3]
    """
    return Tensor._of(np.random.normal(mean, std, shape))


def uniform(shape: Any, dtype: Any = None, min: float = -1.0, max: float = 1.0) -> Tensor:
    """Draw elements from a uniform distribution.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.uniform((2, 3)).shape
    [2, 3]
    """
    return Tensor._of(np.random.uniform(min, max, shape, dtype))


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    """Make a tensor of zeros.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.zeros([2]).numpy()
    array([0., 0.], dtype=float32)
    """
    return Tensor._of(np.zeros(shape, dtype))


def ones(shape: Any, dtype: Any = None) -> Tensor:
    """Make a tensor of ones.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.ones((1, 2)).numpy()
    array([[1., 1.]], dtype=float32)
    """
    return Tensor._of(np.ones(shape, dtype))


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """Make a tensor of one number; integers become floats unless a dtype is given.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.full([2], 7).numpy()
    array([7., 7.], dtype=float32)
    """
    if dtype is None and not isinstance(fill_value, bool):
        dtype = np.float32
    return Tensor._of(np.full(shape, fill_value, dtype))


def arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None) -> Tensor:
    """Return numbers from ``start`` up to, excluding, ``end``.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.arange(3).numpy()
    array([0, 1, 2])
    """
    return Tensor._of(np.arange(start, end, step, dtype))


def eye(num_rows: int, num_columns: int | None = None, dtype: Any = None) -> Tensor:
    """Make a matrix with ones on its diagonal.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.eye(2).shape
    [2, 2]
    """
    return Tensor._of(np.eye(num_rows, num_columns, dtype=dtype))


def to_tensor(data: Any, dtype: Any = None, place: PlaceLike = None, stop_gradient: bool = True) -> Tensor:
    """Create a tensor from a copy of numbers, lists, a NumPy array or a tensor.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.to_tensor([1.5, 2.5])
    Tensor(shape=[2], dtype=float32, place=Place(cpu), stop_gradient=True,
           [1.5, 2.5])
    """
    value = to_array(data)
    if isinstance(value, list) and any(isinstance(part, ndarray) for part in value):
        value = np.stack(value)
    array = np.array(value, dtype, device=None if place is None else to_device(place))
    made: Tensor = Tensor._of(array)
    made.stop_gradient = stop_gradient
    return made


def matmul(x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False) -> Tensor:
    """Multiply matrices, or stacks of them, optionally transposed.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.matmul(paddle.ones((1, 2)), paddle.ones((3, 2)), transpose_y=True).shape
    [1, 3]
    """

    def product(a: ndarray, b: ndarray) -> ndarray:
        a = np.swapaxes(a, -1, -2) if transpose_x and a.ndim > 1 else a
        b = np.swapaxes(b, -1, -2) if transpose_y and b.ndim > 1 else b
        return np.matmul(a, b)

    return Tensor._run(product, x, y)


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two matrices.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.mm(paddle.ones((1, 2)), paddle.ones((2, 1))).item()
    2.0
    """
    return matmul(input, mat2)


def _unary(name: str) -> Callable[[Tensor], Tensor]:
    def function(x: Tensor) -> Tensor:
        made: Tensor = getattr(x, name)()
        return made

    function.__name__ = name
    function.__doc__ = getattr(Tensor, name).__doc__
    return function


abs = _unary("abs")
exp = _unary("exp")
log = _unary("log")
sqrt = _unary("sqrt")
square = _unary("square")
tanh = _unary("tanh")


def sum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False) -> Tensor:
    """Sum all elements, or those along dimensions.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.sum(paddle.ones((2, 3))).item()
    6.0
    """
    return x.sum(axis, dtype, keepdim)


def mean(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    """Return the mean of all elements, or of those along dimensions.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.mean(paddle.to_tensor([1.0, 3.0])).item()
    2.0
    """
    return x.mean(axis, keepdim)


def max(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    """Return the largest element, or the largest along dimensions.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.max(paddle.to_tensor([1.0, 3.0])).item()
    3.0
    """
    return x.max(axis, keepdim)


def argmax(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    """Return the index of the largest element.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.argmax(paddle.to_tensor([1.0, 3.0])).item()
    1
    """
    return x.argmax(axis, keepdim)


def reshape(x: Tensor, shape: Any) -> Tensor:
    """Return the elements with another shape.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.reshape(paddle.arange(4), [2, -1]).shape
    [2, 2]
    """
    return x.reshape(shape)


def concat(x: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Concatenate tensors along a dimension.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.concat([paddle.ones([1]), paddle.zeros([1])]).numpy()
    array([1., 0.], dtype=float32)
    """
    return Tensor._run(lambda *arrays: np.concatenate(arrays, axis=axis), *x)


def stack(x: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Stack tensors along a new dimension.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.stack([paddle.ones([1]), paddle.zeros([1])]).shape
    [2, 1]
    """
    return Tensor._run(lambda *arrays: np.stack(arrays, axis=axis), *x)


def where(condition: Tensor, x: Any, y: Any) -> Tensor:
    """Choose from two tensors, element by element.

    Examples
    --------
    >>> from forerun import paddle
    >>> x = paddle.to_tensor([-1.0, 2.0])
    >>> paddle.where(x > 0, x, paddle.zeros([2])).numpy()
    array([0., 2.], dtype=float32)
    """
    return Tensor._run(np.where, condition, x, y)


def is_tensor(x: object) -> bool:
    """Return whether an object is a tensor.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.is_tensor(paddle.ones([1])), paddle.is_tensor(1)
    (True, False)
    """
    return isinstance(x, Tensor)
