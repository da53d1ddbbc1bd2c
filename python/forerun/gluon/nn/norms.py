"""Normalisation layers."""

from __future__ import annotations

from typing import Any

from forerun import npx
from forerun._forerun import ndarray
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.parameter import Parameter
from forerun.init import Initializer

__all__ = ["BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm", "RMSNorm", "SyncBatchNorm"]


class LayerNorm(HybridBlock):
    """Normalise along one axis to mean 0 and variance 1, then scale by ``gamma`` and shift by ``beta``.

    Parameters
    ----------
    axis
        The axis.
    epsilon
        Added to the variance.
    center, scale
        Whether ``beta`` and ``gamma`` are trained.
    beta_initializer, gamma_initializer
        Initialisers of the parameters.
    in_channels
        The size of the axis; inferred at the first call if 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.LayerNorm()
    >>> layer.initialize()
    >>> layer(np.array([[1.0, 1.0, 1.0]]))
    array([[0., 0., 0.]])
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: str | Initializer = "zeros",
        gamma_initializer: str | Initializer = "ones",
        in_channels: int = 0,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._axis = axis
        self._epsilon = epsilon
        self._center = center
        self._scale = scale
        self.gamma = _one_a_channel("gamma", scale, in_channels, gamma_initializer)
        self.beta = _one_a_channel("beta", center, in_channels, beta_initializer)

    def infer_shape(self, x: ndarray) -> None:
        """Infer the size of the axis from the data."""
        self.gamma.shape = self.beta.shape = (x.shape[self._axis],)

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        return npx.layer_norm(x, self.gamma.data(), self.beta.data(), axis=self._axis, eps=self._epsilon)

    def __repr__(self) -> str:
        """Write the settings."""
        return (
            f"{type(self).__name__}(eps={self._epsilon}, axis={self._axis}, center={self._center},"
            f" scale={self._scale}, in_channels={(self.gamma.shape or (-1,))[0]})"
        )


class RMSNorm(HybridBlock):
    """Divide by the root of the mean square along one axis, then scale by ``gamma``.

    ``y = x / sqrt(mean(x ** 2) + epsilon) * gamma``.

    Parameters
    ----------
    axis
        The axis.
    epsilon
        Added to the mean square.
    gamma_initializer
        The initialiser of ``gamma``.
    in_channels
        The size of the axis; inferred at the first call if 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.RMSNorm()
    >>> layer.initialize()
    >>> layer(np.array([[2.0, 2.0]]))
    array([[0.9999988, 0.9999988]])
    """

    def __init__(
        self,
        axis: int = -1,
        epsilon: float = 1e-5,
        gamma_initializer: str | Initializer = "ones",
        in_channels: int = 0,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._axis = axis
        self._epsilon = epsilon
        self.gamma = _one_a_channel("gamma", True, in_channels, gamma_initializer)

    def infer_shape(self, x: ndarray) -> None:
        """Infer the size of the axis from the data."""
        self.gamma.shape = (x.shape[self._axis],)

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        return npx.rms_norm(x, self.gamma.data(), axis=self._axis, eps=self._epsilon)

    def __repr__(self) -> str:
        """Write the settings."""
        return f"{type(self).__name__}(eps={self._epsilon}, axis={self._axis})"


class GroupNorm(HybridBlock):
    """Normalise groups of channels of each sample to mean 0 and variance 1, then scale and shift every channel.

    Channels are axis 1.

    Parameters
    ----------
    num_groups
        The number of groups; it divides the number of channels.
    epsilon
        Added to the variance.
    center, scale
        Whether ``beta`` and ``gamma`` are trained.
    beta_initializer, gamma_initializer
        Initialisers of the parameters.
    in_channels
        The number of channels; inferred at the first call if 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.GroupNorm(2, epsilon=0.0)
    >>> layer.initialize()
    >>> layer(np.array([[1.0, 3.0, 10.0, 30.0]]))
    array([[-1.,  1., -1.,  1.]])
    """

    def __init__(
        self,
        num_groups: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        beta_initializer: str | Initializer = "zeros",
        gamma_initializer: str | Initializer = "ones",
        in_channels: int = 0,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._num_groups = num_groups
        self._epsilon = epsilon
        self.gamma = _one_a_channel("gamma", scale, in_channels, gamma_initializer)
        self.beta = _one_a_channel("beta", center, in_channels, beta_initializer)

    def infer_shape(self, x: ndarray) -> None:
        """Infer the number of channels from the data."""
        self.gamma.shape = self.beta.shape = (x.shape[1],)

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        return npx.group_norm(x, self.gamma.data(), self.beta.data(), self._num_groups, self._epsilon)

    def __repr__(self) -> str:
        """Write the settings."""
        return (
            f"{type(self).__name__}(num_groups={self._num_groups}, eps={self._epsilon},"
            f" in_channels={(self.gamma.shape or (-1,))[0]})"
        )


class InstanceNorm(HybridBlock):
    """Normalise every channel of each sample to mean 0 and variance 1, then scale by ``gamma`` and shift by ``beta``.

    Samples are axis 0. The data has at least one axis besides samples and channels.

    Parameters
    ----------
    axis
        The axis of the channels.
    epsilon
        Added to the variance.
    center, scale
        Whether ``beta`` and ``gamma`` are trained.
    beta_initializer, gamma_initializer
        Initialisers of the parameters.
    in_channels
        The number of channels; inferred at the first call if 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.InstanceNorm(epsilon=0.0)
    >>> layer.initialize()
    >>> layer(np.array([[[1.0, 3.0], [10.0, 30.0]]]))
    array([[[-1.,  1.],
            [-1.,  1.]]])
    """

    def __init__(
        self,
        axis: int = 1,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = False,
        beta_initializer: str | Initializer = "zeros",
        gamma_initializer: str | Initializer = "ones",
        in_channels: int = 0,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._axis = axis
        self._epsilon = epsilon
        self.gamma = _one_a_channel("gamma", scale, in_channels, gamma_initializer)
        self.beta = _one_a_channel("beta", center, in_channels, beta_initializer)

    def infer_shape(self, x: ndarray) -> None:
        """Infer the number of channels from the data."""
        self.gamma.shape = self.beta.shape = (x.shape[self._axis],)

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        return npx.instance_norm(x, self.gamma.data(), self.beta.data(), self._epsilon, self._axis)

    def __repr__(self) -> str:
        """Write the settings."""
        return (
            f"{type(self).__name__}(axis={self._axis}, eps={self._epsilon},"
            f" in_channels={(self.gamma.shape or (-1,))[0]})"
        )


class BatchNorm(HybridBlock):
    """Normalise every channel to mean 0 and variance 1 over the batch, then scale by ``gamma`` and shift by ``beta``.

    Training mode uses the mean and variance of the batch and updates the running ones; otherwise the running ones are
    used.

    Parameters
    ----------
    axis
        The axis of the channels.
    momentum
        The factor of the old value in updates of the running mean and variance.
    epsilon
        Added to the variance.
    center, scale
        Whether ``beta`` and ``gamma`` are trained.
    use_global_stats
        Whether to use the running mean and variance in training mode too.
    beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer
        Initialisers of the parameters.
    in_channels
        The number of channels; inferred at the first call if 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import autograd, np
    >>> from forerun.gluon import nn
    >>> layer = nn.BatchNorm()
    >>> layer.initialize()
    >>> with autograd.train_mode():
    ...     y = layer(np.array([[1.0], [3.0]]))
    >>> layer.running_mean.data()
    array([0.2])
    """

    def __init__(
        self,
        axis: int = 1,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: str | Initializer = "zeros",
        gamma_initializer: str | Initializer = "ones",
        running_mean_initializer: str | Initializer = "zeros",
        running_variance_initializer: str | Initializer = "ones",
        in_channels: int = 0,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self._axis = axis
        self._momentum = momentum
        self._epsilon = epsilon
        self._scale = scale
        self._use_global_stats = use_global_stats
        self.gamma = _one_a_channel("gamma", scale, in_channels, gamma_initializer)
        self.beta = _one_a_channel("beta", center, in_channels, beta_initializer)
        self.running_mean = _one_a_channel("running_mean", False, in_channels, running_mean_initializer)
        self.running_var = _one_a_channel("running_var", False, in_channels, running_variance_initializer)

    def infer_shape(self, x: ndarray) -> None:
        """Infer the number of channels from the data."""
        for parameter in (self.gamma, self.beta, self.running_mean, self.running_var):
            parameter.shape = (x.shape[self._axis],)

    def forward(self, x: ndarray) -> ndarray:
        """Compute the layer."""
        return npx.batch_norm(
            x,
            self.gamma.data(),
            self.beta.data(),
            self.running_mean.data(),
            self.running_var.data(),
            eps=self._epsilon,
            momentum=self._momentum,
            fix_gamma=not self._scale,
            use_global_stats=self._use_global_stats,
            axis=self._axis,
        )

    def __repr__(self) -> str:
        """Write the settings."""
        return (
            f"{type(self).__name__}(axis={self._axis}, eps={self._epsilon}, momentum={self._momentum},"
            f" fix_gamma={not self._scale}, use_global_stats={self._use_global_stats},"
            f" in_channels={(self.gamma.shape or (-1,))[0]})"
        )


class SyncBatchNorm(BatchNorm):
    """Batch normalisation across devices; on one device it is :class:`BatchNorm`.

    Parameters
    ----------
    in_channels
        The number of channels; inferred at the first call if 0.
    num_devices
        The number of devices; only ``None`` and 1 are supported.
    momentum, epsilon, center, scale, use_global_stats
        As for :class:`BatchNorm`.
    beta_initializer, gamma_initializer, running_mean_initializer, running_variance_initializer
        Initialisers of the parameters.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon import nn
    >>> layer = nn.SyncBatchNorm()
    >>> layer.initialize()
    >>> layer(np.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: str | Initializer = "zeros",
        gamma_initializer: str | Initializer = "ones",
        running_mean_initializer: str | Initializer = "zeros",
        running_variance_initializer: str | Initializer = "ones",
        **arguments: Any,
    ) -> None:
        if num_devices not in (None, 1):
            raise ValueError(f"SyncBatchNorm: num_devices must be 1, got {num_devices}")
        super().__init__(
            1,
            momentum,
            epsilon,
            center,
            scale,
            use_global_stats,
            beta_initializer,
            gamma_initializer,
            running_mean_initializer,
            running_variance_initializer,
            in_channels,
            **arguments,
        )


def _one_a_channel(name: str, learnt: bool, channels: int, init: str | Initializer) -> Parameter:
    return Parameter(
        name,
        grad_req="write" if learnt else "null",
        shape=(channels,),
        init=init,
        allow_deferred_init=True,
        differentiable=learnt,
    )
