"""Inception V3."""

from __future__ import annotations

import os
from typing import Any

from forerun._device import DeviceLike
from forerun._forerun import ndarray
from forerun.gluon import nn
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.model_zoo.model_store import _prepared

__all__ = [
    "Inception3",
    "inception_v3",
]

# A convolution: channels, kernel, stride, padding. The last three may be missing.
_Conv = tuple[Any, ...]


def _conv(channels: int, kernel: Any = 1, stride: int = 1, padding: Any = 0) -> nn.HybridSequential:
    layers = nn.HybridSequential()
    layers.add(
        nn.Conv2D(channels, kernel, stride, padding, use_bias=False),
        nn.BatchNorm(epsilon=0.001),
        nn.Activation("relu"),
    )
    return layers


def _branch(*parts: HybridBlock | _Conv) -> nn.HybridSequential:
    """Make a sequence of layers; tuples describe convolutions."""
    layers = nn.HybridSequential()
    layers.add(*[_conv(*part) if isinstance(part, tuple) else part for part in parts])
    return layers


def _joined(*branches: HybridBlock) -> nn.HybridConcatenate:
    """Make a block whose branches all get its input; their channels are concatenated."""
    joined = nn.HybridConcatenate(axis=1)
    joined.add(*branches)
    return joined


def _mean() -> nn.AvgPool2D:
    return nn.AvgPool2D(pool_size=3, strides=1, padding=1)


def _most() -> nn.MaxPool2D:
    return nn.MaxPool2D(pool_size=3, strides=2)


def _module_a(pooled: int) -> nn.HybridConcatenate:
    return _joined(
        _branch((64,)),
        _branch((48,), (64, 5, 1, 2)),
        _branch((64,), (96, 3, 1, 1), (96, 3, 1, 1)),
        _branch(_mean(), (pooled,)),
    )


def _module_b() -> nn.HybridConcatenate:
    return _joined(_branch((384, 3, 2)), _branch((64,), (96, 3, 1, 1), (96, 3, 2)), _branch(_most()))


def _module_c(inner: int) -> nn.HybridConcatenate:
    wide, high = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
    return _joined(
        _branch((192,)),
        _branch((inner,), (inner, *wide), (192, *high)),
        _branch((inner,), (inner, *high), (inner, *wide), (inner, *high), (192, *wide)),
        _branch(_mean(), (192,)),
    )


def _module_d() -> nn.HybridConcatenate:
    return _joined(
        _branch((192,), (320, 3, 2)),
        _branch((192,), (192, (1, 7), 1, (0, 3)), (192, (7, 1), 1, (3, 0)), (192, 3, 2)),
        _branch(_most()),
    )


def _module_e() -> nn.HybridConcatenate:
    def split() -> nn.HybridConcatenate:
        return _joined(_branch((384, (1, 3), 1, (0, 1))), _branch((384, (3, 1), 1, (1, 0))))

    return _joined(
        _branch((320,)),
        _branch(_branch((384,)), split()),
        _branch(_branch((448,), (384, 3, 1, 1)), split()),
        _branch(_mean(), (192,)),
    )


class Inception3(HybridBlock):
    """Inception V3, as described in "Rethinking the Inception Architecture for Computer Vision" (arXiv 1512.00567).

    Images have at least 299 x 299 pixels, and exactly that with the layers' usual shapes.

    Parameters
    ----------
    classes
        The number of classes.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.Inception3(classes=10).output
    Dense(0 -> 10, linear)
    """

    def __init__(self, classes: int = 1000, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.features = nn.HybridSequential()
        self.features.add(
            _conv(32, 3, 2),
            _conv(32, 3),
            _conv(64, 3, 1, 1),
            _most(),
            _conv(80),
            _conv(192, 3),
            _most(),
            *[_module_a(pooled) for pooled in (32, 64, 64)],
            _module_b(),
            *[_module_c(inner) for inner in (128, 160, 160, 192)],
            _module_d(),
            _module_e(),
            _module_e(),
            nn.AvgPool2D(pool_size=8),
            nn.Dropout(0.5),
        )
        self.output = nn.Dense(classes)

    def forward(self, x: ndarray) -> Any:
        """Compute the scores of the classes."""
        return self.output(self.features(x))


def inception_v3(
    pretrained: bool = False,
    root: str | os.PathLike[str] | None = None,
    ctx: DeviceLike = None,
    *,
    device: DeviceLike = None,
    **options: Any,
) -> Inception3:
    """Make Inception V3.

    Parameters
    ----------
    pretrained
        Whether to load weights from a file in ``root``; see
        :func:`~forerun.gluon.model_zoo.model_store.get_model_file`. Weights are never downloaded.
    root
        The folder of the file; by default ``$MXNET_HOME/models`` or ``~/.mxnet/models``.
    ctx, device
        The device of the loaded weights, or several.
    **options
        Passed to :class:`Inception3`: ``classes``.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.inception_v3(classes=10).output
    Dense(0 -> 10, linear)
    """
    return _prepared(Inception3(**options), "inceptionv3", pretrained, root, ctx, device)
