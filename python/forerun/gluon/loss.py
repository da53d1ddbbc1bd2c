"""Losses: one number per sample, averaged over the elements of the sample.

The constructor takes ``weight``, a factor, and ``batch_axis``, the axis of the samples. A call takes ``sample_weight``:
one factor per sample, or factors that broadcast to the loss of each element.
"""

from __future__ import annotations

import typing as _typing
from typing import Any

from forerun import np, npx
from forerun._forerun import ndarray
from forerun._missing import module_getattr as _module_getattr
from forerun._types import ArrayLike
from forerun.gluon.hybrid import HybridBlock

__all__ = [
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
]


class Loss(HybridBlock):
    """Base class of losses.

    Parameters
    ----------
    weight
        A factor.
    batch_axis
        The axis of the samples.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import gluon
    >>> gluon.loss.L2Loss()
    L2Loss(batch_axis=0, w=1.0)
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        """Write the settings."""
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _finish(self, loss: ndarray, sample_weight: ndarray | None, factor: float = 1.0) -> ndarray:
        """Weight the losses of the elements and average them over each sample."""
        if sample_weight is not None:
            loss = loss * self._laid(sample_weight, loss.shape)
        weight = factor if self._weight is None else self._weight * factor
        if weight != 1.0:
            loss = loss * weight
        axes = tuple(axis for axis in range(loss.ndim) if axis != self._batch_axis % loss.ndim)
        return loss.mean(axes) if axes else loss

    def _laid(self, sample_weight: ArrayLike, shape: tuple[int, ...]) -> ndarray:
        """Reshape sample weights to broadcast along the batch axis of the losses."""
        weights = np.asarray(sample_weight)
        if weights.ndim == 1 and len(shape) > 1 and weights.size == shape[self._batch_axis]:
            along = [1] * len(shape)
            along[self._batch_axis] = weights.size
            return weights.reshape(along)
        fits = weights.ndim == len(shape) and all(w in (1, n) for w, n in zip(weights.shape, shape, strict=True))
        if not fits and weights.ndim:
            raise ValueError(
                f"{type(self).__name__}: sample_weight of shape {weights.shape} does not fit losses of shape {shape}"
                f" with samples along axis {self._batch_axis}"
            )
        return weights


def _like(x: ndarray, y: ndarray) -> ndarray:
    """Give ``x`` the shape of ``y``: labels may lack the dimension of a single output, or have it."""
    return x if x.shape == y.shape else x.reshape(y.shape)


class L2Loss(Loss):
    """Half the mean of ``(label - pred) ** 2``.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.loss.L2Loss()(np.array([[1.0], [3.0]]), np.array([1.0, 1.0]))
    array([0., 2.])
    """

    def __init__(self, weight: float | None = 1.0, batch_axis: int = 0, **arguments: Any) -> None:
        super().__init__(weight, batch_axis, **arguments)

    def forward(self, pred: ndarray, label: ndarray, sample_weight: ndarray | None = None) -> ndarray:
        """Compute the loss."""
        return self._finish(np.square(_like(label, pred) - pred), sample_weight, 0.5)


class L1Loss(Loss):
    """The mean of ``abs(label - pred)``.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.loss.L1Loss()(np.array([[1.0], [3.0]]), np.array([1.0, 1.0]))
    array([0., 2.])
    """

    def forward(self, pred: ndarray, label: ndarray, sample_weight: ndarray | None = None) -> ndarray:
        """Compute the loss."""
        return self._finish(np.abs(_like(label, pred) - pred), sample_weight)


def _logistic(pred: ndarray, label: ndarray, pos_weight: ndarray | None = None) -> ndarray:
    """Cross-entropy of logits and probabilities of one class, without overflow, exact for probabilities of 0 and 1."""
    hit = npx.activation(-pred, act_type="softrelu") * label
    miss = npx.activation(pred, act_type="softrelu") * (1.0 - label)
    return (hit if pos_weight is None else hit * pos_weight) + miss


class SigmoidBinaryCrossEntropyLoss(Loss):
    """The cross-entropy of labels between 0 and 1 and the sigmoid of the predictions.

    Parameters
    ----------
    from_sigmoid
        Whether the predictions are probabilities instead of logits.
    weight, batch_axis, **arguments
        Passed to :class:`Loss`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> loss = gluon.loss.SigmoidBinaryCrossEntropyLoss(from_sigmoid=True)
    >>> loss(np.array([[1.0], [0.0]]), np.array([1.0, 0.0])).shape
    (2,)
    """

    def __init__(
        self, from_sigmoid: bool = False, weight: float | None = None, batch_axis: int = 0, **arguments: Any
    ) -> None:
        super().__init__(weight, batch_axis, **arguments)
        self._from_sigmoid = from_sigmoid

    def forward(
        self,
        pred: ndarray,
        label: ndarray,
        sample_weight: ndarray | None = None,
        pos_weight: ndarray | None = None,
    ) -> ndarray:
        """Compute the loss; ``pos_weight`` multiplies the loss of positive labels."""
        label = _like(label, pred)
        if self._from_sigmoid:
            hit = np.log(pred + 1e-12) * label
            miss = np.log(1.0 - pred + 1e-12) * (1.0 - label)
            loss = -((hit if pos_weight is None else hit * pos_weight) + miss)
        else:
            loss = _logistic(pred, label, pos_weight)
        return self._finish(loss, sample_weight)


class SoftmaxCrossEntropyLoss(Loss):
    """The cross-entropy of labels and the softmax of the predictions.

    Parameters
    ----------
    axis
        The axis of the classes.
    sparse_label
        Whether labels are class indices; otherwise they are probabilities of each class. An invalid class raises
        ``IndexError`` when the loss is read. Float labels are truncated to integers.
    from_logits
        Whether the predictions are log-probabilities.
    weight, batch_axis, **arguments
        Passed to :class:`Loss`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> loss = gluon.loss.SoftmaxCrossEntropyLoss(from_logits=True)
    >>> loss(np.array([[-1.0, -2.0]]), np.array([1]))
    array([2.])
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **arguments: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **arguments)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def forward(self, pred: ndarray, label: ndarray, sample_weight: ndarray | None = None) -> ndarray:
        """Compute the loss."""
        if not self._from_logits:
            pred = npx.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -npx.pick(pred, label, axis=self._axis, mode="raise", keepdims=True)
        else:
            loss = -(pred * _like(label, pred)).sum(self._axis, keepdims=True)
        return self._finish(loss, sample_weight)


class KLDivLoss(Loss):
    """The Kullback-Leibler divergence between label and predicted probabilities.

    Parameters
    ----------
    from_logits
        Whether the predictions are log-probabilities.
    axis
        The axis of the classes.
    weight, batch_axis, **arguments
        Passed to :class:`Loss`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> p = np.array([[0.5, 0.5]])
    >>> gluon.loss.KLDivLoss()(np.log(p), p)
    array([0.])
    """

    def __init__(
        self,
        from_logits: bool = True,
        axis: int = -1,
        weight: float | None = None,
        batch_axis: int = 0,
        **arguments: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **arguments)
        self._from_logits = from_logits
        self._axis = axis

    def forward(self, pred: ndarray, label: ndarray, sample_weight: ndarray | None = None) -> ndarray:
        """Compute the loss."""
        if not self._from_logits:
            pred = npx.log_softmax(pred, axis=self._axis)
        return self._finish(label * (np.log(label + 1e-12) - pred), sample_weight)


class HuberLoss(Loss):
    """The Huber loss: squared differences below ``rho``, absolute differences above.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.loss.HuberLoss(rho=1)(np.array([[1.0], [3.0]]), np.array([0.0, 0.0]))
    array([0.5, 2.5])
    """

    def __init__(self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **arguments: Any) -> None:
        super().__init__(weight, batch_axis, **arguments)
        self._rho = rho

    def forward(self, pred: ndarray, label: ndarray, sample_weight: ndarray | None = None) -> ndarray:
        """Compute the loss."""
        distance = np.abs(_like(label, pred) - pred)
        far = distance > self._rho
        loss = np.where(far, distance - 0.5 * self._rho, (0.5 / self._rho) * np.square(distance))
        return self._finish(loss, sample_weight)


class HingeLoss(Loss):
    """The mean of ``max(0, margin - pred * label)``, for labels -1 and 1.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.loss.HingeLoss()(np.array([[0.5], [2.0]]), np.array([1.0, 1.0]))
    array([0.5, 0. ])
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **arguments: Any) -> None:
        super().__init__(weight, batch_axis, **arguments)
        self._margin = margin

    def forward(self, pred: ndarray, label: ndarray, sample_weight: ndarray | None = None) -> ndarray:
        """Compute the loss."""
        return self._finish(npx.relu(self._margin - pred * _like(label, pred)), sample_weight)


class SquaredHingeLoss(HingeLoss):
    """The mean of ``max(0, margin - pred * label) ** 2``, for labels -1 and 1.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.loss.SquaredHingeLoss()(np.array([[0.5], [2.0]]), np.array([1.0, 1.0]))
    array([0.25, 0.  ])
    """

    def forward(self, pred: ndarray, label: ndarray, sample_weight: ndarray | None = None) -> ndarray:
        """Compute the loss."""
        return self._finish(np.square(npx.relu(self._margin - pred * _like(label, pred))), sample_weight)


class LogisticLoss(Loss):
    """The mean of ``log(1 + exp(-pred * label))``, for labels -1 and 1, or 0 and 1.

    Parameters
    ----------
    weight, batch_axis, **arguments
        Passed to :class:`Loss`.
    label_format
        ``"signed"`` for labels -1 and 1, ``"binary"`` for 0 and 1.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.loss.LogisticLoss()(np.array([[200.0]]), np.array([1.0]))
    array([0.])
    """

    def __init__(
        self,
        weight: float | None = None,
        batch_axis: int = 0,
        label_format: str = "signed",
        **arguments: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **arguments)
        if label_format not in ("signed", "binary"):
            raise ValueError(f"LogisticLoss: label_format is 'signed' or 'binary', not {label_format!r}")
        self._label_format = label_format

    def forward(self, pred: ndarray, label: ndarray, sample_weight: ndarray | None = None) -> ndarray:
        """Compute the loss."""
        label = _like(label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        return self._finish(_logistic(pred, label), sample_weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss
SoftmaxCELoss = SoftmaxCrossEntropyLoss

# A checker of types is to miss what is not there.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
