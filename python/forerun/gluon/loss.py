"""Losses: one number per sample, averaged over the elements of the sample.

The constructor takes ``weight``, a factor, and ``batch_axis``, the axis of the samples. A call takes ``sample_weight``:
one factor per sample, or factors that broadcast to the loss of each element.
"""

from __future__ import annotations

import typing as _typing
from typing import Any

from forerun import _forerun, npx
from forerun._forerun import ndarray
from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.hybrid import HybridBlock

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
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

    def _compute(
        self, kind: str, pred: ndarray, label: ndarray, sample_weight: ndarray | None, **options: Any
    ) -> ndarray:
        weight = 1.0 if self._weight is None else self._weight
        return _forerun.loss(kind, pred, label, sample_weight, weight, self._batch_axis, **options)


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
        return self._compute("l2", pred, label, sample_weight)


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
        return self._compute("l1", pred, label, sample_weight)


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
        kind = "binary" if self._from_sigmoid else "sigmoid"
        return self._compute(kind, pred, label, sample_weight, pos_weight=pos_weight)


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
        options = {"axis": self._axis, "sparse": self._sparse_label, "from_logits": self._from_logits}
        return self._compute("softmax", pred, label, sample_weight, **options)


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
        options = {"axis": self._axis, "from_logits": self._from_logits}
        return self._compute("divergence", pred, label, sample_weight, **options)


class HuberLoss(Loss):
    """The Huber loss: ``d ** 2 / (2 * rho)`` for distances ``d`` up to ``rho``, ``d - rho / 2`` above.

    Parameters
    ----------
    rho
        The distance between the two.
    weight, batch_axis, **arguments
        Passed to :class:`Loss`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.loss.HuberLoss(rho=1)(np.array([[1.0], [3.0]]), np.array([0.0, 0.0]))
    array([0.5, 2.5])
    """

    def __init__(self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **arguments: Any) -> None:
        super().__init__(weight, batch_axis, **arguments)
        if not rho > 0:
            raise ValueError(f"HuberLoss: rho must be positive, got {rho}")
        self._rho = rho

    def forward(self, pred: ndarray, label: ndarray, sample_weight: ndarray | None = None) -> ndarray:
        """Compute the loss."""
        return self._compute("huber", pred, label, sample_weight, bound=self._rho)


class HingeLoss(Loss):
    """The mean of ``max(0, margin - pred * label)``, for labels -1 and 1.

    Parameters
    ----------
    margin
        The margin.
    weight, batch_axis, **arguments
        Passed to :class:`Loss`.

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
        return self._compute("hinge", pred, label, sample_weight, bound=self._margin)


class SquaredHingeLoss(HingeLoss):
    """The mean of ``max(0, margin - pred * label) ** 2``, for labels -1 and 1.

    Parameters
    ----------
    margin
        The margin.
    weight, batch_axis, **arguments
        Passed to :class:`Loss`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.loss.SquaredHingeLoss()(np.array([[0.5], [2.0]]), np.array([1.0, 1.0]))
    array([0.25, 0.  ])
    """

    def forward(self, pred: ndarray, label: ndarray, sample_weight: ndarray | None = None) -> ndarray:
        """Compute the loss."""
        return self._compute("squared_hinge", pred, label, sample_weight, bound=self._margin)


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
        kind = "logistic" if self._label_format == "signed" else "sigmoid"
        return self._compute(kind, pred, label, sample_weight)


class TripletLoss(Loss):
    """``max(0, margin + |positive - pred| ** 2 - |negative - pred| ** 2)`` of each sample.

    Parameters
    ----------
    margin
        How much nearer the positive sample must be.
    weight, batch_axis, **arguments
        Passed to :class:`Loss`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.loss.TripletLoss()(np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]]), np.array([[1.0, 0.5]]))
    array([1.75])
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **arguments: Any) -> None:
        super().__init__(weight, batch_axis, **arguments)
        self._margin = margin

    def forward(
        self, pred: ndarray, positive: ndarray, negative: ndarray, sample_weight: ndarray | None = None
    ) -> ndarray:
        """Compute the loss from anchors, samples near them and samples away from them."""
        return self._compute("triplet", pred, positive, sample_weight, bound=self._margin, other=negative)


class PoissonNLLLoss(Loss):
    """The negative log-likelihood of counts under Poisson distributions.

    ``exp(pred) - target * pred``, or ``pred - target * log(pred + epsilon)`` without ``from_logits``.

    Parameters
    ----------
    weight
        A factor.
    from_logits
        Whether predictions are logarithms of the means.
    batch_axis
        The axis of the samples.
    compute_full
        Whether to add Stirling's approximation ``target * log(target) - target + log(2 * pi * target) / 2`` where the
        target exceeds 1.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.loss.PoissonNLLLoss()(np.array([[0.0]]), np.array([[3.0]]))
    array([1.])
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **arguments)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def forward(
        self, pred: ndarray, target: ndarray, sample_weight: ndarray | None = None, epsilon: float = 1e-8
    ) -> ndarray:
        """Compute the loss; ``epsilon`` keeps the logarithm of a mean of zero finite."""
        options = {"from_logits": self._from_logits, "full": self._compute_full, "bound": epsilon}
        return self._compute("poisson", pred, target, sample_weight, **options)


class CosineEmbeddingLoss(Loss):
    """``1 - c`` for label 1 and ``max(0, c - margin)`` for label -1, where ``c`` is the cosine of two vectors' angle.

    Vectors lie along the last axis, and all other axes are samples.

    Parameters
    ----------
    weight, batch_axis
        Passed to :class:`Loss`.
    margin
        The cosine up to which vectors count as different.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> x, y = np.array([[2.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> gluon.loss.CosineEmbeddingLoss()(x, y, np.array([1, -1]))
    array([1., 1.])
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, margin: float = 0, **arguments: Any) -> None:
        super().__init__(weight, batch_axis, **arguments)
        self._margin = margin

    def forward(
        self, input1: ndarray, input2: ndarray, label: ndarray, sample_weight: ndarray | None = None
    ) -> ndarray:
        """Compute the loss of pairs of vectors."""
        return self._compute("cosine", input1, label, sample_weight, bound=self._margin, other=input2)


class SDMLLoss(Loss):
    """A loss for pairs of matching vectors, in which the other pairs of the batch are the negative examples.

    The Kullback-Leibler divergence of the softmax of ``-|x1[i] - x2[j]| ** 2`` over ``j`` from a distribution that is
    ``1 - smoothing_parameter`` for ``j = i`` and equal for all others.

    Parameters
    ----------
    smoothing_parameter
        The probability of the other pairs.
    weight, batch_axis, **arguments
        Passed to :class:`Loss`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.loss.SDMLLoss()(np.zeros((4, 3)), np.zeros((4, 3))).shape
    (4,)
    """

    def __init__(
        self, smoothing_parameter: float = 0.3, weight: float | None = 1.0, batch_axis: int = 0, **arguments: Any
    ) -> None:
        super().__init__(weight, batch_axis, **arguments)
        if not 0 <= smoothing_parameter <= 1:
            raise ValueError(f"SDMLLoss: smoothing_parameter must be between 0 and 1, got {smoothing_parameter}")
        self.smoothing_parameter = smoothing_parameter

    def forward(self, x1: ndarray, x2: ndarray) -> ndarray:
        """Compute the loss of each pair."""
        return self._compute("metric", x1, x2, None, bound=self.smoothing_parameter)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss
SoftmaxCELoss = SoftmaxCrossEntropyLoss


class CTCLoss(Loss):
    """The negative log-likelihood of labels under all their alignments with the steps of sequences.

    Labels that are negative are padding; the last class is the blank. See :func:`npx.ctc_loss`.

    Parameters
    ----------
    layout
        The order of the axes of predictions: ``"NTC"`` or ``"TNC"`` (N sequences, T steps, C classes).
    label_layout
        The order of the axes of labels: ``"NT"`` or ``"TN"``.
    weight
        A factor.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import gluon, np
    >>> gluon.loss.CTCLoss()(np.zeros((1, 2, 3)), np.array([[0, 1]]))
    array([2.1972246])
    """

    def __init__(
        self, layout: str = "NTC", label_layout: str = "NT", weight: float | None = None, **arguments: Any
    ) -> None:
        if layout not in ("NTC", "TNC"):
            raise ValueError(f"CTCLoss: layout must be NTC or TNC, not {layout}")
        if label_layout not in ("NT", "TN"):
            raise ValueError(f"CTCLoss: label_layout must be NT or TN, not {label_layout}")
        super().__init__(weight, label_layout.find("N"), **arguments)
        self._layout = layout
        self._label_layout = label_layout

    def forward(
        self,
        pred: ndarray,
        label: ndarray,
        pred_lengths: ndarray | None = None,
        label_lengths: ndarray | None = None,
        sample_weight: ndarray | None = None,
    ) -> ndarray:
        """Compute the loss of each sequence.

        Parameters
        ----------
        pred
            The activations before the softmax.
        label
            The labels.
        pred_lengths, label_lengths
            The numbers of steps and of labels of each sequence.
        sample_weight
            A factor for each sequence.
        """
        made = npx.ctc_loss(
            pred.swapaxes(0, 1) if self._layout == "NTC" else pred,
            label.swapaxes(0, 1) if self._label_layout == "TN" else label,
            pred_lengths,
            label_lengths,
            pred_lengths is not None,
            label_lengths is not None,
            "last",
        )
        if self._weight is not None:
            made = made * self._weight
        return made if sample_weight is None else made * sample_weight.reshape(-1)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
