"""Metrics of predicted numbers and vectors. They compute in float64."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from forerun import np
from forerun._forerun import ndarray
from forerun.gluon.metric.base import Arrays, EvalMetric, alias, check_label_shapes, on_device_of, pairs, read, register

__all__ = ["MAE", "MSE", "RMSE", "MeanCosineSimilarity", "MeanPairwiseDistance", "PearsonCorrelation"]


def _rows(label: ndarray, pred: ndarray) -> tuple[ndarray, ndarray]:
    """Return one row per sample, in float64."""
    count = label.shape[0]
    return label.reshape(count, -1).astype("float64"), pred.reshape(count, -1).astype("float64")


@register
class MAE(EvalMetric):
    """The mean of ``abs(label - pred)``.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.MAE()
    >>> metric.update(np.array([2.5, 0.0, 2.0, 8.0]), np.array([3.0, -0.5, 2.0, 7.0]))
    >>> metric.get()
    ('mae', 0.5)
    """

    default_name = "mae"

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch."""
        for label, pred in pairs(labels, preds):
            ours, theirs = _rows(label, pred)
            self._add(np.abs(ours - theirs).mean(axis=1).sum(), label.shape[0])


@register
class MSE(EvalMetric):
    """The mean of ``(label - pred) ** 2``.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.MSE()
    >>> metric.update(np.array([2.5, 0.0, 2.0, 8.0]), np.array([3.0, -0.5, 2.0, 7.0]))
    >>> metric.get()
    ('mse', 0.375)
    """

    default_name = "mse"

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch."""
        for label, pred in pairs(labels, preds):
            ours, theirs = _rows(label, pred)
            self._add(np.square(ours - theirs).mean(axis=1).sum(), label.shape[0])


@register
class RMSE(MSE):
    """The square root of :class:`MSE`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.RMSE()
    >>> metric.update(np.array([1.0, 2.0]), np.array([4.0, 5.0]))
    >>> metric.get()
    ('rmse', 3.0)
    """

    default_name = "rmse"

    def get(self) -> tuple[Any, Any]:
        """Return the name and the value so far. This waits."""
        name, value = super().get()
        return name, math.sqrt(value)


@register
class MeanPairwiseDistance(EvalMetric):
    """The mean p-norm of ``label - pred``, over samples.

    Parameters
    ----------
    name, output_names, label_names
        Passed to :class:`EvalMetric`.
    p
        The order of the norm.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.MeanPairwiseDistance()
    >>> metric.update(np.array([[3.0, 0.0], [4.0, 2.0]]), np.array([[0.0, 4.0], [4.0, 2.0]]))
    >>> metric.get()
    ('mpd', 2.5)
    """

    def __init__(
        self,
        name: str = "mpd",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        p: float = 2,
    ) -> None:
        super().__init__(name, output_names, label_names, p=p)
        self.p = p

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch."""
        for label, pred in pairs(labels, preds):
            ours, theirs = _rows(label, pred)
            self._add(np.linalg.norm(ours - theirs, self.p, axis=1).sum(), label.shape[0])


@register
class MeanCosineSimilarity(EvalMetric):
    """The mean cosine of the angle between label and prediction, which are vectors along the last axis.

    Parameters
    ----------
    name, output_names, label_names
        Passed to :class:`EvalMetric`.
    eps
        The least divisor.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.MeanCosineSimilarity()
    >>> metric.update(np.array([[3.0, 4.0], [2.0, 2.0]]), np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> round(metric.get()[1], 6)
    0.8
    """

    def __init__(
        self,
        name: str = "cos_sim",
        output_names: Sequence[str] | None = None,
        label_names: Sequence[str] | None = None,
        eps: float = 1e-8,
    ) -> None:
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch."""
        for label, pred in pairs(labels, preds):
            width = label.shape[-1]
            ours, theirs = label.reshape(-1, width).astype("float64"), pred.reshape(-1, width).astype("float64")
            lengths = np.sqrt(np.square(ours).sum(axis=1) * np.square(theirs).sum(axis=1))
            self._add(((ours * theirs).sum(axis=1) / np.maximum(lengths, self.eps)).sum(), len(ours))


@alias("pearsonr")
class PearsonCorrelation(EvalMetric):
    """The correlation coefficient of labels and predictions, over all elements of all batches.

    Means, sums of squares and products of each batch are merged with those of the batches before it, which is as
    accurate as two passes over all the data.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> metric = gluon.metric.PearsonCorrelation()
    >>> metric.update(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    >>> metric.get()
    ('pearsonr', 1.0)
    """

    default_name = "pearsonr"

    def reset(self) -> None:
        """Forget all batches."""
        super().reset()
        self._count = 0
        # The means of labels and predictions; sums of squared labels, of squared predictions and of their products,
        # all relative to the means.
        self._moments: tuple[Any, ...] = (0.0,) * 5

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Add a batch."""
        for label, pred in pairs(labels, preds):
            check_label_shapes(label, pred, shape=True)
            x, y = label.reshape(-1).astype("float64"), pred.reshape(-1).astype("float64")
            count, total = x.size, self._count + x.size
            if count == 0:
                continue
            means = x.mean(), y.mean()
            dx, dy = x - means[0], y - means[1]
            sums = np.square(dx).sum(), np.square(dy).sum(), (dx * dy).sum()
            arrived = [on_device_of(self._moments[0], each) for each in (*means, *sums)]
            ex, ey = arrived[0] - self._moments[0], arrived[1] - self._moments[1]
            between = self._count * count / total
            grown = [ex * (count / total), ey * (count / total)]
            grown += [arrived[2] + ex * ex * between, arrived[3] + ey * ey * between, arrived[4] + ex * ey * between]
            self._moments = tuple(old + new for old, new in zip(self._moments, grown, strict=True))
            self._count = total
            self.num_inst += 1

    def get(self) -> tuple[Any, Any]:
        """Return the name and the value so far. This waits."""
        if self._count == 0:
            return self.name, float("nan")
        _, _, xx, yy, xy = self._moments
        return self.name, read(xy / np.sqrt(xx * yy))
