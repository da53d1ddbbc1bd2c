"""The tensor with Paddle's names."""

from __future__ import annotations

import builtins
import operator
from typing import TYPE_CHECKING, Any, ClassVar

from forerun import np
from forerun._dialect.tensor import Tensor as _Tensor
from forerun._dialect.tensor import to_array
from forerun.paddle._place import CPUPlace, CUDAPlace, PlaceLike, from_device, is_place, to_device

if TYPE_CHECKING:
    from collections.abc import Callable

    from forerun._dialect.link import Link
    from forerun._forerun import ndarray


class Tensor(_Tensor):
    """An asynchronous tensor.

    Tensors are made by functions: ``to_tensor``, ``ones``, ``randn``.

    Examples
    --------
    >>> from forerun import paddle
    >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    >>> (x * x).sum().backward()
    >>> x.grad.numpy()
    array([2., 4.], dtype=float32)
    """

    __slots__ = ()

    _hints: ClassVar[dict[str, str]] = {
        "requires_grad": "Paddle turns it round: stop_gradient",
        "register_hook": "gradients cannot be hooked",
        "zero_grad": "it is called clear_grad",
    }

    if TYPE_CHECKING:
        # For type checkers: operations of this dialect return its tensors.
        @classmethod
        def _of(cls, array: ndarray, link: Link | None = None) -> Tensor: ...
        @classmethod
        def _run(cls, function: Callable[..., Any], *operands: Any, **options: Any) -> Tensor: ...

    # Gradients.

    @property
    def stop_gradient(self) -> builtins.bool:
        """Whether gradients stop here."""
        return self._link is None

    @stop_gradient.setter
    def stop_gradient(self, stop: builtins.bool) -> None:
        self._ask(not stop)

    def backward(self, grad_tensor: Any = None, retain_graph: builtins.bool = False) -> None:
        """Add the gradients of this tensor, or of its sum, to the ``grad`` of every leaf it was computed from."""
        self._backward(grad_tensor, retain_graph)

    def clear_grad(self, set_to_zero: builtins.bool = False) -> None:
        """Drop the gradient, or set it to zero."""
        self._clear_grad(to_none=not set_to_zero)

    clear_gradient = clear_grad

    # Shape, dtype, place.

    @property
    def shape(self) -> list[int]:
        """The shape, as a list."""
        return list(self._array.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._array.size

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self._array.ndim

    @property
    def place(self) -> CPUPlace | CUDAPlace:
        """The device of the tensor."""
        return from_device(self._array.device)

    def cpu(self) -> Tensor:
        """Return the tensor on the host."""
        return self.to("cpu")

    def cuda(self, device_id: int | None = None, blocking: builtins.bool = False) -> Tensor:
        """Return the tensor on a GPU. The copy does not block; ``blocking`` is ignored."""
        return self.to("gpu" if device_id is None else CUDAPlace(device_id))

    def to(self, *targets: Any, device: PlaceLike = None, dtype: Any = None, blocking: Any = False) -> Tensor:
        """Return the tensor on another device or in another dtype; itself if nothing changes."""
        for target in targets:
            if isinstance(target, Tensor):
                device, dtype = target.place, target.dtype
            elif is_place(target):
                device = target
            else:
                dtype = target
        moved = self
        if device is not None and to_device(device) != self._array.device:
            place = to_device(device)
            moved = moved._run(lambda array: array.as_in_ctx(place), moved)
        return moved if dtype is None or dtype == self.dtype else moved.astype(dtype)

    def astype(self, dtype: Any) -> Tensor:
        """Return the elements in another dtype."""
        return self._run(lambda array: array.astype(dtype, copy=False), self)

    cast = astype

    def flatten(self, start_axis: int = 0, stop_axis: int = -1) -> Tensor:
        """Merge several dimensions into one."""
        first, last = start_axis % max(self.ndim, 1), stop_axis % max(self.ndim, 1)
        return self.reshape([*self.shape[:first], -1, *self.shape[last + 1 :]])

    def t(self) -> Tensor:
        """Return the transpose of a matrix; a vector is returned unchanged."""
        if self.ndim > 2:
            raise ValueError(f"t: needs a matrix or a vector, got shape {self.shape}")
        return self.T

    def transpose(self, perm: Any) -> Tensor:
        """Permute the dimensions."""
        return self._run(lambda array: np.transpose(array, perm), self)

    def squeeze(self, axis: Any = None) -> Tensor:
        """Remove dimensions of extent one."""
        return self._run(lambda array: np.squeeze(array, axis), self)

    def unsqueeze(self, axis: int) -> Tensor:
        """Add a dimension of extent one."""
        return self._run(lambda array: np.expand_dims(array, axis), self)

    # Reductions.

    def sum(self, axis: Any = None, dtype: Any = None, keepdim: builtins.bool = False) -> Tensor:
        """Sum all elements, or those along dimensions."""
        return self._reduce(np.sum, axis, keepdim, dtype=dtype)

    def mean(self, axis: Any = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the mean of all elements, or of those along dimensions."""
        return self._reduce(np.mean, axis, keepdim)

    def max(self, axis: Any = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the largest element, or the largest along dimensions."""
        return self._reduce(np.max, axis, keepdim)

    def min(self, axis: Any = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the smallest element, or the smallest along dimensions."""
        return self._reduce(np.min, axis, keepdim)

    def argmax(self, axis: Any = None, keepdim: builtins.bool = False) -> Tensor:
        """Return the index of the largest element."""
        return self._reduce(np.argmax, axis, keepdim)

    def _reduce(self, function: Any, axis: Any, keepdim: builtins.bool, **options: Any) -> Tensor:
        return self._run(lambda array: function(array, axis=axis, keepdims=keepdim, **options), self)

    # Writing in place.

    def set_value(self, value: Any) -> None:
        """Replace the elements; not recorded for gradients."""
        self._array[...] = to_array(value)

    def add_(self, y: Any) -> Tensor:
        """Add in place."""
        return self._write(operator.iadd, y)

    def multiply_(self, y: Any) -> Tensor:
        """Multiply in place."""
        return self._write(operator.imul, y)

    def subtract_(self, y: Any) -> Tensor:
        """Subtract in place."""
        return self._write(operator.isub, y)

    def fill_(self, value: Any) -> Tensor:
        """Set every element to one value."""
        return self._write(lambda array, new: operator.setitem(array, ..., new), value)

    def zero_(self) -> Tensor:
        """Set every element to zero."""
        return self.fill_(0)

    def __repr__(self) -> str:
        """Return Paddle's notation."""
        import numpy

        body = numpy.array2string(self._array.asnumpy(), separator=", ", prefix=" " * 7, precision=8)
        kind = f"dtype={self.dtype.name}, place={self.place}, stop_gradient={self.stop_gradient}"
        return f"Tensor(shape={self.shape}, {kind},\n       {body})"


Tensor._result = Tensor


class Parameter(Tensor):
    """A trainable tensor of a layer.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.Linear(3, 2).weight.stop_gradient
    False
    """

    __slots__ = ()

    def __init__(self, data: Tensor) -> None:
        self._array, self._link, self._grad = to_array(data), None, None
        self._ask(True)
