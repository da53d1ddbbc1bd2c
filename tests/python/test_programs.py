"""Random programs: optimisations do not change values, and NumPy agrees."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from forerun import engine, np, npx

SHAPES = [(6,), (5, 6), (1, 6), (5, 1), (4, 5, 6), ()]
LARGE = [(70000,), (3, 70000), (1, 70000), ()]
SEEDS = range(200 if os.environ.get("FORERUN_TEST_LONG") == "1" else 30)


class Program:
    """A program drawn from a seed, to be run on any NumPy-like module."""

    def __init__(self, seed: int, shapes: list[tuple[int, ...]]) -> None:
        self.seed, self.shapes = seed, shapes

    def run(self, module: Any, length: int = 60) -> list[Any]:
        """Run the program; every draw depends only on the seed and on shapes."""
        draw = random.Random(self.seed)
        values: list[Any] = []
        for shape in self.shapes:
            count = int(numpy.prod(shape))
            start = (numpy.arange(count) * 7919 % 1000 / 500 - 1).astype("float32").reshape(shape)
            values.append(module.array(start))
        for _ in range(length):
            step = draw.choice(
                ["unary", "binary", "binary", "scalar", "reduce", "where", "view", "write", "in_place", "forget"]
            )
            x = draw.choice(values)
            if step == "unary":
                name = draw.choice(["negative", "abs", "square", "tanh", "sign", "floor"])
                values.append(getattr(module, name)(x))
            elif step == "binary":
                y = draw.choice([v for v in values if self.meets(x, v)])
                name = draw.choice(["add", "subtract", "multiply", "maximum", "minimum"])
                values.append(module.tanh(getattr(module, name)(x, y)))
            elif step == "scalar":
                values.append(x * draw.choice([0.5, 2, -1, 0.25]) + draw.choice([1, 0.125, -3]))
            elif step == "reduce" and x.ndim:
                axis = draw.randrange(x.ndim)
                values.append(getattr(module, draw.choice(["max", "min", "sum"]))(x, axis=axis) * 0.125)
            elif step == "where":
                y = draw.choice([v for v in values if self.meets(x, v)])
                values.append(module.where(x > 0, x, y))
            elif step == "view" and x.ndim:
                values.append(
                    x[:: draw.choice([-1, 1])].T if draw.random() < 0.5 else x[draw.randrange(x.shape[0]), ...]
                )
            elif step == "write" and x.ndim:
                x[draw.randrange(x.shape[0])] = draw.choice([0.5, 3])
            elif step == "in_place" and x.ndim:  # NumPy's 0-d results are no arrays
                x += draw.choice([1, 0.5])
            elif step == "forget" and len(values) > 8:
                values.pop(draw.randrange(len(values)))
        return values

    @staticmethod
    def meets(x: Any, y: Any) -> bool:
        """Return whether two arrays broadcast to a small size."""
        try:
            shape = numpy.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            return False
        return len(shape) <= 4 and int(numpy.prod(shape)) <= 500_000


def bits(values: list[np.ndarray]) -> list[str]:
    # Hashes, so that differences are short.
    return [hashlib.sha256(value.asnumpy().tobytes()).hexdigest() for value in values]


@contextlib.contextmanager
def plain() -> Iterator[None]:
    """Disable all optimisations."""
    npx.waitall()
    with engine.set_fuse(False), engine.set_drop_dead(False), engine.set_tiny_limit(0):
        yield
        npx.waitall()


@pytest.mark.parametrize("seed", SEEDS)
def test_optimised_equals_plain_bit_for_bit(seed: int) -> None:
    program = Program(seed, SHAPES)
    expected = bits(program.run(np))
    with plain():
        assert bits(program.run(np)) == expected


@pytest.mark.parametrize("seed", list(SEEDS)[:10])
def test_large_optimised_equals_plain_bit_for_bit(seed: int) -> None:
    program = Program(1000 + seed, LARGE)
    expected = bits(program.run(np, 30))
    with plain():
        assert bits(program.run(np, 30)) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_numpy_agrees(seed: int) -> None:
    program = Program(seed, SHAPES)
    for mine, theirs in zip(program.run(np), program.run(numpy), strict=True):
        assert mine.shape == theirs.shape
        numpy.testing.assert_allclose(mine.asnumpy(), theirs, rtol=1e-4, atol=1e-4)


def test_waits_anywhere_change_nothing() -> None:
    for seed in list(SEEDS)[:10]:
        program = Program(seed, SHAPES)
        values = program.run(np)
        for value in random.Random(seed).sample(values, len(values)):
            value.wait_to_read()
        assert bits(values) == bits(program.run(np))


def digest() -> None:
    """Print the results of some programs; run in a separate process."""
    for seed in list(SEEDS)[:10]:
        for shapes in [SHAPES, LARGE]:
            values = bits(Program(seed, shapes).run(np, 40))
            print(*values, sep="")


@pytest.mark.parametrize(
    "setting", [{"FORERUN_ENGINE": "sync"}, {"FORERUN_NUM_THREADS": "1"}, {"FORERUN_NUM_THREADS": "8"}]
)
def test_modes_and_workers_change_nothing(setting: dict[str, str]) -> None:
    def run(**environment: str) -> str:
        program = f"import sys; sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})\n"
        program += "import test_programs; test_programs.digest()"
        result = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
            check=True,
        )
        return result.stdout

    usual = run()
    assert usual.count("\n") == 20
    assert run(**setting) == usual
