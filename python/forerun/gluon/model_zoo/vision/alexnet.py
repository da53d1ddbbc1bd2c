"""AlexNet."""

from __future__ import annotations

import os
from typing import Any

from forerun._device import DeviceLike
from forerun._forerun import ndarray
from forerun.gluon import nn
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.model_zoo.model_store import _prepared

__all__ = [
    "AlexNet",
    "alexnet",
]


class AlexNet(HybridBlock):
    """AlexNet, as described in "One weird trick for parallelizing convolutional neural networks" (arXiv 1404.5997).

    Parameters
    ----------
    classes
        The number of classes.
    **arguments
        Passed to :class:`Block`.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.AlexNet(classes=10).output
    Dense(0 -> 10, linear)
    """

    def __init__(self, classes: int = 1000, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.features = nn.HybridSequential()
        self.features.add(
            nn.Conv2D(64, kernel_size=11, strides=4, padding=2, activation="relu"),
            nn.MaxPool2D(pool_size=3, strides=2),
            nn.Conv2D(192, kernel_size=5, padding=2, activation="relu"),
            nn.MaxPool2D(pool_size=3, strides=2),
            nn.Conv2D(384, kernel_size=3, padding=1, activation="relu"),
            nn.Conv2D(256, kernel_size=3, padding=1, activation="relu"),
            nn.Conv2D(256, kernel_size=3, padding=1, activation="relu"),
            nn.MaxPool2D(pool_size=3, strides=2),
            nn.Flatten(),
            nn.Dense(4096, activation="relu"),
            nn.Dropout(0.5),
            nn.Dense(4096, activation="relu"),
            nn.Dropout(0.5),
        )
        self.output = nn.Dense(classes)

    def forward(self, x: ndarray) -> Any:
        """Compute the scores of the classes."""
        return self.output(self.features(x))


def alexnet(
    pretrained: bool = False,
    root: str | os.PathLike[str] | None = None,
    ctx: DeviceLike = None,
    *,
    device: DeviceLike = None,
    **options: Any,
) -> AlexNet:
    """Make AlexNet.

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
        Passed to :class:`AlexNet`: ``classes`` and others.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.alexnet(classes=10).output
    Dense(0 -> 10, linear)
    """
    return _prepared(AlexNet(**options), "alexnet", pretrained, root, ctx, device)
