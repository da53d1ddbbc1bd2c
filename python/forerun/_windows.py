"""Windows of images as columns, and convolutions whose windows are deformed; part of ``npx``."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import floating, to_array, to_arrays
from forerun._forerun import ndarray
from forerun._images import channels_last, extents
from forerun._types import ArrayLike

__all__ = ["col2im", "deformable_convolution", "im2col", "modulated_deformable_convolution"]

Size = SupportsIndex | Sequence[SupportsIndex] | None


def im2col(data: ArrayLike, kernel: Size, stride: Size = None, dilate: Size = None, pad: Size = None) -> ndarray:
    """Return the windows of images as columns, in one to three dimensions.

    Parameters
    ----------
    data
        Images of shape (batch, channels, *axes*).
    kernel, stride, dilate, pad
        As for :func:`convolution`.

    Returns
    -------
    ndarray
        Of shape (batch, channels * elements of the kernel, windows).

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.im2col(np.arange(4.0).reshape(1, 1, 4), kernel=2)
    array([[[0., 1., 2.],
            [1., 2., 3.]]])
    """
    x = floating(to_array(data))
    count = max(x.ndim - 2, 0)
    return _forerun.routine(
        "im2col",
        [x],
        kernel=extents(kernel, 1, count),
        stride=extents(stride, 1, count),
        padding=extents(pad, 0, count),
        dilation=extents(dilate, 1, count),
        extents=(),
    )


def col2im(
    data: ArrayLike,
    output_size: SupportsIndex | Sequence[SupportsIndex],
    kernel: Size,
    stride: Size = None,
    dilate: Size = None,
    pad: Size = None,
) -> ndarray:
    """Add columns up to images: the gradient of :func:`im2col`.

    Parameters
    ----------
    data
        Columns of shape (batch, channels * elements of the kernel, windows).
    output_size
        The extents of the images, one for each axis.
    kernel, stride, dilate, pad
        As for :func:`convolution`.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.col2im(np.ones((1, 2, 3)), 4, kernel=2)
    array([[[1., 2., 2., 1.]]])
    """
    size = extents(output_size, 0, 1)
    count = len(size)
    return _forerun.routine(
        "col2im",
        [floating(to_array(data))],
        kernel=extents(kernel, 1, count),
        stride=extents(stride, 1, count),
        padding=extents(pad, 0, count),
        dilation=extents(dilate, 1, count),
        extents=size,
    )


def _deformed(
    op: str,
    inputs: Sequence[ArrayLike],
    bias: ArrayLike | None,
    kernel: Size,
    stride: Size,
    dilate: Size,
    pad: Size,
    num_filter: SupportsIndex | None,
    num_group: SupportsIndex,
    num_deformable_group: SupportsIndex,
    layout: str | None,
) -> ndarray:
    """Sample every element of every window, and multiply the columns by the weight."""
    x, moves, *gates, weight = (floating(each) for each in to_arrays(*inputs))
    if x.ndim != 4 or weight.ndim != 4:
        raise ValueError(f"{op}: data and weight need 4 dimensions, got {x.shape} and {weight.shape}")
    if channels_last(op, layout, 2):
        raise ValueError(f"{op}: layout must be 'NCHW', not {layout!r}")
    batch, channels, *old = x.shape
    filters, own, *reach = weight.shape
    groups, parts = index(num_group), index(num_deformable_group)
    if groups < 1 or parts < 1 or channels % groups or channels % parts or filters % groups or own * groups != channels:
        raise ValueError(
            f"{op}: weight of shape {weight.shape} does not fit data of shape {x.shape} with {groups} groups and "
            f"{parts} deformable groups"
        )
    if kernel is not None and extents(kernel, 0, 2) != tuple(reach):
        raise ValueError(f"{op}: weight of shape {weight.shape} does not have a kernel of {kernel}")
    if num_filter is not None and index(num_filter) != filters:
        raise ValueError(f"{op}: weight of shape {weight.shape} does not have {num_filter} filters")
    steps, apart, around = extents(stride, 1, 2), extents(dilate, 1, 2), extents(pad, 0, 2)
    if len(steps) != 2 or len(apart) != 2 or len(around) != 2 or min(*steps, *apart) < 1 or min(around) < 0:
        raise ValueError(f"{op}: stride {stride}, dilate {dilate} and pad {pad} do not describe windows")
    size = [
        (o + 2 * p - d * (k - 1) - 1) // s + 1 for o, p, d, k, s in zip(old, around, apart, reach, steps, strict=True)
    ]
    if min(size) < 1:
        raise ValueError(f"{op}: a kernel of {tuple(reach)} does not fit images of shape {x.shape}")
    taps, count = reach[0] * reach[1], size[0] * size[1]
    if moves.shape != (batch, 2 * parts * taps, *size):
        raise ValueError(f"{op}: offset must have shape {(batch, 2 * parts * taps, *size)}, got {moves.shape}")
    for gate in gates:
        if gate.shape != (batch, parts * taps, *size):
            raise ValueError(f"{op}: mask must have shape {(batch, parts * taps, *size)}, got {gate.shape}")
    # Where the elements of the windows are without offsets: for each axis of shape (taps, *size*).
    at = []
    for axis in range(2):
        begin = _forerun.arange(0, size[axis], 1, x.dtype, x.device) * steps[axis] - around[axis]
        within = _forerun.arange(0, reach[axis], 1, x.dtype, x.device) * apart[axis]
        shapes = ((reach[0], 1, 1, 1), (size[0], 1)) if axis == 0 else ((1, reach[1], 1, 1), (1, size[1]))
        place = within.reshape(*shapes[0]) + begin.reshape(*shapes[1])
        at.append(_forerun.broadcast_to(place, (*reach, *size)).reshape(1, taps, 1, *size))
    # Offsets come in pairs for each element: down, then across.
    places = moves.reshape(batch * parts, taps, 2, *size) + _forerun.concatenate(at, 2)
    places = places.transpose([0, 2, 1, 3, 4]).reshape(batch * parts, 2, taps * count)
    columns = _forerun.routine("bilinear_sample", [x.reshape(batch * parts, channels // parts, *old), places])
    for gate in gates:
        columns = columns * gate.reshape(batch * parts, 1, taps * count)
    columns = columns.reshape(batch, groups, own * taps, count)
    made = _forerun.matmul(weight.reshape(groups, filters // groups, own * taps), columns)
    made = made.reshape(batch, filters, *size)
    return made if bias is None else made + to_array(bias, None, x.device).reshape(filters, 1, 1)


def deformable_convolution(
    data: ArrayLike,
    offset: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    kernel: Size = None,
    stride: Size = None,
    dilate: Size = None,
    pad: Size = None,
    num_filter: SupportsIndex | None = None,
    num_group: SupportsIndex = 1,
    num_deformable_group: SupportsIndex = 1,
    workspace: SupportsIndex = 1024,
    no_bias: bool = False,
    layout: str | None = None,
) -> ndarray:
    """Compute a convolution whose windows are deformed: each of their elements is read at a place of its own.

    The places are those of :func:`convolution` plus offsets; between pixels the data are interpolated, and beyond the
    images they are 0.

    Parameters
    ----------
    data
        Images of shape (batch, channels, height, width).
    offset
        Offsets in pixels of shape (batch, 2 * deformable groups * elements of the kernel, *height and width of the
        result*): for each element down, then across.
    weight
        Filters of shape (filters, channels / groups, *kernel*).
    bias
        One number per filter.
    kernel, stride, dilate, pad, num_filter, num_group, no_bias
        As for :func:`convolution`.
    num_deformable_group
        Groups of channels that have offsets of their own.
    workspace
        Has no effect.
    layout
        ``"NCHW"``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.arange(9.0).reshape(1, 1, 3, 3)
    >>> npx.deformable_convolution(x, np.full((1, 8, 2, 2), 0.5), np.full((1, 1, 2, 2), 0.25))
    array([[[[4.  , 3.5 ],
             [4.5 , 3.75]]]])
    """
    return _deformed(
        "deformable_convolution",
        [data, offset, weight],
        None if no_bias else bias,
        kernel,
        stride,
        dilate,
        pad,
        num_filter,
        num_group,
        num_deformable_group,
        layout,
    )


def modulated_deformable_convolution(
    data: ArrayLike,
    offset: ArrayLike,
    mask: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    kernel: Size = None,
    stride: Size = None,
    dilate: Size = None,
    pad: Size = None,
    num_filter: SupportsIndex | None = None,
    num_group: SupportsIndex = 1,
    num_deformable_group: SupportsIndex = 1,
    workspace: SupportsIndex = 1024,
    no_bias: bool = False,
    im2col_step: SupportsIndex = 64,
    layout: str | None = None,
) -> ndarray:
    """Compute a deformable convolution whose elements are also multiplied by a mask.

    Parameters
    ----------
    data, offset, weight, bias
        As for :func:`deformable_convolution`.
    mask
        Factors of shape (batch, deformable groups * elements of the kernel, *height and width of the result*).
    kernel, stride, dilate, pad, num_filter, num_group, num_deformable_group, no_bias, layout
        As for :func:`deformable_convolution`.
    workspace, im2col_step
        Have no effect.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x, nothing = np.ones((1, 1, 2, 2)), np.zeros((1, 2, 2, 2))
    >>> npx.modulated_deformable_convolution(x, nothing, np.full((1, 1, 2, 2), 0.5), np.ones((1, 1, 1, 1)))
    array([[[[0.5, 0.5],
             [0.5, 0.5]]]])
    """
    return _deformed(
        "modulated_deformable_convolution",
        [data, offset, mask, weight],
        None if no_bias else bias,
        kernel,
        stride,
        dilate,
        pad,
        num_filter,
        num_group,
        num_deformable_group,
        layout,
    )
