"""The examples in the docstrings run and show what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "forerun",
    "forerun._files",
    "forerun._layers",
    "forerun._pointwise",
    "forerun.autograd",
    "forerun.d2l",
    "forerun.engine",
    "forerun.gluon",
    "forerun.gluon.block",
    "forerun.gluon.data.batchify",
    "forerun.gluon.data.dataset",
    "forerun.gluon.data.loader",
    "forerun.gluon.data.sampler",
    "forerun.gluon.hybrid",
    "forerun.gluon.loss",
    "forerun.gluon.nn.activations",
    "forerun.gluon.nn.basic",
    "forerun.gluon.nn.containers",
    "forerun.gluon.nn.norms",
    "forerun.gluon.parameter",
    "forerun.gluon.parameters",
    "forerun.gluon.trainer",
    "forerun.gluon.utils",
    "forerun.init",
    "forerun.lr_scheduler",
    "forerun.np.creation",
    "forerun.np.manipulation",
    "forerun.np.random",
    "forerun.np.reduction",
    "forerun.npx",
    "forerun.optimizer",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
