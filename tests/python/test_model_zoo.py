"""The model zoo: MXNet's architectures, names and numbers of parameters, and files of weights."""

from __future__ import annotations

import hashlib
import itertools
import math
import pathlib
import re
import struct
from typing import Any

import numpy
import pytest

from forerun import autograd, gluon, init, np, npx
from forerun.gluon.model_zoo import model_store, vision

# The numbers of parameters in MXNet's documentation; running statistics count.
COUNTS = {
    "alexnet": 61_100_840,
    "densenet121": 8_062_504,
    "densenet161": 28_900_936,
    "densenet169": 14_307_880,
    "densenet201": 20_242_984,
    "inceptionv3": 23_869_000,
    "mobilenet0.25": 475_544,
    "mobilenet0.5": 1_342_536,
    "mobilenet0.75": 2_601_976,
    "mobilenet1.0": 4_253_864,
    "mobilenetv2_0.25": 1_526_856,
    "mobilenetv2_0.5": 1_983_104,
    "mobilenetv2_0.75": 2_653_864,
    "mobilenetv2_1.0": 3_539_136,
    "resnet18_v1": 11_699_112,
    "resnet18_v2": 11_695_796,
    "resnet34_v1": 21_814_696,
    "resnet34_v2": 21_811_380,
    "resnet50_v1": 25_629_032,
    "resnet50_v2": 25_595_060,
    "resnet101_v1": 44_695_144,
    "resnet101_v2": 44_639_412,
    "resnet152_v1": 60_404_072,
    "resnet152_v2": 60_329_140,
    "squeezenet1.0": 1_248_424,
    "squeezenet1.1": 1_235_496,
    "vgg11": 132_863_336,
    "vgg11_bn": 132_874_344,
    "vgg13": 133_047_848,
    "vgg13_bn": 133_059_624,
    "vgg16": 138_357_544,
    "vgg16_bn": 138_374_440,
    "vgg19": 143_667_240,
    "vgg19_bn": 143_689_256,
}
# The smallest network of each kind, and the extent of its images.
SMALL = {
    "alexnet": 63,
    "densenet121": 224,
    "inceptionv3": 299,
    "mobilenet0.25": 32,
    "mobilenetv2_0.25": 32,
    "resnet18_v1": 32,
    "resnet18_v2": 32,
    "resnet50_v1": 32,
    "resnet50_v2": 32,
    "squeezenet1.0": 224,
    "squeezenet1.1": 224,
    "vgg11": 32,
    "vgg11_bn": 32,
}


# The extents of the results of the layers of `features`, each with how many layers in a row have it.
EXTENTS = {
    "alexnet": [(55, 1), (27, 2), (13, 4), (6, 1)],
    "densenet121": [(112, 3), (56, 2), (28, 2), (14, 2), (7, 4), (1, 1)],
    "inceptionv3": [(149, 1), (147, 2), (73, 2), (71, 1), (35, 4), (17, 5), (8, 3), (1, 2)],
    "mobilenet0.25": [(112, 9), (56, 12), (28, 12), (14, 36), (7, 12), (1, 1)],
    "mobilenetv2_0.25": [(112, 4), (56, 2), (28, 3), (14, 7), (7, 7), (1, 1)],
    "resnet50_v1": [(112, 3), (56, 2), (28, 1), (14, 1), (7, 1), (1, 1)],
    "resnet50_v2": [(224, 1), (112, 3), (56, 2), (28, 1), (14, 1), (7, 3), (1, 1)],
    "squeezenet1.0": [(109, 2), (54, 4), (27, 5), (13, 3)],
    "squeezenet1.1": [(111, 2), (55, 3), (27, 3), (13, 6)],
    "vgg11": [(224, 2), (112, 3), (56, 5), (28, 5), (14, 5), (7, 1)],
}
# These networks have parameters of 400 MB and more, which are allocated to infer the shapes.
LARGE = [name for name in COUNTS if name.startswith(("alexnet", "vgg"))]


def assert_like_mxnet(name: str) -> None:
    """Compare the numbers of parameters, and the extents that strides and pooling give."""
    net = vision.get_model(name)
    found: list[int] = []
    for layer in net.features:
        layer.register_forward_hook(lambda _, __, out: found.append(out.shape[2]) if out.ndim == 4 else None)
    side = 299 if name == "inceptionv3" else 224
    # An empty batch determines the shapes without computing anything.
    net.infer_shape(np.zeros((0, 3, side, side)))
    assert sum(math.prod(one.shape) for one in net.collect_params().values()) == COUNTS[name]
    assert {path.split(".")[0] for path in net.collect_params()} == {"features", "output"}
    if name in EXTENTS:
        assert [(extent, len(list(same))) for extent, same in itertools.groupby(found)] == EXTENTS[name]


@pytest.mark.parametrize("name", [name for name in COUNTS if name not in LARGE])
def test_every_network_is_like_mxnets(name: str) -> None:
    assert_like_mxnet(name)


@pytest.mark.parametrize("name", LARGE)
def test_large_networks_are_like_mxnets(name: str) -> None:
    assert_like_mxnet(name)


def test_get_model_knows_every_network() -> None:
    assert vision._MODELS.keys() == COUNTS.keys()
    assert isinstance(vision.get_model("ResNet18_v1"), vision.ResNetV1)
    with pytest.raises(ValueError, match=r"there is no network 'resnet19_v1'; the networks are alexnet, densenet121"):
        vision.get_model("resnet19_v1")


@pytest.mark.parametrize("name", SMALL)
def test_a_network_computes_scores(name: str, tmp_path: pathlib.Path) -> None:
    np.random.seed(1)
    net = vision.get_model(name, classes=7)
    net.initialize(init.Xavier())
    side = SMALL[name]
    x = np.random.normal(size=(1, 3, side, side))
    scores = net(x).asnumpy()
    assert scores.shape == (1, 7) and numpy.isfinite(scores).all()
    net.hybridize()
    net(x)
    numpy.testing.assert_array_equal(net(x).asnumpy(), scores)


def test_parameters_are_named_by_structure() -> None:
    names = list(vision.resnet18_v1().collect_params())
    assert names[:4] == ["features.0.weight", "features.1.gamma", "features.1.beta", "features.1.running_mean"]
    assert "features.5.0.downsample.0.weight" in names and "features.7.1.body.4.running_var" in names
    assert names[-2:] == ["output.weight", "output.bias"]
    # MXNet's bottlenecks have biases, although batch normalisation follows.
    assert "features.4.0.body.0.bias" in vision.resnet50_v1().collect_params()
    assert "features.8.0.conv1.weight" in vision.resnet50_v2().collect_params()
    assert "features.4.0.1.0.gamma" in vision.densenet121().collect_params()
    assert "features.16.1.1.1.0.0.weight" in vision.inception_v3().collect_params()
    assert "features.3.out.0.weight" in vision.mobilenet_v2_1_0().collect_params()
    assert "features.3.1.1.0.weight" in vision.squeezenet1_1().collect_params()


def mxnet_file(arrays: dict[str, numpy.ndarray]) -> bytes:
    """Return a file as MXNet 1.9 writes it."""
    data = struct.pack("<QQQ", 0x112, 0, len(arrays))
    for array in arrays.values():
        data += struct.pack("<IiI", 0xF993FAC9, 0, array.ndim) + struct.pack(f"<{array.ndim}q", *array.shape)
        data += struct.pack("<iii", 1, 0, 0) + array.astype("<f4").tobytes()
    data += struct.pack("<Q", len(arrays))
    for name in arrays:
        data += struct.pack("<Q", len(name)) + name.encode()
    return data


def small(**options: Any) -> vision.MobileNet:
    return vision.mobilenet0_25(classes=3, **options)


def weights() -> dict[str, numpy.ndarray]:
    net = small()
    net.infer_shape(np.zeros((0, 3, 32, 32)))
    draw = numpy.random.default_rng(2)
    return {name: draw.uniform(0.5, 1.5, one.shape).astype("f4") for name, one in net.collect_params().items()}


def test_weights_come_from_a_folder(tmp_path: pathlib.Path) -> None:
    given = weights()
    data = mxnet_file(given)
    digest = hashlib.sha1(data).hexdigest()
    hashed = tmp_path / f"mobilenet0.25-{digest[:8]}.params"
    hashed.write_bytes(data)
    net = small(pretrained=True, root=tmp_path, ctx=npx.current_device())
    for name, one in net.collect_params().items():
        numpy.testing.assert_array_equal(one.data().asnumpy(), given[name])
    x = np.random.normal(size=(2, 3, 32, 32))
    # What a network saves, it loads again, in both formats.
    for suffix in ("params", "safetensors"):
        hashed.unlink()
        hashed = tmp_path / f"mobilenet0.25.{suffix}"
        net.save_parameters(hashed)
        again = vision.get_model("mobilenet0.25", classes=3, pretrained=True, root=str(tmp_path))
        numpy.testing.assert_array_equal(again(x).asnumpy(), net(x).asnumpy())


def test_missing_and_damaged_files_are_named(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError, match=rf"no weights of mobilenet0\.25 in {re.escape(str(tmp_path))}: put"):
        small(pretrained=True, root=tmp_path)
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    with pytest.raises(FileNotFoundError, match=rf"vgg11_bn in {re.escape(str(tmp_path / 'home' / 'models'))}"):
        vision.vgg11_bn(pretrained=True)
    for name, message in [("01234567", "is damaged: its SHA-1 checksum begins with da39a3ee"), ("89abcdef", "several")]:
        (tmp_path / f"mobilenet0.25-{name}.params").touch()
        with pytest.raises(ValueError, match=message):
            model_store.get_model_file("mobilenet0.25", tmp_path)
    with pytest.raises(AttributeError, match=r"purge.*nothing is downloaded"):
        _ = model_store.purge  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="ctx and device are the same argument"):
        vision.resnet18_v1(ctx=npx.cpu(), device=npx.cpu())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vision.get_resnet(3, 18), "version must be 1 or 2, got 3"),
        (lambda: vision.get_resnet(1, 19), "num_layers must be one of 18, 34, 50, 101, 152, got 19"),
        (lambda: vision.get_vgg(12), "num_layers must be one of 11, 13, 16, 19, got 12"),
        (lambda: vision.get_densenet(1), "num_layers must be one of 121, 161, 169, 201, got 1"),
        (lambda: vision.SqueezeNet("2.0"), "version must be '1.0' or '1.1', got '2.0'"),
        (lambda: vision.VGG([1], [1, 2]), "layers and filters differ in length: 1 and 2"),
        (lambda: vision.ResNetV1(vision.BasicBlockV1, [1], [1]), "one number more than layers, not 1 and 1"),
        (lambda: vision.from_torchvision("resnet18_v2", "x"), "torchvision has no 'resnet18_v2'"),
    ],
)
def test_wrong_arguments_are_named(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_a_network_learns() -> None:
    np.random.seed(4)
    net = vision.ResNetV2(vision.BottleneckV2, [1, 1], [8, 16, 32], classes=2, thumbnail=True)
    net.initialize(init.Xavier())
    x = np.random.normal(size=(16, 3, 8, 8))
    y = (x[:, 0].mean(axis=(1, 2)) > 0).astype("int32")
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for _ in range(12):
        with autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(16)
        losses.append(float(value.mean()))
    assert losses[-1] < 0.5 * losses[0]


def torch_names(net: Any) -> dict[str, str]:
    """Return torchvision's names of a ResNet's parameters, from the rules of its classes."""
    found = {}
    layers = {"gamma": "weight", "beta": "bias"}
    for name in net.collect_params():
        head, *rest = name.split(".")
        last = layers.get(rest[-1], rest[-1])
        if head == "output":
            found[name] = f"fc.{last}"
        elif rest[0] in "01":
            found[name] = f"{['conv1', 'bn1'][int(rest[0])]}.{last}"
        else:
            block = f"layer{int(rest[0]) - 3}.{rest[1]}"
            if rest[2] == "downsample":
                found[name] = f"{block}.downsample.{rest[3]}.{last}"
            else:
                place = int(rest[3])
                found[name] = f"{block}.{'conv' if place % 3 == 0 else 'bn'}{place // 3 + 1}.{last}"
    return found


def test_a_state_dict_of_torchvision_is_loaded(tmp_path: pathlib.Path) -> None:
    np.random.seed(6)
    net = vision.resnet50_v1(classes=5, late_stride=True)
    net.initialize(init.Xavier())
    x = np.random.normal(size=(1, 3, 32, 32))
    scores = net(x).asnumpy()
    names = torch_names(net)
    # torchvision's convolutions have no bias; here it is zero.
    state = {
        names[name]: one.data()
        for name, one in net.collect_params().items()
        if not (".body." in name and name.endswith(".bias"))
    }
    state["bn1.num_batches_tracked"] = np.array(3)
    path = tmp_path / "resnet50.safetensors"
    npx.save(path, state)
    again = vision.from_torchvision("resnet50_v1", path, npx.current_device())
    numpy.testing.assert_array_equal(again(x).asnumpy(), scores)
    state["more"] = np.ones((1,))
    npx.save(path, state)
    with pytest.raises(ValueError, match=r"resnet50\.safetensors has arrays that ResNetV1 does not need: more"):
        vision.from_torchvision("resnet50_v1", path)
    npx.save(path, {name: state[name] for name in ("conv1.weight", "fc.bias")})
    with pytest.raises(ValueError, match=r"has no array 'bn1\.weight', which ResNetV1 needs"):
        vision.from_torchvision("resnet50_v1", path)


def test_a_mobilenet_of_torchvision_has_no_expansion_in_its_first_block(tmp_path: pathlib.Path) -> None:
    np.random.seed(7)
    net = vision.MobileNetV2(classes=4, output_bias=True)
    net.initialize(init.Xavier())
    net.infer_shape(np.zeros((0, 3, 32, 32)))
    x = np.random.normal(size=(1, 3, 32, 32))
    net(x)
    state = {}
    layers = {"gamma": "weight", "beta": "bias"}
    for name, one in net.collect_params().items():
        head, *rest = name.split(".")
        last, place = layers.get(rest[-1], rest[-1]), int(rest[0])
        if head == "output":
            array = one.data()
            state[f"classifier.1.{last}"] = array.reshape(4, -1) if last == "weight" else array
        elif place < 3 or place > 19:
            state[f"features.{0 if place < 3 else 18}.{place % 3 if place < 3 else place - 20}.{last}"] = one.data()
        else:
            layer = int(rest[2])
            if place == 3 and layer < 2:
                # The expansion of the first block changes nothing.
                channels = one.shape[0]
                value = np.eye(channels).reshape(one.shape) if last == "weight" and layer == 0 else one.data()
                one.set_data(value)
                if rest[-1] == "gamma":
                    one.set_data(np.full((channels,), math.sqrt(1 + 1e-5)))
                continue
            position = layer - 3 if place == 3 else layer
            path = {0: "0.0", 1: "0.1", 3: "1.0", 4: "1.1", 6: "2", 7: "3"}[position]
            path = {"1.0": "1", "1.1": "2"}.get(path, path) if place == 3 else path
            state[f"features.{place - 2}.conv.{path}.{last}"] = one.data()
    npx.save(tmp_path / "state", state)
    again = vision.from_torchvision("mobilenetv2_1.0", tmp_path / "state")
    numpy.testing.assert_allclose(again(x).asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-6)
