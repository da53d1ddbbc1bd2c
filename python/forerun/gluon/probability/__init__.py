"""Distributions, transformations, divergences and stochastic blocks.

Everything is computed by ops: nothing waits, and gradients flow through densities and through the samples of
distributions that have ``has_grad``.

Examples
--------
>>> from forerun import autograd, np
>>> from forerun.gluon import probability
>>> loc = np.zeros((2,))
>>> loc.attach_grad()
>>> with autograd.record():
...     sample = probability.Normal(loc, 1.0).sample()
>>> sample.backward()
>>> loc.grad
array([1., 1.])
"""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.probability import block, distributions, transformation
from forerun.gluon.probability.block import *  # noqa: F403
from forerun.gluon.probability.distributions import *  # noqa: F403
from forerun.gluon.probability.transformation import *  # noqa: F403

__all__ = ["block", "distributions", "transformation"]
__all__ += block.__all__
__all__ += distributions.__all__
__all__ += transformation.__all__


def __dir__() -> list[str]:
    return sorted(__all__)


# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
