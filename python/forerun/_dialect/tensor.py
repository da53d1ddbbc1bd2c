"""A tensor: a thin wrapper around an array that forwards operations to it and tracks which leaves require gradients.

Invariant: a tensor requires gradients if and only if it has a link. A leaf's array has a gradient attached, to which
backward passes add.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

from forerun import np
from forerun._dialect.link import Link, name_of, reach
from forerun._dialect.mode import MODE, recorded
from forerun._forerun import dtype as DType
from forerun._forerun import ndarray
from forerun._missing import lacking

_T = TypeVar("_T", bound="Tensor")


def to_array(value: Any) -> Any:
    """Return the array of a tensor; anything else, inside tuples and lists too, as it is."""
    if isinstance(value, Tensor):
        return value._array
    if isinstance(value, tuple):
        return tuple(to_array(part) for part in value)
    if isinstance(value, list):
        return [to_array(part) for part in value]
    return value


def _unary(name: str) -> Callable[[_T], _T]:
    function = getattr(np, name)

    def method(self: _T) -> _T:
        return self._run(function, self)  # type: ignore[no-any-return]

    method.__name__ = name
    method.__doc__ = f"Apply ``{name}`` to every element."
    return method


def _binary(function: Callable[[Any, Any], Any], swapped: bool = False) -> Callable[[_T, Any], _T]:
    def method(self: _T, other: Any) -> _T:
        operands = (other, self) if swapped else (self, other)
        return self._run(function, *operands)  # type: ignore[no-any-return]

    method.__doc__ = "Forward the operator."
    return method


def _in_place(function: Callable[[Any, Any], Any]) -> Callable[[_T, Any], _T]:
    def method(self: _T, other: Any) -> _T:
        return self._write(function, other)

    method.__doc__ = "Forward the operator, writing into this tensor."
    return method


def _leaf_of(link: Link) -> Tensor | None:
    return None if link.leaf is None else link.leaf()


def _rebuild(kind: type[_T], array: ndarray, asks: bool) -> _T:
    """Make a leaf from pickled data."""
    made = object.__new__(kind)
    made._array, made._link, made._grad = array, None, None
    made._ask(asks)
    return made


class Tensor:
    """Base class of the dialects' tensors.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.ones((2,), requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    __slots__ = ("__weakref__", "_array", "_grad", "_link")

    # Makes NumPy defer to this class if the left operand is a NumPy array.
    __array_priority__ = 1000.0

    _array: ndarray
    _link: Link | None
    _grad: Any
    # The class of the results of operations, including those on parameters.
    _result: ClassVar[type[Any]]
    _hints: ClassVar[dict[str, str]] = {}

    @classmethod
    def _of(cls, array: ndarray, link: Link | None = None) -> Any:
        """Wrap an array."""
        made = object.__new__(cls._result)
        made._array, made._link, made._grad = array, link, None
        return made

    @classmethod
    def _run(cls, function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
        """Call a function of arrays on tensors; on the tape if an operand requires gradients."""
        links = [operand._link for operand in operands if isinstance(operand, Tensor) and operand._link is not None]
        arrays = [to_array(operand) for operand in operands]
        if not (links and MODE.grad):
            return cls._of(function(*arrays, **options))
        array = recorded(function, *arrays, **options)
        return cls._of(array, Link(links, name=name_of(function)) if is_float(array.dtype) else None)

    @classmethod
    def _run_many(cls, function: Callable[..., Any], *operands: Any) -> list[Any]:
        """Call a function of arrays that returns several arrays, like :meth:`_run`."""
        links = [operand._link for operand in operands if isinstance(operand, Tensor) and operand._link is not None]
        arrays = [to_array(operand) for operand in operands]
        if not (links and MODE.grad):
            return [cls._of(array) for array in function(*arrays)]
        link = Link(links, name=name_of(function))
        made = recorded(function, *arrays)
        return [cls._of(array, link if is_float(array.dtype) else None) for array in made]

    def _write(self: _T, function: Callable[[Any, Any], Any], other: Any) -> _T:
        """Call a function that writes into this tensor's array."""
        operands = (self, *other) if isinstance(other, tuple) else (self, other)
        links = [operand._link for operand in operands if isinstance(operand, Tensor) and operand._link is not None]
        if not (links and MODE.grad):
            function(self._array, to_array(other))
            return self
        if self._is_leaf() and self._link is not None:
            raise RuntimeError("a leaf that requires gradients cannot be changed in place outside no_grad()")
        recorded(function, self._array, to_array(other))
        self._link = Link(links, name=name_of(function))
        return self

    # Gradients.

    def _is_leaf(self) -> bool:
        return self._link is None or self._link.leaf is not None

    def _ask(self, on: bool) -> None:
        """Set whether the tensor requires gradients."""
        if on == (self._link is not None):
            return
        if not on:
            if not self._is_leaf():
                raise RuntimeError("only a leaf can stop requiring gradients: use detach()")
            self._array.drop_grad()
            self._link = self._grad = None
            return
        if not is_float(self._array.dtype):
            raise RuntimeError(f"only floating-point tensors can have gradients, not {self._array.dtype.name}")
        # Copy the elements: views and detached tensors that shared them get no gradient.
        self._array = self._array.copy()
        self._array.attach_grad("add")
        self._link = Link(leaf=self, name="AccumulateGrad")

    def _backward(self, gradient: Any, retain: bool) -> None:
        """Run the backward pass from here and set the gradient of every leaf that was reached."""
        if self._link is None:
            raise RuntimeError("backward: this tensor neither requires gradients nor was computed from one that does")
        links = reach(self._link)
        hooked = [
            (link, leaf, leaf._take_grad()) for link in links if link.hooks and (leaf := _leaf_of(link)) is not None
        ]
        self._array.backward(to_array(gradient), retain)
        for link in links:
            leaf = _leaf_of(link)
            if leaf is not None and leaf._grad is None:
                leaf._grad = self._of(leaf._array.grad)  # type: ignore[arg-type]
            if not retain:
                link.inputs = ()
        for link, leaf, before in hooked:
            leaf._apply_hooks(link, before)

    def _take_grad(self) -> ndarray | None:
        """Set the gradient to zero; return what it was."""
        if self._grad is None:
            return None
        grad = self._array.grad
        assert grad is not None, "a leaf that has been reached has a gradient"
        before = grad.copy()
        grad[...] = 0
        return before

    def _apply_hooks(self, link: Link, before: ndarray | None) -> None:
        """Pass the gradient of a backward pass to the hooks of a leaf, then add the gradient from before it."""
        grad = self._array.grad
        assert grad is not None, "a leaf that has been reached has a gradient"
        for hook in list((link.hooks or {}).values()):
            given = hook(self._of(grad.copy()))
            if given is not None:
                grad[...] = to_array(given)
        if before is not None:
            grad += before

    def _clear_grad(self, to_none: bool) -> None:
        """Drop the gradient, or set it to zero."""
        if self._grad is None:
            return
        grad = self._array.grad
        assert grad is not None, "a leaf that has been reached has a gradient"
        if to_none:
            held = weakref.ref(self._grad)
            self._grad = None
            # A caller that keeps the old gradient keeps its values.
            if (kept := held()) is not None:
                kept._array = kept._array.copy()
        grad[...] = 0

    @property
    def grad(self) -> Any:
        """The gradient accumulated by backward passes, or None before the first."""
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is None:
            self._clear_grad(to_none=True)
            return
        if self._link is None or not self._is_leaf():
            raise RuntimeError("only a leaf that requires gradients can be given a gradient")
        grad = self._array.grad
        assert grad is not None, "a leaf that requires gradients has one attached"
        grad[...] = to_array(value)
        self._grad = self._of(grad)

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor was not made by an operation that is recorded for gradients."""
        return self._is_leaf()

    def detach(self: _T) -> _T:
        """Return a tensor of the same elements that is not recorded for gradients."""
        return self._of(self._array.detach())  # type: ignore[no-any-return]

    # Reading: these wait for the value.

    def item(self, *index: Any) -> Any:
        """Return the only element, or the one at an index, as a Python number."""
        return self._array.item(*index)

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers."""
        return self._array.tolist()

    def numpy(self) -> Any:
        """Return the elements as a writable NumPy array."""
        return self._array.asnumpy().copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the elements as a NumPy array."""
        return self._array.__array__(dtype, copy)

    def __bool__(self) -> bool:
        """Return the truth of the only element."""
        return bool(self._array)

    def __float__(self) -> float:
        """Return the only element."""
        return float(self._array)

    def __int__(self) -> int:
        """Return the only element."""
        return int(self._array)

    def __index__(self) -> int:
        """Return the only element."""
        return operator.index(self._array)

    def __format__(self, spec: str) -> str:
        """Format the only element; without a format, the whole tensor."""
        return format(self._array, spec) if spec else str(self)

    # Shape and elements.

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    def __len__(self) -> int:
        """Return the first extent."""
        return len(self._array)

    def __iter__(self: _T) -> Iterator[_T]:
        """Iterate over the first dimension."""
        return (self[i] for i in range(len(self)))

    def __getitem__(self: _T, index: Any) -> _T:
        """Return a view of a region."""
        return self._run(operator.getitem, self, to_array(index))  # type: ignore[no-any-return]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write a region."""
        place = to_array(index)
        self._write(lambda array, new: operator.setitem(array, place, new), value)

    def reshape(self: _T, *shape: Any) -> _T:
        """Return the elements under another shape."""
        return self._run(lambda array: array.reshape(*shape), self)  # type: ignore[no-any-return]

    @property
    def T(self: _T) -> _T:
        """The tensor with its dimensions in reverse order."""
        return self._run(np.transpose, self)  # type: ignore[no-any-return]

    def clone(self: _T) -> _T:
        """Return a copy that is recorded for gradients."""
        return self._run(lambda array: array.copy(), self)  # type: ignore[no-any-return]

    def __deepcopy__(self: _T, memo: dict[int, Any]) -> _T:
        """Copy a leaf, which requires gradients if this one does. Used to copy modules."""
        if not self._is_leaf():
            raise RuntimeError("only a leaf can be copied with its gradients: use detach()")
        made = object.__new__(type(self))
        made._array, made._link, made._grad = self._array.copy(), None, None
        made._ask(self._link is not None)
        memo[id(self)] = made
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a leaf: its elements, and whether it requires gradients. Waits for its value."""
        if not self._is_leaf():
            raise RuntimeError("only a leaf can be pickled with its gradients: use detach()")
        return _rebuild, (type(self), self._array.detach(), self._link is not None)

    def __getattr__(self, name: str) -> Any:
        """Raise an error that suggests the nearest existing name."""
        raise lacking(f"{type(self).__name__!r} object", name, dir(type(self)), self._hints)

    __hash__ = object.__hash__

    abs = _unary("abs")
    ceil = _unary("ceil")
    exp = _unary("exp")
    floor = _unary("floor")
    log = _unary("log")
    neg = _unary("negative")
    reciprocal = _unary("reciprocal")
    round = _unary("rint")
    sign = _unary("sign")
    sqrt = _unary("sqrt")
    square = _unary("square")
    tanh = _unary("tanh")
    isnan = _unary("isnan")
    isinf = _unary("isinf")
    isfinite = _unary("isfinite")
    __abs__ = _unary("abs")
    __neg__ = _unary("negative")
    __pos__ = clone
    __invert__ = _unary("invert")

    matmul = _binary(np.matmul)
    mm = _binary(np.matmul)
    bmm = _binary(np.matmul)
    dot = _binary(np.dot)
    __add__ = _binary(operator.add)
    __sub__ = _binary(operator.sub)
    __mul__ = _binary(operator.mul)
    __truediv__ = _binary(operator.truediv)
    __floordiv__ = _binary(operator.floordiv)
    __mod__ = _binary(operator.mod)
    __pow__ = _binary(operator.pow)
    __matmul__ = _binary(operator.matmul)
    __and__ = _binary(operator.and_)
    __or__ = _binary(operator.or_)
    __xor__ = _binary(operator.xor)
    __radd__ = _binary(operator.add, swapped=True)
    __rsub__ = _binary(operator.sub, swapped=True)
    __rmul__ = _binary(operator.mul, swapped=True)
    __rtruediv__ = _binary(operator.truediv, swapped=True)
    __rfloordiv__ = _binary(operator.floordiv, swapped=True)
    __rmod__ = _binary(operator.mod, swapped=True)
    __rpow__ = _binary(operator.pow, swapped=True)
    __rmatmul__ = _binary(operator.matmul, swapped=True)
    __lt__ = _binary(operator.lt)
    __le__ = _binary(operator.le)
    __gt__ = _binary(operator.gt)
    __ge__ = _binary(operator.ge)
    __eq__ = _binary(operator.eq)  # type: ignore[assignment]
    __ne__ = _binary(operator.ne)  # type: ignore[assignment]
    __iadd__ = _in_place(operator.iadd)
    __isub__ = _in_place(operator.isub)
    __imul__ = _in_place(operator.imul)
    __itruediv__ = _in_place(operator.itruediv)
    __ifloordiv__ = _in_place(operator.ifloordiv)
    __imod__ = _in_place(operator.imod)
    __ipow__ = _in_place(operator.ipow)


def is_float(kind: DType) -> bool:
    """Return whether elements of this type can have gradients."""
    return kind.name in ("float32", "float64", "float16", "bfloat16", "complex64", "complex128")
