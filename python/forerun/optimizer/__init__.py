"""Optimisers.

An update of all parameters is one call into the engine, usually made by ``gluon.Trainer``.

Examples
--------
>>> from forerun import np, optimizer
>>> sgd = optimizer.create("sgd", learning_rate=0.5)
>>> weight, gradient = np.ones((2,)), np.array([1.0, 2.0])
>>> sgd.update([0], [weight], [gradient], [sgd.create_state(0, weight)])
>>> weight
array([0.5, 0. ])
"""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.optimizer.adam import FTML, LAMB, LANS, AdaBelief, Adam, Adamax, AdamW, Nadam
from forerun.optimizer.adaptive import AdaDelta, AdaGrad, Ftrl, GroupAdaGrad, RMSProp
from forerun.optimizer.base import Optimizer, create, register
from forerun.optimizer.descent import DCASGD, LARS, NAG, SGD, SGLD, Signum, Test
from forerun.optimizer.updater import Updater, get_updater

__all__ = [
    "DCASGD",
    "FTML",
    "LAMB",
    "LANS",
    "LARS",
    "NAG",
    "SGD",
    "SGLD",
    "AdaBelief",
    "AdaDelta",
    "AdaGrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "GroupAdaGrad",
    "Nadam",
    "Optimizer",
    "RMSProp",
    "Signum",
    "Test",
    "Updater",
    "create",
    "get_updater",
    "register",
]


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
