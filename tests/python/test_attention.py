"""Attention, masked softmax, alignment losses and control flow: against compositions and PyTorch's definitions."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, np, npx


def drawn(*shape: int, dtype: str = "float64") -> np.ndarray:
    return np.array(numpy.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(dtype))


def plain(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
    scores = np.matmul(q, k.swapaxes(-1, -2)) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores + mask
    if causal:
        scores = np.where(np.array(numpy.tri(*scores.shape[-2:], dtype=bool)), scores, -1e30)
    return np.matmul(npx.softmax(scores), v)


MASKS: list[tuple[int, ...] | None] = [
    None,
    (20,),
    (33, 20),
    (2, 1, 1, 20),
    (2, 1, 33, 20),
    (3, 33, 20),
    (2, 3, 33, 20),
]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_its_composition(mask: tuple[int, ...] | None, causal: bool) -> None:
    arrays = [drawn(2, 3, 33, 5), drawn(2, 3, 20, 5) + 0.1, drawn(2, 3, 20, 7)]
    added = None if mask is None else drawn(*mask)
    made = []
    for function in (
        lambda q, k, v: npx.scaled_dot_product_attention(q, k, v, added, is_causal=causal),
        lambda q, k, v: plain(q, k, v, added, causal),
    ):
        own = [x.copy() for x in arrays]
        for x in own:
            x.attach_grad()
        with autograd.record():
            y = function(*own)
            (y * y).sum().backward()
        made.append([y.asnumpy(), *(x.grad.asnumpy() for x in own)])
    for got, want in zip(*made, strict=True):
        numpy.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


def test_long_sequences_take_no_matrix_of_scores() -> None:
    q, k, v = (drawn(1, 2, 700, 8) for _ in range(3))
    got = npx.scaled_dot_product_attention(q, k, v, is_causal=True)
    numpy.testing.assert_allclose(got.asnumpy(), plain(q, k, v, causal=True).asnumpy(), rtol=1e-10, atol=1e-12)


def test_masks_of_truth_values_and_what_sees_nothing() -> None:
    q, k, v = drawn(2, 4, 3), drawn(2, 5, 3), drawn(2, 5, 2)
    seen = numpy.ones((4, 5), bool)
    seen[1] = False
    seen[2, 3:] = False
    got = npx.scaled_dot_product_attention(q, k, v, np.array(seen)).asnumpy()
    assert (got[:, 1] == 0).all()
    want = plain(q, k[:, :3], v[:, :3]).asnumpy()
    numpy.testing.assert_allclose(got[:, 2], want[:, 2], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats(dtype: str) -> None:
    q, k, v = drawn(2, 4, 3), drawn(2, 5, 3), drawn(2, 5, 2)
    got = npx.scaled_dot_product_attention(*(x.astype(dtype) for x in (q, k, v)))
    numpy.testing.assert_allclose(got.asnumpy().astype("float64"), plain(q, k, v).asnumpy(), atol=3e-2)


def test_layers() -> None:
    npx.seed(1)
    x = drawn(3, 5, 8, dtype="float32")
    layer = gluon.nn.MultiHeadAttention(8, 2, dropout=0.1)
    layer.initialize()
    causal = layer(x, is_causal=True).asnumpy()
    changed = x.copy()
    changed[:, 3:] = 0
    numpy.testing.assert_allclose(layer(changed, is_causal=True).asnumpy()[:, :3], causal[:, :3], rtol=1e-5, atol=1e-6)
    for pre_norm in (True, False):
        net = gluon.nn.TransformerEncoderLayer(8, 16, 2, dropout=0.1, pre_norm=pre_norm)
        net.initialize()
        with autograd.record():
            net(x).sum().backward()
        assert all(numpy.isfinite(p.grad().asnumpy()).all() for p in net.collect_params().values())
    norm = gluon.nn.RMSNorm(epsilon=0.0)
    norm.initialize()
    numpy.testing.assert_allclose((norm(x).asnumpy() ** 2).mean(-1), 1, rtol=1e-5)


def test_masked_softmax() -> None:
    x = drawn(3, 4)
    mask = np.array([[1, 1, 0, 0], [1, 0, 1, 1], [0, 0, 0, 0]])
    x.attach_grad()
    with autograd.record():
        y = npx.masked_softmax(x, mask)
        (y * y).sum().backward()
    got = y.asnumpy()
    assert (got[mask.asnumpy() == 0] == 0).all()
    numpy.testing.assert_allclose(got[:2].sum(-1), 1, rtol=1e-12)
    assert numpy.isfinite(x.grad.asnumpy()).all() and (x.grad.asnumpy()[mask.asnumpy() == 0] == 0).all()
    log = npx.masked_log_softmax(x, mask).asnumpy()
    numpy.testing.assert_allclose(numpy.exp(log), got, atol=1e-12)
    with pytest.raises(ValueError, match=r"a mask of shape \(3,\) does not fit data of shape \(3, 4\)"):
        npx.masked_softmax(x, np.ones((3,)))


def test_ctc_loss() -> None:
    x = drawn(6, 2, 4)
    labels = np.array([[1, 2, 2], [3, 0, 0]])
    x.attach_grad()
    with autograd.record():
        loss = npx.ctc_loss(x, labels)
        (loss * np.array([1.0, 2.0])).sum().backward()
    slope = x.grad.asnumpy()
    for place in [(0, 0, 0), (3, 0, 2), (5, 1, 3), (2, 1, 1)]:
        moved = []
        for by in (1e-5, -1e-5):
            y = x.asnumpy().copy()
            y[place] += by
            moved.append(npx.ctc_loss(np.array(y), labels).asnumpy() @ [1.0, 2.0])
        assert abs((moved[0] - moved[1]) / 2e-5 - slope[place]) < 1e-6
    numpy.testing.assert_allclose(slope.sum(-1), 0, atol=1e-12)
    short = npx.ctc_loss(x, labels, np.array([1, 6]), None, True)
    assert numpy.isinf(short.asnumpy()[0])
    gluon_loss = gluon.loss.CTCLoss(layout="TNC")(x, np.array([[0, 1, 1], [2, -1, -1]]))
    turned = np.concatenate([x[..., 1:], x[..., :1]], -1)
    numpy.testing.assert_allclose(
        gluon.loss.CTCLoss(layout="TNC")(turned, np.array([[0, 1, 1], [2, -1, -1]])).asnumpy(), loss.asnumpy()
    )
    assert gluon_loss.shape == (2,)
    bad = npx.ctc_loss(x, np.array([[1, 2, 9], [3, 0, 0]]))
    with pytest.raises(ValueError, match="label 9 of sequence 0 is not one of 4 classes but the blank"):
        bad.wait_to_read()
    assert numpy.isfinite(npx.ctc_loss(x, labels).asnumpy()).all()


def test_control_flow_and_shapes() -> None:
    outputs, states = npx.foreach(lambda x, s: ([x + s[0], x], [s[0] + 1]), drawn(3, 2), [np.zeros((2,))])
    assert [output.shape for output in outputs] == [(3, 2), (3, 2)] and states[0].tolist() == [3.0, 3.0]
    made, (n,) = npx.while_loop(lambda n: n < 9, lambda n: (n, [n + 1]), [np.array(0.0)], max_iterations=4)
    assert made.tolist() == [0.0, 1.0, 2.0, 3.0] and n.item() == 4
    assert npx.cond(np.array(False), lambda x: x, lambda x: -x, np.array(2.0)).item() == -2
    assert npx.arange_like(np.zeros((2, 3)), start=1, step=2, repeat=2).tolist() == [[1, 1, 3], [3, 5, 5]]
    with pytest.raises(ValueError, match="do not pair up"):
        npx.broadcast_like(np.zeros((1,)), np.zeros((3,)), (0,), ())


def test_what_goes_wrong() -> None:
    q = drawn(2, 4, 3)
    with pytest.raises(ValueError, match=r"query \(2, 4, 3\), key \(2, 5, 2\) and value"):
        npx.scaled_dot_product_attention(q, drawn(2, 5, 2), drawn(2, 5, 2))
    with pytest.raises(ValueError, match=r"a mask of shape \(3,\) does not fit scores of shape \(2, 4, 4\)"):
        npx.scaled_dot_product_attention(q, q, q, np.zeros((3,)))
    with pytest.raises(ValueError, match="do not divide into 3 heads"):
        gluon.nn.MultiHeadAttention(8, 3)
