"""Activation functions, linear maps, dropout and embedding, as functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from forerun import _forerun, np, npx
from forerun._dialect import losses
from forerun._forerun import ndarray
from forerun.torch._pointwise import log_softmax as _log_softmax
from forerun.torch._pointwise import softmax as _softmax
from forerun.torch._tensor import Tensor

__all__ = [
    "alpha_dropout", "bilinear", "celu", "cosine_similarity", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "embedding", "embedding_bag", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "leaky_relu", "linear", "log_softmax", "logsigmoid", "mish", "normalize", "one_hot", "pairwise_distance", "prelu",
    "relu", "relu6", "rrelu", "selu", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign",
    "tanh", "tanhshrink", "threshold",
]  # fmt: skip


def _in(input: Tensor, made: Tensor, inplace: bool) -> Tensor:
    return input.copy_(made) if inplace else made


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply by the transpose of a matrix of shape (outputs, inputs) and add a bias.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2))
    tensor([[2., 2., 2.]])
    """
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            f"linear: the input of shape {tuple(input.shape)} and the weight of shape {tuple(weight.shape)} differ in "
            "their last dimensions"
        )
    product = Tensor._run(lambda x, w: np.matmul(x, np.swapaxes(w, -1, -2) if w.ndim > 1 else w), input, weight)
    return product if bias is None else product + bias


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``x1.T @ weight[k] @ x2 + bias[k]`` for every output ``k``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(1, 2, 3))
    tensor([[6.]])
    """
    made = Tensor._run(lambda x, y, w: np.einsum("...i,kij,...j->...k", x, w, y), input1, input2, weight)
    return made if bias is None else made + bias


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Replace elements by zero with probability ``p`` and scale the rest up, in training.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    return _in(input, losses.dropout(input, p, training), inplace)


def _channels(input: Tensor, p: float, training: bool, rank: int, inplace: bool) -> Tensor:
    if not 0 <= p <= 1:
        raise ValueError(f"dropout: p must be a probability, got {p}")
    if not training or p == 0:
        return input
    if p == 1:
        return _in(input, input * 0, inplace)
    axes = tuple(range(input.dim() - rank, input.dim()))
    return _in(input, Tensor._run(lambda x: npx.dropout(x, p, mode="always", axes=axes), input), inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Replace whole channels of sequences by zero with probability ``p``, in training.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.dropout1d(torch.ones(1, 2, 3), training=False).shape
    torch.Size([1, 2, 3])
    """
    return _channels(input, p, training, 1, inplace)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Replace whole channels of images by zero with probability ``p``, in training.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.dropout2d(torch.ones(1, 2, 3, 3), training=False).shape
    torch.Size([1, 2, 3, 3])
    """
    return _channels(input, p, training, 2, inplace)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Replace whole channels of volumes by zero with probability ``p``, in training.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.dropout3d(torch.ones(1, 2, 3, 3, 3), training=False).shape
    torch.Size([1, 2, 3, 3, 3])
    """
    return _channels(input, p, training, 3, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Apply dropout that keeps mean and variance after SELU, in training.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.alpha_dropout(torch.ones(2))
    tensor([1., 1.])
    """
    if not 0 <= p <= 1:
        raise ValueError(f"alpha_dropout: p must be a probability, got {p}")
    if not training or p == 0:
        return input
    if p == 1:
        return _in(input, input * 0, inplace)
    low = -1.7580993408473766
    a = ((1 - p) * (1 + p * low * low)) ** -0.5
    b = -a * p * low
    kept = np.random.uniform(size=input.shape, device=input._array.device) >= p
    return _in(input, Tensor._run(lambda x: np.where(kept, x, low) * a + b, input), inplace)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Take one row of ``weight`` per index. The row ``padding_idx`` gets no gradient.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.embedding(torch.tensor([1, 0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    if max_norm is not None or scale_grad_by_freq:
        raise RuntimeError(
            "embedding: max_norm and scale_grad_by_freq are not supported: scale the weight in the program"
        )
    if padding_idx is None:
        return Tensor._run(_forerun.embedding, input, weight)
    row = padding_idx % weight.shape[0]

    def padded(indices: ndarray, rows: ndarray) -> ndarray:
        found = _forerun.embedding(indices, rows)
        return np.where(np.equal(indices, row)[..., None], found.detach(), found)

    return Tensor._run(padded, input, weight)


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, *, mode: str = "mean", padding_idx: int | None = None
) -> Tensor:
    """Return the sum, mean or maximum of the rows of each bag of indices.

    Parameters
    ----------
    input : Tensor
        Indices: one bag per row, or all bags in one line.
    weight : Tensor
        The rows.
    offsets : Tensor, optional
        Where each bag starts, if the indices are in one line.
    mode : str
        ``"mean"``, ``"sum"`` or ``"max"``.
    padding_idx : int, optional
        An index that is left out of the bags.

    Examples
    --------
    >>> from forerun import torch
    >>> weight = torch.tensor([[1.0], [2.0], [3.0]])
    >>> torch.nn.functional.embedding_bag(torch.tensor([0, 1, 2]), weight, torch.tensor([0, 1]))
    tensor([[1.0000],
            [2.5000]])
    """
    if mode not in ("mean", "sum", "max"):
        raise ValueError(f"embedding_bag: mode is 'mean', 'sum' or 'max', not {mode!r}")
    rows = embedding(input, weight, padding_idx)
    if offsets is None:
        if padding_idx is not None:
            raise RuntimeError("embedding_bag: padding_idx needs offsets")
        reduced: dict[str, Callable[..., Any]] = {"mean": np.mean, "sum": np.sum, "max": np.max}
        return Tensor._run(lambda x: reduced[mode](x, axis=1), rows)
    places, starts = input._array, offsets._array
    bags = np.searchsorted(starts, np.arange(input.shape[0]), "right") - 1
    counted = np.ones(places.shape) if padding_idx is None else np.not_equal(places, padding_idx).astype(np.float32)
    if mode == "max":
        if padding_idx is not None:
            raise RuntimeError("embedding_bag: padding_idx cannot be combined with 'max'")
        member = np.equal(np.arange(offsets.shape[0])[:, None], bags)[..., None]
        best = Tensor._run(lambda x: np.max(np.where(member, x, -np.inf), axis=1), rows)
        return Tensor._run(lambda x: np.where(np.isfinite(x), x, 0.0), best)
    empty = np.zeros((offsets.shape[0], weight.shape[1]), weight.dtype)
    total = Tensor._run(lambda x: npx.index_add(empty, bags[None], x * counted[:, None].astype(x.dtype)), rows)
    if mode == "sum":
        return total
    counts = npx.index_add(np.zeros((offsets.shape[0],)), bags[None], counted)
    return Tensor._run(lambda x: x / np.maximum(counts, 1)[:, None].astype(x.dtype), total)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Encode every class as a one-hot row. Without ``num_classes`` it waits for the largest class.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.one_hot(torch.tensor([1, 0]), 2)
    tensor([[0, 1],
            [1, 0]])
    """
    classes = int(tensor.max().item()) + 1 if num_classes < 0 else num_classes
    return Tensor._run(lambda array: npx.one_hot(array, classes).astype(np.int64), tensor)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Replace negative elements by zero.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return _in(input, Tensor._run(npx.relu, input), inplace)


def _pointwise(name: str, function: Callable[..., Any], doc: str, *options: tuple[str, Any]) -> Callable[..., Tensor]:
    """Make an activation from a function of an array and options, given by position or name."""
    names = [option for option, _ in options]
    defaults = dict(options)

    def activation(input: Tensor, *args: Any, inplace: bool = False, **named: Any) -> Tensor:
        given = dict(zip(names, args, strict=False))
        if len(args) == len(names) + 1:
            inplace = args[-1]
        elif len(args) > len(names) or set(named) - set(names) or set(named) & set(given):
            raise TypeError(f"{name}: takes {', '.join(names) or 'no options'}")
        values = {**defaults, **given, **named}
        return _in(input, Tensor._run(lambda x: function(x, **values), input), inplace)

    activation.__name__ = activation.__qualname__ = name
    activation.__doc__ = doc
    return activation


def _elu(x: ndarray, alpha: float) -> ndarray:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _selu(x: ndarray) -> ndarray:
    return 1.0507009873554805 * _elu(x, 1.6732632423543772)


def _celu(x: ndarray, alpha: float) -> ndarray:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) / alpha))


def _gelu(x: ndarray, approximate: str) -> ndarray:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    if approximate != "none":
        raise RuntimeError(f"gelu: approximate is 'none' or 'tanh', not {approximate!r}")
    return 0.5 * x * (1 + npx.erf(x * math.sqrt(0.5)))


def _softplus(x: ndarray, beta: float, threshold: float) -> ndarray:
    scaled = x * beta
    # Beyond the threshold the function is linear, and its exponential might overflow.
    return np.where(scaled > threshold, x, np.log1p(np.exp(np.minimum(scaled, threshold))) / beta)


def _logsigmoid(x: ndarray) -> ndarray:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


def _hardsigmoid(x: ndarray) -> ndarray:
    return np.clip(x + 3, 0, 6) / 6


def _hardswish(x: ndarray) -> ndarray:
    return x * np.clip(x + 3, 0, 6) / 6


def _mish(x: ndarray) -> ndarray:
    return x * np.tanh(_softplus(x, 1.0, 20.0))


def _silu(x: ndarray) -> ndarray:
    return x * npx.sigmoid(x)


def _leaky_relu(x: ndarray, negative_slope: float) -> ndarray:
    return np.where(x >= 0, x, x * negative_slope)


def _hardshrink(x: ndarray, lambd: float) -> ndarray:
    return np.where(np.abs(x) > lambd, x, 0.0)


def _softshrink(x: ndarray, lambd: float) -> ndarray:
    return np.sign(x) * np.maximum(np.abs(x) - lambd, 0)


def _threshold(x: ndarray, threshold: float, value: float) -> ndarray:
    return np.where(x > threshold, x, value)


def _hardtanh(x: ndarray, min_val: float, max_val: float) -> ndarray:
    return np.clip(x, min_val, max_val)


celu = _pointwise("celu", _celu, "Return ``x``, or ``alpha * (exp(x / alpha) - 1)`` below zero.", ("alpha", 1.0))
elu = _pointwise("elu", _elu, "Return ``x``, or ``alpha * (exp(x) - 1)`` below zero.", ("alpha", 1.0))
gelu = _pointwise("gelu", _gelu, "Return ``x`` times the normal distribution's function.", ("approximate", "none"))
hardshrink = _pointwise("hardshrink", _hardshrink, "Set elements within ``lambd`` of zero to zero.", ("lambd", 0.5))
hardsigmoid = _pointwise("hardsigmoid", _hardsigmoid, "Return ``clip(x + 3, 0, 6) / 6``.")
hardswish = _pointwise("hardswish", _hardswish, "Return ``x * clip(x + 3, 0, 6) / 6``.")
hardtanh = _pointwise("hardtanh", _hardtanh, "Limit every element to an interval.", ("min_val", -1.0), ("max_val", 1.0))
leaky_relu = _pointwise(
    "leaky_relu", _leaky_relu, "Return ``x``, or ``negative_slope * x`` below zero.", ("negative_slope", 0.01)
)
logsigmoid = _pointwise("logsigmoid", _logsigmoid, "Return the logarithm of the logistic function.")
mish = _pointwise("mish", _mish, "Return ``x * tanh(softplus(x))``.")
relu6 = _pointwise("relu6", lambda x: np.clip(x, 0, 6), "Limit every element to 0 to 6.")
selu = _pointwise("selu", _selu, "Return the scaled exponential linear unit.")
sigmoid = _pointwise("sigmoid", npx.sigmoid, "Apply the logistic function to every element.")
silu = _pointwise("silu", _silu, "Return ``x`` times its logistic function.")
softplus = _pointwise(
    "softplus", _softplus, "Return ``log(1 + exp(beta * x)) / beta``.", ("beta", 1.0), ("threshold", 20.0)
)
softshrink = _pointwise("softshrink", _softshrink, "Move every element towards zero by ``lambd``.", ("lambd", 0.5))
softsign = _pointwise("softsign", npx.softsign, "Return ``x / (1 + abs(x))``.")
tanh = _pointwise("tanh", np.tanh, "Return the hyperbolic tangent of every element.")
tanhshrink = _pointwise("tanhshrink", lambda x: x - np.tanh(x), "Return ``x - tanh(x)``.")
threshold = _pointwise(
    "threshold", _threshold, "Replace elements up to ``threshold`` by ``value``.", ("threshold", 0.0), ("value", 0.0)
)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Return ``x``, or ``weight * x`` below zero, with one weight for all or one per channel.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.prelu(torch.tensor([-2.0, 2.0]), torch.tensor([0.25]))
    tensor([-0.5000,  2.0000])
    """
    shape = [-1 if d == min(1, input.dim() - 1) and weight.numel() > 1 else 1 for d in range(input.dim())]
    return Tensor._run(lambda x, w: np.where(x >= 0, x, x * w.reshape(*shape)), input, weight)


def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """Return ``x``, or below zero ``x`` times a slope: random in training, otherwise the mean of the limits.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.rrelu(torch.tensor([2.0]))
    tensor([2.])
    """
    slope: Any = (lower + upper) / 2
    if training:
        slope = np.random.uniform(lower, upper, input.shape, device=input._array.device)
    return _in(input, Tensor._run(lambda x: np.where(x >= 0, x, x * slope), input), inplace)


def _last(input: Tensor, dim: int | None) -> int:
    # PyTorch's default: 1 for two and more than three dimensions, else 0.
    if dim is not None:
        return dim
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Compute the softmax along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.softmax(torch.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _softmax(input, _last(input, dim), dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Compute the logarithm of the softmax along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.log_softmax(torch.zeros(1), dim=0)
    tensor([0.])
    """
    return _log_softmax(input, _last(input, dim), dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """Compute the softmax of the negative along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.softmin(torch.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    return _softmax(-input, _last(input, dim), dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, dim: int = -1) -> Tensor:
    """Draw from a relaxed categorical distribution; with ``hard``, one-hot with the gradient of the relaxed draw.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.gumbel_softmax(torch.zeros(3), hard=True).sum()
    tensor(1.)
    """
    noise = np.random.gumbel(size=logits.shape).astype(logits.dtype).as_in_ctx(logits._array.device)
    soft = Tensor._run(lambda x: npx.softmax((x + noise) / tau, axis=dim), logits)
    if not hard:
        return soft
    chosen = np.argmax(soft._array, dim, keepdims=True)
    places = np.arange(logits.shape[dim]).reshape([-1 if d == dim % logits.dim() else 1 for d in range(logits.dim())])
    ones = np.equal(places, chosen).astype(logits.dtype)
    return Tensor._run(lambda x: ones - x.detach() + x, soft)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Split a dimension into halves, and multiply the first by the logistic function of the second.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.glu(torch.tensor([2.0, 0.0]))
    tensor([1.])
    """
    if input.shape[dim] % 2:
        raise RuntimeError(f"glu: dimension {dim} must be even, got {input.shape[dim]}")
    first, second = input.chunk(2, dim)
    return first * second.sigmoid()


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """Divide by the norm along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    return input / input.norm(p, dim, True).clamp_min(eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle between vectors along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
    tensor([1.])
    """
    a, b = x1.norm(2, dim, True).clamp_min(eps), x2.norm(2, dim, True).clamp_min(eps)
    return (x1 / a * (x2 / b)).sum(dim)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """Return the norm of differences along the last dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.pairwise_distance(torch.tensor([[3.0, 4.0]]), torch.zeros(1, 2))
    tensor([5.0000])
    """
    return (x1 - x2 + eps).norm(p, -1, keepdim)
