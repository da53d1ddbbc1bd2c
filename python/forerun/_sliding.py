"""Attention within a window that slides along the sequence, with MXNet's names; part of ``npx``."""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import floating, to_array, to_arrays
from forerun._forerun import int64, ndarray
from forerun._pointwise import where
from forerun._types import ArrayLike

__all__ = ["sldwin_atten_context", "sldwin_atten_mask_like", "sldwin_atten_score"]

# Elements of keys or values that are gathered at once: several positions of the window, but never all of a long one.
_MOST_GATHERED = 1 << 22


def _window(op: str, w: SupportsIndex, symmetric: bool) -> int:
    """Return the number of positions of a window."""
    reach = index(w)
    if reach < 0:
        raise ValueError(f"{op}: w must not be negative, got {reach}")
    return 2 * reach + 1 if symmetric else reach + 1


def _dilations(op: str, dilation: ArrayLike, x: ndarray) -> ndarray:
    """Return a step for each head, as int64."""
    steps = to_array(dilation, None, x.device)
    if steps.dtype.kind not in "iu" or steps.shape != (x.shape[2],):
        raise ValueError(
            f"{op}: dilation must be one integer for each of {x.shape[2]} heads, got {steps.dtype} {steps.shape}"
        )
    return steps.astype(int64, copy=False)


def _places(x: ndarray, steps: ndarray, w: SupportsIndex, begin: int, end: int) -> ndarray:
    """Return the places that a query reads: of shape (length, heads, positions of the window)."""
    queries = _forerun.arange(0, x.shape[1], 1, int64, x.device).reshape(x.shape[1], 1, 1)
    moves = _forerun.arange(begin - index(w), end - index(w), 1, int64, x.device)
    return queries + steps.reshape(-1, 1) * moves


def _parts(x: ndarray, width: int) -> list[tuple[int, int]]:
    """Divide the positions of a window so that what is gathered for a part stays small."""
    together = max(1, _MOST_GATHERED // max(1, x.size))
    return [(begin, min(width, begin + together)) for begin in range(0, width, together)]


def _gathered(x: ndarray, places: ndarray) -> tuple[ndarray, ndarray]:
    """Return what the places hold, of shape (batch, length, heads, positions, units), and which are in the sequence."""
    batch, length, heads, units = x.shape
    inside = (places >= 0) & (places < length)
    rows = where(inside, places, 0) * heads + _forerun.arange(0, heads, 1, int64, x.device).reshape(heads, 1)
    got = _forerun.take(x.reshape(batch, length * heads, units), rows.reshape(-1), 1)
    return got.reshape(batch, *places.shape, units), inside


def _sequence(op: str, name: str, x: ndarray) -> ndarray:
    if x.ndim != 4:
        raise ValueError(f"{op}: {name} must have shape (batch, length, heads, units), got {x.shape}")
    return floating(x)


def sldwin_atten_score(
    query: ArrayLike, key: ArrayLike, dilation: ArrayLike, w: SupportsIndex = 256, symmetric: bool = True
) -> ndarray:
    """Multiply every query by the keys of a window around it.

    Position ``j`` of the window of query ``i`` is key ``i + (j - w) * dilation``. The score of a key beyond the
    sequence is 0; hide it by :func:`sldwin_atten_mask_like`. Memory grows with the length of the sequence times that
    of the window.

    Parameters
    ----------
    query, key
        Arrays of shape (batch, length, heads, units).
    dilation
        For each head, the distance between the keys of a window: integers of shape (heads,).
    w
        How many keys the window has on one side of the query.
    symmetric
        Whether the window has keys on both sides, or only up to the query.

    Returns
    -------
    ndarray
        Of shape (batch, length, heads, positions), with ``2 * w + 1`` positions, or ``w + 1``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.arange(1.0, 5.0).reshape(1, 4, 1, 1)
    >>> npx.sldwin_atten_score(np.ones((1, 4, 1, 1)), x, np.array([1]), w=1).reshape(4, 3)
    array([[0., 1., 2.],
           [1., 2., 3.],
           [2., 3., 4.],
           [3., 4., 0.]])
    """
    op = "sldwin_atten_score"
    queries, keys = to_arrays(query, key)
    queries, keys = _sequence(op, "query", queries), _sequence(op, "key", keys)
    if queries.shape != keys.shape:
        raise ValueError(f"{op}: query of shape {queries.shape} does not fit key of shape {keys.shape}")
    steps, width = _dilations(op, dilation, keys), _window(op, w, symmetric)
    batch, length, heads, units = queries.shape
    wide = queries.reshape(batch, length, heads, 1, units)
    made = []
    for begin, end in _parts(keys, width):
        got, inside = _gathered(keys, _places(keys, steps, w, begin, end))
        made.append(where(inside, (wide * got).sum(-1), 0))
    return made[0] if len(made) == 1 else _forerun.concatenate(made, 3)


def sldwin_atten_context(
    score: ArrayLike, value: ArrayLike, dilation: ArrayLike, w: SupportsIndex = 256, symmetric: bool = True
) -> ndarray:
    """Add up the values of every window, multiplied by their scores.

    Parameters
    ----------
    score
        An array of shape (batch, length, heads, positions), as from :func:`sldwin_atten_score`. Scores of positions
        beyond the sequence do not count.
    value
        An array of shape (batch, length, heads, units).
    dilation, w, symmetric
        As for :func:`sldwin_atten_score`.

    Returns
    -------
    ndarray
        Of the shape of ``value``.

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.arange(1.0, 5.0).reshape(1, 4, 1, 1)
    >>> npx.sldwin_atten_context(np.ones((1, 4, 1, 2)), x, np.array([2]), w=1, symmetric=False).reshape(4)
    array([1., 2., 4., 6.])
    """
    op = "sldwin_atten_context"
    scores, values = to_arrays(score, value)
    scores, values = floating(scores), _sequence(op, "value", values)
    steps, width = _dilations(op, dilation, values), _window(op, w, symmetric)
    if scores.shape != (*values.shape[:3], width):
        wanted = (*values.shape[:3], width)
        raise ValueError(f"{op}: score must have shape {wanted} for value {values.shape}, got {scores.shape}")
    made = None
    for begin, end in _parts(values, width):
        got, inside = _gathered(values, _places(values, steps, w, begin, end))
        shares = where(inside, scores[..., begin:end], 0)
        part = (shares.reshape(*shares.shape, 1) * got).sum(-2)
        made = part if made is None else made + part
    assert made is not None, "a window has a position"
    return made


def sldwin_atten_mask_like(
    score: ArrayLike, dilation: ArrayLike, valid_length: ArrayLike, w: SupportsIndex = 256, symmetric: bool = True
) -> ndarray:
    """Return 1 where a query and a key of its window are within the sequence, and 0 elsewhere.

    Parameters
    ----------
    score
        An array of shape (batch, length, heads, positions), of which only shape and dtype count.
    dilation, w, symmetric
        As for :func:`sldwin_atten_score`.
    valid_length
        The length of each sequence: integers of shape (batch,).

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.sldwin_atten_mask_like(np.ones((1, 4, 1, 3)), np.array([1]), np.array([3]), w=1).reshape(4, 3)
    array([[0., 1., 1.],
           [1., 1., 1.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """
    op = "sldwin_atten_mask_like"
    scores = _sequence(op, "score", to_array(score))
    steps, width = _dilations(op, dilation, scores), _window(op, w, symmetric)
    lengths = to_array(valid_length, None, scores.device)
    if scores.shape[3] != width:
        raise ValueError(f"{op}: score of shape {scores.shape} does not fit windows of {width} positions")
    if lengths.shape != scores.shape[:1]:
        raise ValueError(f"{op}: valid_length must have shape {scores.shape[:1]}, got {lengths.shape}")
    ends = lengths.astype(int64, copy=False).reshape(-1, 1, 1, 1)
    places = _places(scores, steps, w, 0, width)
    queries = _forerun.arange(0, scores.shape[1], 1, int64, scores.device).reshape(-1, 1, 1)
    seen = (places >= 0) & (places < ends) & (queries < ends)
    return seen.astype(scores.dtype)
