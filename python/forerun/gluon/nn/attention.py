"""Attention layers."""

from __future__ import annotations

from typing import Any

from forerun import npx
from forerun._forerun import ndarray
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.nn.basic import Dense, Dropout
from forerun.gluon.nn.norms import LayerNorm
from forerun.init import Initializer

__all__ = ["MultiHeadAttention", "TransformerEncoderLayer"]


class MultiHeadAttention(HybridBlock):
    """Attention with several heads: project queries, keys and values, attend in each head, and project the result.

    Inputs have the shape ``(batch, steps, units)``. Each head has ``units // num_heads`` numbers.

    Parameters
    ----------
    units
        The number of inputs and outputs.
    num_heads
        The number of heads; it divides ``units``.
    dropout
        The probability of dropping a weight while training.
    use_bias
        Whether the projections have biases.
    weight_initializer, bias_initializer
        Initialisers of the projections.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.MultiHeadAttention(8, 2)
    >>> layer.initialize()
    >>> x = np.ones((3, 5, 8))
    >>> layer(x, is_causal=True).shape
    (3, 5, 8)
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        dropout: float = 0.0,
        use_bias: bool = True,
        weight_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer = "zeros",
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        if units % num_heads:
            raise ValueError(f"MultiHeadAttention: {units} units do not divide into {num_heads} heads")
        self._units = units
        self._num_heads = num_heads
        self._dropout = dropout

        def projection() -> Dense:
            return Dense(
                units,
                use_bias=use_bias,
                flatten=False,
                weight_initializer=weight_initializer,
                bias_initializer=bias_initializer,
            )

        self.query, self.key, self.value, self.out = projection(), projection(), projection(), projection()

    def forward(
        self,
        query: ndarray,
        key: ndarray | None = None,
        value: ndarray | None = None,
        mask: ndarray | None = None,
        is_causal: bool = False,
    ) -> ndarray:
        """Compute the layer: of one array, attention to itself.

        Parameters
        ----------
        query, key, value
            The inputs; keys are the queries and values are the keys if not given.
        mask
            Truth values or numbers that broadcast to ``(batch, heads, queries, keys)``; see
            :func:`npx.scaled_dot_product_attention`.
        is_causal
            Whether a query sees only the keys up to its own position.
        """
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = (self._heads(layer(x)) for layer, x in ((self.query, query), (self.key, key), (self.value, value)))
        made = npx.scaled_dot_product_attention(q, k, v, mask, self._dropout, is_causal)
        batch, _, steps, _ = made.shape
        output: ndarray = self.out(made.transpose(0, 2, 1, 3).reshape(batch, steps, self._units))
        return output

    def _heads(self, x: ndarray) -> ndarray:
        batch, steps, _ = x.shape
        return x.reshape(batch, steps, self._num_heads, self._units // self._num_heads).transpose(0, 2, 1, 3)

    def __repr__(self) -> str:
        """Write the units and heads."""
        return f"{type(self).__name__}({self._units}, num_heads={self._num_heads})"


class TransformerEncoderLayer(HybridBlock):
    """One layer of a transformer: attention to itself, then two dense layers, each with a residual connection.

    With ``pre_norm``: ``x + attention(norm(x))``, then ``x + dense(norm(x))``; otherwise the sums are normalised.

    Parameters
    ----------
    units
        The number of inputs and outputs.
    hidden_size
        The number of units between the two dense layers.
    num_heads
        The number of heads.
    dropout
        The probability of dropping elements while training.
    activation
        The activation between the dense layers: ``"gelu"`` is that of the error function.
    pre_norm
        Whether inputs are normalised instead of sums.
    layer_norm_eps
        Added to the variance in normalisations.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.TransformerEncoderLayer(8, 16, 2)
    >>> layer.initialize()
    >>> layer(np.ones((3, 5, 8))).shape
    (3, 5, 8)
    """

    def __init__(
        self,
        units: int,
        hidden_size: int,
        num_heads: int,
        dropout: float = 0.0,
        activation: str = "gelu",
        pre_norm: bool = True,
        layer_norm_eps: float = 1e-5,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._activation = "gelu_erf" if activation == "gelu" else activation
        self._pre_norm = pre_norm
        self.attention = MultiHeadAttention(units, num_heads, dropout)
        self.up, self.down = Dense(hidden_size, flatten=False), Dense(units, flatten=False)
        self.norm1, self.norm2 = LayerNorm(epsilon=layer_norm_eps), LayerNorm(epsilon=layer_norm_eps)
        self.dropout = Dropout(dropout)

    def forward(self, x: ndarray, mask: ndarray | None = None, is_causal: bool = False) -> ndarray:
        """Compute the layer; mask and order as for :class:`MultiHeadAttention`."""
        if self._pre_norm:
            x = x + self.dropout(self.attention(self.norm1(x), None, None, mask, is_causal))
            return x + self._dense(self.norm2(x))
        x = self.norm1(x + self.dropout(self.attention(x, None, None, mask, is_causal)))
        output: ndarray = self.norm2(x + self._dense(x))
        return output

    def _dense(self, x: ndarray) -> ndarray:
        output: ndarray = self.dropout(self.down(npx.activation(self.up(x), self._activation)))
        return output
