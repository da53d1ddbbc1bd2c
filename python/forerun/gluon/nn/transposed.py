"""Transposed convolution layers."""

from __future__ import annotations

from typing import Any

from forerun import npx
from forerun._forerun import ndarray
from forerun._images import extents
from forerun.gluon.nn.convolutions import ConvBase, Extents
from forerun.init import Initializer

__all__ = ["Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"]


class _ConvTranspose(ConvBase):
    """What transposed convolution layers have in common."""

    _adjust: tuple[int, ...]

    def _weight_shape(self, inputs: int) -> tuple[int, ...]:
        return self._shaped(inputs, self._channels // self._groups)

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        return self._called(npx.deconvolution, x, adj=self._adjust)

    def _inputs(self) -> int:
        return (self.weight.shape or (-1,))[0]


class Conv1DTranspose(_ConvTranspose):
    """A transposed convolution over sequences: the gradient of a convolution for its data.

    An axis of extent ``x`` becomes
    ``(x - 1) * strides + dilation * (kernel_size - 1) + 1 - 2 * padding + output_padding`` long.

    Parameters
    ----------
    channels
        The number of filters: channels of the result.
    kernel_size
        The extents of the kernel.
    strides
        Steps between windows.
    padding
        How much is cut off at both ends of each axis.
    output_padding
        How much longer each axis of the result is; less than ``strides``.
    dilation
        Steps between the elements of a window.
    groups
        Groups of channels that are convolved separately.
    layout
        ``"NCW"``, with a weight of shape (inputs, channels / groups, kernel), or ``"NWC"``, with one of shape
        (inputs, kernel, channels / groups).
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
    >>> layer = nn.Conv1DTranspose(4, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(np.ones((1, 2, 8))).shape
    (1, 4, 16)
    """

    _dimensions = 1

    def __init__(
        self,
        channels: int,
        kernel_size: Extents,
        strides: Extents = 1,
        padding: Extents = 0,
        output_padding: Extents = 0,
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
        self._adjust = extents(output_padding, 0, 1)
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


class Conv2DTranspose(_ConvTranspose):
    """A transposed convolution over images: the gradient of a convolution for its data.

    An axis of extent ``x`` becomes
    ``(x - 1) * strides + dilation * (kernel_size - 1) + 1 - 2 * padding + output_padding`` long.

    Parameters
    ----------
    channels
        The number of filters: channels of the result.
    kernel_size
        The extents of the kernel.
    strides
        Steps between windows.
    padding
        How much is cut off at both ends of each axis.
    output_padding
        How much longer each axis of the result is; less than ``strides``.
    dilation
        Steps between the elements of a window.
    groups
        Groups of channels that are convolved separately.
    layout
        ``"NCHW"``, with a weight of shape (inputs, channels / groups, *kernel*), or ``"NHWC"``, with one of shape
        (inputs, *kernel*, channels / groups).
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
    >>> layer = nn.Conv2DTranspose(4, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(np.ones((1, 2, 8, 8))).shape
    (1, 4, 16, 16)
    """

    _dimensions = 2

    def __init__(
        self,
        channels: int,
        kernel_size: Extents,
        strides: Extents = (1, 1),
        padding: Extents = (0, 0),
        output_padding: Extents = (0, 0),
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
        self._adjust = extents(output_padding, 0, 2)
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


class Conv3DTranspose(_ConvTranspose):
    """A transposed convolution over volumes: the gradient of a convolution for its data.

    An axis of extent ``x`` becomes
    ``(x - 1) * strides + dilation * (kernel_size - 1) + 1 - 2 * padding + output_padding`` long.

    Parameters
    ----------
    channels
        The number of filters: channels of the result.
    kernel_size
        The extents of the kernel.
    strides
        Steps between windows.
    padding
        How much is cut off at both ends of each axis.
    output_padding
        How much longer each axis of the result is; less than ``strides``.
    dilation
        Steps between the elements of a window.
    groups
        Groups of channels that are convolved separately.
    layout
        ``"NCDHW"``, with a weight of shape (inputs, channels / groups, *kernel*), or ``"NDHWC"``, with one of shape
        (inputs, *kernel*, channels / groups).
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
    >>> layer = nn.Conv3DTranspose(4, kernel_size=2, strides=2)
    >>> layer.initialize()
    >>> layer(np.ones((1, 2, 4, 4, 4))).shape
    (1, 4, 8, 8, 8)
    """

    _dimensions = 3

    def __init__(
        self,
        channels: int,
        kernel_size: Extents,
        strides: Extents = (1, 1, 1),
        padding: Extents = (0, 0, 0),
        output_padding: Extents = (0, 0, 0),
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
        self._adjust = extents(output_padding, 0, 3)
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
