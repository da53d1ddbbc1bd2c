"""Losses as modules."""

from __future__ import annotations

from forerun.torch._tensor import Tensor
from forerun.torch.nn import functional as F
from forerun.torch.nn._module import Module


class _Loss(Module):
    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction


class MSELoss(_Loss):
    """The mean of the squared differences.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.MSELoss()(torch.zeros(2), torch.tensor([1.0, 3.0]))
    tensor(5.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.mse_loss(input, target, self.reduction)


class L1Loss(_Loss):
    """The mean of the absolute differences.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.L1Loss()(torch.zeros(2), torch.tensor([1.0, -3.0]))
    tensor(2.)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.l1_loss(input, target, self.reduction)


class CrossEntropyLoss(_Loss):
    """Cross-entropy between scores and classes; rows of class ``ignore_index`` are ignored.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.CrossEntropyLoss()(torch.zeros(3, 2), torch.tensor([0, 1, 0]))
    tensor(0.6931)
    """

    def __init__(self, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Compute the loss."""
        return F.cross_entropy(input, target, self.reduction, ignore_index=self.ignore_index)
