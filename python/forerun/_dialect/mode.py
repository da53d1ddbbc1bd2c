"""Whether a thread's tensor operations are recorded for gradients. They are by default.

The engine's own tape is off by default. A dialect turns it on for the duration of one operation, and only if an operand
requires gradients. Programs that use ``forerun.np`` next to a dialect are therefore not recorded.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from forerun import _forerun

_F = TypeVar("_F", bound=Callable[..., Any])


class _Mode(threading.local):
    grad = True


MODE = _Mode()


class GradMode:
    """A ``with`` block, or a decorated function, inside which gradients are on or off.

    Examples
    --------
    >>> from forerun._dialect.mode import MODE, GradMode
    >>> with GradMode(False):
    ...     MODE.grad
    False
    >>> MODE.grad
    True
    """

    def __init__(self, on: bool) -> None:
        self._on = on
        self._before: list[bool] = []

    def __enter__(self) -> None:
        """Set the mode."""
        self._before.append(MODE.grad)
        MODE.grad = self._on

    def __exit__(self, *exception: object) -> None:
        """Restore the former mode."""
        MODE.grad = self._before.pop()

    def __call__(self, function: _F) -> _F:
        """Make a function that runs in this mode."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            # A new mode object per call, because several threads may run the function.
            with GradMode(self._on):
                return function(*args, **kwargs)

        return inside  # type: ignore[return-value]


def grad_mode(on: bool, function: Callable[..., Any] | None) -> Any:
    """Make a mode; used as a decorator without parentheses, decorate the function."""
    mode = GradMode(on)
    return mode if function is None else mode(function)


def recorded(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function with the engine's tape on."""
    before = _forerun.set_recording(True)
    try:
        return function(*args, **kwargs)
    finally:
        _forerun.set_recording(before)
