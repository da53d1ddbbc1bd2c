"""Files of tensors, in the format of the PyTorch dialect."""

from __future__ import annotations

from typing import Any

from forerun.paddle._borrow import lend, take
from forerun.torch import _serialization

__all__ = ["load", "save"]


def save(obj: Any, path: Any, protocol: Any = None, **unused: Any) -> None:
    """Write tensors, in dicts and lists with numbers and texts, to a file. Waits for their values.

    Examples
    --------
    >>> import os, tempfile
    >>> from forerun import paddle
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "net.pdparams")
    ...     paddle.save({"x": paddle.ones([2])}, file)
    ...     paddle.load(file)["x"].numpy()
    array([1., 1.], dtype=float32)
    """
    _serialization.save(_lent(obj), path)


def _lent(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lent(part) for name, part in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_lent(part) for part in value)
    return lend(value)


def load(path: Any, **unused: Any) -> Any:
    """Read what :func:`save` wrote; nothing in a file is executed. Files that were pickled raise ``RuntimeError``.

    Examples
    --------
    >>> from forerun import paddle
    >>> paddle.load("/nonexistent")
    Traceback (most recent call last):
        ...
    FileNotFoundError: [Errno 2] No such file or directory: '/nonexistent'
    """
    return take(_serialization.load(path))
