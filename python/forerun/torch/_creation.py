"""New tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun import np
from forerun._dialect.tensor import to_array
from forerun._forerun import ndarray
from forerun.torch._place import DeviceLike, to_device
from forerun.torch._tensor import Tensor


def _shape(size: tuple[Any, ...], named: Any) -> Any:
    """Return the shape of ``f(2, 3)``, ``f((2, 3))`` and ``f(size=(2, 3))``."""
    if named is not None:
        return named
    return size[0] if len(size) == 1 and not isinstance(size[0], int) else size


def _made(array: ndarray, requires_grad: bool = False) -> Tensor:
    made: Tensor = Tensor._of(array)
    if requires_grad:
        made.requires_grad = True
    return made


def randn(
    *args: Any, size: Any = None, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Draw elements from the standard normal distribution.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.randn(size=(2, 3)).shape, torch.randn(2, 3).shape
    ((2, 3), (2, 3))
    """
    return _made(np.random.normal(size=_shape(args, size), dtype=dtype, device=to_device(device)), requires_grad)


def rand(
    *args: Any, size: Any = None, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Draw elements from the uniform distribution over [0, 1).

    Examples
    --------
    >>> from forerun import torch
    >>> torch.rand(2, 3).shape
    (2, 3)
    """
    return _made(np.random.uniform(size=_shape(args, size), dtype=dtype, device=to_device(device)), requires_grad)


def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    dtype: Any = np.int64,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Draw integers from ``low`` up to, excluding, ``high``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.randint(5, (2, 3)).shape, torch.randint(0, 5, (2,)).shape
    ((2, 3), (2,))
    """
    if size is None:
        low, high, size = 0, low, high
    return _made(np.random.randint(low, high, size, dtype, device=to_device(device)), requires_grad)


def normal(mean: float, std: float, size: Any, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """Draw elements from a normal distribution.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.normal(0, 0.01, (2, 3)).shape
    (2, 3)
    """
    return _made(np.random.normal(mean, std, size, dtype, device=to_device(device)))


def zeros(
    *args: Any, size: Any = None, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Make a tensor of zeros.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.zeros(2)
    tensor([0., 0.])
    """
    return _made(np.zeros(_shape(args, size), dtype, device=to_device(device)), requires_grad)


def ones(
    *args: Any, size: Any = None, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Make a tensor of ones.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.ones((1, 2), device="cpu")
    tensor([[1., 1.]])
    """
    return _made(np.ones(_shape(args, size), dtype, device=to_device(device)), requires_grad)


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Make a tensor of one number.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.full((2,), 7.5)
    tensor([7.5, 7.5])
    """
    return _made(np.full(size, fill_value, dtype, device=to_device(device)), requires_grad)


def arange(
    start: Any,
    end: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return numbers from ``start`` up to, excluding, ``end``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.arange(3), torch.arange(1, 2, 0.5)
    (tensor([0, 1, 2]), tensor([1. , 1.5]))
    """
    return _made(np.arange(start, end, step, dtype, device=to_device(device)), requires_grad)


def linspace(
    start: float, end: float, steps: int, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Return evenly spaced numbers, including both ends.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.linspace(0, 1, 3)
    tensor([0. , 0.5, 1. ])
    """
    return _made(np.linspace(start, end, steps, dtype=dtype, device=to_device(device)), requires_grad)


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Make a matrix with ones on its diagonal.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _made(np.eye(n, m, dtype=dtype, device=to_device(device)), requires_grad)


def tensor(data: Any, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    """Create a tensor from a copy of numbers, lists, a NumPy array or a tensor.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    value = to_array(data)
    if isinstance(value, list) and any(isinstance(part, ndarray) for part in value):
        value = np.stack(value)
    # A tensor stays on its device, unless another one is given.
    place = None if device is None else to_device(device)
    return _made(np.array(value, dtype, device=place), requires_grad)


def from_numpy(array: Any) -> Tensor:
    """Copy a NumPy array; unlike in PyTorch the two do not share memory.

    Examples
    --------
    >>> import numpy
    >>> from forerun import torch
    >>> torch.from_numpy(numpy.ones(2))
    tensor([1., 1.], dtype=torch.float64)
    """
    return tensor(array)


def _like(make: Callable[..., ndarray]) -> Callable[..., Tensor]:
    def alike(input: Tensor, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
        place = None if device is None else to_device(device)
        return _made(make(input._array, dtype=dtype, device=place), requires_grad)

    alike.__doc__ = f"Make a tensor of another's shape and dtype, on its device, as ``numpy.{make.__name__}``."
    return alike


zeros_like = _like(np.zeros_like)
ones_like = _like(np.ones_like)


def randn_like(input: Tensor, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False) -> Tensor:
    """Draw a tensor of another's shape from the standard normal distribution, on its device.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.randn_like(torch.ones(2, 3)).shape
    (2, 3)
    """
    kind = input.dtype if dtype is None else dtype
    place = input.device if device is None else device
    return randn(size=input.shape, dtype=kind, device=place, requires_grad=requires_grad)
