"""Attention and transformer layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from forerun import np
from forerun.torch._creation import full, zeros
from forerun.torch._shaping import triu
from forerun.torch._tensor import Parameter, Tensor
from forerun.torch.nn import functional as F
from forerun.torch.nn import init
from forerun.torch.nn._containers import ModuleList
from forerun.torch.nn._module import Module
from forerun.torch.nn._norms import LayerNorm
from forerun.torch.nn._simple import Dropout
from forerun.torch.nn._weighted import Linear

__all__ = [
    "MultiheadAttention", "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip


def _additive(mask: Tensor, like: Tensor) -> Tensor:
    """Return a mask that is added to scores. Of truth values, True hides a key."""
    if mask.dtype.name != "bool":
        return mask.to(like.dtype)
    return Tensor._of(np.where(mask._array, -np.inf, 0.0).astype(like.dtype))


class MultiheadAttention(Module):
    """Attention in several heads, with projections of queries, keys, values and outputs.

    Inputs are (steps, batch, width), or (batch, steps, width) with ``batch_first``.

    Examples
    --------
    >>> from forerun import torch
    >>> layer = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = torch.randn(3, 5, 8)
    >>> out, weights = layer(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise AssertionError(f"MultiheadAttention: the width {embed_dim} cannot be divided into {num_heads} heads")
        if add_bias_kv or add_zero_attn:
            raise RuntimeError("MultiheadAttention: add_bias_kv and add_zero_attn are not supported")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        self._same = self.kdim == self.vdim == embed_dim
        if self._same:
            self.in_proj_weight = Parameter(zeros(3 * embed_dim, embed_dim, **place))
            init.xavier_uniform_(self.in_proj_weight)
        else:
            widths = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
            for name, width in widths.items():
                setattr(self, name, Parameter(zeros(embed_dim, width, **place)))
                init.xavier_uniform_(getattr(self, name))
        self.register_parameter("in_proj_bias", Parameter(zeros(3 * embed_dim, **place)) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, **place)
        if bias:
            init.zeros_(self.out_proj.bias)  # type: ignore[arg-type]

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        biases = [None] * 3 if self.in_proj_bias is None else list(self.in_proj_bias.chunk(3))
        if self._same and query is key is value:
            return list(F.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, -1))
        if self._same:
            weights = list(self.in_proj_weight.chunk(3))
        else:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        return [F.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Compute outputs and, with ``need_weights``, the weights of the keys, averaged over the heads.

        Parameters
        ----------
        query, key, value : Tensor
            The inputs.
        key_padding_mask : Tensor, optional
            (batch, keys): True hides a key; floats are added to the scores.
        need_weights : bool
            Whether to return the weights; without them less memory is needed.
        attn_mask : Tensor, optional
            (queries, keys) or (batch * heads, queries, keys): True hides a key; floats are added to the scores.
        average_attn_weights : bool
            Whether the weights are averaged over the heads.
        is_causal : bool
            A hint that ``attn_mask`` is the causal mask.
        """
        whole = query.dim() == 3
        shared = query is key is value
        if not whole:
            query, key, value = (x.unsqueeze(0) for x in (query, key, value))
        elif not self.batch_first:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        if shared:
            key = value = query
        batch, queries, keys = query.shape[0], query.shape[1], key.shape[1]
        heads = [
            x.reshape(batch, x.shape[1], self.num_heads, self.head_dim).transpose(1, 2)
            for x in self._projected(query, key, value)
        ]
        mask: Tensor | None = None
        if attn_mask is not None:
            mask = _additive(attn_mask, query)
            if mask.dim() == 3:
                mask = mask.reshape(batch, self.num_heads, queries, keys)
        if key_padding_mask is not None:
            padding = _additive(key_padding_mask if whole else key_padding_mask.unsqueeze(0), query)
            padding = padding.reshape(batch, 1, 1, keys)
            mask = padding if mask is None else mask + padding
        chance = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = heads[0] @ heads[1].transpose(-2, -1) * self.head_dim**-0.5
            shares = (scores if mask is None else scores + mask).softmax(-1)
            out = F.dropout(shares, chance, self.training) @ heads[2]
            weights = shares.mean(1) if average_attn_weights else shares
            weights = weights if whole else weights.squeeze(0)
        else:
            out = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], mask, chance)
        out = self.out_proj(out.transpose(1, 2).reshape(batch, queries, self.embed_dim))
        if not whole:
            return out.squeeze(0), weights
        return (out if self.batch_first else out.transpose(0, 1)), weights


def _activation(name: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    named: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}
    if callable(name):
        return name
    if name not in named:
        raise RuntimeError(f"activation is 'relu', 'gelu' or a function, not {name!r}")
    return named[name]


class _Feeding(Module):
    """What encoder and decoder layers share: self-attention and two affine maps."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place)
        self._extend(d_model, nhead, dropout, bias, batch_first, place)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first = norm_first
        for number in range(1, self._norms + 1):
            setattr(self, f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for number in range(1, self._norms + 1):
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _activation(activation)

    _norms: int

    def _extend(
        self, d_model: int, nhead: int, dropout: float, bias: bool, batch_first: bool, place: dict[str, Any]
    ) -> None:
        """Add the layers of a subclass."""

    def _fed(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _added(self, x: Tensor, number: int, function: Callable[[Tensor], Tensor]) -> Tensor:
        """Add what a function makes of ``x``, normalised before or after."""
        norm, drop = getattr(self, f"norm{number}"), getattr(self, f"dropout{number}")
        made: Tensor = x + drop(function(norm(x))) if self.norm_first else norm(x + drop(function(x)))
        return made


class TransformerEncoderLayer(_Feeding):
    """Self-attention and two affine maps, each with dropout, a sum and layer normalisation.

    Examples
    --------
    >>> from forerun import torch
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
    >>> layer(torch.randn(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    _norms = 2

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Compute the outputs."""

        def attended(x: Tensor) -> Tensor:
            out: Tensor = self.self_attn(
                x, x, x, key_padding_mask=src_key_padding_mask, need_weights=False, attn_mask=src_mask
            )[0]
            return out

        return self._added(self._added(src, 1, attended), 2, self._fed)


class TransformerDecoderLayer(_Feeding):
    """Self-attention, attention to a memory, and two affine maps.

    Examples
    --------
    >>> from forerun import torch
    >>> layer = torch.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16, batch_first=True)
    >>> layer(torch.randn(3, 5, 8), torch.randn(3, 7, 8)).shape
    torch.Size([3, 5, 8])
    """

    _norms = 3

    def _extend(
        self, d_model: int, nhead: int, dropout: float, bias: bool, batch_first: bool, place: dict[str, Any]
    ) -> None:
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **place)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Compute the outputs."""

        def attended(x: Tensor) -> Tensor:
            out: Tensor = self.self_attn(
                x, x, x, key_padding_mask=tgt_key_padding_mask, need_weights=False, attn_mask=tgt_mask
            )[0]
            return out

        def remembered(x: Tensor) -> Tensor:
            out: Tensor = self.multihead_attn(
                x, memory, memory, key_padding_mask=memory_key_padding_mask, need_weights=False, attn_mask=memory_mask
            )[0]
            return out

        return self._added(self._added(self._added(tgt, 1, attended), 2, remembered), 3, self._fed)


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after another.

    Examples
    --------
    >>> from forerun import torch
    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)
    >>> torch.nn.TransformerEncoder(layer, 2)(torch.randn(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Compute the outputs."""
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after another.

    Examples
    --------
    >>> from forerun import torch
    >>> layer = torch.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
    >>> torch.nn.TransformerDecoder(layer, 2)(torch.randn(5, 3, 8), torch.randn(4, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt: Tensor, memory: Tensor, *args: Any, **options: Any) -> Tensor:
        """Compute the outputs; the masks are those of the layer."""
        for layer in self.layers:
            tgt = layer(tgt, memory, *args, **options)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder.

    Examples
    --------
    >>> from forerun import torch
    >>> net = torch.nn.Transformer(8, 2, 1, 1, 16)
    >>> net(torch.randn(5, 3, 8), torch.randn(4, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device,
            dtype,
        )  # fmt: skip

        def last() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*options), num_encoder_layers, last()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*options), num_decoder_layers, last()
        )
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return the mask that hides later steps: minus infinity above the diagonal, zero elsewhere."""
        return triu(full((sz, sz), -np.inf, device=device, dtype=dtype), 1)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Compute the outputs for the target."""
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        made: Tensor = self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return made
