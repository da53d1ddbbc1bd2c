"""Attention and losses over alignments; part of ``npx``."""

from __future__ import annotations

import math

from forerun import _forerun
from forerun._convert import to_array
from forerun._forerun import ndarray
from forerun._pointwise import where
from forerun._types import ArrayLike

__all__ = ["ctc_loss", "scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    attn_mask: ArrayLike | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> ndarray:
    """Compute ``softmax(scale * query @ key.T + mask) @ value`` over the last two axes.

    The scores are computed in tiles, forward and again backward, so memory grows with the number of queries and of
    keys, not with their product. With dropout while training, with a mask that needs a gradient, and for half floats,
    all scores are in memory. A query that sees no key gives zeros.

    Parameters
    ----------
    query
        The queries, ``(..., queries, width)``.
    key
        The keys, ``(..., keys, width)``.
    value
        The values, ``(..., keys, values)``.
    attn_mask
        Added to the scores, or truth values: False hides a key. It broadcasts to ``(..., queries, keys)``.
    dropout_p
        The probability of dropping a weight while training.
    is_causal
        Whether a query sees only the keys up to its own position.
    scale
        The factor of the scores; ``1 / sqrt(width)`` if not given.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.random.normal(size=(2, 5, 4))
    >>> npx.scaled_dot_product_attention(x, x, x, is_causal=True).shape
    (2, 5, 4)
    """
    name = "scaled_dot_product_attention"
    q, k, v = (to_array(x) for x in (query, key, value))
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ValueError(f"{name}: query {q.shape}, key {k.shape} and value {v.shape} do not fit together")
    if not 0 <= dropout_p < 1:
        raise ValueError(f"{name}: dropout_p must be at least 0 and below 1, got {dropout_p}")
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    lead = _common(name, q.shape[:-2], k.shape[:-2], v.shape[:-2])
    mask = None if attn_mask is None else to_array(attn_mask, None, q.device)
    scores = (*lead, q.shape[-2], k.shape[-2])
    if mask is not None:
        if mask.dtype.name == "bool":
            mask = where(mask, _forerun.full((), 0, q.dtype, q.device), -float("inf"))
        if mask.ndim > len(scores) or any(
            d not in (1, e) for d, e in zip(mask.shape[::-1], scores[::-1], strict=False)
        ):
            raise ValueError(f"{name}: a mask of shape {mask.shape} does not fit scores of shape {scores}")
    drops = dropout_p > 0 and _forerun.is_training()
    learned = mask is not None and _forerun.is_recording() and _forerun.is_on_tape(mask)
    plain = drops or learned or q.dtype.name not in ("float32", "float64") or 0 in scores or v.shape[-1] == 0
    if plain or any(x.dtype != q.dtype for x in (k, v)):
        return _composed(q, k, v, mask, factor, dropout_p if drops else 0.0, is_causal)
    stack = math.prod(lead)
    flat = [_forerun.broadcast_to(x, (*lead, *x.shape[-2:])).reshape(stack, *x.shape[-2:]) for x in (q, k, v)]
    bias = _forerun.full((0,), 0, q.dtype, q.device) if mask is None else _flat_mask(mask.astype(q.dtype), lead, scores)
    made = _forerun.routine("attention", [*flat, bias], scale=float(factor), causal=is_causal)
    return made[: stack * q.shape[-2] * v.shape[-1]].reshape(*lead, q.shape[-2], v.shape[-1])


def _common(name: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that all shapes broadcast to."""
    made: list[int] = []
    for place in range(1, max(map(len, shapes)) + 1):
        extents = {shape[-place] for shape in shapes if len(shape) >= place} - {1}
        if len(extents) > 1:
            raise ValueError(f"{name}: the leading axes {', '.join(map(str, shapes))} do not broadcast")
        made.insert(0, extents.pop() if extents else 1)
    return tuple(made)


def _flat_mask(mask: ndarray, lead: tuple[int, ...], scores: tuple[int, ...]) -> ndarray:
    """Return a mask as a stack of matrices, one for as many matrices of the scores in a row as possible."""
    full = mask.reshape(*(1,) * (len(scores) - mask.ndim), *mask.shape)
    queries, keys = full.shape[-2], scores[-1]
    own = len(lead)
    while own > 0 and full.shape[own - 1] == 1:
        own -= 1
    shape = (*lead[:own], *(1,) * (len(lead) - own), queries, keys)
    return _forerun.broadcast_to(full, shape).reshape(math.prod(lead[:own]), queries, keys)


def _composed(
    q: ndarray, k: ndarray, v: ndarray, mask: ndarray | None, scale: float, dropout: float, causal: bool
) -> ndarray:
    """Compute attention with all scores in memory."""
    scores = _forerun.matmul(q * scale, k.swapaxes(-1, -2))
    if mask is not None:
        scores = scores + mask
    if causal:
        rows, columns = scores.shape[-2:]
        places = [_forerun.arange(0, extent, 1, None, q.device) for extent in (rows, columns)]
        scores = where(places[0].reshape(-1, 1) >= places[1], scores, -float("inf"))
    some = scores.detach().max(-1, keepdims=True) > -float("inf") if scores.size else None
    weights = _forerun.softmax(scores if some is None else where(some, scores, 0), -1)
    if some is not None:
        weights = where(some, weights, 0)
    if dropout:
        weights = _forerun.dropout(weights, dropout, (), True)
    return _forerun.matmul(weights, v)


def ctc_loss(
    data: ArrayLike,
    label: ArrayLike,
    data_lengths: ArrayLike | None = None,
    label_lengths: ArrayLike | None = None,
    use_data_lengths: bool = False,
    use_label_lengths: bool = False,
    blank_label: str = "first",
) -> ndarray:
    """Compute the negative log-likelihood of labels under all their alignments with the steps of sequences.

    Parameters
    ----------
    data
        The activations before the softmax, ``(steps, batch, classes)``.
    label
        The labels, ``(batch, labels)``. With ``blank_label="first"``, class 0 is the blank and labels from the first
        zero or negative one on are padding; with ``"last"`` the last class is the blank and padding is negative.
    data_lengths
        The number of steps of each sequence, with ``use_data_lengths``.
    label_lengths
        The number of labels of each sequence, with ``use_label_lengths``.
    use_data_lengths, use_label_lengths
        Whether to use the lengths.
    blank_label
        Which class is the blank: ``"first"`` or ``"last"``.

    Returns
    -------
    The loss of each sequence; infinity, with a gradient of zero, if no alignment is possible.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.ctc_loss(np.zeros((2, 1, 3)), np.array([[1, 2]]))
    array([2.1972246])
    """
    if blank_label not in ("first", "last"):
        raise ValueError(f"ctc_loss: blank_label must be 'first' or 'last', not '{blank_label}'")
    x = to_array(data)
    if x.ndim != 3:
        raise ValueError(f"ctc_loss: data must have the axes step, sequence and class, got shape {x.shape}")
    int64 = _forerun.int64
    labels = to_array(label, None, x.device).astype(int64, copy=False)
    if labels.ndim != 2:
        raise ValueError(f"ctc_loss: labels must have the axes sequence and label, got shape {labels.shape}")
    steps, batch, classes = x.shape
    if use_data_lengths and data_lengths is not None:
        own = to_array(data_lengths, None, x.device).astype(int64, copy=False)
    else:
        own = _forerun.full((batch,), steps, int64, x.device)
    if use_label_lengths and label_lengths is not None:
        count = to_array(label_lengths, None, x.device).astype(int64, copy=False)
    else:
        padding = (labels <= 0) if blank_label == "first" else (labels < 0)
        # Labels before the first padding.
        before = 1 - _forerun.routine("cumsum", [padding.astype(int64)], axis=1).astype(bool).astype(int64)
        count = before.sum(1)
    wide = x if x.dtype.name in ("float32", "float64") else x.astype("float32")
    blank = 0 if blank_label == "first" else classes - 1
    made = _forerun.routine("ctc_loss", [wide, labels, own, count], blank=blank)
    return made[:batch].astype(x.dtype, copy=False)
