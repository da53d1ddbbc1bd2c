"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forerun import npx
from forerun._forerun import ndarray
from forerun._images import channels_last, extents
from forerun.gluon.hybrid import HybridBlock

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

_Extents = int | Sequence[int]


class _Pool(HybridBlock):
    """What pooling layers have in common."""

    _dimensions: int
    _kind: str

    def __init__(
        self,
        pool_size: _Extents,
        strides: _Extents | None,
        padding: _Extents,
        ceil_mode: bool,
        layout: str,
        count_include_pad: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        name, count = type(self).__name__, self._dimensions
        channels_last(name, layout, count)
        self._layout = layout
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


class _GlobalPool(HybridBlock):
    """What global pooling layers have in common."""

    _dimensions: int
    _kind: str

    def __init__(self, layout: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        channels_last(type(self).__name__, layout, self._dimensions)
        self._layout = layout

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        return npx.pooling(x, pool_type=self._kind, global_pool=True, layout=self._layout)

    def __repr__(self) -> str:
        """Write the layout."""
        return f"{type(self).__name__}(layout={self._layout!r})"


class MaxPool1D(_Pool):
    """The maximum of each window of sequences.

    An axis of extent ``x`` becomes ``(x + 2 * padding - pool_size) // strides + 1`` long; with ``ceil_mode`` the
    division rounds up.

    Parameters
    ----------
    pool_size
        The extents of a window.
    strides
        Steps between windows; ``pool_size`` unless given.
    padding
        What is added at both ends of each axis; it belongs to no maximum.
    ceil_mode
        Whether a window that reaches beyond the end counts.
    layout
        ``"NCW"`` or ``"NWC"``.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.MaxPool1D()(np.ones((1, 3, 4))).shape
    (1, 3, 2)
    """

    _dimensions = 1
    _kind = "max"

    def __init__(
        self,
        pool_size: _Extents = 2,
        strides: _Extents | None = None,
        padding: _Extents = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **arguments)


class MaxPool2D(_Pool):
    """The maximum of each window of images.

    An axis of extent ``x`` becomes ``(x + 2 * padding - pool_size) // strides + 1`` long; with ``ceil_mode`` the
    division rounds up.

    Parameters
    ----------
    pool_size
        The extents of a window.
    strides
        Steps between windows; ``pool_size`` unless given.
    padding
        What is added at both ends of each axis; it belongs to no maximum.
    ceil_mode
        Whether a window that reaches beyond the end counts.
    layout
        ``"NCHW"`` or ``"NHWC"``.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.MaxPool2D()(np.ones((1, 3, 4, 4))).shape
    (1, 3, 2, 2)
    """

    _dimensions = 2
    _kind = "max"

    def __init__(
        self,
        pool_size: _Extents = (2, 2),
        strides: _Extents | None = None,
        padding: _Extents = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **arguments)


class MaxPool3D(_Pool):
    """The maximum of each window of volumes.

    An axis of extent ``x`` becomes ``(x + 2 * padding - pool_size) // strides + 1`` long; with ``ceil_mode`` the
    division rounds up.

    Parameters
    ----------
    pool_size
        The extents of a window.
    strides
        Steps between windows; ``pool_size`` unless given.
    padding
        What is added at both ends of each axis; it belongs to no maximum.
    ceil_mode
        Whether a window that reaches beyond the end counts.
    layout
        ``"NCDHW"`` or ``"NDHWC"``.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.MaxPool3D()(np.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    _dimensions = 3
    _kind = "max"

    def __init__(
        self,
        pool_size: _Extents = (2, 2, 2),
        strides: _Extents | None = None,
        padding: _Extents = 0,
        layout: str = "NCDHW",
        ceil_mode: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **arguments)


class AvgPool1D(_Pool):
    """The mean of each window of sequences.

    An axis of extent ``x`` becomes ``(x + 2 * padding - pool_size) // strides + 1`` long; with ``ceil_mode`` the
    division rounds up.

    Parameters
    ----------
    pool_size
        The extents of a window.
    strides
        Steps between windows; ``pool_size`` unless given.
    padding
        Zeros at both ends of each axis.
    ceil_mode
        Whether a window that reaches beyond the end counts.
    layout
        ``"NCW"`` or ``"NWC"``.
    count_include_pad
        Whether padding counts; else a mean is over the elements of the data alone.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.AvgPool1D()(np.ones((1, 3, 4))).shape
    (1, 3, 2)
    """

    _dimensions = 1
    _kind = "avg"

    def __init__(
        self,
        pool_size: _Extents = 2,
        strides: _Extents | None = None,
        padding: _Extents = 0,
        ceil_mode: bool = False,
        layout: str = "NCW",
        count_include_pad: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad, **arguments)


class AvgPool2D(_Pool):
    """The mean of each window of images.

    An axis of extent ``x`` becomes ``(x + 2 * padding - pool_size) // strides + 1`` long; with ``ceil_mode`` the
    division rounds up.

    Parameters
    ----------
    pool_size
        The extents of a window.
    strides
        Steps between windows; ``pool_size`` unless given.
    padding
        Zeros at both ends of each axis.
    ceil_mode
        Whether a window that reaches beyond the end counts.
    layout
        ``"NCHW"`` or ``"NHWC"``.
    count_include_pad
        Whether padding counts; else a mean is over the elements of the data alone.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.AvgPool2D()(np.ones((1, 3, 4, 4))).shape
    (1, 3, 2, 2)
    """

    _dimensions = 2
    _kind = "avg"

    def __init__(
        self,
        pool_size: _Extents = (2, 2),
        strides: _Extents | None = None,
        padding: _Extents = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad, **arguments)


class AvgPool3D(_Pool):
    """The mean of each window of volumes.

    An axis of extent ``x`` becomes ``(x + 2 * padding - pool_size) // strides + 1`` long; with ``ceil_mode`` the
    division rounds up.

    Parameters
    ----------
    pool_size
        The extents of a window.
    strides
        Steps between windows; ``pool_size`` unless given.
    padding
        Zeros at both ends of each axis.
    ceil_mode
        Whether a window that reaches beyond the end counts.
    layout
        ``"NCDHW"`` or ``"NDHWC"``.
    count_include_pad
        Whether padding counts; else a mean is over the elements of the data alone.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.AvgPool3D()(np.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 2, 2, 2)
    """

    _dimensions = 3
    _kind = "avg"

    def __init__(
        self,
        pool_size: _Extents = (2, 2, 2),
        strides: _Extents | None = None,
        padding: _Extents = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        count_include_pad: bool = True,
        **arguments: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad, **arguments)


class GlobalMaxPool1D(_GlobalPool):
    """The maximum of every channel of each sequence; its axes stay with extent 1.

    Parameters
    ----------
    layout
        ``"NCW"`` or ``"NWC"``.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GlobalMaxPool1D()(np.ones((1, 3, 4))).shape
    (1, 3, 1)
    """

    _dimensions = 1
    _kind = "max"

    def __init__(self, layout: str = "NCW", **arguments: Any) -> None:
        super().__init__(layout, **arguments)


class GlobalMaxPool2D(_GlobalPool):
    """The maximum of every channel of each image; its axes stay with extent 1.

    Parameters
    ----------
    layout
        ``"NCHW"`` or ``"NHWC"``.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GlobalMaxPool2D()(np.ones((1, 3, 4, 4))).shape
    (1, 3, 1, 1)
    """

    _dimensions = 2
    _kind = "max"

    def __init__(self, layout: str = "NCHW", **arguments: Any) -> None:
        super().__init__(layout, **arguments)


class GlobalMaxPool3D(_GlobalPool):
    """The maximum of every channel of each volume; its axes stay with extent 1.

    Parameters
    ----------
    layout
        ``"NCDHW"`` or ``"NDHWC"``.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GlobalMaxPool3D()(np.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 1, 1, 1)
    """

    _dimensions = 3
    _kind = "max"

    def __init__(self, layout: str = "NCDHW", **arguments: Any) -> None:
        super().__init__(layout, **arguments)


class GlobalAvgPool1D(_GlobalPool):
    """The mean of every channel of each sequence; its axes stay with extent 1.

    Parameters
    ----------
    layout
        ``"NCW"`` or ``"NWC"``.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GlobalAvgPool1D()(np.ones((1, 3, 4))).shape
    (1, 3, 1)
    """

    _dimensions = 1
    _kind = "avg"

    def __init__(self, layout: str = "NCW", **arguments: Any) -> None:
        super().__init__(layout, **arguments)


class GlobalAvgPool2D(_GlobalPool):
    """The mean of every channel of each image; its axes stay with extent 1.

    Parameters
    ----------
    layout
        ``"NCHW"`` or ``"NHWC"``.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GlobalAvgPool2D()(np.ones((1, 3, 4, 4))).shape
    (1, 3, 1, 1)
    """

    _dimensions = 2
    _kind = "avg"

    def __init__(self, layout: str = "NCHW", **arguments: Any) -> None:
        super().__init__(layout, **arguments)


class GlobalAvgPool3D(_GlobalPool):
    """The mean of every channel of each volume; its axes stay with extent 1.

    Parameters
    ----------
    layout
        ``"NCDHW"`` or ``"NDHWC"``.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.GlobalAvgPool3D()(np.ones((1, 3, 4, 4, 4))).shape
    (1, 3, 1, 1, 1)
    """

    _dimensions = 3
    _kind = "avg"

    def __init__(self, layout: str = "NCDHW", **arguments: Any) -> None:
        super().__init__(layout, **arguments)
