"""Bad input of layers: an exception that names the op, the shapes or values, and the user's line; the next op works."""

from __future__ import annotations

import pathlib
import traceback
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import autograd, np, npx
from forerun.gluon import loss, nn, rnn

FILE = pathlib.Path(__file__).name
NAN = numpy.nan


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape)


def lengths_of_lstm(lengths: list[float]) -> Any:
    layer = rnn.LSTM(3, use_sequence_length=True)
    layer.initialize()
    return layer(ones(4, 2, 2), layer.begin_state(batch_size=2), np.array(lengths))


def losses(labels: list[float]) -> np.ndarray:
    return loss.SoftmaxCrossEntropyLoss()(ones(2, 3), np.array(labels))


def gradient(call: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    x.attach_grad()
    with autograd.record():
        y = call(x)
    y.backward()
    return x.grad


def rois(*values: float) -> np.ndarray:
    return np.array([values])


IMAGE, FILTERS = (1, 4, 5, 5), (6, 4, 3, 3)
FITS = r"does not fit an axis of 5 with padding 0: \(1, 4, 5, 5\)"
CASES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    # Groups that do not divide.
    "groups of a convolution": (
        lambda: npx.convolution(ones(*IMAGE), ones(*FILTERS), num_group=3),
        ValueError,
        r"convolution: 3 groups do not divide 4 channels and 6 filters: \(1, 4, 5, 5\) and \(6, 4, 3, 3\)",
    ),
    "groups of a transposed convolution": (
        lambda: npx.deconvolution(ones(*IMAGE), ones(4, 2, 3, 3), num_group=3),
        ValueError,
        r"convolution_transpose: 3 groups do not divide .*\(1, 4, 5, 5\) and \(4, 2, 3, 3\)",
    ),
    "groups of a deformable convolution": (
        lambda: npx.deformable_convolution(ones(1, 3, 4, 4), ones(1, 8, 3, 3), ones(2, 3, 2, 2), num_group=2),
        ValueError,
        r"deformable_convolution: weight of shape \(2, 3, 2, 2\) does not fit data of shape \(1, 3, 4, 4\)",
    ),
    "groups of a norm": (
        lambda: npx.group_norm(ones(*IMAGE), ones(4), ones(4), 3),
        ValueError,
        r"group_norm: 3 groups do not divide the channels of \(1, 4, 5, 5\)",
    ),
    "heads of attention": (
        lambda: nn.MultiHeadAttention(6, 4),
        ValueError,
        "MultiHeadAttention: 6 units do not divide into 4 heads",
    ),
    "heads in one array": (
        lambda: npx.interleaved_matmul_selfatt_qk(ones(3, 2, 10), 2),
        ValueError,
        r"interleaved_matmul_selfatt_qk: an array of shape \(3, 2, 10\) cannot be divided among 2 heads",
    ),
    "factors of a pixel shuffle": (
        lambda: nn.PixelShuffle2D(2)(ones(1, 3, 2, 2)),
        ValueError,
        r"PixelShuffle2D: needs 4 dimensions and a multiple of 4 channels, got \(1, 3, 2, 2\)",
    ),
    "bins with channels of their own": (
        lambda: npx.roi_align(ones(*IMAGE), rois(0, 0, 0, 2, 2), (3, 2), 1.0, position_sensitive=True),
        ValueError,
        "roi_align: 4 channels cannot be divided among 3 x 2 bins",
    ),
    # Kernels larger than the padded input.
    "kernel of a convolution": (
        lambda: npx.convolution(ones(*IMAGE), ones(6, 4, 7, 7)),
        ValueError,
        r"convolution: a kernel of extent 7 with dilation 1 " + FITS + r" and \(6, 4, 7, 7\)",
    ),
    "dilated kernel": (
        lambda: npx.convolution(ones(*IMAGE), ones(*FILTERS), dilate=3, no_bias=True),
        ValueError,
        "convolution: a kernel of extent 3 with dilation 3 " + FITS,
    ),
    "kernel in three dimensions": (
        lambda: npx.convolution(ones(1, 1, 2, 5, 5), ones(1, 1, 3, 3, 3)),
        ValueError,
        r"convolution: a kernel of extent 3 .* an axis of 2 with padding 0: \(1, 1, 2, 5, 5\)",
    ),
    "kernel of a maximum": (lambda: npx.pooling(ones(*IMAGE), 7), ValueError, "max_pool: a kernel of extent 7 " + FITS),
    "kernel of a mean": (
        lambda: npx.pooling(ones(*IMAGE), 7, pool_type="avg"),
        ValueError,
        "average_pool: a kernel of extent 7 " + FITS,
    ),
    # Numbers whose tables would not fit into memory.
    "padding beyond everything": (
        lambda: npx.convolution(ones(*IMAGE), ones(*FILTERS), pad=2**62, stride=2**61, no_bias=True),
        ValueError,
        r"convolution: padding 4611686018427387904 of axis 0 is more than 1048576: \(1, 4, 5, 5\)",
    ),
    "padding on three axes": (
        lambda: npx.convolution(ones(1, 1, 2, 2, 2), ones(1, 1, 2, 2, 2), pad=2**20, stride=2**20, no_bias=True),
        ValueError,
        r"convolution: padding \[1048576, 1048576, 1048576\] makes the images too large",
    ),
    "dilation beyond everything": (
        lambda: npx.deconvolution(ones(*IMAGE), ones(4, 1, 3, 3), dilate=2**62, no_bias=True),
        ValueError,
        r"convolution_transpose: the result of \(1, 4, 5, 5\) has too many elements",
    ),
    "kernel beyond everything": (
        lambda: npx.pooling(ones(*IMAGE), 2**31 + 1, pad=2**31),
        ValueError,
        "max_pool: kernel 2147483649 is more than 1048576",
    ),
    "extents beyond everything": (
        lambda: npx.adaptive_avg_pool2d(ones(*IMAGE), 2**40),
        ValueError,
        "average_pool: extent 1099511627776 is more than 1048576",
    ),
    "windows as columns": (
        lambda: npx.im2col(ones(1, 1, 3), 4),
        ValueError,
        r"im2col: a window of extent 4 does not fit axis 0 of extents \[3\] with padding 0",
    ),
    # Labels out of range.
    "index of an embedding": (
        lambda: npx.embedding(np.array([0, 7]), ones(3, 2)),
        IndexError,
        "take: index 7 is out of bounds for axis 0 with size 3",
    ),
    "label of a loss": (lambda: losses([0, 5]), IndexError, "take: index 5 is out of bounds for axis 0 with size 3"),
    "negative label of a loss": (lambda: losses([0, -1]), IndexError, "take: index -1 is out of bounds"),
    "label of an alignment": (
        lambda: npx.ctc_loss(ones(5, 1, 4), np.array([[1, 9]])),
        ValueError,
        "ctc_loss: label 9 of sequence 0 is not one of 4 classes but the blank",
    ),
    "picked element": (
        lambda: npx.pick(ones(2, 3), np.array([0, 3]), mode="raise"),
        IndexError,
        "take: index 3 is out of bounds for axis 0 with size 3",
    ),
    "image of a region": (
        lambda: npx.roi_align(ones(*IMAGE), rois(3, 0, 0, 2, 2), (2, 2), 1.0),
        ValueError,
        "roi_align: image 3 of region 0 does not exist: there are 1",
    ),
    # What is no number, as a label, a length or a place.
    "index that is no number": (lambda: npx.embedding(np.array([NAN]), ones(3, 2)), IndexError, "take: index -9223372"),
    "label that is no number": (lambda: losses([0, NAN]), IndexError, "take: index -9223372036854775808 is out of"),
    "aligned label that is no number": (
        lambda: npx.ctc_loss(ones(5, 1, 4), np.array([[1, NAN]])),
        ValueError,
        "ctc_loss: label 9223372036854775807 of sequence 0 is not one of 4 classes",
    ),
    "length that is no number": (
        lambda: lengths_of_lstm([4, NAN]),
        ValueError,
        "recurrent_scan: length 9223372036854775807 of sequence 1 is not between 0 and 4",
    ),
    "box that is no number": (
        lambda: npx.roi_pooling(ones(*IMAGE), rois(0, 0, NAN, 2, 2), (2, 2), 1.0),
        ValueError,
        "roi_pool: the box of region 0 is not finite: 0, NaN, 2, 2",
    ),
    "image that is no number": (
        lambda: npx.roi_align(ones(*IMAGE), rois(NAN, 0, 0, 2, 2), (2, 2), 1.0),
        ValueError,
        "roi_align: image 9223372036854775807 of region 0 does not exist",
    ),
    # Lengths beyond the sequence.
    "length of a recurrence": (
        lambda: lengths_of_lstm([4, 9]),
        ValueError,
        "recurrent_scan: length 9 of sequence 1 is not between 0 and 4",
    ),
    "negative length": (lambda: lengths_of_lstm([-1, 2]), ValueError, "length -1 of sequence 0 is not between 0 and 4"),
    "length of an alignment": (
        lambda: npx.ctc_loss(ones(5, 1, 4), np.array([[1, 2]]), np.array([7]), use_data_lengths=True),
        ValueError,
        "ctc_loss: length 7 of sequence 0 is not between 0 and 5",
    ),
    "length of labels": (
        lambda: npx.ctc_loss(ones(5, 1, 4), np.array([[1, 2]]), None, np.array([3]), use_label_lengths=True),
        ValueError,
        "ctc_loss: length 3 of sequence 0 is not between 0 and 2",
    ),
    "last step beyond the sequence": (
        lambda: npx.sequence_last(ones(3, 2), np.array([2, 9]), True),
        IndexError,
        "take_along_axis: index 8 is out of bounds for axis 0 with size 3",
    ),
    "reversal beyond the sequence": (
        lambda: npx.sequence_reverse(ones(3, 2), np.array([2, 9]), True),
        IndexError,
        "take_along_axis: index 8 is out of bounds for axis 0 with size 3",
    ),
    # Within a gradient.
    "label while recording": (
        lambda: gradient(lambda x: loss.SoftmaxCrossEntropyLoss()(x, np.array([0, 5])).sum(), ones(2, 3)),
        IndexError,
        "take: index 5 is out of bounds for axis 0 with size 3",
    ),
}


def wait(made: Any) -> None:
    for one in made if isinstance(made, (list, tuple)) else [made]:
        if isinstance(one, (list, tuple)):
            wait(one)
        else:
            one.wait_to_read()


@pytest.mark.parametrize(("call", "kind", "text"), CASES.values(), ids=CASES.keys())
def test_bad_input(call: Callable[[], Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text) as found:
        wait(call())
    # The line that called the op: in the message if the op fails later, in the traceback if it fails at once.
    lines = [f.lineno for f in traceback.extract_tb(found.tb) if pathlib.Path(f.filename).name == FILE]
    first = call.__code__.co_firstlineno
    assert f"{FILE}:" in str(found.value) or any(n and first <= n <= first + 8 for n in lines)
    # Nothing is left behind.
    assert npx.pooling(npx.convolution(ones(1, 2, 5, 5), ones(3, 2, 3, 3), no_bias=True), 3).tolist() == [[[[18]]] * 3]


def test_numbers_that_are_none_flow_through_values() -> None:
    x = ones(1, 1, 4, 4)
    x[0, 0, 0, 0] = NAN
    y = npx.convolution(x, ones(1, 1, 2, 2), no_bias=True).asnumpy()
    assert numpy.isnan(y).sum() == 1 and (y[~numpy.isnan(y)] == 4).all()
    assert numpy.isnan(npx.pooling(x, 2, 2).asnumpy()).sum() == 1
    assert not npx.grid_sample(ones(1, 1, 4, 4), np.full((1, 2, 2, 2), NAN)).any()


def test_a_stride_or_dilation_without_effect_may_have_any_size() -> None:
    x, weight = ones(1, 1, 4, 4), ones(1, 1, 3, 3)
    assert npx.convolution(x, weight, stride=2**40, no_bias=True).item() == 9
    assert npx.deconvolution(ones(1, 1, 1, 1), weight, stride=2**40, no_bias=True).shape == (1, 1, 3, 3)
    pointwise = npx.convolution(x, ones(1, 1, 1, 1), dilate=2**40, no_bias=True)
    assert pointwise.shape == (1, 1, 4, 4) and pointwise.sum().item() == 16
    assert npx.pooling(x, 4, stride=2**40).item() == 1
