"""The tensor with PyTorch's names."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from forerun import np
from forerun._dialect.tensor import Tensor as _Tensor
from forerun._dialect.tensor import to_array
from forerun._forerun import dtype as DType
from forerun.torch._graph import Node, RemovableHandle, keep_gradient, watch_gradient
from forerun.torch._place import DeviceLike, device, from_device, to_device
from forerun.torch._printing import text_of
from forerun.torch._size import Size

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

    # Attributes of a user's own, and of modules: `parameter.name = ...`.
    __slots__ = ("__dict__",)

    _hints: ClassVar[dict[str, str]] = {
        "storage": "tensors have no storage objects: use numpy()",
        "data_ptr": "buffers are reused and moved by the engine, so an address means nothing",
        "to_sparse": "there are no sparse tensors",
        "names": "there are no named dimensions",
        "map_": "write the function with tensor operations",
        "apply_": "write the function with tensor operations",
        "as_strided": "there are no strides: use unfold, or index",
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

    @property
    def grad_fn(self) -> Node | None:
        """The operation that computed the tensor, if it is recorded for gradients."""
        return None if self._link is None or self._is_leaf() else Node(self._link)

    def retain_grad(self) -> None:
        """Keep the gradient of a tensor that is no leaf. Call it before the tensor is used."""
        if self._link is None:
            raise RuntimeError("retain_grad: the tensor does not require gradients")
        if not self._is_leaf():
            keep_gradient(self)

    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Call a function with the gradient of each backward pass; what it returns replaces the gradient.

        For a tensor that is no leaf, call this before the tensor is used.
        """
        if self._link is None:
            raise RuntimeError("register_hook: the tensor does not require gradients")
        return watch_gradient(self, hook)

    def detach_(self) -> Tensor:
        """Stop recording this tensor for gradients."""
        if self._link is not None:
            if self._is_leaf():
                self._ask(False)
            else:
                self._array, self._link = self._array.detach(), None
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether the tensor requires gradients."""
        self._ask(requires_grad)
        return self

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Add the gradients of this tensor to the ``grad`` of every leaf it was computed from.

        ``create_graph`` is for :func:`forerun.torch.autograd.grad`, and ``inputs`` cannot restrict the leaves.
        """
        if create_graph:
            raise RuntimeError("backward: gradients of gradients are computed by autograd.grad(..., create_graph=True)")
        if inputs is not None:
            raise RuntimeError("backward: the gradients of chosen tensors are computed by autograd.grad")
        if gradient is None and self._array.size != 1:
            raise RuntimeError(f"backward: a tensor of shape {tuple(self.shape)} needs a gradient of that shape")
        if gradient is not None and tuple(gradient.shape) != self._array.shape:
            raise RuntimeError(
                f"backward: the gradient has shape {tuple(gradient.shape)}, the tensor {self._array.shape}"
            )
        self._backward(gradient, bool(retain_graph))

    @property
    def data(self) -> Tensor:
        """The same elements, without gradients."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        new = to_array(value)
        if new.shape == self._array.shape and new.dtype == self._array.dtype and new.device == self._array.device:
            self._array[...] = new
        else:
            asks = self._link is not None
            self._ask(False)
            self._array = new
            self._ask(asks)

    # Shape, dtype, device.

    @property
    def shape(self) -> Size:
        """The extents."""
        return Size(self._array.shape)

    def size(self, dim: int | None = None) -> Any:
        """Return the extents, or one of them."""
        return self.shape if dim is None else self._array.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        """Return the distances of neighbours along the dimensions, in elements, as of a contiguous tensor."""
        steps = [1] * self.ndim
        for d in range(self.ndim - 2, -1, -1):
            steps[d] = steps[d + 1] * self._array.shape[d + 1]
        return tuple(steps) if dim is None else steps[dim]

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self._array.nbytes

    def is_contiguous(self) -> bool:
        """Return True: views are contiguous for everything that a program can observe."""
        return True

    def contiguous(self) -> Tensor:
        """Return the tensor itself."""
        return self

    def is_floating_point(self) -> bool:
        """Return whether the elements are floats."""
        return self.dtype.name in ("float16", "bfloat16", "float32", "float64")

    def is_complex(self) -> bool:
        """Return whether the elements are complex numbers."""
        return self.dtype.kind == "c"

    @property
    def real(self) -> Tensor:
        """The real parts."""
        return self._run(np.real, self)

    @property
    def imag(self) -> Tensor:
        """The imaginary parts."""
        return self._run(np.imag, self)

    @property
    def mT(self) -> Tensor:
        """The tensor with its last two dimensions swapped."""
        return self._run(lambda array: np.swapaxes(array, -1, -2), self)

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

    def half(self) -> Tensor:
        """Return the tensor as float16."""
        return self.to(np.float16)

    def bfloat16(self) -> Tensor:
        """Return the tensor as bfloat16."""
        return self.to(np.bfloat16)

    def short(self) -> Tensor:
        """Return the tensor as int16."""
        return self.to(np.int16)

    def byte(self) -> Tensor:
        """Return the tensor as uint8."""
        return self.to(np.uint8)

    def char(self) -> Tensor:
        """Return the tensor as int8."""
        return self.to(np.int8)

    def bool(self) -> Tensor:
        """Return the tensor as bool."""
        return self.to(np.bool_)

    def type(self, dtype: Any = None) -> Any:
        """Return the tensor in a dtype; without one, the name of the tensor's type."""
        if dtype is None:
            return f"torch.{self.dtype.name}"
        return self.to(dtype=dtype)

    def type_as(self, other: Tensor) -> Tensor:
        """Return the tensor in the dtype of another."""
        return self.to(dtype=other.dtype)

    def pin_memory(self) -> Tensor:
        """Return the tensor itself: copies to GPUs are asynchronous from any memory."""
        return self

    def is_pinned(self) -> Any:
        """Return False: there is no pinned memory to speak of."""
        return False

    def share_memory_(self) -> Tensor:
        """Return the tensor itself: threads share tensors as they are."""
        return self

    def new_tensor(self, data: Any, **options: Any) -> Tensor:
        """Create a tensor of this one's dtype and device from other data."""
        kind = options.pop("dtype", None) or self.dtype
        place = options.pop("device", None)
        made = self._of(
            np.array(to_array(data), kind, device=self._array.device if place is None else to_device(place))
        )
        made._ask(options.pop("requires_grad", False))
        return made

    def _new(self, value: Any, size: tuple[Any, ...], options: dict[str, Any]) -> Tensor:
        shape = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
        kind = options.pop("dtype", None) or self.dtype
        place = options.pop("device", None)
        made = self._of(np.full(shape, value, kind, device=self._array.device if place is None else to_device(place)))
        made._ask(options.pop("requires_grad", False))
        return made

    def new_zeros(self, *size: Any, **options: Any) -> Tensor:
        """Make zeros of this tensor's dtype and device."""
        return self._new(0, size, options)

    def new_ones(self, *size: Any, **options: Any) -> Tensor:
        """Make ones of this tensor's dtype and device."""
        return self._new(1, size, options)

    def new_empty(self, *size: Any, **options: Any) -> Tensor:
        """Make a tensor of this one's dtype and device, of zeros."""
        return self._new(0, size, options)

    def new_full(self, size: Any, fill_value: Any, **options: Any) -> Tensor:
        """Make a tensor of one number, of this one's dtype and device."""
        return self._new(fill_value, (tuple(size),), options)

    def reshape(self, *shape: Any) -> Tensor:
        """Return the elements with another shape."""
        return self._run(lambda array: array.reshape(*shape), self)

    def view(self, *shape: Any) -> Tensor:
        """Return the elements with another shape, or in another dtype of the same width."""
        if len(shape) == 1 and isinstance(shape[0], DType):
            kind = shape[0]
            return self._run(lambda array: array.view(kind), self)
        return self.reshape(*shape)

    def view_as(self, other: Tensor) -> Tensor:
        """Return the elements with the shape of another tensor."""
        return self.reshape(tuple(other.shape))

    def reshape_as(self, other: Tensor) -> Tensor:
        """Return the elements with the shape of another tensor."""
        return self.reshape(tuple(other.shape))

    def expand(self, *sizes: Any) -> Tensor:
        """Return a view repeated to a larger shape; -1 keeps an extent."""
        given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
        lead = len(given) - self.ndim
        shape = tuple(self._array.shape[d - lead] if extent == -1 else extent for d, extent in enumerate(given))
        return self._run(lambda array: np.broadcast_to(array, shape), self)

    def expand_as(self, other: Tensor) -> Tensor:
        """Return a view repeated to the shape of another tensor."""
        return self.expand(*other.shape)

    def repeat(self, *sizes: Any) -> Tensor:
        """Repeat the whole tensor along each dimension."""
        counts = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
        if len(counts) < self.ndim:
            raise RuntimeError(f"repeat: needs at least {self.ndim} counts, got {tuple(counts)}")
        return self._run(lambda array: np.tile(array, tuple(counts)), self)

    def unfold(self, dimension: Any, size: Any, step: Any) -> Tensor:
        """Return the windows of one size along a dimension, as the last dimension."""
        place = dimension % self.ndim
        count = (self._array.shape[place] - size) // step + 1
        starts = np.arange(count) * step
        windows = starts[:, None] + np.arange(size)
        return self._run(lambda array: np.moveaxis(np.take(array, windows, axis=place), place + 1, -1), self)

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

    def copy_(self, src: Any, non_blocking: Any = False) -> Tensor:
        """Copy the elements of another tensor."""
        return self._write(lambda array, new: operator.setitem(array, ..., new), src)

    def fill_(self, value: Any) -> Tensor:
        """Set every element to one value."""
        return self.copy_(value)

    def zero_(self) -> Tensor:
        """Set every element to zero."""
        return self.copy_(0)

    def fill_diagonal_(self, fill_value: Any) -> Tensor:
        """Set the diagonal to one value."""
        return self._write(np.fill_diagonal, fill_value)

    def _replace(self, function: Callable[..., Tensor], args: Any, options: Any) -> Tensor:
        """Write what a function of tensors makes of this one."""
        made = function(self, *args, **options)
        if made.shape != self.shape:
            raise RuntimeError(f"{function.__name__}_: the result has shape {made.shape}, the tensor {self.shape}")
        return self.copy_(made)

    def _turn(self, view: Tensor) -> Tensor:
        """Become a view of itself."""
        self._array, self._link = view._array, view._link
        return self

    def unsqueeze_(self, dim: Any) -> Tensor:
        """Add a dimension of extent one, in place."""
        return self._turn(self._run(lambda array: np.expand_dims(array, dim), self))

    def squeeze_(self, dim: Any = None) -> Tensor:
        """Remove dimensions of extent one, in place."""
        return self._turn(self.squeeze(dim))

    def t_(self) -> Tensor:
        """Transpose in place."""
        return self._turn(self.t())

    def transpose_(self, dim0: Any, dim1: Any) -> Tensor:
        """Swap two dimensions in place."""
        return self._turn(self.transpose(dim0, dim1))

    # Exchange.

    def __dlpack__(self, **options: Any) -> Any:
        """Return a DLPack capsule."""
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        """Return the device of the DLPack capsule."""
        return self._array.__dlpack_device__()

    def __contains__(self, value: Any) -> Any:
        """Return whether an element equals a value. Waits."""
        return to_array(value) in self._array

    def __complex__(self) -> complex:
        """Return the only element."""
        return complex(self._array)

    def numpy(self, *, force: Any = False) -> Any:
        """Return a copy of the elements as a writable NumPy array."""
        if force:
            return self.detach().cpu().numpy()
        if self._link is not None:
            raise RuntimeError("numpy: the tensor requires gradients: use detach().numpy()")
        if self.is_cuda:
            raise TypeError(f"numpy: the tensor lives on {self.device}: use cpu().numpy()")
        return super().numpy()

    def __repr__(self) -> str:
        """Return PyTorch's notation."""
        notes = f", device='{self.device}'" if self.is_cuda else ""
        if self.dtype.name not in ("bool", "int64", "float32"):
            notes += f", dtype=torch.{self.dtype.name}"
        if self._link is not None:
            notes += ", requires_grad=True" if self._is_leaf() else f", grad_fn={self.grad_fn!r}"
        return text_of(self._array.asnumpy(), notes)

    def __str__(self) -> str:
        """Return PyTorch's notation."""
        return repr(self)

    def __format__(self, spec: str) -> str:
        """Format the only element; a larger tensor as a whole."""
        return format(self.item(), spec) if self.ndim == 0 else str(self)


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
