"""Pooling over regions of images, with MXNet's names and arguments; part of ``npx``."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import floating, to_arrays, truncated
from forerun._forerun import ndarray
from forerun._images import extents
from forerun._types import ArrayLike

__all__ = ["roi_align", "roi_pooling"]

Size = SupportsIndex | Sequence[SupportsIndex]


def _regions(op: str, data: ArrayLike, rois: ArrayLike) -> tuple[ndarray, ndarray, ndarray]:
    """Return the images, and the number and the box of each region."""
    x, regions = to_arrays(data, rois)
    x = floating(x)
    if x.ndim != 4:
        raise ValueError(f"{op}: data must have shape (batch, channels, height, width), got {x.shape}")
    if regions.ndim != 2 or regions.shape[1] != 5:
        raise ValueError(f"{op}: rois must have shape (regions, 5), got {regions.shape}")
    return x, truncated(regions[:, 0]), regions[:, 1:].detach().astype(x.dtype, copy=False)


def _bins(op: str, pooled_size: Size) -> tuple[int, ...]:
    bins = extents(pooled_size, 1, 2)
    if len(bins) != 2 or min(bins) < 1:
        raise ValueError(f"{op}: pooled_size must be two positive numbers, got {pooled_size}")
    return bins


def roi_pooling(data: ArrayLike, rois: ArrayLike, pooled_size: Size, spatial_scale: float) -> ndarray:
    """Compute the maximum of each bin of rectangular regions.

    A region is a box rounded to pixels, at least one pixel large. It is divided into bins, which overlap where pixels
    cannot be divided. An empty bin, beyond the image, gives 0. The gradient goes to the first largest element.

    Parameters
    ----------
    data
        Images of shape (batch, channels, height, width).
    rois
        Regions of shape (regions, 5): the number of the image, and left, top, right and bottom, all inclusive. A
        region with a negative number gives zeros.
    pooled_size
        Bins down and across.
    spatial_scale
        What boxes are multiplied by: pixels of ``data`` for one of the original image.

    Returns
    -------
    ndarray
        Of shape (regions, channels, *pooled_size*).

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.arange(16.0).reshape(1, 1, 4, 4)
    >>> npx.roi_pooling(x, np.array([[0, 0, 0, 2, 2], [0, 0, 1, 3, 3]]), (2, 2), 1.0)
    array([[[[ 5.,  6.],
             [ 9., 10.]]],
    <BLANKLINE>
    <BLANKLINE>
           [[[ 9., 11.],
             [13., 15.]]]])
    """
    x, images, boxes = _regions("roi_pooling", data, rois)
    bins = _bins("roi_pooling", pooled_size)
    return _forerun.routine("roi_pool", [x, x.detach(), images, boxes], bins=bins, scale=float(spatial_scale))


def roi_align(
    data: ArrayLike,
    rois: ArrayLike,
    pooled_size: Size,
    spatial_scale: float,
    sample_ratio: SupportsIndex = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
) -> ndarray:
    """Compute the mean of bilinear samples in each bin of rectangular regions.

    Boxes are not rounded. Each bin has ``sample_ratio`` x ``sample_ratio`` samples at even distances. Samples up to one
    pixel beyond the image have the value of the border; those further away are 0.

    Parameters
    ----------
    data
        Images of shape (batch, channels, height, width).
    rois
        Regions of shape (regions, 5): the number of the image, and left, top, right and bottom. A region with a
        negative number gives zeros.
    pooled_size
        Bins down and across.
    spatial_scale
        What boxes are multiplied by: pixels of ``data`` for one of the original image.
    sample_ratio
        Samples per bin and axis; if not positive, as many as the bin has pixels, rounded up.
    position_sensitive
        Whether each bin has channels of its own: channel ``(c * rows + i) * columns + j`` is read for bin (i, j) of
        channel c of the result.
    aligned
        Whether boxes are shifted by half a pixel, so that pixels are areas, not points, and not enlarged to one pixel.

    Returns
    -------
    ndarray
        Of shape (regions, channels, *pooled_size*).

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.arange(16.0).reshape(1, 1, 4, 4)
    >>> npx.roi_align(x, np.array([[0, 0, 0, 2, 2]]), (2, 2), 1.0, 2)
    array([[[[2.5, 3.5],
             [6.5, 7.5]]]])
    """
    x, images, boxes = _regions("roi_align", data, rois)
    bins = _bins("roi_align", pooled_size)
    return _forerun.routine(
        "roi_align",
        [x, images, boxes],
        bins=bins,
        scale=float(spatial_scale),
        samples=index(sample_ratio),
        aligned=bool(aligned),
        own_channels=bool(position_sensitive),
        extents=(),
    )
