"""Errors for missing names suggest the nearest existing name, the module that has it, or why there is none."""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import forerun
from forerun import d2l, engine, gluon, init, lr_scheduler, mxnet, np, npx, torch


def public_modules() -> Iterator[str]:
    """Return every module of the package without an underscore."""
    yield "forerun"
    for found in pkgutil.walk_packages(forerun.__path__, "forerun."):
        if "._" not in found.name:
            yield found.name


def imported(statement: str) -> str:
    """Return the error of an import."""
    with pytest.raises(ImportError) as caught:
        exec(statement)
    return str(caught.value)


@pytest.mark.parametrize("name", list(public_modules()))
def test_every_public_module_names_the_nearest(name: str) -> None:
    module = importlib.import_module(name)
    names = [one for one in getattr(module, "__all__", dir(module)) if not one.startswith("_")]
    known = max(names, key=len, default="")
    if len(known) > 3:
        wrong = known[:-2] + known[-1] + known[-2] + "q"
        with pytest.raises(AttributeError) as caught:
            getattr(module, wrong)
        start = f"module {name!r} has no attribute {wrong!r}; "
        advice = str(caught.value).removeprefix(start)
        # One of several names may be as near, and few names are listed.
        assert (
            advice == f"did you mean {known!r}?"
            or (advice.startswith("it has ") and known in advice)
            or (advice.startswith("did you mean ") and known[:4] in advice)
        )
        assert imported(f"from {name} import {wrong}") == f"cannot import name {wrong!r} from {name!r}; {advice}"
    # Names without a neighbour are answered too.
    with pytest.raises(AttributeError, match=rf"module '{name}' has no attribute 'qqqqqq'[:;] .+") as caught:
        getattr(module, "qqqqqq")  # noqa: B009
    assert imported(f"from {name} import qqqqqq").startswith(f"cannot import name 'qqqqqq' from {name!r}")
    assert not hasattr(module, "qqqqqq") and getattr(module, "qqqqqq", 3) == 3


def other_names() -> list[tuple[str, list[str]]]:
    """Return names of other libraries by module."""
    text = pathlib.Path(__file__).with_name("names.txt").read_text(encoding="utf-8")
    blocks = [block.split(":") for block in text.split("\n\n")[1:]]
    return [(module.strip(), names.split()) for module, names in blocks]


@pytest.mark.parametrize(("module", "names"), other_names())
def test_names_of_other_libraries_are_answered(module: str, names: list[str]) -> None:
    for name in names:
        found = importlib.import_module(module)
        try:
            getattr(found, name)
        except AttributeError as error:
            start = f"module {found.__name__!r} has no attribute {name!r}"
            text, advice = str(error), str(error).removeprefix(start)
            assert text.startswith(start) and advice[:2] in ("; ", ": ") and len(advice) > 5, text
            message = imported(f"from {module} import {name}")
            assert message == f"cannot import name {name!r} from {found.__name__!r}{advice}"


@pytest.mark.parametrize(
    ("owner", "name", "advice"),
    [
        (np, "arrange", "; did you mean 'arange'"),
        (np, "softmax", "; forerun.npx has it"),
        (np, "Dense", "; forerun.gluon.nn has it"),
        (np, "datetime64", ": arrays hold numbers and booleans, not dates"),
        (npx, "einsum", "; forerun.np has it"),
        (gluon.nn, "dense", "; did you mean 'Dense'"),
        (gluon, "Dense", "; forerun.gluon.nn has it"),
        (gluon.loss, "L2los", "; did you mean 'L2Loss'"),
        (init, "Xavir", "; did you mean 'Xavier'"),
        (lr_scheduler, "Cosine", "; it has CosineScheduler"),
        (engine, "sum", "; forerun.np has it"),
        (d2l, "timer", "; did you mean 'Timer'"),
        (torch, "histogram", "; forerun.np has it"),
        (torch, "Linear", "; forerun.torch.nn has it"),
        (torch.nn.functional, "dense", "; forerun.gluon.nn has 'Dense'"),
        (torch, "zeroes", "; did you mean 'zeros'"),
        (mxnet, "kvstore", ": there is one process"),
        (mxnet, "viz", ": Block.summary prints a network"),
    ],
)
def test_advice(owner: Any, name: str, advice: str) -> None:
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'{advice}"):
        getattr(owner, name)
    assert advice in imported(f"from {owner.__name__} import {name}")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("forerun.gloun", "; did you mean 'gluon'?"),
        ("forerun.np.zeros", ": it is not a module; use from forerun.np import zeros"),
        ("forerun.mxnet.contrib", ": mx.onnx and mx.amp are here"),
        ("forerun.torch.utils.tensorboard", ": write logs"),
        ("forerun.torch.cuda.amp", ": convert with tensor.half()"),
        ("forerun.torch.distributed", ": there is one process"),
        ("forerun.paddle.distributed", ": "),
    ],
)
def test_missing_modules_are_answered(name: str, advice: str) -> None:
    for statement in (f"import {name}", f"from {name} import something", f"import {name}.deeper"):
        with pytest.raises(ModuleNotFoundError) as caught:
            exec(statement)
        assert str(caught.value).startswith(f"No module named {name!r}{advice}") and caught.value.name == name
    assert importlib.util.find_spec(name) is None


def test_the_replacement_of_mxnet_answers_too() -> None:
    mxnet.install()
    try:
        assert "did you mean 'Dense'?" in imported("from mxnet.gluon.nn import Dens")
        assert imported("from mxnet.contrib import onnx").startswith("No module named 'mxnet.contrib': mx.onnx")
        assert imported("from mxnet import kvstore").endswith("there is one process")
    finally:
        mxnet.uninstall()


def test_programs_that_try_names_continue() -> None:
    program = (
        "try:\n    from forerun.np import float128 as wide\nexcept ImportError:\n    wide = None\n"
        "try:\n    import forerun.torch.distributed\nexcept ImportError:\n    assert wide is None\n"
        "from forerun.gluon import contrib\nfrom forerun.np import linalg, fft\nprint('done')\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "done\n"


def test_who_only_asks_pays_for_no_advice() -> None:
    program = (
        "import sys\n"
        "from forerun import np\n"
        "assert not hasattr(np, 'float128') and getattr(np, 'nothing', 3) == 3\n"
        "print([name for name in ('difflib', 'forerun.gluon') if name in sys.modules])\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_the_errors_can_be_pickled() -> None:
    with pytest.raises(AttributeError) as caught:
        np.arrange  # type: ignore[attr-defined]  # noqa: B018
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is AttributeError and str(again) == str(caught.value)
    with pytest.raises(ImportError) as other:
        from forerun.np import arrange  # type: ignore[attr-defined]  # noqa: F401
    again = pickle.loads(pickle.dumps(other.value))
    assert type(again) is ImportError and str(again) == str(other.value)
