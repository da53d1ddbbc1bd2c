"""State dicts of torchvision's networks: their names, and the layers that differ from MXNet's."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from forerun import np
from forerun._device import DeviceLike, asked
from forerun._files import load_parameters
from forerun._forerun import ndarray
from forerun._refused import refused
from forerun.gluon import nn
from forerun.gluon.block import Block

# torchvision's names of a layer's arrays.
_NORM = {"gamma": "weight", "beta": "bias", "running_mean": "running_mean", "running_var": "running_var"}


class _Shared(NamedTuple):
    """A network that torchvision has: its name there, the names of its layers in our order, options of ours."""

    name: str
    layers: Callable[[Block], Iterator[str]]
    options: dict[str, Any]


def _resnet(net: Any) -> Iterator[str]:
    yield from ("conv1", "bn1")
    stages = [child for child in net.features if isinstance(child, nn.HybridSequential)]
    for stage, blocks in enumerate(stages, 1):
        block: Any
        for number, block in enumerate(blocks):
            path = f"layer{stage}.{number}"
            count = sum(isinstance(layer, nn.Conv2D) for layer in block.body)
            for conv in range(1, count + 1):
                yield from (f"{path}.conv{conv}", f"{path}.bn{conv}")
            if block.downsample is not None:
                yield from (f"{path}.downsample.0", f"{path}.downsample.1")
    yield "fc"


def _features(*classifier: int) -> Callable[[Any], Iterator[str]]:
    """Return the names of a sequence of convolutions and a classifier with its layers at these positions."""

    def layers(net: Any) -> Iterator[str]:
        position = 0
        for layer in net.features:
            if isinstance(layer, (nn.Conv2D, nn.BatchNorm)):
                yield f"features.{position}"
            # torchvision lists an activation on its own.
            position += 2 if isinstance(layer, nn.Conv2D) and layer.act is not None else 1
        for number in classifier:
            yield f"classifier.{number}"

    return layers


def _densenet(net: Any) -> Iterator[str]:
    yield from ("features.conv0", "features.norm0")
    stages = [child for child in net.features if isinstance(child, nn.HybridSequential)]
    # Dense stages and transitions take turns.
    for place, stage in enumerate(stages):
        number = place // 2 + 1
        if place % 2:
            yield from (f"features.transition{number}.norm", f"features.transition{number}.conv")
            continue
        for layer in range(1, len(stage) + 1):
            path = f"features.denseblock{number}.denselayer{layer}"
            yield from (f"{path}.{name}" for name in ("norm1", "conv1", "norm2", "conv2"))
    yield from ("features.norm5", "classifier")


def _squeezenet(net: Any) -> Iterator[str]:
    for position, layer in enumerate(net.features):
        if isinstance(layer, nn.Conv2D):
            yield f"features.{position}"
        elif isinstance(layer, nn.HybridSequential):
            yield from (f"features.{position}.{name}" for name in ("squeeze", "expand1x1", "expand3x3"))
    yield "classifier.1"


# The convolutions of torchvision's Inception modules.
_MODULES = {
    "A": "branch1x1 branch5x5_1 branch5x5_2 branch3x3dbl_1 branch3x3dbl_2 branch3x3dbl_3 branch_pool",
    "B": "branch3x3 branch3x3dbl_1 branch3x3dbl_2 branch3x3dbl_3",
    "C": "branch1x1 branch7x7_1 branch7x7_2 branch7x7_3 branch7x7dbl_1 branch7x7dbl_2 branch7x7dbl_3 branch7x7dbl_4"
    " branch7x7dbl_5 branch_pool",
    "D": "branch3x3_1 branch3x3_2 branch7x7x3_1 branch7x7x3_2 branch7x7x3_3 branch7x7x3_4",
    "E": "branch1x1 branch3x3_1 branch3x3_2a branch3x3_2b branch3x3dbl_1 branch3x3dbl_2 branch3x3dbl_3a"
    " branch3x3dbl_3b branch_pool",
}
_MIXED = dict(zip(("5b", "5c", "5d", "6a", "6b", "6c", "6d", "6e", "7a", "7b", "7c"), "AAABCCCCDEE", strict=True))


def _inception(net: Any) -> Iterator[str]:
    convs = [f"Conv2d_{name}" for name in ("1a_3x3", "2a_3x3", "2b_3x3", "3b_1x1", "4a_3x3")]
    convs += [f"Mixed_{name}.{conv}" for name, kind in _MIXED.items() for conv in _MODULES[kind].split()]
    for conv in convs:
        yield from (f"{conv}.conv", f"{conv}.bn")
    yield "fc"


def _mobilenet_v2(net: Any) -> Iterator[str]:
    yield from ("features.0.0", "features.0.1")
    blocks = sum(hasattr(layer, "use_shortcut") for layer in net.features)
    for number in range(1, blocks + 1):
        path = f"features.{number}.conv"
        if number == 1:
            # torchvision's first block has no expansion; the empty names stand for layers that change nothing.
            yield from ("", "", f"{path}.0.0", f"{path}.0.1", f"{path}.1", f"{path}.2")
        else:
            yield from (f"{path}.{name}" for name in ("0.0", "0.1", "1.0", "1.1", "2", "3"))
    yield from (f"features.{blocks + 1}.0", f"features.{blocks + 1}.1", "classifier.1")


_SHARED = {
    "alexnet": _Shared("alexnet", _features(1, 4, 6), {}),
    **{f"densenet{n}": _Shared(f"densenet{n}", _densenet, {}) for n in (121, 161, 169, 201)},
    "inceptionv3": _Shared("inception_v3", _inception, {}),
    "mobilenetv2_1.0": _Shared("mobilenet_v2", _mobilenet_v2, {"output_bias": True}),
    **{f"resnet{n}_v1": _Shared(f"resnet{n}", _resnet, {"late_stride": True}) for n in (18, 34, 50, 101, 152)},
    "squeezenet1.0": _Shared("squeezenet1_0", _squeezenet, {}),
    "squeezenet1.1": _Shared("squeezenet1_1", _squeezenet, {}),
    **{f"vgg{n}{b}": _Shared(f"vgg{n}{b}", _features(0, 3, 6), {}) for n in (11, 13, 16, 19) for b in ("", "_bn")},
}


def from_torchvision(
    name: str,
    filename: str | os.PathLike[str],
    ctx: DeviceLike = None,
    *,
    device: DeviceLike = None,
    **options: Any,
) -> Any:
    """Make a network with the weights of torchvision's network of the same architecture.

    The file holds the network's state dict, in the safetensors format, which PyTorch programs write by
    ``safetensors.torch.save_file(net.state_dict(), filename)``. The result computes what torchvision's network computes
    in evaluation mode. Where MXNet's architecture differs, the result has torchvision's form; ``docs/model_zoo.md``
    lists the differences.

    Parameters
    ----------
    name
        The name, as :func:`get_model` accepts it: ``"alexnet"``, ``"densenet121"`` to ``"densenet201"``,
        ``"inceptionv3"``, ``"mobilenetv2_1.0"``, ``"resnet18_v1"`` to ``"resnet152_v1"``, ``"squeezenet1.0"``,
        ``"squeezenet1.1"``, ``"vgg11"`` to ``"vgg19_bn"``.
    filename
        The file.
    ctx, device
        The device or devices to place the weights on.
    **options
        Passed to the network. ``classes`` follows from the file.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import np, npx
    >>> from forerun.gluon.model_zoo import vision
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "alexnet.safetensors")
    ...     npx.save(path, {"classifier.6.bias": np.zeros((10,))})
    ...     vision.from_torchvision("alexnet", path)
    Traceback (most recent call last):
        ...
    ValueError: from_torchvision: ...alexnet.safetensors has no array 'features.0.weight', which AlexNet needs
    """
    from forerun.gluon.model_zoo import vision

    shared = _SHARED.get(name.lower())
    if shared is None:
        raise ValueError(f"from_torchvision: torchvision has no {name!r}; the shared networks are {', '.join(_SHARED)}")
    where = f"from_torchvision: {os.fspath(filename)}"
    given = load_parameters(filename)
    net = vision.get_model(name, **shared.options, **options)
    layers = list(shared.layers(net))
    last = given.get(f"{layers[-1]}.bias")
    if "classes" not in options and last is not None and last.ndim == 1:
        net = vision.get_model(name, **shared.options, **options, classes=last.shape[0])
    net.load_dict(_renamed(net, layers, given, where), asked("from_torchvision", ctx, device))
    return net


def _renamed(net: Block, layers: list[str], given: dict[str, ndarray], where: str) -> dict[str, ndarray]:
    """Return the arrays under our names."""
    kind = type(net).__name__
    left = {name for name in given if not name.endswith(".num_batches_tracked") and not name.startswith("AuxLogits.")}
    renamed: dict[str, ndarray] = {}
    for (path, layer), theirs in zip(_leaves(net, ""), layers, strict=True):
        for name in layer.params:
            key = f"{theirs}.{_NORM.get(name, name)}"
            if not theirs:
                renamed[path + name] = _neutral(layer, name, given[f"{layers[0]}.weight"].shape[0])
            elif key in left:
                renamed[path + name] = given[key]
                left.discard(key)
            elif isinstance(layer, nn.Conv2D) and name == "bias":
                # A convolution of MXNet's bottlenecks has a bias, torchvision's has none.
                renamed[path + name] = np.zeros(given[f"{theirs}.weight"].shape[:1])
            else:
                raise refused(f"{where} has no array {key!r}, which {kind} needs")
    if left:
        raise refused(f"{where} has arrays that {kind} does not need: {', '.join(sorted(left)[:8])}")
    return renamed


def _leaves(block: Block, path: str) -> Iterator[tuple[str, Block]]:
    """Return the layers with parameters and the beginnings of the parameters' names, in structural order."""
    if block.params:
        yield path, block
    for name, child in block._children.items():
        yield from _leaves(child, f"{path}{name}.")


def _neutral(layer: Block, name: str, channels: int) -> ndarray:
    """Return the parameter of a 1x1 convolution or batch normalisation that changes nothing."""
    if name == "weight":
        return np.eye(channels).reshape(channels, channels, 1, 1)
    if name == "gamma":
        assert isinstance(layer, nn.BatchNorm)
        return np.full((channels,), math.sqrt(1 + layer._epsilon))
    return np.ones((channels,)) if name == "running_var" else np.zeros((channels,))
