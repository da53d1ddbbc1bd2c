"""Replacement of the package ``torch``, so that unchanged programs run."""

from __future__ import annotations

import importlib
import sys

from forerun._dialect.install import Replacement, with_submodules

_replacement = Replacement("torch")


def install() -> None:
    """Make ``import torch`` and ``import torchvision`` find this package, in the whole process.

    ``forerun.d2l`` also replaces ``d2l``, unless a package of that name is installed. ``docs/torch.md`` lists the
    differences from PyTorch.

    Raises
    ------
    RuntimeError
        If another package of that name is imported already.

    Examples
    --------
    >>> import forerun.torch
    >>> forerun.torch.install()
    >>> import torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    >>> forerun.torch.uninstall()
    """
    if _replacement:
        return
    _replacement.check()
    modules = with_submodules("torch", sys.modules["forerun.torch"], without=("vision",))
    modules |= with_submodules("torchvision", importlib.import_module("forerun.torch.vision"))
    _replacement.put(modules)


def uninstall() -> None:
    """Undo :func:`install`, if it was called.

    Examples
    --------
    >>> import forerun.torch
    >>> forerun.torch.uninstall()
    """
    _replacement.remove()
