"""Metrics of predicted classes. They count in integers, so results are exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from forerun import np, npx
from forerun._forerun import ndarray
from forerun.gluon.metric.base import Arrays, EvalMetric, alias, check_label_shapes, on_device_of, pairs, read, register

__all__ = ["F1", "MCC", "PCC", "Accuracy", "BinaryAccuracy", "Fbeta", "TopKAccuracy"]


def _flat(label: ndarray, pred: ndarray) -> tuple[ndarray, ndarray]:
    """Return labels and predicted classes as vectors of the same length."""
    label, pred = label.reshape(-1).astype("int64"), pred.reshape(-1).astype("int64")
    check_label_shapes(label, pred)
    return label, pred


def _above(pred: ndarray, threshold: Any) -> ndarray:
    """Return where predictions are above the threshold: a number, or one per class."""
    if isinstance(threshold, ndarray):
        if threshold.shape[-1:] != pred.shape[-1:]:
            raise ValueError(f"threshold: shapes differ: {threshold.shape} and predictions {pred.shape}")
        threshold = on_device_of(pred, threshold)
    elif not isinstance(threshold, (int, float)):
        raise ValueError(f"threshold: a number or an array is needed, not {type(threshold).__name__}")
    above: ndarray = pred > threshold
    return above


@alias("acc")
class Accuracy(EvalMetric):
    """The share of samples whose predicted class is the label.

    Parameters
    ----------
    axis
        The axis of the classes. Predictions of the shape of the labels are classes; others are scores of classes.
    name, output_names, label_names
        Passed to :class:`EvalMetric`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.Accuracy()
    >>> metric.update(np.array([0, 1, 1, 1]), np.array([[0.3, 0.7], [0.0, 1.0], [0.4, 0.6], [0.2, 0.8]]))
    >>> metric.get()
    ('accuracy', 0.75)
    """

    def __init__(
        self,
        axis: int = 1,
        name: str = "accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch."""
        for label, pred in pairs(labels, preds):
            label, pred = _flat(label, pred if pred.shape == label.shape else pred.argmax(axis=self.axis))
            self._add((pred == label).sum(), label.size)


@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """The share of samples whose label is among the classes of the ``top_k`` highest scores.

    Parameters
    ----------
    top_k
        How many classes; more than 1.
    name, output_names, label_names
        Passed to :class:`EvalMetric`; ``top_k`` is appended to the name.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.TopKAccuracy(2)
    >>> metric.update(np.array([0, 2]), np.array([[0.2, 0.1, 0.7], [0.5, 0.3, 0.2]]))
    >>> metric.get()
    ('top_k_accuracy_2', 0.5)
    """

    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        if top_k <= 1:
            raise AssertionError("TopKAccuracy: use Accuracy if top_k is 1")
        super().__init__(name, output_names, label_names, top_k=top_k)
        self.top_k = top_k
        self.name += f"_{top_k}"

    def get_config(self) -> dict[str, Any]:
        """Return the options; ``create(**options)`` makes an equal metric."""
        return {**super().get_config(), "name": self.name.removesuffix(f"_{self.top_k}")}

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch: scores in rows, or classes."""
        for label, pred in pairs(labels, preds):
            if pred.ndim > 2:
                raise AssertionError(f"TopKAccuracy: predictions must have at most 2 dimensions, not {pred.shape}")
            if pred.ndim < 2:
                label, pred = _flat(label, pred)
                self._add((pred == label).sum(), label.size)
                continue
            check_label_shapes(label, pred)
            top = npx.topk(pred, k=min(self.top_k, pred.shape[1]), dtype="int64")
            self._add((top == label.reshape(-1, 1).astype("int64")).sum(), len(pred))


class _Counts(EvalMetric):
    """The base of metrics computed from true and false positives and negatives of each class."""

    def __init__(
        self,
        name: str | None = None,
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        self.class_type = options.get("class_type", "binary")
        self.threshold = options.get("threshold", 0.5)
        if self.class_type not in ("binary", "multiclass", "multilabel"):
            raise ValueError(f"class_type must be binary, multiclass or multilabel, not {self.class_type!r}")
        super().__init__(name, output_names, label_names, **options)

    def reset(self) -> None:
        """Forget all batches."""
        super().reset()
        # Numbers of classes, then of true positives, false positives and false negatives by class.
        self._classes: int | None = None
        self._counts: tuple[Any, Any, Any] = (0, 0, 0)

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch; a label that is not a class raises ``ValueError`` in :meth:`get`."""
        for label, pred in pairs(labels, preds):
            true, chosen = self._decide(label, pred)
            check_label_shapes(true, chosen)
            classes = true.shape[1]
            if self._classes not in (None, classes):
                raise ValueError(f"{self.name}: there were {self._classes} classes, and now {classes}")
            self._classes = classes
            hits = (true & chosen).sum(axis=0)
            added = hits, chosen.sum(axis=0) - hits, true.sum(axis=0) - hits
            old = self._counts
            self._counts = (
                old[0] + on_device_of(old[0], added[0]),
                old[1] + on_device_of(old[1], added[1]),
                old[2] + on_device_of(old[2], added[2]),
            )
            self.num_inst += len(true)

    def _decide(self, label: ndarray, pred: ndarray) -> tuple[ndarray, ndarray]:
        """Return booleans for labels and predictions, a row per sample and a column per class."""
        label = label.astype("int64")
        classes = pred.shape[-1] if pred.ndim else 1
        if self.class_type == "multiclass":
            label = _valid(label, classes)
            kinds = np.arange(classes, dtype="int64", device=pred.device)
            return label.reshape(-1, 1) == kinds, pred.argmax(axis=-1).reshape(-1, 1) == kinds
        if self.class_type == "multilabel":
            check_label_shapes(label, pred, shape=True)
            return label.reshape(-1, classes) == 1, _above(pred, self.threshold).reshape(-1, classes)
        if pred.shape != label.shape:
            if classes > 2:
                raise ValueError(f"{self.name}: predictions {pred.shape} are not those of two classes")
            if classes == 2:
                pred = pred.reshape(-1, 2)[:, 1]
        return _valid(label, 2).reshape(-1, 1) == 1, _above(pred, self.threshold).reshape(-1, 1)


def _valid(label: ndarray, classes: int) -> ndarray:
    """Return the labels; reading what is computed from them raises if one is not a class."""
    fits = (label >= 0) & (label < classes)
    return label * npx.constraint_check(fits, f"metric: a label is not one of the {classes} classes")


@register
class F1(_Counts):
    """The harmonic mean of precision and recall: ``2 * tp / (2 * tp + fp + fn)``.

    Here ``tp``, ``fp`` and ``fn`` are the numbers of true positives, false positives and false negatives.

    Parameters
    ----------
    name, output_names, label_names
        Passed to :class:`EvalMetric`.
    class_type
        ``"binary"``: labels are 0 or 1, and predictions are scores, or pairs of scores. ``"multiclass"``: labels are
        classes, and predictions have a score of each class along the last axis. ``"multilabel"``: labels are 0 or 1
        for each class along the last axis, and predictions are scores.
    threshold
        Scores above it are positive; a number, or an array with one per class.
    average
        ``"micro"``: the score of the counts over all classes. ``"macro"``: the mean of the scores of the classes.
        None: an array with the score of each class.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.F1()
    >>> metric.update(np.array([0, 1, 1]), np.array([[0.3, 0.7], [0.0, 1.0], [0.4, 0.6]]))
    >>> metric.get()
    ('f1', 0.8)
    """

    beta: float = 1.0

    def __init__(
        self,
        name: str = "f1",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        class_type: str = "binary",
        threshold: Any = 0.5,
        average: str | None = "micro",
        **options: Any,
    ) -> None:
        if average not in ("micro", "macro", None):
            raise ValueError(f"average must be micro, macro or None, not {average!r}")
        options |= {"class_type": class_type, "threshold": threshold, "average": average}
        self.average = average
        super().__init__(name, output_names, label_names, **options)

    def get(self) -> tuple[Any, Any]:
        """Return the name and the score so far. This waits, except if an array is returned."""
        if self._classes is None:
            return self.name, float("nan")
        hits, false, missed = (count.astype("float64") for count in self._counts)
        if self.average == "micro":
            hits, false, missed = hits.sum(), false.sum(), missed.sum()
        square = self.beta**2
        divisor = (1 + square) * hits + square * missed + false
        scores = (1 + square) * hits / np.where(divisor == 0, 1.0, divisor)
        return self.name, read(scores if self.average is None else scores.mean())


@register
class Fbeta(F1):
    """The weighted harmonic mean of precision and recall.

    This is ``(1 + beta ** 2) * tp / ((1 + beta ** 2) * tp + beta ** 2 * fn + fp)``.

    Parameters
    ----------
    name, output_names, label_names, class_type, threshold, average
        As for :class:`F1`.
    beta
        How much more recall counts than precision.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.Fbeta(beta=2)
    >>> metric.update(np.array([0, 1, 1]), np.array([[0.3, 0.7], [0.0, 1.0], [0.4, 0.6]]))
    >>> round(metric.get()[1], 6)
    0.909091
    """

    def __init__(
        self,
        name: str = "fbeta",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        class_type: str = "binary",
        beta: float = 1,
        threshold: Any = 0.5,
        average: str | None = "micro",
    ) -> None:
        self.beta = beta
        super().__init__(name, output_names, label_names, class_type, threshold, average, beta=beta)


@register
class BinaryAccuracy(EvalMetric):
    """The share of elements whose label, 0 or 1, is predicted: scores above a threshold mean 1.

    Parameters
    ----------
    name, output_names, label_names
        Passed to :class:`EvalMetric`.
    threshold
        The threshold; a number, or an array with one per class.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.BinaryAccuracy(threshold=0.6)
    >>> metric.update(np.array([0.0, 1.0, 0.0, 0.0]), np.array([0.7, 1.0, 0.55, 0.1]))
    >>> metric.get()
    ('binary_accuracy', 0.75)
    """

    def __init__(
        self,
        name: str = "binary_accuracy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        threshold: Any = 0.5,
    ) -> None:
        super().__init__(name, output_names, label_names, threshold=threshold)
        self.threshold = threshold

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch."""
        for label, pred in pairs(labels, preds):
            label, pred = _flat(label, _above(pred, self.threshold))
            self._add((pred == label).sum(), label.size)


@register
class MCC(_Counts):
    """Matthews' correlation coefficient of two classes.

    This is ``(tp * tn - fp * fn) / sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))``, where factors
    of 0 count as 1. Labels and predictions are those of a binary :class:`F1`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.MCC()
    >>> metric.update(np.array([0, 1, 1, 0]), np.array([0.1, 0.9, 0.8, 0.2]))
    >>> metric.get()
    ('mcc', 1.0)
    """

    default_name = "mcc"

    def get(self) -> tuple[Any, Any]:
        """Return the name and the value so far. This waits."""
        if self._classes is None:
            return self.name, float("nan")
        hits, false, missed = (count.item() for count in self._counts)
        rest = self.num_inst - hits - false - missed
        factors = (hits + false, hits + missed, rest + false, rest + missed)
        divisor = math.prod(factor for factor in factors if factor)
        return self.name, (hits * rest - false * missed) / math.sqrt(divisor)


@register
class PCC(EvalMetric):
    """The correlation coefficient of labels and predicted classes, for any number of classes.

    For two classes it equals :class:`MCC`. With ``c`` correct predictions among ``n`` samples, ``t[k]`` labels and
    ``p[k]`` predictions of class ``k``, it is
    ``(c * n - sum(t * p)) / sqrt((n * n - sum(p * p)) * (n * n - sum(t * t)))``.

    Predictions of the shape of the labels are classes; others are scores, with the classes along axis 1. Of predicted
    classes, whose number is known only from their values, batches are kept until :meth:`get`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.PCC()
    >>> metric.update(np.array([0, 1, 2]), np.array([0, 1, 2]))
    >>> metric.get()
    ('pcc', 1.0)
    """

    default_name = "pcc"

    def reset(self) -> None:
        """Forget all batches."""
        super().reset()
        self._samples = 0
        self._correct: Any = 0
        # Labels and predictions by class, in two rows; and batches of which the number of classes is unknown.
        self._counts: Any = None
        self._kept: list[tuple[ndarray, ndarray]] = []

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch; a label that is not a class raises ``IndexError`` in :meth:`get`."""
        for label, pred in pairs(labels, preds):
            if pred.shape == label.shape:
                self._kept.append(_flat(label, pred))
            else:
                self._count(*_flat(label, pred.argmax(axis=1)), pred.shape[1])
        self.num_inst += 1

    def _count(self, label: ndarray, pred: ndarray, classes: int) -> None:
        correct = (label == pred).sum()
        self._correct = self._correct + on_device_of(self._correct, correct)
        self._samples += label.size
        nothing = np.zeros((classes,), dtype="int64", device=pred.device)
        rows = [npx.index_add(nothing, each.reshape(1, -1), np.ones_like(each)) for each in (label, pred)]
        counts = on_device_of(self._counts, np.stack(rows))
        if self._counts is not None:
            wide = max(classes, self._counts.shape[1])
            known, counts = (np.pad(each, ((0, 0), (0, wide - each.shape[1]))) for each in (self._counts, counts))
            counts = known + counts
        self._counts = counts

    def get(self) -> tuple[Any, Any]:
        """Return the name and the value so far. This waits."""
        for label, pred in self._kept:
            self._count(label, pred, int(np.maximum(label.max(), pred.max()).item()) + 1)
        self._kept.clear()
        if not self._samples:
            return self.name, float("nan")
        true, chosen = self._counts.astype("float64")
        whole = float(self._samples) ** 2
        spread = (whole - np.square(chosen).sum()) * (whole - np.square(true).sum())
        spread, covered = spread.item(), (self._correct * float(self._samples) - (true * chosen).sum()).item()
        return self.name, covered / math.sqrt(spread) if spread else float("nan")
