"""Networks that classify images: MXNet's 34 architectures, under MXNet's names.

Names of parameters and their shapes are MXNet's too, so that its ``.params`` files load. ``docs/model_zoo.md`` lists
the networks with their numbers of parameters.

Examples
--------
>>> from forerun import np
>>> from forerun.gluon.model_zoo import vision
>>> net = vision.get_model("mobilenet0.25", classes=10)
>>> net.initialize()
>>> net(np.ones((1, 3, 64, 64))).shape
(1, 10)
"""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable as _Callable

from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.hybrid import HybridBlock as _HybridBlock
from forerun.gluon.model_zoo.vision._torchvision import from_torchvision
from forerun.gluon.model_zoo.vision.alexnet import (
    AlexNet,
    alexnet,
)
from forerun.gluon.model_zoo.vision.densenet import (
    DenseNet,
    densenet121,
    densenet161,
    densenet169,
    densenet201,
    get_densenet,
)
from forerun.gluon.model_zoo.vision.inception import (
    Inception3,
    inception_v3,
)
from forerun.gluon.model_zoo.vision.mobilenet import (
    MobileNet,
    MobileNetV2,
    get_mobilenet,
    get_mobilenet_v2,
    mobilenet0_5,
    mobilenet0_25,
    mobilenet0_75,
    mobilenet1_0,
    mobilenet_v2_0_5,
    mobilenet_v2_0_25,
    mobilenet_v2_0_75,
    mobilenet_v2_1_0,
)
from forerun.gluon.model_zoo.vision.resnet import (
    BasicBlockV1,
    BasicBlockV2,
    BottleneckV1,
    BottleneckV2,
    ResNetV1,
    ResNetV2,
    get_resnet,
    resnet18_v1,
    resnet18_v2,
    resnet34_v1,
    resnet34_v2,
    resnet50_v1,
    resnet50_v2,
    resnet101_v1,
    resnet101_v2,
    resnet152_v1,
    resnet152_v2,
)
from forerun.gluon.model_zoo.vision.squeezenet import (
    SqueezeNet,
    get_squeezenet,
    squeezenet1_0,
    squeezenet1_1,
)
from forerun.gluon.model_zoo.vision.vgg import (
    VGG,
    get_vgg,
    vgg11,
    vgg11_bn,
    vgg13,
    vgg13_bn,
    vgg16,
    vgg16_bn,
    vgg19,
    vgg19_bn,
)

__all__ = [
    "VGG",
    "AlexNet",
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "DenseNet",
    "Inception3",
    "MobileNet",
    "MobileNetV2",
    "ResNetV1",
    "ResNetV2",
    "SqueezeNet",
    "alexnet",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
    "from_torchvision",
    "get_densenet",
    "get_mobilenet",
    "get_mobilenet_v2",
    "get_model",
    "get_resnet",
    "get_squeezenet",
    "get_vgg",
    "inception_v3",
    "mobilenet0_5",
    "mobilenet0_25",
    "mobilenet0_75",
    "mobilenet1_0",
    "mobilenet_v2_0_5",
    "mobilenet_v2_0_25",
    "mobilenet_v2_0_75",
    "mobilenet_v2_1_0",
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
    "squeezenet1_0",
    "squeezenet1_1",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]

_MODELS: dict[str, _Callable[..., _HybridBlock]] = {
    "alexnet": alexnet,
    "densenet121": densenet121,
    "densenet161": densenet161,
    "densenet169": densenet169,
    "densenet201": densenet201,
    "inceptionv3": inception_v3,
    "mobilenet0.25": mobilenet0_25,
    "mobilenet0.5": mobilenet0_5,
    "mobilenet0.75": mobilenet0_75,
    "mobilenet1.0": mobilenet1_0,
    "mobilenetv2_0.25": mobilenet_v2_0_25,
    "mobilenetv2_0.5": mobilenet_v2_0_5,
    "mobilenetv2_0.75": mobilenet_v2_0_75,
    "mobilenetv2_1.0": mobilenet_v2_1_0,
    "resnet18_v1": resnet18_v1,
    "resnet18_v2": resnet18_v2,
    "resnet34_v1": resnet34_v1,
    "resnet34_v2": resnet34_v2,
    "resnet50_v1": resnet50_v1,
    "resnet50_v2": resnet50_v2,
    "resnet101_v1": resnet101_v1,
    "resnet101_v2": resnet101_v2,
    "resnet152_v1": resnet152_v1,
    "resnet152_v2": resnet152_v2,
    "squeezenet1.0": squeezenet1_0,
    "squeezenet1.1": squeezenet1_1,
    "vgg11": vgg11,
    "vgg11_bn": vgg11_bn,
    "vgg13": vgg13,
    "vgg13_bn": vgg13_bn,
    "vgg16": vgg16,
    "vgg16_bn": vgg16_bn,
    "vgg19": vgg19,
    "vgg19_bn": vgg19_bn,
}


def get_model(name: str, **options: _typing.Any) -> _typing.Any:
    """Make a network by name.

    Parameters
    ----------
    name
        The name, such as ``"resnet50_v1"``, ``"mobilenetv2_1.0"`` or ``"squeezenet1.1"``. Case does not matter.
    **options
        ``classes``, ``pretrained``, ``root``, ``ctx`` and others, as the function of the network accepts them.

    Examples
    --------
    >>> from forerun.gluon.model_zoo import vision
    >>> vision.get_model("resnet18_v2", classes=10).output
    Dense(512 -> 10, linear)
    """
    make = _MODELS.get(name.lower())
    if make is None:
        raise ValueError(f"get_model: there is no network {name!r}; the networks are {', '.join(_MODELS)}")
    return make(**options)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
