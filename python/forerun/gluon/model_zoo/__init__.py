"""Predefined networks: ``gluon.model_zoo.vision``, and the files of their weights."""

from __future__ import annotations

import typing as _typing

from forerun._missing import module_getattr as _module_getattr
from forerun.gluon.model_zoo import model_store, vision

__all__ = ["model_store", "vision"]

# Type checkers must report missing names.
if not _typing.TYPE_CHECKING:
    __getattr__ = _module_getattr(__name__, globals(), {})
