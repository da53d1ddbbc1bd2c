"""VGG networks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from forerun._device import DeviceLike
from forerun._forerun import ndarray
from forerun.gluon import nn
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.model_zoo.model_store import _prepared
from forerun.init import Xavier

__all__ = [
    "VGG",
    "get_vgg",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]


class VGG(HybridBlock):
    """VGG, as described in "Very Deep Convolutional Networks for Large-Scale Image Recognition" (arXiv 1409.1556).

    Parameters
    ----------
    layers
        The number of convolutions of each stage.
    filters
        The number of channels of each stage.
    classes
        The number of classes.
    batch_norm
        Whether batch normalisation follows each convolution.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> net = vision.VGG([1, 1], [4, 8], classes=10)
    >>> net.features[0]
    Conv2D(-1 -> 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    """

    def __init__(
        self,
        layers: Sequence[int],
        filters: Sequence[int],
        classes: int = 1000,
        batch_norm: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        if len(layers) != len(filters):
            raise ValueError(f"VGG: layers and filters differ in length: {len(layers)} and {len(filters)}")
        self.features = nn.HybridSequential()
        for count, channels in zip(layers, filters, strict=True):
            for _ in range(count):
                weight = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
                self.features.add(nn.Conv2D(channels, kernel_size=3, padding=1, weight_initializer=weight))
                if batch_norm:
                    self.features.add(nn.BatchNorm())
                self.features.add(nn.Activation("relu"))
            self.features.add(nn.MaxPool2D(strides=2))
        for _ in range(2):
            self.features.add(nn.Dense(4096, activation="relu", weight_initializer="normal"), nn.Dropout(0.5))
        self.output = nn.Dense(classes, weight_initializer="normal")

    def forward(self, x: ndarray) -> Any:
        """Compute the scores of the classes."""
        return self.output(self.features(x))


# The number of convolutions of each stage, by the number of layers.
_LAYERS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


def get_vgg(
    num_layers: int,
    pretrained: bool = False,
    root: str | os.PathLike[str] | None = None,
    ctx: DeviceLike = None,
    *,
    device: DeviceLike = None,
    **options: Any,
) -> VGG:
    """Make a VGG network.

    Parameters
    ----------
    num_layers
        11, 13, 16 or 19.
    pretrained
        Whether to load weights from a file in ``root``; see
        :func:`~forerun.gluon.model_zoo.model_store.get_model_file`. Weights are never downloaded.
    root
        The folder of the file; by default ``$MXNET_HOME/models`` or ``~/.mxnet/models``.
    ctx, device
        The device of the loaded weights, or several.
    **options
        Passed to :class:`VGG`: ``classes``, ``batch_norm``.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.get_vgg(11, classes=10, batch_norm=True).output
    Dense(0 -> 10, linear)
    """
    if num_layers not in _LAYERS:
        raise ValueError(f"get_vgg: num_layers must be one of {', '.join(map(str, _LAYERS))}, got {num_layers}")
    net = VGG(_LAYERS[num_layers], (64, 128, 256, 512, 512), **options)
    name = f"vgg{num_layers}_bn" if options.get("batch_norm") else f"vgg{num_layers}"
    return _prepared(net, name, pretrained, root, ctx, device)


def vgg11(**options: Any) -> VGG:
    """Make VGG-11. For the options see :func:`get_vgg`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.vgg11(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_vgg(11, **options)


def vgg13(**options: Any) -> VGG:
    """Make VGG-13. For the options see :func:`get_vgg`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.vgg13(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_vgg(13, **options)


def vgg16(**options: Any) -> VGG:
    """Make VGG-16. For the options see :func:`get_vgg`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.vgg16(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_vgg(16, **options)


def vgg19(**options: Any) -> VGG:
    """Make VGG-19. For the options see :func:`get_vgg`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.vgg19(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_vgg(19, **options)


def vgg11_bn(**options: Any) -> VGG:
    """Make VGG-11 with batch normalisation. For the options see :func:`get_vgg`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.vgg11_bn(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_vgg(11, batch_norm=True, **options)


def vgg13_bn(**options: Any) -> VGG:
    """Make VGG-13 with batch normalisation. For the options see :func:`get_vgg`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.vgg13_bn(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_vgg(13, batch_norm=True, **options)


def vgg16_bn(**options: Any) -> VGG:
    """Make VGG-16 with batch normalisation. For the options see :func:`get_vgg`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.vgg16_bn(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_vgg(16, batch_norm=True, **options)


def vgg19_bn(**options: Any) -> VGG:
    """Make VGG-19 with batch normalisation. For the options see :func:`get_vgg`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.vgg19_bn(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_vgg(19, batch_norm=True, **options)
