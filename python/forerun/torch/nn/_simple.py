"""Activations and other layers without parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from forerun.torch._creation import ones
from forerun.torch._shaping import unflatten
from forerun.torch._tensor import Parameter, Tensor
from forerun.torch.nn import functional as F
from forerun.torch.nn._module import Module


class Plain(Module):
    """A layer that calls a function of tensors with its options.

    The options are attributes; they are given by position or name. ``inplace`` is accepted and has no effect: the
    engine reuses buffers by itself.
    """

    _function: ClassVar[Callable[..., Any]]
    _options: ClassVar[dict[str, Any]] = {}
    # Whether the function must know if the layer is trained.
    _trains: ClassVar[bool] = False

    def __init__(self, *args: Any, inplace: bool = False, **named: Any) -> None:
        super().__init__()
        names = list(self._options)
        given = args[: len(names)]
        if len(args) > len(names) + 1 or set(named) - set(names):
            wrong = sorted(set(named) - set(names))
            raise TypeError(
                f"{type(self).__name__}: takes {', '.join(names) or 'no options'}{f', not {wrong}' if wrong else ''}"
            )
        self.inplace = bool(args[len(names)]) if len(args) > len(names) else inplace
        for name, value in {**self._options, **dict(zip(names, given, strict=False)), **named}.items():
            if value is Ellipsis:
                raise TypeError(f"{type(self).__name__}: {name} is missing")
            setattr(self, name, value)

    def forward(self, input: Tensor) -> Any:
        """Apply the function."""
        options = {name: getattr(self, name) for name in self._options}
        if self._trains:
            options["training"] = self.training
        return type(self)._function(input, **options)

    def extra_repr(self) -> str:
        """Return the options."""
        shown = [f"{name}={getattr(self, name)}" for name in self._options]
        return ", ".join([*shown, "inplace=True"] if self.inplace else shown)


def _layer(name: str, function: Callable[..., Any], doc: str, trains: bool = False, **options: Any) -> type[Plain]:
    """Make the class of a layer."""
    body = {
        "__doc__": doc,
        "__module__": "forerun.torch.nn",
        "__qualname__": name,
        "_function": staticmethod(function),
        "_options": options,
        "_trains": trains,
    }
    return type(name, (Plain,), body)


CELU = _layer("CELU", F.celu, "Return ``x``, or ``alpha * (exp(x / alpha) - 1)`` below zero.", alpha=1.0)
ELU = _layer("ELU", F.elu, "Return ``x``, or ``alpha * (exp(x) - 1)`` below zero.", alpha=1.0)
GELU = _layer("GELU", F.gelu, "Return ``x`` times the normal distribution's function.", approximate="none")
GLU = _layer("GLU", F.glu, "Multiply one half of a dimension by the logistic function of the other.", dim=-1)
Hardshrink = _layer("Hardshrink", F.hardshrink, "Set elements within ``lambd`` of zero to zero.", lambd=0.5)
Hardsigmoid = _layer("Hardsigmoid", F.hardsigmoid, "Return ``clip(x + 3, 0, 6) / 6``.")
Hardswish = _layer("Hardswish", F.hardswish, "Return ``x * clip(x + 3, 0, 6) / 6``.")
Hardtanh = _layer("Hardtanh", F.hardtanh, "Limit every element to an interval.", min_val=-1.0, max_val=1.0)
LeakyReLU = _layer("LeakyReLU", F.leaky_relu, "Multiply negative elements by a slope.", negative_slope=0.01)
LogSigmoid = _layer("LogSigmoid", F.logsigmoid, "Return the logarithm of the logistic function.")
LogSoftmax = _layer("LogSoftmax", F.log_softmax, "Return the logarithm of the softmax along a dimension.", dim=None)
Mish = _layer("Mish", F.mish, "Return ``x * tanh(softplus(x))``.")
ReLU = _layer("ReLU", F.relu, "Replace negative elements by zero.")
ReLU6 = _layer("ReLU6", F.relu6, "Limit every element to 0 to 6.")
RReLU = _layer("RReLU", F.rrelu, "Multiply negative elements by a random slope.", trains=True, lower=1 / 8, upper=1 / 3)
SELU = _layer("SELU", F.selu, "Return the scaled exponential linear unit.")
SiLU = _layer("SiLU", F.silu, "Return ``x`` times its logistic function.")
Sigmoid = _layer("Sigmoid", F.sigmoid, "Return the logistic function of every element.")
Softmax = _layer("Softmax", F.softmax, "Return the softmax along a dimension.", dim=None)
Softmin = _layer("Softmin", F.softmin, "Return the softmax of the negative along a dimension.", dim=None)
Softplus = _layer("Softplus", F.softplus, "Return ``log(1 + exp(beta * x)) / beta``.", beta=1.0, threshold=20.0)
Softshrink = _layer("Softshrink", F.softshrink, "Move every element towards zero by ``lambd``.", lambd=0.5)
Softsign = _layer("Softsign", F.softsign, "Return ``x / (1 + abs(x))``.")
Tanh = _layer("Tanh", F.tanh, "Return the hyperbolic tangent of every element.")
Tanhshrink = _layer("Tanhshrink", F.tanhshrink, "Return ``x - tanh(x)``.")
Threshold = _layer("Threshold", F.threshold, "Replace elements up to a threshold.", threshold=..., value=...)

ChannelShuffle = _layer("ChannelShuffle", F.channel_shuffle, "Interleave groups of channels.", groups=...)
Flatten = _layer(
    "Flatten", lambda x, start_dim, end_dim: x.flatten(start_dim, end_dim), "Merge dimensions.", start_dim=1, end_dim=-1
)
Fold = _layer(
    "Fold", F.fold, "Add columns back to images.", output_size=..., kernel_size=..., dilation=1, padding=0, stride=1
)
PixelShuffle = _layer("PixelShuffle", F.pixel_shuffle, "Move channels to blocks of pixels.", upscale_factor=...)
PixelUnshuffle = _layer("PixelUnshuffle", F.pixel_unshuffle, "Move blocks of pixels to channels.", downscale_factor=...)
Unflatten = _layer(
    "Unflatten",
    lambda x, dim, unflattened_size: unflatten(x, dim, unflattened_size),
    "Split a dimension.",
    dim=...,
    unflattened_size=...,
)
Unfold = _layer("Unfold", F.unfold, "Return windows as columns.", kernel_size=..., dilation=1, padding=0, stride=1)
Upsample = _layer(
    "Upsample", F.interpolate, "Resize images.", size=None, scale_factor=None, mode="nearest", align_corners=None
)
CosineSimilarity = _layer("CosineSimilarity", F.cosine_similarity, "Return cosines of angles.", dim=1, eps=1e-8)
PairwiseDistance = _layer(
    "PairwiseDistance", F.pairwise_distance, "Return norms of differences.", p=2.0, eps=1e-6, keepdim=False
)
LocalResponseNorm = _layer(
    "LocalResponseNorm", F.local_response_norm, "Normalise over neighbours.", size=..., alpha=1e-4, beta=0.75, k=1.0
)


def _pair_forward(self: Plain, x1: Tensor, x2: Tensor) -> Any:
    """Apply the function."""
    return type(self)._function(x1, x2, **{name: getattr(self, name) for name in self._options})


for _two in (CosineSimilarity, PairwiseDistance):
    _two.forward = _pair_forward  # type: ignore[assignment]

_POOLS: dict[str, dict[str, Any]] = {
    "MaxPool": {
        "kernel_size": ...,
        "stride": None,
        "padding": 0,
        "dilation": 1,
        "return_indices": False,
        "ceil_mode": False,
    },
    "AvgPool": {"kernel_size": ..., "stride": None, "padding": 0, "ceil_mode": False, "count_include_pad": True},
    "LPPool": {"norm_type": ..., "kernel_size": ..., "stride": None, "ceil_mode": False},
    "AdaptiveAvgPool": {"output_size": ...},
    "AdaptiveMaxPool": {"output_size": ...},
}


def _pools(kind: str, function: str, doc: str, ranks: tuple[int, ...] = (1, 2, 3)) -> list[type[Plain]]:
    made = []
    for rank in ranks:
        options = _POOLS[kind]
        if kind == "AvgPool" and rank > 1:
            options = {**options, "divisor_override": None}
        layer = _layer(f"{kind}{rank}d", getattr(F, f"{function}{rank}d"), f"{doc} over {rank} axes.", **options)
        made.append(layer)
    return made


MaxPool1d, MaxPool2d, MaxPool3d = _pools("MaxPool", "max_pool", "Return the maximum of each window")
AvgPool1d, AvgPool2d, AvgPool3d = _pools("AvgPool", "avg_pool", "Return the mean of each window")
LPPool1d, LPPool2d = _pools("LPPool", "lp_pool", "Return the norm of each window", (1, 2))
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = _pools(
    "AdaptiveAvgPool", "adaptive_avg_pool", "Return means of windows with a result of the given extents"
)
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = _pools(
    "AdaptiveMaxPool", "adaptive_max_pool", "Return maxima of windows with a result of the given extents"
)


def _padding(kind: str, rank: int, mode: str) -> type[Plain]:
    def padded(input: Tensor, padding: Any, value: float = 0.0) -> Tensor:
        sides = (padding,) * (2 * rank) if isinstance(padding, int) else tuple(padding)
        return F.pad(input, sides, mode, value) if mode == "constant" else F.pad(input, sides, mode)

    options: dict[str, Any] = {"padding": ...} | ({"value": ...} if kind == "Constant" else {})
    return _layer(f"{kind}Pad{rank}d", padded, f"Pad {rank} axes in the way of ``pad(mode={mode!r})``.", **options)


ConstantPad1d, ConstantPad2d, ConstantPad3d = (_padding("Constant", rank, "constant") for rank in (1, 2, 3))
ZeroPad1d, ZeroPad2d, ZeroPad3d = (_padding("Zero", rank, "constant") for rank in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (_padding("Reflection", rank, "reflect") for rank in (1, 2, 3))
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (
    _padding("Replication", rank, "replicate") for rank in (1, 2, 3)
)
CircularPad1d, CircularPad2d, CircularPad3d = (_padding("Circular", rank, "circular") for rank in (1, 2, 3))


class _Dropping(Plain):
    _trains = True

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__(p, inplace=inplace)
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__}: p must be a probability, got {p}")

    def extra_repr(self) -> str:
        """Return the options."""
        return f"p={self.p}, inplace={self.inplace}"


def _drop(name: str, function: Callable[..., Any], doc: str) -> type[_Dropping]:
    body = {"__doc__": doc, "__module__": "forerun.torch.nn", "__qualname__": name, "_options": {"p": 0.5}}
    return type(name, (_Dropping,), {**body, "_function": staticmethod(function)})


Dropout = _drop("Dropout", F.dropout, "Replace random elements by zero in training, and scale the rest up.")
Dropout1d = _drop("Dropout1d", F.dropout1d, "Replace random channels of sequences by zero in training.")
Dropout2d = _drop("Dropout2d", F.dropout2d, "Replace random channels of images by zero in training.")
Dropout3d = _drop("Dropout3d", F.dropout3d, "Replace random channels of volumes by zero in training.")
AlphaDropout = _drop("AlphaDropout", F.alpha_dropout, "Apply dropout that keeps mean and variance after SELU.")


class Identity(Module):
    """Return the input; any options are accepted.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Identity()(torch.ones(1))
    tensor([1.])
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return the input."""
        return input


class Softmax2d(Module):
    """The softmax over the channels of images.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Softmax2d()(torch.zeros(1, 2, 1, 1)).reshape(-1)
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.softmax(input, -3)


class PReLU(Module):
    """Multiply negative elements by a trained slope, one for all or one per channel.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.PReLU()(torch.tensor([-4.0, 2.0])).detach()
    tensor([-1.,  2.])
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(ones(num_parameters, device=device, dtype=dtype) * init)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Return the number of slopes."""
        return f"num_parameters={self.num_parameters}"


LAYERS: dict[str, Any] = {
    name: value
    for name, value in globals().items()
    if isinstance(value, type) and issubclass(value, Module) and value not in (Module, Plain) and name[0] != "_"
}
