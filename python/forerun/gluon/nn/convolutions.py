"""Convolution layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forerun import npx
from forerun._forerun import ndarray
from forerun._images import channels_last, extents
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.nn.activations import Activation
from forerun.gluon.parameter import Parameter
from forerun.init import Initializer

__all__ = ["Conv1D", "Conv2D", "Conv3D"]

Extents = int | Sequence[int]


class ConvBase(HybridBlock):
    """What convolution layers have in common."""

    _dimensions: int

    def __init__(
        self,
        channels: int,
        kernel_size: Extents,
        strides: Extents,
        padding: Extents,
        dilation: Extents,
        groups: int,
        layout: str,
        activation: str | None,
        use_bias: bool,
        weight_initializer: str | Initializer | None,
        bias_initializer: str | Initializer,
        in_channels: int,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        name, count = type(self).__name__, self._dimensions
        self._channels = channels
        self._groups = groups
        self._layout = layout
        self._last = channels_last(name, layout, count)
        self._kernel = extents(kernel_size, 1, count)
        self._strides = extents(strides, 1, count)
        self._padding = extents(padding, 0, count)
        self._dilation = extents(dilation, 1, count)
        for what, values in (
            ("kernel_size", self._kernel),
            ("strides", self._strides),
            ("padding", self._padding),
            ("dilation", self._dilation),
        ):
            if len(values) != count:
                raise ValueError(f"{name}: {what} must have {count} numbers, got {values}")
        if groups < 1 or channels % groups or in_channels % groups:
            raise ValueError(f"{name}: {groups} groups do not divide {channels} channels of {in_channels} inputs")
        shape = self._weight_shape(in_channels)
        self.weight = Parameter("weight", shape=shape, init=weight_initializer, allow_deferred_init=True)
        self.bias = (
            Parameter("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True) if use_bias else None
        )
        self.act = None if activation is None else Activation(activation)

    def _weight_shape(self, inputs: int) -> tuple[int, ...]:
        return self._shaped(self._channels, inputs // self._groups)

    def _shaped(self, first: int, second: int) -> tuple[int, ...]:
        return (first, *self._kernel, second) if self._last else (first, second, *self._kernel)

    def infer_shape(self, x: ndarray) -> None:
        """Infer the number of input channels from the data."""
        if x.ndim != self._dimensions + 2:
            name, rank = type(self).__name__, self._dimensions + 2
            raise ValueError(f"{name}: needs data of {rank} dimensions ({self._layout}), got {x.shape}")
        inputs = x.shape[-1 if self._last else 1]
        if inputs % self._groups:
            raise ValueError(f"{type(self).__name__}: {self._groups} groups do not divide {inputs} channels")
        self.weight.shape = self._weight_shape(inputs)

    def _called(self, function: Callable[..., ndarray], x: ndarray, **more: Any) -> ndarray:
        bias = self.bias
        y = function(
            x,
            self.weight.data(),
            None if bias is None else bias.data(),
            kernel=self._kernel,
            stride=self._strides,
            dilate=self._dilation,
            pad=self._padding,
            num_filter=self._channels,
            num_group=self._groups,
            no_bias=bias is None,
            layout=self._layout,
            **more,
        )
        return y if self.act is None else self.act(y)

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        return self._called(npx.convolution, x)

    def _inputs(self) -> int:
        inputs = (self.weight.shape or (-1, -1))[-1 if self._last else 1]
        return inputs * self._groups if inputs > 0 else -1

    def __repr__(self) -> str:
        """Write the channels and the settings."""
        text = f"{self._inputs()} -> {self._channels}, kernel_size={self._kernel}, stride={self._strides}"
        for name, value, default in (("padding", self._padding, 0), ("dilation", self._dilation, 1)):
            if value != (default,) * len(value):
                text += f", {name}={value}"
        if self._groups != 1:
            text += f", groups={self._groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.act is not None:
            text += f", {self.act}"
        return f"{type(self).__name__}({text})"


class Conv1D(ConvBase):
    """A convolution over sequences.

    ``y[n, f, o] = bias[f] + sum over c and k of weight[f, c, k] * x[n, c, o * strides + k * dilation - padding]``. An
    axis of extent ``x`` becomes ``(x + 2 * padding - dilation * (kernel_size - 1) - 1) // strides + 1`` long.

    Parameters
    ----------
    channels
        The number of filters: channels of the result.
    kernel_size
        The extents of the kernel.
    strides
        Steps between windows.
    padding
        Zeros at both ends of each axis.
    dilation
        Steps between the elements of a window.
    groups
        Groups of channels that are convolved separately.
    layout
        ``"NCW"``, with a weight of shape (channels, inputs / groups, kernel), or ``"NWC"``, with one of shape
        (channels, kernel, inputs / groups).
    activation
        The name of an activation, or ``None``.
    use_bias
        Whether to add a bias.
    weight_initializer, bias_initializer
        Initialisers of the parameters.
    in_channels
        The number of input channels; inferred at the first call if 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.Conv1D(4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(np.ones((1, 2, 8))).shape
    (1, 4, 8)
    """

    _dimensions = 1

    def __init__(
        self,
        channels: int,
        kernel_size: Extents,
        strides: Extents = 1,
        padding: Extents = 0,
        dilation: Extents = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer = "zeros",
        in_channels: int = 0,
        **arguments: Any,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            in_channels,
            **arguments,
        )


class Conv2D(ConvBase):
    """A convolution over images.

    ``y[n, f, o] = bias[f] + sum over c and k of weight[f, c, k] * x[n, c, o * strides + k * dilation - padding]``. An
    axis of extent ``x`` becomes ``(x + 2 * padding - dilation * (kernel_size - 1) - 1) // strides + 1`` long.

    Parameters
    ----------
    channels
        The number of filters: channels of the result.
    kernel_size
        The extents of the kernel.
    strides
        Steps between windows.
    padding
        Zeros at both ends of each axis.
    dilation
        Steps between the elements of a window.
    groups
        Groups of channels that are convolved separately.
    layout
        ``"NCHW"``, with a weight of shape (channels, inputs / groups, *kernel*), or ``"NHWC"``, with one of shape
        (channels, *kernel*, inputs / groups).
    activation
        The name of an activation, or ``None``.
    use_bias
        Whether to add a bias.
    weight_initializer, bias_initializer
        Initialisers of the parameters.
    in_channels
        The number of input channels; inferred at the first call if 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.Conv2D(4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(np.ones((1, 2, 8, 8))).shape
    (1, 4, 8, 8)
    """

    _dimensions = 2

    def __init__(
        self,
        channels: int,
        kernel_size: Extents,
        strides: Extents = (1, 1),
        padding: Extents = (0, 0),
        dilation: Extents = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer = "zeros",
        in_channels: int = 0,
        **arguments: Any,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            in_channels,
            **arguments,
        )


class Conv3D(ConvBase):
    """A convolution over volumes.

    ``y[n, f, o] = bias[f] + sum over c and k of weight[f, c, k] * x[n, c, o * strides + k * dilation - padding]``. An
    axis of extent ``x`` becomes ``(x + 2 * padding - dilation * (kernel_size - 1) - 1) // strides + 1`` long.

    Parameters
    ----------
    channels
        The number of filters: channels of the result.
    kernel_size
        The extents of the kernel.
    strides
        Steps between windows.
    padding
        Zeros at both ends of each axis.
    dilation
        Steps between the elements of a window.
    groups
        Groups of channels that are convolved separately.
    layout
        ``"NCDHW"``, with a weight of shape (channels, inputs / groups, *kernel*), or ``"NDHWC"``, with one of shape
        (channels, *kernel*, inputs / groups).
    activation
        The name of an activation, or ``None``.
    use_bias
        Whether to add a bias.
    weight_initializer, bias_initializer
        Initialisers of the parameters.
    in_channels
        The number of input channels; inferred at the first call if 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.Conv3D(4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(np.ones((1, 2, 4, 4, 4))).shape
    (1, 4, 4, 4, 4)
    """

    _dimensions = 3

    def __init__(
        self,
        channels: int,
        kernel_size: Extents,
        strides: Extents = (1, 1, 1),
        padding: Extents = (0, 0, 0),
        dilation: Extents = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer = "zeros",
        in_channels: int = 0,
        **arguments: Any,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            in_channels,
            **arguments,
        )
