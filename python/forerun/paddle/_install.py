"""Replacement of the package ``paddle``, so that unchanged programs run."""

from __future__ import annotations

import sys

from forerun._dialect.install import Replacement, with_submodules

_replacement = Replacement("paddle")


def install() -> None:
    """Make ``import paddle`` find this package, in the whole process.

    ``forerun.d2l`` also replaces ``d2l``, unless a package of that name is installed. ``docs/paddle.md`` lists the
    differences from PaddlePaddle.

    Raises
    ------
    RuntimeError
        If another package of that name is imported already.

    Examples
    --------
    >>> import forerun.paddle
    >>> forerun.paddle.install()
    >>> import paddle
    >>> paddle.nn.functional.relu(paddle.to_tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    >>> forerun.paddle.uninstall()
    """
    if _replacement:
        return
    _replacement.check()
    modules = with_submodules("paddle", sys.modules["forerun.paddle"])
    _replacement.put(modules)


def uninstall() -> None:
    """Undo :func:`install`, if it was called.

    Examples
    --------
    >>> import forerun.paddle
    >>> forerun.paddle.uninstall()
    """
    _replacement.remove()
