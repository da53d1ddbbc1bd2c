"""Replacement of the package ``mxnet``, so that unchanged programs run."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from types import ModuleType

from forerun import _forerun

# MXNet's modules by name.
_MODULES = {
    "np": "forerun.mxnet.numpy",
    "numpy": "forerun.mxnet.numpy",
    "npx": "forerun.npx",
    "numpy_extension": "forerun.npx",
    "autograd": "forerun.autograd",
    "gluon": "forerun.gluon",
    "image": "forerun.image",
    "img": "forerun.image",
    "init": "forerun.init",
    "initializer": "forerun.init",
    "optimizer": "forerun.optimizer",
    "io": "forerun.mxnet.io",
    "lr_scheduler": "forerun.lr_scheduler",
    "metric": "forerun.gluon.metric",
    "context": "forerun.mxnet.device",
    "device": "forerun.mxnet.device",
    "random": "forerun.mxnet.random",
    "recordio": "forerun.recordio",
    "util": "forerun.mxnet.util",
}

# The entries added to ``sys.modules``, and the previous setting of ``asnumpy``.
_standing: dict[str, ModuleType] = {}
_before = False


def install() -> None:
    """Make ``import mxnet`` and ``from mxnet import np, npx`` find this package, in the whole process.

    ``forerun.d2l`` also replaces ``d2l``, unless a package of that name is installed. Because MXNet programs may write
    to the result of ``asnumpy()``, it returns copies from now on: see ``forerun.engine.set_writable_asnumpy``.

    Raises
    ------
    RuntimeError
        If another package of that name is imported already.

    Examples
    --------
    >>> import forerun.mxnet
    >>> forerun.mxnet.install()
    >>> from mxnet import np, npx
    >>> np.ones((1, 2)) * 2
    array([[2., 2.]])
    >>> forerun.mxnet.uninstall()
    """
    global _before
    if _standing:
        return
    if "mxnet" in sys.modules:
        path = getattr(sys.modules["mxnet"], "__file__", None)
        raise RuntimeError(f"install: another mxnet is imported already, from {path or 'an unknown place'}")
    found = {"mxnet": sys.modules["forerun.mxnet"], **modules_below("mxnet")}
    if "d2l" not in sys.modules and importlib.util.find_spec("d2l") is None:
        found |= _with_submodules("d2l", importlib.import_module("forerun.d2l"))
    sys.modules.update(found)
    _standing.update(found)
    _before = _forerun.set_writable_asnumpy(True)


def uninstall() -> None:
    """Undo :func:`install`, if it was called.

    Examples
    --------
    >>> import forerun.mxnet
    >>> forerun.mxnet.uninstall()
    """
    if not _standing:
        return
    for name, module in _standing.items():
        if sys.modules.get(name) is module:
            del sys.modules[name]
    _standing.clear()
    _forerun.set_writable_asnumpy(_before)


def modules_below(package: str) -> dict[str, ModuleType]:
    """Map names below a package to MXNet's modules."""
    found: dict[str, ModuleType] = {}
    for name, target in _MODULES.items():
        found |= _with_submodules(f"{package}.{name}", importlib.import_module(target))
    return found


def _with_submodules(name: str, module: ModuleType) -> dict[str, ModuleType]:
    """Register a module and its public submodules; otherwise Python would load them a second time."""
    found = {name: module}
    for below in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not below.name.startswith("_"):
            submodule = importlib.import_module(f"{module.__name__}.{below.name}")
            found |= _with_submodules(f"{name}.{below.name}", submodule)
    return found
