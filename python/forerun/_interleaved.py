"""The products of attention for queries, keys and values in one array, with MXNet's names; part of ``npx``."""

from __future__ import annotations

import math
from operator import index
from typing import SupportsIndex

from forerun import _forerun
from forerun._convert import to_array, to_arrays
from forerun._forerun import ndarray
from forerun._types import ArrayLike

__all__ = [
    "interleaved_matmul_encdec_qk",
    "interleaved_matmul_encdec_valatt",
    "interleaved_matmul_selfatt_qk",
    "interleaved_matmul_selfatt_valatt",
]


def _heads(op: str, x: ndarray, heads: SupportsIndex, parts: int) -> list[ndarray]:
    """Return the parts of an array of shape (length, batch, heads * parts * width): (batch * heads, length, width)."""
    count = index(heads)
    if x.ndim != 3 or count < 1 or x.shape[2] % (count * parts):
        raise ValueError(f"{op}: an array of shape {x.shape} cannot be divided among {heads} heads of {parts} parts")
    length, batch, size = x.shape
    width = size // (count * parts)
    split = x.reshape(length, batch, count, parts, width).transpose([3, 1, 2, 0, 4])
    return [split[part].reshape(batch * count, length, width) for part in range(parts)]


def _scores(queries: ndarray, keys: ndarray) -> ndarray:
    return _forerun.matmul(queries / math.sqrt(max(queries.shape[-1], 1)), keys.transpose([0, 2, 1]))


def _weighted(op: str, attention: ndarray, values: ndarray, heads: SupportsIndex) -> ndarray:
    """Return sums of values of shape (length, batch, heads * width)."""
    if attention.ndim != 3 or attention.shape[0] != values.shape[0] or attention.shape[2] != values.shape[1]:
        raise ValueError(f"{op}: attention of shape {attention.shape} does not fit values of shape {values.shape}")
    count = index(heads)
    made = _forerun.matmul(attention, values)
    rows, length, width = made.shape
    made = made.reshape(rows // count, count, length, width).transpose([2, 0, 1, 3])
    return made.reshape(length, rows // count, count * width)


def interleaved_matmul_selfatt_qk(queries_keys_values: ArrayLike, heads: SupportsIndex) -> ndarray:
    """Multiply queries by keys for self-attention.

    Parameters
    ----------
    queries_keys_values
        An array of shape (length, batch, heads * 3 * width): for each head queries, keys and values.
    heads
        The number of heads.

    Returns
    -------
    ndarray
        Scores of shape (batch * heads, length, length), divided by the root of the width.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.interleaved_matmul_selfatt_qk(np.ones((5, 2, 4 * 3 * 6)), heads=4).shape
    (8, 5, 5)
    """
    op = "interleaved_matmul_selfatt_qk"
    queries, keys, _ = _heads(op, to_array(queries_keys_values), heads, 3)
    return _scores(queries, keys)


def interleaved_matmul_selfatt_valatt(
    queries_keys_values: ArrayLike, attention: ArrayLike, heads: SupportsIndex
) -> ndarray:
    """Multiply attention by values for self-attention.

    Parameters
    ----------
    queries_keys_values
        An array of shape (length, batch, heads * 3 * width): for each head queries, keys and values.
    attention
        Weights of shape (batch * heads, length, length).
    heads
        The number of heads.

    Returns
    -------
    ndarray
        Sums of shape (length, batch, heads * width).

    Examples
    --------
    >>> from forerun import np, npx
    >>> x = np.ones((5, 2, 4 * 3 * 6))
    >>> npx.interleaved_matmul_selfatt_valatt(x, np.ones((8, 5, 5)), heads=4).shape
    (5, 2, 24)
    """
    op = "interleaved_matmul_selfatt_valatt"
    x, weights = to_arrays(queries_keys_values, attention)
    return _weighted(op, weights, _heads(op, x, heads, 3)[2], heads)


def interleaved_matmul_encdec_qk(queries: ArrayLike, keys_values: ArrayLike, heads: SupportsIndex) -> ndarray:
    """Multiply queries by the keys of another sequence.

    Parameters
    ----------
    queries
        An array of shape (length, batch, heads * width).
    keys_values
        An array of shape (other length, batch, heads * 2 * width): for each head keys and values.
    heads
        The number of heads.

    Returns
    -------
    ndarray
        Scores of shape (batch * heads, length, other length), divided by the root of the width.

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.interleaved_matmul_encdec_qk(np.ones((3, 2, 4 * 6)), np.ones((5, 2, 4 * 2 * 6)), heads=4).shape
    (8, 3, 5)
    """
    op = "interleaved_matmul_encdec_qk"
    x, others = to_arrays(queries, keys_values)
    (asked,), (keys, _) = _heads(op, x, heads, 1), _heads(op, others, heads, 2)
    if asked.shape[0] != keys.shape[0] or asked.shape[2] != keys.shape[2]:
        raise ValueError(f"{op}: queries of shape {x.shape} do not fit keys and values of shape {others.shape}")
    return _scores(asked, keys)


def interleaved_matmul_encdec_valatt(keys_values: ArrayLike, attention: ArrayLike, heads: SupportsIndex) -> ndarray:
    """Multiply attention by the values of another sequence.

    Parameters
    ----------
    keys_values
        An array of shape (other length, batch, heads * 2 * width): for each head keys and values.
    attention
        Weights of shape (batch * heads, length, other length).
    heads
        The number of heads.

    Returns
    -------
    ndarray
        Sums of shape (length, batch, heads * width).

    Examples
    --------
    >>> from forerun import np, npx
    >>> npx.interleaved_matmul_encdec_valatt(np.ones((5, 2, 4 * 2 * 6)), np.ones((8, 3, 5)), heads=4).shape
    (3, 2, 24)
    """
    op = "interleaved_matmul_encdec_valatt"
    others, weights = to_arrays(keys_values, attention)
    return _weighted(op, weights, _heads(op, others, heads, 2)[1], heads)
