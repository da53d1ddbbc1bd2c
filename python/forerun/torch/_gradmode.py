"""Whether operations are recorded for gradients; they are by default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forerun._dialect.mode import MODE, GradMode, grad_mode


def no_grad(function: Callable[..., Any] | None = None) -> Any:
    """Disable gradients inside a ``with`` block or a decorated function.

    Examples
    --------
    >>> from forerun import torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad():
    ...     (x * 2).requires_grad
    False
    """
    return grad_mode(False, function)


def enable_grad(function: Callable[..., Any] | None = None) -> Any:
    """Enable gradients inside a ``with`` block or a decorated function.

    Examples
    --------
    >>> from forerun import torch
    >>> with torch.no_grad(), torch.enable_grad():
    ...     torch.is_grad_enabled()
    True
    """
    return grad_mode(True, function)


class set_grad_enabled(GradMode):
    """Enable or disable gradients, from here on or inside a ``with`` block.

    Examples
    --------
    >>> from forerun import torch
    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    >>> torch.is_grad_enabled()
    True
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self._former = MODE.grad
        MODE.grad = mode

    def __enter__(self) -> None:
        """Do nothing: the mode was set when it was made."""
        self._before.append(self._former)


def is_grad_enabled() -> bool:
    """Return whether this thread records operations for gradients.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.is_grad_enabled()
    True
    """
    return MODE.grad


def inference_mode(mode: Any = True) -> Any:
    """Disable gradients inside a ``with`` block or a decorated function; the same as :func:`no_grad`.

    Examples
    --------
    >>> from forerun import torch
    >>> with torch.inference_mode():
    ...     (torch.ones(1, requires_grad=True) * 2).requires_grad
    False
    """
    if callable(mode):
        return grad_mode(False, mode)
    return GradMode(MODE.grad and not mode)


def is_inference_mode_enabled() -> bool:
    """Return whether gradients are off on this thread.

    Examples
    --------
    >>> from forerun import torch
    >>> torch.is_inference_mode_enabled()
    False
    """
    return not MODE.grad
