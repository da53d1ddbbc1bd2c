"""Densely connected networks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from forerun._device import DeviceLike
from forerun._forerun import ndarray
from forerun.gluon import nn
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.model_zoo.model_store import _prepared

__all__ = [
    "DenseNet",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "get_densenet",
]


def _dense_layer(growth: int, bottleneck: int, dropout: float) -> nn.HybridConcatenate:
    """Make a layer that appends its features to its input."""
    features = nn.HybridSequential()
    features.add(
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Conv2D(bottleneck * growth, kernel_size=1, use_bias=False),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Conv2D(growth, kernel_size=3, padding=1, use_bias=False),
    )
    if dropout:
        features.add(nn.Dropout(dropout))
    both = nn.HybridConcatenate(axis=1)
    both.add(nn.Identity(), features)
    return both


def _transition(channels: int) -> nn.HybridSequential:
    """Make the layers between two dense stages."""
    layers = nn.HybridSequential()
    layers.add(
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.Conv2D(channels, kernel_size=1, use_bias=False),
        nn.AvgPool2D(pool_size=2, strides=2),
    )
    return layers


class DenseNet(HybridBlock):
    """DenseNet-BC, as described in "Densely Connected Convolutional Networks" (arXiv 1608.06993).

    Parameters
    ----------
    num_init_features
        The number of channels of the first convolution.
    growth_rate
        The number of channels that each layer adds.
    block_config
        The number of layers of each stage.
    bn_size
        The channels between the two convolutions of a layer, in multiples of ``growth_rate``.
    dropout
        The rate of dropout after each layer.
    classes
        The number of classes.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> net = vision.DenseNet(8, 4, [2, 2], classes=10)
    >>> net.features[0]
    Conv2D(-1 -> 8, kernel_size=(7, 7), stride=(2, 2), padding=(3, 3), bias=False)
    """

    def __init__(
        self,
        num_init_features: int,
        growth_rate: int,
        block_config: Sequence[int],
        bn_size: int = 4,
        dropout: float = 0,
        classes: int = 1000,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.features = nn.HybridSequential()
        self.features.add(
            nn.Conv2D(num_init_features, kernel_size=7, strides=2, padding=3, use_bias=False),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.MaxPool2D(pool_size=3, strides=2, padding=1),
        )
        channels = num_init_features
        for number, count in enumerate(block_config):
            if number:
                channels //= 2
                self.features.add(_transition(channels))
            stage = nn.HybridSequential()
            stage.add(*[_dense_layer(growth_rate, bn_size, dropout) for _ in range(count)])
            self.features.add(stage)
            channels += count * growth_rate
        self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.AvgPool2D(pool_size=7), nn.Flatten())
        self.output = nn.Dense(classes)

    def forward(self, x: ndarray) -> Any:
        """Compute the scores of the classes."""
        return self.output(self.features(x))


# The channels of the first convolution, the growth rate and the layers of each stage, by the number of layers.
_SPECS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}


def get_densenet(
    num_layers: int,
    pretrained: bool = False,
    root: str | os.PathLike[str] | None = None,
    ctx: DeviceLike = None,
    *,
    device: DeviceLike = None,
    **options: Any,
) -> DenseNet:
    """Make a DenseNet.

    Parameters
    ----------
    num_layers
        121, 161, 169 or 201.
    pretrained
        Whether to load weights from a file in ``root``; see
        :func:`~forerun.gluon.model_zoo.model_store.get_model_file`. Weights are never downloaded.
    root
        The folder of the file; by default ``$MXNET_HOME/models`` or ``~/.mxnet/models``.
    ctx, device
        The device of the loaded weights, or several.
    **options
        Passed to :class:`DenseNet`: ``classes``, ``dropout``, ``bn_size``.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.get_densenet(121, classes=10).output
    Dense(0 -> 10, linear)
    """
    if num_layers not in _SPECS:
        raise ValueError(f"get_densenet: num_layers must be one of {', '.join(map(str, _SPECS))}, got {num_layers}")
    net = DenseNet(*_SPECS[num_layers], **options)
    return _prepared(net, f"densenet{num_layers}", pretrained, root, ctx, device)


def densenet121(**options: Any) -> DenseNet:
    """Make DenseNet-121. For the options see :func:`get_densenet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.densenet121(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_densenet(121, **options)


def densenet161(**options: Any) -> DenseNet:
    """Make DenseNet-161. For the options see :func:`get_densenet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.densenet161(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_densenet(161, **options)


def densenet169(**options: Any) -> DenseNet:
    """Make DenseNet-169. For the options see :func:`get_densenet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.densenet169(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_densenet(169, **options)


def densenet201(**options: Any) -> DenseNet:
    """Make DenseNet-201. For the options see :func:`get_densenet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.densenet201(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_densenet(201, **options)
