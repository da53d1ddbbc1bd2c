"""ONNX nodes over windows of images: convolutions and pooling."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from forerun import np, npx
from forerun.onnx._values import Call

# The elements of a dilated window of a pooling.
_MOST_TAPS = 4096
# The largest stride, dilation and padding: the engine keeps tables of windows, whose length they determine.
_FARTHEST = 1 << 16


def _pads(attributes: Any, held: Sequence[int], reach: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """Return the padding before and after each axis, of which windows of ``reach`` elements are taken."""
    count = len(held)
    mode = attributes.get("auto_pad", "NOTSET")
    if mode == "VALID":
        return [(0, 0)] * count
    if mode == "NOTSET":
        given = attributes.get("pads", [0] * 2 * count)
        if max(map(abs, given), default=0) > _FARTHEST:
            raise ValueError(f"pads {given} are not supported")
        return list(zip(given[:count], given[count:], strict=True))
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise ValueError(f"auto_pad {mode} is not known")
    # As many windows as strides fit the axis; the odd element is put at the end, or at the start.
    totals = [
        max((math.ceil(extent / stride) - 1) * stride + size - extent, 0)
        for extent, size, stride in zip(held, reach, strides, strict=True)
    ]
    return [_halves(total, mode) for total in totals]


def _halves(total: int, mode: str) -> tuple[int, int]:
    less, more = total // 2, total - total // 2
    return (more, less) if mode == "SAME_LOWER" else (less, more)


def _reach(kernel: Sequence[int], dilations: Sequence[int]) -> list[int]:
    return [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]


def _strides(attributes: Any, count: int) -> list[int]:
    strides = list(attributes.get("strides", [1] * count))
    return _steps("strides", strides, count)


def _dilations(attributes: Any, count: int) -> list[int]:
    return _steps("dilations", list(attributes.get("dilations", [1] * count)), count)


def _steps(name: str, steps: list[int], count: int) -> list[int]:
    if len(steps) != count or not all(1 <= step <= _FARTHEST for step in steps):
        raise ValueError(f"{name} {steps} do not fit {count} axes, or are not from 1 to {_FARTHEST}")
    return steps


def _padded(x: Any, pads: Sequence[tuple[int, int]], fill: float) -> tuple[Any, tuple[int, ...]]:
    """Return images and the padding that is left: that which differs at the two ends is in the images."""
    if all(before == after for before, after in pads):
        return x, tuple(before for before, _ in pads)
    return _around(x, pads, fill), (0,) * len(pads)


def _around(x: Any, pads: Sequence[tuple[int, int]], fill: float) -> Any:
    if min(map(min, pads), default=0) < 0:
        raise ValueError("negative padding is not supported")
    return np.pad(x, [(0, 0), (0, 0), *pads], constant_values=fill)


def convolution(attributes: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """Compute ``Conv``."""
    kernel = tuple(weight.shape[2:])
    dilations, strides = _dilations(attributes, len(kernel)), _strides(attributes, len(kernel))
    x, pad = _padded(x, _pads(attributes, x.shape[2:], _reach(kernel, dilations), strides), 0.0)
    return npx.convolution(
        x,
        weight,
        bias,
        kernel=kernel,
        stride=tuple(strides),
        pad=pad,
        dilate=tuple(dilations),
        num_filter=weight.shape[0],
        num_group=attributes.get("group", 1),
        no_bias=bias is None,
    )


def transposed(attributes: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """Compute ``ConvTranspose``: padding removes elements of the result."""
    kernel, held, count = tuple(weight.shape[2:]), x.shape[2:], x.ndim - 2
    dilations = _dilations(attributes, count)
    strides, groups = _strides(attributes, count), attributes.get("group", 1)
    extra = attributes.get("output_padding", [0] * count)
    reach = _reach(kernel, dilations)
    whole = [(h - 1) * s + r for h, s, r in zip(held, strides, reach, strict=True)]
    mode = attributes.get("auto_pad", "NOTSET")
    wanted = list(attributes.get("output_shape", []))[-count:]
    if not wanted and mode.startswith("SAME"):
        wanted = [h * s for h, s in zip(held, strides, strict=True)]
    if wanted:
        totals = [max(w + e - goal, 0) for w, e, goal in zip(whole, extra, wanted, strict=True)]
        # Here the odd element is removed at the end only if asked to.
        cuts = [_halves(total, "SAME_UPPER" if mode == "SAME_UPPER" else "SAME_LOWER") for total in totals]
        extra = [goal + sum(cut) - w for goal, cut, w in zip(wanted, cuts, whole, strict=True)]
    else:
        cuts = _pads(attributes, held, reach, strides)
        wanted = [w + e - sum(cut) for w, e, cut in zip(whole, extra, cuts, strict=True)]
    if min(map(min, cuts)) < 0 or min(wanted) < 1:
        raise ValueError(f"a result with the extents {wanted} is not supported")
    options: dict[str, Any] = {"stride": tuple(strides), "dilate": tuple(dilations), "num_group": groups}
    options["num_filter"] = weight.shape[1] * groups
    if all(before == after for before, after in cuts) and all(e < s for e, s in zip(extra, strides, strict=True)):
        pad = tuple(before for before, _ in cuts)
        return npx.deconvolution(x, weight, bias, kernel, pad=pad, adj=tuple(extra), no_bias=bias is None, **options)
    made = npx.deconvolution(x, weight, None, kernel, **options)
    # Elements that only the output padding makes are zeros, to which the bias is added.
    short = [max(cut[0] + goal - w, 0) for cut, goal, w in zip(cuts, wanted, whole, strict=True)]
    if any(short):
        made = np.pad(made, [(0, 0), (0, 0), *((0, more) for more in short)])
    inner = [slice(cut[0], cut[0] + goal) for cut, goal in zip(cuts, wanted, strict=True)]
    kept = (slice(None), slice(None), *inner)
    made = made[kept]
    return made if bias is None else made + bias.reshape(-1, *[1] * count)


def pooling(kind: str) -> Call:
    """Return ``MaxPool``, ``AveragePool`` or ``LpPool``."""

    def call(attributes: Any, x: Any) -> Any:
        kernel = tuple(attributes["kernel_shape"])
        strides, dilations = _strides(attributes, len(kernel)), _dilations(attributes, len(kernel))
        included, ceil = bool(attributes.get("count_include_pad", 0)), bool(attributes.get("ceil_mode", 0))
        pads = _pads(attributes, x.shape[2:], _reach(kernel, dilations), strides)
        fill = -math.inf if kind == "max" else 0.0
        if any(one != 1 for one in dilations):
            if ceil or kind == "lp":
                raise ValueError("dilated windows are not supported for LpPool and ceil_mode")
            made = _dilated(kind, _around(x, pads, fill), kernel, strides, dilations)
            if kind == "max" or included:
                return made
            # Only elements of the data count.
            ones = _around(np.ones((1, 1, *x.shape[2:]), dtype=x.dtype), pads, 0.0)
            return made / _dilated(kind, ones, kernel, strides, dilations)
        options: dict[str, Any] = {"kernel": kernel, "stride": tuple(strides)}
        if ceil:
            options["pooling_convention"] = "full"
        padded, pad = _padded(x, pads, fill)
        if kind == "avg" and not included and padded is not x:
            ones = _around(np.ones((1, 1, *x.shape[2:]), dtype=x.dtype), pads, 0.0)
            sums = [npx.pooling(each, pool_type="sum", **options) for each in (padded, ones)]
            return sums[0] / sums[1]
        options |= {"pool_type": kind, "count_include_pad": included, "p_value": attributes.get("p", 2)}
        return npx.pooling(padded, pad=pad, **options).astype(x.dtype)

    return call


def _dilated(kind: str, x: Any, kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Any:
    """Combine each element of all windows with the next."""
    counts = [
        (extent - reach) // stride + 1
        for extent, reach, stride in zip(x.shape[2:], _reach(kernel, dilations), strides, strict=True)
    ]
    if min(counts) < 1 or math.prod(kernel) > _MOST_TAPS:
        raise ValueError(f"dilated windows of {tuple(kernel)} do not fit images of shape {x.shape}")
    made: Any = None
    for place in itertools.product(*map(range, kernel)):
        begins = [at * step for at, step in zip(place, dilations, strict=True)]
        ends = [begin + (count - 1) * stride + 1 for begin, count, stride in zip(begins, counts, strides, strict=True)]
        inner = (slice(None), slice(None), *map(slice, begins, ends, strides))
        window = x[inner]
        made = window if made is None else np.maximum(made, window) if kind == "max" else made + window
    return made if kind == "max" else made / math.prod(kernel)
