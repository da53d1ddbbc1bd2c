"""Functions of tensors: the methods under their own names, and those that take several tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import np, npx
from forerun.torch._tensor import Tensor


def _unary(name: str) -> Callable[[Tensor], Tensor]:
    def function(input: Tensor) -> Tensor:
        made: Tensor = getattr(input, name)()
        return made

    function.__name__ = name
    function.__doc__ = getattr(Tensor, name).__doc__
    return function


abs = _unary("abs")
ceil = _unary("ceil")
exp = _unary("exp")
floor = _unary("floor")
isfinite = _unary("isfinite")
isinf = _unary("isinf")
isnan = _unary("isnan")
log = _unary("log")
relu = _unary("relu")
round = _unary("round")
sigmoid = _unary("sigmoid")
sign = _unary("sign")
sqrt = _unary("sqrt")
square = _unary("square")
t = _unary("t")
tanh = _unary("tanh")


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Multiply matrices, or stacks of them.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.matmul(torch.eye(2), torch.ones(2))
    tensor([1., 1.])
    """
    return Tensor._run(np.matmul, input, other)


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two matrices.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.mm(torch.ones(1, 2), torch.ones(2, 1))
    tensor([[2.]])
    """
    return _product("mm", 2, input, mat2)


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Multiply two stacks of matrices.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.bmm(torch.ones(3, 1, 2), torch.ones(3, 2, 1)).shape
    (3, 1, 1)
    """
    return _product("bmm", 3, input, mat2)


def _product(name: str, rank: int, a: Tensor, b: Tensor) -> Tensor:
    if a.ndim != rank or b.ndim != rank:
        raise RuntimeError(f"{name}: needs {rank} dimensions, got {a.shape} x {b.shape}")
    return matmul(a, b)


def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """Return the dot product of two vectors.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.dot(torch.ones(3), torch.ones(3))
    tensor(3.)
    """
    return Tensor._run(np.dot, input, tensor)


def pow(input: Tensor, exponent: Any) -> Tensor:
    """Raise to a power.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.pow(torch.tensor([3.0]), 2)
    tensor([9.])
    """
    return input.pow(exponent)


def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum all elements, or those along dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.sum(torch.ones(2, 3), dim=1)
    tensor([3., 3.])
    """
    return input.sum(dim, keepdim, dtype)


def mean(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the mean of all elements, or of those along dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.mean(torch.tensor([1.0, 3.0]))
    tensor(2.)
    """
    return input.mean(dim, keepdim)


def var(input: Tensor, dim: Any = None, keepdim: bool = False, *, correction: int = 1) -> Tensor:
    """Return the variance of all elements, or of those along dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.var(torch.tensor([1.0, 3.0]))
    tensor(2.)
    """
    return input.var(dim, keepdim, correction=correction)


def std(input: Tensor, dim: Any = None, keepdim: bool = False, *, correction: int = 1) -> Tensor:
    """Return the standard deviation of all elements, or of those along dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.std(torch.tensor([1.0, 3.0]), correction=0)
    tensor(1.)
    """
    return input.std(dim, keepdim, correction=correction)


def clamp(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Limit every element to an interval.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.clamp(torch.tensor([-1.0, 0.5, 9.0]), 0, 1)
    tensor([0. , 0.5, 1. ])
    """
    return input.clamp(min, max)


def max(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the maximum; along a dimension, values and indices; of two tensors, the elementwise maximum.

    Examples
    --------
    >>> from forerun import torch
    >>> values, indices = torch.max(torch.tensor([[1, 5], [7, 2]]), dim=1)
    >>> values, indices
    (tensor([5, 7]), tensor([1, 0]))
    """
    if isinstance(dim, Tensor):
        return Tensor._run(np.maximum, input, dim)
    return input.max(dim, keepdim)


def min(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the minimum; along a dimension, values and indices; of two tensors, the elementwise minimum.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.min(torch.tensor([4.0, 3.0]))
    tensor(3.)
    """
    if isinstance(dim, Tensor):
        return Tensor._run(np.minimum, input, dim)
    return input.min(dim, keepdim)


def argmax(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Return the index of the largest element.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.argmax(torch.tensor([1.0, 3.0]))
    tensor(1)
    """
    return input.argmax(dim, keepdim)


def softmax(input: Tensor, dim: int) -> Tensor:
    """Compute the softmax along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.softmax(torch.zeros(2), dim=0)
    tensor([0.5, 0.5])
    """
    return input.softmax(dim)


def log_softmax(input: Tensor, dim: int) -> Tensor:
    """Compute the log-softmax along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.log_softmax(torch.zeros(1), dim=0)
    tensor([0.])
    """
    return Tensor._run(lambda array: npx.log_softmax(array, axis=dim), input)


def reshape(input: Tensor, shape: Any) -> Tensor:
    """Return the elements with another shape.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.reshape(torch.arange(4), (2, -1)).shape
    (2, 2)
    """
    return input.reshape(shape)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.transpose(torch.ones(2, 3), 0, 1).shape
    (3, 2)
    """
    return input.transpose(dim0, dim1)


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Concatenate tensors along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.cat((torch.ones(1), torch.zeros(1)))
    tensor([1., 0.])
    """
    return Tensor._run(lambda *arrays: np.concatenate(arrays, axis=dim), *tensors)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Stack tensors along a new dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.stack((torch.ones(1), torch.zeros(1))).shape
    (2, 1)
    """
    return Tensor._run(lambda *arrays: np.stack(arrays, axis=dim), *tensors)


def where(condition: Tensor, input: Any, other: Any) -> Tensor:
    """Choose from two tensors, element by element.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    return Tensor._run(np.where, condition, input, other)


def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Return whether two tensors agree up to a tolerance. Waits for both.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.allclose(torch.ones(2), torch.ones(2))
    True
    """
    return np.allclose(input._array, other._array, rtol, atol, equal_nan)


def is_tensor(obj: object) -> bool:
    """Return whether an object is a tensor.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.is_tensor(torch.ones(1)), torch.is_tensor(1)
    (True, False)
    """
    return isinstance(obj, Tensor)
