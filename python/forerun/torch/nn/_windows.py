"""Convolutions, pooling, padding and resizing, as functions.

Images are (batch, channels, *axes*), or without the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from forerun import _forerun, np, npx
from forerun._forerun import ndarray
from forerun.torch._tensor import Tensor

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "affine_grid", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "fold", "grid_sample", "interpolate", "lp_pool1d", "lp_pool2d", "max_pool1d", "max_pool2d", "max_pool3d", "pad",
    "pixel_shuffle", "pixel_unshuffle", "unfold", "upsample",
]  # fmt: skip


def each(value: Any, count: int, name: str = "") -> tuple[int, ...]:
    """Return one number per axis."""
    given = tuple(value) if isinstance(value, (tuple, list)) else (value,) * count
    if len(given) == 1:
        given = given * count
    if len(given) != count:
        raise RuntimeError(f"{name}: needs {count} numbers, got {given}")
    return tuple(int(number) for number in given)


def _batched(name: str, rank: int, input: Tensor, function: Callable[..., ndarray], *others: Any) -> Tensor:
    """Call a function of images with a batch dimension, which is added and removed if there is none."""
    if input.dim() == rank + 2:
        return Tensor._run(function, input, *others)
    if input.dim() != rank + 1:
        raise RuntimeError(
            f"{name}: needs {rank + 1} or {rank + 2} dimensions, got an input of shape {tuple(input.shape)}"
        )
    return Tensor._run(lambda x, *rest: function(x[None], *rest)[0], input, *others)


def _conv(name: str, rank: int) -> Callable[..., Tensor]:
    def convolution(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        steps, spread = each(stride, rank, name), each(dilation, rank, name)
        uneven: list[tuple[int, int]] = []
        if padding == "valid":
            around = (0,) * rank
        elif padding == "same":
            if any(step != 1 for step in steps):
                raise ValueError(f"{name}: padding='same' needs a stride of 1, got {steps}")
            total = [d * (k - 1) for d, k in zip(spread, tuple(weight.shape)[2:], strict=True)]
            around = tuple(t // 2 for t in total)
            uneven = [(0, t % 2) for t in total]
        elif isinstance(padding, str):
            raise ValueError(f"{name}: padding is a number, 'same' or 'valid', not {padding!r}")
        else:
            around = each(padding, rank, name)

        def computed(x: ndarray, w: ndarray, b: ndarray | None) -> ndarray:
            if any(after for _, after in uneven):
                x = np.pad(x, [(0, 0), (0, 0), *uneven])
            return _forerun.convolution(x, w, b, steps, around, spread, groups, False)

        return _batched(name, rank, input, computed, weight, bias)

    convolution.__name__ = convolution.__qualname__ = name
    convolution.__doc__ = f"""Convolve with filters of shape (filters, channels / groups, *kernel*) over {rank} axes.

    ``padding`` is a number of zeros at both ends, ``"same"`` or ``"valid"``.
    """
    return convolution


conv1d, conv2d, conv3d = _conv("conv1d", 1), _conv("conv2d", 2), _conv("conv3d", 3)


def _transposed(name: str, rank: int) -> Callable[..., Tensor]:
    def convolution(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        lists = each(stride, rank, name), each(padding, rank, name), each(dilation, rank, name)
        adjust = each(output_padding, rank, name)

        def computed(x: ndarray, w: ndarray, b: ndarray | None) -> ndarray:
            return _forerun.deconvolution(x, w, b, *lists, (), adjust, groups, False)

        return _batched(name, rank, input, computed, weight, bias)

    convolution.__name__ = convolution.__qualname__ = name
    convolution.__doc__ = f"""Compute a transposed convolution: filters are (channels, filters / groups, *kernel*).

    It is the gradient of a convolution over {rank} axes for its input.
    """
    return convolution


conv_transpose1d, conv_transpose2d = _transposed("conv_transpose1d", 1), _transposed("conv_transpose2d", 2)
conv_transpose3d = _transposed("conv_transpose3d", 3)


def _ceil_padding(shape: Sequence[int], lists: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Return what must be added behind each axis so that ``ceil_mode`` needs no partial window.

    A window that would start in the padding behind an axis is left out.
    """
    sides = []
    for extent, kernel, step, around in zip(shape, *lists, strict=True):
        count = -(-(extent + 2 * around - kernel) // step) + 1
        if (count - 1) * step >= extent + around:
            count -= 1
        sides.append((0, max(0, (count - 1) * step + kernel - extent - 2 * around)))
    return sides


def _pool(name: str, rank: int, kind: str) -> Callable[..., Any]:
    def windows(
        input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count: bool, divisor: Any, p: float
    ) -> Tensor:
        window, around = each(kernel_size, rank, name), each(padding, rank, name)
        steps = window if stride is None or stride == () else each(stride, rank, name)
        if any(2 * a > w for a, w in zip(around, window, strict=True)):
            raise RuntimeError(f"{name}: padding {around} must be at most half of the kernel {window}")

        def computed(x: ndarray) -> ndarray:
            sides = _ceil_padding(x.shape[2:], (window, steps, around)) if ceil_mode else []
            partial = any(after for _, after in sides)
            if not partial and divisor is None:
                return _forerun.pooling(x, kind, window, steps, around, p, count, False, False, False)
            # Partial windows, and divisors that a program chooses, by sums over an explicitly padded image.
            edges = [(a, a + after) for a, (_, after) in zip(around, sides or [(0, 0)] * rank, strict=True)]
            lead = [(0, 0), (0, 0)]
            none = (0,) * rank
            if kind == "max":
                filled = np.pad(x, [*lead, *edges], constant_values=_least(x))
                return _forerun.pooling(filled, kind, window, steps, none, p, True, False, False, False)
            whole = np.pad(x, [*lead, *edges])
            if kind == "lp":
                return _forerun.pooling(whole, kind, window, steps, none, p, True, False, False, False)
            mean = _forerun.pooling(whole, "avg", window, steps, none, p, True, False, False, False)
            size = math.prod(window)
            if divisor is not None:
                return mean * (size / divisor)
            ones = np.ones((1, 1, *x.shape[2:]), x.dtype)
            counted = np.pad(ones, [*lead, *[(a, a) for a in around]], constant_values=1.0 if count else 0.0)
            counted = np.pad(counted, [*lead, *sides])
            return mean / _forerun.pooling(counted, "avg", window, steps, none, p, True, False, False, False)

        return _batched(name, rank, input, computed)

    return windows


def _least(x: ndarray) -> Any:
    return -np.inf if x.dtype.kind in "fV" else np.iinfo(x.dtype).min


def _max(name: str, rank: int) -> Callable[..., Tensor]:
    windows = _pool(name, rank, "max")

    def pooled(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Tensor:
        if each(dilation, rank, name) != (1,) * rank:
            raise RuntimeError(f"{name}: dilation is not supported: take every n-th element, or use unfold")
        if return_indices:
            raise RuntimeError(f"{name}: return_indices is not supported: use unfold and argmax")
        made: Tensor = windows(input, kernel_size, stride, padding, ceil_mode, True, None, 2.0)
        return made

    pooled.__name__ = pooled.__qualname__ = name
    pooled.__doc__ = f"Return the maximum of each window over {rank} axes. The stride is the kernel's size by default."
    return pooled


def _avg(name: str, rank: int) -> Callable[..., Tensor]:
    windows = _pool(name, rank, "avg")

    def pooled(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        made: Tensor = windows(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2.0)
        return made

    pooled.__name__ = pooled.__qualname__ = name
    pooled.__doc__ = f"Return the mean of each window over {rank} axes. The stride is the kernel's size by default."
    return pooled


def _lp(name: str, rank: int) -> Callable[..., Tensor]:
    windows = _pool(name, rank, "lp")

    def pooled(
        input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> Tensor:
        made: Tensor = windows(input, kernel_size, stride, 0, ceil_mode, True, None, norm_type)
        return made

    pooled.__name__ = pooled.__qualname__ = name
    pooled.__doc__ = f"Return the norm of order ``norm_type`` of each window over {rank} axes."
    return pooled


max_pool1d, max_pool2d, max_pool3d = _max("max_pool1d", 1), _max("max_pool2d", 2), _max("max_pool3d", 3)
avg_pool1d, avg_pool2d, avg_pool3d = _avg("avg_pool1d", 1), _avg("avg_pool2d", 2), _avg("avg_pool3d", 3)
lp_pool1d, lp_pool2d = _lp("lp_pool1d", 1), _lp("lp_pool2d", 2)


def _adaptive(name: str, rank: int, kind: str) -> Callable[..., Tensor]:
    def pooled(input: Tensor, output_size: Any, return_indices: bool = False) -> Tensor:
        if return_indices:
            raise RuntimeError(f"{name}: return_indices is not supported: use unfold and argmax")
        held = tuple(input.shape)[-rank:]
        wanted = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * rank
        size = tuple(h if w is None else w for h, w in zip(held, wanted, strict=True))

        def computed(x: ndarray) -> ndarray:
            if kind == "avg" or all(h % s == 0 for h, s in zip(held, size, strict=True)):
                if kind == "avg":
                    return _forerun.pooling(x, kind, size, (), (), 2.0, False, False, True, False)
                window = tuple(h // s for h, s in zip(held, size, strict=True))
                return _forerun.pooling(x, kind, window, window, (0,) * rank, 2.0, True, False, False, False)
            # Windows of different sizes, one axis after the other.
            for axis, extent in enumerate(size, 2):
                have = x.shape[axis]
                cuts = [(i * have // extent, -(-(i + 1) * have // extent)) for i in range(extent)]
                lead = (slice(None),) * axis
                parts = [(*lead, slice(a, b)) for a, b in cuts]
                x = np.stack([np.max(x[part], axis=axis) for part in parts], axis=axis)
            return x

        return _batched(name, rank, input, computed)

    pooled.__name__ = pooled.__qualname__ = name
    word = "mean" if kind == "avg" else "maximum"
    pooled.__doc__ = f"Return the {word} of windows over {rank} axes such that the result has the given extents."
    return pooled


adaptive_avg_pool1d = _adaptive("adaptive_avg_pool1d", 1, "avg")
adaptive_avg_pool2d = _adaptive("adaptive_avg_pool2d", 2, "avg")
adaptive_avg_pool3d = _adaptive("adaptive_avg_pool3d", 3, "avg")
adaptive_max_pool1d = _adaptive("adaptive_max_pool1d", 1, "max")
adaptive_max_pool2d = _adaptive("adaptive_max_pool2d", 2, "max")
adaptive_max_pool3d = _adaptive("adaptive_max_pool3d", 3, "max")


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Add elements around the last dimensions, the last one first: ``(before, after, before, after, ...)``.

    Negative numbers remove elements. ``mode`` is ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.pad(torch.ones(1, 2), (1, 0))
    tensor([[0., 1., 1.]])
    """
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode not in modes:
        raise NotImplementedError(f"pad: mode is one of {', '.join(modes)}, not {mode!r}")
    if len(pad) % 2 or len(pad) > 2 * input.dim():
        raise RuntimeError(f"pad: needs pairs for at most {input.dim()} dimensions, got {tuple(pad)}")
    pairs = [(pad[number], pad[number + 1]) for number in range(0, len(pad), 2)][::-1]
    sides = [(0, 0)] * (input.dim() - len(pairs)) + pairs
    cut = tuple(
        slice(max(0, -before), extent - max(0, -after))
        for (before, after), extent in zip(sides, input.shape, strict=True)
    )
    grown = [(max(0, before), max(0, after)) for before, after in sides]
    filled = {"constant_values": 0.0 if value is None else value} if mode == "constant" else {}

    def padded(x: ndarray) -> ndarray:
        kept = x[cut] if any(before < 0 or after < 0 for before, after in sides) else x
        return np.pad(kept, grown, modes[mode], **filled) if any(map(any, grown)) else kept[...]

    return Tensor._run(padded, input)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Return the windows of images as columns: (batch, channels * kernel, windows).

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.unfold(torch.ones(1, 2, 3, 3), 2).shape
    torch.Size([1, 8, 4])
    """
    lists = each(kernel_size, 2), each(stride, 2), each(dilation, 2), each(padding, 2)
    return _batched("unfold", 2, input, lambda x: npx.im2col(x, *lists))


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Add columns back to images: the gradient of :func:`unfold`.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.fold(torch.ones(1, 8, 4), (3, 3), 2).shape
    torch.Size([1, 2, 3, 3])
    """
    lists = each(kernel_size, 2), each(stride, 2), each(dilation, 2), each(padding, 2)
    return Tensor._run(lambda x: npx.col2im(x, each(output_size, 2), *lists), input)


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Move groups of channels to blocks of pixels.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.pixel_shuffle(torch.ones(1, 4, 2, 2), 2).shape
    torch.Size([1, 1, 4, 4])
    """
    r = upscale_factor
    *lead, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError(f"pixel_shuffle: {channels} channels cannot be divided by {r * r}")
    rank = len(lead)
    parts = input.reshape(*lead, channels // (r * r), r, r, height, width)
    order = (*range(rank), rank, rank + 3, rank + 1, rank + 4, rank + 2)
    return parts.permute(*order).reshape(*lead, channels // (r * r), height * r, width * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Move blocks of pixels to groups of channels.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.pixel_unshuffle(torch.ones(1, 1, 4, 4), 2).shape
    torch.Size([1, 4, 2, 2])
    """
    r = downscale_factor
    *lead, channels, height, width = input.shape
    rank = len(lead)
    parts = input.reshape(*lead, channels, height // r, r, width // r, r)
    order = (*range(rank), rank, rank + 2, rank + 4, rank + 1, rank + 3)
    return parts.permute(*order).reshape(*lead, channels * r * r, height // r, width // r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave groups of channels.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.channel_shuffle(torch.arange(4).reshape(1, 4, 1), 2).reshape(-1)
    tensor([0, 2, 1, 3])
    """
    batch, channels, *rest = input.shape
    return input.reshape(batch, groups, channels // groups, *rest).transpose(1, 2).reshape(batch, channels, *rest)


def _places(extent: int, size: int, factor: float | None, align: bool) -> ndarray:
    """Return the source positions of the target's elements along an axis."""
    if align:
        return np.arange(size) * ((extent - 1) / max(size - 1, 1))
    scale = extent / size if factor is None else 1 / factor
    return np.maximum((np.arange(size) + 0.5) * scale - 0.5, 0)


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resize images: ``mode`` is ``"nearest"``, ``"nearest-exact"``, ``"area"``, or one of the linear ones.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    rank = input.dim() - 2
    linear = {1: "linear", 2: "bilinear", 3: "trilinear"}
    if rank < 1 or (size is None) == (scale_factor is None):
        raise ValueError("interpolate: needs a batch of images and one of size and scale_factor")
    if antialias or mode not in ("nearest", "nearest-exact", "area", linear.get(rank)):
        raise NotImplementedError(f"interpolate: mode {mode!r} is not supported for {rank} axes")
    extents = tuple(input.shape)[2:]
    factors: list[float | None] = [None] * rank
    if size is None:
        given = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * rank
        wanted = tuple(math.floor(extent * factor) for extent, factor in zip(extents, given, strict=True))
        factors = factors if recompute_scale_factor else [float(factor) for factor in given]
    else:
        wanted = each(size, rank, "interpolate")
    if mode == "area":
        return _adaptive("interpolate", rank, "avg")(input, wanted)

    def resized(x: ndarray) -> ndarray:
        for axis, (extent, target, factor) in enumerate(zip(extents, wanted, factors, strict=True), 2):
            if mode.startswith("nearest"):
                scale = extent / target if factor is None else 1 / factor
                half = 0.5 if mode == "nearest-exact" else 0.0
                rows = [min(int((number + half) * scale), extent - 1) for number in range(target)]
                x = np.take(x, np.array(rows, np.int64), axis=axis)
                continue
            places = _places(extent, target, factor, bool(align_corners))
            low = np.minimum(np.floor(places), extent - 1).astype(np.int64)
            share = (places - low).astype(x.dtype).reshape([-1 if d == axis else 1 for d in range(x.ndim)])
            high = np.minimum(low + 1, extent - 1)
            x = np.take(x, low, axis=axis) * (1 - share) + np.take(x, high, axis=axis) * share
        return x

    return Tensor._run(resized, input)


upsample = interpolate


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Sample images at the points of a grid, (batch, height, width, 2), whose coordinates run from -1 to 1.

    Examples
    --------
    >>> from forerun import torch
    >>> grid = torch.nn.functional.affine_grid(torch.eye(2, 3)[None], [1, 1, 2, 2], align_corners=True)
    >>> torch.nn.functional.grid_sample(torch.arange(4.0).reshape(1, 1, 2, 2), grid, align_corners=True)
    tensor([[[[0., 1.],
              [2., 3.]]]])
    """
    return Tensor._run(lambda x, g: npx.grid_sample(x, g, mode, padding_mode, bool(align_corners)), input, grid)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Return the points of an affine transformation, (batch, height, width, 2), for :func:`grid_sample`.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.affine_grid(torch.eye(2, 3)[None], [1, 1, 2, 2]).shape
    torch.Size([1, 2, 2, 2])
    """
    batch, _, height, width = size

    def line(extent: int) -> ndarray:
        if align_corners:
            return np.linspace(-1, 1, extent) if extent > 1 else np.zeros((1,))
        return (np.arange(extent) * 2 + 1) / extent - 1

    rows, columns = np.meshgrid(line(height), line(width), indexing="ij")
    points = np.stack((columns, rows, np.ones_like(rows)), -1).reshape(-1, 3)
    return Tensor._run(
        lambda t: np.matmul(points.astype(t.dtype), np.swapaxes(t, -1, -2)).reshape(batch, height, width, 2), theta
    )
