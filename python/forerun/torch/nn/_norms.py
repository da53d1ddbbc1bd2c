"""Layers that normalise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forerun import np
from forerun.torch._creation import ones, zeros
from forerun.torch._tensor import Parameter, Tensor
from forerun.torch.nn import functional as F
from forerun.torch.nn._module import Module

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "LayerNorm", "RMSNorm", "SyncBatchNorm",
]  # fmt: skip


class _Running(Module):
    """Normalisation with running statistics."""

    _ranks: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(ones(num_features, **place)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_features, **place)) if affine else None)
        if track_running_stats:
            self.register_buffer("running_mean", zeros(num_features, **place))
            self.register_buffer("running_var", ones(num_features, **place))
            self.register_buffer("num_batches_tracked", zeros((), dtype=np.int64, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)

    def reset_running_stats(self) -> None:
        """Start the running statistics again."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def _check(self, input: Tensor) -> None:
        if input.dim() not in self._ranks:
            ranks = " or ".join(map(str, self._ranks))
            raise ValueError(f"{type(self).__name__}: needs {ranks} dimensions, got shape {tuple(input.shape)}")

    def extra_repr(self) -> str:
        """Return the options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Running):
    def forward(self, input: Tensor) -> Tensor:
        """Normalise the channels."""
        self._check(input)
        momentum = self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if momentum is None:
                # The average over all batches. Waits for the count.
                momentum = 1.0 / float(self.num_batches_tracked.item())
        by_batch = self.training or not self.track_running_stats
        mean, variance = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        return F.batch_norm(
            input, mean, variance, self.weight, self.bias, by_batch, 0.0 if momentum is None else momentum, self.eps
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (batch, channels) or (batch, channels, length).

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.BatchNorm1d(3)(torch.randn(4, 3)).shape
    torch.Size([4, 3])
    """

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of images, (batch, channels, height, width).

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.BatchNorm2d(3)(torch.randn(4, 3, 2, 2)).shape
    torch.Size([4, 3, 2, 2])
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of volumes, (batch, channels, depth, height, width).

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.BatchNorm3d(3)(torch.randn(4, 3, 2, 2, 2)).shape
    torch.Size([4, 3, 2, 2, 2])
    """

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of any number of axes; there is one process, so it is that of the batch.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.SyncBatchNorm(3)(torch.randn(4, 3, 2)).shape
    torch.Size([4, 3, 2])
    """

    _ranks = (2, 3, 4, 5)


class _InstanceNorm(_Running):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise the channels of every sample."""
        self._check(input)
        mean, variance = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        own = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        whole = input.unsqueeze(0) if input.dim() == self._ranks[0] else input
        made = F.instance_norm(whole, mean, variance, self.weight, self.bias, own, momentum, self.eps)
        return made.squeeze(0) if whole is not input else made


class InstanceNorm1d(_InstanceNorm):
    """Normalisation of every channel of every sequence.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.InstanceNorm1d(3)(torch.randn(4, 3, 5)).shape
    torch.Size([4, 3, 5])
    """

    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalisation of every channel of every image.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.InstanceNorm2d(3)(torch.randn(4, 3, 2, 2)).shape
    torch.Size([4, 3, 2, 2])
    """

    _ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalisation of every channel of every volume.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.InstanceNorm3d(3)(torch.randn(4, 3, 2, 2, 2)).shape
    torch.Size([4, 3, 2, 2, 2])
    """

    _ranks = (4, 5)


class LayerNorm(Module):
    """Normalisation over the last dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.LayerNorm(3)(torch.randn(4, 3)).shape
    torch.Size([4, 3])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(ones(shape, **place)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(zeros(shape, **place)) if elementwise_affine and bias else None)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class RMSNorm(Module):
    """Division by the root of the mean square over the last dimensions.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.RMSNorm(3)(torch.randn(4, 3)).shape
    torch.Size([4, 3])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps, self.elementwise_affine = shape, eps, elementwise_affine
        self.register_parameter(
            "weight", Parameter(ones(shape, device=device, dtype=dtype)) if elementwise_affine else None
        )

    def forward(self, input: Tensor) -> Tensor:
        """Normalise."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalisation of groups of channels of every sample.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.nn.GroupNorm(2, 4)(torch.randn(3, 4, 5)).shape
    torch.Size([3, 4, 5])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"GroupNorm: {num_channels} channels cannot be divided into {num_groups} groups")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(ones(num_channels, **place)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_channels, **place)) if affine else None)

    def forward(self, input: Tensor) -> Tensor:
        """Normalise."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"
