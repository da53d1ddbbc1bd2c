"""LeNet with Paddle's layers."""

from __future__ import annotations

from typing import Any

from forerun._missing import module_getattr
from forerun.paddle import nn
from forerun.paddle._tensor import Tensor

__all__ = ["LeNet"]


class LeNet(nn.Layer):
    """The network LeNet for images of 28 x 28 pixels.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.vision.models.LeNet()(paddle.zeros([2, 1, 28, 28])).shape
    [2, 10]
    """

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 3, stride=1, padding=1),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 16, 5, stride=1, padding=0),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
        )
        if num_classes > 0:
            self.fc = nn.Sequential(nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, num_classes))

    def forward(self, inputs: Tensor) -> Any:
        """Compute the scores."""
        x = self.features(inputs)
        return self.fc(x.flatten(1)) if self.num_classes > 0 else x


__getattr__ = module_getattr(
    __name__,
    globals(),
    {"resnet18": "forerun.torch.vision.models has it", "vgg16": "forerun.torch.vision.models has it"},
)
