"""Functions of tensors whose arithmetic is that of the PyTorch dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun import np
from forerun.paddle._borrow import borrow, lend, take
from forerun.paddle._tensor import Tensor
from forerun.torch import _creation, _indexing, _joining, _linear, _pointwise, _random, _reductions, _shaping, autograd

_UNARY = (
    "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "expm1", "floor", "isfinite", "isinf", "isnan", "log10",
    "log1p", "log2", "logical_not", "neg", "reciprocal", "round", "rsqrt", "sign", "sin", "sinh", "tan", "trunc",
    "acosh", "asinh", "atanh", "sigmoid", "lgamma", "digamma", "erfinv",
)  # fmt: skip
_BINARY = {
    "add": "add", "atan2": "atan2", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor",
    "divide": "div", "equal": "eq", "floor_divide": "floor_divide", "floor_mod": "remainder", "fmax": "fmax",
    "fmin": "fmin", "greater_equal": "ge", "greater_than": "gt", "less_equal": "le", "less_than": "lt",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "maximum": "maximum",
    "minimum": "minimum", "mod": "remainder", "multiply": "mul", "not_equal": "ne", "pow": "pow",
    "remainder": "remainder", "subtract": "sub",
}  # fmt: skip
# Name, function, parameters; see `borrow`.
_ROWS: tuple[tuple[str, Callable[..., Any], str], ...] = (
    ("addmm", _linear.addmm, "input x=mat1 y=mat2 beta alpha"),
    ("all", _reductions.all, "x=input axis=dim keepdim"),
    ("any", _reductions.any, "x=input axis=dim keepdim"),
    ("argmin", _reductions.argmin, "x=input axis=dim keepdim"),
    ("argsort", _indexing.argsort, "x=input axis=dim descending"),
    ("bernoulli", _random.bernoulli, "x=input"),
    ("bincount", _reductions.bincount, "x=input weights minlength"),
    ("bmm", _linear.bmm, "x=input y=mat2"),
    ("broadcast_to", _shaping.broadcast_to, "x=input shape=size"),
    ("chunk", _joining.chunk, "x=input chunks axis=dim"),
    ("clip", _pointwise.clamp, "x=input min max"),
    ("count_nonzero", _reductions.count_nonzero, "x=input axis=dim"),
    ("cross", _linear.cross, "x=input y=other axis=dim"),
    ("cumprod", _reductions.cumprod, "x=input dim dtype"),
    ("diag", _shaping.diag, "x=input offset=diagonal"),
    ("diff", _reductions.diff, "x=input n axis=dim"),
    ("dist", _linear.dist, "x=input y=other p"),
    ("dot", _linear.dot, "x=input y=tensor"),
    ("equal_all", _reductions.equal, "x=input y=other"),
    ("full_like", _creation.full_like, "x=input fill_value dtype"),
    ("index_select", _indexing.index_select, "x=input index axis=dim"),
    ("inner", _linear.inner, "x=input y=other"),
    ("kron", _linear.kron, "x=input y=other"),
    ("kthvalue", _indexing.kthvalue, "x=input k axis=dim keepdim"),
    ("lerp", _pointwise.lerp, "x=input y=end weight"),
    ("linspace", _creation.linspace, "start stop=end num=steps dtype"),
    ("logsumexp", _reductions.logsumexp, "x=input axis=dim keepdim"),
    ("masked_fill", _indexing.masked_fill, "x=input mask value"),
    ("masked_select", _indexing.masked_select, "x=input mask"),
    ("median", _reductions.median, "x=input axis=dim keepdim"),
    ("min", _reductions.amin, "x=input axis=dim keepdim"),
    ("multinomial", _random.multinomial, "x=input num_samples replacement"),
    ("mv", _linear.mv, "x=input vec"),
    ("nonzero", _indexing.nonzero, "x=input as_tuple"),
    ("numel", _shaping.numel, "x=input"),
    ("ones_like", _creation.ones_like, "x=input dtype"),
    ("outer", _linear.outer, "x=input y=vec2"),
    ("prod", _reductions.prod, "x=input axis=dim keepdim dtype"),
    ("quantile", _reductions.quantile, "x=input q axis=dim keepdim"),
    ("randint", _random.randint, "low high shape=size dtype"),
    ("randperm", _random.randperm, "n dtype"),
    ("roll", _shaping.roll, "x=input shifts axis=dims"),
    ("rot90", _shaping.rot90, "x=input k axes=dims"),
    ("std", _reductions.std, "x=input axis=dim unbiased keepdim"),
    ("t", _shaping.t, "input"),
    ("take_along_axis", _indexing.take_along_dim, "arr=input indices axis=dim"),
    ("topk", _indexing.topk, "x=input k axis=dim largest sorted"),
    ("trace", _linear.trace, "x=input"),
    ("tril", _shaping.tril, "x=input diagonal"),
    ("triu", _shaping.triu, "x=input diagonal"),
    ("unbind", _joining.unbind, "input axis=dim"),
    ("unsqueeze", _shaping.unsqueeze, "x=input axis=dim"),
    ("var", _reductions.var, "x=input axis=dim unbiased keepdim"),
    ("zeros_like", _creation.zeros_like, "x=input dtype"),
)


def _made() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for name in _UNARY:
        found[name] = borrow(name, getattr(_pointwise, name), "x=input")
    for name, other in _BINARY.items():
        found[name] = borrow(name, getattr(_pointwise, other), "x=input y=other")
    for name, function, parameters in _ROWS:
        found[name] = borrow(name, function, parameters)
    return found


FUNCTIONS = _made()


def cast(x: Tensor, dtype: Any) -> Tensor:
    """Return the elements in another dtype.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.cast(paddle.ones([2]), "int64").numpy()
    array([1, 1])
    """
    return x.astype(dtype)


def cumsum(x: Tensor, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Return the running sum along a dimension, or of all elements in one line.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.cumsum(paddle.to_tensor([1, 2])).numpy()
    array([1, 3])
    """
    return Tensor._run(lambda array: np.cumsum(array, axis, dtype), x)


def einsum(equation: str, *operands: Tensor) -> Tensor:
    """Sum products over indices by Einstein's convention.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.einsum("ij->i", paddle.ones([2, 3])).numpy()
    array([3., 3.], dtype=float32)
    """
    return Tensor._run(lambda *arrays: np.einsum(equation, *arrays), *operands)


def expand(x: Tensor, shape: Any) -> Tensor:
    """Repeat the elements to a larger shape; -1 keeps an extent.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.expand(paddle.ones([3]), [2, 3]).shape
    [2, 3]
    """
    made: Tensor = FUNCTIONS["broadcast_to"](x, shape)
    return made


def flatten(x: Tensor, start_axis: int = 0, stop_axis: int = -1) -> Tensor:
    """Merge several dimensions into one.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.flatten(paddle.ones([2, 3, 4]), 1).shape
    [2, 12]
    """
    return x.flatten(start_axis, stop_axis)


def flip(x: Tensor, axis: Any) -> Tensor:
    """Reverse dimensions.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.flip(paddle.arange(3), 0).numpy()
    array([2, 1, 0])
    """
    return Tensor._run(lambda array: np.flip(array, axis), x)


def gather(x: Tensor, index: Tensor, axis: int = 0) -> Tensor:
    """Take whole slices along a dimension.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.gather(paddle.arange(3), paddle.to_tensor([2, 0])).numpy()
    array([2, 0])
    """
    return Tensor._run(lambda array, at: np.take(array, at.reshape(-1), axis=axis), x, index)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Any = None,
) -> list[Any]:
    """Return the gradients of outputs with respect to inputs, without changing any ``grad``.

    Examples
    --------
    >>> from forerun import paddle
    >>> x = paddle.to_tensor([3.0], stop_gradient=False)
    >>> paddle.grad(x * x, x)[0].item()
    6.0
    """
    heads = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    wanted = grad_outputs if grad_outputs is None or isinstance(grad_outputs, (list, tuple)) else [grad_outputs]
    if wanted is None:
        wanted = [Tensor._of(np.ones_like(head._array.detach())) for head in heads]
    found = autograd.grad(lend(heads), lend(inputs), lend(wanted), retain_graph, create_graph, allow_unused)
    return list(take(found))


def meshgrid(*args: Any) -> list[Tensor]:
    """Return the coordinates of a grid.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.meshgrid(paddle.arange(2), paddle.arange(3))[0].shape
    [2, 3]
    """
    return list(take(_shaping.meshgrid(*lend(args))))


def norm(x: Tensor, p: Any = "fro", axis: Any = None, keepdim: bool = False) -> Tensor:
    """Return the norm of all elements, or of those along dimensions.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.norm(paddle.to_tensor([3.0, 4.0])).item()
    5.0
    """
    made: Tensor = take(_reductions.norm(lend(x), p, axis, keepdim))
    return made


def sort(x: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """Sort along a dimension.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.sort(paddle.to_tensor([2.0, 1.0])).numpy()
    array([1., 2.], dtype=float32)
    """
    made: Tensor = take(_indexing.sort(lend(x), axis, descending).values)
    return made


def split(x: Tensor, num_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Split into a number of equal parts, or into parts of the listed sizes, of which one may be -1.

    Examples
    --------
    >>> from forerun import paddle
    >>> [part.shape for part in paddle.split(paddle.ones([4]), [1, -1])]
    [[1], [3]]
    """
    extent = x.shape[axis]
    if isinstance(num_or_sections, int):
        if extent % num_or_sections:
            raise ValueError(f"split: {extent} cannot be divided into {num_or_sections} equal parts")
        sizes = [extent // num_or_sections] * num_or_sections
    else:
        rest = extent - sum(size for size in num_or_sections if size != -1)
        sizes = [rest if size == -1 else size for size in num_or_sections]
    return list(take(_joining.split(lend(x), sizes, axis)))


def squeeze(x: Tensor, axis: Any = None) -> Tensor:
    """Remove dimensions of extent one; a listed dimension of another extent stays.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.squeeze(paddle.ones([1, 3])).shape
    [3]
    """
    made: Tensor = take(_shaping.squeeze(lend(x), axis))
    return made


def tile(x: Tensor, repeat_times: Any) -> Tensor:
    """Repeat the whole tensor along each dimension.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.tile(paddle.ones([2]), [2]).shape
    [4]
    """
    return Tensor._run(lambda array: np.tile(array, repeat_times), x)


def transpose(x: Tensor, perm: Any) -> Tensor:
    """Permute the dimensions.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.transpose(paddle.ones([2, 3]), [1, 0]).shape
    [3, 2]
    """
    return x.transpose(perm)


def unique(x: Tensor, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """Return the distinct elements in order. Waits for their number.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.unique(paddle.to_tensor([3, 1, 3])).numpy()
    array([1, 3])
    """
    found = np.unique(x._array, return_index, return_inverse, return_counts)
    return tuple(map(Tensor._of, found)) if isinstance(found, tuple) else Tensor._of(found)


_WRITTEN = (
    cast, cumsum, einsum, expand, flatten, flip, gather, grad, meshgrid, norm, sort, split, squeeze, tile, transpose,
    unique,
)  # fmt: skip
FUNCTIONS |= {function.__name__: function for function in _WRITTEN}
_NOT_METHODS = {"einsum", "grad", "meshgrid", "linspace", "randint", "randperm", "numel", "pow"}


def attach() -> None:
    """Give the tensors the functions as methods."""
    for name, function in FUNCTIONS.items():
        if name not in _NOT_METHODS and name not in vars(Tensor):
            setattr(Tensor, name, function)
    for name in ("pow", "numel"):
        setattr(Tensor, name, FUNCTIONS[name])
