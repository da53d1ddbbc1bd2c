"""Convolution and pooling over images in one to three dimensions, with MXNet's names and arguments; part of ``npx``."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, SupportsIndex

from forerun import _forerun
from forerun._convert import to_array, to_arrays
from forerun._forerun import ndarray
from forerun._types import ArrayLike

__all__ = ["adaptive_avg_pool2d", "convolution", "deconvolution", "pooling"]

_LAYOUTS: dict[int, tuple[str, ...]] = {
    1: ("NCW", "NWC"),
    2: ("NCHW", "NHWC"),
    3: ("NCDHW", "NDHWC"),
}


def channels_last(op: str, layout: str | None, dimensions: int) -> bool:
    """Return whether a layout has channels last."""
    if layout is None:
        return False
    layouts = _LAYOUTS.get(dimensions, ())
    if layout not in layouts:
        raise ValueError(f"{op}: layout must be one of {layouts} for {dimensions} dimensions, not {layout!r}")
    return layout == layouts[1]


def extents(value: SupportsIndex | Sequence[SupportsIndex] | None, default: int, count: int) -> tuple[int, ...]:
    """Return one number per spatial axis."""
    if value is None or (isinstance(value, Sequence) and len(value) == 0):
        return (default,) * count
    if isinstance(value, Sequence):
        return tuple(map(index, value))
    return (index(value),) * count


def _checked(op: str, weight: ndarray, kernel: Any, last: bool) -> None:
    given = weight.shape[1:-1] if last else weight.shape[2:]
    if kernel is not None and extents(kernel, 0, len(given)) != given:
        raise ValueError(f"{op}: weight of shape {weight.shape} does not have a kernel of {kernel}")


def convolution(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    kernel: SupportsIndex | Sequence[SupportsIndex] | None = None,
    stride: SupportsIndex | Sequence[SupportsIndex] | None = None,
    dilate: SupportsIndex | Sequence[SupportsIndex] | None = None,
    pad: SupportsIndex | Sequence[SupportsIndex] | None = None,
    num_filter: SupportsIndex | None = None,
    num_group: SupportsIndex = 1,
    workspace: SupportsIndex = 1024,
    no_bias: bool = False,
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
) -> ndarray:
    r"""Compute a convolution in one to three dimensions.

    ``y[n, f, o] = bias[f] + sum over c and k of weight[f, c, k] * data[n, c, o * stride + k * dilate - pad]``, where
    elements beyond the data are zeros. An axis of extent ``x`` becomes
    ``(x + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1`` long.

    Parameters
    ----------
    data
        Images of shape (batch, channels, *axes*), or (batch, *axes*, channels) with a layout such as ``"NHWC"``.
    weight
        Filters of shape (filters, channels / groups, *kernel*), or (filters, *kernel*, channels / groups).
    bias
        One number per filter.
    kernel
        The extents of the kernel; must match the weight.
    stride, dilate, pad
        The distance between windows, the distance between the elements of a window, and the number of zeros at both
        ends of each axis.
    num_filter
        The number of filters; must match the weight.
    num_group
        The number of groups of channels that are convolved separately.
    workspace, cudnn_tune, cudnn_off
        Have no effect.
    no_bias
        Ignore the bias.
    layout
        ``"NCW"``, ``"NCHW"``, ``"NCDHW"`` (the default), ``"NWC"``, ``"NHWC"`` or ``"NDHWC"``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.convolution(np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2)), kernel=(2, 2), no_bias=True)
    array([[[[4., 4.],
             [4., 4.]]]])
    """
    x, filters = to_arrays(data, weight)
    count = max(x.ndim - 2, 0)
    last = channels_last("convolution", layout, count)
    _checked("convolution", filters, kernel, last)
    if num_filter is not None and filters.shape[:1] != (num_filter,):
        raise ValueError(f"convolution: weight of shape {filters.shape} does not have {num_filter} filters")
    lists = extents(stride, 1, count), extents(pad, 0, count), extents(dilate, 1, count)
    return _forerun.convolution(x, filters, None if no_bias else bias, *lists, num_group, last)


def deconvolution(
    data: ArrayLike,
    weight: ArrayLike,
    bias: ArrayLike | None = None,
    kernel: SupportsIndex | Sequence[SupportsIndex] | None = None,
    stride: SupportsIndex | Sequence[SupportsIndex] | None = None,
    dilate: SupportsIndex | Sequence[SupportsIndex] | None = None,
    pad: SupportsIndex | Sequence[SupportsIndex] | None = None,
    adj: SupportsIndex | Sequence[SupportsIndex] | None = None,
    target_shape: SupportsIndex | Sequence[SupportsIndex] | None = None,
    num_filter: SupportsIndex | None = None,
    num_group: SupportsIndex = 1,
    workspace: SupportsIndex = 512,
    no_bias: bool = True,
    cudnn_tune: str | None = None,
    cudnn_off: bool = False,
    layout: str | None = None,
) -> ndarray:
    """Compute a transposed convolution in one to three dimensions: the gradient of a convolution for its data.

    An axis of extent ``x`` becomes ``(x - 1) * stride + dilate * (kernel - 1) + 1 - 2 * pad + adj`` long.

    Parameters
    ----------
    data
        Images of shape (batch, channels, *axes*), or (batch, *axes*, channels) with a layout such as ``"NHWC"``.
    weight
        Filters of shape (channels, filters / groups, *kernel*), or (channels, *kernel*, filters / groups).
    bias
        One number per filter.
    kernel
        The extents of the kernel; must match the weight.
    stride, dilate, pad
        As for :func:`convolution`.
    adj
        Added to the length of each axis of the result; less than ``stride``.
    target_shape
        The extents of the result, instead of ``adj`` and ``pad``.
    num_filter
        The number of filters; must match the weight.
    num_group
        The number of groups of channels that are convolved separately.
    workspace, cudnn_tune, cudnn_off
        Have no effect.
    no_bias
        Ignore the bias.
    layout
        As for :func:`convolution`.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.deconvolution(np.ones((1, 1, 2)), np.ones((1, 1, 2)), stride=2)
    array([[[1., 1., 1., 1.]]])
    """
    x, filters = to_arrays(data, weight)
    count = max(x.ndim - 2, 0)
    last = channels_last("deconvolution", layout, count)
    _checked("deconvolution", filters, kernel, last)
    if num_filter is not None and filters.ndim > 2:
        made = filters.shape[-1 if last else 1] * int(num_group)
        if made != num_filter:
            raise ValueError(f"deconvolution: weight of shape {filters.shape} does not have {num_filter} filters")
    steps, spread = extents(stride, 1, count), extents(dilate, 1, count)
    around, adjust = extents(pad, 0, count), extents(adj, 0, count)
    wanted: tuple[int, ...] = ()
    if target_shape is not None:
        wanted = extents(target_shape, 0, count)
        reach = filters.shape[1:-1] if last else filters.shape[2:]
        held = x.shape[1:-1] if last else x.shape[2:]
        # The padding that reduces the result to the requested extents.
        total = [
            max((h - 1) * s + d * (k - 1) + 1 - w, 0)
            for h, s, d, k, w in zip(held, steps, spread, reach, wanted, strict=True)
        ]
        around = tuple((t + 1) // 2 for t in total)
    lists = steps, around, spread, wanted, adjust
    return _forerun.deconvolution(x, filters, None if no_bias else bias, *lists, num_group, last)


def pooling(
    data: ArrayLike,
    kernel: SupportsIndex | Sequence[SupportsIndex] | None = None,
    stride: SupportsIndex | Sequence[SupportsIndex] | None = None,
    pad: SupportsIndex | Sequence[SupportsIndex] | None = None,
    pool_type: str = "max",
    pooling_convention: str = "valid",
    global_pool: bool = False,
    p_value: float = 2,
    count_include_pad: bool = True,
    layout: str | None = None,
    cudnn_off: bool = False,
) -> ndarray:
    """Reduce windows of images to one element each, in one to three dimensions.

    An axis of extent ``x`` becomes ``(x + 2 * pad - kernel) // stride + 1`` long.

    Parameters
    ----------
    data
        Images of shape (batch, channels, *axes*), or (batch, *axes*, channels) with a layout such as ``"NHWC"``.
    kernel
        The extents of a window.
    stride
        The distance between windows; 1 if not given.
    pad
        The padding at both ends of each axis; it is never a maximum.
    pool_type
        ``"max"``, ``"avg"``, ``"sum"``, or ``"lp"``: the ``p_value``-th root of the sum of powers of absolute values.
    pooling_convention
        ``"valid"``, or ``"full"``: the division that gives the number of windows rounds up.
    global_pool
        Use one window over all of each image.
    p_value
        The power of ``"lp"``.
    count_include_pad
        Whether padding counts as zeros in ``"avg"``; otherwise only elements of the data count.
    layout
        As for :func:`convolution`.
    cudnn_off
        Has no effect.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.arange(4.0).reshape(1, 1, 2, 2)
    >>> npx.pooling(x, kernel=(2, 2))
    array([[[[3.]]]])
    >>> npx.pooling(x, pool_type="avg", global_pool=True)
    array([[[[1.5]]]])
    """
    x = to_array(data)
    count = max(x.ndim - 2, 0)
    last = channels_last("pooling", layout, count)
    if pooling_convention not in ("valid", "full"):
        raise ValueError(f"pooling: pooling_convention must be 'valid' or 'full', not {pooling_convention!r}")
    if kernel is None and not global_pool:
        raise ValueError("pooling: kernel is missing")
    window = () if global_pool else extents(kernel, 1, count)
    lists = window, extents(stride, 1, count), extents(pad, 0, count)
    ceil = pooling_convention == "full"
    return _forerun.pooling(x, pool_type, *lists, p_value, count_include_pad, ceil, False, last)


def adaptive_avg_pool2d(data: ArrayLike, output_size: SupportsIndex | Sequence[SupportsIndex] = 1) -> ndarray:
    """Average over windows that cover images evenly: window ``i`` of ``n`` has elements ``i * x // n`` and up.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.adaptive_avg_pool2d(np.arange(6.0).reshape(1, 1, 2, 3), (1, 2))
    array([[[[2., 3.]]]])
    """
    x = to_array(data)
    size = extents(output_size, 1, max(x.ndim - 2, 0))
    return _forerun.pooling(x, "avg", size, (), (), 2.0, False, False, True, False)
