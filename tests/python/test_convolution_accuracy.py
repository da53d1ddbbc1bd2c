"""Accuracy of convolutions in float32, forward and both gradients, by shape.

They differ from float64 by at most 2e-6 of the convolution of absolute values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
import pytest
import routines

from forerun import autograd, np, npx

LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
BOUND = 2e-6


class Case(NamedTuple):
    """Images of shape (batch, channels, *axes*), filters, and windows."""

    batch: int
    channels: int
    axes: tuple[int, ...]
    filters: int
    kernel: tuple[int, ...]
    stride: int = 1
    pad: int = 0
    dilate: int = 1
    groups: int = 1


CASES = {
    "one dimension": Case(3, 20, (50,), 24, (5,), 2, 2),
    "one dimension, dilated": Case(2, 8, (60,), 12, (3,), 1, 4, 4),
    "one dimension, depthwise": Case(2, 33, (40,), 33, (7,), 1, 3, 1, 33),
    "first layer of LeNet": Case(8, 1, (28, 28), 6, (5, 5), 1, 2),
    "first layer of ResNet": Case(1, 3, (64, 64), 64, (7, 7), 2, 3),
    "large kernel of few channels": Case(2, 3, (40, 40), 64, (11, 11), 4, 2),
    "64 channels": Case(2, 64, (14, 14), 64, (3, 3), 1, 1),
    "512 channels": Case(2, 512, (5, 5), 64, (3, 3), 1, 1),
    "many filters": Case(1, 32, (7, 7), 600, (3, 3), 1, 1),
    "1024 channels and a kernel of 1": Case(2, 1024, (4, 4), 96, (1, 1)),
    "stride and a kernel of 1": Case(2, 48, (9, 9), 40, (1, 1), 2),
    "many windows": Case(4, 8, (96, 96), 8, (3, 3), 1, 1),
    "stride that skips pixels": Case(2, 16, (23, 19), 16, (2, 3), 3, 1),
    "dilated": Case(2, 24, (17, 17), 20, (3, 3), 1, 2, 2),
    "dilated with a stride": Case(2, 12, (20, 21), 20, (3, 2), 2, 3, 3),
    "groups": Case(2, 48, (12, 12), 72, (3, 3), 1, 1, 1, 4),
    "groups with a stride": Case(2, 36, (13, 13), 24, (3, 3), 2, 1, 1, 12),
    "depthwise": Case(2, 40, (16, 16), 40, (3, 3), 1, 1, 1, 40),
    "depthwise with a multiplier": Case(2, 24, (15, 15), 72, (5, 5), 2, 2, 1, 24),
    "odd counts": Case(3, 19, (11, 13), 23, (3, 5), 1, 2),
    "three dimensions": Case(1, 16, (6, 8, 7), 24, (3, 3, 3), 1, 1),
    "three dimensions, groups": Case(2, 12, (5, 9, 6), 18, (2, 3, 1), 2, 1, 1, 3),
    "three dimensions, depthwise": Case(1, 20, (6, 6, 6), 20, (3, 3, 3), 1, 1, 1, 20),
}


def drawn(shape: tuple[int, ...], seed: int, positive: bool) -> Any:
    values = numpy.random.default_rng(seed).standard_normal(shape).astype("float32")
    return numpy.abs(values) if positive else values


def last(x: Any, channels_last: bool) -> Any:
    """Move the channels to the end."""
    return numpy.ascontiguousarray(numpy.moveaxis(x, 1, -1)) if channels_last else x


def check(name: str, got: Any, function: Any, left: Any, right: Any, **how: Any) -> None:
    """Compare with float64, relative to the result for absolute values."""
    left, right = left.astype("float64"), right.astype("float64")
    want = function(left, right, **how)
    bound = BOUND * function(numpy.abs(left), numpy.abs(right), **how)
    assert got.dtype == "float32" and got.shape == want.shape, name
    off = numpy.abs(got.asnumpy() - want)
    assert (off <= bound).all(), f"{name}: off by {(off / numpy.maximum(bound, 1e-300)).max() * BOUND:.2e}"


# Numbers of one sign make partial sums as large as they can be; those of both signs cancel.
@pytest.mark.parametrize("positive", [False, True], ids=["both signs", "one sign"])
@pytest.mark.parametrize("channels_last", [False, True], ids=["channels first", "channels last"])
@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_convolutions_are_accurate(case: Case, transposed: bool, channels_last: bool, positive: bool) -> None:
    count = len(case.axes)
    how: dict[str, Any] = {
        "stride": [case.stride] * count,
        "padding": [case.pad] * count,
        "dilation": [case.dilate] * count,
        "groups": case.groups,
        "channels_last": channels_last,
    }
    reach = [case.dilate * (k - 1) + 1 for k in case.kernel]
    output = [(n + 2 * case.pad - r) // case.stride + 1 for n, r in zip(case.axes, reach, strict=True)]
    # The extents that windows cover: a transposed convolution gives no more.
    axes = [(o - 1) * case.stride + r - 2 * case.pad for o, r in zip(output, reach, strict=True)]
    images = (case.batch, case.channels, *(axes if transposed else case.axes))
    windows = (case.batch, case.filters, *output)
    w = last(drawn((case.filters, case.channels // case.groups, *case.kernel), 1, positive), channels_last)
    x = last(drawn(images, 0, positive), channels_last)
    y = last(drawn(windows, 2, positive), channels_last)
    given, head = (y, x) if transposed else (x, y)
    data, weight = np.array(given), np.array(w)
    for array in (data, weight):
        array.attach_grad()
    function = npx.deconvolution if transposed else npx.convolution
    options = {"stride": case.stride, "pad": case.pad, "dilate": case.dilate, "num_group": case.groups}
    with autograd.record():
        made = function(data, weight, layout=LAYOUTS[count][channels_last], no_bias=True, **options)
    made.backward(np.array(head))
    forward, back = (made, data.grad) if not transposed else (data.grad, made)
    spatial = list(axes if transposed else case.axes)
    check("from images", forward, routines.convolution, x, w, extents=[], **how)
    check("to images", back, routines.convolution_transpose, y, w, extents=spatial, **how)
    check("weight", weight.grad, routines.convolution_weight, y, x, extents=list(case.kernel), **how)
