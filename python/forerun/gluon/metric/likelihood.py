"""Metrics of predicted probabilities, and means of losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from forerun import np, npx
from forerun._forerun import ndarray
from forerun.gluon.metric.base import Arrays, EvalMetric, alias, detached, pairs, register

__all__ = ["CrossEntropy", "Loss", "NegativeLogLikelihood", "Perplexity", "Torch"]


@alias("ce")
class CrossEntropy(EvalMetric):
    """The mean of the negative logarithm of the probability of the true class.

    Parameters
    ----------
    eps
        The least probability.
    ignore_label
        A label whose samples are not counted.
    axis
        The axis of the classes.
    from_logits
        Whether the predictions are logits; otherwise they are probabilities.
    name, output_names, label_names
        Passed to :class:`EvalMetric`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.CrossEntropy()
    >>> metric.update(np.array([0, 1]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> metric.get()
    ('cross-entropy', 0.0)
    """

    def __init__(
        self,
        eps: float = 1e-12,
        ignore_label: int | None = None,
        axis: int = -1,
        from_logits: bool = False,
        name: str = "cross-entropy",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        options = {"eps": eps, "ignore_label": ignore_label, "axis": axis, "from_logits": from_logits}
        super().__init__(name, output_names, label_names, **options)
        self.eps = eps
        self.ignore_label = ignore_label
        self.axis = axis
        self.from_logits = from_logits

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch; a label that is not a class raises ``IndexError`` in :meth:`get`."""
        for label, pred in pairs(labels, preds):
            classes = pred.shape[self.axis]
            if label.size * classes != pred.size:
                raise ValueError(f"{self.name}: labels {label.shape} do not fit predictions {pred.shape}")
            rows = np.moveaxis(pred, self.axis, -1).reshape(-1, classes)
            label = label.reshape(-1).astype("int64")
            count: Any = label.size
            counted = None
            if self.ignore_label is not None:
                counted = label != self.ignore_label
                label, count = label * counted, counted.sum()
            logs = self._logs(rows, label)
            self._add(-(logs if counted is None else np.where(counted, logs, 0.0)).sum(), count)

    def _logs(self, rows: ndarray, label: ndarray) -> ndarray:
        """Return the logarithms of the probabilities of the labels, in float64."""
        if self.from_logits:
            rows = npx.log_softmax(rows if rows.dtype == "float64" else rows.astype("float32"))
            return np.maximum(npx.pick(rows, label, mode="raise").astype("float64"), math.log(self.eps))
        return np.log(np.maximum(npx.pick(rows, label, mode="raise").astype("float64"), self.eps))


@alias("nll-loss", "nll_loss")
class NegativeLogLikelihood(CrossEntropy):
    """The same as :class:`CrossEntropy`, under the name of MXNet 1.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.NegativeLogLikelihood()
    >>> metric.update(np.array([0, 1]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> metric.get()
    ('nll-loss', 0.0)
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "nll-loss",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(eps, name=name, output_names=output_names, label_names=label_names)


@register
class Perplexity(CrossEntropy):
    """The exponential of :class:`CrossEntropy`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.Perplexity()
    >>> metric.update(np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    >>> round(metric.get()[1], 6)
    2.0
    """

    def __init__(
        self,
        eps: float = 1e-12,
        ignore_label: int | None = None,
        axis: int = -1,
        from_logits: bool = False,
        name: str = "perplexity",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
    ) -> None:
        super().__init__(eps, ignore_label, axis, from_logits, name, output_names, label_names)

    def get(self) -> tuple[Any, Any]:
        """Return the name and the value so far. This waits."""
        name, value = super().get()
        return name, math.exp(value)


@register
class Loss(EvalMetric):
    """The mean of a loss. Labels are ignored.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.Loss()
    >>> metric.update(None, np.array([1.0, 2.0, 6.0]))
    >>> metric.get()
    ('loss', 3.0)
    """

    default_name = "loss"

    def update(self, labels: Any, preds: Arrays) -> None:
        """Add a batch."""
        for pred in [preds] if isinstance(preds, ndarray) else preds:
            loss = detached(pred)
            self._add(loss.astype("float64").sum(), loss.size)


@register
class Torch(Loss):
    """The same as :class:`Loss`, under another name.

    Examples
    --------
    >>> from forerun import gluon
    >>> gluon.metric.Torch().get()
    ('torch', nan)
    """

    default_name = "torch"
