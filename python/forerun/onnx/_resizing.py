"""The ONNX nodes ``Resize`` and ``Upsample``: each axis is a sum of elements of the old axis."""

from __future__ import annotations

from typing import Any

import numpy

from forerun import np
from forerun._resampling import resampled
from forerun.onnx._values import axes_of, host, ints

# Where an element of the result is on the old axis, by the name of the transformation: functions of the place, the
# number of new elements per old one, and the old and new extent.
_PLACES: dict[str, Any] = {
    "align_corners": lambda at, scale, old, new: at * ((old - 1) / (old * scale - 1) if new > 1 else 0.0),
    "asymmetric": lambda at, scale, _, __: at / scale,
    "half_pixel": lambda at, scale, _, __: (at + 0.5) / scale - 0.5,
    "half_pixel_symmetric": lambda at, scale, old, new: old / 2 * (1 - new / (old * scale)) + (at + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda at, scale, _, new: (at + 0.5) / scale - 0.5 if new > 1 else at * 0.0,
}
_ROUNDED: dict[str, Any] = {
    "ceil": numpy.ceil,
    "floor": numpy.floor,
    "round_prefer_ceil": lambda x: numpy.floor(x + 0.5),
    "round_prefer_floor": lambda x: numpy.ceil(x - 0.5),
}


def resize(attributes: Any, x: Any, _: Any = None, scales: Any = None, sizes: Any = None) -> Any:
    """Compute ``Resize`` of version 11 and later."""
    if attributes.get("antialias", 0) or attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise ValueError("antialias and keep_aspect_ratio_policy are not supported")
    axes = axes_of(attributes, None) or tuple(range(x.ndim))
    if sizes is not None:
        extents = ints(sizes, "the extents")
        factors = [new / x.shape[axis] for new, axis in zip(extents, axes, strict=True)]
    else:
        factors = [float(one) for one in numpy.ravel(host(scales, "the scale"))]
        extents = [int(x.shape[axis] * factor) for factor, axis in zip(factors, axes, strict=True)]
    for axis, factor, extent in zip(axes, factors, extents, strict=True):
        if extent != x.shape[axis] or factor != 1:
            x = _along(attributes, x, axis, factor, extent)
    return x


def upsample(attributes: Any, x: Any, scales: Any = None) -> Any:
    """Compute ``Resize`` of version 10, and ``Upsample``."""
    scales = numpy.array(attributes["scales"]) if scales is None else scales
    mode = "linear" if attributes.get("mode", "nearest") in ("linear", "bilinear") else "nearest"
    options = {"mode": mode, "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    return resize(options, x, None, scales)


def _along(attributes: Any, x: Any, axis: int, scale: float, extent: int) -> Any:
    """Resize one axis."""
    transformation = attributes.get("coordinate_transformation_mode", "half_pixel")
    mode, old = attributes.get("mode", "nearest"), x.shape[axis]
    if transformation not in _PLACES or mode not in ("nearest", "linear", "cubic"):
        raise ValueError(f"the transformation {transformation} of the mode {mode} is not supported")
    if extent < 1 or old < 1 or scale <= 0:
        raise ValueError(f"an axis of {old} cannot be resized to {extent}")
    places = _PLACES[transformation](numpy.arange(extent, dtype="float64"), scale, old, extent)
    if mode == "nearest":
        rounded = _ROUNDED[attributes.get("nearest_mode", "round_prefer_floor")](places)
        return np.take(x, np.array(numpy.clip(rounded, 0, old - 1), dtype="int64"), axis)
    first = numpy.floor(places)
    reach = 1 if mode == "linear" else 2
    taps = first + numpy.arange(1 - reach, reach + 1).reshape(-1, 1)
    distance = numpy.abs(places - taps)
    shares = 1 - distance if mode == "linear" else _cubic(distance, attributes.get("cubic_coeff_a", -0.75))
    if attributes.get("exclude_outside", 0):
        shares = shares * ((taps >= 0) & (taps < old))
        shares = shares / shares.sum(0)
    taps = numpy.clip(taps, 0, old - 1)
    return resampled(x, axis, taps.astype("int64"), shares.astype("float32")).astype(x.dtype)


def _cubic(distance: Any, a: float) -> Any:
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return numpy.where(distance <= 1, near, numpy.where(distance < 2, far, 0))
