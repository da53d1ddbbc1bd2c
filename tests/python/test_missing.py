"""Errors for missing names suggest the nearest existing name, or the module that has it."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from typing import Any

import pytest

from forerun import d2l, engine, gluon, init, lr_scheduler, np, npx, torch

MODULES = ["forerun", "forerun.d2l", "forerun.engine", "forerun.init", "forerun.autograd", "forerun.optimizer"]
MODULES += ["forerun.lr_scheduler", "forerun.npx", "forerun.np", "forerun.np.fft", "forerun.np.linalg"]
MODULES += ["forerun.np.random", "forerun.gluon", "forerun.gluon.data", "forerun.gluon.loss", "forerun.gluon.nn"]
MODULES += ["forerun.gluon.contrib", "forerun.gluon.contrib.estimator", "forerun.gluon.metric"]
MODULES += ["forerun.gluon.probability"]
MODULES += ["forerun.gluon.utils", "forerun.torch", "forerun.torch.nn", "forerun.paddle", "forerun.mxnet"]
MODULES += ["forerun.mxnet.numpy"]
MODULES += [f"forerun.torch.{name}" for name in ("autograd", "backends", "cuda", "linalg", "nn.functional", "hub")]
MODULES += [f"forerun.torch.{name}" for name in ("nn.utils", "nn.utils.rnn", "optim", "optim.lr_scheduler", "special")]
MODULES += [f"forerun.torch.{name}" for name in ("utils.data", "vision.datasets", "vision.models", "vision.transforms")]
MODULES += [f"forerun.paddle.{name}" for name in ("io", "nn", "nn.functional", "nn.initializer", "optimizer")]
MODULES += [
    f"forerun.paddle.{name}" for name in ("optimizer.lr", "vision.datasets", "vision.models", "vision.transforms")
]


@pytest.mark.parametrize("name", MODULES)
def test_every_public_module_names_the_nearest(name: str) -> None:
    module = importlib.import_module(name)
    names = module.__all__ if hasattr(module, "__all__") else dir(module)
    longest = max((name for name in names if not name.startswith("_")), key=len)
    wrong = longest[:-2] + longest[-1] + longest[-2] + "q"
    with pytest.raises(AttributeError) as caught:
        getattr(module, wrong)
    assert str(caught.value) == f"module {name!r} has no attribute {wrong!r}; did you mean {longest!r}?"
    with pytest.raises(ImportError):
        exec(f"from {name} import {wrong}")


@pytest.mark.parametrize(
    ("owner", "name", "advice"),
    [
        (np, "arrange", "did you mean 'arange'"),
        (np, "softmax", "forerun.npx has it"),
        (np, "Dense", "forerun.gluon.nn has it"),
        (npx, "einsum", "forerun.np has it"),
        (gluon.nn, "dense", "did you mean 'Dense'"),
        (gluon, "Dense", "forerun.gluon.nn has it"),
        (gluon.loss, "L2los", "did you mean 'L2Loss'"),
        (init, "Xavir", "did you mean 'Xavier'"),
        (lr_scheduler, "Cosine", "it has CosineScheduler"),
        (engine, "sum", "forerun.np has it"),
        (d2l, "timer", "did you mean 'Timer'"),
        (torch, "histogram", "forerun.np has it"),
        (torch.nn.functional, "dense", "forerun.gluon.nn has 'Dense'"),
        (torch, "zeroes", "did you mean 'zeros'"),
    ],
)
def test_advice(owner: Any, name: str, advice: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; {advice}"):
        getattr(owner, name)


def test_who_only_asks_pays_for_no_advice() -> None:
    program = (
        "import sys\n"
        "from forerun import np\n"
        "assert not hasattr(np, 'float128') and getattr(np, 'nothing', 3) == 3\n"
        "print([name for name in ('difflib', 'forerun.gluon') if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_the_error_can_be_pickled() -> None:
    with pytest.raises(AttributeError) as caught:
        np.arrange  # type: ignore[attr-defined]  # noqa: B018
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
