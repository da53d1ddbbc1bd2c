"""Convolution layers whose windows are deformed."""

from __future__ import annotations

from typing import Any

from forerun import npx
from forerun._forerun import ndarray
from forerun.gluon.nn.convolutions import ConvBase, Extents
from forerun.gluon.parameter import Parameter
from forerun.init import Initializer

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


class DeformableConvolution(ConvBase):
    """A convolution over images whose windows are deformed by offsets, which another convolution computes.

    See :func:`forerun.npx.deformable_convolution`. The offsets are zero at first.

    Parameters
    ----------
    channels
        The number of filters: channels of the result.
    kernel_size, strides, padding, dilation, groups
        As for :class:`Conv2D`; both convolutions have them.
    num_deformable_group
        Groups of channels that have offsets of their own.
    layout
        ``"NCHW"``.
    use_bias, offset_use_bias
        Whether to add a bias to the result and to the offsets.
    in_channels
        The number of input channels; inferred at the first call if 0.
    activation
        The name of an activation, or ``None``.
    weight_initializer, bias_initializer, offset_weight_initializer, offset_bias_initializer
        Initialisers of the parameters.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.DeformableConvolution(4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(np.ones((1, 2, 8, 8))).shape
    (1, 4, 8, 8)
    """

    _dimensions = 2
    # Numbers that deform one element of a window.
    _numbers = 2

    def __init__(
        self,
        channels: int,
        kernel_size: Extents = (1, 1),
        strides: Extents = (1, 1),
        padding: Extents = (0, 0),
        dilation: Extents = (1, 1),
        groups: int = 1,
        num_deformable_group: int = 1,
        layout: str = "NCHW",
        use_bias: bool = True,
        in_channels: int = 0,
        activation: str | None = None,
        weight_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer = "zeros",
        offset_weight_initializer: str | Initializer = "zeros",
        offset_bias_initializer: str | Initializer = "zeros",
        offset_use_bias: bool = True,
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
        name = type(self).__name__
        if self._last:
            raise ValueError(f"{name}: layout must be 'NCHW', not {layout!r}")
        self._parts = num_deformable_group
        self._moves = self._numbers * self._parts * self._kernel[0] * self._kernel[1]
        if num_deformable_group < 1 or self._moves % groups:
            raise ValueError(f"{name}: {groups} groups do not divide {self._moves} offsets")
        self.offset_weight = Parameter(
            "offset_weight",
            shape=self._shaped(self._moves, in_channels // groups),
            init=offset_weight_initializer,
            allow_deferred_init=True,
        )
        self.offset_bias = (
            Parameter("offset_bias", shape=(self._moves,), init=offset_bias_initializer, allow_deferred_init=True)
            if offset_use_bias
            else None
        )

    def infer_shape(self, x: ndarray) -> None:
        """Infer the number of input channels from the data."""
        super().infer_shape(x)
        self.offset_weight.shape = self._shaped(self._moves, x.shape[1] // self._groups)

    def _offsets(self, x: ndarray) -> ndarray:
        bias = self.offset_bias
        return npx.convolution(
            x,
            self.offset_weight.data(),
            None if bias is None else bias.data(),
            stride=self._strides,
            dilate=self._dilation,
            pad=self._padding,
            num_group=self._groups,
        )

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        moves = self._offsets(x)

        def deformed(x: ndarray, weight: ndarray, bias: ndarray | None, **more: Any) -> ndarray:
            return npx.deformable_convolution(x, moves, weight, bias, num_deformable_group=self._parts, **more)

        return self._called(deformed, x)


class ModulatedDeformableConvolution(DeformableConvolution):
    """A deformable convolution whose elements are also multiplied by a mask, which is computed with the offsets.

    The mask is twice the sigmoid of a convolution, so it is 1 at first. Parameters are those of
    :class:`DeformableConvolution`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.ModulatedDeformableConvolution(4, kernel_size=3, padding=1)
    >>> layer.initialize()
    >>> layer(np.ones((1, 2, 8, 8))).shape
    (1, 4, 8, 8)
    """

    _numbers = 3

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        made = self._offsets(x)
        split = self._moves // 3 * 2
        moves, mask = made[:, :split], npx.sigmoid(made[:, split:]) * 2

        def deformed(x: ndarray, weight: ndarray, bias: ndarray | None, **more: Any) -> ndarray:
            return npx.modulated_deformable_convolution(
                x, moves, mask, weight, bias, num_deformable_group=self._parts, **more
            )

        return self._called(deformed, x)
