"""Losses, as functions. ``reduction`` is ``"mean"``, ``"sum"`` or ``"none"``."""

from __future__ import annotations

import math
import warnings
from typing import Any

from forerun import np, npx
from forerun._dialect import losses
from forerun._forerun import ndarray
from forerun.torch._tensor import Tensor
from forerun.torch.nn._activations import cosine_similarity, pairwise_distance

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss",
    "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss", "mse_loss",
    "multi_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "poisson_nll_loss", "smooth_l1_loss",
    "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]  # fmt: skip


def reduction_of(reduction: str, size_average: bool | None, reduce: bool | None) -> str:
    """Return the reduction that PyTorch's old arguments mean."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def _warn_of_broadcast(name: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        message = f"{name}: shapes differ and are broadcast: {tuple(input.shape)} and {tuple(target.shape)}"
        warnings.warn(message, UserWarning, stacklevel=3)


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the mean of the squared differences.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.mse_loss(torch.zeros(2), torch.tensor([1.0, 3.0]))
    tensor(5.)
    """
    _warn_of_broadcast("mse_loss", input, target)
    return losses.squared(input, target, reduction)


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return the mean of the absolute differences.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.l1_loss(torch.zeros(2), torch.tensor([1.0, -3.0]))
    tensor(2.)
    """
    _warn_of_broadcast("l1_loss", input, target)
    return losses.absolute(input, target, reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Return half the squared differences over ``beta`` up to ``beta``, absolute ones less half of ``beta`` beyond it.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.smooth_l1_loss(torch.zeros(2), torch.tensor([1.0, 3.0]))
    tensor(1.5000)
    """
    _warn_of_broadcast("smooth_l1_loss", input, target)
    if beta == 0:
        return losses.absolute(input, target, reduction)
    return losses.reduced(huber_loss(input, target, "none", beta) / beta, reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Return half the squared differences up to ``delta``, linear beyond it.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.huber_loss(torch.zeros(2), torch.tensor([1.0, 3.0]), delta=2.0)
    tensor(2.2500)
    """

    def computed(x: ndarray, y: ndarray) -> ndarray:
        apart = np.abs(x - y)
        return np.where(apart < delta, 0.5 * apart * apart, delta * (apart - 0.5 * delta))

    return losses.reduced(Tensor._run(computed, input, target), reduction)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross-entropy between scores, ``input``, and classes.

    Parameters
    ----------
    input : Tensor
        Scores of shape (rows, classes, ...), or (classes,).
    target : Tensor
        One class index per score vector, of shape (rows, ...), or probabilities of the shape of ``input``. An invalid
        class raises ``IndexError`` when the loss is read.
    weight : Tensor, optional
        One weight per class; a mean is divided by the weights of the targets.
    size_average, reduce : bool, optional
        Old forms of ``reduction``.
    ignore_index : int
        The class of rows to ignore.
    reduction : str
        ``"mean"``, ``"sum"`` or ``"none"``.
    label_smoothing : float
        The share of each target that is spread over all classes.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.cross_entropy(torch.zeros(3, 2), torch.tensor([0, 1, 0]))
    tensor(0.6931)
    """
    if isinstance(weight, str):
        raise TypeError("cross_entropy: weight must be a tensor; the reduction is given by its name")
    reduction = reduction_of(reduction, size_average, reduce)
    if input.ndim < 1:
        raise ValueError(f"cross_entropy: needs scores of shape (rows, classes), got {tuple(input.shape)}")
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"cross_entropy: label_smoothing must be between 0 and 1, got {label_smoothing}")
    chances = target.shape == input.shape and target.is_floating_point()
    scores = input if input.ndim <= 2 else input.movedim(1, -1)
    labels = target.movedim(1, -1) if chances and input.ndim > 2 else target
    if weight is None and not label_smoothing:
        made = losses.cross_entropy(scores, labels, "none" if chances else reduction, chances, ignore_index)
        if chances:
            return _mean_of_rows(made, reduction)
        return made
    log_shares = scores.log_softmax(-1)
    classes = scores.shape[-1]
    if chances:
        smooth = labels * (1 - label_smoothing) + label_smoothing / classes
        weighted = log_shares * smooth if weight is None else log_shares * smooth * weight
        return _mean_of_rows(-weighted.sum(-1), reduction)
    return _smoothed(log_shares, labels, weight, ignore_index, reduction, label_smoothing)


def _mean_of_rows(made: Tensor, reduction: str) -> Tensor:
    return losses.reduced(made, reduction)


def _smoothed(
    log_shares: Tensor, labels: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, smoothing: float
) -> Tensor:
    """Reduce the negative log-probabilities of classes along the last dimension, weighted and smoothed."""
    classes = log_shares.shape[-1]
    kept = np.not_equal(labels._array, ignore_index)
    safe = np.where(kept, labels._array, 0)

    def computed(x: ndarray, w: ndarray | None) -> ndarray:
        own = npx.pick(x, safe, -1, mode="raise")
        share = 1.0 if w is None else np.take(w, safe)
        row = -own * share
        if smoothing:
            spread = -np.sum(x if w is None else x * w, axis=-1)
            row = row * (1 - smoothing) + spread * (smoothing / classes)
        return np.where(kept, row, 0.0).astype(x.dtype)

    made = Tensor._run(computed, log_shares, weight)
    if reduction != "mean":
        return losses.reduced(made, reduction)
    share = kept.astype(log_shares.dtype) if weight is None else np.where(kept, np.take(weight._array, safe), 0.0)
    return made.sum() / Tensor._of(np.sum(share))


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative of the log-probabilities, ``input`` of shape (rows, classes, ...), of the classes.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.nll_loss(torch.tensor([[-1.0, -2.0]]), torch.tensor([1]))
    tensor(2.)
    """
    scores = input if input.ndim <= 2 else input.movedim(1, -1)
    if scores.shape[:-1] != target.shape:
        raise ValueError(f"nll_loss: shapes do not match: {tuple(input.shape)} and {tuple(target.shape)}")
    return _smoothed(scores, target, weight, ignore_index, reduction_of(reduction, size_average, reduce), 0.0)


def _weighted(made: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    return losses.reduced(made if weight is None else made * weight, reduction)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the cross-entropy of probabilities; logarithms are limited to -100.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    if input.shape != target.shape:
        raise ValueError(f"binary_cross_entropy: shapes differ: {tuple(input.shape)} and {tuple(target.shape)}")

    def computed(p: ndarray, y: ndarray) -> ndarray:
        return -(y * np.maximum(np.log(p), -100) + (1 - y) * np.maximum(np.log1p(-p), -100))

    return _weighted(Tensor._run(computed, input, target), weight, reduction_of(reduction, size_average, reduce))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the cross-entropy of the logistic function of scores, without overflow.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.zeros(2), torch.ones(2))
    tensor(0.6931)
    """
    if input.shape != target.shape:
        raise ValueError(
            f"binary_cross_entropy_with_logits: shapes differ: {tuple(input.shape)} and {tuple(target.shape)}"
        )

    def computed(x: ndarray, y: ndarray, positive: ndarray | None) -> ndarray:
        # log(1 + exp(-x)), without overflow.
        tail = np.log1p(np.exp(-np.abs(x))) + np.maximum(-x, 0)
        if positive is None:
            return (1 - y) * x + tail
        return (1 - y) * x + ((positive - 1) * y + 1) * tail

    made = Tensor._run(computed, input, target, pos_weight)
    return _weighted(made, weight, reduction_of(reduction, size_average, reduce))


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return the divergence of log-probabilities, ``input``, from probabilities; ``"batchmean"`` divides by the rows.

    Examples
    --------
    >>> from forerun import torch
    >>> p = torch.tensor([[0.5, 0.5]])
    >>> torch.nn.functional.kl_div(p.log(), p, reduction="batchmean")
    tensor(0.)
    """

    def computed(x: ndarray, y: ndarray) -> ndarray:
        if log_target:
            return np.exp(y) * (y - x)
        safe = np.where(y > 0, y, 1.0)
        return np.where(y > 0, y * (np.log(safe) - x), 0.0).astype(x.dtype)

    made = Tensor._run(computed, input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if reduction == "batchmean":
        return made.sum() / input.shape[0]
    return losses.reduced(made, reduction)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """Return distances where the target is 1, and how much they fall short of the margin where it is -1.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1, -1]), reduction="none")
    tensor([0.5000, 0.7500])
    """
    made = Tensor._run(
        lambda x, y: np.where(np.equal(y, 1), x, 0.0) + np.where(np.equal(y, -1), np.maximum(margin - x, 0), 0.0),
        input,
        target,
    )
    return losses.reduced(made, reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Return ``max(0, -target * (input1 - input2) + margin)``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.margin_ranking_loss(torch.zeros(1), torch.ones(1), torch.ones(1))
    tensor(1.)
    """
    return losses.reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def soft_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Return ``log(1 + exp(-target * input))``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.soft_margin_loss(torch.zeros(1), torch.ones(1))
    tensor(0.6931)
    """

    def computed(x: ndarray, y: ndarray) -> ndarray:
        score = -y * x
        return np.maximum(score, 0) + np.log1p(np.exp(-np.abs(score)))

    return losses.reduced(Tensor._run(computed, input, target), reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Return the mean over classes of the cross-entropy of scores and truth values.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.6931)
    """
    rows = binary_cross_entropy_with_logits(input, target, weight, reduction="none")
    return losses.reduced(rows.mean(-1), reduction)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return how much the scores of other classes come within the margin of the class's score.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.5, 0.0]]), torch.tensor([0]))
    tensor(0.2500)
    """

    def computed(x: ndarray, y: ndarray, w: ndarray | None) -> ndarray:
        own = npx.pick(x, y, -1, keepdims=True, mode="raise")
        short = np.maximum(margin - own + x, 0) ** p
        if w is not None:
            short = short * np.take(w, y)[:, None]
        others = np.not_equal(np.arange(x.shape[-1]), y[:, None])
        return np.sum(np.where(others, short, 0.0), axis=-1) / x.shape[-1]

    return losses.reduced(Tensor._run(computed, input, target, weight), reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """Return one minus the cosine where the target is 1, and how much it exceeds the margin where it is -1.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.tensor([[1.0, 0.0]])
    >>> torch.nn.functional.cosine_embedding_loss(x, x, torch.ones(1))
    tensor(0.)
    """
    cosine = cosine_similarity(input1, input2, -1)
    made = Tensor._run(
        lambda c, y: np.where(np.equal(y, 1), 1 - c, np.maximum(c - margin, 0)).astype(c.dtype), cosine, target
    )
    return losses.reduced(made, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return how much the distance to the negative falls short of that to the positive plus the margin.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.zeros(1, 2)
    >>> torch.nn.functional.triplet_margin_loss(x, x, x)
    tensor(1.)
    """
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return losses.reduced((near - far + margin).clamp_min(0), reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """Return :func:`triplet_margin_loss` with a distance of the program's own.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.zeros(1, 2)
    >>> torch.nn.functional.triplet_margin_with_distance_loss(x, x, x)
    tensor(1.)
    """
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return losses.reduced((near - far + margin).clamp_min(0), reduction)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log-likelihood of counts under Poisson distributions, up to a constant unless ``full``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.poisson_nll_loss(torch.zeros(1), torch.ones(1))
    tensor(1.)
    """

    def computed(x: ndarray, y: ndarray) -> ndarray:
        made = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
        if full:
            safe = np.maximum(y, 1)
            stirling = safe * np.log(safe) - safe + 0.5 * np.log(2 * math.pi * safe)
            made = made + np.where(y > 1, stirling, 0.0)
        return made.astype(x.dtype)

    return losses.reduced(Tensor._run(computed, input, target), reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Return the negative log-likelihood under normal distributions, up to a constant unless ``full``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.functional.gaussian_nll_loss(torch.zeros(1), torch.ones(1), torch.ones(1))
    tensor(0.5000)
    """

    def computed(x: ndarray, y: ndarray, v: Any) -> ndarray:
        # The limit has no gradient.
        spread = v + (np.maximum(v, eps) - v).detach() if isinstance(v, ndarray) else max(v, eps)
        if isinstance(spread, ndarray) and 0 < spread.ndim == x.ndim - 1:
            spread = spread[..., None]
        made = 0.5 * (np.log(spread) + (x - y) ** 2 / spread)
        return made + 0.5 * math.log(2 * math.pi) if full else made

    return losses.reduced(Tensor._run(computed, input, target, var), reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return the negative log-probability of label sequences over all alignments; class 0 is the blank.

    Examples
    --------
    >>> from forerun import torch
    >>> scores = torch.zeros(4, 1, 3).log_softmax(-1)
    >>> loss = torch.nn.functional.ctc_loss(scores, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
    >>> loss.item() > 0
    True
    """
    if blank != 0:
        raise RuntimeError("ctc_loss: the blank must be class 0")
    if targets.dim() != 2:
        raise RuntimeError(f"ctc_loss: needs targets of shape (batch, labels), got {tuple(targets.shape)}")
    steps, labels = Tensor(input_lengths).long(), Tensor(target_lengths).long()
    made = Tensor._run(
        lambda x, y, a, b: npx.ctc_loss(x, y, a, b, use_data_lengths=True, use_label_lengths=True),
        log_probs,
        targets,
        steps,
        labels,
    )
    if zero_infinity:
        made = Tensor._run(lambda x: np.where(np.isfinite(x), x, 0.0), made)
    if reduction == "mean":
        return (made / labels.clamp_min(1)).mean()
    return losses.reduced(made, reduction)
