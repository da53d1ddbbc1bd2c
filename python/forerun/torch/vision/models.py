"""Image classifiers with torchvision's layers and names of parameters: AlexNet, VGG and ResNet.

Weights come from a local file in the safetensors format: nothing is downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from forerun._missing import module_getattr
from forerun.torch import hub, nn
from forerun.torch._serialization import load
from forerun.torch._tensor import Tensor

__all__ = ["VGG", "AlexNet", "BasicBlock", "Bottleneck", "ResNet", "Weights"]


class Weights:
    """The published weights of a network: a name for a local file."""

    def __init__(self, network: str, file: str) -> None:
        self.network, self.file = network, file

    def get_state_dict(self, progress: bool = True, check_hash: bool = False) -> dict[str, Any]:
        """Read the weights from ``checkpoints`` in :func:`forerun.torch.hub.get_dir`."""
        folder = os.path.join(hub.get_dir(), "checkpoints")
        path = os.path.join(folder, f"{self.file}.safetensors")
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"{self.network}: nothing is downloaded: convert {self.file}.pth of torchvision with "
                f"safetensors.torch.save_file to {self.file}.safetensors, and put it in {folder}"
            )
        found: dict[str, Any] = load(path)
        return found


def _filled(network: nn.Module, weights: Any, published: Weights | None) -> Any:
    if weights is None or weights is False:
        return network
    chosen = weights if isinstance(weights, Weights) else published
    if chosen is None or (isinstance(weights, str) and weights not in ("DEFAULT", "IMAGENET1K_V1")):
        raise ValueError(f"{type(network).__name__}: unknown weights {weights!r}; there is 'IMAGENET1K_V1'")
    network.load_state_dict(chosen.get_state_dict())
    return network


class AlexNet(nn.Module):
    """AlexNet.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.vision.models.AlexNet(num_classes=3)(torch.zeros(1, 3, 64, 64)).shape
    torch.Size([1, 3])
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, kernel_size=11, stride=4, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(64, 192, kernel_size=5, padding=2),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
            nn.Conv2d(192, 384, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(384, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(256, 256, kernel_size=3, padding=1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(kernel_size=3, stride=2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(256 * 6 * 6, 4096),
            nn.ReLU(inplace=True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(inplace=True),
            nn.Linear(4096, num_classes),
        )

    def forward(self, x: Tensor) -> Any:
        """Compute the scores."""
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class VGG(nn.Module):
    """A network of small convolutions.

    Parameters
    ----------
    plan : sequence
        The channels of each convolution, and ``"M"`` for pooling.
    batch_norm : bool
        Whether each convolution is followed by batch normalisation.
    num_classes : int
        The number of scores.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.vision.models.VGG((8, "M"), num_classes=3).features[0].out_channels
    8
    """

    def __init__(self, plan: Any, batch_norm: bool = False, num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for step in plan:
            if step == "M":
                layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
                continue
            layers.append(nn.Conv2d(channels, step, kernel_size=3, padding=1))
            layers += [nn.BatchNorm2d(step)] if batch_norm else []
            layers.append(nn.ReLU(inplace=True))
            channels = step
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(channels * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(dropout),
            nn.Linear(4096, num_classes),
        )
        for module in self.features:
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Any:
        """Compute the scores."""
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class BasicBlock(nn.Module):
    """Two convolutions and a shortcut.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.vision.models import BasicBlock
    >>> BasicBlock(4, 4)(torch.zeros(1, 4, 5, 5)).shape
    torch.Size([1, 4, 5, 5])
    """

    expansion = 1

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: Any = None, width: int = 64) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Any:
        """Compute the block."""
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    """Three convolutions, of which the middle one has fewer channels, and a shortcut.

    Examples
    --------
    >>> from forerun import torch
    >>> from forerun.torch.vision.models import Bottleneck
    >>> Bottleneck(16, 4)(torch.zeros(1, 16, 5, 5)).shape
    torch.Size([1, 16, 5, 5])
    """

    expansion = 4

    def __init__(self, inplanes: int, planes: int, stride: int = 1, downsample: Any = None, width: int = 64) -> None:
        super().__init__()
        inner = planes * width // 64
        self.conv1 = nn.Conv2d(inplanes, inner, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(inner)
        self.conv2 = nn.Conv2d(inner, inner, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(inner)
        self.conv3 = nn.Conv2d(inner, planes * 4, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * 4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x: Tensor) -> Any:
        """Compute the block."""
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(out)))))
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """A network of blocks with shortcuts.

    Parameters
    ----------
    block : type
        :class:`BasicBlock` or :class:`Bottleneck`.
    layers : sequence of int
        The number of blocks of each of the four stages.
    num_classes : int
        The number of scores.
    width_per_group : int
        The width of a bottleneck.

    Examples
    --------
    >>> from forerun import torch
    >>> net = torch.vision.models.ResNet(torch.vision.models.BasicBlock, (1, 1, 1, 1), num_classes=3)
    >>> net.eval()(torch.zeros(1, 3, 32, 32)).shape
    torch.Size([1, 3])
    """

    def __init__(
        self, block: Callable[..., Any], layers: Any, num_classes: int = 1000, width_per_group: int = 64
    ) -> None:
        super().__init__()
        self.inplanes = 64
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for number, (planes, count) in enumerate(zip((64, 128, 256, 512), layers, strict=True), 1):
            stage = self._stage(block, planes, count, 1 if number == 1 else 2, width_per_group)
            setattr(self, f"layer{number}", stage)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)  # type: ignore[attr-defined]
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def _stage(self, block: Any, planes: int, count: int, stride: int, width: int) -> nn.Sequential:
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, planes * block.expansion, 1, stride, bias=False),
                nn.BatchNorm2d(planes * block.expansion),
            )
        layers = [block(self.inplanes, planes, stride, downsample, width)]
        self.inplanes = planes * block.expansion
        layers += [block(self.inplanes, planes, width=width) for _ in range(1, count)]
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Any:
        """Compute the scores."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


_PLANS: dict[str, tuple[Any, ...]] = {
    "11": (64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"),
    "13": (64, 64, "M", 128, 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"),
    "16": (64, 64, "M", 128, 128, "M", *(256,) * 3, "M", *(512,) * 3, "M", *(512,) * 3, "M"),
    "19": (64, 64, "M", 128, 128, "M", *(256,) * 4, "M", *(512,) * 4, "M", *(512,) * 4, "M"),
}
# The names of the published files, without their ending.
_VGG_FILES = {
    "vgg11": "vgg11-8a719046", "vgg13": "vgg13-19584684", "vgg16": "vgg16-397923af", "vgg19": "vgg19-dcbb9e9d",
    "vgg11_bn": "vgg11_bn-6002323d", "vgg13_bn": "vgg13_bn-abd245e5", "vgg16_bn": "vgg16_bn-6c64b313",
    "vgg19_bn": "vgg19_bn-c79401a0",
}  # fmt: skip
_RESNETS: dict[str, tuple[type[nn.Module], tuple[int, ...], int, str]] = {
    "resnet18": (BasicBlock, (2, 2, 2, 2), 64, "resnet18-f37072fd"),
    "resnet34": (BasicBlock, (3, 4, 6, 3), 64, "resnet34-b627a593"),
    "resnet50": (Bottleneck, (3, 4, 6, 3), 64, "resnet50-0676ba61"),
    "resnet101": (Bottleneck, (3, 4, 23, 3), 64, "resnet101-63fe2227"),
    "resnet152": (Bottleneck, (3, 8, 36, 3), 64, "resnet152-394f9c45"),
    "wide_resnet50_2": (Bottleneck, (3, 4, 6, 3), 128, "wide_resnet50_2-95faca4d"),
    "wide_resnet101_2": (Bottleneck, (3, 4, 23, 3), 128, "wide_resnet101_2-32ee1156"),
}


class _Enumeration:
    """The published weights of one network under torchvision's names."""

    def __init__(self, weights: Weights) -> None:
        self.DEFAULT = self.IMAGENET1K_V1 = weights


def _maker(name: str, make: Callable[..., nn.Module], published: Weights) -> Callable[..., Any]:
    def network(*, weights: Any = None, progress: bool = True, pretrained: bool = False, **options: Any) -> Any:
        return _filled(make(**options), "DEFAULT" if pretrained else weights, published)

    network.__name__ = network.__qualname__ = name
    network.__doc__ = f"Make the network ``{name}``, with the weights of a local file if ``weights`` is given."
    return network


def _publish(name: str, title: str, make: Callable[..., nn.Module], file: str) -> None:
    weights = Weights(name, file)
    globals()[name] = _maker(name, make, weights)
    globals()[f"{title}_Weights"] = _Enumeration(weights)
    __all__.extend([name, f"{title}_Weights"])


def _vgg(plan: str, batch_norm: bool) -> Callable[..., nn.Module]:
    return lambda **options: VGG(_PLANS[plan], batch_norm, **options)


def _resnet(block: type[nn.Module], layers: tuple[int, ...], width: int) -> Callable[..., nn.Module]:
    return lambda **options: ResNet(block, layers, width_per_group=width, **options)


_publish("alexnet", "AlexNet", AlexNet, "alexnet-owt-7be5be79")
for _name, _file in _VGG_FILES.items():
    _publish(_name, _name.upper(), _vgg(_name[3:5], _name.endswith("_bn")), _file)
for _name, (_block, _layers, _width, _file) in _RESNETS.items():
    _publish(_name, _name.replace("resnet", "ResNet").replace("wide", "Wide"), _resnet(_block, _layers, _width), _file)
__all__[:] = sorted(set(__all__))

__getattr__ = module_getattr(
    __name__, globals(), {"get_model": "call the network's function", "detection": "only classifiers are here"}
)
