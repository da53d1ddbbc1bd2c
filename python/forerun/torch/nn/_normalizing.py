"""Normalisation and attention, as functions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from forerun import _forerun, np, npx
from forerun._forerun import ndarray
from forerun.torch._tensor import Tensor

__all__ = [
    "batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm",
    "scaled_dot_product_attention",
]  # fmt: skip


def _ones(x: ndarray, extent: int) -> ndarray:
    return np.ones((extent,), x.dtype, device=x.device)


def _zeros(x: ndarray, extent: int) -> ndarray:
    return np.zeros((extent,), x.dtype, device=x.device)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every channel by the batch's mean and variance in training, otherwise by the running ones.

    In training the running mean and variance move towards the batch's by ``momentum``; the variance is unbiased.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.tensor([[2.0], [4.0]])
    >>> torch.nn.functional.batch_norm(x, torch.tensor([3.0]), torch.ones(1), eps=0)
    tensor([[-1.],
            [ 1.]])
    """
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("batch_norm: needs the running mean and variance outside of training")
    channels = input.shape[1]
    members = input.numel() // max(channels, 1)
    if training and members <= 1:
        raise ValueError(f"batch_norm: needs more than one element per channel in training, got {tuple(input.shape)}")
    kept: list[ndarray] = []

    def computed(x: ndarray, w: ndarray | None, b: ndarray | None) -> ndarray:
        # A momentum of one leaves the running statistics as they are: they are updated below.
        mean = _zeros(x, channels) if running_mean is None else running_mean._array
        variance = _ones(x, channels) if running_var is None else running_var._array
        scale, shift = _ones(x, channels) if w is None else w, _zeros(x, channels) if b is None else b
        made, *kept[:] = _forerun.batch_norm(x, scale, shift, mean, variance, 1, eps, 1.0, False, training)
        return made

    made = Tensor._run(computed, input, weight, bias)
    if training and running_mean is not None and running_var is not None:
        mean, variance = kept[0].detach(), kept[1].detach()
        unbiased = variance * (members / (members - 1))
        running_mean._array[...] = running_mean._array * (1 - momentum) + mean * momentum
        running_var._array[...] = running_var._array * (1 - momentum) + unbiased * momentum
    return made


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over the last dimensions to mean 0 and variance 1, then scale and shift.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0]]), (2,), eps=0)
    tensor([[-1.,  1.]])
    """
    lead, size = _last(input, normalized_shape, "layer_norm")

    def computed(x: ndarray, w: ndarray | None, b: ndarray | None) -> ndarray:
        scale = _ones(x, size) if w is None else w.reshape(-1)
        shift = _zeros(x, size) if b is None else b.reshape(-1)
        return _forerun.layer_norm(x.reshape(*lead, size), scale, shift, -1, eps).reshape(*x.shape)

    return Tensor._run(computed, input, weight, bias)


def _last(input: Tensor, shape: Sequence[int], name: str) -> tuple[tuple[int, ...], int]:
    own = tuple(input.shape)
    if own[len(own) - len(shape) :] != tuple(shape):
        raise RuntimeError(f"{name}: the last dimensions of an input of shape {own} are not {tuple(shape)}")
    return own[: len(own) - len(shape)], math.prod(shape)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divide by the root of the mean square over the last dimensions, then scale.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.rms_norm(torch.tensor([[3.0, 3.0]]), (2,))
    tensor([[1., 1.]])
    """
    lead, size = _last(input, normalized_shape, "rms_norm")
    least = float(np.finfo(input.dtype).eps) if eps is None else eps

    def computed(x: ndarray, w: ndarray | None) -> ndarray:
        scale = _ones(x, size) if w is None else w.reshape(-1)
        return _forerun.rms_norm(x.reshape(*lead, size), scale, -1, least).reshape(*x.shape)

    return Tensor._run(computed, input, weight)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalise groups of channels of every sample, then scale and shift the channels.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.group_norm(torch.randn(2, 4, 3), 2).shape
    torch.Size([2, 4, 3])
    """
    channels = input.shape[1]
    if channels % num_groups:
        raise RuntimeError(f"group_norm: {channels} channels cannot be divided into {num_groups} groups")

    def computed(x: ndarray, w: ndarray | None, b: ndarray | None) -> ndarray:
        scale, shift = _ones(x, channels) if w is None else w, _zeros(x, channels) if b is None else b
        return _forerun.group_norm(x, scale, shift, num_groups, eps)

    return Tensor._run(computed, input, weight, bias)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every channel of every sample, then scale and shift the channels.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.instance_norm(torch.randn(2, 4, 3)).shape
    torch.Size([2, 4, 3])
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    channels = input.shape[1]

    def computed(x: ndarray, w: ndarray | None, b: ndarray | None) -> ndarray:
        scale, shift = _ones(x, channels) if w is None else w, _zeros(x, channels) if b is None else b
        return _forerun.instance_norm(x, scale, shift, 1, eps)

    made = Tensor._run(computed, input, weight, bias)
    if running_mean is not None and running_var is not None:
        axes = tuple(range(2, input.dim()))
        x = input._array.detach()
        mean, variance = np.mean(x, axes).mean(0), np.var(x, axes, ddof=1).mean(0)
        running_mean._array[...] = running_mean._array * (1 - momentum) + mean * momentum
        running_var._array[...] = running_var._array * (1 - momentum) + variance * momentum
    return made


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divide by a power of the mean square over neighbouring channels.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.local_response_norm(torch.ones(1, 3, 2), 2).shape
    torch.Size([1, 3, 2])
    """

    def computed(x: ndarray) -> ndarray:
        padded = np.pad(x * x, [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2))
        channels = x.shape[1]
        total = padded[:, 0:channels]
        for number in range(1, size):
            total = total + padded[:, number : number + channels]
        return x / (k + total * (alpha / size)) ** beta

    return Tensor._run(computed, input)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Compute ``softmax(scale * query @ key.T + mask) @ value``; where a mask of truth values is False is hidden.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.randn(2, 5, 4)
    >>> torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
    torch.Size([2, 5, 4])
    """
    if is_causal and attn_mask is not None:
        raise RuntimeError("scaled_dot_product_attention: a mask cannot be combined with is_causal")
    if enable_gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(times, -3), value.repeat_interleave(times, -3)

    def computed(q: ndarray, k: ndarray, v: ndarray, mask: ndarray | None) -> ndarray:
        former = _forerun.set_training(dropout_p > 0)
        try:
            return npx.scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal, scale)
        finally:
            _forerun.set_training(former)

    return Tensor._run(computed, query, key, value, attn_mask)
