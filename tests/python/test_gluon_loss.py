"""Losses compared with MXNet's formulas, computed with NumPy in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, np
from forerun.gluon import loss

RANDOM = numpy.random.default_rng(6)
PRED = RANDOM.normal(size=(4, 3))
LABEL = RANDOM.normal(size=(4, 3))
SIGNS = numpy.sign(LABEL)
CLASSES = RANDOM.integers(0, 3, size=4)
BITS = (LABEL > 0).astype(float)
SHARES = numpy.exp(LABEL) / numpy.exp(LABEL).sum(1, keepdims=True)
ROWS = 1 / (1 + numpy.exp(-PRED))
COUNTS = RANDOM.poisson(2.0, size=(4, 3)).astype(float)
COUNTS[0] = (0.0, 1.0, 5.0)
LOGS = PRED - numpy.log(numpy.exp(PRED).sum(1, keepdims=True))


def stirling(x: numpy.ndarray) -> numpy.ndarray:
    """Return the approximate logarithms of factorials, 0 for numbers up to 1."""
    large = numpy.maximum(x, 1)
    return (x > 1) * (large * numpy.log(large) - large + numpy.log(2 * numpy.pi * large) / 2)


Formula = Callable[[], Any]
LOSSES: dict[str, tuple[gluon.loss.Loss, numpy.ndarray, numpy.ndarray, Formula]] = {
    "l2": (loss.L2Loss(), PRED, LABEL, lambda: (LABEL - PRED) ** 2 / 2),
    "l1": (loss.L1Loss(), PRED, LABEL, lambda: numpy.abs(LABEL - PRED)),
    "huber": (
        loss.HuberLoss(rho=0.5),
        PRED,
        LABEL,
        lambda: numpy.where(numpy.abs(LABEL - PRED) > 0.5, numpy.abs(LABEL - PRED) - 0.25, (LABEL - PRED) ** 2),
    ),
    "hinge": (loss.HingeLoss(margin=2), PRED, SIGNS, lambda: numpy.maximum(0, 2 - PRED * SIGNS)),
    "squared hinge": (loss.SquaredHingeLoss(), PRED, SIGNS, lambda: numpy.maximum(0, 1 - PRED * SIGNS) ** 2),
    "logistic": (loss.LogisticLoss(), PRED, SIGNS, lambda: numpy.log1p(numpy.exp(-PRED * SIGNS))),
    "logistic, binary": (
        loss.LogisticLoss(label_format="binary"),
        PRED,
        BITS,
        lambda: numpy.log1p(numpy.exp(-PRED * (2 * BITS - 1))),
    ),
    "sigmoid": (
        loss.SigmoidBCELoss(),
        PRED,
        BITS,
        lambda: -(BITS * numpy.log(ROWS) + (1 - BITS) * numpy.log(1 - ROWS)),
    ),
    "sigmoid of probabilities": (
        loss.SigmoidBinaryCrossEntropyLoss(from_sigmoid=True),
        ROWS,
        BITS,
        lambda: -(BITS * numpy.log(ROWS) + (1 - BITS) * numpy.log(1 - ROWS)),
    ),
    "softmax": (loss.SoftmaxCELoss(), PRED, CLASSES, lambda: -LOGS[range(4), CLASSES][:, None]),
    "softmax of logarithms": (
        loss.SoftmaxCrossEntropyLoss(from_logits=True),
        LOGS,
        CLASSES,
        lambda: -LOGS[range(4), CLASSES][:, None],
    ),
    "softmax of shares": (
        loss.SoftmaxCELoss(sparse_label=False),
        PRED,
        SHARES,
        lambda: -(SHARES * LOGS).sum(1, keepdims=True),
    ),
    "kl": (loss.KLDivLoss(), LOGS, SHARES, lambda: SHARES * (numpy.log(SHARES) - LOGS)),
    "kl of logits": (
        loss.KLDivLoss(from_logits=False),
        PRED,
        SHARES,
        lambda: SHARES * (numpy.log(SHARES) - LOGS),
    ),
    "poisson": (loss.PoissonNLLLoss(), PRED, COUNTS, lambda: numpy.exp(PRED) - COUNTS * PRED),
    "poisson, full": (
        loss.PoissonNLLLoss(compute_full=True),
        PRED,
        COUNTS,
        lambda: numpy.exp(PRED) - COUNTS * PRED + stirling(COUNTS),
    ),
    "poisson of means": (
        loss.PoissonNLLLoss(from_logits=False),
        ROWS,
        COUNTS,
        lambda: ROWS - COUNTS * numpy.log(ROWS + 1e-8),
    ),
}


def single(x: numpy.ndarray) -> np.ndarray:
    return np.array(x if x.dtype.kind == "i" else x.astype("float32"))


@pytest.mark.parametrize("name", LOSSES)
def test_values_and_weights(name: str) -> None:
    made, pred, label, formula = LOSSES[name]
    elements = formula()
    found = made(single(pred), single(label))
    assert found.shape == (4,)
    numpy.testing.assert_allclose(found.asnumpy(), elements.mean(1), rtol=1e-5, atol=1e-6)

    factors = numpy.array([[0.0], [1.0], [2.0], [3.0]])
    weighted = made(single(pred), single(label), single(factors))
    numpy.testing.assert_allclose(weighted.asnumpy(), (elements * factors).mean(1), rtol=1e-5, atol=1e-6)

    of_samples = made(single(pred), single(label), single(factors[:, 0]))
    numpy.testing.assert_array_equal(of_samples.asnumpy(), weighted.asnumpy())

    former = made._weight
    made._weight = 3.0
    numpy.testing.assert_allclose(
        made(single(pred), single(label)).asnumpy(), 3 * elements.mean(1), rtol=1e-5, atol=1e-6
    )
    made._weight = former


@pytest.mark.parametrize("name", LOSSES)
def test_gradients(name: str) -> None:
    made, pred, label, _ = LOSSES[name]
    x, y = np.array(pred), np.array(label)
    x.attach_grad()
    with autograd.record():
        total = made(x, y).sum()
    total.backward()
    assert x.grad is not None
    found = x.grad.asnumpy()
    for place in numpy.ndindex(pred.shape):
        step = numpy.zeros(pred.shape)
        step[place] = 1e-6
        up, down = (made(np.array(pred + side * step), y).sum().item() for side in (1, -1))
        numpy.testing.assert_allclose(found[place], (up - down) / 2e-6, rtol=1e-4, atol=1e-6)


def test_shapes_are_aligned_as_the_chapter_needs() -> None:
    y, output = np.ones((5,)), np.full((5, 1), 3.0)
    assert loss.L2Loss()(y, output).tolist() == [2.0] * 5
    assert loss.L2Loss()(output, y).tolist() == [2.0] * 5


def test_batch_axis() -> None:
    found = loss.L1Loss(batch_axis=1)(single(PRED), single(LABEL))
    numpy.testing.assert_allclose(found.asnumpy(), numpy.abs(LABEL - PRED).mean(0), rtol=1e-5)


def test_axis_of_classes() -> None:
    pred = RANDOM.normal(size=(2, 3, 4))
    label = RANDOM.integers(0, 3, size=(2, 4))
    logs = pred - numpy.log(numpy.exp(pred).sum(1, keepdims=True))
    expected = -numpy.take_along_axis(logs, label[:, None], 1).mean((1, 2))
    found = loss.SoftmaxCrossEntropyLoss(axis=1)(single(pred), single(label))
    numpy.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5)


def test_weight_of_positive_labels() -> None:
    positive = numpy.array([1.0, 2.0, 3.0])
    expected = -(positive * BITS * numpy.log(ROWS) + (1 - BITS) * numpy.log(1 - ROWS)).mean(1)
    for made, pred in ((loss.SigmoidBCELoss(), PRED), (loss.SigmoidBCELoss(from_sigmoid=True), ROWS)):
        found = made(single(pred), single(BITS), None, single(positive))
        numpy.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5)


def test_large_logits_stay_finite() -> None:
    pred, label = np.array([[1000.0], [-1000.0]]), np.array([[1.0], [0.0]])
    assert loss.SigmoidBCELoss()(pred, label).tolist() == [0.0, 0.0]
    assert loss.SoftmaxCELoss()(np.array([[1000.0, 0.0]]), np.array([0])).tolist() == [0.0]


@pytest.mark.parametrize("positive", [None, 3.0])
def test_slopes_at_zero(positive: float | None) -> None:
    label = np.array([[0.0, 1.0, 0.25]])
    factor = 1.0 if positive is None else positive
    expected = [0.5, -0.5 * factor, 0.75 * 0.5 - 0.25 * 0.5 * factor]
    pred = np.zeros((1, 3))
    pred.attach_grad()
    with autograd.record():
        weight = None if positive is None else np.full((3,), positive)
        total = loss.SigmoidBCELoss()(pred, label, None, weight) * 3
    total.backward()
    assert pred.grad is not None
    numpy.testing.assert_allclose(pred.grad.asnumpy()[0], expected, rtol=1e-6)
    if positive is None:
        with autograd.record():
            total = loss.LogisticLoss(label_format="binary")(pred, label) * 3
        total.backward()
        numpy.testing.assert_allclose(pred.grad.asnumpy()[0], expected, rtol=1e-6)


def test_weights_of_samples_along_another_axis() -> None:
    factors = numpy.array([1.0, 0.0, 2.0])
    found = loss.L1Loss(batch_axis=-1)(single(PRED), single(LABEL), single(factors))
    numpy.testing.assert_allclose(found.asnumpy(), numpy.abs(LABEL - PRED).mean(0) * factors, rtol=1e-5)


def test_weights_of_elements() -> None:
    factors = numpy.abs(LABEL)
    found = loss.L1Loss()(single(PRED), single(LABEL), single(factors))
    numpy.testing.assert_allclose(found.asnumpy(), (numpy.abs(LABEL - PRED) * factors).mean(1), rtol=1e-5)


@pytest.mark.parametrize("shape", [(3,), (1, 4), (4, 2), (4, 3, 1), (1,)])
def test_weights_that_do_not_fit(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"l2_loss: sample_weight of shape .* does not fit losses of shape \(4, 3\)"):
        loss.L2Loss()(single(PRED), single(LABEL), np.ones(shape))


OTHER = RANDOM.normal(size=(4, 3))
ANSWERS = numpy.array([1.0, -1.0, 1.0, -1.0])


def triplet(x: Any, y: Any, z: Any, margin: float) -> Any:
    return numpy.maximum(0, ((y - x) ** 2 - (z - x) ** 2).sum(1) + margin)


def cosine(x: Any, y: Any, label: Any, margin: float) -> Any:
    c = (x * y).sum(1) / numpy.sqrt((x * x).sum(1) * (y * y).sum(1))
    return numpy.where(label == 1, 1 - c, numpy.clip(c - margin, 0, 1 - margin))


def metric(x: Any, y: Any, smoothing: float) -> Any:
    scores = -((x[:, None] - y[None]) ** 2).sum(2)
    logs = scores - numpy.log(numpy.exp(scores).sum(1, keepdims=True))
    n = len(x)
    labels = numpy.where(numpy.eye(n) == 1, 1 - smoothing, smoothing / (n - 1))
    return (labels * (numpy.log(labels) - logs)).mean(1)


# A loss of several arrays, the arrays, how many of them have gradients, and the formula.
SEVERAL: dict[str, tuple[Any, list[numpy.ndarray], int, Callable[..., Any]]] = {
    "triplet": (loss.TripletLoss(margin=2.5), [PRED, LABEL, OTHER], 3, lambda *x: triplet(*x, 2.5)),
    "cosine": (loss.CosineEmbeddingLoss(), [PRED, LABEL, ANSWERS], 2, lambda *x: cosine(*x, 0)),
    "cosine, margin": (loss.CosineEmbeddingLoss(margin=0.2), [PRED, LABEL, -ANSWERS], 2, lambda *x: cosine(*x, 0.2)),
    "metric": (loss.SDMLLoss(), [PRED, LABEL], 2, lambda *x: metric(*x, 0.3)),
    "metric, sharp": (loss.SDMLLoss(0.1, weight=None), [PRED, LABEL], 2, lambda *x: metric(*x, 0.1)),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_losses_of_several_arrays(name: str) -> None:
    made, arrays, count, formula = SEVERAL[name]
    found = made(*map(np.array, arrays))
    numpy.testing.assert_allclose(found.asnumpy(), formula(*arrays), rtol=1e-9, atol=1e-10)
    if "metric" not in name:
        factors = numpy.array([0.0, 1.0, 2.0, 3.0])
        weighted = made(*map(np.array, arrays), np.array(factors))
        numpy.testing.assert_allclose(weighted.asnumpy(), factors * formula(*arrays), rtol=1e-9, atol=1e-10)
    given = [np.array(array) for array in arrays]
    for array in given[:count]:
        array.attach_grad()
    with autograd.record():
        total = (made(*given) * np.arange(1.0, 5.0)).sum()
    total.backward()
    for number, array in enumerate(given[:count]):
        assert array.grad is not None
        for place in numpy.ndindex(array.shape):
            sides = []
            for side in (1e-6, -1e-6):
                moved = [each.copy() for each in arrays]
                moved[number][place] += side
                sides.append((formula(*moved) * numpy.arange(1.0, 5.0)).sum())
            numpy.testing.assert_allclose(array.grad[place].item(), (sides[0] - sides[1]) / 2e-6, rtol=1e-4, atol=1e-6)


def test_factor_of_a_triplet_loss_and_its_axis() -> None:
    expected = 3 * triplet(PRED, LABEL, OTHER, 1)
    found = loss.TripletLoss(weight=3)(*map(np.array, (PRED, LABEL, OTHER)))
    numpy.testing.assert_allclose(found.asnumpy(), expected)
    found = loss.TripletLoss(weight=3, batch_axis=1)(*(np.array(x.T.copy()) for x in (PRED, LABEL, OTHER)))
    numpy.testing.assert_allclose(found.asnumpy(), expected)


def test_cosine_of_sequences_and_of_zero_vectors() -> None:
    x, y = RANDOM.normal(size=(2, 2, 3)), RANDOM.normal(size=(2, 2, 3))
    found = loss.CosineEmbeddingLoss()(np.array(x), np.array(y), np.array([[1, -1], [1, 1]]))
    expected = cosine(x.reshape(4, 3), y.reshape(4, 3), numpy.array([1, -1, 1, 1]), 0)
    numpy.testing.assert_allclose(found.asnumpy(), expected)
    zero = np.zeros((1, 3))
    zero.attach_grad()
    with autograd.record():
        total = loss.CosineEmbeddingLoss()(zero, np.ones((1, 3)), np.array([1]))
    total.backward()
    assert zero.grad is not None
    assert total.item() == 1.0 and numpy.isfinite(zero.grad.asnumpy()).all()


def test_poisson_epsilon() -> None:
    found = loss.PoissonNLLLoss(from_logits=False)(np.zeros((1, 1)), np.ones((1, 1)), None, 1e-3)
    numpy.testing.assert_allclose(found.asnumpy(), [-numpy.log(1e-3)], rtol=1e-5)


def test_factors_of_alignments() -> None:
    pred, label = np.array(RANDOM.normal(size=(2, 4, 3))), np.array([[0, 1], [1, -1]])
    plain = loss.CTCLoss()(pred, label).asnumpy()
    found = loss.CTCLoss(weight=2.0)(pred, label, None, None, np.array([[1.0], [3.0]]))
    numpy.testing.assert_allclose(found.asnumpy(), plain * [2.0, 6.0])
    turned = loss.CTCLoss("TNC", "TN")(pred.swapaxes(0, 1), label.swapaxes(0, 1))
    numpy.testing.assert_allclose(turned.asnumpy(), plain)


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="HuberLoss: rho must be positive, got 0"):
        loss.HuberLoss(rho=0)
    with pytest.raises(ValueError, match="SDMLLoss: smoothing_parameter must be between 0 and 1, got 2"):
        loss.SDMLLoss(2)
    with pytest.raises(ValueError, match=r"sdml_loss: needs two equal shapes of at least 2 samples, got \(1, 3\)"):
        loss.SDMLLoss()(np.ones((1, 3)), np.ones((1, 3)))
    with pytest.raises(ValueError, match=r"sdml_loss: needs one vector per sample, got shape \(3,\)"):
        loss.SDMLLoss()(np.ones((3,)), np.ones((3,)))
    with pytest.raises(ValueError, match=r"triplet_loss: labels of shape \(4, 2\) do not fit predictions of shape"):
        loss.TripletLoss()(single(PRED), np.ones((4, 2)), single(LABEL))
    with pytest.raises(ValueError, match="label_format is 'signed' or 'binary', not 'mixed'"):
        loss.LogisticLoss(label_format="mixed")
