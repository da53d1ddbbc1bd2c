"""``mxnet.name``: names that are generated for things without one."""

from __future__ import annotations

import contextvars
from types import TracebackType

__all__ = ["NameManager", "Prefix", "current"]


class NameManager:
    """Generates names: a hint and a number. As a context manager it becomes the current manager.

    Examples
    --------
    >>> from forerun.mxnet import name
    >>> manager = name.NameManager()
    >>> manager.get(None, "dense"), manager.get(None, "dense"), manager.get("mine", "dense")
    ('dense0', 'dense1', 'mine')
    """

    def __init__(self) -> None:
        self._counter: dict[str, int] = {}
        self._tokens: list[contextvars.Token[NameManager]] = []

    def get(self, name: str | None, hint: str) -> str:
        """Return the name, or a new one if it is None or empty."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"

    def __enter__(self) -> NameManager:
        """Make this the current manager."""
        self._tokens.append(_current.set(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Make the previous manager the current one again."""
        _current.reset(self._tokens.pop())


class Prefix(NameManager):
    """Generates names with a prefix.

    Examples
    --------
    >>> from forerun.mxnet import name
    >>> with name.Prefix("net_"):
    ...     name.current().get(None, "dense")
    'net_dense0'
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        """Return the name, or a new one, after the prefix."""
        return self._prefix + super().get(name, hint)


_current: contextvars.ContextVar[NameManager] = contextvars.ContextVar("namemanager", default=NameManager())  # noqa: B039


def current() -> NameManager:
    """Return the current manager of this thread.

    Examples
    --------
    >>> from forerun.mxnet import name
    >>> with name.NameManager() as manager:
    ...     name.current() is manager
    True
    """
    return _current.get()
