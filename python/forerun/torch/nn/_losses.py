"""Losses as modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from forerun.torch.nn import functional as F
from forerun.torch.nn._loss_functions import reduction_of
from forerun.torch.nn._module import Module


class Loss(Module):
    """A loss that calls a function of tensors with its options.

    Weights of classes are buffers, so that they move with the module.
    """

    _function: ClassVar[Callable[..., Any]]
    _options: ClassVar[dict[str, Any]] = {}
    _reduction: ClassVar[str] = "mean"

    def __init__(self, *args: Any, size_average: bool | None = None, reduce: bool | None = None, **named: Any) -> None:
        super().__init__()
        options = {**self._options, "reduction": self._reduction}
        names = list(options)
        if len(args) > len(names) or set(named) - set(names):
            raise TypeError(f"{type(self).__name__}: takes {', '.join(names)}")
        given = {**options, **dict(zip(names, args, strict=False)), **named}
        for name, value in given.items():
            if name in ("weight", "pos_weight"):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)
        self.reduction: str = reduction_of(given["reduction"], size_average, reduce)
        if self.reduction not in ("mean", "sum", "none", "batchmean"):
            raise ValueError(f"{type(self).__name__}: reduction is 'mean', 'sum' or 'none', not {self.reduction!r}")

    def forward(self, *inputs: Any) -> Any:
        """Compute the loss."""
        options = {name: getattr(self, name) for name in self._options}
        return type(self)._function(*inputs, reduction=self.reduction, **options)


def _loss(name: str, function: Callable[..., Any], doc: str, **options: Any) -> type[Loss]:
    body = {"__doc__": doc, "__module__": "forerun.torch.nn", "__qualname__": name, "_options": options}
    return type(name, (Loss,), {**body, "_function": staticmethod(function)})


BCELoss = _loss("BCELoss", F.binary_cross_entropy, "The cross-entropy of probabilities and truth values.", weight=None)
BCEWithLogitsLoss = _loss(
    "BCEWithLogitsLoss",
    F.binary_cross_entropy_with_logits,
    "The cross-entropy of the logistic function of scores and truth values.",
    weight=None,
    pos_weight=None,
)
CTCLoss = _loss("CTCLoss", F.ctc_loss, "The loss of label sequences over all alignments.", blank=0, zero_infinity=False)
CosineEmbeddingLoss = _loss(
    "CosineEmbeddingLoss", F.cosine_embedding_loss, "A loss of the cosine of two vectors.", margin=0.0
)
CrossEntropyLoss = _loss(
    "CrossEntropyLoss",
    F.cross_entropy,
    "The cross-entropy between scores and classes; rows of class ``ignore_index`` are ignored.",
    weight=None,
    ignore_index=-100,
    label_smoothing=0.0,
)
GaussianNLLLoss = _loss(
    "GaussianNLLLoss", F.gaussian_nll_loss, "The negative log-likelihood of normal distributions.", full=False, eps=1e-6
)
HingeEmbeddingLoss = _loss("HingeEmbeddingLoss", F.hinge_embedding_loss, "A loss of distances.", margin=1.0)
HuberLoss = _loss("HuberLoss", F.huber_loss, "Squared differences up to ``delta``, linear beyond it.", delta=1.0)
KLDivLoss = _loss("KLDivLoss", F.kl_div, "The divergence of log-probabilities from probabilities.", log_target=False)
L1Loss = _loss("L1Loss", F.l1_loss, "The mean of the absolute differences.")
MSELoss = _loss("MSELoss", F.mse_loss, "The mean of the squared differences.")
MarginRankingLoss = _loss("MarginRankingLoss", F.margin_ranking_loss, "A loss of the order of two scores.", margin=0.0)
MultiLabelSoftMarginLoss = _loss(
    "MultiLabelSoftMarginLoss",
    F.multilabel_soft_margin_loss,
    "The mean cross-entropy of scores and truth values over classes.",
    weight=None,
)
MultiMarginLoss = _loss(
    "MultiMarginLoss", F.multi_margin_loss, "A loss of the margin of the class's score.", p=1, margin=1.0, weight=None
)
NLLLoss = _loss(
    "NLLLoss", F.nll_loss, "The negative of the log-probabilities of the classes.", weight=None, ignore_index=-100
)
PoissonNLLLoss = _loss(
    "PoissonNLLLoss",
    F.poisson_nll_loss,
    "The negative log-likelihood of Poisson distributions.",
    log_input=True,
    full=False,
    eps=1e-8,
)
SmoothL1Loss = _loss(
    "SmoothL1Loss", F.smooth_l1_loss, "Squared differences up to ``beta``, linear beyond it.", beta=1.0
)
SoftMarginLoss = _loss("SoftMarginLoss", F.soft_margin_loss, "``log(1 + exp(-target * input))``.")
TripletMarginLoss = _loss(
    "TripletMarginLoss",
    F.triplet_margin_loss,
    "A loss of the distances to a positive and a negative.",
    margin=1.0,
    p=2.0,
    eps=1e-6,
    swap=False,
)

LAYERS: dict[str, Any] = {
    name: value
    for name, value in globals().items()
    if isinstance(value, type) and issubclass(value, Loss) and value is not Loss
}
