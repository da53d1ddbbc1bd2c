"""Residual networks, versions 1 and 2."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from forerun import npx
from forerun._device import DeviceLike
from forerun._forerun import ndarray
from forerun.gluon import nn
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.model_zoo.model_store import _prepared

__all__ = [
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "ResNetV1",
    "ResNetV2",
    "get_resnet",
    "resnet18_v1",
    "resnet18_v2",
    "resnet34_v1",
    "resnet34_v2",
    "resnet50_v1",
    "resnet50_v2",
    "resnet101_v1",
    "resnet101_v2",
    "resnet152_v1",
    "resnet152_v2",
]


def _conv3x3(channels: int, stride: int, inputs: int) -> nn.Conv2D:
    return nn.Conv2D(channels, kernel_size=3, strides=stride, padding=1, use_bias=False, in_channels=inputs)


def _conv1x1(channels: int, stride: int, inputs: int) -> nn.Conv2D:
    return nn.Conv2D(channels, kernel_size=1, strides=stride, use_bias=False, in_channels=inputs)


class _ResidualV1(HybridBlock):
    """What residual blocks V1 have in common: ``relu(body(x) + shortcut(x))``."""

    body: nn.HybridSequential

    def _set_shortcut(self, channels: int, stride: int, downsample: bool, inputs: int) -> None:
        self.downsample: nn.HybridSequential | None = None
        if downsample:
            self.downsample = nn.HybridSequential()
            self.downsample.add(_conv1x1(channels, stride, inputs), nn.BatchNorm())

    def forward(self, x: ndarray) -> ndarray:
        """Compute the block."""
        shortcut = x if self.downsample is None else self.downsample(x)
        return npx.relu(self.body(x) + shortcut)


class BasicBlockV1(_ResidualV1):
    """The residual block of ResNet-18 and ResNet-34 V1: two convolutions.

    Parameters
    ----------
    channels
        The number of output channels.
    stride
        The stride of the first convolution.
    downsample
        Whether the shortcut has a convolution, for another number of channels or extent.
    in_channels
        The number of input channels; inferred at the first call if 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.model_zoo import vision
    >>> block = vision.BasicBlockV1(8, 2, downsample=True)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **arguments: Any
    ) -> None:
        super().__init__(**arguments)
        self.body = nn.HybridSequential()
        self.body.add(
            _conv3x3(channels, stride, in_channels),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels, 1, channels),
            nn.BatchNorm(),
        )
        self._set_shortcut(channels, stride, downsample, in_channels)


class BottleneckV1(_ResidualV1):
    """The residual block of ResNet-50, 101 and 152 V1: three convolutions, the middle one with fewer channels.

    Parameters
    ----------
    channels
        The number of output channels; a multiple of 4.
    stride
        The stride of the block.
    downsample
        Whether the shortcut has a convolution, for another number of channels or extent.
    in_channels
        The number of input channels; inferred at the first call if 0.
    late_stride
        Whether the second convolution has the stride, as in torchvision, and not the first, as in MXNet.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.model_zoo import vision
    >>> block = vision.BottleneckV1(8, 2, downsample=True)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(
        self,
        channels: int,
        stride: int,
        downsample: bool = False,
        in_channels: int = 0,
        late_stride: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.body = nn.HybridSequential()
        # The 1x1 convolutions have a bias, which batch normalisation makes superfluous: MXNet's files contain it.
        self.body.add(
            nn.Conv2D(channels // 4, kernel_size=1, strides=1 if late_stride else stride),
            nn.BatchNorm(),
            nn.Activation("relu"),
            _conv3x3(channels // 4, stride if late_stride else 1, channels // 4),
            nn.BatchNorm(),
            nn.Activation("relu"),
            nn.Conv2D(channels, kernel_size=1),
            nn.BatchNorm(),
        )
        self._set_shortcut(channels, stride, downsample, in_channels)


class BasicBlockV2(HybridBlock):
    """The residual block of ResNet-18 and ResNet-34 V2: normalisation and activation before each of two convolutions.

    Parameters
    ----------
    channels
        The number of output channels.
    stride
        The stride of the first convolution.
    downsample
        Whether the shortcut has a convolution, for another number of channels or extent.
    in_channels
        The number of input channels; inferred at the first call if 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.model_zoo import vision
    >>> block = vision.BasicBlockV2(8, 2, downsample=True)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **arguments: Any
    ) -> None:
        super().__init__(**arguments)
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv3x3(channels, stride, in_channels)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels, 1, channels)
        self.downsample = _conv1x1(channels, stride, in_channels) if downsample else None

    def forward(self, x: ndarray) -> ndarray:
        """Compute the block."""
        y = npx.relu(self.bn1(x))
        shortcut = x if self.downsample is None else self.downsample(y)
        y = npx.relu(self.bn2(self.conv1(y)))
        return self.conv2(y) + shortcut  # type: ignore[no-any-return]


class BottleneckV2(HybridBlock):
    """The residual block of ResNet-50, 101 and 152 V2: normalisation and activation before each of three convolutions.

    Parameters
    ----------
    channels
        The number of output channels; a multiple of 4.
    stride
        The stride of the second convolution.
    downsample
        Whether the shortcut has a convolution, for another number of channels or extent.
    in_channels
        The number of input channels; inferred at the first call if 0.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.model_zoo import vision
    >>> block = vision.BottleneckV2(8, 2, downsample=True)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **arguments: Any
    ) -> None:
        super().__init__(**arguments)
        self.bn1 = nn.BatchNorm()
        self.conv1 = _conv1x1(channels // 4, 1, 0)
        self.bn2 = nn.BatchNorm()
        self.conv2 = _conv3x3(channels // 4, stride, channels // 4)
        self.bn3 = nn.BatchNorm()
        self.conv3 = _conv1x1(channels, 1, 0)
        self.downsample = _conv1x1(channels, stride, in_channels) if downsample else None

    def forward(self, x: ndarray) -> ndarray:
        """Compute the block."""
        y = npx.relu(self.bn1(x))
        shortcut = x if self.downsample is None else self.downsample(y)
        y = npx.relu(self.bn2(self.conv1(y)))
        y = npx.relu(self.bn3(self.conv2(y)))
        return self.conv3(y) + shortcut  # type: ignore[no-any-return]


class _ResNet(HybridBlock):
    """What both versions have in common: the first layers, the stages, and the classifier."""

    features: nn.HybridSequential
    output: nn.Dense

    def _add_stem(self, channels: int, thumbnail: bool) -> None:
        if thumbnail:
            self.features.add(_conv3x3(channels, 1, 0))
        else:
            self.features.add(
                nn.Conv2D(channels, kernel_size=7, strides=2, padding=3, use_bias=False),
                nn.BatchNorm(),
                nn.Activation("relu"),
                nn.MaxPool2D(pool_size=3, strides=2, padding=1),
            )

    def _add_stages(
        self, block: Callable[..., HybridBlock], layers: Sequence[int], channels: Sequence[int], **more: bool
    ) -> None:
        if len(layers) != len(channels) - 1:
            counts = f"{len(layers)} and {len(channels)}"
            raise ValueError(f"{type(self).__name__}: channels has one number more than layers, not {counts}")
        for number, (count, inputs, outputs) in enumerate(zip(layers, channels, channels[1:], strict=False)):
            stage = nn.HybridSequential()
            stage.add(block(outputs, 2 if number else 1, outputs != inputs, in_channels=inputs, **more))
            for _ in range(count - 1):
                stage.add(block(outputs, 1, False, in_channels=outputs, **more))
            self.features.add(stage)

    def forward(self, x: ndarray) -> Any:
        """Compute the scores of the classes."""
        return self.output(self.features(x))


class ResNetV1(_ResNet):
    """ResNet V1, as described in "Deep Residual Learning for Image Recognition" (arXiv 1512.03385).

    Parameters
    ----------
    block
        The class of the residual blocks: :class:`BasicBlockV1` or :class:`BottleneckV1`.
    layers
        The number of blocks of each stage.
    channels
        The number of channels of the first convolution and of each stage.
    classes
        The number of classes.
    thumbnail
        Whether the images are small: the first layer is then a 3x3 convolution without pooling.
    late_stride
        Whether bottlenecks have their stride in the second convolution, as in torchvision; see :class:`BottleneckV1`.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.model_zoo import vision
    >>> net = vision.ResNetV1(vision.BasicBlockV1, [1, 1], [4, 4, 8], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(np.ones((2, 3, 8, 8))).shape
    (2, 10)
    """

    def __init__(
        self,
        block: Callable[..., HybridBlock],
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        late_stride: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.features = nn.HybridSequential()
        self._add_stem(channels[0], thumbnail)
        # Only bottlenecks have two places for the stride.
        more = {"late_stride": True} if late_stride and block is not BasicBlockV1 else {}
        self._add_stages(block, layers, channels, **more)
        self.features.add(nn.GlobalAvgPool2D())
        self.output = nn.Dense(classes, in_units=channels[-1])


class ResNetV2(_ResNet):
    """ResNet V2, as described in "Identity Mappings in Deep Residual Networks" (arXiv 1603.05027).

    Parameters
    ----------
    block
        The class of the residual blocks: :class:`BasicBlockV2` or :class:`BottleneckV2`.
    layers
        The number of blocks of each stage.
    channels
        The number of channels of the first convolution and of each stage.
    classes
        The number of classes.
    thumbnail
        Whether the images are small: the first layer is then a 3x3 convolution without pooling.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.model_zoo import vision
    >>> net = vision.ResNetV2(vision.BasicBlockV2, [1, 1], [4, 4, 8], classes=10, thumbnail=True)
    >>> net.initialize()
    >>> net(np.ones((2, 3, 8, 8))).shape
    (2, 10)
    """

    def __init__(
        self,
        block: Callable[..., HybridBlock],
        layers: Sequence[int],
        channels: Sequence[int],
        classes: int = 1000,
        thumbnail: bool = False,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        self.features = nn.HybridSequential()
        self.features.add(nn.BatchNorm(scale=False, center=False))
        self._add_stem(channels[0], thumbnail)
        self._add_stages(block, layers, channels)
        self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.GlobalAvgPool2D(), nn.Flatten())
        self.output = nn.Dense(classes, in_units=channels[-1])


# Whether the blocks are bottlenecks, the number of blocks of each stage, and the channels, by the number of layers.
_NARROW, _WIDE = (64, 64, 128, 256, 512), (64, 256, 512, 1024, 2048)
_SPECS = {
    18: (False, (2, 2, 2, 2), _NARROW),
    34: (False, (3, 4, 6, 3), _NARROW),
    50: (True, (3, 4, 6, 3), _WIDE),
    101: (True, (3, 4, 23, 3), _WIDE),
    152: (True, (3, 8, 36, 3), _WIDE),
}


def get_resnet(
    version: int,
    num_layers: int,
    pretrained: bool = False,
    root: str | os.PathLike[str] | None = None,
    ctx: DeviceLike = None,
    *,
    device: DeviceLike = None,
    **options: Any,
) -> Any:
    """Make a ResNet.

    Parameters
    ----------
    version
        1 or 2.
    num_layers
        18, 34, 50, 101 or 152.
    pretrained
        Whether to load weights from a file in ``root``; see
        :func:`~forerun.gluon.model_zoo.model_store.get_model_file`. Weights are never downloaded.
    root
        The folder of the file; by default ``$MXNET_HOME/models`` or ``~/.mxnet/models``.
    ctx, device
        The device of the loaded weights, or several.
    **options
        Passed to :class:`ResNetV1` or :class:`ResNetV2`: ``classes``, ``thumbnail``.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.get_resnet(1, 50, classes=10).output
    Dense(2048 -> 10, linear)
    """
    if num_layers not in _SPECS:
        raise ValueError(f"get_resnet: num_layers must be one of {', '.join(map(str, _SPECS))}, got {num_layers}")
    if version not in (1, 2):
        raise ValueError(f"get_resnet: version must be 1 or 2, got {version}")
    deep, layers, channels = _SPECS[num_layers]
    net: HybridBlock
    if version == 1:
        net = ResNetV1(BottleneckV1 if deep else BasicBlockV1, layers, channels, **options)
    else:
        net = ResNetV2(BottleneckV2 if deep else BasicBlockV2, layers, channels, **options)
    return _prepared(net, f"resnet{num_layers}_v{version}", pretrained, root, ctx, device)


def resnet18_v1(**options: Any) -> ResNetV1:
    """Make ResNet-18 V1. For the options see :func:`get_resnet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.resnet18_v1(classes=10).output
    Dense(512 -> 10, linear)
    """
    return get_resnet(1, 18, **options)  # type: ignore[no-any-return]


def resnet34_v1(**options: Any) -> ResNetV1:
    """Make ResNet-34 V1. For the options see :func:`get_resnet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.resnet34_v1(classes=10).output
    Dense(512 -> 10, linear)
    """
    return get_resnet(1, 34, **options)  # type: ignore[no-any-return]


def resnet50_v1(**options: Any) -> ResNetV1:
    """Make ResNet-50 V1. For the options see :func:`get_resnet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.resnet50_v1(classes=10).output
    Dense(2048 -> 10, linear)
    """
    return get_resnet(1, 50, **options)  # type: ignore[no-any-return]


def resnet101_v1(**options: Any) -> ResNetV1:
    """Make ResNet-101 V1. For the options see :func:`get_resnet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.resnet101_v1(classes=10).output
    Dense(2048 -> 10, linear)
    """
    return get_resnet(1, 101, **options)  # type: ignore[no-any-return]


def resnet152_v1(**options: Any) -> ResNetV1:
    """Make ResNet-152 V1. For the options see :func:`get_resnet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.resnet152_v1(classes=10).output
    Dense(2048 -> 10, linear)
    """
    return get_resnet(1, 152, **options)  # type: ignore[no-any-return]


def resnet18_v2(**options: Any) -> ResNetV2:
    """Make ResNet-18 V2. For the options see :func:`get_resnet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.resnet18_v2(classes=10).output
    Dense(512 -> 10, linear)
    """
    return get_resnet(2, 18, **options)  # type: ignore[no-any-return]


def resnet34_v2(**options: Any) -> ResNetV2:
    """Make ResNet-34 V2. For the options see :func:`get_resnet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.resnet34_v2(classes=10).output
    Dense(512 -> 10, linear)
    """
    return get_resnet(2, 34, **options)  # type: ignore[no-any-return]


def resnet50_v2(**options: Any) -> ResNetV2:
    """Make ResNet-50 V2. For the options see :func:`get_resnet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.resnet50_v2(classes=10).output
    Dense(2048 -> 10, linear)
    """
    return get_resnet(2, 50, **options)  # type: ignore[no-any-return]


def resnet101_v2(**options: Any) -> ResNetV2:
    """Make ResNet-101 V2. For the options see :func:`get_resnet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.resnet101_v2(classes=10).output
    Dense(2048 -> 10, linear)
    """
    return get_resnet(2, 101, **options)  # type: ignore[no-any-return]


def resnet152_v2(**options: Any) -> ResNetV2:
    """Make ResNet-152 V2. For the options see :func:`get_resnet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.resnet152_v2(classes=10).output
    Dense(2048 -> 10, linear)
    """
    return get_resnet(2, 152, **options)  # type: ignore[no-any-return]
