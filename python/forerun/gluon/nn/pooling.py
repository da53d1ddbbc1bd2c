"""Pooling layers."""

from __future__ import annotations

from typing import Any

from forerun import npx
from forerun._forerun import ndarray
from forerun._images import channels_last, extents
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.nn.convolutions import Extents, channels_first

__all__ = [
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
]


class _Pool(HybridBlock):
    """What pooling layers have in common."""

    _dimensions: int
    _kind: str

    def _set(
        self,
        pool_size: Extents,
        strides: Extents | None,
        padding: Extents,
        ceil_mode: bool,
        layout: str | None,
        count_include_pad: bool,
    ) -> None:
        name, count = type(self).__name__, self._dimensions
        self._layout = channels_first(count) if layout is None else layout
        channels_last(name, self._layout, count)
        self._size = extents(pool_size, 1, count)
        self._strides = self._size if strides is None else extents(strides, 1, count)
        self._padding = extents(padding, 0, count)
        self._ceil_mode = ceil_mode
        self._count_include_pad = count_include_pad
        for what, values in (("pool_size", self._size), ("strides", self._strides), ("padding", self._padding)):
            if len(values) != count:
                raise ValueError(f"{name}: {what} must have {count} numbers, got {values}")

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        return npx.pooling(
            x,
            kernel=self._size,
            stride=self._strides,
            pad=self._padding,
            pool_type=self._kind,
            pooling_convention="full" if self._ceil_mode else "valid",
            count_include_pad=self._count_include_pad,
            layout=self._layout,
        )

    def __repr__(self) -> str:
        """Write the settings."""
        return (
            f"{type(self).__name__}(size={self._size}, stride={self._strides}, padding={self._padding},"
            f" ceil_mode={self._ceil_mode})"
        )


class _MaxPool(_Pool):
    """What layers that take the maximum of windows have in common."""

    _kind = "max"

    def __init__(
        self,
        pool_size: Extents = 2,
        strides: Extents | None = None,
        padding: Extents = 0,
        layout: str | None = None,
        ceil_mode: bool = False,
        **arguments: Any,
    ) -> None:
        """Make a layer. Extents are one number for all axes, or one for each.

        Parameters
        ----------
        pool_size
            The extents of a window.
        strides
            Steps between windows; ``pool_size`` unless given.
        padding
            What is added at both ends of each axis; it belongs to no maximum.
        layout
            ``"NCW"``, ``"NCHW"`` or ``"NCDHW"``, the default, or ``"NWC"``, ``"NHWC"`` or ``"NDHWC"``.
        ceil_mode
            Whether a window that reaches beyond the end counts.
        **arguments
            Passed to :class:`Block`.
        """
        super().__init__(**arguments)
        self._set(pool_size, strides, padding, ceil_mode, layout, True)


class _AvgPool(_Pool):
    """What layers that take the mean of windows have in common."""

    _kind = "avg"

    def __init__(
        self,
        pool_size: Extents = 2,
        strides: Extents | None = None,
        padding: Extents = 0,
        ceil_mode: bool = False,
        layout: str | None = None,
        count_include_pad: bool = True,
        **arguments: Any,
    ) -> None:
        """Make a layer. Extents are one number for all axes, or one for each.

        Parameters
        ----------
        pool_size, strides, ceil_mode, layout
            As for :class:`MaxPool2D`.
        padding
            Zeros at both ends of each axis.
        count_include_pad
            Whether padding counts; else a mean is over the elements of the data alone.
        **arguments
            Passed to :class:`Block`.
        """
        super().__init__(**arguments)
        self._set(pool_size, strides, padding, ceil_mode, layout, count_include_pad)


class _GlobalPool(HybridBlock):
    """What global pooling layers have in common."""

    _dimensions: int
    _kind: str

    def __init__(self, layout: str | None = None, **arguments: Any) -> None:
        """Make a layer.

        Parameters
        ----------
        layout
            ``"NCW"``, ``"NCHW"`` or ``"NCDHW"``, the default, or ``"NWC"``, ``"NHWC"`` or ``"NDHWC"``.
        **arguments
            Passed to :class:`Block`.
        """
        super().__init__(**arguments)
        self._layout = channels_first(self._dimensions) if layout is None else layout
        channels_last(type(self).__name__, self._layout, self._dimensions)

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        return npx.pooling(x, pool_type=self._kind, global_pool=True, layout=self._layout)

    def __repr__(self) -> str:
        """Write the layout."""
        return f"{type(self).__name__}(layout={self._layout!r})"


class MaxPool1D(_MaxPool):
    """The maximum of each window of sequences.

    An axis of extent ``x`` becomes ``(x + 2 * padding - pool_size) // strides + 1`` long; with ``ceil_mode`` the
    division rounds up.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.MaxPool1D()(np.ones((1, 3, 4))).shape
    (1, 3, 2)
    """

    _dimensions = 1


class MaxPool2D(_MaxPool):
    """The maximum of each window of images.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.MaxPool2D()(np.ones((1, 3, 4, 4))).shape
    (1, 3, 2, 2)
    """

    _dimensions = 2


class MaxPool3D(_MaxPool):
    """The maximum of each window of volumes.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.MaxPool3D()(np.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    _dimensions = 3


class AvgPool1D(_AvgPool):
    """The mean of each window of sequences.

    An axis of extent ``x`` becomes ``(x + 2 * padding - pool_size) // strides + 1`` long; with ``ceil_mode`` the
    division rounds up.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.AvgPool1D()(np.ones((1, 3, 4))).shape
    (1, 3, 2)
    """

    _dimensions = 1


class AvgPool2D(_AvgPool):
    """The mean of each window of images.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.AvgPool2D()(np.ones((1, 3, 4, 4))).shape
    (1, 3, 2, 2)
    """

    _dimensions = 2


class AvgPool3D(_AvgPool):
    """The mean of each window of volumes.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.AvgPool3D()(np.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    _dimensions = 3


class GlobalMaxPool1D(_GlobalPool):
    """The maximum of every channel of each sequence; its axes stay with extent 1.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GlobalMaxPool1D()(np.ones((1, 3, 4))).shape
    (1, 3, 1)
    """

    _dimensions = 1
    _kind = "max"


class GlobalMaxPool2D(_GlobalPool):
    """The maximum of every channel of each image; its axes stay with extent 1.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GlobalMaxPool2D()(np.ones((1, 3, 4, 4))).shape
    (1, 3, 1, 1)
    """

    _dimensions = 2
    _kind = "max"


class GlobalMaxPool3D(_GlobalPool):
    """The maximum of every channel of each volume; its axes stay with extent 1.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GlobalMaxPool3D()(np.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 1, 1, 1)
    """

    _dimensions = 3
    _kind = "max"


class GlobalAvgPool1D(_GlobalPool):
    """The mean of every channel of each sequence; its axes stay with extent 1.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GlobalAvgPool1D()(np.ones((1, 3, 4))).shape
    (1, 3, 1)
    """

    _dimensions = 1
    _kind = "avg"


class GlobalAvgPool2D(_GlobalPool):
    """The mean of every channel of each image; its axes stay with extent 1.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GlobalAvgPool2D()(np.ones((1, 3, 4, 4))).shape
    (1, 3, 1, 1)
    """

    _dimensions = 2
    _kind = "avg"


class GlobalAvgPool3D(_GlobalPool):
    """The mean of every channel of each volume; its axes stay with extent 1.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GlobalAvgPool3D()(np.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 1, 1, 1)
    """

    _dimensions = 3
    _kind = "avg"
