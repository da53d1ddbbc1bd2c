"""One batch of training or validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forerun import autograd
from forerun._forerun import ndarray
from forerun.gluon.utils import split_and_load

if TYPE_CHECKING:
    from forerun.gluon.contrib.estimator.estimator import Estimator

__all__ = ["BatchProcessor"]

# Data, labels, predictions and losses: one array per device.
_Parts = tuple[list[ndarray], list[ndarray], list[ndarray], list[ndarray]]


class BatchProcessor:
    """Computes predictions, losses and gradients of a batch. Nothing waits.

    Subclasses override :meth:`fit_batch` and :meth:`evaluate_batch`, for batches that are not pairs of data and labels
    or for several losses.

    Examples
    --------
    >>> from forerun.gluon.contrib.estimator import BatchProcessor
    >>> class Reversed(BatchProcessor):
    ...     def fit_batch(self, estimator, train_batch, batch_axis=0):
    ...         label, data = train_batch
    ...         return super().fit_batch(estimator, (data, label), batch_axis)
    """

    def _split(self, batch: Any, devices: Any, batch_axis: int) -> tuple[list[ndarray], list[ndarray]]:
        data, label = batch[0], batch[1]
        even = data.shape[batch_axis] % len(devices) == 0
        return (
            split_and_load(data, devices, batch_axis, even_split=even),
            split_and_load(label, devices, batch_axis, even_split=even),
        )

    def evaluate_batch(self, estimator: Estimator, val_batch: Any, batch_axis: int = 0) -> _Parts:
        """Return data, labels, predictions and losses of a batch, in prediction mode."""
        data, label = self._split(val_batch, estimator.device, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        loss = [estimator.val_loss(y_hat, y) for y_hat, y in zip(pred, label, strict=True)]
        return data, label, pred, loss

    def fit_batch(self, estimator: Estimator, train_batch: Any, batch_axis: int = 0) -> _Parts:
        """Return data, labels, predictions and losses of a batch, and compute gradients."""
        data, label = self._split(train_batch, estimator.device, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(y_hat, y) for y_hat, y in zip(pred, label, strict=True)]
        autograd.backward(loss)
        return data, label, pred, loss
