"""Replacement of a package by a dialect, so that unchanged programs run."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Collection
from types import ModuleType


class Replacement:
    """A package's entries in ``sys.modules``, taken over by modules of this package.

    Parameters
    ----------
    name
        The package that programs import, such as ``torch``.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._standing: dict[str, ModuleType] = {}

    def __bool__(self) -> bool:
        """Return whether the package is replaced."""
        return bool(self._standing)

    def check(self) -> None:
        """Raise ``RuntimeError`` if another package of that name is imported already."""
        if self._name in sys.modules:
            path = getattr(sys.modules[self._name], "__file__", None)
            place = path or "an unknown place"
            raise RuntimeError(f"install: another {self._name} is imported already, from {place}")

    def put(self, modules: dict[str, ModuleType]) -> None:
        """Add these modules by name, and the book's package ``d2l`` unless one is installed."""
        if "d2l" not in sys.modules and importlib.util.find_spec("d2l") is None:
            modules = modules | with_submodules("d2l", importlib.import_module("forerun.d2l"))
        sys.modules.update(modules)
        self._standing.update(modules)

    def remove(self) -> None:
        """Remove the entries that still are those of ``put``."""
        for name, module in self._standing.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
        self._standing.clear()


def with_submodules(name: str, module: ModuleType, without: Collection[str] = ()) -> dict[str, ModuleType]:
    """Name a module and its public submodules; otherwise Python would load them a second time."""
    found = {name: module}
    for below in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not below.name.startswith("_") and below.name not in without:
            submodule = importlib.import_module(f"{module.__name__}.{below.name}")
            found |= with_submodules(f"{name}.{below.name}", submodule)
    return found
