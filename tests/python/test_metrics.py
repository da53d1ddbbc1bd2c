"""Metrics have the values of their formulas over many batches, lose no precision, and wait only in ``get``."""

from __future__ import annotations

import copy
import importlib
import json
import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import forerun
from forerun import _forerun, autograd, gluon, np, npx
from forerun.gluon import metric

Reference = Callable[[Any, Any], float]
RANDOM = numpy.random.default_rng(0)
BATCHES = (5, 1, 8)


def classes(count: int) -> tuple[list[Any], list[Any]]:
    scores = [RANDOM.random((size, count), "float32") for size in BATCHES]
    return [RANDOM.integers(0, count, size) for size in BATCHES], scores


def numbers(*shape: int) -> tuple[list[Any], list[Any]]:
    return tuple([RANDOM.normal(size=(size, *shape)).astype("float32") for size in BATCHES] for _ in range(2))  # type: ignore[return-value]


def binary(*shape: int) -> tuple[list[Any], list[Any]]:
    labels = [RANDOM.integers(0, 2, (size, *shape)) for size in BATCHES]
    return labels, [RANDOM.random((size, *shape), "float32") for size in BATCHES]


def scores_by_class(label: Any, chosen: Any, beta: float = 1.0) -> Any:
    hits, false, missed = (label & chosen).sum(0), (~label & chosen).sum(0), (label & ~chosen).sum(0)
    return (1 + beta**2) * hits / numpy.maximum((1 + beta**2) * hits + beta**2 * missed + false, 1)


def matthews(label: Any, chosen: Any) -> float:
    return float(numpy.corrcoef(label.ravel(), chosen.ravel())[0, 1])


def picked(label: Any, pred: Any) -> Any:
    return pred.astype("float64")[numpy.arange(len(label)), label]


def softmax(x: Any) -> Any:
    e = numpy.exp(x.astype("float64"))
    return e / e.sum(-1, keepdims=True)


def macro(label: Any, pred: Any) -> float:
    kinds = numpy.arange(4)
    return float(scores_by_class(label[:, None] == kinds, pred.argmax(1)[:, None] == kinds).mean())


def cosine(label: Any, pred: Any) -> float:
    lengths = numpy.linalg.norm(label, axis=1) * numpy.linalg.norm(pred, axis=1)
    return float(((label * pred).sum(1) / lengths).mean())


# A metric, its data and its value over all batches at once.
CASES: list[tuple[metric.EvalMetric, tuple[list[Any], list[Any]], Reference]] = [
    (metric.Accuracy(), classes(3), lambda y, p: (p.argmax(1) == y).mean()),
    (metric.TopKAccuracy(2), classes(5), lambda y, p: (p.argsort(1)[:, -2:] == y[:, None]).any(1).mean()),
    (metric.BinaryAccuracy(threshold=0.3), binary(3), lambda y, p: ((p > 0.3) == y).mean()),
    (metric.F1(), binary(), lambda y, p: scores_by_class(y == 1, p > 0.5)),
    (metric.F1(class_type="multiclass", average="macro"), classes(4), macro),
    (metric.F1(class_type="multiclass"), classes(4), lambda y, p: (p.argmax(1) == y).mean()),
    (
        metric.F1(class_type="multilabel", threshold=0.7, average="macro"),
        binary(3),
        lambda y, p: scores_by_class(y == 1, p > 0.7).mean(),
    ),
    (metric.Fbeta(beta=2), binary(), lambda y, p: scores_by_class(y == 1, p > 0.5, 2.0)),
    (metric.MCC(), binary(), lambda y, p: matthews(y, p > 0.5)),
    (metric.PCC(), classes(2), lambda y, p: matthews(y, p.argmax(1))),
    (metric.MAE(), numbers(3), lambda y, p: numpy.abs(y.astype("float64") - p).mean()),
    (metric.MSE(), numbers(3, 2), lambda y, p: numpy.square(y.astype("float64") - p).mean()),
    (metric.RMSE(), numbers(), lambda y, p: math.sqrt(numpy.square(y.astype("float64") - p).mean())),
    (
        metric.MeanPairwiseDistance(p=3),
        numbers(4),
        lambda y, p: (numpy.abs(y.astype("float64") - p) ** 3).sum(1).__pow__(1 / 3).mean(),
    ),
    (metric.MeanCosineSimilarity(), numbers(4), cosine),
    (metric.PearsonCorrelation(), numbers(3), matthews),
    (metric.CrossEntropy(), classes(3), lambda y, p: -numpy.log(picked(y, p)).mean()),
    (metric.CrossEntropy(from_logits=True), classes(3), lambda y, p: -numpy.log(picked(y, softmax(p))).mean()),
    (
        metric.CrossEntropy(ignore_label=1),
        classes(3),
        lambda y, p: -numpy.log(picked(y, p))[y != 1].mean(),
    ),
    (metric.Perplexity(), classes(3), lambda y, p: math.exp(-numpy.log(picked(y, p)).mean())),
    (metric.Loss(), numbers(), lambda y, p: p.astype("float64").mean()),
    (metric.Torch(), numbers(), lambda y, p: p.astype("float64").mean()),
]


@pytest.mark.parametrize("measure, data, reference", CASES, ids=lambda case: getattr(case, "name", ""))
def test_values_and_waits(measure: metric.EvalMetric, data: tuple[list[Any], list[Any]], reference: Reference) -> None:
    assert math.isnan(measure.get()[1])
    labels, preds = data
    batches = [(np.array(label), np.array(pred)) for label, pred in zip(labels, preds, strict=True)]
    for repeat in range(2):
        with forerun.no_sync("error"):
            measure.reset()
            measure.update(*batches[0])
            # Several arrays at once, and while recording.
            with autograd.record():
                measure.update([label for label, _ in batches[1:]], [pred for _, pred in batches[1:]])
        name, value = measure.get()
        assert name == measure.name and isinstance(value, float)
        expected = float(reference(numpy.concatenate(labels), numpy.concatenate(preds)))
        assert value == pytest.approx(expected, rel=2e-6, abs=1e-7), repeat


def test_no_average_gives_the_score_of_each_class() -> None:
    labels, preds = classes(3)
    measure = metric.F1(class_type="multiclass", average=None)
    with forerun.no_sync("error"):
        for label, pred in zip(labels, preds, strict=True):
            measure.update(np.array(label), np.array(pred))
        _, scores = measure.get()
    label, chosen = numpy.concatenate(labels), numpy.concatenate(preds).argmax(1)
    kinds = numpy.arange(3)
    expected = scores_by_class(label[:, None] == kinds, chosen[:, None] == kinds)
    numpy.testing.assert_allclose(scores.asnumpy(), expected)


def test_predicted_classes_need_no_known_number() -> None:
    measure = metric.PCC()
    with forerun.no_sync("error"):
        measure.update(np.array([0, 1, 2, 9]), np.array([0, 1, 1, 9]))
        measure.update(np.array([0, 1]), np.array([[0.9, 0.1], [0.2, 0.8]]))
    confusion = numpy.zeros((10, 10))
    for label, pred in zip([0, 1, 2, 9, 0, 1], [0, 1, 1, 9, 0, 1], strict=True):
        confusion[label, pred] += 1
    true, chosen, n = confusion.sum(1), confusion.sum(0), confusion.sum()
    covered = numpy.trace(confusion) * n - (true * chosen).sum()
    expected = covered / math.sqrt((n**2 - (true**2).sum()) * (n**2 - (chosen**2).sum()))
    assert measure.get()[1] == pytest.approx(expected)


def test_long_runs_lose_nothing() -> None:
    loss, count = metric.Loss(), metric.Accuracy()
    # In float32, neither adding 1 to 2**24 nor adding 0.1 ten thousand times would be right.
    loss.update(None, np.array([2.0**24]))
    for _ in range(1000):
        loss.update(None, np.array([1.0]))
    assert loss.get()[1] * loss.num_inst == pytest.approx(2.0**24 + 1000, rel=1e-15)
    count.sum_metric = np.array(2.0**24, dtype="float64")
    count.num_inst = 2**24
    count.update(np.array([1, 1]), np.array([1, 0]))
    assert count.get()[1] == (2**24 + 1) / (2**24 + 2)


@pytest.mark.parametrize(
    "measure, label, pred, error",
    [
        (metric.F1(), [2, 0], [0.5, 0.5], ValueError),
        (metric.F1(class_type="multiclass"), [3], [[0.1, 0.2, 0.7]], ValueError),
        (metric.CrossEntropy(), [3], [[0.1, 0.2, 0.7]], IndexError),
        (metric.PCC(), [3], [[0.1, 0.2, 0.7]], IndexError),
    ],
)
def test_a_label_that_is_no_class_raises_in_get(
    measure: metric.EvalMetric, label: list[int], pred: list[Any], error: type[Exception]
) -> None:
    with forerun.no_sync("error"):
        measure.update(np.array(label), np.array(pred))
    with pytest.raises(error):
        measure.get()
    measure.reset()


def test_wrong_shapes_and_names_raise_at_once() -> None:
    with pytest.raises(ValueError, match="shape of labels 2 does not match shape of predictions 3"):
        metric.Accuracy().update(np.ones(2), np.ones(3))
    with pytest.raises(ValueError, match="not those of two classes"):
        metric.F1().update(np.ones(2), np.ones((2, 3)))
    with pytest.raises(ValueError, match="there were 3 classes, and now 2"):
        measure = metric.F1(class_type="multiclass")
        measure.update(np.zeros(1), np.ones((1, 3)))
        measure.update(np.zeros(1), np.ones((1, 2)))
    with pytest.raises(ValueError, match="no metric is named 'acuracy'"):
        metric.create("acuracy")
    with pytest.raises(AssertionError):
        metric.TopKAccuracy(1)


def test_labels_and_predictions_may_be_on_several_devices() -> None:
    for name in ("acc", "f1", "mse", "pearsonr", "pcc"):
        measure, expected = metric.create(name), metric.create(name)
        first, second = np.array([0.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0])
        preds = [np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])]
        with forerun.no_sync("error"):
            measure.update([first, second], [preds[0], preds[1].as_in_ctx(npx.cpu(1))])
        expected.update([first, second], preds)
        assert measure.get() == expected.get()


def test_no_graph_is_kept() -> None:
    x = np.ones((2, 2))
    x.attach_grad()
    measure = metric.MSE()
    with autograd.record():
        measure.update(np.zeros((2, 2)), x * 2)
    assert not _forerun.is_on_tape(measure.sum_metric)


@pytest.mark.parametrize("measure", [measure for measure, _, _ in CASES], ids=lambda measure: measure.name)
def test_configurations_make_equal_metrics(measure: metric.EvalMetric) -> None:
    config = measure.get_config()
    again = metric.create(json.dumps(config))
    assert type(again) is type(measure) and again.get_config() == config
    both = metric.create([measure, "acc"])
    assert metric.create(json.dumps(both.get_config())).get_config() == both.get_config()


def test_composites() -> None:
    both = metric.CompositeEvalMetric([metric.MAE(), "mse"])
    both.add("rmse")
    both.update_dict({"y": np.zeros(2)}, {"p": np.array([1.0, 3.0])})
    assert both.get() == (["mae", "mse", "rmse"], [2.0, 5.0, math.sqrt(5.0)])
    assert dict(both.get_name_value())["mse"] == 5.0
    assert both.get_metric(0).get() == ("mae", 2.0)
    with pytest.raises(ValueError, match="out of range"):
        both.get_metric(3)
    other = copy.deepcopy(both)
    both.reset()
    assert math.isnan(both.get()[1][0]) and other.get()[1][0] == 2.0


def test_named_predictions_are_chosen() -> None:
    measure = metric.MAE(output_names=["p"], label_names=["y"])
    measure.update_dict({"y": np.zeros(2), "z": np.ones(9)}, {"q": np.ones(9), "p": np.ones(2)})
    assert measure.get() == ("mae", 1.0)


def test_functions_are_metrics() -> None:
    def spread(label: Any, pred: Any) -> Any:
        return (numpy.abs(label - pred)).sum(), label.size

    measure = metric.create(spread)
    with forerun.no_sync("error"):
        measure.update(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
        measure.update([np.array([1.0])], [np.array([2.0])])
    assert measure.get() == ("spread", 1.0)
    extra = metric.np(lambda label, pred: float((label - pred).sum().item()), "sum", allow_extra_outputs=True)
    extra.update([np.ones(2)], [np.zeros(2), np.ones(3)])
    assert extra.get() == ("sum", 2.0)
    with pytest.raises(NotImplementedError):
        extra.get_config()


def test_metrics_are_registered() -> None:
    @metric.register
    class Constant(metric.EvalMetric):
        def update(self, labels: Any, preds: Any) -> None:
            self.sum_metric += 1.0
            self.num_inst += 1

    measure = metric.create("constant", name="one")
    measure.update(None, None)
    assert measure.get() == ("one", 1.0) and str(measure) == "EvalMetric: {'one': 1.0}"
    assert gluon.metric is metric and set(metric.__all__) <= set(dir(metric))


def test_the_dialect_has_them() -> None:
    from forerun import mxnet

    mxnet.install()
    try:
        theirs = importlib.import_module("mxnet")
        assert theirs.metric is metric and importlib.import_module("mxnet.metric") is metric
        assert importlib.import_module("mxnet.gluon.metric") is metric
    finally:
        mxnet.uninstall()


def test_the_loss_of_mxnet_1_is_the_cross_entropy() -> None:
    labels, predictions = np.array([0, 2]), np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]])
    for measure in (metric.NegativeLogLikelihood(), metric.create("nll_loss"), metric.create("nll-loss", eps=0.5)):
        measure.update(labels, predictions)
    assert measure.get() == ("nll-loss", pytest.approx((-math.log(0.7) - math.log(0.5)) / 2, rel=1e-6))
    reference = metric.CrossEntropy()
    reference.update(labels, predictions)
    measure = metric.NegativeLogLikelihood()
    measure.update(labels, predictions)
    assert measure.get()[1] == reference.get()[1]
