"""Files of the PyTorch dialect: what is written comes back, and nothing that a file says is executed."""

from __future__ import annotations

import io
import json
import pathlib
import pickle
import zipfile
from typing import Any

import numpy
import pytest

from forerun import _forerun, np, torch
from forerun.torch import nn

SAVED = {
    "x": torch.arange(3),
    "nested": [1, 2.5, None, "text", (True, float("inf")), {"y": torch.ones(2, dtype=torch.float16)}],
    7: torch.Size([2, 3]),
    "kind": torch.float64,
    "device": torch.device("cpu"),
}


class Own(nn.Module):
    """A module of a program's own."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("seen", torch.zeros(1))
        self.rate = 0.5

    def forward(self, x: Any) -> Any:
        return self.layer(x) * self.rate


def through_file(value: Any, path: pathlib.Path) -> Any:
    torch.save(value, path)
    return torch.load(path)


def test_objects_come_back(tmp_path: pathlib.Path) -> None:
    back = through_file(SAVED, tmp_path / "a.pt")
    assert list(back) == list(SAVED)
    assert back["x"].tolist() == [0, 1, 2] and back["nested"][:5] == SAVED["nested"][:5]
    assert back["nested"][5]["y"].dtype == torch.float16
    assert back[7] == (2, 3) and isinstance(back[7], torch.Size)
    assert back["kind"] == torch.float64 and back["device"] == torch.device("cpu")


def test_one_tensor_in_two_places_stays_one(tmp_path: pathlib.Path) -> None:
    x = torch.ones(2)
    first, second = through_file([x, x], tmp_path / "a.pt")
    assert first is second


def test_state_dicts_and_optimisers_continue(tmp_path: pathlib.Path) -> None:
    def step(net: Any, optimizer: Any) -> None:
        optimizer.zero_grad()
        net(torch.ones(3, 2)).square().sum().backward()
        optimizer.step()

    net = Own()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    step(net, optimizer)
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "checkpoint.pt")
    step(net, optimizer)
    other = Own()
    again = torch.optim.Adam(other.parameters(), lr=7.0)
    state = torch.load(tmp_path / "checkpoint.pt")
    assert str(other.load_state_dict(state["net"])) == "<All keys matched successfully>"
    again.load_state_dict(state["optimizer"])
    step(other, again)
    for mine, yours in zip(net.parameters(), other.parameters(), strict=True):
        numpy.testing.assert_array_equal(mine.detach().numpy(), yours.detach().numpy())


def test_whole_modules_come_back_without_unpickling(tmp_path: pathlib.Path) -> None:
    net = Own().eval()
    back = through_file(net, tmp_path / "net.pt")
    assert type(back) is Own and back.rate == 0.5 and not back.training
    x = torch.ones(1, 2)
    numpy.testing.assert_array_equal(back(x).detach().numpy(), net(x).detach().numpy())
    assert all(isinstance(each, nn.Parameter) and each.requires_grad for each in back.parameters())
    with pytest.raises(ValueError, match="weights_only"):
        torch.load(tmp_path / "net.pt", weights_only=True)


def rewritten(path: pathlib.Path, form: Any) -> pathlib.Path:
    """Write a file whose description of the objects is `form`."""
    _forerun.save_arrays(path, {"x": np.ones((2,))}, {"forerun.torch": json.dumps(form)})
    return path


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({"module": "os:system", "state": {}}, "has not defined"),
        ({"module": "subprocess:Popen", "state": {}}, "has not defined"),
        ({"module": "forerun.torch.nn:Linear.__init__", "state": {}}, "has not defined"),
        ({"function": "os:system"}, "not one of"),
        ({"function": "forerun.torch.nn.functional:np"}, "not one of"),
        ({"function": 3}, "malformed"),
        ({"tensor": "y"}, "no tensor 'y'"),
        ({"tensor": 3}, "no tensor 3"),
        ({"list": 3}, "malformed"),
        ({"dict": [[1]]}, "malformed"),
        ({"dict": [[{"list": []}, 1]]}, "neither a text nor a number"),
        ({"eval": "1"}, "not known"),
        ({"dtype": "object"}, "not known"),
        ([1], "malformed"),
        ({}, "malformed"),
    ],
)
def test_descriptions_that_make_no_sense_are_refused(form: Any, problem: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ValueError, match=problem):
        torch.load(rewritten(tmp_path / "bad.pt", form))


def test_deep_descriptions_are_refused(tmp_path: pathlib.Path) -> None:
    form: Any = {"list": []}
    for _ in range(300):
        form = {"list": [form]}
    with pytest.raises(ValueError, match="too deeply"):
        torch.load(rewritten(tmp_path / "deep.pt", form))


def test_files_that_pytorch_pickled_are_not_read(tmp_path: pathlib.Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (pathlib.Path.touch, (tmp_path / "exploded",))

    old = tmp_path / "old.pt"
    old.write_bytes(pickle.dumps(Bomb(), 2))
    new = tmp_path / "new.pt"
    with zipfile.ZipFile(new, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Bomb()))
    for path in (old, new):
        with pytest.raises(RuntimeError, match=r"pickled by PyTorch(.|\n)*save_file"):
            torch.load(path)
    assert not (tmp_path / "exploded").exists()


def test_other_libraries_files_are_read(tmp_path: pathlib.Path) -> None:
    numpy.savez(tmp_path / "a.npz", x=numpy.ones(2, numpy.float32))
    assert torch.load(tmp_path / "a.npz")["x"].tolist() == [1, 1]
    numpy.save(tmp_path / "a.npy", numpy.arange(2))
    assert torch.load(tmp_path / "a.npy").tolist() == [0, 1]
    _forerun.save_arrays(tmp_path / "a.safetensors", {"w": np.ones((1,))})
    assert torch.load(tmp_path / "a.safetensors")["w"].tolist() == [1]


def test_what_a_file_cannot_hold_is_named(tmp_path: pathlib.Path) -> None:
    net = Own()
    net.function = lambda x: x  # type: ignore[assignment]
    with pytest.raises(TypeError, match=r"\.function is a function"):
        torch.save(net, tmp_path / "a.pt")


def test_buffers_in_memory() -> None:
    buffer = io.BytesIO()
    torch.save({"x": torch.ones(1)}, buffer)
    buffer.seek(0)
    assert torch.load(buffer, map_location="cpu")["x"].tolist() == [1]


def test_modules_can_be_pickled_by_their_own_program() -> None:
    for net in (nn.Linear(2, 2), nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten()), Own()):
        back = pickle.loads(pickle.dumps(net))
        assert [name for name, _ in back.named_parameters()] == [name for name, _ in net.named_parameters()]
        for mine, yours in zip(net.state_dict().values(), back.state_dict().values(), strict=True):
            numpy.testing.assert_array_equal(mine.numpy(), yours.numpy())
