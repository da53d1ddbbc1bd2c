"""Layers that move pixels: pixel shuffles and padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from forerun import np
from forerun._forerun import ndarray
from forerun._images import extents
from forerun.gluon.hybrid import HybridBlock

__all__ = ["PixelShuffle1D", "PixelShuffle2D", "PixelShuffle3D", "ReflectionPad2D"]


class _PixelShuffle(HybridBlock):
    """What pixel shuffles have in common."""

    _dimensions: int

    def __init__(self, factor: int | Sequence[int], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._factors = extents(factor, 1, self._dimensions)
        if len(self._factors) != self._dimensions or min(self._factors) < 1:
            raise ValueError(f"{type(self).__name__}: needs {self._dimensions} positive factors, got {factor}")

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        count, factors = self._dimensions, self._factors
        if x.ndim != count + 2 or x.shape[1] % math.prod(factors):
            raise ValueError(
                f"{type(self).__name__}: needs {count + 2} dimensions and a multiple of {math.prod(factors)} channels, "
                f"got {x.shape}"
            )
        batch, channels, *axes = x.shape
        channels //= math.prod(factors)
        split = x.reshape(batch, channels, *factors, *axes)
        order = [0, 1]
        for axis in range(count):
            order += [2 + count + axis, 2 + axis]
        return split.transpose(order).reshape(
            batch, channels, *(extent * factor for extent, factor in zip(axes, factors, strict=True))
        )

    def __repr__(self) -> str:
        """Write the factors."""
        return f"{type(self).__name__}({self._factors if self._dimensions > 1 else self._factors[0]})"


class PixelShuffle1D(_PixelShuffle):
    """Move channels to places in between: (batch, factor * channels, width) becomes (batch, channels, factor * width).

    Parameters
    ----------
    factor
        How many times as long an axis becomes.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.PixelShuffle1D(2)(np.zeros((1, 8, 3))).shape
    (1, 4, 6)
    """

    _dimensions = 1


class PixelShuffle2D(_PixelShuffle):
    """Move channels to pixels in between.

    (batch, f1 * f2 * channels, height, width) becomes (batch, channels, f1 * height, f2 * width).

    Parameters
    ----------
    factor
        How many times as long each axis becomes.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.PixelShuffle2D((2, 3))(np.zeros((1, 12, 3, 5))).shape
    (1, 2, 6, 15)
    """

    _dimensions = 2


class PixelShuffle3D(_PixelShuffle):
    """Move channels to places in between, in three dimensions.

    Parameters
    ----------
    factor
        How many times as long each axis becomes.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.PixelShuffle3D((2, 3, 4))(np.zeros((1, 48, 3, 5, 7))).shape
    (1, 2, 6, 15, 28)
    """

    _dimensions = 3


class ReflectionPad2D(HybridBlock):
    """Pad images by their reflection.

    Parameters
    ----------
    padding
        Pixels on each side; or eight numbers, before and after each axis, of which the first four are 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> nn.ReflectionPad2D(1)(np.arange(4.0).reshape(1, 1, 2, 2))[0, 0]
    array([[3., 2., 3., 2.],
           [1., 0., 1., 0.],
           [3., 2., 3., 2.],
           [1., 0., 1., 0.]])
    """

    def __init__(self, padding: int | Sequence[int] = 0, **arguments: Any) -> None:
        super().__init__(**arguments)
        numbers = tuple(padding) if isinstance(padding, Sequence) else (0,) * 4 + (padding,) * 4
        if len(numbers) != 8 or any(numbers[:4]) or min(numbers) < 0:
            raise ValueError(f"ReflectionPad2D: padding must be one number or eight, the first four 0, got {padding}")
        self._padding = numbers

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        if x.ndim != 4:
            raise ValueError(f"ReflectionPad2D: needs data of 4 dimensions, got {x.shape}")
        for axis in (2, 3):
            if max(self._padding[2 * axis : 2 * axis + 2]) >= x.shape[axis]:
                raise ValueError(f"ReflectionPad2D: padding {self._padding[4:]} is too large for shape {x.shape}")
        return np.pad(x, list(zip(self._padding[::2], self._padding[1::2], strict=True)), "reflect")

    def __repr__(self) -> str:
        """Write the padding."""
        return f"ReflectionPad2D({self._padding[4:]})"
