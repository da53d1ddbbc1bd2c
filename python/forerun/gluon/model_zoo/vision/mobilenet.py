"""MobileNet, versions 1 and 2."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from forerun import np
from forerun._device import DeviceLike
from forerun._forerun import ndarray
from forerun.gluon import nn
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.model_zoo.model_store import _prepared

__all__ = [
    "RELU6",
    "LinearBottleneck",
    "MobileNet",
    "MobileNetV2",
    "get_mobilenet",
    "get_mobilenet_v2",
    "mobilenet0_5",
    "mobilenet0_25",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
]


class RELU6(HybridBlock):
    """The activation of MobileNet V2: ``min(max(x, 0), 6)``.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.model_zoo.vision import mobilenet
    >>> mobilenet.RELU6()(np.array([-1.0, 3.0, 8.0]))
    array([0., 3., 6.])
    """

    def forward(self, x: ndarray) -> ndarray:
        """Apply the function."""
        return np.clip(x, 0, 6)


def _add_conv(
    layers: nn.HybridSequential,
    channels: int,
    kernel: int = 1,
    stride: int = 1,
    groups: int = 1,
    activation: Callable[[], HybridBlock] | None = None,
) -> None:
    """Append a convolution that keeps the extents, batch normalisation and an activation."""
    layers.add(
        nn.Conv2D(channels, kernel, stride, kernel // 2, groups=groups, use_bias=False),
        nn.BatchNorm(),
    )
    if activation is not None:
        layers.add(activation())


def _relu() -> HybridBlock:
    return nn.Activation("relu")


class LinearBottleneck(HybridBlock):
    """The block of MobileNet V2: expansion, a convolution by channels, and a projection without activation.

    Parameters
    ----------
    in_channels
        The number of input channels.
    channels
        The number of output channels.
    t
        The factor of the expansion.
    stride
        The stride of the middle convolution.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun import np
    >>> from forerun.gluon.model_zoo.vision import mobilenet
    >>> block = mobilenet.LinearBottleneck(4, 8, 6, 2)
    >>> block.initialize()
    >>> block(np.ones((1, 4, 6, 6))).shape
    (1, 8, 3, 3)
    """

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.use_shortcut = stride == 1 and in_channels == channels
        inner = in_channels * t
        self.out = nn.HybridSequential()
        _add_conv(self.out, inner, activation=RELU6)
        _add_conv(self.out, inner, kernel=3, stride=stride, groups=inner, activation=RELU6)
        _add_conv(self.out, channels)

    def forward(self, x: ndarray) -> Any:
        """Compute the block."""
        y = self.out(x)
        return y + x if self.use_shortcut else y


class MobileNet(HybridBlock):
    """MobileNet, as described in "Efficient Convolutional Neural Networks for Mobile Vision" (arXiv 1704.04861).

    Parameters
    ----------
    multiplier
        The factor of all numbers of channels; at least 0.25.
    classes
        The number of classes.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.MobileNet(0.25, classes=10).features[0]
    Conv2D(-1 -> 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), bias=False)
    """

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **arguments: Any) -> None:
        super().__init__(**arguments)
        widths = [32, 64, 128, 128, 256, 256, *[512] * 6, 1024, 1024]
        channels = [int(width * multiplier) for width in widths]
        strides = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1]
        self.features = nn.HybridSequential()
        _add_conv(self.features, channels[0], kernel=3, stride=2, activation=_relu)
        for inputs, outputs, stride in zip(channels, channels[1:], strides, strict=False):
            _add_conv(self.features, inputs, kernel=3, stride=stride, groups=inputs, activation=_relu)
            _add_conv(self.features, outputs, activation=_relu)
        self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
        self.output = nn.Dense(classes)

    def forward(self, x: ndarray) -> Any:
        """Compute the scores of the classes."""
        return self.output(self.features(x))


# The factor of the expansion, the channels, the number and the first stride of the bottlenecks of each stage.
_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 1), (6, 96, 3, 2), (6, 160, 3, 2), (6, 320, 1, 1))


class MobileNetV2(HybridBlock):
    """MobileNet V2, as described in "Inverted Residuals and Linear Bottlenecks" (arXiv 1801.04381).

    Parameters
    ----------
    multiplier
        The factor of the numbers of channels; the last convolution has at least 1280.
    classes
        The number of classes.
    output_bias
        Whether the last layer has a bias, as in torchvision. MXNet's has none.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.MobileNetV2(0.25, classes=10).features[0]
    Conv2D(-1 -> 8, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), bias=False)
    """

    def __init__(
        self, multiplier: float = 1.0, classes: int = 1000, output_bias: bool = False, **arguments: Any
    ) -> None:
        super().__init__(**arguments)
        inputs = int(32 * multiplier)
        self.features = nn.HybridSequential()
        _add_conv(self.features, inputs, kernel=3, stride=2, activation=RELU6)
        for factor, width, count, first in _STAGES:
            outputs = int(width * multiplier)
            for number in range(count):
                self.features.add(LinearBottleneck(inputs, outputs, factor, 1 if number else first))
                inputs = outputs
        _add_conv(self.features, max(1280, int(1280 * multiplier)), activation=RELU6)
        self.features.add(nn.GlobalAvgPool2D())
        self.output = nn.HybridSequential()
        self.output.add(nn.Conv2D(classes, 1, use_bias=output_bias), nn.Flatten())

    def forward(self, x: ndarray) -> Any:
        """Compute the scores of the classes."""
        return self.output(self.features(x))


def _suffix(multiplier: float) -> str:
    """Return the multiplier as it stands in names: 1.0, 0.75, 0.5, 0.25."""
    text = f"{multiplier:.2f}"
    return text[:-1] if text.endswith("0") else text


def get_mobilenet(
    multiplier: float,
    pretrained: bool = False,
    root: str | os.PathLike[str] | None = None,
    ctx: DeviceLike = None,
    *,
    device: DeviceLike = None,
    **options: Any,
) -> MobileNet:
    """Make a MobileNet.

    Parameters
    ----------
    multiplier
        The factor of all numbers of channels; at least 0.25.
    pretrained
        Whether to load weights from a file in ``root``; see
        :func:`~forerun.gluon.model_zoo.model_store.get_model_file`. Weights are never downloaded.
    root
        The folder of the file; by default ``$MXNET_HOME/models`` or ``~/.mxnet/models``.
    ctx, device
        The device of the loaded weights, or several.
    **options
        Passed to :class:`MobileNet`: ``classes``.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.get_mobilenet(0.5, classes=10).output
    Dense(0 -> 10, linear)
    """
    net = MobileNet(multiplier, **options)
    return _prepared(net, f"mobilenet{_suffix(multiplier)}", pretrained, root, ctx, device)


def get_mobilenet_v2(
    multiplier: float,
    pretrained: bool = False,
    root: str | os.PathLike[str] | None = None,
    ctx: DeviceLike = None,
    *,
    device: DeviceLike = None,
    **options: Any,
) -> MobileNetV2:
    """Make a MobileNet V2.

    Parameters
    ----------
    multiplier
        The factor of the numbers of channels.
    pretrained
        Whether to load weights from a file in ``root``; see
        :func:`~forerun.gluon.model_zoo.model_store.get_model_file`. Weights are never downloaded.
    root
        The folder of the file; by default ``$MXNET_HOME/models`` or ``~/.mxnet/models``.
    ctx, device
        The device of the loaded weights, or several.
    **options
        Passed to :class:`MobileNetV2`: ``classes``, ``output_bias``.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.get_mobilenet_v2(0.5, classes=10).output[0]
    Conv2D(-1 -> 10, kernel_size=(1, 1), stride=(1, 1), bias=False)
    """
    net = MobileNetV2(multiplier, **options)
    return _prepared(net, f"mobilenetv2_{_suffix(multiplier)}", pretrained, root, ctx, device)


def mobilenet1_0(**options: Any) -> MobileNet:
    """Make MobileNet with the width multiplier 1.0. For the options see :func:`get_mobilenet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.mobilenet1_0(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_mobilenet(1.0, **options)


def mobilenet0_75(**options: Any) -> MobileNet:
    """Make MobileNet with the width multiplier 0.75. For the options see :func:`get_mobilenet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.mobilenet0_75(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_mobilenet(0.75, **options)


def mobilenet0_5(**options: Any) -> MobileNet:
    """Make MobileNet with the width multiplier 0.5. For the options see :func:`get_mobilenet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.mobilenet0_5(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_mobilenet(0.5, **options)


def mobilenet0_25(**options: Any) -> MobileNet:
    """Make MobileNet with the width multiplier 0.25. For the options see :func:`get_mobilenet`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.mobilenet0_25(classes=10).output
    Dense(0 -> 10, linear)
    """
    return get_mobilenet(0.25, **options)


def mobilenet_v2_1_0(**options: Any) -> MobileNetV2:
    """Make MobileNet V2 with the width multiplier 1.0. For the options see :func:`get_mobilenet_v2`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.mobilenet_v2_1_0(classes=10).output[0]
    Conv2D(-1 -> 10, kernel_size=(1, 1), stride=(1, 1), bias=False)
    """
    return get_mobilenet_v2(1.0, **options)


def mobilenet_v2_0_75(**options: Any) -> MobileNetV2:
    """Make MobileNet V2 with the width multiplier 0.75. For the options see :func:`get_mobilenet_v2`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.mobilenet_v2_0_75(classes=10).output[0]
    Conv2D(-1 -> 10, kernel_size=(1, 1), stride=(1, 1), bias=False)
    """
    return get_mobilenet_v2(0.75, **options)


def mobilenet_v2_0_5(**options: Any) -> MobileNetV2:
    """Make MobileNet V2 with the width multiplier 0.5. For the options see :func:`get_mobilenet_v2`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.mobilenet_v2_0_5(classes=10).output[0]
    Conv2D(-1 -> 10, kernel_size=(1, 1), stride=(1, 1), bias=False)
    """
    return get_mobilenet_v2(0.5, **options)


def mobilenet_v2_0_25(**options: Any) -> MobileNetV2:
    """Make MobileNet V2 with the width multiplier 0.25. For the options see :func:`get_mobilenet_v2`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.mobilenet_v2_0_25(classes=10).output[0]
    Conv2D(-1 -> 10, kernel_size=(1, 1), stride=(1, 1), bias=False)
    """
    return get_mobilenet_v2(0.25, **options)
