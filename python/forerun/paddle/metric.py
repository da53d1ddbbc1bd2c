"""Metrics with Paddle's names."""

from __future__ import annotations

from typing import Any

from forerun import np, npx
from forerun._missing import module_getattr
from forerun.paddle._tensor import Tensor

__all__ = ["Accuracy", "accuracy"]


def _hits(scores: Tensor, label: Tensor, k: int) -> Any:
    """Return which rows have their class among the ``k`` best."""
    classes = label._array.reshape(-1)
    best = npx.topk(scores._array.detach(), -1, k, "indices", dtype="int64")
    return np.any(np.equal(best, classes[:, None]), axis=-1)


def accuracy(input: Tensor, label: Tensor, k: int = 1, correct: Any = None, total: Any = None) -> Tensor:
    """Return the share of rows whose class is among the ``k`` best scores.

    Examples
    --------
    >>> from forerun import paddle
    >>> scores = paddle.to_tensor([[0.1, 0.9], [0.8, 0.2]])
    >>> paddle.metric.accuracy(scores, paddle.to_tensor([[1], [1]])).item()
    0.5
    """
    return Tensor._of(np.mean(_hits(input, label, k).astype(np.float32)))


class Accuracy:
    """The share of rows whose class is among the best scores, over batches.

    Examples
    --------
    >>> from forerun import paddle
    >>> metric = paddle.metric.Accuracy()
    >>> scores, label = paddle.to_tensor([[0.1, 0.9], [0.8, 0.2]]), paddle.to_tensor([[1], [1]])
    >>> _ = metric.update(metric.compute(scores, label))
    >>> metric.accumulate()
    0.5
    """

    def __init__(self, topk: tuple[int, ...] = (1,), name: str | None = None) -> None:
        self.topk, self._name = topk, name or "acc"
        self._right: Any = 0.0
        self._count = 0

    def compute(self, pred: Tensor, label: Tensor) -> Tensor:
        """Return which rows are right, one column for each number of best scores."""
        return Tensor._of(np.stack([_hits(pred, label, k) for k in self.topk], axis=-1).astype(np.float32))

    def update(self, correct: Any) -> Any:
        """Count rows; return the share of this batch. Waits."""
        rows = correct.numpy() if isinstance(correct, Tensor) else correct
        self._right = self._right + rows.sum(axis=0)
        self._count += len(rows)
        share = rows.mean(axis=0)
        return float(share[0]) if len(self.topk) == 1 else [float(each) for each in share]

    def accumulate(self) -> Any:
        """Return the share over all batches."""
        import numpy

        shares = numpy.atleast_1d(self._right / max(self._count, 1))
        return float(shares[0]) if len(self.topk) == 1 else [float(each) for each in shares]

    def reset(self) -> None:
        """Start again."""
        self._right, self._count = 0.0, 0

    def name(self) -> Any:
        """Return the name."""
        return self._name


__getattr__ = module_getattr(__name__, globals(), {"Auc": "forerun.gluon.metric has more metrics"})
