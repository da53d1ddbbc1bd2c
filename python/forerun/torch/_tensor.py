"""The tensor with PyTorch's names."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from forerun import np, npx
from forerun._dialect.tensor import Tensor as _Tensor
from forerun._dialect.tensor import to_array
from forerun._forerun import dtype as DType
from forerun.torch._place import DeviceLike, device, from_device, to_device

if TYPE_CHECKING:
    from collections.abc import Callable

    from forerun._dialect.link import Link
    from forerun._forerun import ndarray


class Extremes(NamedTuple):
    """Extreme elements along a dimension, and their indices."""

    values: Tensor
    indices: Tensor


class Tensor(_Tensor):
    """An asynchronous tensor.

    Parameters
    ----------
    data : array_like
        The elements; converted to float32.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ()

    _hints: ClassVar[dict[str, str]] = {
        "norm": "write (x * x).sum().sqrt()",
        "retain_grad": "only leaves keep their gradient",
        "register_hook": "gradients cannot be hooked",
        "share_memory_": "threads share tensors as they are",
        "pin_memory": "copies are asynchronous from any memory",
    }

    def __init__(self, data: Any) -> None:
        self._array, self._link, self._grad = np.array(to_array(data), np.float32), None, None

    if TYPE_CHECKING:
        # For type checkers: operations of this dialect return its tensors.
        @classmethod
        def _of(cls, array: ndarray, link: Link | None = None) -> Tensor: ...
        @classmethod
        def _run(cls, function: Callable[..., Any], *operands: Any, **options: Any) -> Tensor: ...

    # Gradients.

    @property
    def requires_grad(self) -> bool:
        """Whether the tensor requires gradients, or was computed from one that does."""
        return self._link is not None

    @requires_grad.setter
    def requires_grad(self, on: bool) -> None:
        self._ask(on)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether the tensor requires gradients."""
        self._ask(requires_grad)
        return self

    def backward(self, gradient: Any = None, retain_graph: bool | None = None) -> None:
        """Add the gradients of this tensor to the ``grad`` of every leaf it was computed from."""
        if gradient is None and self._array.size != 1:
            raise RuntimeError(f"backward: a tensor of shape {self.shape} needs a gradient of that shape")
        self._backward(gradient, bool(retain_graph))

    @property
    def data(self) -> Tensor:
        """The same elements, without gradients."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        self._array[...] = to_array(value)

    # Shape, dtype, device.

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self._array.shape

    def size(self, dim: int | None = None) -> Any:
        """Return the extents, or one of them."""
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self._array.ndim

    def numel(self) -> int:
        """Return the number of elements."""
        return self._array.size

    @property
    def device(self) -> device:
        """The device of the tensor."""
        return from_device(self._array.device)

    def to(
        self, *targets: Any, device: DeviceLike = None, dtype: Any = None, non_blocking: Any = True, copy: Any = False
    ) -> Tensor:
        """Return the tensor on another device or in another dtype; itself if nothing changes and no copy is requested.

        Copies never block; ``non_blocking`` is ignored.
        """
        for target in targets:
            if isinstance(target, Tensor):
                device, dtype = target.device, target.dtype
            elif isinstance(target, DType):
                dtype = target
            else:
                device = target
        moved = self
        if device is not None and to_device(device) != self._array.device:
            place = to_device(device)
            moved = moved._run(lambda array: array.as_in_ctx(place), moved)
        if dtype is not None and dtype != self.dtype:
            moved = moved._run(lambda array: array.astype(dtype), moved)
        return moved.clone() if copy and moved is self else moved

    def cpu(self) -> Tensor:
        """Return the tensor on the host."""
        return self.to(device="cpu")

    @property
    def is_cuda(self) -> Any:
        """Whether the tensor lives on a GPU."""
        return self._array.device.device_type == "gpu"

    def cuda(self, device: DeviceLike = None, non_blocking: Any = True) -> Tensor:
        """Return the tensor on a GPU. The copy does not block; ``non_blocking`` is ignored."""
        return self.to(device="cuda" if device is None else device)

    def float(self) -> Tensor:
        """Return the tensor as float32."""
        return self.to(np.float32)

    def double(self) -> Tensor:
        """Return the tensor as float64."""
        return self.to(np.float64)

    def int(self) -> Tensor:
        """Return the tensor as int32."""
        return self.to(np.int32)

    def long(self) -> Tensor:
        """Return the tensor as int64."""
        return self.to(np.int64)

    def bool(self) -> Tensor:
        """Return the tensor as bool."""
        return self.to(np.bool_)

    def view(self, *shape: Any) -> Tensor:
        """Return the elements with another shape."""
        return self.reshape(*shape)

    def flatten(self, start_dim: Any = 0, end_dim: Any = -1) -> Tensor:
        """Merge several dimensions into one."""
        first, last = start_dim % max(self.dim(), 1), end_dim % max(self.dim(), 1)
        return self.reshape(*self.shape[:first], -1, *self.shape[last + 1 :])

    def t(self) -> Tensor:
        """Return the transpose of a matrix; a vector is returned unchanged."""
        if self.dim() > 2:
            raise RuntimeError(f"t: needs a matrix or a vector, got shape {self.shape}")
        return self.T

    def transpose(self, dim0: Any, dim1: Any) -> Tensor:
        """Swap two dimensions."""
        return self._run(np.swapaxes, self, dim0, dim1)

    def permute(self, *dims: Any) -> Tensor:
        """Permute the dimensions."""
        axes = dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
        return self._run(lambda array: np.transpose(array, axes), self)

    def squeeze(self, dim: Any = None) -> Tensor:
        """Remove dimensions of extent one."""
        if dim is not None and self.shape[dim] != 1:
            return self
        return self._run(lambda array: np.squeeze(array, dim), self)

    def unsqueeze(self, dim: Any) -> Tensor:
        """Add a dimension of extent one."""
        return self._run(lambda array: np.expand_dims(array, dim), self)

    # Elementwise functions and reductions whose names differ between the dialects.

    def relu(self) -> Tensor:
        """Replace negative elements by zero."""
        return self._run(npx.relu, self)

    def sigmoid(self) -> Tensor:
        """Apply the logistic function to every element."""
        return self._run(npx.sigmoid, self)

    def softmax(self, dim: Any) -> Tensor:
        """Compute the softmax along a dimension."""
        return self._run(lambda array: npx.softmax(array, axis=dim), self)

    def pow(self, exponent: Any) -> Tensor:
        """Raise to a power."""
        return self._run(np.power, self, exponent)

    def sum(self, dim: Any = None, keepdim: Any = False, dtype: Any = None) -> Tensor:
        """Sum all elements, or those along dimensions."""
        return self._reduce(np.sum, dim, keepdim).to(dtype=dtype)

    def mean(self, dim: Any = None, keepdim: Any = False) -> Tensor:
        """Return the mean of all elements, or of those along dimensions."""
        return self._reduce(np.mean, dim, keepdim)

    def var(self, dim: Any = None, keepdim: Any = False, *, correction: Any = 1) -> Tensor:
        """Return the variance of all elements, or of those along dimensions."""
        return self._run(lambda array: np.var(array, dim, ddof=correction, keepdims=keepdim), self)

    def std(self, dim: Any = None, keepdim: Any = False, *, correction: Any = 1) -> Tensor:
        """Return the standard deviation of all elements, or of those along dimensions."""
        return self._run(lambda array: np.std(array, dim, ddof=correction, keepdims=keepdim), self)

    def clamp(self, min: Any = None, max: Any = None) -> Tensor:
        """Limit every element to an interval."""
        return self._run(lambda array: np.clip(array, min, max), self)

    def max(self, dim: Any = None, keepdim: Any = False) -> Any:
        """Return the maximum; along a dimension, values and indices."""
        return self._extremes(np.max, np.argmax, dim, keepdim)

    def min(self, dim: Any = None, keepdim: Any = False) -> Any:
        """Return the minimum; along a dimension, values and indices."""
        return self._extremes(np.min, np.argmin, dim, keepdim)

    def argmax(self, dim: Any = None, keepdim: Any = False) -> Tensor:
        """Return the index of the largest element."""
        return self._reduce(np.argmax, dim, keepdim)

    def argmin(self, dim: Any = None, keepdim: Any = False) -> Tensor:
        """Return the index of the smallest element."""
        return self._reduce(np.argmin, dim, keepdim)

    def all(self, dim: Any = None, keepdim: Any = False) -> Tensor:
        """Return whether all elements are true."""
        return self._reduce(np.all, dim, keepdim)

    def any(self, dim: Any = None, keepdim: Any = False) -> Tensor:
        """Return whether any element is true."""
        return self._reduce(np.any, dim, keepdim)

    def _reduce(self, function: Any, dim: Any, keepdim: Any) -> Tensor:
        return self._run(lambda array: function(array, axis=dim, keepdims=keepdim), self)

    def _extremes(self, value: Any, place: Any, dim: Any, keepdim: Any) -> Any:
        if dim is None:
            return self._reduce(value, None, False)
        return Extremes(self._reduce(value, dim, keepdim), self._reduce(place, dim, keepdim))

    # Writing in place.

    def add_(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """Add in place."""
        return self._write(operator.iadd, other if alpha == 1 else other * alpha)

    def sub_(self, other: Any, *, alpha: Any = 1) -> Tensor:
        """Subtract in place."""
        return self._write(operator.isub, other if alpha == 1 else other * alpha)

    def mul_(self, other: Any) -> Tensor:
        """Multiply in place."""
        return self._write(operator.imul, other)

    def div_(self, other: Any) -> Tensor:
        """Divide in place."""
        return self._write(operator.itruediv, other)

    def copy_(self, other: Any) -> Tensor:
        """Copy the elements of another tensor."""
        return self._write(lambda array, new: operator.setitem(array, ..., new), other)

    def fill_(self, value: Any) -> Tensor:
        """Set every element to one value."""
        return self.copy_(value)

    def zero_(self) -> Tensor:
        """Set every element to zero."""
        return self.copy_(0)

    def normal_(self, mean: Any = 0.0, std: Any = 1.0) -> Tensor:
        """Draw every element from a normal distribution."""
        return self.copy_(np.random.normal(mean, std, self.shape, self.dtype, device=self._array.device))

    def uniform_(self, a: Any = 0.0, b: Any = 1.0) -> Tensor:
        """Draw every element from a uniform distribution."""
        return self.copy_(np.random.uniform(a, b, self.shape, self.dtype, device=self._array.device))

    def numpy(self) -> Any:
        """Return the elements as a writable NumPy array."""
        if self._link is not None:
            raise RuntimeError("numpy: the tensor requires gradients: use detach().numpy()")
        if self.is_cuda:
            raise TypeError(f"numpy: the tensor lives on {self.device}: use cpu().numpy()")
        return super().numpy()

    def __repr__(self) -> str:
        """Return PyTorch's notation."""
        import numpy

        values = self._array.asnumpy()
        body = numpy.array2string(values, separator=", ", prefix="tensor(", precision=4)
        notes = f", device='{self.device}'" if self.is_cuda else ""
        if self.dtype.name not in ("bool", "int64", "float32"):
            notes += f", dtype=torch.{self.dtype.name}"
        if self._link is not None:
            notes += ", requires_grad=True"
        return f"tensor({body}{notes})"


Tensor._result = Tensor


class Parameter(Tensor):
    """A trainable tensor of a module; it requires gradients by default.

    Parameters
    ----------
    data : Tensor
        The initial elements.
    requires_grad : bool
        Whether it requires gradients.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Parameter(torch.zeros(2))
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """

    __slots__ = ()

    def __init__(self, data: Any, requires_grad: Any = True) -> None:
        self._array, self._link, self._grad = to_array(data), None, None
        self._ask(requires_grad)

    def __repr__(self) -> str:
        """Return PyTorch's notation."""
        return f"Parameter containing:\n{super().__repr__()}"
