"""The examples in the docstrings run and show what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "forerun",
    "forerun._dialect.missing",
    "forerun._dialect.mode",
    "forerun._dialect.module",
    "forerun._dialect.tensor",
    "forerun._layers",
    "forerun._pointwise",
    "forerun.d2l.mxnet",
    "forerun.d2l.paddle",
    "forerun.d2l.timing",
    "forerun.d2l.torch",
    "forerun.engine",
    "forerun.mxnet",
    "forerun.mxnet._install",
    "forerun.mxnet.numpy",
    "forerun.mxnet.random",
    "forerun.mxnet.util",
    "forerun.np.creation",
    "forerun.np.manipulation",
    "forerun.np.random",
    "forerun.np.reduction",
    "forerun.npx",
    "forerun.paddle",
    "forerun.paddle._functions",
    "forerun.paddle._place",
    "forerun.paddle._tensor",
    "forerun.paddle.device",
    "forerun.paddle.device.cuda",
    "forerun.paddle.nn._layers",
    "forerun.paddle.nn.functional",
    "forerun.paddle.optimizer",
    "forerun.torch",
    "forerun.torch._creation",
    "forerun.torch._functions",
    "forerun.torch._gradmode",
    "forerun.torch._place",
    "forerun.torch._tensor",
    "forerun.torch.cuda",
    "forerun.torch.nn._layers",
    "forerun.torch.nn._losses",
    "forerun.torch.nn._module",
    "forerun.torch.nn.functional",
    "forerun.torch.nn.init",
    "forerun.torch.optim",
    "forerun.torch.utils.data",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
