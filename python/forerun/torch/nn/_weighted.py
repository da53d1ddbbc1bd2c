"""Layers with parameters: affine maps, embeddings and convolutions."""

from __future__ import annotations

import math
from typing import Any

from forerun import _forerun, np
from forerun.torch._creation import zeros
from forerun.torch._tensor import Parameter, Tensor
from forerun.torch.nn import functional as F
from forerun.torch.nn._module import Module
from forerun.torch.nn._windows import each

__all__ = [
    "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "Embedding",
    "EmbeddingBag", "Linear",
]  # fmt: skip


def drawn(bound: float, *shape: int, device: Any = None, dtype: Any = None) -> Parameter:
    """Make a parameter from the uniform distribution over ``[-bound, bound]``."""
    made = Parameter(zeros(*shape, device=device, dtype=dtype))
    if made.numel():
        _forerun.initialize("parameter", made._array, "uniform", bound)
    return made


class Linear(Module):
    """An affine function of the last dimension.

    Parameters
    ----------
    in_features, out_features : int
        Extents of the last dimension before and after.
    bias : bool
        Whether to add a bias.

    Examples
    --------
    >>> from forerun import torch
    >>> layer = torch.nn.Linear(3, 2)
    >>> layer(torch.ones(4, 3)).shape, layer.weight.shape
    (torch.Size([4, 2]), torch.Size([2, 3]))
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(zeros(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter("bias", Parameter(zeros(out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        _forerun.initialize("weight", self.weight._array, "xavier", 1.0, factor_type="in")
        if self.bias is not None:
            _forerun.initialize(
                "bias", self.bias._array, "uniform", self.in_features**-0.5 if self.in_features else 0.0
            )

    def forward(self, input: Tensor) -> Tensor:
        """Multiply by the transposed weight and add the bias."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the extents."""
        has_bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={has_bias}"


class Bilinear(Module):
    """A bilinear function of two inputs: ``x1.T @ weight[k] @ x2 + bias[k]``.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 3)).shape
    torch.Size([5, 4])
    """

    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        bound = in1_features**-0.5
        self.weight = drawn(bound, out_features, in1_features, in2_features, device=device, dtype=dtype)
        self.register_parameter("bias", drawn(bound, out_features, device=device, dtype=dtype) if bias else None)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Compute the function."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the extents."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class _Rows(Module):
    def __init__(self, count: int, width: int, padding_idx: int | None, weight: Any, device: Any, dtype: Any) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = count, width
        if padding_idx is not None and not -count <= padding_idx < count:
            raise AssertionError(f"{type(self).__name__}: padding_idx {padding_idx} is not below {count}")
        self.padding_idx = None if padding_idx is None else padding_idx % count
        if weight is not None:
            if tuple(weight.shape) != (count, width):
                raise AssertionError(f"{type(self).__name__}: the weight must have shape {(count, width)}")
            self.weight = weight if isinstance(weight, Parameter) else Parameter(weight)
            return
        rows = np.random.normal(size=(count, width), dtype=dtype)
        if self.padding_idx is not None:
            rows[self.padding_idx] = 0
        self.weight = Parameter(Tensor._of(rows).to(device=device))

    def extra_repr(self) -> str:
        """Return the extents."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class Embedding(_Rows):
    """One trained row per index.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        The number of rows, and their extent.
    padding_idx : int, optional
        A row that starts at zero and is not trained.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Embedding(10, 3)(torch.tensor([[1, 2], [3, 4]])).shape
    torch.Size([2, 2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, _weight, device, dtype)
        if max_norm is not None or scale_grad_by_freq:
            raise RuntimeError("Embedding: max_norm and scale_grad_by_freq are not supported")
        if _freeze:
            self.weight.requires_grad_(False)

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None, **options: Any
    ) -> Embedding:
        """Make a layer from given rows."""
        count, width = embeddings.shape
        return cls(count, width, padding_idx, _weight=embeddings, _freeze=freeze, **options)

    def forward(self, input: Tensor) -> Tensor:
        """Take the rows."""
        return F.embedding(input, self.weight, self.padding_idx)


class EmbeddingBag(_Rows):
    """The mean, sum or maximum of the rows of each bag of indices.

    Examples
    --------
    >>> from forerun import torch
    >>> bags = torch.nn.EmbeddingBag(10, 3, mode="sum")
    >>> bags(torch.tensor([1, 2, 4]), torch.tensor([0, 2])).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_embeddings, embedding_dim, padding_idx, _weight, device, dtype)
        if max_norm is not None or scale_grad_by_freq:
            raise RuntimeError("EmbeddingBag: max_norm and scale_grad_by_freq are not supported")
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None) -> Tensor:
        """Reduce the rows of the bags."""
        starts = offsets[:-1] if offsets is not None and self.include_last_offset else offsets
        return F.embedding_bag(input, self.weight, starts, mode=self.mode, padding_idx=self.padding_idx)


class _Convolution(Module):
    _rank: int
    _transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        output_padding: Any = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name, rank = type(self).__name__, self._rank
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{name}: {in_channels} and {out_channels} channels cannot be divided into {groups} groups"
            )
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(f"{name}: padding_mode is 'zeros', 'reflect', 'replicate' or 'circular'")
        if self._transposed and padding_mode != "zeros":
            raise ValueError(f"{name}: only padding_mode='zeros' is supported")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"{name}: padding is a number, 'same' or 'valid', not {padding!r}")
        self.in_channels, self.out_channels, self.groups, self.padding_mode = (
            in_channels,
            out_channels,
            groups,
            padding_mode,
        )
        self.kernel_size, self.stride = each(kernel_size, rank, name), each(stride, rank, name)
        self.padding = padding if isinstance(padding, str) else each(padding, rank, name)
        self.dilation, self.output_padding = each(dilation, rank, name), each(output_padding, rank, name)
        shape = (in_channels, out_channels // groups) if self._transposed else (out_channels, in_channels // groups)
        bound = (shape[1] * math.prod(self.kernel_size)) ** -0.5 if shape[1] else 0.0
        self.weight = drawn(bound, *shape, *self.kernel_size, device=device, dtype=dtype)
        self.register_parameter("bias", drawn(bound, out_channels, device=device, dtype=dtype) if bias else None)

    def extra_repr(self) -> str:
        """Return the extents and options."""
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding not in ((0,) * self._rank, "valid"):
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * self._rank:
            parts.append(f"dilation={self.dilation}")
        if any(self.output_padding):
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)

    def forward(self, input: Tensor) -> Tensor:
        """Convolve, and add the bias."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            sides: list[int] = []
            for axis in range(self._rank - 1, -1, -1):
                if padding == "same":
                    total = self.dilation[axis] * (self.kernel_size[axis] - 1)
                    sides += [total // 2, total - total // 2]
                else:
                    sides += [0, 0] if padding == "valid" else [padding[axis]] * 2
            input, padding = F.pad(input, sides, self.padding_mode), 0
        function = (F.conv1d, F.conv2d, F.conv3d)[self._rank - 1]
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Convolution):
    """A convolution of sequences, (batch, channels, length).

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Conv1d(2, 4, 3, padding="same")(torch.ones(1, 2, 5)).shape
    torch.Size([1, 4, 5])
    """

    _rank = 1


class Conv2d(_Convolution):
    """A convolution of images, (batch, channels, height, width).

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Conv2d(3, 4, 3, stride=2, padding=1)(torch.ones(1, 3, 8, 8)).shape
    torch.Size([1, 4, 4, 4])
    """

    _rank = 2


class Conv3d(_Convolution):
    """A convolution of volumes, (batch, channels, depth, height, width).

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Conv3d(1, 2, 3)(torch.ones(1, 1, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    _rank = 3


class _TransposedConvolution(_Convolution):
    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
            output_padding, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """Compute the transposed convolution; ``output_size`` chooses the extents of the result."""
        function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self._rank - 1]
        adjust = self.output_padding
        if output_size is not None:
            held, wanted = tuple(input.shape)[-self._rank :], tuple(output_size)[-self._rank :]
            assert not isinstance(self.padding, str), "checked when the layer is made"
            least = [
                (h - 1) * s - 2 * p + d * (k - 1) + 1
                for h, s, p, d, k in zip(held, self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
            ]
            adjust = tuple(w - most for w, most in zip(wanted, least, strict=True))
        return function(input, self.weight, self.bias, self.stride, self.padding, adjust, self.groups, self.dilation)


class ConvTranspose1d(_TransposedConvolution):
    """A transposed convolution of sequences.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.ConvTranspose1d(2, 4, 2, stride=2)(torch.ones(1, 2, 5)).shape
    torch.Size([1, 4, 10])
    """

    _rank = 1


class ConvTranspose2d(_TransposedConvolution):
    """A transposed convolution of images.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.ConvTranspose2d(3, 4, 2, stride=2)(torch.ones(1, 3, 4, 4)).shape
    torch.Size([1, 4, 8, 8])
    """

    _rank = 2


class ConvTranspose3d(_TransposedConvolution):
    """A transposed convolution of volumes.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.ConvTranspose3d(1, 2, 2)(torch.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    _rank = 3
