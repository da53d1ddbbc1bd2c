"""SqueezeNet, versions 1.0 and 1.1."""

from __future__ import annotations

import os
from typing import Any

from forerun._device import DeviceLike
from forerun._forerun import ndarray
from forerun.gluon import nn
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.model_zoo.model_store import _prepared

__all__ = [
    "SqueezeNet",
    "get_squeezenet",
    "squeezenet1_0",
    "squeezenet1_1",
]


def _conv(channels: int, kernel: int, padding: int = 0) -> nn.HybridSequential:
    layers = nn.HybridSequential()
    layers.add(nn.Conv2D(channels, kernel_size=kernel, padding=padding), nn.Activation("relu"))
    return layers


def _fire(squeeze: int, expand: int) -> nn.HybridSequential:
    """Make a fire module: a 1x1 convolution to few channels, then 1x1 and 3x3 convolutions side by side."""
    paths = nn.HybridConcatenate(axis=1)
    paths.add(_conv(expand, 1), _conv(expand, 3, 1))
    layers = nn.HybridSequential()
    layers.add(_conv(squeeze, 1), paths)
    return layers


# The first convolution, and the fire modules between poolings.
_SPECS = {
    "1.0": ((96, 7), (((16, 64), (16, 64), (32, 128)), ((32, 128), (48, 192), (48, 192), (64, 256)), ((64, 256),))),
    "1.1": ((64, 3), (((16, 64), (16, 64)), ((32, 128), (32, 128)), ((48, 192), (48, 192), (64, 256), (64, 256)))),
}


class SqueezeNet(HybridBlock):
    """SqueezeNet, as described in "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters" (arXiv 1602.07360).

    Version 1.1 needs less computation.

    Parameters
    ----------
    version
        ``"1.0"`` or ``"1.1"``.
    classes
        The number of classes.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.SqueezeNet("1.1", classes=10).output[0]
    Conv2D(-1 -> 10, kernel_size=(1, 1), stride=(1, 1))
    """

    def __init__(self, version: str, classes: int = 1000, **arguments: Any) -> None:
        super().__init__(**arguments)
        if version not in _SPECS:
            raise ValueError(f"SqueezeNet: version must be '1.0' or '1.1', got {version!r}")
        (channels, kernel), stages = _SPECS[version]
        self.features = nn.HybridSequential()
        self.features.add(nn.Conv2D(channels, kernel_size=kernel, strides=2), nn.Activation("relu"))
        for stage in stages:
            self.features.add(nn.MaxPool2D(pool_size=3, strides=2, ceil_mode=True))
            self.features.add(*[_fire(*numbers) for numbers in stage])
        self.features.add(nn.Dropout(0.5))
        self.output = nn.HybridSequential()
        self.output.add(nn.Conv2D(classes, kernel_size=1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten())

    def forward(self, x: ndarray) -> Any:
        """Compute the scores of the classes."""
        return self.output(self.features(x))


def get_squeezenet(
    version: str,
    pretrained: bool = False,
    root: str | os.PathLike[str] | None = None,
    ctx: DeviceLike = None,
    *,
    device: DeviceLike = None,
    **options: Any,
) -> SqueezeNet:
    """Make a SqueezeNet.

    Parameters
    ----------
    version
        ``"1.0"`` or ``"1.1"``.
    pretrained
        Whether to load weights from a file in ``root``; see
        :func:`~forerun.gluon.model_zoo.model_store.get_model_file`. Weights are never downloaded.
    root
        The folder of the file; by default ``$MXNET_HOME/models`` or ``~/.mxnet/models``.
    ctx, device
        The device of the loaded weights, or several.
    **options
        Passed to :class:`SqueezeNet`: ``classes``.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.get_squeezenet("1.1", classes=10).output[0]
    Conv2D(-1 -> 10, kernel_size=(1, 1), stride=(1, 1))
    """
    return _prepared(SqueezeNet(version, **options), f"squeezenet{version}", pretrained, root, ctx, device)


def squeezenet1_0(**options: Any) -> SqueezeNet:
    """Make SqueezeNet 1.0. For the options see :func:`get_squeezenet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.squeezenet1_0(classes=10).output[0]
    Conv2D(-1 -> 10, kernel_size=(1, 1), stride=(1, 1))
    """
    return get_squeezenet("1.0", **options)


def squeezenet1_1(**options: Any) -> SqueezeNet:
    """Make SqueezeNet 1.1. For the options see :func:`get_squeezenet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.squeezenet1_1(classes=10).output[0]
    Conv2D(-1 -> 10, kernel_size=(1, 1), stride=(1, 1))
    """
    return get_squeezenet("1.1", **options)
