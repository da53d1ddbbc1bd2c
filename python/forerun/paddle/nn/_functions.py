"""Functional forms whose arithmetic is that of the PyTorch dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun.paddle._borrow import borrow
from forerun.torch.nn import functional as F

# Activations: name, function and parameters; see `borrow`.
_ACTIVATIONS: tuple[tuple[str, str, str], ...] = (
    ("celu", "celu", "x=input alpha"),
    ("elu", "elu", "x=input alpha"),
    ("glu", "glu", "x=input axis=dim"),
    ("hardshrink", "hardshrink", "x=input threshold=lambd"),
    ("hardsigmoid", "hardsigmoid", "x=input"),
    ("hardswish", "hardswish", "x=input"),
    ("hardtanh", "hardtanh", "x=input min=min_val max=max_val"),
    ("leaky_relu", "leaky_relu", "x=input negative_slope"),
    ("log_sigmoid", "logsigmoid", "x=input"),
    ("mish", "mish", "x=input"),
    ("relu6", "relu6", "x=input"),
    ("selu", "selu", "x=input"),
    ("silu", "silu", "x=input"),
    ("softplus", "softplus", "x=input beta threshold"),
    ("softshrink", "softshrink", "x=input threshold=lambd"),
    ("softsign", "softsign", "x=input"),
    ("swish", "silu", "x=input"),
    ("tanhshrink", "tanhshrink", "x=input"),
)
_LOSSES: tuple[tuple[str, str, str], ...] = (
    ("binary_cross_entropy", "binary_cross_entropy", "input label=target weight reduction"),
    (
        "binary_cross_entropy_with_logits",
        "binary_cross_entropy_with_logits",
        "logit=input label=target weight reduction pos_weight",
    ),
    ("kl_div", "kl_div", "input label=target reduction"),
    ("margin_ranking_loss", "margin_ranking_loss", "input=input1 other=input2 label=target margin reduction"),
    ("nll_loss", "nll_loss", "input label=target weight ignore_index reduction"),
)


def _rows() -> dict[str, Callable[..., Any]]:
    rows = {name: borrow(name, getattr(F, other), spec) for name, other, spec in (*_ACTIVATIONS, *_LOSSES)}
    for rank in (1, 2, 3):
        convolution = "x=input weight bias stride padding dilation groups"
        rows[f"conv{rank}d"] = borrow(f"conv{rank}d", getattr(F, f"conv{rank}d"), convolution)
        name = f"conv{rank}d_transpose"
        transposed = "x=input weight bias stride padding output_padding groups dilation"
        rows[name] = borrow(name, getattr(F, f"conv_transpose{rank}d"), transposed)
        name = f"max_pool{rank}d"
        rows[name] = borrow(name, getattr(F, name), "x=input kernel_size stride padding ceil_mode")
        name = f"avg_pool{rank}d"
        rows[name] = borrow(name, _average(getattr(F, name)), "x=input kernel_size stride padding exclusive ceil_mode")
        name = f"adaptive_avg_pool{rank}d"
        rows[name] = borrow(name, getattr(F, name), "x=input output_size")
        name = f"adaptive_max_pool{rank}d"
        rows[name] = borrow(name, getattr(F, name), "x=input output_size")
    others = {
        "cosine_similarity": "x1 x2 axis=dim eps",
        "embedding": "x=input weight padding_idx !sparse",
        "gumbel_softmax": "x=logits temperature=tau hard axis=dim",
        "huber_loss": "input label=target reduction delta",
        "interpolate": "x=input size scale_factor mode align_corners",
        "layer_norm": "x=input normalized_shape weight bias epsilon=eps",
        "normalize": "x=input p axis=dim epsilon=eps",
        "one_hot": "x=tensor num_classes",
        "pad": "x=input pad mode value",
        "pixel_shuffle": "x=input upscale_factor",
        "prelu": "x=input weight",
        "smooth_l1_loss": "input label=target reduction delta=beta",
        "unfold": "x=input kernel_sizes=kernel_size strides=stride paddings=padding dilations=dilation",
    }
    rows |= {name: borrow(name, getattr(F, name), spec) for name, spec in others.items()}
    rows["log_softmax"] = borrow("log_softmax", _log_softmax, "x=input axis=dim")
    return rows


def _log_softmax(input: Any, dim: int = -1) -> Any:
    """Compute the logarithm of the softmax along a dimension."""
    return F.log_softmax(input, dim)


def _average(pool: Callable[..., Any]) -> Callable[..., Any]:
    def pooled(
        input: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        exclusive: bool = True,
        ceil_mode: bool = False,
    ) -> Any:
        return pool(input, kernel_size, stride, padding, ceil_mode, not exclusive)

    pooled.__doc__ = "Return the mean of each window; padding does not count unless ``exclusive`` is False."
    return pooled


FUNCTIONS = _rows()
