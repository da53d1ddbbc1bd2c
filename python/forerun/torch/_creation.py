"""New tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun import np
from forerun._dialect.tensor import to_array
from forerun._forerun import default_float, ndarray
from forerun.torch._place import DeviceLike, to_device
from forerun.torch._tensor import Tensor

__all__ = [
    "BoolTensor", "ByteTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
    "ShortTensor", "arange", "as_tensor", "asarray", "complex", "empty", "empty_like", "eye", "from_dlpack",
    "from_numpy", "frombuffer", "full", "full_like", "hann_window", "linspace", "logspace", "ones", "ones_like",
    "range", "scalar_tensor", "tensor", "zeros", "zeros_like",
]  # fmt: skip


def shape_of(size: tuple[Any, ...], named: Any) -> Any:
    """Return the shape of ``f(2, 3)``, ``f((2, 3))`` and ``f(size=(2, 3))``."""
    if named is not None:
        return named
    return size[0] if len(size) == 1 and not isinstance(size[0], int) else size


def made(array: ndarray, requires_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """Wrap a new array, or write it to the tensor given as ``out``."""
    new: Tensor = Tensor._of(array)
    if requires_grad:
        new.requires_grad = True
    return new if out is None else out.copy_(new)


def zeros(
    *args: Any,
    size: Any = None,
    dtype: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor of zeros.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.zeros(2)
    tensor([0., 0.])
    """
    return made(np.zeros(shape_of(args, size), dtype, device=to_device(device)), requires_grad, out)


def ones(
    *args: Any,
    size: Any = None,
    dtype: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor of ones.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.ones((1, 2), device="cpu")
    tensor([[1., 1.]])
    """
    return made(np.ones(shape_of(args, size), dtype, device=to_device(device)), requires_grad, out)


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Make a tensor of one number.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.full((2,), 7.5)
    tensor([7.5000, 7.5000])
    """
    return made(np.full(size, fill_value, dtype, device=to_device(device)), requires_grad)


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
    (tensor([0, 1, 2]), tensor([1.0000, 1.5000]))
    """
    return made(np.arange(start, end, step, dtype, device=to_device(device)), requires_grad)


def range(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """Return floats from ``start`` up to, including, ``end``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.range(1, 3)
    tensor([1., 2., 3.])
    """
    count = int((end - start) / step) + 1
    return made((np.arange(count) * step + start).astype(default_float() if dtype is None else dtype))


def linspace(
    start: float, end: float, steps: int, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Return evenly spaced numbers, including both ends.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return made(np.linspace(start, end, steps, dtype=dtype, device=to_device(device)), requires_grad)


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
    return made(np.eye(n, m, dtype=dtype, device=to_device(device)), requires_grad)


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
        value = np.stack([np.asarray(part) for part in value])
    # A tensor stays on its device, unless another one is given.
    place = None if device is None else to_device(device)
    return made(np.array(value, dtype, device=place), requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """Return a tensor as it is if dtype and device match; otherwise create one from a copy.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.ones(2)
    >>> torch.as_tensor(x) is x, torch.as_tensor([1, 2])
    (True, tensor([1, 2]))
    """
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=dtype)
    return tensor(data, dtype=dtype, device=device)


asarray = as_tensor


def scalar_tensor(s: Any, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:
    """Create a tensor without dimensions from a number, of the default float dtype.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.scalar_tensor(2)
    tensor(2.)
    """
    return tensor(s, dtype=default_float() if dtype is None else dtype, device=device)


def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Make complex numbers from real and imaginary parts.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.complex(torch.tensor([1.0]), torch.tensor([2.0])).tolist()
    [(1+2j)]
    """
    kind = np.complex128 if real.dtype == np.float64 else np.complex64
    return Tensor._run(lambda x, y: (x + y * 1j).astype(kind), real, imag)


def empty(
    *args: Any,
    size: Any = None,
    dtype: Any = None,
    device: DeviceLike = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Make a tensor with unspecified elements.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """
    return made(np.empty(shape_of(args, size), dtype, device=to_device(device)), requires_grad)


def logspace(
    start: float, end: float, steps: int, base: float = 10.0, *, dtype: Any = None, device: DeviceLike = None
) -> Tensor:
    """Return numbers spaced evenly on a logarithmic scale, including both ends.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    return made(np.logspace(start, end, steps, base=base, dtype=dtype).as_in_ctx(to_device(device)))


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: DeviceLike = None, requires_grad: bool = False
) -> Tensor:
    """Make a tensor of one number with another's shape and dtype, on its device.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.full_like(torch.ones(2), 7)
    tensor([7., 7.])
    """
    place = input._array.device if device is None else to_device(device)
    return made(np.full(input._array.shape, fill_value, dtype or input.dtype, device=place), requires_grad)


def from_dlpack(ext_tensor: Any) -> Tensor:
    """Share the memory of another library's array.

    Examples
    --------
    >>> import numpy
    >>> from forerun import torch
    >>> torch.from_dlpack(numpy.ones(2, "float32"))
    tensor([1., 1.])
    """
    return made(np.from_dlpack(ext_tensor))


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0) -> Tensor:
    """Create a tensor from the bytes of a buffer.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.frombuffer(b"ab", dtype=torch.uint8)
    tensor([97, 98], dtype=torch.uint8)
    """
    return made(np.frombuffer(buffer, dtype, count, offset))


def hann_window(window_length: int, periodic: bool = True) -> Tensor:
    """Return a Hann window.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return made(np.hanning(window_length + periodic)[:window_length].astype(default_float()))


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
    def alike(
        input: Tensor,
        *,
        dtype: Any = None,
        device: DeviceLike = None,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        place = None if device is None else to_device(device)
        return made(make(input._array, dtype=dtype, device=place), requires_grad)

    alike.__doc__ = f"Make a tensor of another's shape and dtype, on its device, as ``numpy.{make.__name__}``."
    return alike


empty_like = _like(np.empty_like)
zeros_like = _like(np.zeros_like)
ones_like = _like(np.ones_like)


def _typed(name: str, kind: str) -> Callable[..., Tensor]:
    def typed(*data: Any) -> Tensor:
        if len(data) != 1 or isinstance(data[0], int):
            return made(np.zeros(data, kind))
        return tensor(data[0], dtype=kind)

    typed.__name__ = typed.__qualname__ = name
    typed.__doc__ = (
        f"Create a tensor of dtype {kind} from numbers, or of zeros from extents: PyTorch's old constructor."
    )
    return typed


BoolTensor = _typed("BoolTensor", "bool")
ByteTensor = _typed("ByteTensor", "uint8")
DoubleTensor = _typed("DoubleTensor", "float64")
FloatTensor = _typed("FloatTensor", "float32")
HalfTensor = _typed("HalfTensor", "float16")
IntTensor = _typed("IntTensor", "int32")
LongTensor = _typed("LongTensor", "int64")
ShortTensor = _typed("ShortTensor", "int16")
