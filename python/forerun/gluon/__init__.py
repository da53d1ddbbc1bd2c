"""Networks: blocks, parameters, layers, losses, data and the trainer, as in MXNet's Gluon.

Examples
--------
>>> from forerun import autograd, gluon, np
>>> from forerun.gluon import nn
>>> net = nn.Dense(1)
>>> net.initialize("zeros")
>>> loss = gluon.loss.L2Loss()
>>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
>>> x, y = np.ones((4, 2)), np.ones((4,))
>>> with autograd.record():
...     l = loss(net(x), y)
>>> l.backward()
>>> trainer.step(4)
>>> net.weight.data()
array([[0.5, 0.5]])
"""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.gluon import data, loss, nn, rnn, utils
from forerun.gluon.block import Block
from forerun.gluon.hybrid import HybridBlock
from forerun.gluon.parameter import Constant, DeferredInitializationError, Parameter
from forerun.gluon.parameters import ParameterDict
from forerun.gluon.recompute import checkpoint
from forerun.gluon.symbol_block import SymbolBlock
from forerun.gluon.trainer import Trainer

__all__ = [
    "Block",
    "Constant",
    "DeferredInitializationError",
    "HybridBlock",
    "Parameter",
    "ParameterDict",
    "SymbolBlock",
    "Trainer",
    "checkpoint",
    "data",
    "loss",
    "nn",
    "rnn",
    "utils",
]

# Imported lazily, so that programs that only train do not pay for them.
_LATER = ("contrib", "metric", "model_zoo", "probability")

# Type checkers must report missing names.
if _typing.TYPE_CHECKING:
    from forerun.gluon import contrib as contrib
    from forerun.gluon import metric as metric
    from forerun.gluon import model_zoo as model_zoo
    from forerun.gluon import probability as probability
else:
    _lacking = _module_getattr(__name__, globals(), {})

    def __getattr__(name: str) -> _typing.Any:
        if name in _LATER:
            import importlib

            return importlib.import_module(f"forerun.gluon.{name}")
        return _lacking(name)
