"""Datasets, loaders and indexing functions of the PyTorch dialect."""

from __future__ import annotations

import gzip
import pathlib
import struct
import threading
from typing import Any

import numpy
import pytest

import forerun
from forerun import torch
from forerun.torch.utils import data

RNG = numpy.random.default_rng(3)


class Squares(data.Dataset[Any]):
    """Numbers and their squares, as a program's own dataset."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> Any:
        if index >= 10:
            raise IndexError(index)
        return {"x": numpy.float32(index), "y": index * index, "name": f"n{index}"}


class Count(data.IterableDataset[Any]):
    """Numbers, shared among the workers."""

    def __iter__(self) -> Any:
        info = data.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(first, 10, step))


@pytest.mark.parametrize("workers", [0, 3])
def test_batches_keep_their_order(workers: int) -> None:
    loader = data.DataLoader(Squares(), batch_size=4, num_workers=workers, pin_memory=True)
    batches = list(loader)
    assert len(loader) == len(batches) == 3
    assert [batch["y"].tolist() for batch in batches] == [[0, 1, 4, 9], [16, 25, 36, 49], [64, 81]]
    assert batches[0]["x"].dtype == torch.float32 and batches[2]["name"] == ["n8", "n9"]


def test_shuffling_follows_the_seed_and_generators() -> None:
    def order(**options: Any) -> list[int]:
        return [int(batch["y"]) for batch in data.DataLoader(Squares(), shuffle=True, **options)]

    torch.manual_seed(4)
    first = order()
    second = order()
    torch.manual_seed(4)
    assert order() == first != second and sorted(first) == [n * n for n in range(10)]
    own = [order(generator=torch.Generator().manual_seed(9)) for _ in range(2)]
    assert own[0] == own[1]


def test_collate_fn_samplers_and_whole_rows() -> None:
    made = list(data.DataLoader(Squares(), 5, collate_fn=lambda rows: sum(row["y"] for row in rows)))
    assert made == [30, 255]
    sampler = data.SubsetRandomSampler([1, 3])
    assert sorted(int(batch["y"]) for batch in data.DataLoader(Squares(), sampler=sampler)) == [1, 9]
    listed = data.DataLoader(Squares(), batch_sampler=[[0, 2], [9]])
    assert [batch["y"].tolist() for batch in listed] == [[0, 4], [81]]
    assert [row["y"] for row in data.DataLoader(Squares(), batch_size=None)][:3] == [0, 1, 4]


@pytest.mark.parametrize("workers", [0, 2])
def test_iterable_datasets(workers: int) -> None:
    batches = [batch.tolist() for batch in data.DataLoader(Count(), batch_size=3, num_workers=workers)]
    assert sorted(number for batch in batches for number in batch) == list(range(10))
    if workers == 0:
        assert batches == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    with pytest.raises(ValueError, match="order of its own"):
        data.DataLoader(Count(), shuffle=True)


def test_errors_of_workers_reach_the_loop_and_workers_end() -> None:
    class Broken(Squares):
        def __getitem__(self, index: int) -> Any:
            if index == 5:
                raise KeyError("row 5")
            return index

    before = threading.active_count()
    with pytest.raises(KeyError, match="row 5"):
        list(data.DataLoader(Broken(), num_workers=2))
    started: list[int] = []
    for _ in data.DataLoader(Squares(), num_workers=2, worker_init_fn=started.append):
        break
    assert set(started) <= {0, 1} and started
    assert threading.active_count() <= before + 2


def test_batches_of_tensors_do_not_wait() -> None:
    rows = data.TensorDataset(torch.randn(100, 4), torch.arange(100))
    with forerun.no_sync("error"):
        batches = list(data.DataLoader(rows, 32, shuffle=True))
    assert sorted(numpy.concatenate([y.numpy() for _, y in batches])) == list(range(100))


def test_wrong_arguments() -> None:
    for options in (
        {"batch_size": 0},
        {"num_workers": -1},
        {"sampler": [0], "shuffle": True},
        {"batch_sampler": [[0]], "batch_size": 2},
        {"prefetch_factor": 2},
    ):
        with pytest.raises(ValueError, match="DataLoader"):
            data.DataLoader(Squares(), **options)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="equal shapes"):
        data.default_collate([torch.ones(2), torch.ones(3)])


def test_splits_and_joins() -> None:
    parts = data.random_split(Squares(), [0.5, 0.3, 0.2], torch.Generator().manual_seed(1))
    assert [len(part) for part in parts] == [5, 3, 2]
    assert sorted(row["y"] for part in parts for row in (part[i] for i in range(len(part)))) == [
        n * n for n in range(10)
    ]
    both = Squares() + Squares()
    assert len(both) == 20 and both[13]["y"] == 9 and both[-1]["y"] == 81
    with pytest.raises(ValueError, match="do not add up"):
        data.random_split(Squares(), [3, 3])
    weighted = list(data.WeightedRandomSampler([0, 1, 1], 2, replacement=False))
    assert sorted(weighted) == [1, 2]


def idx(path: pathlib.Path, array: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(gzip.compress(header + array.astype(numpy.uint8).tobytes()))


def test_images_of_the_published_files(tmp_path: pathlib.Path) -> None:
    from forerun.torch.vision import datasets, transforms, utils

    pixels, labels = RNG.integers(0, 256, (6, 28, 28)), numpy.arange(6)
    folder = tmp_path / "FashionMNIST" / "raw"
    idx(folder / "train-images-idx3-ubyte.gz", pixels)
    idx(folder / "train-labels-idx1-ubyte.gz", labels)
    change = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
    rows = datasets.FashionMNIST(tmp_path, True, change, target_transform=lambda label: label * 10, download=True)
    images, tens = next(iter(data.DataLoader(rows, batch_size=6)))
    assert images.shape == (6, 1, 28, 28) and tens.tolist() == [0, 10, 20, 30, 40, 50]
    numpy.testing.assert_allclose(images.numpy()[:, 0], (pixels / 255 - 0.5) / 0.5, rtol=1e-5, atol=1e-6)
    assert rows.classes[rows.targets[5]] == "Sandal" and len(rows) == 6
    assert utils.make_grid(images, nrow=3).shape == (3, 62, 92)
    with pytest.raises(FileNotFoundError, match="t10k-images"):
        datasets.FashionMNIST(tmp_path, train=False)


def test_scatter_is_numpys_loop() -> None:
    x, index, src = RNG.normal(size=(3, 5)), RNG.integers(0, 5, (3, 4)), RNG.normal(size=(3, 4))
    added, last = x.copy(), x.copy()
    for i in range(3):
        for j in range(4):
            added[i, index[i, j]] += src[i, j]
            last[i, index[i, j]] = src[i, j]
    X, at, S = torch.tensor(x), torch.tensor(index), torch.tensor(src)
    numpy.testing.assert_allclose(X.scatter_add(1, at, S).numpy(), added)
    numpy.testing.assert_allclose(X.scatter(1, at, S).numpy(), last)
    numpy.testing.assert_allclose(X.gather(1, at).numpy(), numpy.take_along_axis(x, index, 1))
    grown = torch.zeros(3, 5).scatter_(1, at[:, :1], 1.0)
    assert grown.sum().item() == 3
    with pytest.raises(IndexError):
        X.scatter_add(1, at + 5, S).tolist()
    with pytest.raises(RuntimeError, match="as many dimensions"):
        X.gather(1, at[0])


def test_topk_sort_and_draws() -> None:
    x = torch.tensor([[3.0, 1.0, 2.0], [1.0, 5.0, 4.0]], requires_grad=True)
    values, indices = x.topk(2)
    assert values.tolist() == [[3, 2], [5, 4]] and indices.tolist() == [[0, 2], [1, 2]]
    values.sum().backward()
    assert x.grad.tolist() == [[1, 0, 1], [0, 1, 1]]
    assert torch.sort(x, descending=True).indices.tolist() == [[0, 2, 1], [1, 2, 0]]
    with pytest.raises(RuntimeError, match="k=4"):
        x.topk(4)
    torch.manual_seed(0)
    drawn = torch.multinomial(torch.tensor([1.0, 0.0, 3.0]), 4000, replacement=True)
    counts = torch.bincount(drawn, minlength=3).tolist()
    assert counts[1] == 0 and 0.7 < counts[2] / 4000 < 0.8
    assert sorted(torch.multinomial(torch.ones(5), 5).tolist()) == list(range(5))
    assert sorted(torch.randperm(20).tolist()) == list(range(20))


def test_out_and_in_place_forms_write_where_they_are_told() -> None:
    a, b, c = torch.rand(2, 2), torch.rand(2, 2), torch.zeros(2, 2)
    assert torch.matmul(a, b, out=c) is c
    numpy.testing.assert_allclose(c.numpy(), a.numpy() @ b.numpy(), rtol=1e-6)
    assert torch.sin_(c) is c and c.exp_() is c and torch.rand(2, 2, out=c) is c
    view = c[0]
    view.fill_(7)
    assert c[0].tolist() == [7, 7]
    c.unsqueeze_(0)
    assert c.shape == (1, 2, 2) and str(c.shape) == "torch.Size([1, 2, 2])"


def test_printing() -> None:
    assert str(torch.tensor([1.0, 2.5])) == "tensor([1.0000, 2.5000])"
    assert str(torch.tensor([1.0, -2.0])) == "tensor([ 1., -2.])"
    assert str(torch.tensor([1e-9, 1.0])) == "tensor([1.0000e-09, 1.0000e+00])"
    assert str(torch.tensor([float("nan"), 1.0])) == "tensor([nan, 1.])"
    assert str(torch.tensor(3)) == "tensor(3)" and f"{torch.tensor(2.5):.1f}" == "2.5"
    assert "..." in str(torch.zeros(2000))
