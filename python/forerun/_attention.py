"""Attention and losses over alignments; part of ``npx``."""

from __future__ import annotations

from forerun import _forerun
from forerun._convert import to_array, truncated
from forerun._forerun import ndarray
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
    return _forerun.scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale)


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
    labels = truncated(label, x.device)
    if labels.ndim != 2:
        raise ValueError(f"ctc_loss: labels must have the axes sequence and label, got shape {labels.shape}")
    steps, batch, classes = x.shape
    if use_data_lengths and data_lengths is not None:
        own = truncated(data_lengths, x.device)
    else:
        own = _forerun.full((batch,), steps, int64, x.device)
    if use_label_lengths and label_lengths is not None:
        count = truncated(label_lengths, x.device)
    else:
        padding = (labels <= 0) if blank_label == "first" else (labels < 0)
        # Labels before the first padding.
        before = 1 - _forerun.routine("cumsum", [padding.astype(int64)], axis=1).astype(bool).astype(int64)
        count = before.sum(1)
    wide = x if x.dtype.name in ("float32", "float64") else x.astype("float32")
    blank = 0 if blank_label == "first" else classes - 1
    made = _forerun.routine("ctc_loss", [wide, labels, own, count], blank=blank)
    return made[:batch].astype(x.dtype, copy=False)
