"""The programs under ``examples/python``, for a few steps: the loss falls, and the plot is a small SVG file."""

from __future__ import annotations

import pathlib
import re
import sys
import xml.etree.ElementTree
from types import ModuleType
from typing import Any

import pytest

#: The steps of each program, its arguments, and the part of the first loss that the last ones reach at most.
PROGRAMS: dict[str, tuple[int, dict[str, int], float]] = {
    "lenet": (60, {"batch": 32}, 0.85),
    "resnet": (20, {"batch": 16, "width": 8}, 0.85),
    "language": (20, {"batch": 16}, 0.7),
    "transformer": (40, {"batch": 32, "length": 3, "tokens": 4}, 0.5),
}


@pytest.fixture
def examples(root: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    folder = root / "examples/python"
    monkeypatch.syspath_prepend(str(folder))
    return folder


def loaded(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Import a program under its own name, which is free again afterwards."""
    monkeypatch.delitem(sys.modules, name, raising=False)
    module: ModuleType = __import__(name)
    monkeypatch.delitem(sys.modules, name)
    return module


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_loss_falls(name: str, examples: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, arguments, share = PROGRAMS[name]
    losses = [loss.item() for loss in loaded(name, monkeypatch).train(steps, **arguments)]
    assert len(losses) == steps
    assert min(losses[-3:]) < share * losses[0], losses


def test_every_program_is_tested(examples: pathlib.Path) -> None:
    assert {path.stem for path in examples.glob("[a-z]*.py")} == set(PROGRAMS)


def test_a_program_prints_and_plots_the_loss(
    examples: pathlib.Path,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "loss.svg"
    monkeypatch.setattr(sys, "argv", ["language.py", "--steps", "3", "--plot", str(file)])
    program = loaded("language", monkeypatch)
    numbers = program.main(program.train, "A title", steps=7)
    assert len(numbers) == 3
    assert re.findall(r"step +(\d) +loss \d\.\d{4}", capsys.readouterr().out) == ["0", "1", "2"]
    plot = xml.etree.ElementTree.parse(file).getroot()
    (line,) = plot.iter("{http://www.w3.org/2000/svg}polyline")
    assert len(line.attrib["points"].split()) == 3
    texts = [text.text for text in plot.iter("{http://www.w3.org/2000/svg}text")]
    assert "A title" in texts and f"{max(numbers):.2f}" in texts


def test_the_kept_plots_are_small(root: pathlib.Path) -> None:
    plots = list((root / "docs/plots").glob("*.svg"))
    assert {plot.stem for plot in plots} == set(PROGRAMS)
    assert all(plot.stat().st_size < 30_000 for plot in plots)
