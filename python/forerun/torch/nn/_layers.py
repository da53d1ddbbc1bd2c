"""Layers."""

from __future__ import annotations

from typing import Any

from forerun import _forerun
from forerun.torch._creation import zeros
from forerun.torch._tensor import Parameter, Tensor
from forerun.torch.nn import functional as F
from forerun.torch.nn._module import Module


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
    >>> layer(torch.ones(4, 3)).shape, layer.weight.shape, layer.bias.shape
    ((4, 2), (2, 3), (2,))
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(zeros(out_features, in_features, device=device, dtype=dtype))
        _forerun.initialize("weight", self.weight._array, "xavier", 1.0, factor_type="in")
        self.bias = None
        if bias:
            self.bias = Parameter(zeros(out_features, device=device, dtype=dtype))
            _forerun.initialize("bias", self.bias._array, "uniform", in_features**-0.5 if in_features else 0.0)

    def forward(self, input: Tensor) -> Tensor:
        """Multiply by the transposed weight and add the bias."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Return the extents."""
        has_bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={has_bias}"


class ReLU(Module):
    """Replace negative elements by zero.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return input.relu()


class Tanh(Module):
    """The hyperbolic tangent of every element.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Tanh()(torch.zeros(1))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return input.tanh()


class Sigmoid(Module):
    """The logistic function of every element.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Sigmoid()(torch.zeros(1))
    tensor([0.5])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return input.sigmoid()


class Softmax(Module):
    """The softmax along a dimension.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Softmax(dim=0)(torch.zeros(2))
    tensor([0.5, 0.5])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return input.softmax(self.dim)

    def extra_repr(self) -> str:
        """Return the dimension."""
        return f"dim={self.dim}"


class Dropout(Module):
    """Dropout: zero random elements in training mode.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Dropout(0.5).eval()(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout: p must be a probability, got {p}")
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return F.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        """Return the probability."""
        return f"p={self.p}"


class Flatten(Module):
    """Merge several dimensions into one.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Flatten()(torch.ones(2, 3, 4)).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        """Reshape."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Return the dimensions."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Identity(Module):
    """Return the input.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.Identity()(torch.ones(1))
    tensor([1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return the input."""
        return input
