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

    def __init__(
        self,
        channels: int,
        kernel_size: Extents,
        strides: Extents = 1,
        padding: Extents = 0,
        output_padding: Extents = 0,
        dilation: Extents = 1,
        groups: int = 1,
        layout: str | None = None,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer = "zeros",
        in_channels: int = 0,
        **arguments: Any,
    ) -> None:
        """Make a layer. Extents are one number for all axes, or one for each.

        Parameters
        ----------
        channels, kernel_size, strides, dilation, groups, activation, use_bias, in_channels
            As for :class:`Conv2D`.
        padding
            How much is cut off at both ends of each axis.
        output_padding
            How much longer each axis of the result is; less than ``strides``.
        layout
            ``"NCW"``, ``"NCHW"`` or ``"NCDHW"``, the default, with a weight of shape (inputs, channels / groups,
            *kernel*); or ``"NWC"``, ``"NHWC"`` or ``"NDHWC"``, with one of shape (inputs, *kernel*, channels / groups).
        weight_initializer, bias_initializer
            Initialisers of the parameters.
        **arguments
            Passed to :class:`Block`.
        """
        self._adjust = extents(output_padding, 0, self._dimensions)
        super().__init__(
            channels, kernel_size, strides, padding, dilation, groups, layout, activation, use_bias, weight_initializer,
            bias_initializer, in_channels, **arguments,
        )  # fmt: skip

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


class Conv2DTranspose(_ConvTranspose):
    """A transposed convolution over images: the gradient of a convolution for its data.

    Extents are those of :class:`Conv1DTranspose`, along each spatial axis.

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


class Conv3DTranspose(_ConvTranspose):
    """A transposed convolution over volumes: the gradient of a convolution for its data.

    Extents are those of :class:`Conv1DTranspose`, along each spatial axis.

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
