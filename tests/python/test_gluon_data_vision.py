"""Published datasets of small images and datasets of image files, from tiny files that the tests write."""

from __future__ import annotations

import gzip
import io
import os
import pathlib
import pickle
import struct
import tarfile
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from forerun import gluon, image, np, recordio
from forerun.gluon import data
from forerun.gluon.data import vision
from forerun.gluon.data.vision import transforms

RANDOM = numpy.random.RandomState(0)


def idx(values: Any) -> bytes:
    return struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()


def digits(folder: pathlib.Path, packed: bool = True, train: int = 7, test: int = 3) -> dict[str, Any]:
    """Write MNIST's files; return their contents."""
    made = {}
    for part, count in (("train", train), ("t10k", test)):
        made[part] = (RANDOM.randint(0, 256, (count, 28, 28)).astype("u1"), RANDOM.randint(0, 10, count).astype("u1"))
        for name, values in zip(("images-idx3", "labels-idx1"), made[part], strict=True):
            content = idx(values)
            path = folder / f"{part}-{name}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(content) if packed else content)
    return made


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("kind", [vision.MNIST, vision.FashionMNIST])
def test_mnist(tmp_path: pathlib.Path, packed: bool, kind: Any) -> None:
    made = digits(tmp_path, packed)
    for train, part in ((True, "train"), (False, "t10k")):
        images, labels = made[part]
        found = kind(root=tmp_path, train=train)
        assert len(found) == len(images)
        x, y = found[1]
        assert (x.shape, str(x.dtype), y.dtype) == ((28, 28, 1), "uint8", numpy.int32)
        assert x[..., 0].tolist() == images[1].tolist()
        assert y == labels[1]
        assert found[:2][0].shape == (2, 28, 28, 1)
        (batch,) = data.DataLoader(found.transform_first(transforms.ToTensor()), len(found))
        numpy.testing.assert_array_equal(batch[0].asnumpy()[:, 0], images.astype("float32") / 255)
        assert batch[1].tolist() == labels.tolist()


def test_datasets_are_found_below_mxnet_home(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    (tmp_path / "datasets/mnist").mkdir(parents=True)
    digits(tmp_path / "datasets/mnist")
    assert len(vision.MNIST()) == 7
    place = tmp_path / "datasets/fashion-mnist"
    with pytest.raises(FileNotFoundError) as error:
        vision.FashionMNIST(train=False)
    assert str(error.value) == (
        f"FashionMNIST: {place} has no t10k-images-idx3-ubyte.gz or t10k-images-idx3-ubyte. Forerun downloads nothing:"
        " put the files there, or give their folder as root="
    )
    monkeypatch.delenv("MXNET_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=str(tmp_path / ".mxnet/datasets/cifar10")):
        vision.CIFAR10()


def test_a_function_of_samples(tmp_path: pathlib.Path) -> None:
    made = digits(tmp_path)
    changed = vision.MNIST(tmp_path, transform=lambda x, y: (x.astype("float32") / 255, y + 1))
    (batch,) = data.DataLoader(changed, 7)
    assert str(batch[0].dtype) == "float32"
    assert batch[1].tolist() == (made["train"][1] + 1).tolist()


def corruptions(content: bytes) -> dict[str, tuple[bytes, str]]:
    huge = content[:4] + struct.pack(">III", 2**31, 2**31, 2**31) + content[16:]
    return {
        "empty": (b"", "not an IDX file of bytes with 3 dimensions: starts with \n"),
        "foreign": (b"PK\3\4" + content, "starts with 504b0304"),
        "labels": (content[:3] + b"\1" + content[4:], "starts with 00000801"),
        "header": (content[:10], "the header ends after 10 bytes"),
        "short": (content[:-1], "claims 5488 bytes for shape \\(7, 28, 28\\), the file has 5487|more than the file"),
        "long": (content + b"\0", "the file has more"),
        "huge": (huge, "more than the file can hold"),
    }


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("case", ["empty", "foreign", "labels", "header", "short", "long", "huge"])
def test_corrupt_idx_files(tmp_path: pathlib.Path, case: str, packed: bool) -> None:
    images = digits(tmp_path, packed)["train"][0]
    content, message = corruptions(idx(images))[case]
    path = tmp_path / f"train-images-idx3-ubyte{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(ValueError, match=message) as error:
        vision.MNIST(tmp_path)
    assert f"MNIST: {path}" in str(error.value)
    assert __file__ in str(error.value)


def test_corrupt_gzip_files(tmp_path: pathlib.Path) -> None:
    digits(tmp_path)
    path = tmp_path / "train-images-idx3-ubyte.gz"
    content = path.read_bytes()
    for broken in (content[: len(content) // 2], content[:-6] + b"abcdef", content[:40] + bytes(40) + content[80:]):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=f"MNIST: {path}: "):
            vision.MNIST(tmp_path)
    path.write_bytes(content)
    labels = tmp_path / "train-labels-idx1-ubyte.gz"
    labels.write_bytes(gzip.compress(idx(numpy.zeros(6, "u1"))))
    with pytest.raises(ValueError, match="7 images, but 6 labels"):
        vision.MNIST(tmp_path)


def test_mutated_idx_files(tmp_path: pathlib.Path, long: bool) -> None:
    digits(tmp_path, packed=False, train=2)
    path = tmp_path / "train-images-idx3-ubyte"
    content = bytearray(path.read_bytes())
    for packed in (False, True):
        whole = bytearray(gzip.compress(content)) if packed else content
        for _ in range(20_000 if long else 400):
            mutated = bytearray(whole)
            for _ in range(RANDOM.randint(1, 4)):
                mutated[RANDOM.randint(0, 24 if RANDOM.rand() < 0.5 else len(mutated))] = RANDOM.randint(256)
            path.write_bytes(mutated[: RANDOM.randint(len(mutated))] if RANDOM.rand() < 0.2 else mutated)
            try:
                assert len(vision.MNIST(tmp_path)) == 2
            except ValueError as error:
                assert "MNIST: " in str(error)


def photographs(kind: Any, counts: dict[str, int]) -> dict[str, tuple[bytes, Any, Any]]:
    """Return the files of a CIFAR dataset: bytes, images and labels."""
    made = {}
    for name, count in counts.items():
        images = RANDOM.randint(0, 256, (count, 32, 32, 3)).astype("u1")
        labels = RANDOM.randint(0, 10, (count, 2 if kind is vision.CIFAR100 else 1)).astype("u1")
        records = numpy.concatenate([labels, images.transpose(0, 3, 1, 2).reshape(count, -1)], axis=1)
        made[name] = records.tobytes(), images, labels
    return made


COUNTS = {**{f"data_batch_{number}.bin": number for number in range(1, 6)}, "test_batch.bin": 2}


@pytest.mark.parametrize("place", ["root", "folder", "archive"])
def test_cifar10(tmp_path: pathlib.Path, place: str) -> None:
    made = photographs(vision.CIFAR10, COUNTS)
    put(tmp_path, place, made, "cifar-10-batches-bin", "cifar-10-binary.tar.gz")
    train = vision.CIFAR10(tmp_path)
    assert len(train) == 15
    x, y = train[2]
    assert (x.shape, str(x.dtype), y.dtype) == ((32, 32, 3), "uint8", numpy.int32)
    assert x.tolist() == made["data_batch_2.bin"][1][1].tolist()
    assert y == made["data_batch_2.bin"][2][1, 0]
    assert len(vision.CIFAR10(tmp_path, train=False)) == 2


@pytest.mark.parametrize("place", ["root", "folder", "archive"])
def test_cifar100(tmp_path: pathlib.Path, place: str) -> None:
    made = photographs(vision.CIFAR100, {"train.bin": 4, "test.bin": 3})
    put(tmp_path, place, made, "cifar-100-binary", "cifar-100-binary.tar.gz")
    coarse, fine = vision.CIFAR100(tmp_path), vision.CIFAR100(tmp_path, fine_label=True)
    assert coarse[1][0].tolist() == made["train.bin"][1][1].tolist()
    assert [[y for _, y in labels] for labels in (coarse, fine)] == made["train.bin"][2].T.tolist()
    assert len(vision.CIFAR100(tmp_path, train=False)) == 3


def put(root: pathlib.Path, place: str, made: dict[str, Any], folder: str, archive: str) -> None:
    if place == "archive":
        with tarfile.open(root / archive, "w:gz") as opened:
            for name, (content, _, _) in made.items():
                member = tarfile.TarInfo(f"{folder}/{name}")
                member.size = len(content)
                opened.addfile(member, io.BytesIO(content))
        return
    target = root / folder if place == "folder" else root
    target.mkdir(exist_ok=True)
    for name, (content, _, _) in made.items():
        (target / name).write_bytes(content)


def test_corrupt_cifar_files(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"CIFAR10: .* has no data_batch_1\.bin, .*Forerun downloads nothing"):
        vision.CIFAR10(tmp_path)
    (tmp_path / "cifar-10-batches-py").mkdir()
    with pytest.raises(FileNotFoundError, match="the version for Python, which is pickled and therefore not read"):
        vision.CIFAR10(tmp_path)
    made = photographs(vision.CIFAR10, COUNTS)
    put(tmp_path, "root", made, "", "")
    path = tmp_path / "data_batch_3.bin"
    for content in (b"", made["data_batch_3.bin"][0][:-1]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"CIFAR10: {path}: \d+ bytes are not a multiple of 3073"):
            vision.CIFAR10(tmp_path)
    path.unlink()
    archive = tmp_path / "cifar-10-binary.tar.gz"
    put(tmp_path, "archive", {name: made[name] for name in list(made)[:2]}, "x", archive.name)
    with pytest.raises(ValueError, match=r"does not contain data_batch_3\.bin, data_batch_4\.bin"):
        vision.CIFAR10(tmp_path)
    whole = archive.read_bytes()
    for content in (whole[: len(whole) // 2], b"no archive at all", whole[:60] + bytes(30) + whole[90:]):
        archive.write_bytes(content)
        with pytest.raises(ValueError, match=f"CIFAR10: {archive}"):
            vision.CIFAR10(tmp_path)


def test_archives_may_not_claim_more_than_they_hold(tmp_path: pathlib.Path) -> None:
    member = tarfile.TarInfo("data_batch_1.bin")
    member.size = 2**40
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(gzip.compress(member.tobuf(tarfile.GNU_FORMAT)))
    with pytest.raises(ValueError, match=r"data_batch_1\.bin claims 1099511627776 bytes"):
        vision.CIFAR10(tmp_path)


def pixels(number: int) -> Any:
    return numpy.full((4, 5, 3), 10 * number, "u1")


def written(folder: pathlib.Path, count: int = 6) -> list[str]:
    """Write images, a third of them per class; return their paths below the folder."""
    names = []
    for number in range(count):
        name = f"{'abc'[number % 3]}/{number}.png"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image.imencode(".png", pixels(number)))
        names.append(name)
    return names


WORKERS: list[dict[str, Any]] = [{}, {"num_workers": 2}, {"num_workers": 2, "thread_pool": True}]


def check(dataset: data.Dataset, numbers: list[int], label: Callable[[int], Any]) -> None:
    """Check samples and batches against the images of these numbers."""
    assert len(dataset) == len(numbers)
    for index, number in enumerate(numbers):
        x, y = dataset[index]
        assert type(x) is np.ndarray
        assert (x.asnumpy() == pixels(number)).all()
        assert numpy.array_equal(numpy.asarray(y), numpy.asarray(label(number)))
    for workers in WORKERS:
        batches = list(data.DataLoader(dataset.transform_first(transforms.ToTensor()), 4, **workers))
        found = numpy.concatenate([x.asnumpy() for x, _ in batches])
        expected = numpy.stack([pixels(number) for number in numbers]).transpose(0, 3, 1, 2).astype("f4") / 255
        numpy.testing.assert_array_equal(found, expected)
        labels = numpy.concatenate([y.asnumpy() for _, y in batches])
        assert labels.tolist() == [numpy.asarray(label(number)).tolist() for number in numbers]


def test_image_folders(tmp_path: pathlib.Path) -> None:
    written(tmp_path)
    (tmp_path / "a/notes.txt").write_text("no image")
    (tmp_path / "README").write_text("no folder")
    with pytest.warns(UserWarning, match="is ignored"):
        found = vision.ImageFolderDataset(tmp_path)
    assert found.synsets == ["a", "b", "c"]
    assert [label for _, label in found.items] == [0, 0, 1, 1, 2, 2]
    check(found, [0, 3, 1, 4, 2, 5], lambda number: number % 3)
    with pytest.warns(UserWarning, match="is ignored"):
        gray = vision.ImageFolderDataset(tmp_path, flag=0, transform=lambda x, y: (x, -y))
    x, y = gray[5]
    assert (x.shape, y) == ((4, 5, 1), -2)
    (tmp_path / "b/1.png").write_bytes(b"\x89PNG\r\n\x1a\n broken")
    for workers in WORKERS:
        with pytest.raises(ValueError, match=r"b/1\.png"):
            list(data.DataLoader(found, 2, **workers))


def test_image_lists(tmp_path: pathlib.Path) -> None:
    names = written(tmp_path)
    found = vision.ImageListDataset(tmp_path, [[number, name] for number, name in enumerate(names)])
    check(found, list(range(6)), lambda number: [float(number)])
    several = vision.ImageListDataset(tmp_path, [(number, 7, name) for number, name in enumerate(names)])
    check(several, list(range(6)), lambda number: [float(number), 7.0])
    listed = vision.ImageListDataset(tmp_path, [([number, 8], name) for number, name in enumerate(names)])
    check(listed, list(range(6)), lambda number: [float(number), 8.0])
    (tmp_path / "all.lst").write_text("".join(f"{n}\t{n}\t9\t{name}\n" for n, name in enumerate(names)) + "\n")
    check(vision.ImageListDataset(tmp_path, "all.lst"), list(range(6)), lambda number: [float(number), 9.0])
    for line, message in [
        ("1\tx\ta/0.png", "line 1: could not convert"),
        ("1\ta/0.png", "line 1 must be a number, labels"),
    ]:
        (tmp_path / "all.lst").write_text(line)
        with pytest.raises(ValueError, match=message):
            vision.ImageListDataset(tmp_path, "all.lst")
    with pytest.raises(ValueError, match="entry 0 must be labels and a path"):
        vision.ImageListDataset(tmp_path, ["a.png"])
    with pytest.raises(TypeError, match="imglist must be a list or a path, got NoneType"):
        vision.ImageListDataset(tmp_path)


def test_image_records(tmp_path: pathlib.Path) -> None:
    base = str(tmp_path / "all")
    record = recordio.MXIndexedRecordIO(base + ".idx", base + ".rec", "w")
    for number in range(6):
        record.write_idx(number, recordio.pack((0, number, number, 0), image.imencode(".png", pixels(number))))
    record.close()
    check(vision.ImageRecordDataset(base + ".rec"), list(range(6)), float)
    assert vision.ImageRecordDataset(base + ".rec", flag=0)[0][0].shape == (4, 5, 1)
    raw = data.RecordFileDataset(base + ".rec")
    assert len(raw) == 6
    assert recordio.unpack(raw[4])[0].label == 4.0
    for workers in WORKERS:
        batches = data.DataLoader(raw, 2, batchify_fn=data.batchify.AsList(), **workers)
        assert [recordio.unpack(each)[0].id for batch in batches for each in batch] == list(range(6))
    assert pickle.loads(pickle.dumps(raw))[5] == raw[5]


def test_nothing_is_downloaded(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file.bin"
    with pytest.raises(RuntimeError, match=f"Forerun has no download: save .*/file.bin as {path} first"):
        gluon.utils.download("https://example.com/file.bin", str(tmp_path))
    path.write_bytes(b"content")
    assert gluon.utils.download("https://example.com/file.bin", str(tmp_path)) == str(path)
    assert os.listdir(tmp_path) == ["file.bin"]
