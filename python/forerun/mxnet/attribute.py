"""``mxnet.attribute``: attributes that scopes collect."""

from __future__ import annotations

import contextvars
from types import TracebackType

__all__ = ["AttrScope", "current"]


class AttrScope:
    """A set of attributes; scopes inside one another inherit them.

    Examples
    --------
    >>> from forerun.mxnet import attribute
    >>> with attribute.AttrScope(group="4"), attribute.AttrScope(data="great"):
    ...     attribute.current().get({"data": "own"})
    {'group': '4', 'data': 'own'}
    """

    def __init__(self, **kwargs: str) -> None:
        for name, value in kwargs.items():
            if not isinstance(value, str):
                raise ValueError(f"AttrScope: attributes must be strings, {name} is {type(value).__name__}")
        self._attr = kwargs
        self._outer: list[tuple[dict[str, str], contextvars.Token[AttrScope]]] = []

    def get(self, attr: dict[str, str] | None) -> dict[str, str]:
        """Return the attributes together with further ones, which take precedence."""
        return {**self._attr, **(attr or {})}

    def __enter__(self) -> AttrScope:
        """Inherit the attributes of the current scope and become the current one."""
        before = self._attr
        self._attr = _current.get().get(before)
        self._outer.append((before, _current.set(self)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Make the previous scope the current one again."""
        self._attr, token = self._outer.pop()
        _current.reset(token)


_current: contextvars.ContextVar[AttrScope] = contextvars.ContextVar("attrscope", default=AttrScope())  # noqa: B039


def current() -> AttrScope:
    """Return the current scope of this thread.

    Examples
    --------
    >>> from forerun.mxnet import attribute
    >>> attribute.current().get(None)
    {}
    """
    return _current.get()
