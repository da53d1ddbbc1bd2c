"""Training loops with event handlers: ``gluon.contrib.estimator``."""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.contrib import estimator

__all__ = ["estimator"]

# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
