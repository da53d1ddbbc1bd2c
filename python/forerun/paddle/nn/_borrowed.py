"""Layers whose arithmetic is that of the PyTorch dialect; parameters have Paddle's names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from forerun import np
from forerun._dialect.module import Module
from forerun.paddle._borrow import lend, take
from forerun.paddle._functions import ones, zeros
from forerun.paddle._tensor import Parameter, Tensor
from forerun.paddle.nn._functions import FUNCTIONS
from forerun.paddle.nn._layers import Layer
from forerun.torch import nn as _nn

__all__ = [
    "GRU", "LSTM", "BCELoss", "BCEWithLogitsLoss", "BatchNorm", "BatchNorm1D", "BatchNorm2D", "BatchNorm3D",
    "ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue", "Conv1D", "Conv2D", "Conv2DTranspose", "Conv3D",
    "Embedding", "KLDivLoss", "LayerDict", "LayerList", "LayerNorm", "NLLLoss", "ParameterList", "SimpleRNN",
    "SmoothL1Loss",
]  # fmt: skip


class _Options(Layer):
    """A layer that calls a function of tensors with its options, which are attributes."""

    _function: ClassVar[str]
    _choices: ClassVar[dict[str, Any]] = {}

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__()
        options.pop("name", None)
        names = list(self._choices)
        if len(args) > len(names) or set(options) - set(names):
            raise TypeError(f"{type(self).__name__}: takes {', '.join(names) or 'no options'}")
        for key, value in {**self._choices, **dict(zip(names, args, strict=False)), **options}.items():
            if value is Ellipsis:
                raise TypeError(f"{type(self).__name__}: {key} is missing")
            setattr(self, key, value)

    def forward(self, *inputs: Any) -> Any:
        """Compute the function."""
        return FUNCTIONS[self._function](*inputs, **{key: getattr(self, key) for key in self._choices})

    def extra_repr(self) -> str:
        """Return the options."""
        return ", ".join(f"{key}={getattr(self, key)}" for key in self._choices)


def _layer(name: str, function: str, **options: Any) -> type[_Options]:
    doc = (FUNCTIONS[function].__doc__ or "").split("\n")[0]
    body = {"__doc__": doc, "__module__": "forerun.paddle.nn", "__qualname__": name}
    return type(name, (_Options,), {**body, "_function": function, "_choices": options})


# Name, function and options.
_PLAIN: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("CELU", "celu", {"alpha": 1.0}),
    ("ELU", "elu", {"alpha": 1.0}),
    ("GLU", "glu", {"axis": -1}),
    ("Hardshrink", "hardshrink", {"threshold": 0.5}),
    ("Hardsigmoid", "hardsigmoid", {}),
    ("Hardswish", "hardswish", {}),
    ("Hardtanh", "hardtanh", {"min": -1.0, "max": 1.0}),
    ("LeakyReLU", "leaky_relu", {"negative_slope": 0.01}),
    ("LogSigmoid", "log_sigmoid", {}),
    ("LogSoftmax", "log_softmax", {"axis": -1}),
    ("Mish", "mish", {}),
    ("PixelShuffle", "pixel_shuffle", {"upscale_factor": ...}),
    ("ReLU6", "relu6", {}),
    ("SELU", "selu", {}),
    ("Silu", "silu", {}),
    ("Softplus", "softplus", {"beta": 1.0, "threshold": 20.0}),
    ("Softshrink", "softshrink", {"threshold": 0.5}),
    ("Softsign", "softsign", {}),
    ("Swish", "swish", {}),
    ("Tanhshrink", "tanhshrink", {}),
    ("Upsample", "interpolate", {"size": None, "scale_factor": None, "mode": "nearest", "align_corners": None}),
)
LAYERS: dict[str, Any] = {name: _layer(name, function, **options) for name, function, options in _PLAIN}
for _rank in (1, 2, 3):
    _pool = {"kernel_size": ..., "stride": None, "padding": 0}
    for _name, _function, _options in (
        (f"MaxPool{_rank}D", f"max_pool{_rank}d", {**_pool, "ceil_mode": False}),
        (f"AvgPool{_rank}D", f"avg_pool{_rank}d", {**_pool, "exclusive": True, "ceil_mode": False}),
        (f"AdaptiveAvgPool{_rank}D", f"adaptive_avg_pool{_rank}d", {"output_size": ...}),
        (f"AdaptiveMaxPool{_rank}D", f"adaptive_max_pool{_rank}d", {"output_size": ...}),
    ):
        LAYERS[_name] = _layer(_name, _function, **_options)
LAYERS["Softmax"] = type(
    "Softmax",
    (_Options,),
    {
        "__doc__": "Compute the softmax along a dimension.",
        "__module__": "forerun.paddle.nn",
        "__qualname__": "Softmax",
        "_function": "softmax",
        "_choices": {"axis": -1},
        "forward": lambda self, x: take(_nn.functional.softmax(lend(x), self.axis)),
    },
)
LAYERS["GELU"] = type(
    "GELU",
    (_Options,),
    {
        "__doc__": "Return ``x`` times the normal distribution's function.",
        "__module__": "forerun.paddle.nn",
        "__qualname__": "GELU",
        "_choices": {"approximate": False},
        "forward": lambda self, x: take(_nn.functional.gelu(lend(x), "tanh" if self.approximate else "none")),
    },
)


BCELoss = _layer("BCELoss", "binary_cross_entropy", weight=None, reduction="mean")
BCEWithLogitsLoss = _layer(
    "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", weight=None, reduction="mean", pos_weight=None
)
KLDivLoss = _layer("KLDivLoss", "kl_div", reduction="mean")
NLLLoss = _layer("NLLLoss", "nll_loss", weight=None, ignore_index=-100, reduction="mean")
SmoothL1Loss = _layer("SmoothL1Loss", "smooth_l1_loss", reduction="mean", delta=1.0)


def _moved(source: Module, target: Layer, names: dict[str, str] | None = None) -> None:
    """Give a layer the parameters of the other dialect's module, as its own."""
    for name, parameter in source._parameters.items():
        made = Parameter(Tensor._of(parameter._array.detach()))
        setattr(target, (names or {}).get(name, name), made)


class _Convolution(Layer):
    _rank: int
    _kind: ClassVar[str] = "Conv"

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str | None = None,
    ) -> None:
        super().__init__()
        if data_format not in (None, "NCL", "NCHW", "NCDHW"):
            raise ValueError(f"{type(self).__name__}: channels come first, not {data_format}")
        mode = padding.lower() if isinstance(padding, str) else padding
        made = getattr(_nn, f"{self._kind}{self._rank}d")(
            in_channels, out_channels, kernel_size, stride, mode, dilation, groups, bias_attr is not False, padding_mode
        )
        self._plan: dict[str, Any] = {"stride": stride, "padding": mode, "dilation": dilation, "groups": groups}
        self._padding_mode, self._text = padding_mode, made.extra_repr()
        self._sides = made.padding
        _moved(made, self)
        if bias_attr is False:
            self.bias = None

    def forward(self, x: Tensor) -> Any:
        """Convolve, and add the bias."""
        plan = dict(self._plan)
        if self._padding_mode != "zeros" and not isinstance(self._sides, str):
            sides = [side for axis in reversed(self._sides) for side in (axis, axis)]
            x, plan["padding"] = FUNCTIONS["pad"](x, sides, self._padding_mode), 0
        return FUNCTIONS[f"conv{self._rank}d"](x, self.weight, self.bias, **plan)

    def extra_repr(self) -> str:
        """Return the extents and options."""
        return str(self._text)


class Conv1D(_Convolution):
    """A convolution of sequences, (batch, channels, length).

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.Conv1D(2, 4, 3)(paddle.ones([1, 2, 5])).shape
    [1, 4, 3]
    """

    _rank = 1


class Conv2D(_Convolution):
    """A convolution of images, (batch, channels, height, width).

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.Conv2D(1, 6, 3, stride=1, padding=1)(paddle.ones([1, 1, 28, 28])).shape
    [1, 6, 28, 28]
    """

    _rank = 2


class Conv3D(_Convolution):
    """A convolution of volumes, (batch, channels, depth, height, width).

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.Conv3D(1, 2, 3)(paddle.ones([1, 1, 4, 4, 4])).shape
    [1, 2, 2, 2, 2]
    """

    _rank = 3


class Conv2DTranspose(Layer):
    """A transposed convolution of images.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.Conv2DTranspose(3, 4, 2, stride=2)(paddle.ones([1, 3, 4, 4])).shape
    [1, 4, 8, 8]
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        made = _nn.ConvTranspose2d(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            bias_attr is not False,
            dilation,
        )
        self._plan = {"stride": stride, "padding": padding, "output_padding": output_padding}
        self._plan |= {"groups": groups, "dilation": dilation}
        _moved(made, self)
        if bias_attr is False:
            self.bias = None

    def forward(self, x: Tensor) -> Any:
        """Compute the transposed convolution."""
        return FUNCTIONS["conv2d_transpose"](x, self.weight, self.bias, **self._plan)


class Embedding(Layer):
    """One trained row per index.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.Embedding(10, 3)(paddle.to_tensor([1, 2])).shape
    [2, 3]
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, sparse: bool = False,
        weight_attr: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._padding_idx = padding_idx
        _moved(_nn.Embedding(num_embeddings, embedding_dim, padding_idx), self)

    def forward(self, x: Tensor) -> Any:
        """Take the rows."""
        return FUNCTIONS["embedding"](x, self.weight, self._padding_idx)


class LayerNorm(Layer):
    """Normalisation over the last dimensions.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.LayerNorm(3)(paddle.randn([2, 3])).shape
    [2, 3]
    """

    def __init__(
        self, normalized_shape: Any, epsilon: float = 1e-5, weight_attr: Any = None, bias_attr: Any = None
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self._shape, self._epsilon = shape, epsilon
        self.weight = None if weight_attr is False else Parameter(ones(shape))
        self.bias = None if bias_attr is False else Parameter(zeros(shape))

    def forward(self, input: Tensor) -> Any:
        """Normalise."""
        return FUNCTIONS["layer_norm"](input, self._shape, self.weight, self.bias, self._epsilon)


class BatchNorm(Layer):
    """Batch normalisation of the channels, the second dimension.

    The running mean and variance keep the share ``momentum`` of their values in each step.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.BatchNorm2D(3)(paddle.randn([4, 3, 2, 2])).shape
    [4, 3, 2, 2]
    """

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        self._momentum, self._epsilon = momentum, epsilon
        self.weight = None if weight_attr is False else Parameter(ones([num_features]))
        self.bias = None if bias_attr is False else Parameter(zeros([num_features]))
        self.register_buffer("_mean", zeros([num_features]))
        self.register_buffer("_variance", ones([num_features]))

    def forward(self, x: Tensor) -> Any:
        """Normalise the channels."""
        running = lend(self._mean), lend(self._variance)
        return take(
            _nn.functional.batch_norm(
                lend(x), *running, lend(self.weight), lend(self.bias), self.training, 1 - self._momentum, self._epsilon
            )
        )


class BatchNorm1D(BatchNorm):
    """Batch normalisation of (batch, channels) or (batch, channels, length)."""


class BatchNorm2D(BatchNorm):
    """Batch normalisation of images."""


class BatchNorm3D(BatchNorm):
    """Batch normalisation of volumes."""


class _Recurrent(Layer):
    _kind: ClassVar[str]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__()
        if direction not in ("forward", "bidirect", "bidirectional"):
            raise ValueError(f"{type(self).__name__}: direction is 'forward' or 'bidirect', not {direction!r}")
        options = {key: value for key, value in options.items() if key == "activation"}
        named = {"nonlinearity": options["activation"]} if options else {}
        self.__dict__["_made"] = getattr(_nn, self._kind)(
            input_size, hidden_size, num_layers, batch_first=not time_major, dropout=dropout,
            bidirectional=direction != "forward", **named,
        )  # fmt: skip
        _moved(self._made, self)

    def _outputs(self, inputs: Tensor, states: Any) -> Any:
        module = self._made
        module.training = self.training
        kept = dict(module._parameters)
        try:
            for name in kept:
                module._parameters[name] = lend(self._parameters[name])
            return take(module(lend(inputs), lend(states)))
        finally:
            module._parameters.update(kept)

    def forward(self, inputs: Tensor, initial_states: Any = None) -> Any:
        """Compute the outputs of all steps, and the last states."""
        return self._outputs(inputs, initial_states)


class SimpleRNN(_Recurrent):
    """A recurrent network; inputs are (batch, steps, inputs), or (steps, batch, inputs) with ``time_major``.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.SimpleRNN(3, 4)(paddle.randn([2, 5, 3]))[0].shape
    [2, 5, 4]
    """

    _kind = "RNN"


class GRU(_Recurrent):
    """A network of gated recurrent units.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.nn.GRU(3, 4)(paddle.randn([2, 5, 3]))[0].shape
    [2, 5, 4]
    """

    _kind = "GRU"


class LSTM(_Recurrent):
    """A network with long short-term memory.

    Examples
    --------
    >>> from forerun import paddle
    >>> out, (h, c) = paddle.nn.LSTM(3, 4)(paddle.randn([2, 5, 3]))
    >>> out.shape, h.shape
    ([2, 5, 4], [1, 2, 4])
    """

    _kind = "LSTM"


class LayerList(Layer):
    """A list of layers.

    Examples
    --------
    >>> from forerun import paddle
    >>> len(paddle.nn.LayerList([paddle.nn.Linear(2, 2) for _ in range(3)]).parameters())
    6
    """

    def __init__(self, sublayers: Any = None) -> None:
        super().__init__()
        self.extend(sublayers or [])

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the layers."""
        return iter(list(self._modules.values()))

    def __getitem__(self, index: Any) -> Any:
        """Return a layer, or a list of some."""
        chosen = list(self._modules.values())[index]
        return LayerList(chosen) if isinstance(index, slice) else chosen

    def append(self, sublayer: Layer) -> LayerList:
        """Add a layer at the end."""
        setattr(self, str(len(self)), sublayer)
        return self

    def extend(self, sublayers: Any) -> LayerList:
        """Add layers at the end."""
        for sublayer in sublayers:
            self.append(sublayer)
        return self


class LayerDict(Layer):
    """A dict of layers.

    Examples
    --------
    >>> from forerun import paddle
    >>> list(paddle.nn.LayerDict({"a": paddle.nn.Linear(2, 2)}).keys())
    ['a']
    """

    def __init__(self, sublayers: Any = None) -> None:
        super().__init__()
        for name, layer in dict(sublayers or {}).items():
            setattr(self, name, layer)

    def __getitem__(self, key: str) -> Any:
        """Return a layer."""
        return self._modules[key]

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self._modules)

    def keys(self) -> Any:
        """Return the names."""
        return self._modules.keys()

    def values(self) -> Any:
        """Return the layers."""
        return self._modules.values()

    def items(self) -> Any:
        """Return names and layers."""
        return self._modules.items()


class ParameterList(Layer):
    """A list of parameters.

    Examples
    --------
    >>> from forerun import paddle
    >>> weight = paddle.nn.Linear(2, 2).weight
    >>> len(paddle.nn.ParameterList([weight]))
    1
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        for number, parameter in enumerate(parameters or []):
            setattr(self, str(number), parameter)

    def __len__(self) -> int:
        """Return the number of parameters."""
        return len(self._parameters)

    def __getitem__(self, index: int) -> Any:
        """Return a parameter."""
        return list(self._parameters.values())[index]


class _Clip:
    def __init__(self, change: Callable[[list[Any]], Any]) -> None:
        self._change = change

    def __call__(self, parameters: list[Any]) -> None:
        """Change the gradients of parameters."""
        self._change([parameter for parameter in parameters if parameter.grad is not None])


class ClipGradByGlobalNorm(_Clip):
    """Scale all gradients so that their common norm is at most ``clip_norm``.

    Examples
    --------
    >>> from forerun import paddle
    >>> w = paddle.to_tensor([3.0, 4.0], stop_gradient=False)
    >>> (w * w / 2).sum().backward()
    >>> paddle.nn.ClipGradByGlobalNorm(1.0)([w])
    >>> [round(x, 4) for x in w.grad.tolist()]
    [0.6, 0.8]
    """

    def __init__(self, clip_norm: float) -> None:
        super().__init__(lambda parameters: _scaled([parameter.grad._array for parameter in parameters], clip_norm))


class ClipGradByNorm(_Clip):
    """Scale each gradient so that its norm is at most ``clip_norm``."""

    def __init__(self, clip_norm: float) -> None:
        super().__init__(lambda parameters: _each_scaled(parameters, clip_norm))


class ClipGradByValue(_Clip):
    """Limit every element of the gradients to ``[min, max]``; ``min`` is ``-max`` if not given."""

    def __init__(self, max: float, min: float | None = None) -> None:
        low = -max if min is None else min

        def limited(parameters: list[Any]) -> None:
            for parameter in parameters:
                parameter.grad._array[...] = np.clip(parameter.grad._array, low, max)

        super().__init__(limited)


def _each_scaled(parameters: list[Any], most: float) -> None:
    for parameter in parameters:
        _scaled([parameter.grad._array], most)


def _scaled(grads: list[Any], most: float) -> None:
    total = np.sqrt(sum((np.sum(grad * grad) for grad in grads[1:]), np.sum(grads[0] * grads[0])) if grads else 0.0)
    factor = most / np.maximum(total, most)
    for grad in grads:
        grad[...] = grad * factor
