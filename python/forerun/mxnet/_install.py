"""Replacement of the package ``mxnet``, so that unchanged programs run."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from forerun import _forerun
from forerun._dialect.install import Replacement, with_submodules
from forerun.mxnet import _methods
from forerun.mxnet.base import CLASSES

# MXNet's modules by name.
_MODULES = {
    "amp": "forerun.mxnet.amp",
    "attribute": "forerun.mxnet.attribute",
    "autograd": "forerun.autograd",
    "base": "forerun.mxnet.base",
    "context": "forerun.mxnet.device",
    "device": "forerun.mxnet.device",
    "engine": "forerun.mxnet.engine",
    "error": "forerun.mxnet.error",
    "gluon": "forerun.gluon",
    "image": "forerun.image",
    "image.image": "forerun.image",
    "img": "forerun.image",
    "img.image": "forerun.image",
    "init": "forerun.init",
    "initializer": "forerun.init",
    "onnx": "forerun.onnx",
    "io": "forerun.mxnet.io",
    "lr_scheduler": "forerun.lr_scheduler",
    "metric": "forerun.gluon.metric",
    "name": "forerun.mxnet.name",
    "nd": "forerun.mxnet.ndarray",
    "ndarray": "forerun.mxnet.ndarray",
    "np": "forerun.mxnet.numpy",
    "npx": "forerun.mxnet.numpy_extension",
    "numpy": "forerun.mxnet.numpy",
    "numpy_extension": "forerun.mxnet.numpy_extension",
    "numpy_op_signature": "forerun.mxnet.numpy_op_signature",
    "operator": "forerun.mxnet.operator",
    "optimizer": "forerun.optimizer",
    "profiler": "forerun.mxnet.profiler",
    "random": "forerun.mxnet.random",
    "recordio": "forerun.recordio",
    "rtc": "forerun.rtc",
    "runtime": "forerun.mxnet.runtime",
    "sym": "forerun.mxnet.symbol",
    "symbol": "forerun.mxnet.symbol",
    "test_utils": "forerun.mxnet.test_utils",
    "util": "forerun.mxnet.util",
}

_replacement = Replacement("mxnet")
# The previous settings: of ``asnumpy``, of float indices, of gradients of integers, and the classes of errors.
_before: tuple[bool, bool, bool, Any] = (False, False, False, None)


def install() -> None:
    """Make ``import mxnet`` and ``from mxnet import np, npx`` find this package, in the whole process.

    ``forerun.d2l`` also replaces ``d2l``, unless a package of that name is installed. From now on MXNet's semantics
    hold where they differ from NumPy's: ``asnumpy()`` returns a writable copy (see
    ``forerun.engine.set_writable_asnumpy``), float arrays may be indices, integer arrays may have gradients, the engine
    raises ``mxnet.base.MXNetError``, and arrays have the methods of MXNet's older arrays, such as ``asscalar``.

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
    if _replacement:
        return
    _replacement.check()
    _replacement.put({"mxnet": sys.modules["forerun.mxnet"], **modules_below("mxnet")})
    _methods.add()
    _before = (
        _forerun.set_writable_asnumpy(True),
        _forerun.set_float_indices(True),
        _forerun.set_integer_gradients(True),
        _forerun.set_error_classes(CLASSES),
    )


def uninstall() -> None:
    """Undo :func:`install`, if it was called.

    Examples
    --------
    >>> import forerun.mxnet
    >>> forerun.mxnet.uninstall()
    """
    if not _replacement:
        return
    _replacement.remove()
    _methods.remove()
    writable, indices, integers, classes = _before
    _forerun.set_writable_asnumpy(writable)
    _forerun.set_float_indices(indices)
    _forerun.set_integer_gradients(integers)
    _forerun.set_error_classes(classes)


def modules_below(package: str) -> dict[str, ModuleType]:
    """Map names below a package to MXNet's modules."""
    found: dict[str, ModuleType] = {}
    for name, target in _MODULES.items():
        found |= with_submodules(f"{package}.{name}", importlib.import_module(target))
    # MXNet keeps the operators behind both kinds of arrays in one place.
    found[f"{package}.ndarray.numpy"] = found[f"{package}.nd.numpy"] = found[f"{package}.numpy"]
    return found
